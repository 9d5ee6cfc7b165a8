"""Requests without a pass: nothing of the data is read, nothing tells, nothing stays behind."""

import gc
import json
import math
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from expunge import CertifiedClassifier, CertifiedRegressor
from expunge.accounting.stated import DIVIDED
from expunge.accounting.verification import differences
from expunge.core import checksums
from expunge.core.randomness import normal_source
from expunge.errors import NoCertificate
from expunge.losses import Declared, Logistic, Softmax, Squared
from expunge.losses.objective import Objective
from expunge.losses.solver import solve
from expunge.unlearning import load
from expunge.unlearning.linear import pass_free
from expunge.unlearning.linear.anchor import Anchor
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.newton_step import NewtonStep
from expunge.unlearning.linear.pass_free import PassFree, state_bytes
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.roster import Roster
from tests.unlearning.certificates import told
from tests.unlearning.problems import job_of
from tests.unlearning.records import labelled

LOSSES = (Logistic(l2=0.1), Softmax(3, l2=0.1), Squared(l2=0.1, target_norm=2.0))
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
DAY = 86400


def model_of(rows=400, *, strategy=None, ids=None, classes=2, **options):
    X, y = labelled(rows, classes=classes)
    strategy = strategy or Residual()
    return CertifiedClassifier(strategy=strategy, l2=0.05, **options).fit(X, y, ids=ids)


def anchor_of(model):
    anchor = Anchor.of(model.fitted_.outcome.secret)
    assert anchor is not None
    return anchor


def sums(anchor):
    parts = (anchor.gradient, anchor.hessian, anchor.sharp)
    return [part for each in parts if each is not None for part in (each.high, each.low)]


def took_passes(model):
    return model.fitted_.outcome.read_every_row


def unreachable(*_, **__):
    raise AssertionError("something as large as the data was made or read")


def test_a_request_makes_nothing_as_large_as_the_data(monkeypatch):
    model = model_of()
    monkeypatch.setattr(Objective, "__init__", unreachable)
    for name in ("present", "last", "left", "present_after"):
        monkeypatch.setattr(Roster, name, property(unreachable))
    monkeypatch.setattr(type(model.fitted_), "check_unchanged", unreachable)
    for ids in ([3], [5, 9, 17]):
        assert not differences(model.forget(ids))
        assert not took_passes(model)


