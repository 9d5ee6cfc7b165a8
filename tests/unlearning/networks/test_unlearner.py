"""The verbs over any module: everything or nothing, and honest certificates."""

import copy
import hashlib
from contextlib import contextmanager

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from expunge.accounting.verification import differences
from expunge.core.inputs import tensors_in
from expunge.core.module_state import with_state
from expunge.errors import InvalidInput
from expunge.losses.objective import Objective
from expunge.unlearning import (
    Clipped,
    Head,
    HeadFinetune,
    NetworkLangevin,
    NoCertificate,
    RetrainNetwork,
    Training,
)
from expunge.unlearning.networks.head import FEATURES
from expunge.unlearning.networks.unlearner import TorchUnlearner
from expunge.unlearning.networks.weights import network_bytes
from expunge.unlearning.roster import Roster
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.strategy import strategy_of
from tests.unlearning.linear.test_pass_free import Touched, unreachable
from tests.unlearning.networks.problems import bits, masked, network, rows, texts

SHORT = Training(epochs=1, batch_size=32)
STRATEGIES = {
    "head": Head(),
    "head+finetune": HeadFinetune(SHORT),
    "retrain": RetrainNetwork("public", SHORT),
    "langevin": NetworkLangevin(learn_steps=4, step_size=0.2, sigma=8.0),
    "clipped": Clipped(SHORT, unlearn_steps=3, project=True),
}
IDS = [f"p{i}" for i in range(60)]


def unlearner(strategy="head", model=None, **settings):
    made = network() if model is None else model
    settings = {
        "strategy": STRATEGIES.get(strategy, strategy),
        "retraining": RetrainNetwork(),
    } | settings
    return TorchUnlearner(made, nn.CrossEntropyLoss(), head="fc", **settings)


def fitted(strategy="head", model=None, evaluate=None, **settings):
    made = unlearner(strategy, model, **settings)
    return made.fit(rows(60, seed=1), public=rows(40, seed=2), ids=IDS, evaluate=evaluate)


def state(made):
    """Everything that a failed request must leave alone."""
    known = made.fitted_
    return (
        bits(made.model.state_dict()),
        bits(known.outcome.state),
        bits(known.outcome.secret),
        bits({"x": known.job.inputs, "y": known.job.targets, "keep": known.job.roster.present}),
        known.certificate,
        made.history,
    )


@pytest.fixture(params=list(STRATEGIES))
def strategy(request):
    return request.param


