"""What a strategy for networks is told about the records."""

from dataclasses import replace

import torch

from expunge.core.inputs import Columns
from tests.unlearning.networks.problems import job_of, masked, texts, without


def test_public_rows_come_first_and_never_leave():
    job = without(job_of(private=5, public=3), [0, 4])
    assert job.present.tolist() == [0, 1, 2, 4, 5, 6]
    assert (
        job.roster.public,
        job.roster.private,
        job.roster.forgotten,
        job.roster.retained,
        job.roster.request,
    ) == (3, 5, 2, 6, 1)


def test_a_batch_is_the_named_rows():
    job = job_of(private=5, public=3)
    inputs, targets = job.batch(torch.tensor([0, 3, 7]))
    torch.testing.assert_close(inputs[0], job.public_inputs[0])
    torch.testing.assert_close(inputs[1:], job.inputs[[0, 4]])
    assert targets.tolist() == [int(job.public_targets[0]), *job.targets[[0, 4]].tolist()]


def test_a_batch_of_several_inputs_has_all_of_them():
    (private, targets), (public, others) = texts(5), texts(3, seed=1)
    job = job_of(
        masked(), private=5, public=3, inputs=Columns(private, True), targets=targets,
        public_inputs=Columns(public, True), public_targets=others,
    )  # fmt: skip
    inputs, labels = job.batch(torch.tensor([0, 3, 7]))
    for name, column in inputs.columns.items():
        assert torch.equal(column, torch.stack([public[name][0], *private[name][[0, 4]]]))
    assert labels.tolist() == [int(others[0]), *targets[[0, 4]].tolist()]
    assert (job.roster.public, job.roster.private) == (3, 5)


def test_without_public_rows_numbers_are_the_private_ones():
    job = job_of(private=5, public=0)
    torch.testing.assert_close(job.batch(torch.tensor([2]))[0], job.inputs[2:3])


def test_every_model_counts_for_whoever_sees_all_and_for_whoever_asks_by_what_they_saw():
    assert not job_of().counts_every_model
    assert replace(job_of(), observer="all").counts_every_model
    assert replace(job_of(), adaptive_requests=True).counts_every_model
