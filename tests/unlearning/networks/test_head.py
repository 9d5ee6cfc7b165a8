"""The certified head: `residual` on frozen features, written into the module."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from expunge.accounting.bounds import shift
from expunge.core.module_state import with_state
from expunge.core.randomness import normal_source
from expunge.core.rows import bounded_rows
from expunge.errors import InvalidInput
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.objective import Objective
from expunge.unlearning.linear.few_records import step_cost
from expunge.unlearning.model_file import SALT
from expunge.unlearning.networks.head import BOUND, FEATURES, TARGETS, Head
from tests.unlearning.linear.deletions import Deletions, distance, optimum
from tests.unlearning.networks.problems import bits, job_of, network, without

INTERCEPT = float(bounded_rows(np.zeros((1, 1), dtype=np.float32), 1.0)[0, -1])


def binary(job):
    return replace(
        job,
        targets=(job.targets > 0).float()[:, None],
        public_targets=(job.public_targets > 0).float()[:, None],
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_written_layer_gives_the_scores_that_were_certified(bias):
    job, strategy = job_of(network(bias=bias)), Head()
    outcome = strategy.fit(job)
    scores = outcome.secret[FEATURES].double() @ outcome.secret["theta"].T
    module = with_state(job.module, outcome.state)
    # Public rows are within the bound by definition, so no row of theirs is cut.
    torch.testing.assert_close(
        module(job.public_inputs).detach().double(),
        scores[: job.roster.public],
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_row_beyond_the_public_bound_is_cut():
    job = job_of()
    job.inputs[0] = 100.0
    features = Head(row_norm=0.5).fit(job).secret[FEATURES]
    assert float(features.norm(dim=1).max()) <= 1
    assert len(features) == 100


def test_the_row_bound_is_the_public_features_alone():
    """sqrt 2 times their largest norm, however long the private ones are (THEORY 2.10)."""
    job = job_of()
    job.inputs[:5] *= 50
    known = Head().fit(job).secret
    with torch.no_grad():
        public, private = job.module.body(job.public_inputs), job.module.body(job.inputs)
    expected = np.sqrt(2) * float(public.double().norm(dim=1).max())
    assert float(private.norm(dim=1).max()) > 1.05 * float(public.norm(dim=1).max())
    assert float(known["scale"]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), nn.MSELoss()], ids=["classes", "numbers"])
def test_nothing_that_the_certificate_rests_on_comes_from_private_records(loss):
    """B, Y, the center, the noise and every printed constant, to the last bit."""
    found = []
    for factor in (1, 30):
        job = job_of(network(classes=1) if isinstance(loss, nn.MSELoss) else None, loss=loss)
        if isinstance(loss, nn.MSELoss):
            job = replace(
                job,
                targets=factor * job.targets[:, None].float(),
                public_targets=job.public_targets[:, None].float(),
            )
        job.inputs[:] *= factor
        strategy = Head()
        before = strategy.fit(job)
        after = strategy.forget(without(job, [0, 5]), before)
        public = bits({name: before.secret[name] for name in ("scale", "center")})
        found.append((public, after.assumptions, after.history, strategy._unfilled(job).loss))
    assert found[0] == found[1]


@pytest.mark.parametrize("one_by_one", [False, True])
def test_records_go_through_the_backbone_together_unless_asked_otherwise(one_by_one, monkeypatch):
    sizes = []
    plain = nn.Linear.forward
    monkeypatch.setattr(
        nn.Linear, "forward", lambda layer, rows: sizes.append(len(rows)) or plain(layer, rows)
    )
    (Head(one_by_one=True) if one_by_one else Head()).fit(job_of())
    assert (max(sizes) > 8) != one_by_one  # a few at a time count operations


def test_everything_but_the_layer_is_unchanged_bit_for_bit():
    job, strategy = job_of(), Head()
    template = bits(job.module.state_dict())
    before = strategy.fit(job)
    after = strategy.forget(without(job, [1, 2]), before)
    for outcome in (before, after):
        found = bits(outcome.state)
        assert {n for n in template if found[n] != template[n]} == {"fc.weight", "fc.bias"}
    assert bits(job.module.state_dict()) == template


def test_the_old_head_of_the_model_is_never_looked_at():
    job = job_of()
    other = network()
    with torch.no_grad():
        other.fc.weight.fill_(7.0)
    first, second = (bits(Head().fit(one).state) for one in (job, job_of(other)))
    assert first == second


def test_after_a_deletion_it_is_close_to_a_head_that_never_saw_the_records():
    job, strategy = without(job_of(), [0, 5, 59]), Head()
    after = strategy.forget(job, strategy.fit(job_of()))
    fresh = strategy.fit(job)
    reach = strategy.residual(Softmax(3, strategy.l2)).tolerance / strategy.l2
    assert float((after.secret["theta"] - fresh.secret["theta"]).norm()) <= 2 * reach
    learned = strategy.fit(job_of())
    assert float((learned.secret["theta"] - fresh.secret["theta"]).norm()) > 100 * reach


def regression(job):
    targets = job.targets.float()[:, None] / 2
    return replace(job, targets=targets, public_targets=job.public_targets.float()[:, None] / 2)


HEADS = {
    "softmax": lambda seed: job_of(network(hidden=2), seed=seed),
    "logistic": lambda seed: binary(
        job_of(network(hidden=4, classes=1), loss=nn.BCEWithLogitsLoss(), seed=seed)
    ),
    "squared": lambda seed: regression(
        job_of(network(hidden=4, classes=1), loss=nn.MSELoss(), seed=seed)
    ),
}


@pytest.mark.parametrize("fixed", [False, True], ids=["mean", "fixed"])
@pytest.mark.parametrize("kind", HEADS)
def test_what_is_noised_lies_within_the_proven_reach_of_the_minimiser_at_50_digits(kind, fixed):
    job, strategy = HEADS[kind](7), Head(l2=1e-2, fixed=fixed)
    outcome = strategy.fit(job)
    for rows in ([0, 5], [17], [58, 59, 30]):
        job = without(job, rows)
        outcome = strategy.forget(job, outcome)
    convex = strategy._convex(job, outcome.secret)
    solver = strategy.residual(convex.loss)
    theta = torch.cat([outcome.state["fc.weight"], outcome.state["fc.bias"][:, None]], 1).double()
    theta *= float(outcome.secret["scale"])
    theta[:, -1] = outcome.state["fc.bias"] / INTERCEPT
    noise_std, _ = solver.noise(convex)
    drawn = noise_std * normal_source(7, f"request {job.roster.request}")(theta)
    present = job.roster.present
    for divisor in (100.0, float(job.roster.retained)):
        problem = Deletions(
            convex.loss,
            convex.features.double(),
            convex.targets,
            present,
            [],
            convex.center,
            divisor,
        )
        apart = distance(theta - drawn, optimum(problem, present, theta))
        mine = divisor == (100.0 if fixed else job.roster.retained)
        assert (apart <= solver.reach(convex)) == mine  # the other normaliser's is another point


@pytest.mark.parametrize("blank", [0.0, torch.nan])
def test_forgotten_rows_that_are_blank_already_change_nothing(blank):
    job, strategy = without(job_of(), [0, 5]), Head()
    before = strategy.fit(job_of())
    blanked = {name: value.clone() for name, value in before.secret.items()}
    blanked[FEATURES][[40, 45]] = blank
    poisoned = strategy.forget(job, replace(before, secret=blanked))
    # Without an anchor both make the same passes.
    bare = {n: v for n, v in before.secret.items() if not n.startswith("anchor")}
    expected = strategy.forget(job, replace(before, secret=bare))
    assert bits(poisoned.state) == bits(expected.state)
    for name in ("anchor.gradient.low", "anchor.hessian.high", "anchor.hessian.low"):
        assert torch.equal(poisoned.secret[name], expected.secret[name])


def test_what_an_older_version_knew_of_forgotten_rows_does_not_survive_a_request():
    job, strategy = job_of(), Head()
    before = strategy.fit(job)
    known = {n: v for n, v in before.secret.items() if not n.startswith("anchor")}
    old = known | {"values": torch.ones(7), "vectors": torch.eye(7)}
    found = strategy.forget(without(job, [4]), replace(before, secret=old)).secret
    assert set(found) == set(before.secret) - {SALT}


@pytest.mark.parametrize("kind", HEADS)
def test_a_state_without_the_targets_as_earlier_versions_saved_it_goes_on_alike(kind):
    job, strategy = HEADS[kind](7), Head(l2=1e-2)
    before, asked = strategy.fit(job), without(job, [3, 17])
    expected = strategy.forget(asked, before)
    earlier = {n: v for n, v in before.secret.items() if n not in (TARGETS, BOUND)}
    after = strategy.forget(asked, replace(before, secret=earlier))
    assert bits(after.state) == bits(expected.state)
    assert bits(after.secret) == bits(expected.secret)


def test_what_a_request_without_a_pass_cost_is_its_step():
    job, strategy = without(job_of(), [3]), Head(l2=0.05)
    after = strategy.forget(job, strategy.fit(job_of()))
    assert not after.read_every_row
    assert after.flops == step_cost(strategy._convex(job, after.secret)) > 0


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_the_noise_of_a_regression_is_small_beside_its_targets(size):
    job = job_of(network(classes=1), loss=nn.MSELoss())
    job = replace(
        job,
        targets=job.targets[:, None] * size,
        public_targets=job.public_targets[:, None] * size,
    )
    norm = float(job.public_targets.abs().max())
    assert Head().price(job, 1).release_noise_std < 0.02 * min(1.0, norm)


def test_its_record_meets_the_target_and_depends_on_counts_alone():
    job, strategy = job_of(), Head()
    one, other = (
        strategy.forget(without(job, gone), strategy.fit(job)) for gone in ([0, 1], [8, 30])
    )
    assert one.assumptions == other.assumptions
    assert one.history == other.history
    bound = shift.bound(one.assumptions, one.history)
    assert 0 < bound.epsilon(1e-5) <= 1.0
    assert strategy.cost(without(job, [0, 1])) == strategy.cost(without(job, [8, 30]))
    assert strategy.price(job, 1).release_noise_std == pytest.approx(
        one.history.phases[0].sigma, rel=0.01
    )


def test_the_release_differs_from_the_secret_by_the_stated_noise():
    """A sum of squares of 21 standard normals; the bounds are beyond five standard errors."""
    job, strategy = without(job_of(), [0]), Head()
    squares = []
    for seed in range(40):
        after = strategy.forget(replace(job, seed=seed), strategy.fit(job_of()))
        scale = float(after.secret["scale"])
        moved = after.state["fc.weight"] * scale - after.secret["theta"][:, :-1]
        squares.append(float((moved / strategy.price(job, 1).release_noise_std).square().sum()))
    coordinates = 40 * 18
    assert abs(np.sum(squares) - coordinates) < 5.5 * np.sqrt(2 * coordinates)


def test_the_placebo_saw_no_private_record_of_the_forgotten():
    job, strategy = without(job_of(), [0, 5]), Head()
    before = strategy.fit(job_of())
    first = strategy.placebo(job, before)
    blanked = {name: value.clone() for name, value in before.secret.items()}
    blanked[FEATURES][[40, 45]] = torch.nan
    blanked["theta"] = torch.full_like(blanked["theta"], torch.nan)
    blanked["anchor.hessian.high"] += 7
    second = strategy.placebo(job, replace(before, secret=blanked, state={}))
    assert bits(first.state) == bits(second.state)


def test_what_the_user_declares_is_in_the_certificates_lines():
    job, strategy = without(job_of(), [0]), Head()
    lines = " ".join(strategy.forget(job, strategy.fit(job_of())).declared)
    assert "no layer but 'fc'" in lines
    assert "vocabulary, scaler" in lines


def test_a_draw_too_large_for_the_models_precision_is_handed_out_at_its_largest_number():
    """An infinity in the file is refused, and whether there is one depends on private records."""
    job = job_of(network().half())
    job = replace(job, inputs=job.inputs.half(), public_inputs=job.public_inputs.half())
    before = Head(tolerance=1.0).fit(job)
    small = replace(before, secret=before.secret | {"scale": torch.tensor(1e-9).double()})
    after = Head(tolerance=1.0).forget(without(job, [4]), small)
    written = with_state(job.module, after.state).fc.weight.detach()
    assert float(written.abs().max()) == torch.finfo(torch.float16).max


def test_half_precision_models_get_the_cast_of_a_certified_draw():
    job = job_of(network().to(torch.bfloat16))
    job = replace(
        job,
        inputs=job.inputs.to(torch.bfloat16),
        public_inputs=job.public_inputs.to(torch.bfloat16),
    )
    after = Head().forget(without(job, [0]), Head().fit(job))
    assert after.state["fc.weight"].dtype == torch.float64
    assert with_state(job.module, after.state).fc.weight.dtype == torch.bfloat16


@pytest.mark.parametrize(
    "loss", [nn.CrossEntropyLoss(), functional.cross_entropy], ids=["module", "function"]
)
def test_cross_entropy_is_softmax(loss):
    assert isinstance(Head()._unfilled(job_of(loss=loss)).loss, Softmax)


def test_binary_and_squared_losses_have_their_own_heads():
    one = network(classes=1)
    job = binary(job_of(one, loss=nn.BCEWithLogitsLoss()))
    assert isinstance(Head()._unfilled(job).loss, Logistic)
    outcome = Head().fit(job)
    assert outcome.state["fc.weight"].shape == (1, 6)
    squared = Head()._unfilled(replace(job, loss=functional.mse_loss)).loss
    assert isinstance(squared, Squared)
    assert squared.target_norm == 1.0


def own_loss(outputs, targets):
    return outputs.square().mean()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"loss": own_loss}, "loss: own_loss: only cross_entropy"),
        ({"loss": nn.CrossEntropyLoss(label_smoothing=0.1)}, "label_smoothing is not certified"),
        ({"loss": nn.CrossEntropyLoss(weight=torch.ones(3))}, "weight is not certified"),
        ({"loss": nn.BCEWithLogitsLoss()}, "3 outputs; 1 is needed"),
        ({"targets": torch.full((60,), 3)}, "whole numbers from 0 to 2"),
        ({"targets": torch.zeros(60)}, "whole numbers from 0 to 2"),
        ({"public_inputs": None, "public_targets": None}, "row_norm: without public records"),
        ({"head": None}, "head: name the last linear layer"),
    ],
    ids=["own", "smoothing", "weights", "outputs", "range", "floats", "no public", "no head"],
)
def test_what_cannot_be_certified_is_refused(changed, said):
    with pytest.raises(InvalidInput, match=said):
        Head().fit(replace(job_of(public=0 if "public_inputs" in changed else 40), **changed))


def test_without_public_records_a_number_will_do():
    job = job_of(public=0)
    outcome = Head(row_norm=3.0).fit(job)
    assert len(outcome.secret[FEATURES]) == 60
    assert float(outcome.secret["center"].abs().sum()) == 0


@pytest.mark.parametrize("name", ["l2", "row_norm", "target_norm", "tolerance"])
def test_settings_must_be_positive(name):
    with pytest.raises(ValueError, match=name):
        Head(**{name: -1.0})


def test_a_tied_head_is_refused():
    module = network(inputs=4, hidden=4, classes=4)
    module.fc.weight = module.body[0].weight
    with pytest.raises(InvalidInput, match="shares its parameters"):
        Head().fit(job_of(module))


@pytest.mark.gpu
def test_a_gpu_computes_features_and_solves_the_head_where_the_module_is(monkeypatch):
    """The same minimiser within the certified distance; state stays in the host's memory."""
    seen = set()
    gradient = Objective.gradient

    def watched(self, theta):
        seen.add(self.features.device.type)
        return gradient(self, theta)

    monkeypatch.setattr(Objective, "gradient", watched)
    there, strategy = job_of(device="cuda"), Head()
    fitted, expected = strategy.fit(there), strategy.fit(job_of())
    assert seen == {"cuda", "cpu"}
    torch.testing.assert_close(fitted.secret[FEATURES], expected.secret[FEATURES])
    seen.clear()
    after = strategy.forget(without(there, [0, 5]), fitted)
    strategy.placebo(without(there, [0, 5]), fitted)
    assert seen == {"cuda"}
    assert (
        strategy.price(there, 1).release_noise_std == strategy.price(job_of(), 1).release_noise_std
    )
    for outcome in (fitted, after):
        assert {value.device.type for value in outcome.secret.values()} == {"cpu"}
        assert {value.device.type for value in outcome.state.values()} == {"cpu"}
    # On the same features the solver's point is within its tolerance of the minimiser.
    solved = strategy._convex(without(there, [0, 5]), after.secret)
    found = solved.objective.gradient(after.secret["theta"])
    assert float(found.norm()) <= strategy.tolerance
