"""The paper's statements about D_2, each with what was found and an interval over splits.

A verdict is `holds`, `holds only when ...`, `does not hold` or `cannot conclude at this scale`.
The paper's fall from its first point to its last is parted between the two counts it changes:

    log D(20k, 2k)/D(10k, 12k) = public's part + n_forget's part

each the mean of its two one-count changes through the corners (20k, 12k) and (10k, 2k). A fall with
K is the product of the contraction of the means, |shift_K|^2/|shift_1|^2, and of the dilution by
noise, the rest; without curvature the latter is (T + 1)/(T + K).
"""

import math
from collections.abc import Sequence
from typing import Any

from experiments.confirmations import judge_checks
from experiments.head_problems import BASE
from experiments.split_intervals import (
    SplitInterval,
    geometric,
    mean_interval,
    ratio,
    splits_needed,
)
from experiments.tables import select

__all__ = ["by_k", "parted", "verdicts"]

Row = dict[str, Any]
Values = list[float]
NEGLIGIBLE = 0.02  # of a fall, in logs
ROWS = f"rows of norm {BASE.norm:g}"
MEANINGFUL = 10.0  # a bound on D_2 above it says nothing that one would act on


def verdicts(result: Row) -> list[dict[str, str]]:
    found: list[tuple[str, str, str]] = []
    for pair, _ in result["settings"]["pairs"]:
        found += [_designed(result, pair), _shares(result, pair), _alone(result, pair)]
        found.append(_with_k(result, pair))
    seen = {row["variant"] for row in result["rows"]}
    found += [_factor(result, name) for name in result["settings"]["factors"] if name in seen]
    found += [_bound(result), *judge_checks(result["checks"]), *_discriminator(result)]
    if missing := result.get("missing"):
        told = f"not there yet: {missing[0]} and {len(missing) - 1} other parts"
        found.append(("Everything above", told, "not finished: run the same command again"))
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in found]


def corners(result: Row, pair: str, k: int) -> dict[tuple[int, int], Values]:
    """Values by place (fewest or most public, fewest or most forgotten) of the paper's counts."""
    rows = select(result["rows"], pair=pair, design="grid", unlearn_steps=k)
    publics, forgets = ({row[name] for row in rows} for name in ("public", "forget"))
    ends = [(min(values), max(values)) for values in (publics, forgets)]
    return {
        (i, j): select(rows, public=ends[0][i], forget=ends[1][j])[0]["values"]
        for i in (0, 1)
        for j in (0, 1)
    }


def parted(result: Row, pair: str, k: int) -> dict[str, SplitInterval]:
    """Factors of D_2 from the paper's first point to its last: in all, public's, n_forget's."""
    at = {
        place: [math.log(v) for v in values] for place, values in corners(result, pair, k).items()
    }

    def changed(*moves: tuple[tuple[int, int], tuple[int, int]]) -> SplitInterval:
        logs = []
        for split in range(len(at[0, 0])):
            steps = [at[to][split] - at[of][split] for of, to in moves]
            logs.append(sum(steps) / len(steps))
        found = mean_interval(logs)
        return SplitInterval(*(_exp(x) for x in (found.value, found.low, found.high)))

    return {
        "in all": changed(((0, 1), (1, 0))),
        "public": changed(((0, 1), (1, 1)), ((0, 0), (1, 0))),
        "forget": changed(((0, 1), (0, 0)), ((1, 1), (1, 0))),
    }


def by_k(rows: Sequence[Row]) -> dict[str, SplitInterval]:
    """Last K over first, of one point: in all, contraction of the means, dilution by noise."""
    first, last = (min(rows, key=_k), max(rows, key=_k))
    both = first["values"], last["values"]
    each = [
        [value / shift for value, shift in zip(row["values"], row["shifts"], strict=True)]
        for row in (first, last)
    ]
    return {
        "in all": ratio(both[1], both[0]),
        "means": ratio(last["shifts"], first["shifts"]),
        "noise": ratio(each[1], each[0]),
    }


