"""A restart changes nothing: what is given again is checked, and the next request is the same."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput
from expunge.unlearning import (
    Cyclic,
    HeadFinetune,
    NetworkLangevin,
    PoissonBatch,
    RetrainNetwork,
    Training,
)
from expunge.unlearning.networks.unlearner import TorchUnlearner
from expunge.unlearning.requests import honour
from tests.unlearning.certificates import COPIED, told
from tests.unlearning.networks.problems import Small, bits, network, rows
from tests.unlearning.networks.test_unlearner import (
    IDS,
    SHORT,
    STRATEGIES,
    fitted,
    state,
    unlearner,
)

ROOT = Path(__file__).parents[3]


def load(folder, **changed):
    """With everything as `fitted` has it, but for what is changed."""
    given = {
        "model": network(),
        "loss": nn.CrossEntropyLoss(),
        "private": rows(60, seed=1),
        "public": rows(40, seed=2),
        "ids": IDS,
    }
    return TorchUnlearner.load(folder, **given | changed)


def comparable(certificate):
    """All but what is drawn anew whoever asks."""
    return told(certificate, models=certificate.model_sha256 is not None)


RESUMED = STRATEGIES | {
    "langevin, all": NetworkLangevin(
        learn_steps=4, step_size=0.2, sigma=8.0, scheme=PoissonBatch(0.5, seed=1)
    ),
    "langevin, cyclic": NetworkLangevin(
        learn_steps=4, unlearn_steps=2, step_size=0.2, sigma=8.0, scheme=Cyclic(2)
    ),
}


@pytest.mark.parametrize("name", RESUMED)
@pytest.mark.parametrize("requests", [0, 2])
def test_the_next_request_is_the_one_that_would_have_been(tmp_path, name, requests):
    settings = {"random_state": 3, "observer": "all" if name == "langevin, all" else "final"}
    held_out = rows(30, seed=3)
    whole = fitted(RESUMED[name], evaluate=held_out, **settings)
    first = fitted(RESUMED[name], evaluate=held_out, **settings)
    for i in range(requests):
        whole.forget(f"p{i}", request=f"ticket {i}")
        first.forget(f"p{i}", request=f"ticket {i}")
    whole.save(tmp_path / "whole")  # both say that their state is on disk
    first.save(tmp_path / "m")
    second = load(tmp_path / "m", evaluate=held_out, certificate=first.certificate)
    assert state(second) == state(first)
    assert second.strategy == RESUMED[name]
    if requests:
        assert second.placebo() == first.placebo()
    expected = whole.forget(["p7", "p8"], request="the last")
    found = second.forget(["p7", "p8"], request="the last")
    assert comparable(found) == comparable(expected)
    assert found.forgotten == requests + 2
    assert len(found.requests) == requests + 1
    assert bits(second.model.state_dict()) == bits(whole.model.state_dict())
    assert not differences(found)


def test_a_budget_that_forgot_the_earlier_request_would_be_seen(tmp_path):
    """The planted fault: state from before the request, history and all, costs less."""
    made = fitted("langevin", random_state=3, observer="all")
    made.save(tmp_path / "before")
    certificate = made.forget(IDS[:6])
    made.save(tmp_path / "after")
    counted = load(tmp_path / "after", certificate=certificate).forget("p9").claim.epsilon
    uncounted = load(tmp_path / "before").forget("p9").claim.epsilon
    assert counted > uncounted


def test_a_new_process_issues_the_same_certificate(tmp_path):
    made = fitted("head+finetune", random_state=3)
    made.forget("p1", request="one")
    made.save(tmp_path / "m")
    code = f"""
