"""The audit of a workspace: of its model as it stands, by the sampler of releases."""

import pytest

from expunge.audit.laws import LEAST
from expunge.core import release
from expunge.core.sealed_json import read_sealed_json, sealed_json
from expunge.errors import Altered, InvalidInput
from expunge.workspace.audit import AUDIT, audit
from expunge.workspace.report import report
from tests.workspace.tables_made import usual


def test_a_workspace_is_audited_as_it_stands_by_the_sampler_of_releases(tmp_path, monkeypatch):
    draws = []
    plain = release.draw
    monkeypatch.setattr(release, "draw", lambda *a: draws.append(1) or plain(*a))
    document = audit(usual(tmp_path), models=60)
    assert len(draws) == 4
    assert document["models"] == 60
    assert document["positive_control"]["caught"]  # the laws are 10^4 deviations apart


def test_too_few_models_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match=f"too few; {LEAST} is the least"):
        audit(usual(tmp_path), models=LEAST - 1)


def test_an_audit_by_earlier_rules_is_not_reported(tmp_path):
    """Its verdict may contradict its own fields."""
    workspace = usual(tmp_path)
    document = audit(workspace, models=60, seed=0)
    report(workspace, tmp_path / "report.html")
    assert document["verdict"] in (tmp_path / "report.html").read_text()
    stored = read_sealed_json(workspace / AUDIT, "")
    del stored["decision"]
    (workspace / AUDIT).write_bytes(sealed_json(stored))
    report(workspace, tmp_path / "report.html")
    assert "What an attack found" not in (tmp_path / "report.html").read_text()


def test_an_audit_of_another_workspaces_model_is_not_reported(tmp_path):
    workspace = usual(tmp_path)
    audit(workspace, models=60, seed=0)
    stored = read_sealed_json(workspace / AUDIT, "")
    (workspace / AUDIT).write_bytes(sealed_json(stored | {"generation": "0" * 8}))
    report(workspace, tmp_path / "report.html")
    assert "What an attack found" not in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("change", [(b'"seal"', b'"reaL"'), (b'"model": 1', b'"model": 3')])
def test_an_audit_that_was_changed_is_refused_by_name(tmp_path, change):
    workspace = usual(tmp_path)
    audit(workspace, models=60, seed=0)
    content = (workspace / AUDIT).read_bytes()
    assert change[0] in content
    (workspace / AUDIT).write_bytes(content.replace(*change))
    with pytest.raises(Altered, match=r"audit\.json: .*run expunge audit again"):
        report(workspace, tmp_path / "report.html")
