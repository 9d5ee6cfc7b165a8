"""One suite for every registered strategy: what any way to honour a request must satisfy."""

import copy
import re
from dataclasses import replace

import pytest
import torch
from sklearn.preprocessing import StandardScaler

from expunge.accounting.certificate_chain import chain_differences
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput, NoCertificate
from expunge.unlearning import CertifiedClassifier, CertifiedPipeline, load
from expunge.unlearning.batch_requests import honour_batch
from expunge.unlearning.linear.budget import metered, nominal_cost
from expunge.unlearning.linear.joining import join
from expunge.unlearning.linear.linear_job import attainable
from expunge.unlearning.networks.training import Training
from expunge.unlearning.requests import honour
from expunge.unlearning.strategy import registered_strategies
from tests.unlearning.certificates import told
from tests.unlearning.networks import problems as networks
from tests.unlearning.networks.test_saved_unlearner import load as load_network
from tests.unlearning.networks.test_unlearner import fitted as fitted_network
from tests.unlearning.problems import job_of
from tests.unlearning.records import every_value, labelled

SHORT = Training(epochs=1, batch_size=20)
QUICKER = {  # settings that change what a strategy costs here, not what it must satisfy
    "linear.langevin": {"learn_steps": 60},
    "linear.noise_first": {"learn_steps": 60, "unlearn_steps": 8},
    "network.head+finetune": {"training": SHORT},
    "network.retrain": {"training": SHORT},
    "network.langevin": {"learn_steps": 4, "unlearn_steps": 2},
    "network.clipped": {"training": SHORT, "unlearn_steps": 3},
}
EACH = [
    (models, name) for models in ("linear", "network") for name in registered_strategies(models)
]
STRATEGIES = {
    f"{models}.{name}": replace(
        registered_strategies(models)[name], **QUICKER.get(f"{models}.{name}", {})
    )
    for models, name in EACH
}
# The same through a pipeline, whose steps public records shaped.
STRATEGIES |= {
    f"pipeline.{name}": STRATEGIES[f"linear.{name}"] for name in ("residual", "langevin", "retrain")
}


@pytest.fixture(params=STRATEGIES)
def name(request):
    return request.param


def fitted(name, seed=5, observer="final"):
    """The state of a fitted model."""
    models, strategy = name.split(".")[0], STRATEGIES[name]
    if models == "network":
        return fitted_network(strategy, random_state=seed, observer=observer)
    X, y = labelled(80)
    model = CertifiedClassifier(strategy=strategy, l2=0.05, random_state=seed, observer=observer)
    if models == "pipeline":
        model = CertifiedPipeline([("scale", StandardScaler())], model)
    return model.fit(X[40:], y[40:], public=(X[:40], y[:40]), ids=[f"p{i}" for i in range(40)])


def state(name, **options):
    return fitted(name, **options).fitted_


LINEAR = pytest.mark.parametrize("name", [name for name in STRATEGIES if name[0] == "l"])


def job_for(name, observer="final"):
    job = (networks.job_of if name.startswith("network") else job_of)(observer=observer, seed=3)
    return job, job.without([job.roster.public + 2, job.roster.public + 7])


def values(fitted):
    outcome = fitted.outcome
    parts = [*every_value(fitted.job), *outcome.state.values(), *outcome.secret.values()]
    return [part.clone() for part in parts]


def test_its_certificates_recompute_request_after_request(name):
    known = state(name)
    for ids in (["p1"], ["p2", "p3"]):
        known, certificate = honour(known, ids)
        assert not differences(certificate)
        assert certificate.strategy == known.strategy.name
    assert certificate.forgotten == 3


@pytest.mark.parametrize("each", [True, False])
def test_requests_of_a_batch_share_a_model_and_their_certificates_follow_each_other(name, each):
    known, first = honour(state(name), ["p1"])
    known, batch = honour_batch(known, [["p2"], ["p3", "p4"], "p5"], each=each)
    assert len(batch) == (3 if each else 1)
    known, last = honour(known, ["p6"])
    certificates = [first, *batch, last]
    assert [differences(certificate) for certificate in certificates] == [[]] * len(certificates)
    assert chain_differences(certificates) == []
    assert [one.generation for one in certificates] == [1, *[2] * len(batch), 3]
    assert {one.forgotten for one in batch} == {5}


