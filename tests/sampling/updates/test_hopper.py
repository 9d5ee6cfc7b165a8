"""The kernel for Hopper against `kernels.residuals`, bit for bit; and how its work is cut."""

import pytest
import torch

from expunge.sampling.updates import hopper, kernels
from expunge.sampling.updates.kernels import Split

SHAPES = [  # outputs, width, units, models of a unit, rows, own rows
    (24, 384, 1, 1200, 1024, False),
    (24, 384, 3, 80, 1024, True),
    (24, 384, 3, 80, 128, False),
    (24, 384, 1, 16, 1000, False),  # rows end within a tile
    (24, 384, 1, 2400, 130, False),
    (23, 384, 1, 320, 500, False),  # a class of padding
    (40, 200, 1, 64, 333, False),
    (26, 40, 2, 64, 256, True),
    (100, 128, 1, 32, 200, False),
]


def made(outputs, width, units, unit, rows, own, device):
    generator = torch.Generator().manual_seed(0)
    split = Split.of(outputs, unit)
    features = torch.randn(units if own else 1, rows, width, generator=generator)
    weights = torch.randn(units, unit * split.columns, width, generator=generator) * 0.1
    targets = torch.randint(0, outputs, (len(features), rows), generator=generator)
    out = torch.full((units, rows, unit * split.columns), float("nan"), dtype=torch.bfloat16)
    features, weights = features.bfloat16().to(device), weights.bfloat16().to(device)
    return features, weights, targets.to(device), out.to(device), split


@pytest.fixture
def served(monkeypatch):
    """Whether shapes are served, however small; skips where none are."""

    def serves(*shape):
        features, _, _, out, split = made(*shape, "cuda")
        return hopper.serves(features, out, split)

    monkeypatch.setattr(hopper, "WORTH", 0)
    if not serves(*SHAPES[0]):
        pytest.skip("no Hopper, or a Triton without its Gluon")
    return serves


@pytest.mark.gpu
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_it_gives_the_bits_of_the_general_kernel(shape, served):
    assert served(*shape)
    features, weights, targets, out, split = made(*shape, "cuda")
    expected = torch.empty_like(out)
    kernels.launch_residuals(features, weights, targets, expected, split)
    hopper.launch_residuals(features, weights, targets, out, split)
    assert not out.isnan().any()
    assert torch.equal(out, expected)


@pytest.mark.gpu
def test_it_knows_which_shapes_it_serves(served, monkeypatch):
    assert served(24, 384, 1, 80, 1000, False)
    assert not served(24, 384, 2, 80, 1000, True)  # a unit's last tile would reach into the next
    assert not served(24, 768, 1, 80, 1024, False)  # weights do not fit
    assert not served(24, 384, 1, 80, 100, False)  # rows for one side only
    assert not served(16, 384, 1, 80, 1024, False)  # one power of two
    assert not served(10, 384, 1, 80, 1024, False)
    assert not served(1, 384, 1, 128, 1024, False)
    monkeypatch.setattr(hopper, "gluon", None)
    assert not served(*SHAPES[0])


def test_it_serves_no_processor():
    features, _, _, out, split = made(*SHAPES[1], "cpu")
    assert not hopper.serves(features, out, split)


@pytest.mark.parametrize("pairs", [1, 2, 8, 13, 329])
@pytest.mark.parametrize("tiles", [1, 10, 132, 133, 250, 3750])
def test_parts_leave_few_programs_idle(tiles, pairs):
    part = hopper._part(tiles, pairs, 132)
    parts = -(-pairs // part)
    assert 1 <= part <= pairs
    assert (parts - 1) * part < pairs <= parts * part  # no part is empty
    longest = -(-tiles * parts // 132) * (part + 1)
    assert longest <= -(-tiles // 132) * (pairs + 1)
    if tiles * pairs >= 132 * 64:
        assert tiles * pairs / (132 * longest) > 0.85