class Touched(TorchFunctionMode):
    """Counts the bytes that tensors' operations and checksums read and make; views cost nothing."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.bytes, plain = 0, zlib.crc32

        def counted(data, value=0):
            self.bytes += len(data)
            return plain(data, value)

        monkeypatch.setattr(checksums.zlib, "crc32", counted)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        made, name = func(*args, **(kwargs or {})), func.__name__
        given = [each for each in args if isinstance(each, torch.Tensor)]
        fresh = isinstance(made, torch.Tensor) and all(
            made.untyped_storage().data_ptr() != each.untyped_storage().data_ptr() for each in given
        )
        if fresh and name in ("__getitem__", "index_select"):  # of all rows it reads a few
            given = []
        if fresh or name in ("equal", "tolist") or (name[-1] == "_" and name[-2:] != "__"):
            self.bytes += sum(each.numel() * each.element_size() for each in given)
            self.bytes += made.numel() * made.element_size() if fresh else 0
        return made


def grown(records):
    """A model of so many records that joined and left before: what is made once is made."""
    X, y = labelled(2000)
    model = CertifiedClassifier(strategy=Residual(), l2=0.05, classes=[0, 1])
    model.fit(np.tile(X, (records // 2000, 1)), np.tile(y, records // 2000))
    for ids in ([1, 2], [3, 4]):
        model.add(X[:3], y[:3])
        model.forget(ids)
    return model


def touched(monkeypatch, model, spoil=lambda _: None):
    """Bytes of tensors, and the most memory of all else, of a request and of an addition.

    What ran before moves Python's own memory by some thousand bytes, and the collector by more
    when it comes in between. So it waits, and of three tries the least counts: what grows with
    the records is in each.
    """
    X, y = labelled(2)
    first = model.fitted_.job.roster.forgotten * 2
    found = []
    gc.disable()
    try:
        for place in range(first, first + 6, 2):
            for step in (lambda at=place: model.forget([at, at + 1]), lambda: model.add(X, y)):
                tracemalloc.start()
                with monkeypatch.context() as patch, Touched(patch) as count:
                    step()
                    spoil(model)
                found.append([count.bytes, tracemalloc.get_traced_memory()[1]])
                tracemalloc.stop()
                assert not took_passes(model)
    finally:
        tracemalloc.stop()
        gc.enable()
    return np.array(found).reshape(3, 2, 2).min(axis=0).T  # tensors, then all else


def test_what_a_request_and_an_addition_touch_does_not_grow_with_the_records(monkeypatch):
    """Tensors: not a byte in 100,000 records. All else: less than a third of a byte a record."""
    few, many = touched(monkeypatch, grown(2000)), grown(100_000)
    spoils = {
        "a mask": lambda model: model.fitted_.job.roster.present,
        "a copy": lambda model: model.fitted_.job.features.clone(),
        "a list of ids": lambda model: list(model.fitted_.job.roster.ids),
        "a byte a record": lambda model: bytearray(len(model.fitted_.job.roster.ids)),
        "checksums of all rows": lambda model: model.fitted_.check_unchanged(),
    }
    for name, spoil in {"as it is": lambda _: None, **spoils}.items():
        tensors, all_else = touched(monkeypatch, many, spoil) - few
        assert (tensors.max() > 0 or all_else.max() > 32_000) == (name in spoils), (name, all_else)


@each_loss
@pytest.mark.parametrize("fixed", [False, True], ids=["mean", "fixed"])
@pytest.mark.parametrize("centered", [False, True])
def test_the_point_is_within_reach_of_the_minimiser_and_noise_covers_twice_that(
    loss, centered, fixed
):
    job, strategy = job_of(loss, seed=1), Residual(fixed=fixed)
    if centered:
        job = replace(job, center=torch.full((loss.outputs, 5), 0.3, dtype=torch.float64))
    before = strategy.fit(job)
    job = job.without([45, 70, 90])
    after = strategy.forget(job, before)
    assert not after.read_every_row
    silent = strategy.forget(replace(job, seed=1), before)
    objective = replace(job.objective, divisor=100 if fixed else 97)
    best = solve(objective, before.theta, tolerance=1e-12, gram=objective.gram())
    noise_std, _ = strategy.noise(job)
    size = best.numel()
    # Norms of Gaussians exceed sqrt(d) + 8 standard deviations with probability below 1e-13.
    apart = float((after.theta - best).norm())
    assert apart <= strategy.reach(job) + noise_std * (np.sqrt(size) + 8)
    assert torch.equal(after.theta, silent.theta)  # seeded, so the point is the same
    assert after.assumptions.initial_distance == 2 * strategy.reach(job)


@each_loss
@pytest.mark.parametrize("distance", [None, 0], ids=["pass-free", "passes"])
def test_a_fixed_normaliser_leads_to_the_minimiser_of_losses_divided_as_at_fit(loss, distance):
    job, strategy = job_of(loss, seed=1), Residual(1e-8, distance=distance, fixed=True)
    outcome = strategy.fit(job)
    for rows in ([45, 70, 90], [41], [60, 61]):
        job = job.without(rows)
        outcome = strategy.forget(job, outcome)
        assert outcome.read_every_row == (distance == 0)
    assert (outcome.history.normaliser, outcome.history.normaliser_count) == ("fixed", 100)
    near = strategy.reach(job)
    for divisor in (100, job.roster.retained):
        objective = replace(job.objective, divisor=divisor)
        best = solve(objective, outcome.theta, tolerance=1e-12, gram=objective.gram())
        point = centre_of(outcome, strategy, job)
        # The other normaliser's minimiser is another point: it is the one that is not near.
        assert (float((point - best).norm()) <= near) == (divisor == 100)


def centre_of(outcome, strategy, job):
    """The point that was noised: what is drawn without the draw, which is seeded."""
    noise_std, _ = strategy.noise(job)
    source = normal_source(job.seed, f"request {job.roster.request}")
    return outcome.theta - noise_std * source(outcome.theta)


def test_a_step_by_the_mean_is_noticed_where_the_normaliser_is_fixed(monkeypatch):
    job, strategy = job_of(seed=1), Residual(fixed=True)
    before, asked = strategy.fit(job), pass_free.newton_step
    monkeypatch.setattr(
        pass_free,
        "newton_step",
        lambda *args, **options: asked(*args, **options | {"divisor": None}),
    )
    job = job.without([45, 70, 90])
    point = centre_of(strategy.forget(job, before), strategy, job)
    objective = replace(job.objective, divisor=100)
    best = solve(objective, before.theta, tolerance=1e-12, gram=objective.gram())
    assert float((point - best).norm()) > strategy.reach(job)


def test_a_placebo_on_few_records_weighs_the_ridge_as_retraining_does():
    job, strategy = job_of(public=40, private=4000), Residual(fixed=True)
    before = strategy.fit(job)
    job = job.without(range(40, 2040))
    objective = replace(job.objective, divisor=4040)
    best = solve(objective, before.theta, tolerance=1e-12, gram=objective.gram())
    heavy = solve(job.objective, before.theta, tolerance=1e-12, gram=objective.gram())
    placebo = strategy.placebo(job, before).theta
    assert (placebo - best).norm() < (placebo - heavy).norm()


def test_more_records_than_a_fixed_normaliser_divides_by_are_refused_by_count():
    model = model_of(60, strategy=Residual(fixed=True), classes=2)
    X, y = labelled(3)
    with pytest.raises(
        NoCertificate, match=r"63 records .* Residual\(fixed=True\) divides by the 60"
    ):
        model.add(X, y)
    model.forget([1, 2, 3])
    model.add(X, y)
    assert not differences(model.forget([4]))


def test_a_fixed_normaliser_is_what_it_was_at_fit_through_disk(tmp_path):
    X, y = labelled(60)
    models = [
        CertifiedClassifier(strategy=Residual(fixed=True), l2=0.05, random_state=1).fit(X, y)
        for _ in range(2)
    ]
    for model in models:
        model.forget([1, 2, 3])
    models[0].save(tmp_path / "model")
    models[0] = load(tmp_path / "model")
    told_by = [told(model.forget([4]), models=True) for model in models]
    assert told_by[0] == told_by[1]
    certificate = models[0].certificate_
    assert DIVIDED.format(60) in certificate.scope
    history = certificate.history
    assert (history.normaliser, history.normaliser_count) == ("fixed", 60)
    assert not differences(certificate)
    assert np.array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("bound", [1.0, 4.0])
def test_the_distance_is_public_and_shrinks_with_the_rows_norm(bound):
    loss = Logistic(l2=0.1 * bound**2, row_norm=bound)
    assert Residual().reach(job_of(loss)) == pytest.approx(2.5e-3 / bound)
    assert Residual(distance=1e-2).reach(job_of(loss)) == 1e-2
    small = Squared(l2=0.1, target_norm=0.01)
    assert Residual().reach(job_of(small)) == pytest.approx(2.5e-5)


def test_passes_reach_no_less_than_their_own_distance():
    job = job_of()
    assert Residual(1e-2).reach(job) == pytest.approx(0.1)
    assert Residual(1e-9, distance=0).reach(job) < 1.1e-8
    tiny = Residual(1e-4, distance=1e-9)
    assert tiny.reach(job) == pytest.approx(1e-3)


def forced_to_pass(monkeypatch):
    monkeypatch.setattr(
        pass_free, "newton_step", lambda anchor, *_, **__: NewtonStep(anchor.point, np.inf)
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_nothing_that_leaves_tells_whether_passes_were_made(monkeypatch, tmp_path, classes):
    certificates, outcomes = [], []
    for name in ("step", "passes"):
        model = model_of(classes=classes, random_state=3)
        if name == "passes":
            forced_to_pass(monkeypatch)
        certificates.append(model.forget([3, 4]))
        outcomes.append((took_passes(model), model.fitted_.outcome))
    assert [passed for passed, _ in outcomes] == [False, True]
    assert told(certificates[0], models=False) == told(certificates[1], models=False)
    assert outcomes[0][1].retained == outcomes[1][1].retained
    assert outcomes[0][1].declared == outcomes[1][1].declared
    noise = [certificate.history.phases[0].sigma for certificate in certificates]
    assert noise[0] == noise[1]
    document = json.dumps(certificates[0].model_dump(mode="json"))
    assert "anchor" not in document
    assert "pass" not in document


def test_a_step_that_is_not_near_enough_gives_way_to_passes(monkeypatch):
    model = model_of()
    first = anchor_of(model)
    forced_to_pass(monkeypatch)
    assert not differences(model.forget([3]))
    again = anchor_of(model)
    objective = model.fitted_.job.objective
    assert float(objective.gradient(again.point).norm()) <= 1e-9
    assert again.rows == first.rows - 1
    assert not torch.equal(again.point, first.point)


def test_tries_get_rarer_where_a_new_anchor_did_not_help(monkeypatch):
    model = model_of()
    forced_to_pass(monkeypatch)
    made = []
    for request in range(12):
        before = anchor_of(model).point
        model.forget([request])
        made.append(not torch.equal(anchor_of(model).point, before))
    # A new one at once, then after 1 request that did not make one, then after 3, then 7.
    assert made == [True, False, True, False, False, False, True, *[False] * 5]
    monkeypatch.undo()
    model.refresh()
    model.forget([50])
    assert anchor_of(model).served == 1
    forced_to_pass(monkeypatch)
    before = anchor_of(model).point
    model.forget([51])
    assert not torch.equal(anchor_of(model).point, before)  # it had been of use
    assert anchor_of(model).wait == 0


@pytest.mark.parametrize(("days", "passed"), [(29.9, False), (30.1, True), (-1, True)])
def test_an_anchor_that_is_too_old_is_replaced(monkeypatch, days, passed):
    model = model_of()
    made = anchor_of(model).made
    monkeypatch.setattr(pass_free.time, "time", lambda: made + days * DAY)
    model.forget([3])
    assert took_passes(model) == passed
    assert (anchor_of(model).made == made) != passed


def test_refresh_makes_a_new_anchor_and_leaves_model_and_certificate(monkeypatch, tmp_path):
    model = model_of()
    certificate = model.forget([3, 4])
    before, theta = anchor_of(model), model.fitted_.outcome.theta
    monkeypatch.setattr(pass_free.time, "time", lambda: before.made + 5 * DAY)
    model.refresh()
    after = anchor_of(model)
    assert after.made == before.made + 5 * DAY
    assert not torch.equal(after.point, before.point)
    assert torch.equal(model.fitted_.outcome.theta, theta)
    assert model.certificate_ == certificate
    model.save(tmp_path)
    model.forget([7])
    assert not took_passes(model)
    assert not differences(model.certificate_)
    model.save(tmp_path)
    assert load(tmp_path).certificate_ == model.certificate_


def test_refresh_of_a_fitted_model_keeps_its_file():
    model = model_of()
    before = model.model_bytes()
    model.refresh()
    assert model.model_bytes() == before


def test_refresh_does_nothing_where_passes_are_made_anyway_and_is_refused_elsewhere():
    model = model_of(strategy=Residual(distance=0))
    before = model.fitted_.outcome
    model.refresh()
    assert model.fitted_.outcome.secret.keys() == before.secret.keys()
    with pytest.raises(ValueError, match="refresh: strategy 'retrain' keeps no anchor"):
        model_of(strategy="retrain").refresh()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_state_after_requests_is_that_of_a_fit_which_never_held_the_rows(classes):
    """No trace: bit for bit, whatever the order; the anchor itself is listed as kept."""
    rows, gone = 300, [[3], [250, 17], list(range(100, 160))]
    model = model_of(rows, classes=classes, strategy=Residual(distance=10.0))
    for ids in gone:
        model.forget(ids)
        assert not took_passes(model)
    kept = np.setdiff1d(np.arange(rows), np.concatenate(gone))
    X, y = labelled(rows, classes=classes)
    never = CertifiedClassifier(strategy=Residual(), l2=0.05, classes=range(classes))
    never.fit(X[kept], y[kept], ids=kept)
    job = never.fitted_.job
    anchor = anchor_of(model)
    rule = PassFree(ByPasses(job, 1e-9), 1.0, 30.0)
    expected = Anchor.at(anchor.point, rule.terms, job.objective, job.roster.places, 0)
    assert anchor.rows == expected.rows
    assert all(map(torch.equal, sums(anchor), sums(expected)))


def test_what_forgotten_rows_held_is_nowhere_in_saved_state(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 6)), rng.integers(0, 2, 300)
    model = CertifiedClassifier(strategy=Residual(), l2=0.05, classes=[0, 1]).fit(X, y)
    rows = model.fitted_.job.features[[7, 8]].numpy().copy()
    values = [value.tobytes() for value in rows[:, :-1].ravel()]
    model.save(tmp_path)
    assert all(held(tmp_path, value) for value in values)  # so the test can tell
    model.forget([7, 8])
    model.save(tmp_path)
    assert not any(held(tmp_path, value) for value in values)
    secret = model.fitted_.outcome.secret
    assert not any(value in part.numpy().tobytes() for part in secret.values() for value in values)


def held(folder, value):
    return any(value in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_many_requests_in_a_row_are_certified_and_stay_near_the_minimiser():
    model = model_of(1200, strategy=Residual(distance=2e-2), random_state=1)
    passes = 0
    for request in range(60):
        certificate = model.forget([3 * request, 3 * request + 1])
        passes += took_passes(model)
    assert not differences(certificate)
    assert certificate.forgotten == 120
    assert certificate.sequence == 60
    assert passes <= 2
    objective, theta = model.fitted_.job.objective, model.fitted_.outcome.theta
    best = solve(objective, theta, tolerance=1e-12, gram=objective.gram())
    noise_std = certificate.history.phases[0].sigma
    # Norms of Gaussians exceed sqrt(d) + 8 standard deviations with probability below 1e-13.
    assert float((theta - best).norm()) <= 2e-2 + noise_std * (np.sqrt(best.numel()) + 8)


def test_a_regression_goes_without_passes_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = np.clip(X @ rng.standard_normal(4) * 0.2, -1, 1)
    model = CertifiedRegressor(strategy=Residual(), l2=0.05, random_state=0).fit(X, y)
    exact = CertifiedRegressor(strategy="retrain", l2=0.05).fit(X[5:], y[5:])
    assert not differences(model.forget(range(5)))
    assert not took_passes(model)
    noise = model.history_.phases[0].noise_std
    apart = np.linalg.norm(model.coef_ - exact.coef_)
    assert apart <= model.fitted_.outcome.assumptions.initial_distance + noise * (2 + 8)


def test_a_change_of_the_requests_own_rows_is_noticed_and_of_others_when_they_are_read(monkeypatch):
    model = model_of()
    model.fitted_.job.features[7, 0] += 1e-9
    with pytest.raises(NoCertificate, match="changed since fit"):
        model.forget([7])
    with pytest.raises(NoCertificate, match="changed since fit"):
        model.forget([8])  # in the same block
    assert model.forget([390]).forgotten == 1  # the sums are those of the rows as they were
    forced_to_pass(monkeypatch)
    with pytest.raises(NoCertificate, match="changed since fit"):
        model.forget([391])


def test_a_state_of_other_rows_is_not_subtracted_from():
    """As many rows, and not the same: the state forgot 45, the job 46 and then 47."""
    job, strategy = job_of(), Residual()
    before = strategy.forget(job.without([45]), strategy.fit(job))
    after = job.without([46]).without([47])
    outcome = strategy.forget(after, before)
    assert outcome.read_every_row
    assert Anchor.of(outcome.secret).places == after.roster.places


@pytest.mark.parametrize("blank", [0.0, 7.0, math.nan, math.inf])
def test_rows_that_are_no_records_any_more_are_not_subtracted(blank):
    job, strategy = job_of(), Residual()
    before = strategy.fit(job)
    job.features[45] = blank
    after = job.without([45])
    outcome = strategy.forget(after, before)
    assert outcome.read_every_row
    fresh = PassFree(ByPasses(after, 1e-9), 1.0, 30.0).anchor_at(outcome.secret["theta"])
    assert all(map(torch.equal, sums(Anchor.of(outcome.secret)), sums(fresh)))


def test_a_state_without_an_anchor_takes_passes_and_makes_one():
    job, strategy = job_of(), Residual()
    before = Residual(distance=0).fit(job)
    outcome = strategy.forget(job.without([45]), before)
    assert outcome.read_every_row
    assert Anchor.of(outcome.secret) is not None
    assert "gram" not in outcome.secret


def test_what_is_too_large_to_keep_or_not_known_takes_passes_as_before():
    job = job_of()
    assert Residual().goes_without_passes(job)
    assert not Residual(state_limit=0).goes_without_passes(job)
    assert Residual(state_limit=0).reach(job) < 1e-7
    own = Declared(lambda s, y: (s[:, 0] - y) ** 2 / 2, slope=9.0, bend=1.0, l2=0.1)
    assert not Residual().goes_without_passes(replace(job, loss=own))
    assert not PassFree.is_for(Logistic(0.1, row_norm=1e80), 5, 2.0**30)


def test_a_gibibyte_is_for_about_five_thousand_weights():
    assert state_bytes(Logistic(0.1), 5000) < 2**30 < state_bytes(Logistic(0.1), 6000)
    assert state_bytes(Softmax(10, 0.1), 785) < 2**30 < state_bytes(Softmax(24, 0.1), 385)
    kept = Residual().fit(job_of()).secret
    large = sum(part.numel() * 8 for name, part in kept.items() if name.startswith("anchor."))
    assert large == state_bytes(Logistic(0.1), 5)


def test_an_addition_reads_no_row_but_its_own_and_the_last_block(monkeypatch):
    """What is stored is laid out anew; nothing of it is computed with."""
    model, (X, y) = model_of(), labelled(460)
    monkeypatch.setattr(Objective, "__init__", unreachable)
    for name in ("present", "last", "left", "present_after"):
        monkeypatch.setattr(Roster, name, property(unreachable))
    monkeypatch.setattr(type(model.fitted_), "check_unchanged", unreachable)
    for rows in (range(400, 403), range(403, 460)):
        model.add(X[rows], y[rows])
        assert not took_passes(model)
    assert not differences(model.forget([5, 401, 459]))


def test_nothing_that_leaves_tells_whether_an_addition_took_passes(monkeypatch):
    certificates, outcomes, (X, y) = [], [], labelled(404)
    for name in ("step", "passes"):
        model = model_of(random_state=3)
        model.forget([3, 4])
        if name == "passes":
            forced_to_pass(monkeypatch)
        certificates.append(model.add(X[400:], y[400:]))
        outcomes.append(model.fitted_.outcome)
    assert [outcome.read_every_row for outcome in outcomes] == [False, True]
    assert told(certificates[0], models=False) == told(certificates[1], models=False)
