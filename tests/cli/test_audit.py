"""`expunge audit`: the sandwich, in words and as JSON."""

from dataclasses import replace

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_the_sandwich_is_printed(workspace):
    document = printed("audit", workspace, "--models", 60, "--seed", 0)
    assert {"lower_bound", "estimate", "certified", "null_control", "positive_control"} <= set(
        document
    )
    outcome = expunge("audit", workspace, "--models", 60, "--seed", 0)
    assert outcome.status == 0
    for word in ("lower bound", "estimate", "certificate", "null control", "never unlearned"):
        assert word in outcome.out


def test_a_contradiction_exits_1(workspace, monkeypatch):
    from expunge.audit import laws as module

    plain = module.laws_of
    monkeypatch.setattr(module, "laws_of", lambda *a, **k: plain(*a, **k, noise=0.02))
    outcome = expunge("audit", workspace, "--models", 200, "--seed", 0)
    assert outcome.status == 1
    assert "CONTRADICTED" in outcome.out


def test_an_alarm_beside_a_loud_null_control_exits_0_and_says_why(workspace, monkeypatch):
    """It used to print "cannot conclude" and to exit 1."""
    from expunge.audit import laws as module

    plain = module.laws_of

    def broken(*arguments, **options):
        laws = plain(*arguments, **options, noise=0.02)
        return replace(laws, retrained_again=laws.unlearned)

    monkeypatch.setattr(module, "laws_of", broken)
    document = printed("audit", workspace, "--models", 200, "--seed", 0)
    assert document["decision"]["epsilon"] > document["certified"]["epsilon"]
    assert document["contradicted"] is False
    outcome = expunge("audit", workspace, "--models", 200, "--seed", 0)
    assert outcome.status == 0
    assert "LOUD" in outcome.out
    assert outcome.out.splitlines()[-1].startswith("cannot conclude: the null control")


def test_bad_input_is_one_line(workspace, tmp_path):
    assert "too few" in refused("audit", workspace, "--models", 3)
    assert "not a workspace" in refused("audit", tmp_path / "none")
