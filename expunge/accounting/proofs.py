"""Which figures are proven, and which are only the accountant's: the shift bound and its checker.

Where python-flint is installed, what is reported is what the checker proves from the witness,
rounded up. Where it is not, the accountant's own mu is reported; its allowance for rounding covers
what the checker would find. Either way the witness goes along, so that anybody can prove it later.
"""

from dataclasses import dataclass
from typing import Literal

from expunge.accounting import checker
from expunge.accounting.assumptions import Assumptions
from expunge.accounting.bounds.guarantee import GDP
from expunge.accounting.bounds.shift import Shifted
from expunge.accounting.bounds.taut_string import LEAST_MU
from expunge.accounting.history import History
from expunge.accounting.number_checks import check_flag
from expunge.accounting.witness import Witness
from expunge.errors import InvalidInput, Refused

__all__ = ["Proof", "ProofLevel", "prove"]

ProofLevel = Literal["proven", "recomputed"]


@dataclass(frozen=True)
class Proof:
    """A mu, whether it is proven, and from what; no witness where one has numbers beyond 2^53."""

    guarantee: GDP
    level: ProofLevel
    witness: Witness | None


def prove(
    assumptions: Assumptions,
    history: History,
    shifted: Shifted,
    *,
    witness: Witness | None = None,
    wanted: bool | None = None,
) -> Proof:
    """Prove the shift bound of a history from its witness, where that is possible.

    Args:
        witness: Another witness than the bound's own: that of a certificate.
        wanted: Whether to prove it; by default where python-flint is installed.

    Raises:
        InvalidInput: the given witness proves no bound for this history; a proof is asked for
            where nothing can make one.
        Refused: the bound's own witness does not, which is a fault of the accountant.
    """
    if wanted is not None and check_flag("proven", wanted) and not checker.available():
        raise InvalidInput("proven", "needs python-flint; pip install 'expunge[proof]'")
    own = shifted.witness if witness is None else witness
    if not own.storable:
        return Proof(shifted, "recomputed", None)
    if not (checker.available() if wanted is None else wanted):
        return Proof(shifted, "recomputed", own)
    try:
        mu = checker.prove_mu(assumptions, history, own)
    except InvalidInput as error:
        if witness is not None:
            raise
        raise Refused(f"the checker does not accept the witness: {error}") from error
    return Proof(GDP(max(mu, LEAST_MU) if mu else 0.0), "proven", own)
