"""The paper's statements about losses after unlearning and retraining, by both readings.

"Relative difference" may compare both models on private test rows (the first reading), or the
unlearned model on private test rows with retraining on the training mixture (the second), which is
the right-hand side of [prop:unlearning_da_risk]. Paper: [tab:unlearning-results].

Pairs are called aligned by measurement; what the paper calls the pair that one stands for is said
beside it, since the two differ.
"""

import math
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any

from experiments.datasets.pairs import INFOGRAPH, QUICKDRAW
from experiments.split_intervals import SplitInterval, mean_interval

__all__ = ["PAPER", "READINGS", "mixed", "named", "relative", "verdicts"]

Row = dict[str, Any]
POINT = 0.01  # of the loss: what counts as little
# What the paper calls each of its pairs, and the sign of every row of its table.
PAPER = {QUICKDRAW: ("aligned", 1), INFOGRAPH: ("misaligned", -1)}


def named(result: Row, pair: str) -> str:
    """The pair, and what the paper calls the one that it stands for."""
    stands = result["stands_for"].get(pair, "")
    if stands not in PAPER:
        return pair
    return (
        f"{pair}, for {stands.removeprefix('DomainNet ')}, which the paper calls {PAPER[stands][0]}"
    )


def relative(row: Row) -> list[float]:
    """Differences as shares of the retrained loss."""
    return [d / r for d, r in zip(row["differences"], row["retrained"], strict=True)]


def mixed(row: Row) -> list[float]:
    """The second reading: over retraining on the training mixture, as shares of its loss."""
    both = zip(row["unlearned"], row["retrained_on_mixture"], strict=True)
    return [unlearned / mixture - 1 for unlearned, mixture in both]


READINGS = {"first": relative, "second": mixed}


def verdicts(result: Row) -> list[dict[str, str]]:
    found: list[tuple[str, str, str]] = []
    pairs = [pair for pair, _ in result["settings"]["pairs"]]
    for variant in result["settings"]["variants"]:
        for first, second in zip(pairs[::2], pairs[1::2], strict=False):
            found.append(_aligned(result, variant, first, second))
        found += _second_reading(result, variant)
    for pair in pairs:
        found += [_sign(result, pair), _volume(result, pair), _penalty(result, pair)]
    found += [_factors(result), _vacuous(result)]
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in found]


def _of(result: Row, pair: str, variant: str | None = None) -> list[Row]:
    variant = variant or result["settings"]["variants"][0]
    return [r for r in result["rows"] if (r["pair"], r["variant"]) == (pair, variant)]


def _each_split(
    rows: list[Row], reading: Callable[[Row], list[float]] | None = None
) -> list[float]:
    """Relative differences, averaged over public volumes: one of each split."""
    read = reading or relative
    return [fmean(values) for values in zip(*(read(row) for row in rows), strict=True)]


def _aligned(result: Row, variant: str, first: str, second: str) -> tuple[str, str, str]:
    """Losses that unlearning adds; a gain is a loss below 0."""
    groups = [_each_split(_of(result, pair, variant)) for pair in (first, second)]
    means = [fmean(one) for one in groups]
    error = math.sqrt(sum(stdev(one) ** 2 / len(one) for one in groups))
    gap = means[0] - means[1]
    sizes = abs(means[0]) - abs(means[1])
    found = (
        f"relative difference {means[0]:+.2%} measured aligned ({named(result, first)}), "
        f"{means[1]:+.2%} measured misaligned ({named(result, second)}); aligned - misaligned "
        f"{gap:+.2%} +- {error:.2%}"
    )
    if abs(gap) < 2.1 * error:
        needed = math.ceil(len(groups[0]) * (2.8 * error / max(abs(gap), 1e-9)) ** 2)
        verdict = f"cannot conclude at this scale: about {needed:,} splits"
    elif gap < 0:
        verdict = "holds" if sizes < 0 else "holds, signed; its gap is the larger in size"
    else:
        verdict = "does not hold"
        if sizes < 0:
            verdict = (
                "does not hold, signed: misaligned gains more; its gap is smaller in size only"
            )
    return f"{variant}: the aligned pair loses less than the misaligned one", found, verdict


def _second_reading(result: Row, variant: str) -> list[tuple[str, str, str]]:
    """Signs and sizes of the paper's own pairs against retraining on the training mixture."""
    rows = {
        stands: _of(result, pair, variant)
        for pair, stands in result["stands_for"].items()
        if stands in PAPER
    }
    if len(rows) < len(PAPER):
        return []
    right = {
        reading: sum(
            PAPER[stands][1] * end > 0
            for stands, some in rows.items()
            for row in some
            for end in (_nearest_to_zero(mean_interval(READINGS[reading](row))),)
        )
        for reading in READINGS
    }
    total = sum(len(some) for some in rows.values())
    seen = "; ".join(
        f"{named(result, some[0]['pair'])}: {_by_volume(some, mixed)}, first reading "
        f"{_by_volume(some, relative)}"
        for some in rows.values()
    )
    signs = f"signs as in the paper's table: {right['second']} of {total} rows, first reading "
    verdict = f"holds only in part: {right['second']} of {total} rows"
    if right["second"] in (0, total):
        verdict = "holds" if right["second"] else "does not hold"
    return [
        (
            f"{variant}, second reading: the signs of its table",
            f"{signs}{right['first']}; {seen}",
            verdict,
        ),
        _sizes(rows, variant),
    ]


