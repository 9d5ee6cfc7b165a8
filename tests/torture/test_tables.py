"""The page on reliability says what the committed results say."""

from tests.torture.tables import PAGE, kills_table, page_with_tables

LINE = {
    "verb": "forget",
    "touch": 3,
    "touches_left": 7,
    "submitters": 4,
    "kills": ["forget at touch 3", "forget after 0.10 s"],
    "accepted": 5,
    "left_unfinished": 1,
    "wrong": [],
}


def test_the_tables_are_made_from_the_results():
    assert page_with_tables(PAGE.read_text()) == PAGE.read_text()


def test_the_committed_results_hold_nothing_wrong():
    assert "in trouble | 0 |" in PAGE.read_text()


def test_kills_are_counted_by_kind_and_what_went_wrong_is_shown():
    table = kills_table([LINE, LINE | {"submitters": 9, "wrong": ["a request is lost"]}])
    for row in (
        "at once | 2, 4 to 9 |",
        "calls of `forget` that a process died at | 1 |",
        "no process died at yet | 7 |",
        "kills at such a call | 2 |",
        "kills at random moments | 2 |",
        "kills in all | 4 |",
        "accepted | 10 |",
        "in trouble | 1 |",
    ):
        assert row in table
