"""The tables: small, and with the rules that a database can keep."""

import dataclasses

import pytest
from sqlalchemy import create_engine, inspect

from expunge.errors import Refused
from expunge.ledger.schema import Busy, Model, Request, metadata, models, requests


@pytest.fixture
def made():
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    yield inspect(engine)
    engine.dispose()


def test_there_are_these_tables(made):
    assert set(made.get_table_names()) == {
        "additions",
        "batches",
        "certificates",
        "fits",
        "former",
        "journal",
        "lease",
        "left_out",
        "models",
        "records",
        "requested",
        "requests",
        "seals",
        "settings",
    }


def test_the_ledger_holds_ids_and_roles_of_records_but_no_values(made):
    assert {column["name"] for column in made.get_columns("records")} == {
        "id",
        "role",
        "place",
        "seal",
    }


@pytest.mark.parametrize(
    ("table", "column", "target"),
    [
        ("requested", "request", "requests"),
        ("requested", "record", "records"),
        ("models", "request", "requests"),
        ("certificates", "model", "models"),
    ],
)
def test_what_points_somewhere_points_at_a_row(made, table, column, target):
    found = {tuple(k["constrained_columns"]): k["referred_table"] for k in made.get_foreign_keys(table)}  # fmt: skip  # noqa: E501
    assert found[(column,)] == target


def test_the_records_that_are_read_have_the_columns_of_their_tables():
    assert [field.name for field in dataclasses.fields(Model)] == list(models.c.keys())
    names = [field.name for field in dataclasses.fields(Request)]
    assert names == [*requests.c.keys(), "records"]


def test_busy_is_a_refusal():
    assert issubclass(Busy, Refused)
