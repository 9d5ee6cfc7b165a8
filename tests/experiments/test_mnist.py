"""The loader of MNIST's idx files: every name they go by, and every way they can be wrong."""

import gzip

import numpy as np
import pytest

from experiments.datasets.mnist import BadData, DataMissing, embedded, load, mnist

COUNTS = {"train": 3, "t10k": 2}


def idx(values):
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    return header + values.tobytes()


def written(folder, prefix="mnist-", suffix=".gz"):
    """Four small files; image i has every pixel equal to i, label i."""
    folder.mkdir(exist_ok=True)
    for part, count in COUNTS.items():
        labels = np.arange(count, dtype=np.uint8)
        images = np.broadcast_to(labels[:, None, None], (count, 28, 28)).copy()
        for name, values in (("images-idx3", images), ("labels-idx1", labels)):
            content = idx(values)
            path = folder / f"{prefix}{part}-{name}-ubyte{suffix}"
            path.write_bytes(gzip.compress(content) if suffix else content)
    return folder


@pytest.mark.parametrize("prefix", ["mnist-", ""])
@pytest.mark.parametrize("suffix", [".gz", ""])
@pytest.mark.parametrize("inner", ["", "digits"])
def test_files_are_found_by_every_name(tmp_path, prefix, suffix, inner):
    written(tmp_path / inner, prefix, suffix)
    digits = mnist(tmp_path, COUNTS)
    assert digits.train.shape == (3, 784)
    assert digits.train.dtype == np.float32
    assert digits.test_labels.tolist() == [0, 1]
    np.testing.assert_allclose(digits.train[:, 0] * 255, [0, 1, 2])


def test_the_folder_may_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPUNGE_DATA", str(written(tmp_path)))
    assert mnist(counts=COUNTS).source == "MNIST"
    with pytest.raises(BadData, match=r"holds \(3, 28, 28\), expected \(60000, 28, 28\)"):
        load("mnist")


def test_without_a_folder_the_remedy_is_named(monkeypatch):
    monkeypatch.delenv("EXPUNGE_DATA", raising=False)
    with pytest.raises(DataMissing, match="EXPUNGE_DATA is not set; set it to a folder"):
        mnist()


def test_a_missing_file_is_named_with_the_remedy(tmp_path):
    (written(tmp_path) / "mnist-t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataMissing, match=r"no t10k-labels-idx1-ubyte.*set EXPUNGE_DATA") as error:
        mnist(tmp_path, COUNTS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "magic number"),
        (bytes([0, 0, 13, 1, 0, 0, 0, 3]) + b"abc", "magic number"),
        (idx(np.zeros((3, 1), np.uint8)), "magic number"),
        (idx(np.zeros(4, np.uint8)), r"holds \(4,\), expected \(3,\)"),
        (idx(np.zeros(3, np.uint8))[:-1], "10 bytes, expected 11"),
        (idx(np.zeros(3, np.uint8)) + b"x", "12 bytes, expected 11"),
        (idx(np.full(3, 10, np.uint8)), "label 10 is no digit"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path, content, what):
    written(tmp_path, "", "")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(content)
    with pytest.raises(BadData, match=what):
        mnist(tmp_path, COUNTS)


@pytest.mark.parametrize("broken", [b"not gzip", gzip.compress(b"x" * 100, mtime=0)[:-6]])
def test_half_a_download_is_refused(tmp_path, broken):
    (written(tmp_path) / "mnist-train-labels-idx1-ubyte.gz").write_bytes(broken)
    with pytest.raises(BadData, match="not a whole gzip file"):
        mnist(tmp_path, COUNTS)


def test_embedded_digits_have_the_same_interface():
    digits = load("embedded")
    assert digits.source == "scikit-learn digits"
    assert len(digits.train) + len(digits.test) == 1797
    assert digits.train.dtype == np.float32
    assert 0 <= digits.train.min() <= digits.train.max() == 1


def test_some_classes_are_relabelled_and_rows_scaled_to_norm_1():
    digits = embedded()
    two = digits.of_classes((3, 8)).with_unit_rows()
    assert set(two.train_labels) == {0, 1}
    assert (two.train_labels == 1).sum() == (digits.train_labels == 8).sum()
    np.testing.assert_allclose(np.linalg.norm(two.train, axis=1), 1, rtol=1e-6)


def test_a_blank_image_stays_blank():
    digits = embedded()
    digits.train[0] = 0
    assert not digits.with_unit_rows().train[0].any()
