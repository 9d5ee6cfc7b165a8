"""`head`: a frozen backbone, and its last linear layer certified by `residual`.

    h = backbone(x)          computed once, in eval mode
    row = bounded(h / B)     norm at most 1, an intercept feature counted (core/rows)
    theta                    residual's released minimiser of the convex head      (THEORY 5.1)
    W = theta[:, :-1] / B,   bias = theta[:, -1] times the intercept feature

B is a public number: sqrt 2 times the largest norm of the public records' features, so that rows
like theirs are not cut. `l2` is for features of that scale, and pulls towards the head of the
public records alone, where there are any; the layer's own values are never looked at. Writing theta
into the module, in the module's precision, is post-processing. Everything but the named layer stays
as it was handed over, bit for bit; that it never saw a private record is the user's word.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from expunge.accounting.prices import Price
from expunge.core.checks import check_fields, either, flag, optional, positive
from expunge.core.flops import forward_flops
from expunge.core.module_state import saturated, state_of
from expunge.core.rows import bounded_rows, public_row_norm
from expunge.errors import InvalidInput
from expunge.features.backbone import backbone_features
from expunge.features.module_checks import last_linear, refuse_tied_head
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.linear import LinearLoss
from expunge.losses.torch_losses import convex_in_last_layer, kind_of
from expunge.unlearning.linear.budget import metered, nominal_cost, within_budget
from expunge.unlearning.linear.few_records import step_cost
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.networks.network_strategy import NetworkStrategy, passes
from expunge.unlearning.outcome import ROWS, Outcome

__all__ = ["Head"]

FEATURES, TARGETS, BOUND = f"{ROWS}features", f"{ROWS}targets", "target_norm"
KEPT = (FEATURES, TARGETS, BOUND, "scale", "center")
FEATURES_KEPT = "the features and targets of retained records; those of forgotten ones are zeroed"
PUBLIC_PASSES = 100


@dataclass(frozen=True)
class Head(NetworkStrategy):
    """The strategy `head`: a frozen backbone, and a last linear layer that is certified.

    Args:
        l2: The ridge, on every coordinate, for features divided by B. Must not depend on the data.
        row_norm: B; "public" takes it from the public records' features.
        target_norm: Y of a regression; "public" takes the largest public target.
        tolerance: Of the gradient norm, as for `Residual`; None takes l2/1000, of a regression on
            targets below 1 times their bound: the noise is then about 0.002/mu times as much in
            every coordinate, for any ridge that rounding allows.
        one_by_one: Records go through the backbone alone, not in batches: slower, and needed where
            a batch moves the last bits of its records' features.
        fixed: Divide losses by the records at fit, as for `Residual`.
    """

    l2: float = 1e-4
    row_norm: float | Literal["public"] = "public"
    target_norm: float | Literal["public"] = "public"
    tolerance: float | None = None
    one_by_one: bool = False
    fixed: bool = False
    name = "head"
    keeps_backbone = True
    runs_the_loss = False

    def __post_init__(self) -> None:
        check_fields(
            self,
            l2=positive,
            row_norm=either("public", positive),
            target_norm=either("public", positive),
            tolerance=optional(positive),
            one_by_one=flag,
            fixed=flag,
        )

    def residual(self, loss: LinearLoss) -> Residual:
        """What solves and releases the head."""
        size = min(1.0, loss.target_norm) if isinstance(loss, Squared) else 1.0
        tolerance = size * self.l2 / 1000 if self.tolerance is None else self.tolerance
        return Residual(tolerance, distance=tolerance / self.l2, fixed=self.fixed)

    def fit(self, job: NetworkJob) -> Outcome:
        layer = _head_of(job)
        raw = [
            backbone_features(
                job.module, job.head or "", rows, job.device, self.one_by_one, private=private
            ).numpy()
            for rows, private in ((job.public_inputs, False), (job.inputs, True))
            if rows is not None
        ]
        scale = self._scale(raw[0] if job.roster.public else None)
        intercept = layer.bias is not None
        rows = [bounded_rows(part / scale, 1.0, intercept=intercept) for part in raw]
        features = torch.from_numpy(np.concatenate(rows))
        known = self._targets(job) | {FEATURES: features, "scale": torch.tensor(scale).double()}
        convex = self._convex(job, known)
        kept = known | {"center": _public_center(convex)}
        counted, meter = metered(replace(convex, center=kept["center"]))
        solved = self.residual(counted.loss).fit(counted)
        flops = meter.flops + len(features) * forward_flops(job.module, job.inputs)
        return self._outcome(job, solved, kept, flops)

    def forget(self, job: NetworkJob, before: Outcome) -> Outcome:
        kept = self._kept(job, before)
        counted, meter = metered(self._convex(job, kept))
        solver = self.residual(counted.loss)
        solved = solver.forget(counted, before)
        tried = step_cost(counted) if solver.goes_without_passes(counted) else 0.0
        return self._outcome(job, solved, kept, meter.flops + tried)

    def placebo(self, job: NetworkJob, before: Outcome) -> Outcome:
        """The head solved from the public one within a warm start's budget; features are there."""
        kept = self._kept(job, before)
        convex = self._convex(job, kept)
        solved = replace(self.residual(convex.loss), distance=0.0).placebo(convex, before)
        return self._outcome(job, solved, kept, self.cost(job))

    def cost(self, job: NetworkJob) -> float:
        return nominal_cost(self._unfilled(job))

    def price(self, job: NetworkJob, forget: int) -> Price:
        """The head's price, its noise without the public head's share in rounding."""
        sizes = self._unfilled(job)
        noise_std, _ = self.residual(sizes.loss).noise(sizes)
        return Price(
            self.name,
            steps=passes(job, self.cost(job)),
            epsilon=job.target.level,
            release_noise_std=noise_std,
        )

    def _unfilled(self, job: NetworkJob) -> LinearJob:
        """The convex problem's sizes, without its rows."""
        layer = _head_of(job)
        width = layer.in_features + (layer.bias is not None)
        nothing = torch.empty(job.roster.records, width, device="meta")
        return self._convex(job, self._targets(job) | {FEATURES: nothing})

    def _scale(self, public: np.ndarray | None) -> float:
        if self.row_norm != "public":
            return float(self.row_norm)
        if public is None:
            raise InvalidInput(
                "row_norm",
                "without public records give a number, Head(row_norm=...): about 1.4 times the "
                "norm that the last layer's inputs usually have, not measured on private records",
            )
        return public_row_norm(public)

    def _kept(self, job: NetworkJob, before: Outcome) -> dict[str, Tensor]:
        """What fit has computed for every request; states of earlier versions lack the targets."""
        known = {name: before.secret[name] for name in KEPT if name in before.secret}
        return known if TARGETS in known else known | self._targets(job)

    def _convex(self, job: NetworkJob, known: dict[str, Tensor]) -> LinearJob:
        """The head's own problem: public rows first, everything frozen already computed.

        Args:
            known: As far as fit has computed it; a center is missing before it has one.
        """
        features, targets = known[FEATURES], known[TARGETS]
        # The solver's products run where the rows are; a plan's have no values at all.
        if torch.device(job.device).type == "cuda" and not features.is_meta:
            features, targets = features.to(job.device), targets.to(job.device)
        return LinearJob(
            loss=self._loss(job, known),
            features=features,
            targets=targets,
            roster=job.roster,
            target=job.target,
            observer=job.observer,
            seed=job.seed,
            center=known.get("center"),
            intercept=_head_of(job).bias is not None,
        )

    def _targets(self, job: NetworkJob) -> dict[str, Tensor]:
        """The targets as the head's loss takes them, public ones first, and Y of a regression."""
        parts = [part for part in (job.public_targets, job.targets) if part is not None]
        kind, targets = convex_in_last_layer(job.loss, parts, _head_of(job).out_features)
        if kind is not Squared:
            return {TARGETS: targets.cpu()}
        bound = torch.tensor(self._target_norm(job), dtype=torch.float64)
        return {TARGETS: targets.cpu(), BOUND: bound}

    def _loss(self, job: NetworkJob, known: dict[str, Tensor]) -> LinearLoss:
        kind = kind_of(job.loss)
        if kind is Softmax:
            return Softmax(_head_of(job).out_features, self.l2)
        if kind is Logistic:
            return Logistic(self.l2)
        return Squared(self.l2, target_norm=float(known[BOUND]))

    def _target_norm(self, job: NetworkJob) -> float:
        if self.target_norm != "public":
            return float(self.target_norm)
        if job.public_targets is None:
            raise InvalidInput("target_norm", "without public records give Head(target_norm=...)")
        return max(float(job.public_targets.abs().max()), 1e-12)

    def _outcome(
        self, job: NetworkJob, solved: Outcome, kept: dict[str, Tensor], flops: float
    ) -> Outcome:
        return Outcome(
            state_of(job.module) | _written(job, solved.theta, float(kept["scale"])),
            solved.assumptions,
            solved.history,
            flops=flops,
            declared=(*solved.declared, *_declared(job)) if solved.declared else (),
            noise_free=solved.noise_free,
            retained=(*solved.retained, FEATURES_KEPT) if solved.retained else (),
            secret={**solved.secret, **kept},
            read_every_row=solved.read_every_row,
        )