from tests.unlearning.networks.test_saved import load
made = load({str(tmp_path / "m")!r})
print(made.forget("p2", request="two").canonical())
made.save({str(tmp_path / "m")!r})
"""
    there = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    issued = parse_certificate(there.stdout)
    assert told(issued) == told(made.forget("p2", request="two"))
    made.save(tmp_path / "m2")
    weights = load(tmp_path / "m").model.state_dict()
    assert bits(weights) == bits(made.model.state_dict())


def test_without_a_seed_the_claim_is_the_same(tmp_path):
    made = fitted()
    made.forget("p1")
    made.save(tmp_path)
    again = load(tmp_path)
    assert again.forget("p2").claim == made.forget("p2").claim


def test_after_finetuning_the_next_request_begins_at_the_head_that_was_kept(tmp_path):
    """The fine-tuned network is state of its own: whatever it is, the next request is the same."""
    made = fitted(HeadFinetune(SHORT), random_state=3)
    made.forget("p1")
    made.save(tmp_path)
    again = load(tmp_path)
    secret, network_state = again.fitted_.outcome.secret, again.fitted_.outcome.state
    scale = float(secret["scale"])
    assert not torch.allclose(secret["theta"][:, :-1] / scale, network_state["fc.weight"].double())
    for value in network_state.values():
        value.fill_(torch.nan)
    unnoticed = replace(again.fitted_, fingerprint=None)  # or the change would be noticed
    assert honour(unnoticed, "p2")[1] == made.forget("p2")


def test_forgotten_records_may_be_missing_and_are_not_read(tmp_path):
    made = fitted(random_state=3)
    made.forget(["p3", "p59"])
    made.save(tmp_path)
    inputs, targets = rows(60, seed=1)
    left = [i for i in range(60) if i not in (3, 59)]
    fewer = load(tmp_path, private=(inputs[left], targets[left]), ids=[IDS[i] for i in left])
    spoilt = inputs.clone()
    spoilt[[3, 59]] = 1e6
    other = load(tmp_path, private=(spoilt, targets))
    assert state(fewer) == state(other) == state(made)
    assert float(other.fitted_.job.inputs[[3, 59]].abs().sum()) == 0
    with pytest.raises(ValueError, match="'p3' is already forgotten"):
        fewer.forget("p3")


def test_records_may_come_in_another_order_with_their_ids(tmp_path):
    made = fitted(random_state=3)
    made.save(tmp_path)
    inputs, targets = rows(60, seed=1)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(0))
    again = load(
        tmp_path, private=(inputs[order], targets[order]), ids=[IDS[i] for i in order.tolist()]
    )
    assert state(again) == state(made)


def test_row_numbers_are_ids_too(tmp_path):
    made = unlearner(random_state=3).fit(rows(60, seed=1), public=rows(40, seed=2))
    made.forget(5)
    made.save(tmp_path)
    inputs, targets = rows(60, seed=1)
    left = [i for i in range(60) if i != 5]
    assert state(load(tmp_path, ids=None)) == state(made)
    fewer = (inputs[left], targets[left])
    assert state(load(tmp_path, private=fewer, ids=left)) == state(made)
    with pytest.raises(InvalidInput, match="give the ids"):
        load(tmp_path, private=fewer, ids=None)


def changed_row(row, column=0):
    inputs, targets = rows(60, seed=1)
    inputs[row, column] = torch.nextafter(inputs[row, column], torch.tensor(torch.inf))
    return inputs, targets


def relabelled(row):
    inputs, targets = rows(60, seed=1)
    targets[row] = (targets[row] + 1) % 3
    return inputs, targets


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda: {"private": changed_row(17)}, "private: record 'p17' is not what it was"),
        (lambda: {"private": relabelled(17)}, "private: record 'p17' is not what it was"),
        (lambda: {"private": rows(60, seed=9)}, "private: record 'p0' is not what it was"),
        (lambda: {"private": rows(59, seed=1)}, "59 private records"),
        (
            lambda: {"private": tuple(t[:59] for t in rows(60, seed=1)), "ids": IDS[:59]},
            "private: no record 'p59', which this state has not forgotten",
        ),
        (lambda: {"ids": [*IDS[:59], "new"]}, "private: id 'new' was not there at fit"),
        (lambda: {"ids": [IDS[1], IDS[0], *IDS[2:]]}, "record 'p0' is not what it was"),
        (lambda: {"ids": None}, "ids: give the ids"),
        (
            lambda: {"private": (rows(60, seed=1)[0].double(), rows(60, seed=1)[1])},
            r"private: inputs: \(4,\) torch.float64, at fit \(4,\) torch.float32",
        ),
        (lambda: {"public": rows(40, seed=3)}, "public: not the records"),
        (lambda: {"public": tuple(t.flip(0) for t in rows(40, seed=2))}, "public: not the rec"),
        (lambda: {"public": None}, "public: not the records"),
        (lambda: {"loss": nn.CrossEntropyLoss(label_smoothing=0.1)}, "loss: not the one"),
        (lambda: {"loss": nn.functional.cross_entropy}, "loss: not the one"),
        (lambda: {"evaluate": ((rows(5)[0], rows(5)[0]), rows(5)[1])}, "evaluate: has the inputs"),
    ],
    ids=[
        "bit", "label", "all", "count", "missing", "unknown", "swapped", "no ids", "precision",
        "public", "order", "no public", "smoothing", "function", "form",
    ],
)  # fmt: skip
def test_other_records_or_another_loss_are_refused_by_name(tmp_path, changed, said):
    fitted().save(tmp_path)
    with pytest.raises(ValueError, match=said):
        load(tmp_path, **changed())


class Relu(Small):
    """The same parameters, another function."""

    def forward(self, x):
        return self.fc(self.body[0](x).relu())


def other_code():
    made = Relu()
    made.load_state_dict(network().state_dict())
    return made


def moved():
    made = network()
    with torch.no_grad():
        made.body[0].weight[0, 0] += 1e-6
    return made


def frozen():
    made = network()
    made.body[0].requires_grad_(False)
    return made


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (lambda: network(hidden=7), "'body.0.weight' was .6, 4. torch.float32"),
        (lambda: network(bias=False), "'fc.bias' is missing"),
        (lambda: network(extra=nn.LayerNorm(6)), "'body.1.weight' was not there at fit"),
        (lambda: network().double(), "'body.0.weight' was .6, 4. torch.float32"),
        (moved, "the frozen 'body.0.weight' has changed since fit"),
        (lambda: network(7), "the frozen 'body.0.weight' has changed since fit"),
        (frozen, "'body.0.weight' was .6, 4. torch.float32, trained"),
        (other_code, "gives other outputs than at fit"),
    ],
    ids=["width", "fewer", "more", "precision", "bit", "weights", "trained", "code"],
)
@pytest.mark.parametrize("strategy", ["head", "head+finetune"])
def test_another_model_is_refused_by_the_layer_that_differs(tmp_path, model, said, strategy):
    fitted(strategy).save(tmp_path)
    given = model()
    before = bits(given.state_dict())
    with pytest.raises(InvalidInput, match=f"model: .*{said}"):
        load(tmp_path, model=given)
    assert bits(given.state_dict()) == before


def test_what_training_may_move_need_not_be_given_again(tmp_path):
    """A head drawn at random is another one after a restart; the start that counts is the saved."""
    made = fitted(random_state=3)
    made.save(tmp_path / "head")
    model = network()
    with torch.no_grad():
        model.fc.weight.normal_()
    again = load(tmp_path / "head", model=model)
    assert bits(again.fitted_.job.start) == bits(made.fitted_.job.start)
    trained = fitted("retrain", random_state=3)
    trained.save(tmp_path / "retrain")
    again = load(tmp_path / "retrain", model=network(9))
    again.forget("p1")
    trained.forget("p1")
    assert bits(again.model.state_dict()) == bits(trained.model.state_dict())


class Center(nn.Module):
    """A buffer that training moves."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        if self.training:
            self.mean.lerp_(x.detach().mean(0), 0.1)
        return x - self.mean