def test_a_batch_is_the_request_for_all_of_its_records(name):
    """Sums may come in another order; the account does not."""
    _, whole = honour(state(name), ["p2", "p3", "p4"])
    _, batch = honour_batch(state(name), [["p2"], ["p3", "p4"]])
    for certificate in batch:
        assert certificate.history == whole.history
        assert certificate.claim.model_dump(exclude={"statement"}) == whole.claim.model_dump(
            exclude={"statement"}
        )


def test_where_it_chooses_the_work_itself_its_certificate_meets_the_target(name):
    known = state(name)
    _, certificate = honour(known, ["p1"])
    if "misses the target" not in str(certificate.declared) and not certificate.claim.vacuous:
        assert certificate.epsilon <= known.job.target.level


def test_a_failure_leaves_everything_as_it_was(name, monkeypatch):
    known = state(name)
    before = values(known)
    monkeypatch.setattr("expunge.unlearning.requests.certify", refuse)
    with pytest.raises(NoCertificate, match="planted"):
        honour(known, ["p1"])
    assert all(map(torch.equal, values(known), before))
    known.check_unchanged()


def refuse(*args):
    raise NoCertificate("planted")


def joined(name, known, ids, **options):
    """The state after records with these ids have joined, and its certificate."""
    first = known.job.roster.public
    columns = [column[first : first + len(ids)].clone() for column in known.job.row_columns]
    return join(known, columns, ids, **options)


def test_records_join_with_certificates_that_recompute_or_it_says_by_name_that_they_cannot(name):
    known = state(name)
    if name.startswith("network"):
        with pytest.raises(NoCertificate, match=re.escape(f"{known.strategy.name} takes no")):
            known.strategy.add(known.job, known.outcome)
        with pytest.raises(NoCertificate, match="no records can join a network"):
            joined(name, known, ["n1"])
        known.check_unchanged()
        return
    known, nothing = joined(name, known, ["n1", "n2"])
    assert nothing is None
    for verb, ids in (("forget", ["p1", "n2"]), ("add", ["n3"]), ("forget", ["n3", "p2"])):
        known, certificate = honour(known, ids) if verb == "forget" else joined(name, known, ids)
        assert not differences(certificate)
        assert certificate.forgotten == known.job.roster.forgotten
        assert certificate.records == known.job.roster.records
        assert certificate.epsilon <= known.job.target.level
        known.check_unchanged()
    assert certificate.sequence == 3


@LINEAR
def test_an_addition_that_fails_leaves_everything_as_it_was(name, monkeypatch):
    known, _ = honour(state(name), ["p1"])
    before = values(known)
    monkeypatch.setattr("expunge.unlearning.requests.certify", refuse)
    with pytest.raises(NoCertificate, match="planted"):
        joined(name, known, ["n1"])
    assert all(map(torch.equal, values(known), before))
    known.check_unchanged()


@LINEAR
def test_what_newcomers_held_is_erased_when_they_are_forgotten(name):
    known, _ = joined(name, state(name), ["n1", "n2", "n3"])
    rows = known.job.roster.rows_of(["n1", "n3"])
    after, _ = honour(known, ["n1", "n3"])
    for each in (known, after):
        for column in (*each.rows.columns, *each.job.row_columns):
            assert not column[rows].any()


@LINEAR
def test_no_model_depends_on_what_a_forgotten_newcomer_held(name):
    """Planted: infinities where zeros are, in the values that an addition reads."""
    known, _ = joined(name, state(name), ["n1", "n2"])
    known, _ = honour(known, ["n1"])
    (row,) = [known.job.roster.ids["n1"]]
    roster = known.job.roster.with_more(["n4"], 1)
    values = [torch.cat([column, column[:1]]) for column in known.job.row_columns]
    job = known.job.with_more(roster, values)
    first = known.strategy.add(job, known.outcome)
    values[0][row] = torch.inf
    second = known.strategy.add(job, known.outcome)
    assert all(torch.equal(first.state[part], second.state[part]) for part in first.state)


