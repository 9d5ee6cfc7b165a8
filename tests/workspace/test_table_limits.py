"""Small files that become large tables are refused, with the flag that raises the limit."""

import gzip
import io

import pyarrow as pa
import pytest
from pyarrow import parquet

from expunge.errors import InvalidInput
from expunge.workspace.table_limits import USUAL, TableLimits, check_width
from expunge.workspace.tables import read_table
from tests.cli.test_main import expunge
from tests.cli.workspaces import tables
from tests.workspace.tables_made import private_people, public_people, write

MEGABYTE = TableLimits(inflated=1 << 20)


def bomb(path):
    """Two megabytes of rows in a few kilobytes: gzipped text, or one dictionary of one text."""
    if ".parquet" in path.suffixes:
        buffer = io.BytesIO()
        parquet.write_table(pa.table({"id": ["x" * 2000] * 1000}), buffer)
        content = buffer.getvalue()
    else:
        content = b"id\n" + (b"x" * 127 + b"\n") * (1 << 14)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet", "t.parquet.gz"])
def test_a_file_that_inflates_beyond_the_limit_is_refused_and_the_flag_is_named(tmp_path, name):
    path = bomb(tmp_path / name)
    assert path.stat().st_size < 50_000
    with pytest.raises(InvalidInput, match="--max-inflated raises the limit") as refused:
        read_table(path, limits=MEGABYTE)
    assert refused.value.field == str(path)
    assert read_table(path, limits=TableLimits(inflated=4 << 20)).num_rows


def test_a_gzip_bomb_is_not_inflated_beyond_the_limit(tmp_path, monkeypatch):
    """A gigabyte of zeros: what is read stays below the limit and a block."""
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    amounts, read = [], gzip.GzipFile.read
    monkeypatch.setattr(
        gzip.GzipFile, "read", lambda self, size=-1: amounts.append(size) or read(self, size)
    )
    with pytest.raises(InvalidInput, match="max-inflated"):
        read_table(path, limits=MEGABYTE)
    assert sum(amounts) <= 3 << 20


def test_the_widest_column_and_both_remedies_are_named(tmp_path):
    widths = {"age": 1, "town": 4_999}
    check_width(tmp_path, widths, USUAL)
    with pytest.raises(InvalidInput, match=r"become 5,001.*from 'town'.*--drop.*--max-width"):
        check_width(tmp_path, widths | {"sex": 1}, USUAL)


def test_fit_refuses_what_becomes_too_wide_before_it_encodes(tmp_path):
    columns = public_people() | {"town": [f"t{row}" for row in range(120)]}
    mine = private_people()
    given = tables(tmp_path)
    write(tmp_path / "public.csv", columns)
    write(tmp_path / "private.csv", mine | {"town": ["t1"] * len(mine["id"])})
    fit = ["fit", tmp_path / "new", *given]
    complaint = expunge(*fit, "--max-width", "100").complaint
    assert "from 'town'" in complaint
    assert not (tmp_path / "new").exists()
    assert expunge(*fit, "--max-width", "200").status == 0
