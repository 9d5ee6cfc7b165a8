"""Every bound for a history, the best of them, and what the answer presupposes.

`account` is a pure function of (assumptions, history, delta, orders): anyone who holds a
certificate's history can recompute its numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from expunge.accounting.assumptions import Assumptions, Regime
from expunge.accounting.bounds import BOUNDS, GDP, Bound, Guarantee, HockeyStick, Renyi, shift
from expunge.accounting.bounds.foreign import ForeignBound, find_bound, installed, is_foreign
from expunge.accounting.bounds.log_sobolev import initial_constant
from expunge.accounting.conversions import check_delta, outward
from expunge.accounting.history import History
from expunge.accounting.moduli import check_step_sizes
from expunge.accounting.number_checks import check_number
from expunge.accounting.proofs import Proof, ProofLevel, prove
from expunge.accounting.witness import Witness
from expunge.errors import InvalidInput, Refused

__all__ = ["Account", "Answer", "account", "order_key"]

LARGEST_MEANINGFUL_EPSILON = 20.0


@dataclass(frozen=True)
class Answer:
    """What one bound says; a bound that refuses says only why."""

    epsilon: float | None = None
    mu: float | None = None
    renyi: dict[str, float] | None = None
    refused: str | None = None
    proof: ProofLevel = "recomputed"
    witness: Witness | None = None  # of the shift bound, proven or not

    def document(self) -> dict[str, object]:
        """The answer as `expunge account` prints it."""
        if self.refused is not None:
            return {"refused": self.refused}
        named = {"mu": self.mu, "epsilon": self.epsilon, "renyi": self.renyi}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Account:
    """All bounds for one history, as `expunge account` prints them."""

    bounds: dict[str, Answer]
    best: str | None
    best_reason: str
    vacuous: bool
    regime: Regime
    assumptions: dict[str, dict[str, object]]
    observer: str
    comparator: str
    scope: list[str]
    assumed: tuple[str, ...] = ()  # constants that were declared, and that the best bound uses

    @property
    def epsilon(self) -> float | None:
        """The best bound's epsilon, None when every bound refused."""
        return None if self.best is None else self.bounds[self.best].epsilon

    @property
    def proof(self) -> ProofLevel:
        """Whether the best bound is proven by the checker."""
        return "recomputed" if self.best is None else self.bounds[self.best].proof

    def document(self) -> dict[str, object]:
        """The account as `expunge account` prints it."""
        return {
            "bounds": {name: figures.document() for name, figures in self.bounds.items()},
            "best": self.best,
            "best_reason": self.best_reason,
            "vacuous": self.vacuous,
            "regime": self.regime,
            "assumptions": self.assumptions,
            "observer": self.observer,
            "comparator": self.comparator,
            "scope": self.scope,
        }


