"""A restart changes nothing: what is given again is checked, and the next request is the same.

What is on disk is whole and belongs together, or is refused; what an adversary may try is tried.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from expunge.accounting.canonical import sha256
from expunge.accounting.certificate import parse_certificate
from expunge.accounting.verification import differences
from expunge.errors import InvalidInput
from expunge.store import Locked, NotErased, read, unerased_files
from expunge.store.index import File
from expunge.unlearning import (
    CertifiedClassifier,
    Cyclic,
    HeadFinetune,
    NetworkLangevin,
    PoissonBatch,
    RetrainNetwork,
    Training,
)
from expunge.unlearning.networks import saved_unlearner
from expunge.unlearning.networks.unlearner import TorchUnlearner
from expunge.unlearning.networks.weights import load as load_weights
from expunge.unlearning.networks.weights import network_bytes
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
from tests.unlearning.resealing import edit, reseal

ROOT = Path(__file__).parents[3]
WRITER = import_module("expunge.store.writing")


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
    assert found.sequence == requests + 1
    assert found.requests == ["the last"]
    assert bits(second.model.state_dict()) == bits(whole.model.state_dict())
    assert not differences(found)


def test_targets_of_several_columns_come_back_in_their_shape(tmp_path):
    """A regression's column of targets, and one of several outputs."""
    inputs, _ = rows(60, seed=1)
    targets = torch.stack([inputs.sum(1), inputs[:, 0]], 1)
    training = Training(epochs=0.1)

    def made():
        model = network(classes=2)
        return TorchUnlearner(model, nn.MSELoss(), strategy=RetrainNetwork(training=training))

    first = made().fit((inputs, targets), ids=IDS)
    first.forget("p0")
    first.save(tmp_path)
    again = TorchUnlearner.load(
        tmp_path, model=network(classes=2), loss=nn.MSELoss(), private=(inputs, targets), ids=IDS
    )
    assert torch.equal(again.fitted_.job.targets, first.fitted_.job.targets)


def test_a_budget_that_forgot_the_earlier_request_would_be_seen(tmp_path):
    """The planted fault: state from before the request, history and all, costs less."""
    made = fitted("langevin", random_state=3, observer="all")
    made.save(tmp_path / "before")
    certificate = made.forget(IDS[:6])
    made.save(tmp_path / "after")
    counted = load(tmp_path / "after", certificate=certificate).forget("p9").claim.epsilon
    uncounted = load(tmp_path / "before").forget("p9").claim.epsilon
    assert counted > uncounted


