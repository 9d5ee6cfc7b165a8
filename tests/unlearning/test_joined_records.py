"""Records that join: what a certificate then means, against exact laws and exact minimisers.

The comparator is the same timeline in which the forgotten records never joined. Who is there at
which step is counted here once more, by hand, from the requests alone.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch

from expunge import CertifiedClassifier, CertifiedRegressor
from expunge.accounting.issue import issue
from expunge.accounting.verification import differences
from expunge.core.rows import bounded_rows
from expunge.errors import InvalidInput, NoCertificate
from expunge.unlearning import load
from expunge.unlearning.linear import pass_free
from expunge.unlearning.linear.anchor import SUMS, Anchor
from expunge.unlearning.linear.by_passes import ByPasses
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.newton_step import newton_step
from expunge.unlearning.linear.pass_free import PassFree
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.roster import Roster
from expunge.unlearning.schemes import FullBatch, PoissonBatch
from tests.unlearning.linear.deletions import Deletions, distance, optimum
from tests.unlearning.records import every_value, labelled, measured

X, Y = labelled(600)
FIT = 100


# Descent: the mean of a chain on quadratics, step by step, with and without the forgotten records.


@dataclass
class Timeline:
    """A model, and who was there after each request, by row numbers."""

    model: CertifiedClassifier
    there: list = field(default_factory=lambda: [set(range(FIT))])

    def add(self, count):
        known = max(set().union(*self.there)) + 1
        rows = slice(known, known + count)
        self.there.append(self.there[-1] | set(range(known, known + count)))
        return self.model.add(X[rows], Y[rows])

    def forget(self, *ids):
        self.there.append(self.there[-1] - set(ids))
        return self.model.forget(ids)


def timeline_of(strategy, **options):
    model = CertifiedClassifier(strategy=strategy, l2=0.05, random_state=1, **options)
    return Timeline(model.fit(X[:FIT], Y[:FIT]))


def worst_case(timeline):
    """mu of the exact law: forgotten records pull by +M, all others by -M, curvature is the ridge.

    Both chains are Gaussian with the same variance, so mu is the same in both directions; how far
    their means are apart is added up from the sets of records alone. What the history says of step
    sizes and noise is what was run.
    """
    certificate, there = timeline.model.certificate_, timeline.there
    assumptions, history = certificate.records_of_history()
    gone = set().union(*there) - there[-1]
    apart, variance = 0.0, 0.0
    for phase, request in zip(history.phases, timeline.model.fitted_.outcome.rounds, strict=True):
        eta, present = phase.step_size, there[request]
        c = 1 - eta * assumptions.strong_convexity
        drift = eta * assumptions.lipschitz * len(present & gone)
        drift *= 2 / len(present) if history.normaliser == "mean" else 1 / FIT
        for _ in range(phase.steps):
            apart = c * apart + drift
            variance = c**2 * variance + phase.noise_std**2
    return apart / math.sqrt(variance)


LANGEVIN = Langevin(learn_steps=60)
COURSES = {
    "before any deletion": (("add", 100), ("forget", 3, 4)),
    "between two deletions": (("forget", 3, 4), ("add", 100), ("forget", 5)),
    "of records forgotten later": (("forget", 3), ("add", 40), ("forget", 100, 101, 102, 5)),
    "twice": (("add", 30), ("forget", 3, 110), ("add", 70), ("forget", 150, 111), ("add", 5)),
}


def played(strategy, course, **options):
    timeline = timeline_of(strategy, **options)
    for verb, *what in COURSES[course]:
        getattr(timeline, verb)(*what)
    return timeline


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("strategy", [LANGEVIN, NoiseFirst(60, 8)], ids=lambda s: s.name)
def test_no_exact_law_of_the_timeline_is_beyond_the_certificate(strategy, course):
    timeline = played(strategy, course)
    certificate = timeline.model.certificate_
    assert not differences(certificate)
    found = worst_case(timeline)
    assert 0.2 * certificate.claim.mu <= found <= certificate.claim.mu


@pytest.mark.parametrize("seed", range(6))
def test_nor_is_that_of_any_random_timeline(seed):
    rng = np.random.default_rng(seed)
    strategy = (
        Langevin(learn_steps=int(rng.integers(10, 80))),
        NoiseFirst(int(rng.integers(10, 80)), int(rng.integers(1, 12))),
        Langevin(learn_steps=30, scheme=FullBatch(fixed=True)),
    )[seed % 3]
    timeline, ratios = timeline_of(strategy), []
    for _ in range(7):
        there = sorted(timeline.there[-1])
        room = FIT - len(there) if seed % 3 == 2 else 60
        if room and rng.random() < 0.5:
            certificate = timeline.add(int(rng.integers(1, room + 1)))
        else:
            certificate = timeline.forget(*rng.choice(there, size=2, replace=False).tolist())
        if (
            certificate is not None and certificate.claim.mu is not None
        ):  # by contraction it has none
            assert not differences(certificate)
            ratios.append(worst_case(timeline) / certificate.claim.mu)
    assert 0 < max(ratios) <= 1


@pytest.mark.parametrize("course", list(COURSES)[:2])
def test_counting_newcomers_as_if_they_had_been_there_from_the_start_is_caught(monkeypatch, course):
    """Planted: phases before they came would have more samples, and so less to hide."""

    def too_early(self, request):
        there = torch.ones(self.records, dtype=torch.bool)
        for rows in self.departures[:request]:
            there[rows.tolist()] = False
        return there

    monkeypatch.setattr(Roster, "present_after", too_early)
    timeline = timeline_of(LANGEVIN)
    steps = (getattr(timeline, verb)(*what) for verb, *what in COURSES[course])
    with pytest.raises(InvalidInput, match="joined: is 100, but by the history 0 joined"):
        list(steps)


def test_leaving_forgotten_newcomers_out_of_the_phases_that_they_were_in_is_caught(monkeypatch):
    honest = FullBatch.record

    def forgetful(self, phase, roster, present, first_step):
        first = torch.arange(roster.records) < roster.at_fit
        recorded = honest(self, phase, roster, present & first, first_step)
        kept = int((present & roster.present & ~first).sum())
        return type(phase)(**{**vars(recorded), "samples": recorded.samples + kept})

    monkeypatch.setattr(FullBatch, "record", forgetful)
    monkeypatch.setattr("expunge.unlearning.requests.certify", only_the_history)
    timeline = timeline_of(LANGEVIN)
    timeline.add(40)
    timeline.forget(100, 101, 102)
    assert timeline.model.certificate_.claim.mu < worst_case(timeline)


def only_the_history(fitted, request):
    """A certificate without what a fit states, which contradicts the planted fault."""
    outcome = fitted.outcome
    return issue(outcome.assumptions, outcome.history, delta=fitted.job.target.delta)


@pytest.mark.parametrize("batch", [FullBatch(), FullBatch(fixed=True), PoissonBatch(0.6)], ids=repr)
def test_every_phase_counts_who_was_there_and_has_left_since(batch):
    timeline = timeline_of(Langevin(learn_steps=40, scheme=batch))
    timeline.forget(*range(10, 20))
    timeline.add(6)
    timeline.forget(101, 3)
    history = timeline.model.history_
    gone = set().union(*timeline.there) - timeline.there[-1]
    counts = [(phase.samples, phase.forgotten) for phase in history.phases]
    rounds = timeline.model.fitted_.outcome.rounds
    present = [timeline.there[request] for request in rounds]
    assert counts == [(len(here), len(here & gone)) for here in present]
    assert history.normaliser_count == (FIT if batch.normaliser == "fixed" else None)
    assert (timeline.model.certificate_.records, timeline.model.certificate_.forgotten) == (106, 12)


def test_noisy_steps_after_an_addition_are_on_the_newcomers_too():
    """With next to no noise the chain is a recursion that anyone can run."""
    X, y = measured(60)
    strategy = Langevin(learn_steps=20, sigma=1e-13)
    model = CertifiedRegressor(strategy=strategy, l2=0.1, radius=50.0, random_state=0)
    model.fit(X[:40], y[:40])
    assert model.add(X[40:], y[40:]) is None
    history, theta = model.history_, np.zeros(5)
    assert [(phase.steps, phase.samples) for phase in history.phases] == [
        (19, 40), (1, 40), (1, 60), (1, 60),
    ]  # fmt: skip
    rows, targets = (
        part.numpy() for part in (model.fitted_.job.features, model.fitted_.job.targets)
    )
    for phase in history.phases:
        here, wanted = rows[: phase.samples], targets[: phase.samples]
        for _ in range(phase.steps):
            gradient = here.T @ (here @ theta - wanted) / len(here) + 0.1 * theta
            theta = theta - phase.step_size * gradient
    assert np.abs(theta - np.append(model.coef_, model.intercept_)).max() < 1e-9


# Residual: exact sums, and the minimiser at 50 digits.


def anchor_of(model):
    anchor = Anchor.of(model.fitted_.outcome.secret)
    assert anchor is not None
    return anchor


def sums(anchor):
    parts = [getattr(anchor, name) for name in SUMS]
    return [part for each in parts if each is not None for part in (each.high, each.low)]


KINDS = {
    "two classes": (CertifiedClassifier, labelled(160)),
    "three classes": (CertifiedClassifier, labelled(160, classes=3)),
    "regression": (CertifiedRegressor, measured(160)),
}


FAR = Residual(distance=10.0)  # so that the anchor of the fit stays


def residual_model(kind, rows, **options):
    estimator, (X, y) = KINDS[kind]
    settings = {"strategy": Residual(), "l2": 0.05} | options
    if kind != "regression":
        settings["classes"] = np.unique(y)
    return estimator(**settings).fit(X[rows], y[rows], ids=[f"r{row}" for row in rows])


def add(model, kind, rows, **options):
    X, y = KINDS[kind][1]
    return model.add(X[rows], y[rows], ids=[f"r{row}" for row in rows], **options)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_bit_for_bit_those_of_a_history_without_the_rows_that_left(kind):
    """Without them: the rows that stay, in the same order, at the same anchor."""
    model, rng = residual_model(kind, range(100), strategy=FAR), np.random.default_rng(5)
    there, unused = list(range(100)), list(range(100, 160))
    for _ in range(12):
        if unused and rng.random() < 0.5:
            rows = [unused.pop(0) for _ in range(min(len(unused), int(rng.integers(1, 9))))]
            add(model, kind, rows)
            there += rows
        else:
            rows = rng.choice(there, size=3, replace=False).tolist()
            model.forget([f"r{row}" for row in rows])
            there = [row for row in there if row not in rows]
        assert not model.fitted_.outcome.read_every_row
    kept, job = anchor_of(model), model.fitted_.job
    assert kept.rows == len(there)
    (X, y), terms = KINDS[kind][1], PassFree(ByPasses(job, 1e-9), 1.0, 30.0).terms
    never = Deletions(
        job.loss,
        rows_of(X, there),
        torch.from_numpy(y[there]),
        torch.ones(len(there), dtype=torch.bool),
        [],
    )
    fresh = Anchor.at(kept.point, terms, never.objective(never.present), 0, made=0)
    assert all(map(torch.equal, sums(kept), sums(fresh)))


def rows_of(features, there):
    """Rows with their intercept, as `fit` keeps them."""
    return torch.from_numpy(bounded_rows(features[there], 1.0))


def test_two_histories_that_differ_in_rows_that_came_and_went_have_the_same_sums():
    kind = "two classes"
    plain, other = (residual_model(kind, range(100), random_state=0) for _ in range(2))
    add(other, kind, [120, 121])
    other.forget(["r120"])
    for model in (plain, other):
        add(model, kind, range(130, 140))
        model.forget(["r3", "r135"])
    other.forget(["r121"])
    assert all(map(torch.equal, sums(anchor_of(plain)), sums(anchor_of(other))))


@pytest.mark.parametrize("kind", KINDS)
def test_released_points_stay_within_the_proven_distance_of_the_exact_minimiser(kind):
    """The point is the step's from the state that is kept: noise comes after it."""
    model = residual_model(kind, range(100), strategy=FAR, random_state=0)
    for verb, rows in [
        ("add", range(100, 130)),
        ("forget", [3, 101]),
        ("add", range(130, 150)),
        ("forget", [140]),
    ]:
        add(model, kind, rows) if verb == "add" else model.forget([f"r{row}" for row in rows])
        job, roster = model.fitted_.job, model.fitted_.job.roster
        problem = Deletions(job.loss, job.features, job.targets, roster.present, [])
        anchor, terms = anchor_of(model), PassFree(ByPasses(job, 1e-9), 1.0, 30.0).terms
        step_taken = newton_step(anchor, terms, intercept=True)
        true = distance(step_taken.theta, optimum(problem, roster.present, anchor.point))
        assert 0 < true <= step_taken.distance <= FAR.reach(job)
        assert not model.fitted_.outcome.read_every_row


