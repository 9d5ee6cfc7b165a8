"""What the page for officers says in figures is what is computed."""

import re
from pathlib import Path

import pytest

from expunge.accounting.attack_power import attack_in_words

PAGE = (Path(__file__).parents[1] / "docs" / "for_officers.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([\d.]+)(?: or more)? \| ([\d.]+) % \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("epsilon", "percent"), ROWS)
def test_its_table_says_what_an_attacker_can_do_at_most(epsilon, percent):
    sentence = attack_in_words(float(epsilon), 1e-5)
    assert sentence.endswith(f"at most {percent} % of the time.")


def test_the_table_is_there():
    assert [epsilon for epsilon, _ in ROWS] == ["0", "0.1", "0.5", "1", "2", "5", "20"]
