"""What an unlearner knows changes all at once, and says when something changed behind its back."""

from dataclasses import replace

import pytest

from expunge.unlearning.networks.fitted import Fitted, records_of
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.inputs import Columns
from expunge.unlearning.networks.job import NetworkOutcome
from expunge.unlearning.networks.retrain import RetrainNetwork
from tests.unlearning.networks.problems import job_of, rows
from tests.unlearning.networks.test_unlearner import fitted


def made(job=None):
    job = job_of() if job is None else job
    return Fitted(
        job=job,
        strategy=Head(),
        retraining=RetrainNetwork(),
        outcome=NetworkOutcome({}, None, None),
        earlier={},
        ids={},
        held_out=None,
        released=True,
        released_before=False,
        lineage="a",
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job.inputs[3].add_(1),
        lambda job: job.targets[3].add_(1),
        lambda job: job.public_inputs[0].add_(1),
        lambda job: job.public_targets[0].add_(1),
        lambda job: job.module.fc.weight.data.add_(1),
        lambda job: job.keep[0].logical_not_(),
    ],
    ids=["inputs", "targets", "public", "public targets", "module", "keep"],
)
def test_a_change_of_what_is_stored_is_noticed(change):
    known = made()
    assert known.unchanged
    change(known.job)
    assert not known.unchanged
    assert replace(known, released=False).unchanged  # made anew, with what is there now


def test_a_change_of_any_column_is_noticed():
    table = Columns({"a": rows(60)[0], "b": rows(60, seed=2)[0]}, named=True)
    known = made(replace(job_of(), inputs=table))
    table.columns["b"][7] += 1
    assert not known.unchanged


def test_certificates_form_a_chain():
    unlearner = fitted()
    lineage = unlearner._fitted.lineage
    assert unlearner._fitted.issued == ()
    first, second = unlearner.forget("p1"), unlearner.forget("p2")
    assert unlearner._fitted.issued == (first.sha256, second.sha256)
    assert unlearner._fitted.lineage == lineage != fitted()._fitted.lineage
    assert set(records_of(unlearner._fitted.outcome)) == {"assumptions", "history", "rounds"}
