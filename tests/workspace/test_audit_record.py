"""An audit on disk is read like a stranger's file: as the audit wrote it, or refused."""

import contextlib
import itertools
import json
from dataclasses import replace

import pytest

from expunge.core.sealed_json import sealed_json
from expunge.errors import InvalidInput
from expunge.ledger import Model
from expunge.report import sandwich_figure
from expunge.workspace.audit_record import read_audit
from tests.cli.hostile import CONTENTS, VALUES, changed, places

MODEL = Model(2, "ab" * 32, "2026-01-02", None, "a1b2c3d4", None)
AUDIT = {
    "generation": "a1b2c3d4",
    "model": 2,
    "strategy": "residual",
    "models": 60,
    "delta": 1e-5,
    "lower_bound": {"value": 0.0, "level": 0.95, "method": "gaussian"},
    "decision": {"epsilon": 0.0, "level": 0.999999},
    "estimate": {"value": -0.03, "interval": [-0.17, 0.11]},
    "certified": {"epsilon": 0.98, "mu": 0.26},
    "verdict": "not contradicted",
    "exit_status": 0,
    "null_control": {"quiet": True},
    "positive_control": {"fault": "never unlearned", "epsilon": 12.5, "caught": True},
    "canaries_reach": 0.36,
    "models_to_catch_noise_over_10": 1054,
}


def written(document) -> bytes:
    """A document under its seal; what is no document has none."""
    return sealed_json(document) if isinstance(document, dict) else json.dumps(document).encode()


def test_what_the_report_reads_comes_back_and_the_rest_is_left_out(tmp_path):
    file = tmp_path / "audit.json"
    file.write_bytes(sealed_json(AUDIT))
    record = read_audit(file, MODEL)
    assert record["estimate"] == AUDIT["estimate"]
    assert record["lower_bound"] == {"value": 0.0, "level": 0.95}


def test_no_audit_and_an_audit_of_another_model_are_none(tmp_path):
    file = tmp_path / "audit.json"
    assert read_audit(file, MODEL) is None
    file.write_bytes(sealed_json(AUDIT))
    assert read_audit(file, replace(MODEL, seal="another")) is None
    file.write_bytes(sealed_json({"generation": "a1b2c3d4", "verdict": "undecided"}))
    assert read_audit(file, MODEL) is None


def test_any_value_anywhere_is_read_or_refused(tmp_path):
    file, complaints = tmp_path / "audit.json", []
    for path, value in itertools.product(places(AUDIT), VALUES):
        file.write_bytes(written(changed(AUDIT, path, value)))
        try:
            read_audit(file, MODEL)
        except InvalidInput as error:
            complaints.append(str(error))
    assert len(complaints) > 100
    assert all(str(file) in line and "run expunge audit again" in line for line in complaints)


@pytest.mark.slow
def test_any_audit_that_is_read_can_be_drawn(tmp_path):
    file = tmp_path / "audit.json"
    for path, value in itertools.product(places(AUDIT), (1e9, 5e-324, -1e9, 0, 1, 1.0 - 1e-16)):
        file.write_bytes(written(changed(AUDIT, path, value)))
        with contextlib.suppress(InvalidInput):
            record = read_audit(file, MODEL)
            assert record is None or sandwich_figure.draw(record)


@pytest.mark.parametrize("name", [n for n, c in CONTENTS.items() if not c.startswith(b"{")])
def test_what_is_no_audit_is_refused(tmp_path, name):
    (tmp_path / "audit.json").write_bytes(CONTENTS[name])
    with pytest.raises(InvalidInput, match="run expunge audit again"):
        read_audit(tmp_path / "audit.json", MODEL)
