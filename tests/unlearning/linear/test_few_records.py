"""The placebo of a request without a pass costs what the request does, whatever n is."""

from expunge.losses import Logistic
from expunge.unlearning.linear.budget import metered
from expunge.unlearning.linear.few_records import of_few_records, step_cost
from expunge.unlearning.linear.residual import Residual
from tests.unlearning.problems import job_of, without

GONE = [50, 51, 99]


def test_the_cost_of_a_request_without_a_pass_does_not_depend_on_how_many_records_there_are():
    small, large = (without(job_of(Logistic(l2=0.1), private=n), GONE) for n in (60, 1000))
    assert step_cost(small) == step_cost(large) == 2 * 2 * 3 * 25 + 125 / 3 + 6 * 25


def test_a_placebo_without_a_pass_stays_within_that_cost_and_gets_what_few_records_tell():
    job = without(job_of(Logistic(l2=0.01), private=4000), GONE)
    before = Residual().fit(job_of(Logistic(l2=0.01), private=4000))
    counted, meter = metered(job, step_cost(job))
    of_few_records(counted, tolerance=1e-9)
    assert meter.flops <= step_cost(job)
    norms = {
        name: float(job.objective.gradient(theta).norm())
        for name, theta in {
            "placebo": Residual().placebo(job, before).theta,
            "passes": Residual(distance=0).placebo(job, before).theta,
            "request": Residual().forget(job, before).theta,
        }.items()
    }
    assert norms["placebo"] > 10 * norms["request"]
    assert norms["placebo"] > 10 * norms["passes"]