def _designed(result: Row, pair: str) -> tuple[str, str, str]:
    found = {k: parted(result, pair, k)["in all"] for k in result["settings"]["unlearn_steps"]}
    worst = max(found.values(), key=lambda one: one.high)
    told = "; ".join(f"K = {k}: {one}" for k, one in found.items())
    verdict = "holds, in this design" if worst.high < 1 else _undecided(result, worst)
    return (
        f"{pair}, {ROWS}: D_2 falls along the paper's points",
        f"last over first, {told}",
        verdict,
    )


def _shares(result: Row, pair: str) -> tuple[str, str, str]:
    k = result["settings"]["unlearn_steps"][-1]
    found = parted(result, pair, k)
    share = math.log(found["forget"].value) / math.log(found["in all"].value)
    most = max(abs(math.log(end)) for end in (found["public"].low, found["public"].high))
    part = most / abs(math.log(found["in all"].value))
    verdict = _undecided(result, found["public"])
    if part < NEGLIGIBLE:
        verdict = f"does not hold: public data's part of the fall (in logs) is below {part:.1%}"
    elif found["public"].high < 1:
        verdict = f"holds only in part: n_forget's share of the fall (in logs) is {share:.0%}"
    elif found["public"].low > 1:
        verdict = (
            "does not hold: the fall is the smaller forget set's, public data works against it"
        )
    return (
        f"{pair}, {ROWS}: ... because of public data",
        f"K = {k}: a factor of {found['public']} from public records, {found['forget']} from "
        "forgetting fewer",
        verdict,
    )


def _alone(result: Row, pair: str) -> tuple[str, str, str]:
    k = result["settings"]["unlearn_steps"][-1]
    rows = select(result["rows"], pair=pair, design="series", unlearn_steps=k)
    start, found = rows[0], []
    for row in rows[1:]:
        found.append((row["public"] / row["retained"], ratio(row["values"], start["values"])))
    told = "; ".join(f"{volume:.2g}: {one}" for volume, one in found)
    falls = [volume for volume, one in found if one.high < 1]
    rises = [volume for volume, one in found if one.low > 1]
    if len(falls) == len(found):
        verdict = "holds"
    elif falls and rises:
        verdict = (
            f"holds only when there is much of it: from {min(falls):g} times the retained "
            f"private records on; D_2 rises up to {max(rises):g} times"
        )
    elif falls:
        verdict = f"holds only when there is much of it: from {min(falls):g} times on"
    elif rises:
        verdict = f"does not hold up to {found[-1][0]:g} times: D_2 rises"
    else:
        verdict = _undecided(result, found[-1][1])
    return (
        f"{pair}, {ROWS}: more public data alone (n_forget fixed) reduces D_2",
        f"{start['retained']:,} private rows retained, {start['forget']:,} forgotten, K = {k}, "
        f"over none, by n_public/n_retained: {told}",
        verdict,
    )


def _with_k(result: Row, pair: str) -> tuple[str, str, str]:
    rows = select(result["rows"], pair=pair)
    points = sorted(
        {(r["design"], r["public"], r["forget"]) for r in rows if r["variant"] == "base"}
    )
    found = [
        by_k(select(rows, variant="base", design=design, public=public, forget=forget))
        for design, public, forget in points
    ]
    steps, chain = result["settings"]["unlearn_steps"], result["settings"]["chain"]
    t = chain["learn_steps"]
    ends = {
        name: f"{min(one[name].value for one in found):.3g} to "
        f"{max(one[name].value for one in found):.3g}"
        for name in ("in all", "means", "noise")
    }
    noise = [math.log(one["noise"].value) / math.log(one["in all"].value) for one in found]
    falls = all(one["in all"].high < 1 for one in found)
    share = f"{min(noise):.0%} to {max(noise):.0%}"
    verdict = f"holds, but noise alone does {share} of it (in logs)"
    return (
        f"{pair}, {ROWS}: D_2 falls with unlearning iterations",
        f"K = {steps[-1]} over K = {steps[0]}, {len(found)} points: {ends['in all']}; contraction "
        f"of the means {ends['means']}, dilution by noise {ends['noise']} (without curvature "
        f"{(t + steps[0]) / (t + steps[-1]):.3g})",
        verdict if falls else "does not hold at every point",
    )