@LINEAR
def test_what_comes_back_from_disk_takes_records_in_as_memory_does(name, tmp_path):
    model = fitted(name)
    X, y = labelled(84)
    model.add(X[80:82], y[80:82], ids=["n1", "n2"])
    model.save(tmp_path)
    again = load(tmp_path)
    for verb, ids in (("forget", ["p1", "n1"]), ("add", ["n3", "n1"]), ("forget", ["n1"])):
        if verb == "forget":
            expected, found = model.forget(ids), again.forget(ids)
        else:
            expected, found = (m.add(X[82:], y[82:], ids=ids, again=True) for m in (model, again))
        models = expected.model_sha256 is not None  # else its file has a salt
        assert told(found, models=models) == told(expected, models=models)
        model.save(tmp_path)
        again = load(tmp_path)


def test_it_changes_nothing_of_the_job_it_is_given(name):
    strategy, (job, asked) = STRATEGIES[name], job_for(name)
    before = [part.clone() for part in every_value(job)]
    outcome = strategy.fit(job)
    kept = copy.deepcopy(outcome.secret)
    strategy.forget(asked, outcome)
    strategy.placebo(asked, outcome)
    assert all(map(torch.equal, every_value(job), before))
    assert all(torch.equal(outcome.secret[part], value) for part, value in kept.items())


def test_what_the_forgotten_rows_held_is_erased(name):
    known = state(name)
    rows = known.job.roster.rows_of(["p1", "p2"])
    after, _ = honour(known, ["p1", "p2"])
    for column in after.rows.columns:
        assert not column[[row - after.rows.first for row in rows]].any()
    for part, value in after.outcome.secret.items():
        if part.startswith("rows."):
            assert not value[rows].any()


def test_no_model_depends_on_what_the_forgotten_rows_of_an_earlier_request_hold(name):
    """Planted: infinities where zeros are; one look at them and everything is NaN."""
    strategy, (job, asked) = STRATEGIES[name], job_for(name)
    after = strategy.forget(asked, strategy.fit(job))
    again = asked.without([asked.roster.public + 20])
    first = strategy.forget(again, after)
    column = asked.features if hasattr(asked, "features") else asked.inputs
    offset = 0 if hasattr(asked, "features") else asked.roster.public
    for row in (2, 7):
        column[asked.roster.public + row - offset] = torch.inf
    second = strategy.forget(again, after)
    assert all(torch.equal(first.state[part], second.state[part]) for part in first.state)


@pytest.mark.parametrize("observer", ["final", "all"])
def test_it_is_taken_for_its_observers_and_refused_for_others(name, observer):
    if observer in STRATEGIES[name].observers:
        assert honour(state(name, observer=observer), ["p1"])[1].observer == observer
    else:
        with pytest.raises(InvalidInput, match="is for observer 'final'"):
            state(name, observer=observer)


def test_what_comes_back_from_disk_forgets_as_memory_does(name, tmp_path):
    model = fitted(name)
    model.forget("p1")
    model.save(tmp_path)
    again = (load_network if name.startswith("network") else load)(tmp_path)
    expected, found = model.forget(["p2"]), again.forget(["p2"])
    models = expected.model_sha256 is not None  # else its file has a salt
    assert told(found, models=models) == told(expected, models=models)


def test_its_placebo_costs_no_more_than_the_request_and_is_no_copy_of_it(name):
    strategy, (job, asked) = STRATEGIES[name], job_for(name)
    if name.startswith("network"):
        before = strategy.fit(job)
        assert strategy.placebo(asked, before).flops <= strategy.cost(asked) * (1 + 1e-12)
        return
    strategy = attainable(strategy, job)
    before, spent = strategy.fit(job), {}
    for verb in ("forget", "placebo"):
        counted, meter = metered(asked)
        getattr(strategy, verb)(counted, before)
        spent[verb] = meter.flops
    assert spent["placebo"] <= max(spent["forget"], nominal_cost(asked))


def test_a_placebo_is_the_same_whatever_was_learned_before(name):
    strategy, (job, asked) = STRATEGIES[name], job_for(name)
    before = strategy.fit(job)
    spoilt = {part: torch.full_like(value, 7) for part, value in before.state.items()}
    arms = [strategy.placebo(asked, each) for each in (before, replace(before, state=spoilt))]
    assert all(torch.equal(arms[0].state[part], arms[1].state[part]) for part in arms[0].state)


def test_its_price_is_a_function_of_counts(name):
    strategy, (job, _) = STRATEGIES[name], job_for(name)
    shown = strategy.price(job, 3)
    for part in (job.features,) if hasattr(job, "features") else (job.inputs,):
        part.mul_(0.5)
    assert strategy.price(job, 3) == shown
    assert shown.name == strategy.name
