"""The plain stepper: tiles do not matter, projection is the identity inside the ball."""

import threading

import pytest
import torch

from expunge.losses import Logistic
from expunge.sampling.updates import cpu_kernels, plain
from expunge.sampling.updates.plain import Plain
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


def testproducts_in_are_restored():
    before = torch.backends.cuda.matmul.fp32_precision
    with plain.products_in("tf32"):
        assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.cuda.matmul.fp32_precision == before


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("loss", [None, Logistic(0.05)], ids=["softmax", "logistic"])
def test_threads_and_compiled_loops_do_not_matter(loss, monkeypatch, two_threads):
    """Whichever serves, models differ by the rounding of products and updates alone."""
    problem = made(loss, radius=1.0)
    expected = stepped(problem, models=11).float()
    monkeypatch.setattr(cpu_kernels, "WORTH", 1)
    compiled = stepped(problem, models=11, precision="float32")
    monkeypatch.setattr(plain, "WORTH", 1)
    shared = stepped(problem, models=11, precision="float32")
    again = stepped(problem, models=11, precision="float32")
    monkeypatch.setattr(cpu_kernels, "_loops", lambda: None)
    passes = stepped(problem, models=11, precision="float32")
    for found in (compiled, shared, passes):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(shared, again)
    assert torch.get_num_threads() == 2


def test_every_model_is_in_one_share():
    for models in range(3, 20):
        shares = plain._shares(slice(5, 5 + models), 3)
        assert [i for share in shares for i in range(share.start, share.stop)] == list(
            range(5, 5 + models)
        )
        sizes = [share.stop - share.start for share in shares]
        assert max(sizes) - min(sizes) <= 1


def test_threads_of_a_share_have_one_core_and_new_ones_all(two_threads):
    found = []
    plain._each_in_a_thread(lambda _: found.append(torch.get_num_threads()), [slice(0, 1)] * 4)
    assert found == [1] * 4
    one = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    one.start()
    one.join()
    assert found[-1] == torch.get_num_threads() == 2


def test_a_fault_in_a_share_is_raised(two_threads):
    with pytest.raises(ZeroDivisionError):
        plain._each_in_a_thread(lambda _: 1 / 0, [slice(0, 1)])
    assert torch.get_num_threads() == 2
