"""Fine-tuning is post-processing: of the certified head and of retained records, nothing else."""

from dataclasses import replace

import torch

from expunge.unlearning.networks.finetune import HeadFinetune
from expunge.unlearning.networks.head import FEATURES, TARGETS, Head
from expunge.unlearning.networks.training import Training
from tests.unlearning.networks.problems import bits, job_of, without

STRATEGY = HeadFinetune(Training(epochs=2, batch_size=16))


def test_the_whole_network_moves_and_the_certificate_is_the_heads():
    job = without(job_of(), [0, 1])
    after = STRATEGY.forget(job, STRATEGY.fit(job_of()))
    head = Head().forget(job, Head().fit(job_of()))
    assert not torch.equal(after.state["body.0.weight"], job.module.body[0].weight)
    assert (after.assumptions, after.history) == (head.assumptions, head.history)
    assert after.retained == head.retained
    assert any("2 epochs fixed in advance" in line for line in after.declared)


def test_the_next_request_starts_from_the_head_never_from_the_fine_tuned_network():
    job = job_of()
    before = STRATEGY.fit(job)
    ruined = {name: torch.full_like(value, torch.nan) for name, value in before.state.items()}
    next_job = without(job, [4])
    assert bits(STRATEGY.forget(next_job, replace(before, state=ruined)).state) == bits(
        STRATEGY.forget(next_job, before).state
    )


def test_only_the_noised_head_and_retained_rows_enter_the_fine_tuning():
    """Un-noised solutions or forgotten rows in it would be no post-processing."""
    job = without(job_of(), [4])
    head = Head().forget(job, Head().fit(job_of()))
    ruined = {
        name: torch.full_like(value, torch.nan if value.is_floating_point() else 7)
        for name, value in head.secret.items()
    }
    poisoned = replace(job, inputs=job.inputs.clone())
    poisoned.inputs[4] = torch.inf
    found = STRATEGY._finetuned(poisoned, replace(head, secret=ruined))
    assert bits(found.state) == bits(STRATEGY._finetuned(job, head).state)


def test_the_certified_head_is_kept_apart():
    after = STRATEGY.forget(without(job_of(), [4]), STRATEGY.fit(job_of()))
    own = {name for name in after.secret if not name.startswith("anchor")}
    assert own == {"theta", "center", "scale", FEATURES, TARGETS}


def test_costs_add_up():
    job = job_of()
    assert STRATEGY.cost(job) > Head().cost(job)
    double = HeadFinetune(Training(epochs=4))
    assert double.cost(job) - Head().cost(job) == 2 * (STRATEGY.cost(job) - Head().cost(job))


def test_the_placebo_is_fine_tuned_as_long():
    job = without(job_of(), [4])
    before = STRATEGY.fit(job_of())
    found = STRATEGY.placebo(job, before)
    assert found.flops == STRATEGY.cost(job)
    assert not torch.equal(found.state["body.0.weight"], job.module.body[0].weight)
