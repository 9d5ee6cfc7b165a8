"""What is tortured: three workspaces and a saved network, and everything that can be read of them.

A subject is a folder and its readings: each returns what it says, or refuses. Nothing here knows
how anything is stored.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from expunge.workspace.audit import audit
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import Columns, fitted, people, write

__all__ = ["SUBJECTS", "Subject", "marked", "traces"]

FORGOTTEN = ("00003", "00007")
AGE, COLOUR = 47.1302938471, "chartreuse"  # of the first of them alone
OPTIONS: dict[str, dict[str, Any]] = {
    "residual": {"strategy": "residual", "l2": 1e-2},
    "langevin, observer all": {"strategy": "langevin", "observer": "all", "l2": 1e-1},
    "regression": {"strategy": "residual", "task": "regression", "label": "height", "l2": 1e-2},
}


@dataclass(frozen=True)
class Subject:
    """A folder and its readings.

    Args:
        readings: What can be asked of the folder, by name; each returns a document for JSON.
        verdict: Looks at everything: what is wrong, in words, or None; and what is claimed.
        next_request: Honours one more request, after which everything must be well.
    """

    folder: Path
    readings: dict[str, Callable[[], Any]]
    verdict: Callable[[], tuple[str | None, Any]]
    next_request: Callable[[], object]


def marked(rows: int = 60) -> Columns:
    """People of whom one has an age and a colour that nobody else has."""
    columns = people(rows, seed=2, prefix="0")
    columns["age"][3], columns["colour"][3] = AGE, COLOUR
    return columns | {"height": np.random.default_rng(3).normal(size=rows).round(3).tolist()}


def others(rows: int = 40) -> Columns:
    heights = np.random.default_rng(4).normal(size=rows).round(3).tolist()
    return people(rows, seed=1, prefix="9") | {"height": heights}


def traces(workspace: Path) -> dict[str, bytes]:
    """The bytes that only the first forgotten record has put there; read before it is forgotten."""
    from safetensors.numpy import load

    (chunk,) = workspace.glob("secret/saved/secret/chunk-*.safetensors")
    rows = load(chunk.read_bytes())["features"]
    row = rows[len(others()["id"]) + 3]
    alone = [value for value in row if (rows == value).sum() == 1]
    assert alone, "no number of the row is its own"
    return {
        "age in float64": np.float64(AGE).tobytes(),
        "age in float32": np.float32(AGE).tobytes(),
        "age as text": str(AGE).encode(),
        "colour": COLOUR.encode(),
        "its row": row.tobytes(),
        **{f"number {place} of its row": value.tobytes() for place, value in enumerate(alone)},
    }


def made_workspace(
    options: dict[str, Any], scratch: Path
) -> tuple[Subject, dict[str, bytes], dict[str, bool]]:
    """A workspace that has honoured two requests, what it must not hold, and whether it did."""
    scratch.mkdir(parents=True)
    drop = ("label",) if options.get("task") == "regression" else ("height",)
    workspace = fitted(scratch, marked(), others(), drop=drop, **options)
    searched = traces(workspace)
    there = {name: _holds(workspace, trace) for name, trace in searched.items()}
    for record in FORGOTTEN:
        forget(workspace, [record])
    audit(workspace, models=60, seed=0)
    return subject_of(workspace, scratch), searched, there


def _holds(folder: Path, trace: bytes) -> bool:
    return any(trace in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def subject_of(workspace: Path, scratch: Path) -> Subject:
    table, output = write(scratch / "new.csv", others(20)), scratch / "predictions.csv"

    def predictions() -> str:
        output.unlink(missing_ok=True)
        predict(workspace, table, output)
        return output.read_text()

    def reported_audit() -> Any:
        folder = Folder(workspace)
        with folder.ledger.reading() as entries:
            model = entries.models()[-1]
        folder.ledger.close()
        return read_audit(workspace / AUDIT, model)

    def verdict() -> tuple[str | None, Any]:
        found = verify(workspace)
        faults = "; ".join(fault["field"] for fault in found["differences"])
        return (None, found["claim"]) if found["valid"] else (faults, None)

    readings = {
        "status": lambda: status(workspace),
        "predictions": predictions,
        "audit": reported_audit,
    }
    return Subject(workspace, readings, verdict, lambda: forget(workspace, ["00011"]))


def made_network(_: Any, scratch: Path) -> tuple[Subject, dict[str, bytes], dict[str, bool]]:
    """A saved network that has honoured a request; its records are not saved with it."""
    from tests.unlearning.networks.problems import rows
    from tests.unlearning.networks.test_saved_unlearner import load, saved_after

    scratch.mkdir(parents=True)
    _made, folder = saved_after(scratch, requests=1)
    values, _labels = rows(60, seed=1)
    searched = {"its row": values[0].numpy().tobytes(), "a number": values[0, 0].numpy().tobytes()}

    def loaded() -> Any:
        again = load(folder)
        weights = {name: value.tolist() for name, value in again.model.state_dict().items()}
        claim = json.loads(again.certificate.canonical())
        return {"weights": weights, "certificate": claim, "epsilon": again.epsilon}

    def verdict() -> tuple[str | None, Any]:
        return None, loaded()

    def request() -> None:
        again = load(folder)
        again.forget("p9")
        again.save(folder)

    there = dict.fromkeys(searched, True)  # in the records that are given again
    return Subject(folder, {}, verdict, request), searched, there


SUBJECTS: dict[str, Callable[[Path], tuple[Subject, dict[str, bytes], dict[str, bool]]]] = {
    **{
        name: lambda scratch, options=options: made_workspace(options, scratch)
        for name, options in OPTIONS.items()
    },
    "network": lambda scratch: made_network(None, scratch),
}