def test_terms_taken_off_instead_of_added_are_caught_by_the_same_check(monkeypatch):
    """Planted: a newcomer's terms with the wrong sign, counts as they should be."""
    honest = Anchor.moved

    def wrong(self, places, terms, features, targets, *, joining=False):
        moved = honest(self, places, terms, features, targets, joining=joining)
        if not joining:
            return moved
        off = honest(self, places, terms, features, targets)
        return type(moved)(**{**vars(moved), **{name: getattr(off, name) for name in SUMS}})

    monkeypatch.setattr(Anchor, "moved", wrong)
    model = residual_model("two classes", range(100))
    add(model, "two classes", range(100, 110))
    job = model.fitted_.job
    problem = Deletions(job.loss, job.features, job.targets, job.roster.present, [])
    anchor, terms = anchor_of(model), PassFree(ByPasses(job, 1e-9), 1.0, 30.0).terms
    taken = newton_step(anchor, terms, intercept=True)
    assert (
        distance(taken.theta, optimum(problem, job.roster.present, anchor.point)) > taken.distance
    )


@pytest.mark.parametrize("distance", [None, 0.0])
@pytest.mark.parametrize("kind", KINDS)
def test_after_passes_the_model_is_the_same_as_one_fitted_to_the_records_that_are_there(
    monkeypatch, kind, distance
):
    monkeypatch.setattr(PassFree, "step", lambda _, anchor: (anchor.point, False))
    strategy = Residual(distance=distance)
    model = residual_model(kind, range(100), strategy=strategy)
    assert add(model, kind, range(100, 160)) is None
    fresh = residual_model(kind, range(160), strategy=strategy)
    assert np.abs(model.coef_ - fresh.coef_).max() < 1e-7
    assert model.fitted_.outcome.read_every_row