@pytest.mark.slow
def test_a_new_process_issues_the_same_certificate(tmp_path):
    made = fitted("head+finetune", random_state=3)
    made.forget("p1", request="one")
    made.save(tmp_path / "m")
    code = f"""
from tests.unlearning.networks.test_saved_unlearner import load
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
    (path,) = (tmp_path / "secret").glob("state-*")
    assert feature in path.read_bytes()
    record = made.fitted_.job.inputs[3].numpy().tobytes()
    kept = made.fitted_.job.inputs[4].numpy().tobytes()
    made.forget("p3")
    made.save(tmp_path)
    (path,) = (tmp_path / "secret").glob("state-*")
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


def saved_after(tmp_path, requests=1, name="m", strategy="head"):
    made = fitted(strategy, random_state=3)
    for i in range(requests):
        made.forget(f"p{i}")
    made.save(tmp_path / name)
    return made, tmp_path / name


def inside(folder):
    """The files of the secret half by the first word of their names."""
    return sorted(path.name.partition("-")[0] for path in (folder / "secret").iterdir())


ONE_STATE = ["document", "index.json", "state"]


def test_nothing_secret_is_on_top_and_no_file_is_of_another_kind(tmp_path):
    made, folder = saved_after(tmp_path)
    on_top = {"model.safetensors", "certificate.json", "secret"}
    assert {path.name for path in folder.iterdir()} == on_top
    assert set(load_file(folder / "model.safetensors")) == set(made.model.state_dict())
    assert inside(folder) == ONE_STATE
    for path in (folder / "secret").iterdir():
        load_file(path) if path.suffix == ".safetensors" else json.loads(path.read_text())
    shutil.rmtree(folder / "secret")
    assert load_weights(network(5), folder) == made.certificate


@pytest.mark.parametrize("strategy", ["head", "retrain"])  # a hash, and a commitment
def test_a_model_that_changed_is_not_saved(tmp_path, strategy):
    made = fitted(strategy)
    made.forget("p1")
    with torch.no_grad():
        made.model.fc.bias += 1
    with pytest.raises(InvalidInput, match="not the one that its certificate is about"):
        made.save(tmp_path / "n")
    assert not (tmp_path / "n").exists()


def test_a_folder_with_something_else_is_not_touched(tmp_path):
    for place in ("a", "b/secret"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "thesis.txt").write_text("years of work")
        with pytest.raises(InvalidInput, match=r"thesis\.txt', .*not touched"):
            fitted().save(tmp_path / place.split("/")[0])
        assert [path.name for path in (tmp_path / place).iterdir()] == ["thesis.txt"]


def test_a_later_save_replaces_everything(tmp_path):
    made = fitted(evaluate=rows(9))
    made.forget("p1")
    made.save(tmp_path)
    second = made.forget("p2")
    made.save(str(tmp_path))
    assert load_weights(network(5), tmp_path) == second
    assert state(load(tmp_path)) == state(made)
    assert inside(tmp_path) == ONE_STATE


WRITES = ("document-", "state-", ".model-", ".certificate-", "index-")


@pytest.mark.parametrize("moment", [*WRITES, "finish"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupted_save_leaves_the_old_state_or_the_new_one(
    tmp_path, monkeypatch, moment, when
):
    made, folder = saved_after(tmp_path)
    old = state(made)
    made.forget("p9")
    name = "finish" if moment == "finish" else "write_whole"
    work = getattr(WRITER, name)

    def interrupted(path, *content, **private):
        here = moment == "finish" or path.name.startswith(moment)
        if when == "after" or not here:
            work(path, *content, **private)
        if here:
            raise KeyboardInterrupt

    monkeypatch.setattr(WRITER, name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        made.save(folder)
    monkeypatch.undo()
    assert state(load(folder)) == (state(made) if moment == "finish" else old)
    assert load_weights(network(5), folder).model_sha256 == read(folder).index.model.sha256
    assert inside(folder) == ONE_STATE
    made.save(folder)
    assert state(load(folder)) == state(made)


def in_certificate(change):
    def apply(document):
        certificate = json.loads(document["certificate"])
        change(certificate)
        document["certificate"] = json.dumps(
            certificate, sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )

    return apply


EDITS = {
    "epsilon": in_certificate(lambda c: c["claim"].update(epsilon=1e-6)),
    "history": lambda d: d["outcome"]["account"]["phases"][0].update(sigma=1.0),
    "covered": lambda d: d.update(released_before=True),
    "released": lambda d: d.update(released=False),
    "target": lambda d: d.update(epsilon=0.1),
    "ids": lambda d: d["ids"].reverse(),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_document_is_refused(tmp_path, name):
    _, folder = saved_after(tmp_path)
    edit(folder, EDITS[name])
    with pytest.raises(
        InvalidInput, match=r"document-\w+\.json: (was changed|has \d+ bytes)"
    ) as caught:
        load(folder)
    assert str(folder) in str(caught.value)


def none(_document):
    return ()


RESEALED = {
    "epsilon": (EDITS["epsilon"], None, "not the last one issued"),
    "history": (EDITS["history"], None, "about another history"),
    "chain": (none, none, "0 certificates for 1 requests"),
    "none": (lambda d: d.update(certificate=None), none, "0 certificates for 1 requests"),
    "delta": (lambda d: d.update(delta=1e-3), None, "about another request"),
    "strategy": (
        lambda d: d.update(
            strategy={"kind": "network.head+finetune", "training": {"kind": "Training"},
                      "head": d["strategy"]}
        ),
        None,
        "about another request",
    ),
    "start": (lambda d: d["module"]["fc.bias"].__setitem__(3, "0" * 64), None, "saved start"),
    "kind": (lambda d: d["retraining"].update(kind="Popen"), None, "'Popen' is not known"),
    "ids": (EDITS["ids"], None, "record 'p58' is not what it was"),
    "field": (lambda d: d.pop("outcome"), None, "not a saved unlearner"),
    "account": (
        lambda d: d["outcome"]["account"].update(phases=[{}]), None, "not a saved unlearner"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RESEALED)
def test_a_document_that_contradicts_its_state_is_refused_even_with_its_seal_renewed(
    tmp_path, name
):
    _, folder = saved_after(tmp_path)
    change, issued, said = RESEALED[name]
    edit(folder, change, sealed=True, issued=issued)
    for on_top in ("model.safetensors", "certificate.json"):
        (folder / on_top).unlink()
    model = network()
    before = bits(model.state_dict())
    with pytest.raises(InvalidInput, match=said) as caught:
        load(folder, model=model)
    assert "\n" not in str(caught.value)
    assert bits(model.state_dict()) == before


def test_an_index_that_names_another_model_is_refused_even_with_its_seal_renewed(tmp_path):
    _, folder = saved_after(tmp_path)
    reseal(folder, model=read(folder).index.model.model_copy(update={"sha256": "0" * 64}))
    (folder / "model.safetensors").unlink()
    with pytest.raises(InvalidInput, match="weights are not those that the index names"):
        load(folder)


def test_a_certificate_with_its_own_place_in_the_chain_must_still_recompute(tmp_path):
    """Whoever renews every hash is left with what the history itself supports."""
    _, folder = saved_after(tmp_path)
    (folder / "certificate.json").unlink()

    def issued(document):
        return (sha256(json.loads(document["certificate"])),)

    edit(folder, EDITS["epsilon"], sealed=True, issued=issued)
    with pytest.raises(InvalidInput, match=r"certificate's claim\.epsilon"):
        load(folder)


@pytest.mark.parametrize("exchanged", ["state", "document", "model", "certificate"])
def test_a_file_of_another_state_is_refused(tmp_path, exchanged):
    made, folder = saved_after(tmp_path)
    made.forget("p9")
    made.save(tmp_path / "later")
    if exchanged in ("state", "document"):
        (source,) = (tmp_path / "later/secret").glob(f"{exchanged}-*")
        (target,) = (folder / "secret").glob(f"{exchanged}-*")
    else:
        name = {"model": "model.safetensors", "certificate": "certificate.json"}[exchanged]
        source, target = tmp_path / "later" / name, folder / name
    shutil.copy(source, target)
    said = r"was changed|the index says|is of another state"
    with pytest.raises(InvalidInput, match=rf"{target.name}: .*({said})"):
        load(folder)


def test_weights_inside_the_state_cannot_be_exchanged_with_all_hashes_renewed(tmp_path):
    """The certificate names the model's own hash."""
    _, folder = saved_after(tmp_path)
    (path,) = (folder / "secret").glob("state-*")
    tensors = load_file(path)
    tensors["state.fc.bias"] += 1
    save_file(tensors, path)
    wrong = network()
    wrong.load_state_dict(load_file(folder / "model.safetensors"))
    with torch.no_grad():
        wrong.fc.bias += 1
    model = File.of(read(folder).index.model.name, network_bytes(wrong))
    reseal(folder, state=File.of(path.name, path.read_bytes()), model=model)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InvalidInput, match="not those that the certificate is about"):
        load(folder)


