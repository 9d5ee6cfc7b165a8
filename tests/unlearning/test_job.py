"""What every strategy is given, whatever the model."""

from dataclasses import replace

import pytest
import torch

from tests.unlearning.networks.problems import job_of as network_job
from tests.unlearning.problems import job_of as linear_job


def rows_of(job):
    return job.row_columns or (job.inputs, job.targets)


@pytest.mark.parametrize("job", [linear_job(), network_job()], ids=["linear", "network"])
def test_a_request_takes_records_off_the_roster_and_touches_no_value(job):
    before = [value.clone() for value in rows_of(job)]
    after = job.without([40, 41])
    assert type(after) is type(job)
    assert after.roster.forgotten == 2
    assert job.roster.forgotten == 0
    assert all((a == b).all() for a, b in zip(rows_of(after), before, strict=True))


def test_every_model_counts_for_whoever_may_have_seen_it():
    job = linear_job()
    assert not job.counts_every_model
    assert replace(job, observer="all").counts_every_model
    assert replace(job, adaptive_requests=True).counts_every_model


def test_records_that_join_have_the_last_rows():
    job = linear_job()
    roster = job.roster.with_more(None, 2)
    columns = [torch.cat([column, column[:2]]) for column in job.row_columns]
    after = job.with_more(roster, columns)
    assert after.roster.present.sum() == 102
    assert torch.equal(after.features[100:], job.features[:2])
    assert after.objective.rows == 102
    assert len(job.features) == job.roster.records == 100