def test_the_first_models_after_an_addition_carry_no_noise_and_later_ones_do():
    model = residual_model("two classes", range(100))
    add(model, "two classes", [100])
    assert model.fitted_.outcome.noise_free
    first = model.forget(["r3"])
    again = add(model, "two classes", [101])
    assert not model.fitted_.outcome.noise_free
    assert (again.previous, again.sequence, again.forgotten) == (first.sha256, 2, 1)
    assert again.history.phases[0].sigma == pytest.approx(first.history.phases[0].sigma, rel=1e-6)
    assert again.model_sha256 != first.model_sha256


def test_an_anchor_that_is_too_old_takes_no_newcomers(monkeypatch):
    model = residual_model("two classes", range(100))
    made, later = anchor_of(model).made, anchor_of(model).made + 31 * 86400
    monkeypatch.setattr(pass_free.time, "time", lambda: later)
    add(model, "two classes", [100, 101])
    assert anchor_of(model).made == later > made
    assert anchor_of(model).rows == 102


def test_more_records_than_the_tolerance_allows_are_refused_by_counts(monkeypatch):
    """With rows as large as these, rounding grows with the number of records."""
    wide = {"row_norm": 1e3, "l2": 1e-3}
    X, y = KINDS["two classes"][1]
    small = CertifiedClassifier(strategy="residual", **wide).fit(X[:40], y[:40])
    tolerance = small.fitted_.strategy.tolerance
    resolution = type(small.fitted_.job.resolution)
    honest = resolution.allows
    monkeypatch.setattr(resolution, "allows", lambda self, t: self.rows <= 40 and honest(self, t))
    with pytest.raises(ValueError, match=f"tolerance: {tolerance:g} is below what rounding allows"):
        small.add(X[40:], y[40:])
    assert small.forget([3]).forgotten == 1


