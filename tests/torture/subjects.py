"""What is tortured: workspaces, saved models, samples, and everything that can be read of them.

A subject is a folder and its readings: each returns what it says, or refuses. Chunks are short, so
that a few records fill several; nothing else here knows how anything is stored.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from expunge.core.sealed_json import read_sealed_json
from expunge.sampling import shards
from expunge.store import read as stored
from expunge.unlearning.linear import saved_rows
from expunge.workspace.audit import audit
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.evaluate import evaluate
from expunge.workspace.export import export
from expunge.workspace.folder import Folder
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from expunge.workspace.refresh import refresh
from expunge.workspace.rehearse import rehearse
from expunge.workspace.sample import Sampling, sample
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import Columns, fitted, people, write

__all__ = ["SUBJECTS", "Made", "Subject", "in_short_chunks", "marked", "traces"]

FORGOTTEN = ("00003", "00047")  # in two chunks
AGE, COLOUR = 47.1302938471, "chartreuse"  # of the first of them alone
SHORT = 16  # rows in a chunk
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


Made = tuple[Subject, dict[str, bytes], dict[str, bool]]
"""A subject, what it must not hold any more, and whether it did."""


@contextmanager
def in_short_chunks(rows: int = SHORT) -> Iterator[None]:
    """Whatever is fitted meanwhile lies in chunks of so many rows."""
    usual, saved_rows.CHUNK_ROWS = saved_rows.CHUNK_ROWS, rows
    try:
        yield
    finally:
        saved_rows.CHUNK_ROWS = usual


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

    saved = stored(workspace / "secret/saved")
    parts = [load(saved.rows(chunk))["features"] for chunk in saved.chunks(saved_rows.ROWS)]
    assert len(parts) > 2
    rows = np.concatenate(parts)
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


def made_workspace(options: dict[str, Any], scratch: Path) -> Made:
    """A workspace that has honoured two requests and, where it has an anchor, a refresh."""
    scratch.mkdir(parents=True)
    drop = ("label",) if options.get("task") == "regression" else ("height",)
    with in_short_chunks():
        workspace = fitted(scratch, marked(), others(), drop=drop, **options)
    searched = traces(workspace)
    there = {name: _holds(workspace, trace) for name, trace in searched.items()}
    for record in FORGOTTEN:
        forget(workspace, [record])
        if options["strategy"] == "residual" and record == FORGOTTEN[0]:
            refresh(workspace)
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

    def exported() -> dict[str, str]:
        folder = scratch / "exported"
        shutil.rmtree(folder, ignore_errors=True)
        export(workspace, folder)
        return {path.name: path.read_bytes().hex() for path in sorted(folder.iterdir())}

    readings = {
        "status": lambda: status(workspace),
        "predictions": predictions,
        "audit": reported_audit,
        "evaluate": lambda: evaluate(workspace, table),
        "export": exported,
        "dry run": lambda: rehearse(workspace, ["00011", "00047", "nobody"]),
    }
    return Subject(workspace, readings, verdict, lambda: forget(workspace, ["00011"]))


def made_network(scratch: Path) -> Made:
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
        return {"weights": weights, "certificate": claim, "target": repr(again.target)}

    def verdict() -> tuple[str | None, Any]:
        return None, loaded()

    def request() -> None:
        again = load(folder)
        again.forget("p9")
        again.save(folder)

    there = dict.fromkeys(searched, True)  # in the records that are given again
    return Subject(folder, {}, verdict, request), searched, there


def made_pipeline(scratch: Path) -> Made:
    """A saved pipeline that has honoured a request; its preprocessing is saved with it."""
    from expunge.unlearning import load
    from tests.unlearning.linear.test_pipeline import IDS, PRIVATE, X, fitted

    scratch.mkdir(parents=True)
    folder = scratch / "pipeline"
    with in_short_chunks():
        pipe = fitted(epsilon=1.0, delta=1e-5)
        pipe.save(folder)
    row = load(folder).fitted_.job.features[len(X) - len(IDS) + 3].numpy()
    searched = {"its row": PRIVATE[0][3].tobytes(), "its encoded row": row.tobytes()}
    there = {name: _holds(folder, trace) for name, trace in searched.items()}
    pipe = load(folder)
    pipe.forget([IDS[3]])
    pipe.save(folder)

    def loaded() -> Any:
        again = load(folder)
        claim = json.loads(again.certificate_.canonical())
        said = {"predictions": again.predict_proba(X).tolist(), "certificate": claim}
        return said | {"target": repr(again.fitted_.job.target)}

    def request() -> None:
        again = load(folder)
        again.forget([IDS[9]])
        again.save(folder)

    return Subject(folder, {"load": loaded}, lambda: (None, loaded()), request), searched, there


def made_samples(scratch: Path) -> Made:
    """Shards of sampled models; whoever samples again takes up what is whole, and no more."""
    scratch.mkdir(parents=True)
    workspace, folder = fitted(scratch), scratch / "samples"
    asked = Sampling(models=8, learn_steps=3, unlearn_steps=2, sigma=0.1)
    sample(workspace, folder, ["00005"], asked)

    def read() -> Any:
        return [
            shards.read(path, ("unlearned", 2)).tolist() for path in folder.glob("0*.safetensors")
        ]

    def again() -> None:
        sample(workspace, folder, ["00005"], asked)

    def verdict() -> tuple[str | None, Any]:
        read_sealed_json(folder / shards.RECORD, shards.REMEDY)
        return None, read()

    return Subject(folder, {"read": read}, verdict, again), {}, {}


SUBJECTS: dict[str, Callable[[Path], Made]] = {
    **{
        name: lambda scratch, options=options: made_workspace(options, scratch)
        for name, options in OPTIONS.items()
    },
    "network": made_network,
    "pipeline": made_pipeline,
    "samples": made_samples,
}