def account(
    assumptions: Assumptions,
    history: History,
    *,
    delta: float,
    orders: Sequence[float] = (2.0, 8.0),
    bound: str | None = None,
    foreign: Sequence[ForeignBound] | None = None,
    witness: Witness | None = None,
    proven: bool | None = None,
) -> Account:
    """Judge a history by every bound, and say which one is best.

    Args:
        delta: The delta of the (epsilon, delta) claim.
        orders: Rényi orders to report, each above 1.
        bound: A bound of another package, which then is `best`; without it, the smallest of ours.
        foreign: Bounds of other packages to list; by default all that are installed.
        witness: Of the shift bound, if a certificate has one; otherwise the bound's own.
        proven: Whether to prove the shift bound; by default where python-flint is installed.

    Raises:
        InvalidInput: delta, an order, a step size or the bound asked for makes no sense; the
            witness does not fit the history.
    """
    check_delta(delta)
    for i, order in enumerate(orders):
        if check_number(f"orders[{i}]", order) <= 1:
            raise InvalidInput(f"orders[{i}]", "must be finite and above 1")
    if not isinstance(witness, Witness | None):
        raise InvalidInput("witness", "must be a Witness record")
    check_step_sizes(assumptions, history)
    asked = None if bound is None else find_bound(bound)
    listed = [*(installed().values() if foreign is None else foreign), *([asked] if asked else [])]
    judges: dict[str, Bound] = {**BOUNDS, **{other.name: other.guarantee for other in listed}}
    figures = {
        name: _figures(_judge(name, judge, witness, proven), assumptions, history, delta, orders)
        for name, judge in judges.items()
    }
    ours = {name: figures[name] for name in BOUNDS}
    best, reason = _best(ours, tight=_is_tight(assumptions, history))
    if asked is not None:
        best, reason = _choose_asked(asked, figures, best)
    epsilon = None if best is None else figures[best].epsilon
    assumed = _assumed_constants(assumptions, best)
    return Account(
        bounds=figures,
        best=best,
        best_reason=reason,
        vacuous=epsilon is None
        or epsilon > LARGEST_MEANINGFUL_EPSILON
        or delta * history.largest_samples > 1,
        regime=assumptions.regime,
        assumptions=_echo(assumptions, history),
        observer="all" if history.released_early else "final",
        comparator=_comparator(history),
        scope=_scope(assumptions, history, assumed),
        assumed=assumed,
    )


Judge = Callable[[Assumptions, History], Guarantee | Proof]


def _judge(name: str, bound: Bound, witness: Witness | None, proven: bool | None) -> Judge:
    """The bound; that of the shift bound is proven where it can be."""

    def judge(assumptions: Assumptions, history: History) -> Guarantee | Proof:
        guarantee = _guarantee(name, bound, assumptions, history)
        if not isinstance(guarantee, shift.Shifted):
            return guarantee
        return prove(assumptions, history, guarantee, witness=witness, wanted=proven)

    return judge


def _figures(
    judge: Judge,
    assumptions: Assumptions,
    history: History,
    delta: float,
    orders: Sequence[float],
) -> Answer:
    try:
        judged = judge(assumptions, history)
        guarantee = judged.guarantee if isinstance(judged, Proof) else judged
        epsilon = guarantee.epsilon(delta)
        renyi = {order_key(order): guarantee.renyi(order) for order in orders}
    except Refused as refusal:
        return Answer(refused=str(refusal))
    except ArithmeticError:
        return Answer(refused="the bound leaves the range of floating point")
    mu = outward(guarantee.mu, 0.0) if isinstance(guarantee, GDP) else None
    known = {order: value for order, value in renyi.items() if value is not None}
    answer = Answer(
        epsilon=epsilon, mu=mu, renyi=None if isinstance(guarantee, HockeyStick) else known
    )
    if not isinstance(judged, Proof):
        return answer
    return replace(answer, proof=judged.level, witness=judged.witness)


def order_key(order: float) -> str:
    """A Rényi order as a JSON key, exact: 2.0 is "2"."""
    return str(int(order)) if order == int(order) else repr(order)


def _guarantee(name: str, bound: Bound, assumptions: Assumptions, history: History) -> Guarantee:
    """The bound's guarantee; zero where nothing was forgotten and both chains start alike."""
    if history.forgets or assumptions.initial_distance > 0:
        return bound(assumptions, history)
    nothing: dict[str, Guarantee] = {
        "shift": shift.nothing_forgotten(history),
        "contraction": HockeyStick(lambda _: -math.inf),
    }
    return nothing.get(name, Renyi.linear(0.0))


def _is_tight(assumptions: Assumptions, history: History) -> bool:
    """Whether some loss of the class attains the shift bound: full batches, no projection."""
    batched = any(phase.batches or phase.poisson or phase.rounding for phase in history.phases)
    convex = assumptions.regime in ("strongly convex", "convex")
    return convex and not batched and assumptions.radius is None