def _factor(result: Row, name: str) -> tuple[str, str, str]:
    """From no public data to the most, n_forget fixed; and along the paper's points."""
    k = result["settings"]["unlearn_steps"][-1]
    rows = select(result["rows"], design="factor", variant=name, unlearn_steps=k)
    alone = select(rows, forget=rows[-1]["forget"])
    series = [row for row in alone if row["public"] != rows[1]["public"]] or alone
    none, most = min(series, key=_public), max(series, key=_public)
    ends = (
        f"{none['retained']:,} private rows retained: at K = {k} D_2 = {_mean(none)} with no "
        f"public data, {_mean(most)} with {most['public'] / most['retained']:g} times the retained "
        "rows"
    )
    size = "" if "norm" in name else f", {ROWS}"
    claim = f"{rows[0]['pair']}{size}, {name}: more public data alone reduces D_2"
    if "errors" not in none:
        found = ratio(most["values"], none["values"])
        verdict = "holds" if found.high < 1 else _undecided(result, found)
        return claim, f"{ends}; ratio {found}", verdict
    change = mean_interval([a - b for a, b in zip(most["values"], none["values"], strict=True)])
    if change.high < 0:
        return claim, f"{ends}; change {change}", "holds"
    if change.low > 0:
        return claim, f"{ends}; change {change}", "does not hold: D_2 rises"
    return claim, f"{ends}; change {change}", _models(none, change)


def _models(none: Row, change: SplitInterval) -> str:
    """How many would show the change that was seen, if it is the true one."""
    splits, reach = len(none["errors"]), (change.high - change.low) / 2
    needed = math.ceil(splits * (reach / max(abs(change.value), 1e-12)) ** 2)
    return (
        f"cannot conclude at this scale ({none['models']:,} models of each law on {splits} "
        f"splits): about {needed:,} splits could, {needed * none['models']:,} models of each law"
    )


def _bound(result: Row) -> tuple[str, str, str]:
    rows = [row for row in result["rows"] if row["certified"] and "errors" not in row]
    shares = [max(row["values"]) / row["certified"] for row in rows]
    useful = [row for row in rows if row["certified"] < MEANINGFUL]
    verdict = "holds" if max(shares) <= 1 else "DOES NOT HOLD: a prediction is above the bound"
    if not useful:
        verdict += "; vacuous at every point"
    return (
        "The certified bound lies above D_2 (full batches)",
        f"D_2 is {min(shares):.2g} to {max(shares):.2g} of the bound over {len(rows)} points, all "
        f"splits; the bound itself is below {MEANINGFUL:g} at {len(useful)} of them",
        verdict,
    )


def _discriminator(result: Row) -> list[tuple[str, str, str]]:
    claim = "The discriminator measures D_2"
    rows = [row for row in result["checks"] if row["discriminator"]]
    if not rows:
        return [
            (claim, "needs CUDA: 30,000 steps of five restarts a point", "not run at this scale")
        ]
    held = [row["discriminator"]["held_out"] / row["coupled"]["value"] for row in rows]
    trained = [row["discriminator"]["trained"] / row["coupled"]["value"] for row in rows]
    return [
        (
            claim,
            f"held-out reading over D_2: {min(held):.2g} to {max(held):.2g} on {len(rows)} points; "
            f"on its training samples {min(trained):.2g} to {max(trained):.2g}",
            "holds" if all(0.8 < one < 1.25 for one in held) else "does not hold",
        )
    ]


def _undecided(result: Row, found: SplitInterval) -> str:
    if found.low > 1:
        return "does not hold: D_2 rises"
    needed = splits_needed(found, result["settings"]["splits"])
    return f"cannot conclude at this scale: about {needed:,} splits could"


def _mean(row: Row) -> str:
    return f"{geometric(row['values']).value:.3g}"


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf


def _k(row: Row) -> int:
    return row["unlearn_steps"]


def _public(row: Row) -> int:
    return row["public"]