def test_buffers_and_half_precision_come_back(tmp_path):
    made = fitted(RetrainNetwork(training=SHORT), network(extra=Center()), random_state=3)
    assert float(made.model.body[1].mean.abs().max()) > 0
    made.save(tmp_path / "buffer")
    again = load(tmp_path / "buffer", model=network(extra=Center()))
    assert torch.equal(again.model.body[1].mean, made.model.body[1].mean)
    inputs, targets = rows(60, seed=1)
    half = {"private": (inputs.bfloat16(), targets)}
    public = (rows(40, seed=2)[0].bfloat16(), rows(40, seed=2)[1])
    made = unlearner(model=network().bfloat16(), random_state=3)
    made.fit(half["private"], public=public, ids=IDS).forget("p1")
    made.save(tmp_path / "half")
    again = load(tmp_path / "half", model=network().bfloat16(), public=public, **half)
    assert again.model.fc.weight.dtype == torch.bfloat16
    assert again.forget("p2") == made.forget("p2")


def test_several_inputs_come_back_in_any_order_of_names(tmp_path):
    class Pair(Small):
        def forward(self, left, right):
            return self.fc(self.body(left - right))

    (left, targets), (right, _) = rows(60, seed=1), rows(60, seed=4)
    public = ({"left": rows(40, seed=2)[0], "right": rows(40, seed=5)[0]}, rows(40, seed=2)[1])
    model = Pair()
    start = {name: value.clone() for name, value in model.state_dict().items()}
    made = unlearner(model=model, random_state=3)
    made.fit(({"left": left, "right": right}, targets), public=public, ids=IDS).forget("p1")
    made.save(tmp_path)
    fresh, swapped = Pair(), Pair()
    fresh.load_state_dict(start)
    swapped.load_state_dict(start)
    turned = ({"right": right, "left": left}, targets)
    again = load(tmp_path, model=fresh, private=turned, public=public)
    assert again.forget("p2") == made.forget("p2")
    with pytest.raises(InvalidInput, match="record 'p0' is not what it was"):
        load(
            tmp_path, model=swapped, private=({"left": right, "right": left}, targets),
            public=public,
        )  # fmt: skip
    with pytest.raises(InvalidInput, match="private: left: None, at fit"):
        load(tmp_path, model=swapped, private=(left, targets), public=public)


