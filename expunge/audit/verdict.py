"""What an audit says: one record, from which words, fields and exit status are taken.

    cannot conclude    the null control is loud, or the positive control is missed, or no attack on
                       so few models could have refuted the claim, or it is refuted at 95 % only
    CONTRADICTED       epsilon is above the claim at DECISIVE = 1 - 1e-6
    not contradicted   otherwise

The first line that applies is what is said. A null control (two samples of one law) is quiet only
where it shows nothing at all: it is held against 0, not against the claim, at the same confidence.
So a true claim is called contradicted, and a sound null control loud, once in a million audits at
most (Clopper and Pearson 1934; usually far less often, as their limits are conservative).
"""

from dataclasses import dataclass

from expunge.accounting.conversions import gdp_for_epsilon
from expunge.audit.lower_bound import EpsilonLowerBound, models_needed

__all__ = ["Controls", "Verdict", "judge"]


@dataclass(frozen=True)
class Verdict:
    """What is said of a claim.

    Args:
        contradicted: It is refuted, and the controls behaved.
        conclusive: The audit had the power to refute it, and its controls behaved; True for every
            contradiction.
        words: The same in a sentence.
    """

    contradicted: bool
    conclusive: bool
    words: str

    @property
    def exit_status(self) -> int:
        """The exit status of a command that prints it: 1 for a contradiction alone."""
        return int(self.contradicted)


@dataclass(frozen=True)
class Controls:
    """The same attack where the answer is known.

    Args:
        null: On two samples of one law, where there is nothing to find.
        positive: On models with a planted fault.
        fault: Which.
        claimed: The epsilon that a sound procedure would have claimed for those.
    """

    null: EpsilonLowerBound
    positive: EpsilonLowerBound
    fault: str
    claimed: float

    @property
    def quiet(self) -> bool:
        """The null control shows nothing: its own bound is not above 0."""
        return not self.null.tells_apart

    @property
    def caught(self) -> bool:
        """The planted fault is refuted."""
        return self.positive.contradicts(self.claimed)


def judge(
    attack: EpsilonLowerBound, *, epsilon: float, controls: Controls | None = None
) -> Verdict:
    """What an attack says of a certificate of this epsilon, at the attack's delta.

    Without controls the attack stands for itself: a sandwich always has both.
    """
    decided = attack.decided
    doubt = _doubt_of(controls, decided) if controls else None
    if doubt is not None:
        return _open(doubt)
    if attack.contradicts(epsilon):
        return Verdict(
            contradicted=True,
            conclusive=True,
            words=f"CONTRADICTED: epsilon is above {decided.value:.3g} at "
            f"{_percent(decided.level)} confidence, the claim is {epsilon:.3g}",
        )
    if decided.ceiling <= epsilon:
        return _open(
            f"{decided.models} test models show at most {decided.ceiling:.3g} at "
            f"{_percent(decided.level)} confidence, which is below the claim of {epsilon:.3g}"
        )
    if attack.value > epsilon:
        return _open(_suspicion(attack, decided, epsilon))
    return Verdict(
        contradicted=False,
        conclusive=True,
        words=f"not contradicted: the attack shows {attack.value:.3g} at "
        f"{_percent(attack.level)} confidence, the claim is {epsilon:.3g}",
    )


def _open(why: str) -> Verdict:
    return Verdict(contradicted=False, conclusive=False, words=f"cannot conclude: {why}")


def _doubt_of(controls: Controls, decided: EpsilonLowerBound) -> str | None:
    """Why the controls leave nothing to be said, or None where both behaved."""
    if not controls.quiet:
        return (
            "the null control raised an alarm: two samples of one law differ at "
            f"{_percent(decided.level)} confidence"
        )
    if not controls.caught:
        return (
            f"with {decided.models} test models of each law not even {controls.fault} is caught at "
            f"{_percent(decided.level)} confidence"
        )
    return None


def _suspicion(attack: EpsilonLowerBound, decided: EpsilonLowerBound, epsilon: float) -> str:
    """Words for a bound above the claim at the level shown, but not at the one that decides."""
    claimed = gdp_for_epsilon(epsilon, attack.delta)
    tests = models_needed(mu=attack.mu, claimed=claimed, level=decided.level)
    number = "no number of models" if tests is None else f"about {2 * tests:,} models of each law"
    return (
        f"epsilon is above {attack.value:.3g} at {_percent(attack.level)} confidence and above "
        f"{decided.value:.3g} at the {_percent(decided.level)} that a contradiction takes, the "
        f"claim is {epsilon:.3g}; {number} would decide"
    )


def _percent(level: float) -> str:
    return f"{100 * level:.6g}%"