def test_missing_files_on_top_are_no_obstacle(tmp_path):
    made, folder = saved_after(tmp_path)
    for on_top in ("model.safetensors", "certificate.json"):
        (folder / on_top).unlink()
    again = load(folder)
    assert state(again) == state(made)
    again.save(folder)
    assert load_weights(network(5), folder) == made.certificate


def test_a_state_from_before_a_request_is_refused_where_it_can_be_known(tmp_path):
    made, folder = saved_after(tmp_path)
    first = made.certificate
    shutil.copytree(folder, tmp_path / "backup")
    second = made.forget("p9")
    made.save(folder)
    # Only the secret half was put back: what is on top tells.
    shutil.rmtree(folder / "secret")
    shutil.copytree(tmp_path / "backup/secret", folder / "secret")
    with pytest.raises(InvalidInput, match="is of another state"):
        load(folder)
    # All of it was: the last certificate tells, or the record that is gone.
    old = tmp_path / "backup"
    with pytest.raises(InvalidInput, match="has not issued this certificate") as caught:
        load(old, certificate=second)
    assert str(old) in str(caught.value)
    inputs, targets = rows(60, seed=1)
    left = [i for i in range(60) if i not in (0, 9)]
    gone = {"private": (inputs[left], targets[left]), "ids": [f"p{i}" for i in left]}
    with pytest.raises(InvalidInput, match="no record 'p9', which this state has not forgotten"):
        load(old, **gone)
    # With neither it cannot be known; the docstrings say so.
    assert load(old, certificate=first).certificate == first