def _sizes(rows: dict[str, list[Row]], variant: str) -> tuple[str, str, str]:
    """The gap of the pair that the paper calls aligned beside the other's, by absolute size."""
    sizes = {
        PAPER[stands][0]: mean_interval([abs(value) for value in _each_split(some, mixed)])
        for stands, some in rows.items()
    }
    apart = sizes["aligned"].high < sizes["misaligned"].low
    meets = not apart and sizes["misaligned"].high >= sizes["aligned"].low
    return (
        f"{variant}, second reading: the gap of the pair that the paper calls aligned is smaller",
        f"by size, over all volumes: {_percent(sizes['aligned'])} for the one it calls aligned, "
        f"{_percent(sizes['misaligned'])} for the other",
        "holds" if apart else "cannot conclude: the intervals meet" if meets else "does not hold",
    )


def _nearest_to_zero(interval: SplitInterval) -> float:
    """The end of an interval that lies nearest to 0, or 0 inside it."""
    if interval.low <= 0 <= interval.high:
        return 0.0
    return interval.low if interval.low > 0 else interval.high


def _by_volume(rows: list[Row], reading: Callable[[Row], list[float]]) -> str:
    return ", ".join(f"{fmean(reading(row)):+.2%}" for row in rows)


def _sign(result: Row, pair: str) -> tuple[str, str, str]:
    shares = _each_split(_of(result, pair))
    found = mean_interval(shares)
    verdict = _more(found, len(shares))
    if found.high < 0:
        verdict = "does not hold: the unlearned models are better"
    elif found.low > 0:
        verdict = "holds"
    return f"{pair}: unlearned models are worse than retrained ones", _percent(found), verdict


def _volume(result: Row, pair: str) -> tuple[str, str, str]:
    rows = _of(result, pair)
    told = ", ".join(f"{row['public']:,}: {fmean(relative(row)):+.2%}" for row in rows)
    change = mean_interval(
        [b - a for a, b in zip(relative(rows[0]), relative(rows[-1]), strict=True)]
    )
    most = max(-change.low, change.high)
    verdict = "does not hold: it changes with the volume"
    if most < POINT:
        verdict = f"holds: by at most {most:.2%} of the loss"
    elif change.low <= 0 <= change.high:
        verdict = _more(change, len(rows[0]["retrained"]))
    return (
        f"{pair}: the gap depends little on public volume",
        f"by public rows {told}; last - first {_percent(change)}",
        verdict,
    )


def _penalty(result: Row, pair: str) -> tuple[str, str, str]:
    """What more public data does to the retrained models themselves."""
    rows = _of(result, pair)
    change = mean_interval(
        [b / a - 1 for a, b in zip(rows[0]["retrained"], rows[-1]["retrained"], strict=True)]
    )
    verdict = _more(change, len(rows[0]["retrained"]))
    if change.low > 0:
        verdict = "holds: retrained models lose with more public data"
    elif change.high < 0:
        verdict = "does not hold: retrained models gain with more public data"
    return (
        f"{pair} ({rows[0]['alignment']}): the mismatch penalty grows with public volume",
        f"private test loss after retraining, {rows[-1]['public']:,} over {rows[0]['public']:,} "
        f"public rows: {_percent(change)}",
        verdict,
    )


def _factors(result: Row) -> tuple[str, str, str]:
    told = []
    for row in result["bounds"]:
        if row["public"] == max(r["public"] for r in result["bounds"] if r["pair"] == row["pair"]):
            risk = row["predicted"]
            paper = "infinite" if risk["paper"] is None else f"{_factor(risk, 'paper'):.3g}"
            told.append(f"{row['pair']} {paper} / {_factor(risk, 'exact'):.3g}")
    return (
        "Misalignment makes the bound vacuous through its exponential factor",
        f"paper's / exact factor with the most public data: {', '.join(told)}",
        "does not hold: the exact factor is at most (n_pub + n_retained)/n_retained (E28)",
    )


def _vacuous(result: Row) -> tuple[str, str, str]:
    rows = result["bounds"]
    covers = all(row["predicted"]["exact"] >= row["measured"] for row in rows)
    useful = sum(row["certified"]["exact"] < row["at_zero"] for row in rows)
    told = [row["predicted"]["approximation"] for row in rows]
    return (
        "The bound holds, and says something",
        f"above the measured loss at {'all' if covers else 'NOT ALL'} {len(rows)} points; its "
        f"approximation term alone is {min(told):.3g} to {max(told):.3g} at the predicted D_2, "
        f"where the loss of a zero head is {rows[0]['at_zero']:.3g}; below that of a zero head at "
        f"{useful} points",
        "holds; vacuous at every point" if covers and not useful else "holds" if covers else
        "DOES NOT HOLD",
    )  # fmt: skip


def _factor(risk: Row, name: str) -> float:
    return (risk[name] - risk["approximation"]) / risk["retrained"]


def _more(found: SplitInterval, splits: int) -> str:
    reach = (found.high - found.low) / 2
    needed = math.ceil(splits * (reach / max(abs(found.value), 1e-9)) ** 2)
    return f"cannot conclude at this scale: about {needed:,} splits could"


def _percent(found: SplitInterval) -> str:
    return f"{found.value:+.2%} [{found.low:+.2%}, {found.high:+.2%}]"
