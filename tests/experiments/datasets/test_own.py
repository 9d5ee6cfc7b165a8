"""A pair of your own from one file: what is read, and what is refused by name."""

import numpy as np
import pytest

from experiments.datasets import BadData, DataMissing, load_pair
from experiments.datasets.own import VARIABLE, declare_pair, own_pair


def arrays(rows: int = 20, **other):
    rng = np.random.default_rng(0)
    labels = np.array(["no", "yes"])[np.arange(rows) % 2]
    sides = {f"{side}_x": rng.normal(size=(rows, 3)) for side in ("public", "private")}
    return sides | {"public_y": labels, "private_y": labels} | other


def written(path, **other):
    np.savez(path, **{name: value for name, value in arrays(**other).items() if value is not None})
    return path


def test_a_pair_is_read_with_a_fifth_of_its_private_rows_for_testing(tmp_path):
    pair = own_pair("a/b", written(tmp_path / "rows.npz"))
    assert pair.public.classes == ("no", "yes")
    assert (len(pair.public), len(pair.private.train), len(pair.private.test)) == (20, 16, 4)
    assert pair.private.features.dtype == np.float32
    assert set(pair.private.targets.tolist()) == {0, 1}


def test_test_rows_of_your_own_are_taken(tmp_path):
    other = {"test_x": np.ones((5, 3)), "test_y": np.array(["yes"] * 5)}
    pair = own_pair("a/b", written(tmp_path / "rows.npz", **other))
    assert (len(pair.private.train), len(pair.private.test)) == (20, 5)
    assert (pair.private.test.features == 1).all()


def test_a_declared_pair_is_loaded_by_its_name(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(BadData, match="no pair 'a/b'"):
        load_pair("a/b")
    monkeypatch.setenv(VARIABLE, "")
    declare_pair("a/b", written(tmp_path / "rows.npz"))
    assert load_pair("a/b").name == "a/b"
    assert load_pair("digits+0/digits").name == "digits moved by 0"


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"private_y": None}, "no array 'private_y'"),
        ({"private_y": np.zeros(3)}, "20 rows of private_x, 3 of private_y"),
        ({"private_x": np.ones((20, 4))}, "private_x must be rows of 3 numbers"),
        ({"public_x": np.full((20, 3), np.nan)}, "public_x has a row that is not finite"),
        ({"private_x": np.zeros((20, 3))}, "private_x has a row that is not finite, or all zero"),
        ({"test_x": np.ones((5, 3))}, "test_x without test_y"),
        ({"public_y": np.zeros(20), "private_y": np.zeros(20)}, "one class only"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(tmp_path, other, said):
    with pytest.raises(BadData, match=said):
        own_pair("a/b", written(tmp_path / "rows.npz", **other))


def test_names_and_files_that_are_none_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    with pytest.raises(BadData, match="a pair is called PUBLIC/PRIVATE"):
        declare_pair("ab", written(tmp_path / "rows.npz"))
    with pytest.raises(DataMissing, match="no such file"):
        declare_pair("a/b", tmp_path / "absent.npz")
