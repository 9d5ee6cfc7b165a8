"""What is recorded and not finished: its status on stdout, a line on stderr, exit status 1."""

import json

import pytest
import typer

from expunge.cli.unfinished import may_stay_unfinished
from expunge.workspace.at_work import Pending
from expunge.workspace.status import status
from tests.workspace.tables_made import usual


@pytest.mark.parametrize("as_json", [True, False])
def test_it_is_shown_as_it_stands(tmp_path, capsys, as_json):
    document = status(usual(tmp_path))
    with pytest.raises(typer.Exit) as ended, may_stay_unfinished(json=as_json):
        raise Pending("two\nlines", document)
    shown = capsys.readouterr()
    assert ended.value.exit_code == 1
    assert shown.err == "expunge: two lines\n"
    if as_json:
        assert json.loads(shown.out) == document
    else:
        assert "150 private" in shown.out


def test_what_is_done_and_other_errors_pass():
    with may_stay_unfinished(json=True):
        pass
    with pytest.raises(ValueError, match="planted"), may_stay_unfinished(json=True):
        raise ValueError("planted")
