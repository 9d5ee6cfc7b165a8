"""Clean training: a function of the rows present, the start, the settings and randomness."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from expunge.core.module_state import with_state
from expunge.errors import InvalidInput, NoCertificate, RecordsWarning
from expunge.unlearning.networks.training import Training, trained, training_cost
from tests.unlearning.networks.problems import bits, job_of, network, without

SHORT = Training(epochs=3, batch_size=16)


def loss_of(job, state):
    inputs, targets = job.batch(job.present)
    return job.loss(with_state(job.module, state).eval()(inputs), targets).item()


def test_training_lowers_the_loss_and_leaves_the_job_alone():
    job = job_of()
    before = bits(job.module.state_dict()), bits(job.start)
    state = trained(job, job.start, SHORT, "test")
    assert loss_of(job, state) < loss_of(job, job.start)
    assert (bits(job.module.state_dict()), bits(job.start)) == before


def test_forgotten_rows_have_no_influence_whatever_they_hold():
    """The planted fault is a row of infinities: one look at it is noticed."""
    job = without(job_of(), [3, 30])
    poisoned = replace(job, inputs=job.inputs.clone())
    poisoned.inputs[[3, 30]] = torch.inf
    state, other = (trained(one, one.start, SHORT, "test") for one in (job, poisoned))
    assert bits(state) == bits(other)
    with pytest.warns(RecordsWarning, match="left out"):
        seen = trained(replace(poisoned, roster=job_of().roster), job.start, SHORT, "test")
    assert bits(seen) != bits(state)


def broken(outputs, targets):
    return nn.functional.cross_entropy(outputs, targets) * torch.nan


def test_a_step_without_a_finite_gradient_is_left_out_and_the_others_are_taken():
    job = job_of()
    job.inputs[3] = torch.inf
    with pytest.warns(RecordsWarning, match="left out 3 of 21 steps"):
        state = trained(job, job.start, SHORT, "test")
    clean = replace(job, inputs=job.inputs.clone())
    clean.inputs[3] = 0
    assert loss_of(clean, state) < loss_of(clean, job.start)


def test_training_that_comes_to_nothing_is_refused_at_fit_and_keeps_its_start_at_a_request():
    """At a request a refusal would tell something of the records that remain."""
    job = job_of(loss=broken)
    with pytest.raises(NoCertificate, match="NaN or infinity"):
        trained(job, job.start, SHORT, "test")
    with pytest.warns(RecordsWarning, match="left out 21 of 21 steps"):
        state = trained(without(job, [3]), job.start, SHORT, "test")
    assert bits(state) == bits(job.start)


class Ruinous(torch.optim.SGD):
    """What an overflow makes of parameters."""

    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.data.fill_(torch.inf)


def test_a_request_whose_training_overflows_keeps_its_start():
    job, huge = job_of(), replace(SHORT, optimiser=Ruinous)
    with pytest.raises(NoCertificate, match="NaN or infinity"):
        trained(job, job.start, huge, "test")
    with pytest.warns(RecordsWarning, match="kept its start"):
        state = trained(without(job, [3]), job.start, huge, "test")
    assert bits(state) == bits(job.start)


def test_what_a_loss_raises_is_told_at_fit_and_leaves_a_step_out_at_a_request():
    def raising(outputs, targets):
        if bool((targets == 99).any()):
            raise ValueError("no such class")
        return nn.functional.cross_entropy(outputs, targets)

    job = job_of(loss=raising)
    job.targets[5] = 99
    with pytest.raises(InvalidInput, match="no such class"):
        trained(job, job.start, SHORT, "test")
    with pytest.warns(RecordsWarning, match="left out 3 of 21 steps"):
        trained(without(job, [3]), job.start, SHORT, "test")


def test_seeded_runs_repeat_and_others_do_not():
    job, fresh = job_of(seed=4), job_of(seed=None)
    first, second = (bits(trained(job, job.start, SHORT, "test")) for _ in range(2))
    assert first == second
    first, second = (bits(trained(fresh, fresh.start, SHORT, "test")) for _ in range(2))
    assert first != second


def test_torchs_own_generator_is_left_alone():
    job = job_of(network(extra=nn.Dropout(0.5)))
    random = torch.get_rng_state()
    trained(job, job.start, SHORT, "test")
    assert torch.equal(torch.get_rng_state(), random)


def test_batch_statistics_move_only_in_the_result():
    job = job_of(network(extra=nn.BatchNorm1d(6)), private=33, public=0)
    state = trained(job, job.start, SHORT, "test")  # a last row alone would be refused by torch
    assert int(state["body.1.num_batches_tracked"]) > 0
    assert int(job.module.state_dict()["body.1.num_batches_tracked"]) == 0


@pytest.mark.parametrize("moves", [True, False])
def test_a_buffer_that_moves_must_be_in_the_models_file(moves):
    class Center(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(6), persistent=False)

        def forward(self, x):
            if self.training and moves:
                self.mean.lerp_(x.detach().mean(0), 0.1)
            return x - self.mean

    job = job_of(network(extra=Center()))
    if not moves:
        trained(job, job.start, SHORT, "test")
        return
    with pytest.raises(InvalidInput, match=r"body\.1\.mean.*persistent=True"):
        trained(job, job.start, SHORT, "test")


def test_frozen_parameters_stay_frozen():
    module = network()
    module.body.requires_grad_(False)
    job = job_of(module)
    state = trained(job, job.start, SHORT, "test")
    assert torch.equal(state["body.0.weight"], module.body[0].weight)
    assert not torch.equal(state["fc.weight"], module.fc.weight)


def test_tied_weights_stay_tied():
    module = network(inputs=4, hidden=4, classes=4)
    module.fc.weight = module.body[0].weight
    job = job_of(module)
    state = trained(job, job.start, SHORT, "test")
    assert "fc.weight" not in state  # one tensor, one name
    assert not torch.equal(state["body.0.weight"], module.body[0].weight)


def test_half_precision_is_refused():
    job = job_of(network().to(torch.bfloat16))
    with pytest.raises(InvalidInput, match="bfloat16"):
        trained(job, job.start, SHORT, "test")


def test_costs_count_rows_present_and_epochs():
    job = job_of(private=60, public=40)
    row = 2 * (2 * 4 * 6 + 3 * 6 * 3)
    assert training_cost(without(job, [0]), Training(epochs=2)) == 2 * 99 * row


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epochs": lambda loss: loss < 0.1}, "fixed in advance; stopping by what the records"),
        ({"epochs": 0}, "epochs"),
        ({"step_size": 0.0}, "step_size"),
        ({"batch_size": 0}, "batch_size"),
    ],
    ids=["early stopping", "no epochs", "step", "batch"],
)
def test_settings_that_make_no_sense_are_named(settings, said):
    with pytest.raises(ValueError, match=said):
        Training(**settings)