@pytest.mark.parametrize("undone", [True, False])
def test_an_interruption_leaves_module_and_state_to_which_the_rows_belong(monkeypatch, undone):
    made = fitted("head")
    made.forget("p1")
    before, erasing = state(made), RowStore.erasing

    @contextmanager
    def interrupted(*given):
        with erasing(*given):
            yield
            if undone:
                raise KeyboardInterrupt
        raise KeyboardInterrupt

    monkeypatch.setattr(RowStore, "erasing", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.forget(["p3", "p4"])
    monkeypatch.undo()
    assert (state(made) == before) == undone
    assert made.fitted_.job.roster.request == (1 if undone else 2)
    kept = with_state(made.fitted_.job.module, made.fitted_.outcome.state)
    assert bits(made.model.state_dict()) == bits(kept.state_dict())
    assert made.forget("p5").forgotten == (2 if undone else 4)


def test_a_deletion_returns_a_certificate_that_recomputes(strategy):
    made = fitted(strategy)
    assert made.certificate is None
    certificate = made.forget(["p3", "p59"], request="ticket 7")
    assert certificate == made.certificate
    assert not differences(certificate)
    assert certificate.claim.epsilon <= 1.0
    assert (certificate.claim.epsilon == 0) == (strategy == "retrain")
    assert certificate.strategy == strategy
    assert certificate.forgotten == 2
    assert certificate.requests == ["ticket 7"]
    assert certificate.earlier_releases == "not covered"
    assert "EARLIER RELEASES NOT COVERED." in certificate.claim.statement
    assert made.history is not None
    assert not differences(made.forget("p4", request="ticket 8"))
    assert made.certificate.forgotten == 3
    assert made.certificate.requests == ["ticket 8"]


def test_the_hash_is_the_model_files_unless_it_would_be_a_membership_oracle(strategy):
    made = fitted(strategy)
    certificate = made.forget("p3")
    found = hashlib.sha256(network_bytes(made.model)).hexdigest()
    if strategy == "retrain":
        assert certificate.model_sha256 is None
        assert certificate.commitments["model"] != found
    else:
        assert certificate.model_sha256 == found


def test_under_head_nothing_but_the_layer_changes_in_the_users_module():
    model = network(extra=nn.BatchNorm1d(6))
    model.train()
    before = bits(model.state_dict())
    parameters = list(map(id, model.parameters()))
    made = fitted(model=model)
    made.forget("p3")
    found = bits(model.state_dict())
    assert {n for n in before if found[n] != before[n]} == {"fc.weight", "fc.bias"}
    assert list(map(id, model.parameters())) == parameters
    assert model.training


def test_a_deletion_removes_rows_everywhere(strategy):
    made = fitted(strategy)
    made.forget(["p3", "p59"])
    job, secret = made.fitted_.job, made.fitted_.outcome.secret
    assert float(job.inputs[[3, 59]].abs().sum()) == 0
    assert float(job.inputs[[2, 58]].abs().sum()) > 0
    assert int(job.targets[[3, 59]].sum()) == 0
    if FEATURES in secret:
        assert float(secret[FEATURES][[43, 99]].abs().sum()) == 0
        assert (secret[FEATURES][:40].abs().sum(1) > 0).all()
        assert (secret[FEATURES][[42, 98]].abs().sum(1) > 0).all()


def test_the_callers_tensors_are_left_alone():
    inputs, targets = rows(60, seed=1)
    copied = inputs.clone()
    made = unlearner().fit((inputs, targets), public=rows(40, seed=2))
    made.forget([0, 1])
    assert torch.equal(inputs, copied)


def test_requests_one_after_another_end_where_one_request_does():
    """With the same seed and count of requests only the records forgotten matter."""
    first, second = fitted("retrain", random_state=3), fitted("retrain", random_state=3)
    first.forget(["p1"])
    first.forget(["p2"])
    second.forget(["p1", "p2"])
    assert bits(first.model.state_dict()) == bits(second.model.state_dict())


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ("nobody", "unknown id 'nobody'"),
        (["p1", "p1"], "given twice"),
        ([], "no ids"),
        ("p0", "already forgotten"),
    ],
    ids=["unknown", "twice", "none", "gone"],
)
def test_a_bad_request_changes_nothing(ids, said):
    made = fitted()
    made.forget("p0")
    before = state(made)
    with pytest.raises(ValueError, match=said):
        made.forget(ids)
    assert state(made) == before


@pytest.mark.parametrize("where", ["comparison", "certificate"])
def test_a_failure_at_the_last_moment_changes_nothing(strategy, where, monkeypatch):
    made = fitted(strategy, evaluate=rows(20, seed=3))
    before = state(made)

    def fail(*args, **kwargs):
        raise NoCertificate("planted")

    place = {"comparison": "networks.network_fitted.compared", "certificate": "requests.certify"}
    monkeypatch.setattr(f"expunge.unlearning.{place[where]}", fail)
    with pytest.raises(NoCertificate, match="planted"):
        made.forget(["p1", "p2"])
    assert state(made) == before
    monkeypatch.undo()
    assert not differences(made.forget(["p1", "p2"]))


def test_changed_records_or_another_model_void_the_certificate():
    made = fitted()
    made.fitted_.job.inputs[5] += 1
    with pytest.raises(NoCertificate, match="stored records changed"):
        made.forget("p1")
    made = fitted()
    made.model.fc = nn.Linear(6, 5)
    with pytest.raises(NoCertificate, match="no longer the one"):
        made.forget("p1")
    made = fitted()
    with torch.no_grad():
        made.fitted_.job.module.body[0].weight += 1
    with pytest.raises(NoCertificate, match="stored records changed"):
        made.forget("p1")


def test_fitting_again_starts_from_the_model_as_it_first_came():
    model = network()
    made = unlearner("retrain", model, random_state=1)
    made.fit(rows(60, seed=1))
    first = bits(model.state_dict())
    made.fit(rows(60, seed=8))
    made.fit(rows(60, seed=1))
    assert bits(model.state_dict()) == first


def test_the_last_record_cannot_go():
    made = unlearner("retrain").fit(rows(3, seed=1))
    with pytest.raises(ValueError, match="no record would remain"):
        made.forget([0, 1, 2])


def test_seeds_are_for_experiments_and_the_certificate_says_so(strategy):
    line = "EXPERIMENT ONLY: the noise is seeded and can be replayed."
    assert line in fitted(strategy, random_state=1).forget("p1").claim.statement
    assert line not in fitted(strategy).forget("p1").claim.statement


def test_every_certificate_tells_what_it_bought_or_that_nobody_looked(strategy):
    made = fitted(strategy, evaluate=rows(50, seed=3))
    certificate = made.forget("p1")
    assert made.placebo().line in certificate.declared
    untried = fitted(strategy)
    assert any("no placebo was run" in line for line in untried.forget("p1").declared)
    again = untried.placebo(evaluate=rows(50, seed=3))
    assert again.rows == 50
    assert again.strategy == strategy