def _public_center(convex: LinearJob) -> Tensor:
    """About the minimiser of the public records alone at a hundredth of the ridge; 0 without any.

    Any function of public records would do: nothing of it ever has to be forgotten.
    """
    weak: Any = replace(convex.loss, l2=convex.loss.l2 / 100)  # pyright: ignore[reportArgumentType]
    public = slice(0, convex.roster.public)
    alone = replace(
        convex,
        loss=weak,
        features=convex.features[public],
        targets=convex.targets[public],
        roster=convex.roster.public_only,
    )
    if not convex.roster.public:
        return convex.origin
    return within_budget(alone, tolerance=1e-6, passes=PUBLIC_PASSES)


def _head_of(job: NetworkJob) -> nn.Linear:
    layer = last_linear(job.module, job.head)
    refuse_tied_head(job.module, job.head or "")
    return layer


def _written(job: NetworkJob, theta: Tensor, scale: float) -> dict[str, Tensor]:
    """theta as the module's own parameters: a scaling by public numbers."""
    layer = _head_of(job)
    kind = layer.weight.dtype
    if layer.bias is None:
        return {f"{job.head}.weight": saturated(theta / scale, kind)}
    # The intercept feature, as `bounded_rows` makes it in the features' precision.
    single = layer.weight.dtype != torch.float64
    blank = np.zeros((1, layer.in_features), dtype=np.float32 if single else np.float64)
    intercept = float(bounded_rows(blank, 1.0)[0, -1])
    return {
        f"{job.head}.weight": saturated(theta[:, :-1] / scale, kind),
        f"{job.head}.bias": saturated(theta[:, -1] * intercept, layer.bias.dtype),
    }


def _declared(job: NetworkJob) -> tuple[str, ...]:
    return (
        f"declared by the user, not checked: no layer but {job.head!r}, and nothing that prepared "
        "the inputs (vocabulary, scaler, tokeniser), ever saw a private record",
        f"the model is the frozen backbone and layer {job.head!r}: the draw, scaled by public "
        "numbers and cast to the model's precision, which is post-processing",
        "features are computed once, in eval mode, by row number; the comparator's table has the "
        "forgotten records blanked in place; that a record's features do not depend on the others "
        "was tried on every batch, not proven",
    )