def _best(figures: dict[str, Answer], *, tight: bool) -> tuple[str | None, str]:
    """The bound with the smallest epsilon, and why; the shift bound, listed first, wins ties."""
    known = {name: f.epsilon for name, f in figures.items() if f.epsilon is not None}
    if not known:
        return None, "every bound refused: " + "; ".join(
            f"{name}: {f.refused}" for name, f in figures.items()
        )
    best = min(known, key=lambda name: known[name])
    if best == "contraction" and known[best] >= known.get("shift", math.inf) * (1 - 1e-9):
        best = "shift"
    others = {name: epsilon for name, epsilon in known.items() if name != best}
    if known[best] == 0:
        return best, "no forgotten record influenced the model more than delta allows"
    if not others:
        return best, "the only bound whose hypotheses hold"
    rival = min(others, key=lambda name: others[name])
    factor = others[rival] / known[best]
    how = " (exactly tight over this class of losses)" if best == "shift" and tight else ""
    return best, f"smallest epsilon{how}: {factor:.3g}x below the next, {rival}"


def _choose_asked(
    bound: ForeignBound, figures: dict[str, Answer], ours: str | None
) -> tuple[str | None, str]:
    """The bound of another package that was asked for, whatever ours say, and why."""
    refused = figures[bound.name].refused
    if refused is not None:
        return None, f"{bound.name} was asked for and refused: {refused}"
    beside = "every bound of ours refused"
    if ours is not None:
        beside = f"the best of ours, {ours}, gives epsilon {figures[ours].epsilon:.3g}"
    return bound.name, f"asked for, on the word of the package {bound.package}; {beside}"


def _echo(assumptions: Assumptions, history: History) -> dict[str, dict[str, object]]:
    values: dict[str, float | None] = {
        name: getattr(assumptions, name) for name in assumptions.constants()
    }
    values["initial_log_sobolev"] = initial_constant(assumptions, history)
    return {
        name: {"value": value, "mark": assumptions.mark(name)} for name, value in values.items()
    }


def _comparator(history: History) -> str:
    steps = sum(phase.steps for phase in history.phases)
    batched = any(phase.batches or phase.poisson for phase in history.phases)
    how = (
        "masked retraining: the same batches with the forgotten records masked, " if batched else ""
    )
    when = " at every release" if history.released_early else ""
    return (
        f"{how}the same initial law, {steps} steps with the same step sizes, noise and "
        f"projection, on the records without any forgotten one{when}"
    )


def _assumed_constants(assumptions: Assumptions, best: str | None) -> tuple[str, ...]:
    """Constants that the answer rests on and that were declared, not enforced."""
    unused = {"strong_convexity", "lipschitz"} if assumptions.regime == "clipped" else {"clip"}
    assumed = [
        name
        for name in assumptions.constants()
        if getattr(assumptions, name) and name not in unused | {"initial_log_sobolev"}
        if assumptions.mark(name) == "assumed"
    ]
    may_use_it = best in ("log_sobolev", "log_sobolev_paper") or is_foreign(best)
    if may_use_it and assumptions.mark("initial_log_sobolev") == "assumed":
        assumed.append("initial_log_sobolev")
    return tuple(assumed)


def _scope(assumptions: Assumptions, history: History, assumed: Sequence[str]) -> list[str]:
    lines = []
    if assumed:
        lines.append("rests on constants that were declared, not enforced: " + ", ".join(assumed))
    lines.append("records, not persons; this model, not logs, backups, caches or earlier models")
    if not history.released_early:
        lines.append("the observer sees only the model after the last phase (observer: final)")
    if any(phase.released and phase.forgotten for phase in history.phases[:-1]):
        lines.append("requests are assumed independent of released models")
    if history.normaliser == "fixed" and assumptions.regime == "strongly convex":
        lines.append("strong convexity must come from the ridge alone (fixed normaliser)")
    if any(phase.poisson for phase in history.phases):
        lines.append("conditional on the realised batches, whose seed differs from the noise's")
    if not any(phase.rounding for phase in history.phases):
        lines.append("exact arithmetic: no rounding budget was given")
    return lines