def test_a_placebo_needs_a_request_and_records():
    made = fitted()
    with pytest.raises(InvalidInput, match="nothing was forgotten yet"):
        made.placebo(evaluate=rows(5))
    made.forget("p1")
    with pytest.raises(InvalidInput, match="evaluate: give held-out records"):
        made.placebo()


def test_a_second_fit_or_request_hands_out_what_the_certificate_does_not_cover():
    made = fitted(released=False)
    assert made.forget(["p1"]).earlier_releases == "none known"
    assert made.forget(["p2"]).earlier_releases == "not covered"  # the first one had learned it
    again = fitted("langevin", observer="all")
    assert again.forget(["p1"]).earlier_releases == "covered"
    again.fit(rows(60, seed=1), public=rows(40, seed=2), ids=IDS)
    assert again.forget(["p1"]).earlier_releases == "not covered"


def test_an_observer_set_later_is_checked_at_fit():
    made = unlearner()
    made.observer = "all"
    with pytest.raises(InvalidInput, match="observer 'final'"):
        made.fit(rows())


def test_a_module_that_another_unlearner_has_trained_is_no_start():
    module = network()
    fitted(model=module)
    with pytest.raises(InvalidInput, match="another unlearner"):
        fitted(model=module)
    fitted(RetrainNetwork("scratch", SHORT), model=module)


