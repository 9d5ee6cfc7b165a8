"""What an unlearner knows changes all at once, and says when something changed behind its back."""

import inspect
from dataclasses import replace

import pytest
from torch import nn

from expunge.accounting.target import EpsilonDelta
from expunge.core.inputs import Columns
from expunge.errors import NoCertificate
from expunge.unlearning.networks.head import Head
from expunge.unlearning.networks.langevin import NetworkLangevin
from expunge.unlearning.networks.network_fitted import NetworkFitted
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.unlearner import TorchUnlearner
from expunge.unlearning.outcome import Outcome
from expunge.unlearning.row_store import RowStore
from tests.unlearning.certificates import told
from tests.unlearning.networks.problems import job_of, rows
from tests.unlearning.networks.test_saved_unlearner import load
from tests.unlearning.networks.test_unlearner import STRATEGIES, fitted


def made(job=None):
    job = job_of() if job is None else job
    return NetworkFitted(
        job=job,
        rows=RowStore((job.inputs, job.targets), job.roster.public),
        strategy=Head(),
        retraining=RetrainNetwork(),
        outcome=Outcome({}, None, None),
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
        lambda job: job.roster.keys[0].add_(1),
    ],
    ids=["inputs", "targets", "public", "public targets", "module", "keys"],
)
def test_a_change_of_what_is_stored_is_noticed(change):
    known = made()
    known.check_unchanged()
    change(known.job)
    for state in (known, replace(known, released=False)):  # a copy carries the fingerprint
        with pytest.raises(NoCertificate, match="the stored records changed"):
            state.check_unchanged()
    replace(known, fingerprint=None).check_unchanged()  # made anew, with what is there now


def test_a_change_of_any_column_is_noticed():
    table = Columns({"a": rows(60)[0], "b": rows(60, seed=2)[0]}, named=True)
    known = made(replace(job_of(), inputs=table))
    table.columns["b"][7] += 1
    with pytest.raises(NoCertificate, match="the stored records changed"):
        known.check_unchanged()


def test_certificates_form_a_chain():
    unlearner = fitted()
    lineage = unlearner.fitted_.lineage
    assert unlearner.fitted_.issued == ()
    first, second = unlearner.forget("p1"), unlearner.forget("p2")
    assert unlearner.fitted_.issued == (first.sha256, second.sha256)
    assert unlearner.fitted_.lineage == lineage != fitted().fitted_.lineage


def test_what_the_last_request_started_from_is_known_by_the_counts_of_its_history():
    steps = NetworkLangevin(learn_steps=3, unlearn_steps=2, sigma=0.5)
    unlearner = fitted(strategy=steps)
    unlearner.forget("p1")
    first = unlearner.fitted_.outcome
    unlearner.forget("p2")
    before, after = unlearner.fitted_.before, unlearner.fitted_.outcome
    assert before.rounds == first.rounds == (0, 0, 1, 1)
    assert [p.steps for p in before.history.phases] == [p.steps for p in first.history.phases]
    assert before.history.phases == after.history.phases[:4]


# State is fixed at fit: nothing that a certificate rests on is read from attributes later.

OTHER = {  # attribute and another value, for every parameter of the constructor
    "loss": ("loss", nn.MSELoss()),
    "head": ("head", "body.0"),
    "epsilon": ("target", EpsilonDelta(0.1, 1e-5)),
    "delta": ("target", EpsilonDelta(1.0, 1e-9)),
    "strategy": ("strategy", RetrainNetwork()),
    "observer": ("observer", "all"),
    "retraining": ("retraining", RetrainNetwork(start="scratch")),
    "released": ("released", False),
    "random_state": ("random_state", 77),
    "device": ("device", "meta"),
    "adaptive_requests": ("adaptive_requests", True),
}


def test_every_parameter_of_the_unlearner_is_tried():
    assert set(OTHER) == set(inspect.signature(TorchUnlearner).parameters) - {"model"}


def comparable(certificate):
    return told(certificate, models=certificate.model_sha256 is not None)


@pytest.fixture(scope="module")
def expected():
    """Certificates of two requests where nothing was changed."""
    made = {strategy: fitted(strategy, random_state=2) for strategy in STRATEGIES}
    return {
        strategy: [comparable(unlearner.forget(each)) for each in ("p1", "p2")]
        for strategy, unlearner in made.items()
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", OTHER)
def test_an_attribute_changed_after_fit_changes_no_certificate(name, strategy, expected):
    """A strategy assigned between fit and forget once re-judged the past: epsilon 0 for 0.368."""
    unlearner = fitted(strategy, random_state=2)
    setattr(unlearner, *OTHER[name])
    assert [comparable(unlearner.forget(each)) for each in ("p1", "p2")] == expected[strategy]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", OTHER)
def test_nor_does_it_through_disk(tmp_path, name, strategy, expected):
    unlearner = fitted(strategy, random_state=2)
    first = comparable(unlearner.forget("p1"))
    setattr(unlearner, *OTHER[name])
    unlearner.save(tmp_path)
    again = load(tmp_path)
    setattr(again, *OTHER[name])
    assert [first, comparable(again.forget("p2"))] == expected[strategy]


def test_a_refit_remembers_that_the_earlier_model_was_handed_out():
    unlearner = fitted("head")
    unlearner.released = False
    unlearner.fit(rows(60, seed=1), public=rows(40, seed=2), ids=[f"p{i}" for i in range(60)])
    assert unlearner.forget("p1").earlier_releases == "not covered"


def test_a_save_does_not_make_a_change_of_the_records_unnoticed(tmp_path):
    unlearner = fitted("langevin")
    unlearner.fitted_.job.inputs[3] *= -1
    with pytest.raises(NoCertificate, match="the stored records changed"):
        unlearner.save(tmp_path)
    with pytest.raises(NoCertificate, match="the stored records changed"):
        unlearner.forget("p9")


@pytest.mark.parametrize("part", ["keys", "state", "secret"])
def test_a_change_of_state_is_noticed_too(part):
    unlearner = fitted("langevin")
    known = unlearner.fitted_
    where = {"keys": known.job.roster.keys}
    where |= {"state": known.outcome.state["fc.bias"], "secret": known.outcome.secret["weights"]}
    where[part].add_(1)
    with pytest.raises(NoCertificate, match="the stored records changed"):
        unlearner.forget("p9")


def test_a_released_model_is_no_start_for_another_fit():
    released = fitted("head").release().model
    with pytest.raises(ValueError, match="another unlearner has trained it"):
        fitted("head", model=released)


def test_a_budget_is_kept_whatever_number_of_steps_is_asked_for():
    """With a fixed number of steps a certificate may miss its target, but not its budget."""
    strategy = NetworkLangevin(
        learn_steps=4, unlearn_steps=3, step_size=0.2, smoothness=1.0, gradient_error=0.0,
        capacity=0.2, requests=2,
    )  # fmt: skip
    unlearner = fitted(strategy, random_state=2, adaptive_requests=True)
    granted = []

    def ask_on():
        for i in range(12):
            granted.append(unlearner.forget(f"p{i}"))

    with pytest.raises(NoCertificate, match="misses the target"):
        ask_on()
    assert all(certificate.epsilon == 1.0 for certificate in granted)
