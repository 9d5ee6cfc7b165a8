"""The rows of a fit, written block by block: the same model as from memory, whatever the blocks."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
import torch

from expunge.errors import InvalidInput
from expunge.store import read
from expunge.unlearning.linear import saved_rows
from expunge.unlearning.linear.estimator import CertifiedClassifier, load
from expunge.workspace import fit_rows, table_blocks
from expunge.workspace.encoding import Encoding
from expunge.workspace.fit import fit
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.record_chunks import records_in
from expunge.workspace.verify import verify
from tests.workspace.tables_made import (
    fitted,
    ledger_rows,
    private_people,
    public_people,
    write,
)

USUAL = Options(id="id", label="label")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Chunks of 16 rows; blocks of 40, which do not fill them."""
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)
    monkeypatch.setattr(table_blocks.table_blocks, "__defaults__", (table_blocks.USUAL, 40))


def rows_of(workspace):
    job = load(workspace / "secret/saved").fitted_.job
    return job.features, job.targets


def test_chunks_are_full_whatever_the_blocks_and_the_records_follow_the_rows(tmp_path):
    workspace = fitted(tmp_path)
    saved = read(workspace / "secret/saved")
    for table, first, stop in (("rows", 0, 270), ("records", 120, 270)):
        chunks = saved.chunks(table)
        assert [(c.first, c.stop) for c in chunks] == [
            (start, min(start + 16, stop)) for start in range(first, stop, 16)
        ]
    tables = [records_in(saved.rows(chunk)) for chunk in saved.chunks("records")]
    assert pa.concat_tables(tables)["id"].to_pylist() == private_people()["id"]
    places = {row[0]: row[2] for row in ledger_rows(workspace)["records"]}
    assert [places[id_] for id_ in private_people()["id"]] == list(range(120, 270))


def test_the_model_is_the_one_that_a_fit_in_memory_gives(tmp_path):
    workspace = fitted(tmp_path, strategy="residual", l2=1e-2, row_norm="public")
    stored = load(workspace / "secret/saved")
    coded = Encoding.of(dict(ledger_rows(workspace)["settings"])["encoding"])
    tables = [pa.table(people) for people in (private_people(), public_people())]
    mine, theirs = (coded.encode(tmp_path / "t", table) for table in tables)
    inside = CertifiedClassifier(strategy="residual", l2=1e-2, row_norm="public")
    inside.fit(
        mine,
        np.array(private_people()["label"]),
        public=(theirs, np.array(public_people()["label"])),
    )
    for one, other in zip(rows_of(workspace), (inside.fitted_.job.features, inside.fitted_.job.targets), strict=True):  # fmt: skip  # noqa: E501
        assert torch.equal(one, other)
    assert torch.equal(stored.fitted_.outcome.theta, inside.fitted_.outcome.theta)
    assert stored.fitted_.head.document() == inside.fitted_.head.document()


@pytest.mark.parametrize("memory", [0.0, 1e-6, 1.0])
def test_how_many_rows_stay_in_memory_changes_nothing(tmp_path, memory):
    usual = fitted(tmp_path)
    workspace = tmp_path / "other"
    private, public = tmp_path / "private.csv", tmp_path / "public.csv"
    fit(workspace, private, public, USUAL, memory=memory)
    one, other = (load(folder / "secret/saved").fitted_.outcome.theta for folder in (usual, workspace))  # fmt: skip  # noqa: E501
    assert torch.equal(one, other)
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 1
    assert verify(workspace)["valid"]


@pytest.mark.parametrize("memory", [-1, float("nan"), float("inf")])
def test_a_budget_that_is_none_is_refused(tmp_path, memory):
    with pytest.raises(InvalidInput, match="memory"):
        fit(tmp_path / "w", tmp_path / "a.csv", None, USUAL, memory=memory)
    assert not list(tmp_path.iterdir())


def in_parts(folder, kind=".csv"):
    (folder / "many").mkdir()
    people = private_people()
    for number, first in enumerate(range(0, 150, 37)):
        part = {name: column[first : first + 37] for name, column in people.items()}
        write(folder / f"many/part-{number}{kind}", part)
    return folder / "many"


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_many_files_make_the_same_rows_as_one(tmp_path, kind):
    one = fitted(tmp_path)
    many = in_parts(tmp_path, kind)
    fit(tmp_path / "other", many, tmp_path / "public.csv", USUAL)
    for mine, theirs in zip(rows_of(one), rows_of(tmp_path / "other"), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda ids: ids | {"id": ["00003", *ids["id"][1:]]}, r"part-4\.csv: id '00003' is there"),
        (lambda ids: ids | {"id": ["90003", *ids["id"][1:]]}, r"id '90003' is in the public table"),
        (lambda ids: ids | {"id": [" ", *ids["id"][1:]]}, r"part-4\.csv: row 149 has no id"),
    ],
)
def test_what_is_wrong_with_a_later_file_is_named_and_nothing_is_left(tmp_path, change, complaint):
    many = in_parts(tmp_path)
    write(tmp_path / "public.csv", public_people())
    last = {name: column[148:] for name, column in private_people().items()}
    write(many / "part-4.csv", change(last))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InvalidInput, match=complaint):
        fit(tmp_path / "w", many, tmp_path / "public.csv", USUAL)
    assert sorted(tmp_path.rglob("*")) == before


def test_rows_and_their_rate_are_told_while_they_are_encoded(tmp_path):
    fitted(tmp_path)
    shutil.rmtree(tmp_path / "workspace")
    said = []
    private, public = tmp_path / "private.csv", tmp_path / "public.csv"
    fit(tmp_path / "workspace", private, public, USUAL, progress=said.append)
    counts = [line.split()[1] for line in said if line.startswith("encoding: ")]
    assert counts == ["40", "80", "120", "150"]
    assert all("rows, " in line for line in said if line.startswith("encoding: "))


def test_rows_that_wait_are_never_more_than_a_block_and_a_chunk(tmp_path, monkeypatch):
    """Memory does not grow with the table."""
    waiting, write_rows = [], fit_rows.FitRows.write_block

    def watched(rows, *arguments):
        write_rows(rows, *arguments)
        waiting.append(rows.waiting)

    monkeypatch.setattr(fit_rows.FitRows, "write_block", watched)
    fitted(tmp_path)
    assert len(waiting) == 4
    assert max(waiting) < 16