class Center(nn.Module):
    """A running mean that is no BatchNorm."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6), persistent=False)

    def forward(self, x):
        if self.training:
            self.mean.lerp_(x.detach().mean(0), 0.1)
        return x - self.mean


def test_buffers_that_somebody_moved_are_put_back_to_what_is_certified():
    module = network(extra=Center())
    made = fitted(model=module)
    module.train()(rows()[0] + 5)
    assert float(module.body[1].mean.abs().max()) > 0
    made.forget(["p1"])
    assert float(module.body[1].mean.abs().max()) == 0


def test_weights_that_were_untied_later_are_written_too():
    module = network(extra=nn.Linear(6, 6))
    module.body[1].weight = nn.Parameter(torch.eye(6))
    module.again = module.body[1]
    made = fitted(RetrainNetwork(training=SHORT), model=module)
    module.again = copy.deepcopy(module.body[1])
    with torch.no_grad():
        module.again.weight.fill_(9.0)
    made.forget(["p1"])
    assert torch.equal(module.again.weight, module.body[1].weight)


def test_the_old_model_is_not_saved_beside_the_new_certificate(tmp_path):
    made = fitted(RetrainNetwork(training=SHORT))
    old = copy.deepcopy(made.model.state_dict())
    made.forget(["p1"])
    made.model.load_state_dict(old)
    with pytest.raises(ValueError, match="not the one that its certificate is about"):
        made.save(tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_a_loss_with_parameters_is_refused():
    class Weighed(nn.CrossEntropyLoss):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

    with pytest.raises(InvalidInput, match="loss"):
        TorchUnlearner(network(), Weighed(), head="fc")


def test_released_false_says_that_no_earlier_model_is_out():
    assert fitted(released=False).forget("p1").earlier_releases == "none known"


def test_loaders_of_datasets_serve_as_well_as_tensors():
    inputs, targets = rows(60, seed=1)
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=8, shuffle=True)
    one = unlearner(random_state=0).fit(loader, public=rows(40, seed=2))
    other = unlearner(random_state=0).fit((inputs, targets), public=rows(40, seed=2))
    one.forget(7)
    other.forget(7)
    assert bits(one.model.state_dict()) == bits(other.model.state_dict())


FORMS = {
    "dict": texts,
    "table": lambda *given: {**texts(*given)[0], "label": texts(*given)[1]},
    "tuple": lambda *given: (tuple(texts(*given)[0].values()), texts(*given)[1]),
}


@pytest.mark.parametrize("form", FORMS)
def test_several_inputs_serve_every_strategy_and_leave_the_model_as_it_is_called(strategy, form):
    made, make = unlearner(strategy, masked(), random_state=3), FORMS[form]
    made.fit(make(60, 1), public=make(40, 2), ids=IDS, evaluate=make(30, 3))
    assert not differences(made.forget(["p3", "p59"]))
    assert len(made.plan(3)) == len(STRATEGIES)
    assert made.placebo(evaluate=make(20, 4)).rows == 20
    for _, column in tensors_in(made.fitted_.job.inputs):
        assert float(column[[3, 59]].double().abs().sum()) == 0
        assert float(column[[2, 58]].double().abs().sum()) > 0
    columns, _ = texts(5, 6)
    torch.testing.assert_close(made.model(**columns), made.model(*columns.values()))
    assert not made.model._forward_pre_hooks  # neither wrapped nor hooked
    with pytest.raises(TypeError):
        made.model(columns["tokens"])


def test_several_inputs_in_the_same_order_give_the_same_model_in_every_form():
    found = []
    for make in FORMS.values():
        made = unlearner("head+finetune", masked(), random_state=3)
        made.fit(make(60, 1), public=make(40, 2), ids=IDS)
        made.forget("p3")
        found.append(bits(made.model.state_dict()))
    assert found[0] == found[1] == found[2]


def test_inputs_that_do_not_fit_the_model_or_each_other_are_refused_before_anything_runs():
    columns, targets = texts(60)
    model = masked()
    before = bits(model.state_dict())
    made = unlearner("retrain", model)
    with pytest.raises(InvalidInput, match=r"private: the model cannot be called .*'idx'"):
        made.fit(({**columns, "idx": torch.arange(60)}, targets))
    with pytest.raises(InvalidInput, match="public: has the inputs"):
        made.fit((columns, targets), public=FORMS["tuple"](40))
    with pytest.raises(InvalidInput, match="evaluate: has the inputs inputs;"):
        made.fit((columns, targets), evaluate=(columns["tokens"], targets))
    assert bits(model.state_dict()) == before
    made.fit((columns, targets)).forget(3)
    with pytest.raises(InvalidInput, match="evaluate: has the inputs"):
        made.placebo(evaluate=FORMS["tuple"](9))


def test_the_plan_lists_every_strategy_the_cheapest_first():
    made = fitted()
    plan = made.plan(10)
    assert {price.name for price in plan} == set(STRATEGIES)
    costs = [price.cost_of_retraining for price in plan]
    assert costs == sorted(costs)
    assert {p.name: p.epsilon for p in plan}["retrain"] == 0
    assert {p.name: p.cost_of_retraining for p in plan}["retrain"] == 1
    assert all(p.epsilon <= 1 for p in plan if p.excluded is None)
    with pytest.raises(ValueError, match="61 of 60"):
        made.plan(61)


def test_a_plan_says_why_a_strategy_cannot_be_taken():
    def own(outputs, targets):
        return (outputs - 1).square().mean()

    made = TorchUnlearner(network(), own, head="fc", strategy=STRATEGIES["retrain"])
    made.fit(rows(30))
    excluded = {price.name: price.excluded for price in made.plan(1)}
    assert "own: only cross_entropy" in excluded["head"]
    assert excluded["retrain"] is None


def test_a_loss_that_becomes_nan_changes_nothing():
    def broken(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets) * torch.nan

    model = network()
    before = bits(model.state_dict())
    made = TorchUnlearner(model, broken, strategy=STRATEGIES["retrain"])
    with pytest.raises(NoCertificate, match="NaN or infinity"):
        made.fit(rows(30))
    assert bits(model.state_dict()) == before


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": 21.0}, "above is vacuous"),
        ({"delta": 2.0}, "delta"),
        ({"observer": "nobody"}, "observer"),
        ({"observer": "all"}, "head is for observer 'final'"),
        ({"strategy": "magic"}, "not one of head, head"),
        ({"strategy": 3}, "neither a name nor"),
        ({"random_state": 0.5}, "random_state"),
    ],
    ids=["no epsilon", "epsilon", "delta", "observer", "all", "name", "number", "seed"],
)
def test_settings_are_checked_before_anything_runs(settings, said):
    with pytest.raises(ValueError, match=said):
        unlearner(**settings)


def test_before_fit_there_is_nothing_to_forget():
    with pytest.raises(InvalidInput, match="call fit first"):
        unlearner().forget(1)


def test_tied_weights_outside_the_head_are_handled_and_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.fc = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 3)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.fc(torch.tanh(self.b(torch.tanh(self.a(x)))))

    for name in STRATEGIES:
        made = fitted(name, Tied())
        assert not differences(made.forget("p1"))
        assert made.model.b.weight is made.model.a.weight


def test_copies_of_the_model_predict_alike():
    made = fitted("head+finetune")
    inputs, _ = rows(10, seed=4)
    duplicate = copy.deepcopy(made.model).eval()
    torch.testing.assert_close(duplicate(inputs), made.model.eval()(inputs))


def test_a_plan_promises_what_the_certificate_says_and_uses_the_word_vacuous():
    faint = NetworkLangevin(learn_steps=5, unlearn_steps=2, sigma=1e-3, step_size=0.3)
    for strategy in (STRATEGIES["langevin"], STRATEGIES["clipped"], faint):
        made = fitted(strategy)
        promised = {price.name: price for price in made.plan(2)}[strategy.name]
        claim = made.forget(["p1", "p2"]).claim
        if strategy is faint:
            assert claim.vacuous
            assert promised.epsilon is None
            assert promised.excluded.startswith("vacuous")
        else:
            assert promised.epsilon == pytest.approx(claim.epsilon, rel=1e-6)
            assert promised.guarantee == claim.bound
            assert promised.excluded is None


def test_a_plan_prices_the_request_that_comes_next():
    """Of many records, then of one: neither the request before nor none is priced."""
    made = fitted("head")
    for ids in ([f"p{i}" for i in range(30)], ["p40"]):
        promised = {price.name: price for price in made.plan(len(ids))}["head"]
        made.forget(ids)
        found = made.placebo(evaluate=rows(9, seed=4))
        spent = found.certified.flops / found.retraining
        assert promised.cost_of_retraining == pytest.approx(spent, rel=1e-9)


def test_a_plan_names_the_layer_that_noisy_steps_refuse():
    made = fitted(model=network(extra=nn.BatchNorm1d(6)))
    excluded = {price.name: price.excluded for price in made.plan(2)}
    assert excluded["head"] is None
    assert "'body.1' (BatchNorm1d) mixes" in excluded["langevin"]
    assert "'body.1' (BatchNorm1d) mixes" in excluded["clipped"]


@pytest.mark.parametrize("name", ["gradient clipping", "model clipping", "hybrid"])
def test_published_baselines_go_by_their_names(name):
    assert unlearner(name).strategy is strategy_of("network", name)


@pytest.mark.parametrize("strategy", [NetworkLangevin, Clipped])
def test_no_setting_widens_the_observers(strategy):
    with pytest.raises(TypeError, match="observers"):
        strategy(observers=("final", "all"))


def test_nothing_to_learn_from_or_to_learn_is_said_in_one_line():
    x, y = rows(60, seed=1)
    with pytest.raises(InvalidInput, match="private: holds no records"):
        unlearner().fit((x[:0], y[:0]), public=(x, y))
    with pytest.raises(InvalidInput, match="model: has no parameters"):
        TorchUnlearner(nn.Identity(), nn.MSELoss(), strategy="langevin").fit((x, x))
    with pytest.raises(InvalidInput, match="public: inputs: rows of"):
        unlearner("langevin").fit((x, y), public=(x[:, :-1], y))
    with pytest.raises(InvalidInput, match="neither a name nor a strategy's record"):
        unlearner(NetworkLangevin)


def test_a_module_whose_parameters_were_tied_since_fit_is_not_certified():
    """What would be written into it is not what the certificate is about."""

    class Spare(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 3)
            self.a, self.b = (nn.Parameter(torch.zeros(2)) for _ in range(2))

        def forward(self, x):
            return self.fc(x) + 0 * (self.a.sum() + self.b.sum())

    made = unlearner("clipped", Spare(), random_state=0).fit(rows(60, seed=1), public=rows(40))
    made.model.a = made.model.b
    with pytest.raises(NoCertificate, match="no longer the one"):
        made.forget(1)
    made.fitted_.check_unchanged()


def touched(monkeypatch, made, spoil=lambda _: None):
    """Bytes of tensors that a request reads and makes."""
    row = 2 * made.fitted_.job.roster.request
    with monkeypatch.context() as patch, Touched(patch) as count:
        made.forget([row, row + 1])
        spoil(made.fitted_)
    assert not made.fitted_.outcome.read_every_row
    return count.bytes


def test_what_a_request_to_a_head_touches_does_not_grow_with_the_records(monkeypatch):
    made = []
    for times in (1, 4):
        inputs, targets = (torch.cat([part] * times) for part in rows(500, seed=1))
        one = unlearner(Head(l2=0.05))
        made.append(one.fit((inputs, targets), public=rows(40, seed=2)))
    few, many = (touched(monkeypatch, each) for each in made)
    assert few == many
    for spoil in (
        lambda known: known.job.targets.clone(),
        lambda known: known.outcome.secret[FEATURES].clone(),
        lambda known: known.check_unchanged(),
    ):
        assert touched(monkeypatch, made[1], spoil) > many
    monkeypatch.setattr(Objective, "__init__", unreachable)
    for name in ("present", "last", "left", "present_after"):
        monkeypatch.setattr(Roster, name, property(unreachable))
    made[1].forget([300, 301])
