"""What every strategy is given, whatever the model."""

from dataclasses import replace

import pytest

from tests.unlearning.networks.problems import job_of as network_job
from tests.unlearning.problems import job_of as linear_job


@pytest.mark.parametrize("job", [linear_job(), network_job()], ids=["linear", "network"])
def test_a_request_takes_records_off_the_roster_and_touches_no_value(job):
    before = [value.clone() for value in job.stored_values()]
    after = job.without([40, 41])
    assert type(after) is type(job)
    assert after.roster.forgotten == 2
    assert job.roster.forgotten == 0
    assert all((a == b).all() for a, b in zip(after.stored_values(), before, strict=True))


def test_every_model_counts_for_whoever_may_have_seen_it():
    job = linear_job()
    assert not job.counts_every_model
    assert replace(job, observer="all").counts_every_model
    assert replace(job, adaptive_requests=True).counts_every_model
