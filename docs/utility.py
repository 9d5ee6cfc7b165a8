"""Rows about Table 1 and Theorem 4.1: what unlearned models lose, and what bounds that."""

from collections.abc import Iterator
from statistics import fmean

from docs.committed import Claim, need, rows_of_verdicts

__all__ = ["utility"]

TABLE_1 = {
    "Quickdraw / Clipart": ((10_000, 3.102, 2.976), (30_000, 3.102, 2.965), (40_000, 3.099, 2.989)),
    "Infograph / Real": ((10_000, 2.233, 2.495), (30_000, 2.238, 2.496), (40_000, 2.233, 2.504)),
}
SMALLER = "second reading: the gap of the pair that the paper calls aligned is smaller"


def utility() -> Iterator[Claim]:
    for pair, rows in TABLE_1.items():
        losses = "; ".join(f"{u:.3f} / {r:.3f}" for _, u, r in rows)
        signed = ", ".join(f"{100 * (u - r) / r:+.1f} %" for _, u, r in rows)
        yield Claim(
            "Table 1",
            f"{pair}: loss unlearned / retrained, 10k, 30k, 40k public",
            losses,
            f"its own table, signed: {signed}",
            "-",
            "the unlearned model is better ([E37](errata.md))" if "-" in signed else "worse",
        )
    yield from rows_of_verdicts(
        "alignment_utility",
        "Table 1",
        {
            "norm 10: the aligned pair loses less than the misaligned one": "-10.5 %, +4.2 %",
            "norm 40: the aligned pair loses less than the misaligned one": "-10.5 %, +4.2 %",
            "norm 10, second reading: the signs of its table": "+4.2 %, -10.5 %, signed",
            "norm 40, second reading: the signs of its table": "+4.2 %, -10.5 %, signed",
            **{f"norm {norm}, {SMALLER}": "4.2 %, 10.5 %" for norm in (10, 40)},
            "unlearned models are worse than retrained ones": "+4.2 %, -10.5 %",
            "the gap depends little on public volume": "a point at most",
        },
    )
    yield from _mismatch()


def _mismatch() -> Iterator[Claim]:
    """Theorem 4.1: its bound is valid and says nothing, aligned or not."""
    yield from rows_of_verdicts(
        "alignment_utility",
        "Section 5.2",
        {"the mismatch penalty grows with public volume": "stated"},
    )
    yield _aligned()
    yield from rows_of_verdicts(
        "alignment_utility",
        "Theorem 4.1",
        {
            "Misalignment makes the bound vacuous through its exponential factor": "exp(w D_inf)",
            "The bound holds, and says something": "stated",
        },
    )


def _aligned() -> Claim:
    """Unlearned models on private rows against retraining on the mixture, by measured alignment."""
    found = need("alignment_utility")
    variant = found["settings"]["variants"][0]
    gaps: dict[str, list[float]] = {}
    for row in found["rows"]:
        if (row["alignment"], row["variant"]) == ("aligned", variant):
            gap = fmean(row["unlearned"]) / fmean(row["retrained_on_mixture"]) - 1
            gaps.setdefault(row["pair"], []).append(gap)
    told = ", ".join(f"{pair} {min(of):+.2%} to {max(of):+.2%}" for pair, of in gaps.items())
    worse = sum(max(of) > 0 for of in gaps.values())
    terms = [
        row["predicted"]["approximation"]
        for row in found["bounds"]
        if row["alignment"] == "aligned"
    ]
    return Claim(
        "Theorem 4.1",
        "aligned: unlearned models are at least as good on private data as retraining on the "
        "mixture",
        "guaranteed",
        f"rows of {variant}, loss over that of retraining: {told}",
        "yes" if worse == 0 else "in part" if worse < len(gaps) else "**no**",
        f"no guarantee: the bound adds its approximation term, {min(terms):.3g} to "
        f"{max(terms):.3g} at the predicted D_2",
    )