def test_a_newer_state_has_issued_every_certificate_so_far(tmp_path):
    made, folder = saved_after(tmp_path, requests=0)
    first = made.forget("p1")
    second = made.forget("p2")
    made.save(folder)
    for certificate in (first, second):
        assert load(folder, certificate=certificate).certificate == second
    other = fitted(random_state=4).forget("p1")
    with pytest.raises(InvalidInput, match="has not issued this certificate"):
        load(folder, certificate=other)


def test_a_save_does_not_undo_a_request_that_another_process_honoured(tmp_path):
    made, folder = saved_after(tmp_path)
    other = load(folder)
    made.forget("p8")
    other.forget("p9")
    other.save(folder)
    with pytest.raises(InvalidInput, match="has not honoured; load it from there"):
        made.save(folder)
    assert state(load(folder)) == state(other)
    assert load(folder).certificate == other.certificate


def test_a_folder_that_is_no_saved_unlearner_is_named(tmp_path):
    (tmp_path / "half/secret").mkdir(parents=True)
    (tmp_path / "half/secret/index.json").write_text("{not json")
    said = {"nowhere": "not a saved model", ".": "not a saved model", "half": "not valid JSON"}
    for name, problem in said.items():
        with pytest.raises(InvalidInput, match=problem) as caught:
            load(tmp_path / name)
        assert str(tmp_path / name) in str(caught.value)