def test_a_module_of_another_unlearner_is_not_written(tmp_path):
    made = fitted()
    made.save(tmp_path)
    with pytest.raises(InvalidInput, match="another unlearner"):
        load(tmp_path, model=made.model)


def test_a_fit_after_loading_begins_at_the_start_and_knows_what_was_released(tmp_path):
    made = fitted("retrain", random_state=3, released=True)
    made.save(tmp_path)
    again = load(tmp_path)
    again.fit(rows(60, seed=1), public=rows(40, seed=2), ids=IDS)
    assert bits(again.model.state_dict()) == bits(made.model.state_dict())
    assert again.forget("p1").earlier_releases == "not covered"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: unlearner().fit(
                rows(60, seed=1), public=rows(40), ids=[(i,) for i in range(60)]
            ),
            r"ids: \(0,\) cannot be saved",
        ),
        (
            lambda: unlearner().fit(rows(3, seed=1), public=rows(40), ids=["a", "b", "\udc80"]),
            r"ids: '\\udc80' cannot be saved",
        ),
        (
            lambda: fitted(
                RetrainNetwork(training=Training(optimiser=lambda p, lr: torch.optim.SGD(p, lr)))
            ),
            "strategy.training.optimiser",
        ),
    ],
    ids=["ids", "half a character", "optimiser"],
)
def test_what_cannot_be_saved_is_said_before_anything_is_written(tmp_path, make, said):
    with pytest.raises(InvalidInput, match=said):
        make().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_nothing_of_a_forgotten_record_is_on_disk(tmp_path):
    """Neither the record, which is never written, nor its features, nor its commitment."""
    made = fitted()
    feature = made.fitted_.outcome.secret["rows.features"][43].numpy().tobytes()
    made.save(tmp_path)
    (path,) = (tmp_path / "secret").glob("*.safetensors")
    assert feature in path.read_bytes()
    record = made.fitted_.job.inputs[3].numpy().tobytes()
    kept = made.fitted_.job.inputs[4].numpy().tobytes()
    made.forget("p3")
    made.save(tmp_path)
    (path,) = (tmp_path / "secret").glob("*.safetensors")
    assert feature not in path.read_bytes()
    for found in (p for p in tmp_path.rglob("*") if p.is_file()):
        assert record not in found.read_bytes()
        assert kept not in found.read_bytes()


