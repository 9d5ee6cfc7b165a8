"""Dates against Python's own calendar; what is declared at fit is done again at predict."""

import datetime

import pyarrow as pa
import pytest

from expunge.errors import InvalidInput
from expunge.workspace.dates import part_rules, read_dates, spread_dates
from expunge.workspace.evaluate import evaluate
from expunge.workspace.forget import forget
from expunge.workspace.predict import predict
from expunge.workspace.private_values import Unread
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.tables_made import fitted, people, private_people, public_people, read, write

DAYS = [datetime.date(1969, 12, 31), datetime.date(2000, 2, 29), datetime.date(2024, 7, 31)]
EPOCH = datetime.date(1970, 1, 1)


def written(kind):
    texts = [day.isoformat() for day in DAYS]
    return {
        "text": pa.array([*texts, None, ""]),
        "with a time": pa.array([*(f"{day}T23:59:59Z" for day in texts), None, ""]),
        "dates": pa.array([*DAYS, None, None]),
        "times": pa.array([*map(_at_night, DAYS), None, None], pa.timestamp("us")),
    }[kind]


def _at_night(day):
    return datetime.datetime(day.year, day.month, day.day, 23, 30)


@pytest.mark.parametrize("kind", ["text", "with a time", "dates", "times"])
def test_days_and_parts_are_the_calendars(tmp_path, kind):
    table = pa.table({"since": written(kind)})
    days = spread_dates(tmp_path, table, {"since": "days"})["since"].to_pylist()
    assert days == [*((day - EPOCH).days for day in DAYS), None, None]
    parts = spread_dates(tmp_path, table, {"since": "parts"}).to_pydict()
    assert parts == {
        "since.year": [*(day.year for day in DAYS), None, None],
        "since.month": [*(f"{day.month:02d}" for day in DAYS), None, None],
        "since.weekday": [*(str(day.isoweekday()) for day in DAYS), None, None],
    }
    rules = part_rules({"since": "parts"})
    assert set(parts["since.month"][:3]) <= set(rules["since.month"].values)
    assert set(parts["since.weekday"][:3]) <= set(rules["since.weekday"].values)


@pytest.mark.parametrize("odd", ["31.07.2024", "2024-13-01", "2023-02-29", "soon", "2024-07-31x"])
def test_what_is_no_date_is_refused_by_its_row_or_counted_where_it_is_private(tmp_path, odd):
    table = pa.table({"since": ["2024-07-31", odd]})
    with pytest.raises(InvalidInput, match="row 2 holds no date in column 'since'") as refused:
        spread_dates(tmp_path, table, {"since": "days"})
    assert odd not in str(refused.value)
    said, tally = [], Unread()
    found = spread_dates(tmp_path, table, {"since": "days"}, tally=tally)
    tally.tell(tmp_path, said.append)
    assert found["since"].to_pylist()[1] is None
    assert "1 of 2 cannot be read as a date" in said[0]
    assert odd not in said[0]


def test_a_column_that_cannot_hold_dates_is_refused(tmp_path):
    for columns, complaint in (({"since": [1.5]}, "is double"), ({"x": [1]}, "no column 'since'")):
        with pytest.raises(InvalidInput, match=complaint):
            spread_dates(tmp_path, pa.table(columns), {"since": "days"})


def with_dates(columns):
    rows = range(len(columns["id"]))
    columns["since"] = [(EPOCH + datetime.timedelta(days=37 * row)).isoformat() for row in rows]
    return columns


@pytest.mark.parametrize("kind", ["days", "parts"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_workspace_reads_later_tables_by_the_same_declaration(tmp_path, kind, ending):
    workspace = fitted(
        tmp_path,
        with_dates(private_people()),
        with_dates(public_people()),
        declare={"since": {"date": kind}},
    )
    names = [column["name"] for column in status(workspace)["understood"]["columns"]]
    expected = ["since"] if kind == "days" else ["since.year", "since.month", "since.weekday"]
    assert [name for name in names if name.startswith("since")] == expected
    forget(workspace, ["00003"])
    mine = write(tmp_path / f"mine{ending}", with_dates(people(30, seed=8)))
    assert evaluate(workspace, mine)["rows"] == 30
    predict(workspace, mine, tmp_path / "out.csv")
    assert len(read(tmp_path / "out.csv")["prediction"]) == 30
    assert verify(workspace)["valid"]


def test_a_date_that_is_not_declared_is_refused_with_the_declaration(tmp_path):
    tables = with_dates(private_people()), with_dates(public_people())
    with pytest.raises(InvalidInput, match=r'"since": \{"date": "days"\}'):
        fitted(tmp_path, *tables)


def test_a_ledger_of_an_earlier_version_has_no_dates():
    assert read_dates(None) == {}
    with pytest.raises(InvalidInput, match="setting 'dates' is damaged"):
        read_dates('{"since": "weeks"}')