def test_what_joined_and_left_is_nowhere_in_the_saved_state(tmp_path):
    model = residual_model("two classes", range(100))
    mark = np.float64(0.123456789012345)
    row = np.full((1, 4), mark)
    folder = tmp_path / "model"
    model.save(folder)
    model.add(row, [1], ids=["visitor"])
    model.save(folder)
    assert holds(folder, row)  # the search finds it while it is there
    model = load(folder)
    model.forget(["visitor"])
    assert not holds_in_memory(model, row)
    model.save(folder)
    assert not holds(folder, row)
    assert not differences(load(folder).forget(["r5"]))


def holds(folder, row):
    return any(row.tobytes() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def holds_in_memory(model, row):
    parts = [*every_value(model.fitted_.job), *model.fitted_.outcome.secret.values()]
    return any(row.tobytes() in part.contiguous().numpy().tobytes() for part in parts)


@pytest.mark.parametrize("kind", KINDS)
def test_an_exchange_leaves_the_sums_of_a_history_without_the_rows_that_left(kind):
    """Whether it is one request or two; the certificate counts both."""
    model, apart = (residual_model(kind, range(100), strategy=FAR) for _ in range(2))
    X, y = KINDS[kind][1]
    ids = ["r3", "r4", "r130"]
    certificate = model.exchange(["r3", "r4"], X[120:123], y[120:123], ids=ids)
    apart.forget(["r3", "r4"])
    apart.add(X[120:123], y[120:123], ids=ids, again=True)
    assert all(map(torch.equal, sums(anchor_of(model)), sums(anchor_of(apart))))
    assert (certificate.records, certificate.forgotten, certificate.joined) == (103, 2, 3)
    assert (certificate.sequence, certificate.generation) == (1, 1)
    assert not differences(certificate)
    assert model.forget("r3").sequence == 2  # the record that took its place
    with pytest.raises(ValueError, match="'r3' is already forgotten"):
        model.forget("r3")


@pytest.mark.parametrize("strategy", [Residual(distance=0), "retrain"], ids=str)
def test_an_exchange_by_passes_gives_the_minimiser_of_what_is_there(strategy):
    kind = "two classes"
    model = residual_model(kind, range(100), strategy=strategy, random_state=0)
    X, y = KINDS[kind][1]
    model.exchange([f"r{row}" for row in range(20)], X[100:140], y[100:140], ids=range(40))
    never = residual_model(kind, range(20, 140), strategy="retrain", random_state=0)
    found = model.fitted_.outcome.secret.get("theta", model.fitted_.outcome.theta)
    assert torch.allclose(found, never.fitted_.outcome.theta, atol=1e-6)


@pytest.mark.parametrize("strategy", [LANGEVIN, NoiseFirst(60, 8)], ids=lambda s: s.name)
def test_a_history_that_could_not_count_who_joined_takes_no_exchange(strategy):
    timeline = timeline_of(strategy)
    with pytest.raises(NoCertificate, match="forget first, then add"):
        timeline.model.exchange(3, X[:1], Y[:1])
    assert timeline.model.certificate_ is None
