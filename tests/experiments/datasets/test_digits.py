"""USPS, MNIST at its size, and embedded digits with public images moved."""

import numpy as np
import pytest

from experiments.datasets.digits import _smaller, mnist16, shifted_digits, usps
from experiments.datasets.files import BadData, DataMissing
from tests.experiments.test_mnist import COUNTS, written


def saved(folder, width=256, digit=7):
    (folder / "digits").mkdir()
    images, labels = np.full((3, width), 255, np.uint8), np.array([1, 2, digit], np.uint8)
    np.savez(
        folder / "digits/usps16x16.npz", x_train=images, y_train=labels, x_test=images[:1],
        y_test=labels[:1],
    )  # fmt: skip
    return folder


def test_usps_has_pixels_between_0_and_1_and_a_test_part(tmp_path):
    data = usps(saved(tmp_path))
    assert data.features.shape == (4, 256)
    assert data.features.max() == 1
    assert data.is_test.tolist() == [False, False, False, True]
    assert data.targets.tolist() == [1, 2, 7, 1]


@pytest.mark.parametrize("broken", [{"width": 100}, {"digit": 12}], ids=str)
def test_other_images_are_refused(tmp_path, broken):
    with pytest.raises(BadData, match="expected images of 256 pixels and digits"):
        usps(saved(tmp_path, **broken))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataMissing, match=r"no digits/usps16x16\.npz"):
        usps(tmp_path)


def test_mnist_is_resized_by_areas(tmp_path):
    data = mnist16(written(tmp_path), COUNTS)
    assert data.features.shape == (5, 256)
    np.testing.assert_allclose(data.features[2], 2 / 255, rtol=1e-5)  # every pixel equal
    assert data.is_test.tolist() == [False] * 3 + [True] * 2
    image = np.zeros((28, 28), np.float32)
    image[4, 5] = 1.0  # pixel (0, 1) of the centre: a fifth of its width lies in the first of 16
    small = _smaller(image.reshape(1, -1)).reshape(16, 16)
    np.testing.assert_allclose(small[0, :3], np.array([0.25, 0.75, 0]) / 1.25**2, atol=1e-6)
    np.testing.assert_allclose(small.sum(), 1 / 1.25**2, rtol=1e-6)


@pytest.mark.parametrize("pixels", [0, 1, 2])
def test_only_public_images_are_moved(pixels):
    pair, still = shifted_digits(pixels), shifted_digits(0)
    assert len(pair.public) == 700
    assert (len(pair.private.train), len(pair.private.test)) == (500, 597)
    np.testing.assert_array_equal(pair.private.features, still.private.features)
    moved, before = (p.public.features.reshape(-1, 8, 8) for p in (pair, still))
    np.testing.assert_array_equal(moved[:, :, pixels:], before[:, :, : 8 - pixels])
    assert not moved[:, :, :pixels].any()


def test_seeds_split_differently_and_no_image_is_in_two_parts():
    first, second = shifted_digits(seed=0), shifted_digits(seed=1)
    assert not np.array_equal(first.private.targets, second.private.targets)
    whole = np.concatenate([first.public.features, first.private.features])
    assert len(np.unique(whole, axis=0)) == 1797