class Wrapped(nn.Module):
    """Its options are in a part of it."""

    def __init__(self, smoothing):
        super().__init__()
        self.inner = nn.CrossEntropyLoss(label_smoothing=smoothing)

    def forward(self, outputs, targets):
        return self.inner(outputs, targets)


def times(factor):
    return lambda outputs, targets: factor * nn.functional.cross_entropy(outputs, targets)


LOSSES = {
    "lambda": (times(1), times(100)),
    "partial": tuple(
        partial(nn.functional.cross_entropy, label_smoothing=one) for one in (0.0, 0.5)
    ),
    "module": (Wrapped(0.0), Wrapped(0.5)),
}


@pytest.mark.parametrize("name", LOSSES)
def test_another_loss_of_the_same_name_is_refused_by_its_value(tmp_path, name):
    fitting, other = LOSSES[name]
    made = TorchUnlearner(network(), fitting, strategy=RetrainNetwork("public", SHORT))
    made.fit(rows(60, seed=1), public=rows(40, seed=2), ids=IDS).save(tmp_path)
    assert state(load(tmp_path, loss=fitting)) == state(made)
    with pytest.raises(InvalidInput, match="loss: gives other loss than at fit"):
        load(tmp_path, loss=other)


def test_ids_that_are_given_twice_are_the_callers_mistake(tmp_path):
    fitted().save(tmp_path)
    with pytest.raises(InvalidInput, match=r"^ids: 'p1' is given twice"):
        load(tmp_path, ids=["p1", "p1", *IDS[2:]])
    with pytest.raises(InvalidInput, match=r"^ids: 59 ids for 60"):
        load(tmp_path, ids=IDS[1:])


def test_double_precision_goes_on_to_the_last_bit(tmp_path):
    (x, y), (u, v) = rows(60, seed=1), rows(40, seed=2)
    made = unlearner(model=network().double(), random_state=1)
    made.fit((x.double(), y), public=(u.double(), v), ids=IDS).forget("p1")
    made.save(tmp_path)
    again = load(
        tmp_path, model=network().double(), private=(x.double(), y), public=(u.double(), v)
    )
    assert again.forget("p2") == made.forget("p2")
    assert state(again) == state(made)


def test_certificates_say_whose_word_it_is_that_nobody_else_went_on(tmp_path):
    made = fitted("langevin", observer="all")
    assert COPIED not in made.forget("p0").reservations
    made.save(tmp_path)
    first, second = (load(tmp_path, certificate=made.certificate) for _ in range(2))
    for one, record in ((first, "p1"), (second, "p2"), (made, "p3")):
        assert COPIED in one.forget(record).reservations
    first.fit(rows(60, seed=1), public=rows(40, seed=2), ids=IDS)
    assert COPIED not in first.forget("p1").reservations


def test_where_every_model_is_held_the_last_certificate_must_be_given(tmp_path):
    made = fitted("langevin", observer="all")
    made.save(tmp_path)
    load(tmp_path)  # nothing was issued yet
    certificate = made.forget("p0")
    made.save(tmp_path)
    with pytest.raises(InvalidInput, match="certificate: give the last one"):
        load(tmp_path)
    assert load(tmp_path, certificate=certificate).certificate == certificate