def test_a_folder_of_an_earlier_version_is_refused_by_name(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/unlearner.json").write_text('{"format": 4}')
    for verb in (load, fitted().save):
        with pytest.raises(
            InvalidInput, match=r"unlearner\.json was written by an earlier version"
        ):
            verb(tmp_path)


def test_a_saved_model_of_another_kind_is_no_unlearner(tmp_path):
    _, folder = saved_after(tmp_path)
    reseal(folder, kind=CertifiedClassifier.__name__)
    with pytest.raises(InvalidInput, match="not a saved unlearner, but a CertifiedClassifier"):
        load(folder)


def test_what_ran_on_a_gpu_goes_on_without_one_where_that_is_said(tmp_path, monkeypatch):
    made, folder = saved_after(tmp_path)
    edit(folder, lambda document: document.update(device="cuda"), sealed=True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match=r"^device: 'cuda' is not available; use 'cpu'"):
        load(folder)
    assert state(load(folder, device="cpu")) == state(made)


@pytest.mark.parametrize("given", [{"model": None}, {"loss": 3}, {"device": "tpu"}])
def test_what_no_unlearner_takes_is_named_and_not_the_folder(tmp_path, given):
    _, folder = saved_after(tmp_path)
    with pytest.raises(InvalidInput, match=f"^{next(iter(given))}: "):
        load(folder, **given)


def test_a_device_of_torch_s_own_kind_comes_back_by_name(tmp_path):
    made = fitted(random_state=3, device=torch.device("cpu"))
    made.save(tmp_path)
    again = load(tmp_path)
    assert (again.device, state(again)) == ("cpu", state(made))


@pytest.mark.parametrize("moment", WRITES)
def test_while_one_saves_nobody_else_saves_or_loads(tmp_path, monkeypatch, moment):
    _, folder = saved_after(tmp_path)
    first, second = load(folder), load(folder)
    first.forget("p8")
    second.forget("p9")
    write_whole, refused = WRITER.write_whole, []

    def meanwhile(path, content, **private):
        for verb in (second.save, load) if path.name.startswith(moment) else ():
            with pytest.raises(Locked, match="another process is writing there") as caught:
                verb(folder)
            refused.append(str(caught.value))
        write_whole(path, content, **private)

    monkeypatch.setattr(WRITER, "write_whole", meanwhile)
    first.save(folder)
    monkeypatch.undo()
    assert len(refused) == 2
    assert state(load(folder)) == state(first)
    with pytest.raises(InvalidInput, match="has not honoured; load it from there"):
        second.save(folder)
    assert inside(folder) == ONE_STATE


def test_a_request_in_another_thread_waits_for_the_save(tmp_path, monkeypatch):
    made = fitted(random_state=3)
    before = made.fitted_.job.roster.present.clone()
    commitments = saved_unlearner.commitments
    other = threading.Thread(target=lambda: made.forget("p1"))

    def meanwhile(*known):
        other.start()
        other.join(timeout=0.5)
        return commitments(*known)

    monkeypatch.setattr(saved_unlearner, "commitments", meanwhile)
    made.save(tmp_path / "m")
    monkeypatch.undo()
    other.join()
    assert torch.equal(load(tmp_path / "m").fitted_.job.roster.present, before)
    assert made.certificate.forgotten == 1


def test_requests_of_another_fit_are_not_overwritten(tmp_path):
    made, folder = saved_after(tmp_path)
    content = (folder / "certificate.json").read_bytes()
    again = fitted()
    with pytest.raises(InvalidInput, match="requests of another fit; choose another folder"):
        again.save(folder)
    again.forget("p5")
    (folder / "certificate.json").unlink()  # its state tells as well
    with pytest.raises(InvalidInput, match="requests of another fit; choose another folder"):
        again.save(folder)
    assert state(load(folder)) == state(made)
    (folder / "certificate.json").write_bytes(content)
    shutil.rmtree(folder / "secret")  # what was published is no less a promise
    with pytest.raises(InvalidInput, match="requests of another fit; choose another folder"):
        again.save(folder)
    assert (folder / "certificate.json").read_bytes() == content
    assert not (folder / "secret").exists()
    made.save(folder)
    assert state(load(folder)) == state(made)


def test_a_fit_without_requests_may_be_replaced(tmp_path):
    _, folder = saved_after(tmp_path, requests=0)
    again = fitted(random_state=4)
    again.save(folder)
    assert state(load(folder)) == state(again)


@pytest.mark.slow
def test_what_a_killed_save_left_behind_is_gone_after_loading(tmp_path):
    """Killed once the index names the new state: the old one has what was forgotten."""
    folder = tmp_path / "m"
    code = f"""
import os, signal
from tests.unlearning.networks.test_saved_unlearner import WRITER, fitted
made = fitted(random_state=3)
made.save({str(folder)!r})
made.forget("p1")
WRITER.finish = lambda folder: os.kill(os.getpid(), signal.SIGKILL)
made.save({str(folder)!r})
"""
    killed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    feature = fitted(random_state=3).fitted_.outcome.secret["rows.features"][41].numpy().tobytes()
    assert any(feature in path.read_bytes() for path in (folder / "secret").iterdir())
    assert unerased_files(folder)
    assert load(folder).certificate.forgotten == 1
    assert not unerased_files(folder)
    assert not any(feature in path.read_bytes() for path in (folder / "secret").iterdir())
    assert inside(folder) == ONE_STATE


def test_what_nobody_may_write_is_loaded_all_the_same(tmp_path, monkeypatch):
    """From a disk that was mounted for reading, say; nothing is touched there."""
    made, folder = saved_after(tmp_path)
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    monkeypatch.setattr(saved_unlearner, "settle", None)
    assert state(load(folder)) == state(made)


def test_only_the_owner_reads_what_is_secret(tmp_path):
    secret = tmp_path / "m/secret"
    secret.mkdir(mode=0o755, parents=True)
    mask = os.umask(0o022)
    try:
        fitted().save(tmp_path / "m")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret.iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "m/model.safetensors").stat().st_mode) == 0o644


def test_an_erasure_that_waits_keeps_nobody_from_loading_and_is_told(tmp_path):
    made, folder = saved_after(tmp_path)
    (path,) = (folder / "secret").glob("state-*")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    made.forget("p9")
    with pytest.raises(NotErased):
        made.save(folder)
    with pytest.warns(UserWarning, match=f"{path.name}: the new state is saved"):
        again = load(folder)
    assert state(again) == state(made)
    assert path.is_symlink()
