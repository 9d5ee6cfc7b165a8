"""The plain stepper: tiles do not matter, projection is the identity inside the ball."""

import torch

from expunge.sampling import plain
from expunge.sampling.plain import Plain
from tests.sampling.heads_problem import made


def stepped(problem, models=10, steps=3, precision="float64"):
    dtype = torch.float64 if precision == "float64" else torch.float32
    records = problem.all_records()
    records = records._replace(features=records.features.to(dtype))
    chain = Plain(problem, precision, torch.zeros(models, *problem.shape, dtype=dtype), first=0)
    for step in range(steps):
        chain.step(records, None, [slice(0, models)], key=step)
    return chain.weights


def test_tiles_do_not_matter(monkeypatch):
    whole = stepped(made())
    monkeypatch.setitem(plain.TILE, "cpu", 3)
    torch.testing.assert_close(stepped(made()), whole, rtol=1e-12, atol=1e-14)


def test_projection_is_the_identity_inside_and_radial_outside():
    free = stepped(made())
    radius = float(free.flatten(1).norm(dim=1).median())
    held = stepped(made(radius=radius))
    norms = held.flatten(1).norm(dim=1)
    assert (norms <= radius * (1 + 1e-12)).all()
    assert torch.equal(stepped(made(radius=1e6)), free)
    assert (norms > radius * (1 - 1e-9)).any()


def test_products_are_restored():
    before = torch.backends.cuda.matmul.fp32_precision
    with plain._products("tf32"):
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.cuda.matmul.fp32_precision == before
