"""The audit of a workspace: of its model as it stands, by the sampler of releases."""

import pytest

from expunge.accounting.canonical import leaves
from expunge.audit import laws
from expunge.audit.laws import LEAST, audit_fitted
from expunge.core import release
from expunge.core.sealed_json import read_sealed_json, sealed_json
from expunge.core.stored_rows import StoredColumn
from expunge.errors import Altered, InvalidInput
from expunge.unlearning.linear import saved_rows
from expunge.unlearning.linear.estimator import load
from expunge.workspace.audit import AUDIT, audit
from expunge.workspace.forget import forget
from expunge.workspace.report import report
from tests.workspace.tables_made import fitted, usual


def test_a_workspace_is_audited_as_it_stands_by_the_sampler_of_releases(tmp_path, monkeypatch):
    draws = []
    plain = release.draw
    monkeypatch.setattr(release, "draw", lambda *a: draws.append(1) or plain(*a))
    document = audit(usual(tmp_path), models=60)
    assert len(draws) == 4
    assert document["models"] == 60
    assert document["positive_control"]["caught"]  # the laws are 10^4 deviations apart


@pytest.mark.parametrize("strategy", ["residual", "langevin"])
def test_rows_that_stay_on_disk_are_audited_as_rows_in_memory(tmp_path, monkeypatch, strategy):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 32)
    monkeypatch.setattr(laws, "STRETCH", 50)  # across chunks
    workspace = fitted(tmp_path, strategy=strategy)
    forget(workspace, ["00003"])
    read, whole = [], StoredColumn.__getitem__
    monkeypatch.setattr(
        StoredColumn,
        "__getitem__",
        lambda column, index: read.append(rows := whole(column, index)) or rows,
    )
    on_disk = audit(workspace, models=60, seed=3)
    assert max(map(len, read), default=0) < 270  # never all of them
    monkeypatch.undo()
    saved = workspace / "secret/saved"
    in_memory = {"model": 2, **audit_fitted(load(saved).fitted_, models=60, seed=3)}
    for (name, value), (_, other) in zip(leaves(on_disk), leaves(in_memory), strict=True):
        assert value == (pytest.approx(other, rel=1e-6) if isinstance(other, float) else other), (
            name
        )


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
