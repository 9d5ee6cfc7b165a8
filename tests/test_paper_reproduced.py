"""The page that holds the paper's claims beside ours says what the results say."""

import re
from pathlib import Path

from docs import claims, pipeline

ROOT = Path(__file__).parents[1]
PAGE = claims.PAGE.read_text()


def test_the_page_shows_what_the_committed_results_say():
    """Otherwise: python docs/claims.py."""
    assert claims.page_of(PAGE) == PAGE


def test_a_number_changed_by_hand_would_be_noticed():
    shown = claims.claims_table()
    assert shown in PAGE
    forged = PAGE.replace(shown, re.sub(r"\d", "7", shown))
    assert claims.page_of(forged) != forged


def test_every_claim_has_all_columns_and_those_not_run_name_their_command():
    for claim in claims.claims():
        assert all("|" not in column for column in claim), claim
        assert claim.says
        assert claim.agree
        if "not yet run" in claim.ours:
            assert "python -m experiments run" in claim.ours
            assert claim.agree == "-"


def test_an_experiment_with_results_is_never_called_not_run():
    for line in claims.runs_table().splitlines()[2:]:
        name = re.findall("`(.*?)`", line)[0]
        assert ("not yet run" in line) == (claims.results(name) is None)


def test_tables_and_pictures_of_the_page_exist():
    for target in re.findall(r"\{include\} (\S+)|\]\(((?!#|http)[^)]+)\)", PAGE):
        path = next(filter(None, target)).split("#")[0]
        assert (ROOT / "docs" / path).exists(), path


def test_the_pipeline_is_drawn_by_its_script():
    """Four laws, two sets of records, two divergences."""
    texts = [text.get_text() for text in pipeline.draw().axes[0].texts]
    assert sum("\\pi_R^{T+K}$" in text for text in texts) == 1
    assert sum(text.startswith("$D_\\alpha") for text in texts) == 2
    assert texts.count("forget") == 1
    assert texts.count("public") == 2
