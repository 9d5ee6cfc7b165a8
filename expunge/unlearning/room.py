"""Where records may join: no fixed partition, and no more than a fixed normaliser divides by."""

from expunge.errors import NoCertificate
from expunge.unlearning.roster import Roster
from expunge.unlearning.schemes import FullBatch, PoissonBatch, Scheme

__all__ = ["check_fixed_room", "check_room"]


def check_room(scheme: Scheme, roster: Roster) -> None:
    """Refuse records that have joined where the scheme does not cover them; by counts alone.

    Raises:
        NoCertificate: the scheme is not known to cover them, or divides by fewer than are there.
    """
    if type(scheme) not in (FullBatch, PoissonBatch):
        raise NoCertificate(
            f"scheme: {type(scheme).__name__} is a partition of the records at fit; records join "
            "FullBatch() and PoissonBatch(rate) only, or fit again"
        )
    if scheme.normaliser == "fixed":
        check_fixed_room(roster, type(scheme).__name__, "FullBatch()")


def check_fixed_room(roster: Roster, divides: str, instead: str) -> None:
    """Refuse more records than there were at fit where losses are divided by that many.

    Args:
        divides: What divides by them, and what to take `instead`; for the message.

    Raises:
        NoCertificate: there are more.
    """
    if roster.retained > roster.at_fit:
        raise NoCertificate(
            f"{roster.retained} records would be there, and {divides} divides by the "
            f"{roster.at_fit} at fit; take {instead}, or fit again"
        )
