"""The page that holds the paper's claims beside ours says what the results say."""

import re
from pathlib import Path
from statistics import fmean

import pytest

from docs import claims, committed, labels, pipeline, runs
from experiments.reruns import reruns

ROOT = Path(__file__).parents[1]
PAGE = claims.PAGE.read_text()
WHERE = [claim.where for claim in claims.claims()]


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
    for line in runs.runs_table().splitlines()[2:]:
        name = re.findall("`(.*?)`", line)[0]
        assert ("not yet run" in line) == (committed.results(name) is None)


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


def test_every_label_is_on_the_page_with_its_number():
    """Otherwise: python docs/labels.py."""
    assert labels.page_of(PAGE) == PAGE
    listed = labels.labels()
    assert len({label.name for label in listed}) == len(listed)
    assert sum(not label.name.startswith(labels.MADE_UP) for label in listed) == 56


@pytest.mark.parametrize("label", labels.labels(), ids=lambda label: label.name)
def test_what_makes_a_claim_has_a_row_and_every_label_an_answer(label):
    assert label.here
    theorem = re.match(r"(Theorem|Corollary) \d", label.printed)
    picture = re.match(r"(Figure [234]|Table [12])", label.printed)
    if (theorem or picture) and label.printed != "Figure 3":
        assert labels.rows_about(label, WHERE), f"{label.printed} has no row"


def test_labels_are_numbered_as_latex_numbers_them():
    source = r"""
    \section{One} \begin{theorem}\label{a} \end{theorem} % \label{comment}
    \section{Two} \label{two} \subsection*{not counted} \subsection{Part} \label{part}
    \begin{lemma}\label{b} \end{lemma} \begin{restatable}[Name]{theorem}{again}\label{c}
    \begin{figure}\label{f} \end{figure}
    \begin{figure*} \begin{subfigure}\label{g} \end{subfigure} \begin{subfigure}\label{h}
    \end{subfigure} \caption{both} \label{i} \end{figure*}
    \appendix \section{Proofs} \begin{lemma} \end{lemma} \begin{lemma}\label{d} \end{lemma}
    \begin{align} \label{e} \end{align} \begin{table}\label{t} \end{table}
    """
    assert labels.numbered(source) == {
        "a": "Theorem 1.1",
        "two": "Section 2",
        "part": "Section 2.1",
        "b": "Lemma 2.1",
        "c": "Theorem 2.1",
        "f": "Figure 1",
        "g": "Figure 2a",
        "h": "Figure 2b",
        "i": "Figure 2",
        "d": "Lemma A.2",
        "e": "Equation",
        "t": "Table 1",
    }


def test_a_label_that_the_list_lacks_has_or_numbers_otherwise_is_named():
    source = r"\section{One} \begin{theorem}\label{theorem:learning_retraining} \label{new}"
    faults = labels.compare(source)
    assert "new: not in the list" in faults
    assert "lemma:dpi: not in the source" in faults
    said = "theorem:learning_retraining: Theorem 3.1 in the list, Theorem 1.1 in the source"
    assert said in faults
    assert not any(fault.startswith(labels.MADE_UP) for fault in faults)


def test_the_headline_s_verdicts_follow_from_the_frontier():
    """The public-only model is above every certified model for observer `all` from 1 % on."""
    frontier = committed.results("frontier")
    (public,) = [
        row["accuracy"]
        for row in frontier["baselines"]
        if (row["task"], row["share"]) == ("3 against 8", 0.9)
    ]
    cells = [
        row
        for row in frontier["cells"]
        if (row["task"], row["observer"], row["strategy"]) == ("3 against 8", "all", "langevin")
    ]
    assert cells
    assert max(row["accuracy"] for row in cells) < public
    assert all(row["accuracy"] < 70 for row in cells if row["deletion"] == 0.5)


def test_the_run_as_published_is_told_as_it_was():
    found = committed.need("known_answers", "published")
    told = f"reads {fmean(found['trained']):.2f} on its training samples and "
    assert told + f"{fmean(found['fresh']):.2f} on fresh" in PAGE
    assert f"{found['steps']:,} steps, {found['epochs']:,.0f} epochs" in PAGE
    assert f"all that {found['seconds']:.0f} s" in PAGE


def test_the_larger_lstms_are_told_as_they_were():
    found, alone = (committed.need(name, "large") for name in ("ulira_reviews", "flipped_labels"))
    control = alone["without_noise"]["accuracy"]
    low, high = 100 * min(control), 100 * max(control)
    told = (
        f"right on {100 * fmean(control):.1f} % of private test reviews ({low:.1f} to {high:.1f})"
    )
    assert told in PAGE.replace("\n", " ")
    without, public = (cell["steps"] for cell in found["cells"])
    assert without[0]["unlearn_epochs"] == 1
    text = PAGE.replace("\n", " ")
    assert f"lies {without[0]['gap']:.2f} standard deviations higher" in text
    assert f"at K = 1, with public data {public[0]['gap']:.2f}; at K = 15 neither" in text
    assert without[-1]["gap_interval"][0] < 0 < without[-1]["gap_interval"][1]
    assert public[-1]["gap_interval"][0] < 0 < public[-1]["gap_interval"][1]


def test_the_sandwich_is_told_of_both_kinds_of_forget_sets():
    rows = committed.need("sandwich")["rows"]
    spans = {}
    for kind in ("by class", "random"):
        times = [
            row["certified"]["renyi_2"] / row["predicted"]
            for row in rows
            if row["forget_set"] == kind
        ]
        spans[kind] = f"{min(times):,.0f} to {max(times):,.0f} times"
    text = PAGE.replace("\n", " ")
    assert f"the certificate is {spans['by class']} the truth where whole classes" in text
    assert f"{spans['random']} where as many records are forgotten at random" in text


def test_both_readings_of_table_1_are_told_as_they_are():
    """The second's signs are those of retraining itself; by the first, three pairs gain."""
    rows = committed.need("alignment_utility")["rows"]
    assert len(rows) == 36
    lost: dict[str, list[float]] = {}
    for row in rows:
        unlearned, retrained, mixture = (
            fmean(row[name]) for name in ("unlearned", "retrained", "retrained_on_mixture")
        )
        assert (unlearned > mixture) == (retrained > mixture)
        lost.setdefault(row["pair"], []).append(unlearned / retrained - 1)
    assert max(max(some) for some in lost.values()) < 0.00105
    assert sorted(max(some) < 0 for some in lost.values()) == [False, True, True, True]
    section = PAGE.split("## Utility")[1].split("\n## ")[0].replace("\n", " ")
    assert "in all 36 rows retraining itself shows that sign" in section
    assert "lose at most 0.1 % on any pair and are better on three of the four" in section


def test_the_page_names_what_was_cut_of_the_lstms():
    section = PAGE.split("## Reviews")[1].split("## The discriminator")[0]
    for cut in ("vocabulary", "width", "words read", "batch", "step size", "public reviews"):
        assert cut in section, cut
    assert "our reading" in section


def test_what_was_made_again_agrees_but_for_differences_of_nearly_equal_losses():
    for result, note in reruns().items():
        assert not note["otherwise"], result
        assert note["largest"] < 5e-6 or "/differences/" in note["where"], result
