"""D_2 after a single unlearning step against public volume: the ablation of the main figure.

Paper: [fig:renyi_initi_estimation]. The paper's three points and the series with n_forget fixed, at
K = 1 and, for the claim that public data acts through the start and not through unlearning, at the
last K; random forget sets and such of whole classes. Chains, splits and estimators are those of
`renyi_vs_public_data`.
"""

import json
import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch

from experiments.confirmations import judge_checks
from experiments.head_closeness import check, predictions
from experiments.head_problems import paper_points, rows_of, series
from experiments.initial_divergence.settings import VARIANTS, Settings
from experiments.parts import Parts
from experiments.split_intervals import SplitInterval, mean_interval, ratio, splits_needed
from experiments.tables import select

__all__ = ["run", "verdicts"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
FEW = 2  # splits of a run too short to be kept in parts
Row = dict[str, Any]


def run(settings: Settings) -> dict[str, Any]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parts = Parts(
        UNFINISHED if settings.splits > FEW else None,
        json.dumps(asdict(settings)),
        Path(__file__).parent,
    )
    rows: list[Row] = []
    for pair, retained in settings.pairs:
        for name, variant in VARIANTS.items():
            for design, points in (
                ("paper", paper_points(retained)),
                ("series", series(retained, settings.volumes)),
            ):
                made = partial(predictions, settings, pair, design, name, variant, points)
                rows += parts.rows(f"{design} {name} {pair.replace('/', '-')}", made)
    retained, checks = dict(settings.pairs)[settings.checked], []
    points = [*paper_points(retained), *series(retained, settings.volumes)]
    for number, point in enumerate(points):
        ks = settings.unlearn_steps[:1]
        checks += check(parts, str(number), settings, settings.checked, point, ks, device)
    parts.done()
    result = {
        "settings": asdict(settings),
        "device": torch.cuda.get_device_name() if device == "cuda" else "CPU",
        "seconds": parts.seconds,
        "available": {
            pair: [len(one.targets) for one in rows_of(pair)] for pair, _ in settings.pairs
        },
        "rows": rows,
        "checks": checks,
    }
    return result | {"verdicts": verdicts(result)}


def verdicts(result: Row) -> list[dict[str, str]]:
    found = []
    for pair, _ in result["settings"]["pairs"]:
        for name in VARIANTS:
            rows = select(result["rows"], pair=pair, variant=name)
            kind = "forgotten at random" if name == "base" else name
            told = f"{pair}, rows of norm {VARIANTS[name].norm:g}, {kind}"
            found += [_designed(rows, told), _alone(rows, told), _rate(rows, told)]
            found += [_start(rows, told), _close(rows, told)]
    found += judge_checks(result["checks"])
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in found]


def _designed(rows: list[Row], name: str) -> tuple[str, str, str]:
    three = select(rows, design="paper", unlearn_steps=1)
    found = ratio(three[-1]["values"], three[0]["values"])
    alone = select(rows, design="series", unlearn_steps=1)
    half, whole = (_nearest(alone, point["public"]) for point in (three[0], three[-1]))
    public = ratio(whole["values"], half["values"])
    return (
        f"{name}: at K = 1 D_2 falls along the paper's points",
        f"last over first {found}; as much more public data with n_forget fixed: {public}",
        _falls(found, len(three[0]["values"])) + (" in this design" if found.high < 1 else ""),
    )


def _alone(rows: list[Row], name: str) -> tuple[str, str, str]:
    alone = select(rows, design="series", unlearn_steps=1)
    found = [
        (row["public"] / row["retained"], ratio(row["values"], alone[0]["values"]))
        for row in alone[1:]
    ]
    told = "; ".join(f"{volume:.2g}: {one}" for volume, one in found)
    claim = f"{name}: at K = 1 more public data alone reduces D_2"
    size = f"{alone[0]['retained']:,} private rows retained"
    splits = len(alone[0]["values"])
    verdicts = {_falls(one, splits) for _, one in found}
    if len(verdicts) == 1:
        return claim, f"{size}, over none, by n_public/n_retained: {told}", verdicts.pop()
    falls = [volume for volume, one in found if one.high < 1]
    verdict = _falls(found[-1][1], splits)
    if falls:
        verdict = f"holds only when there is much of it: from {min(falls):g} times on"
    return claim, f"{size}, over none, by n_public/n_retained: {told}", verdict


def _rate(rows: list[Row], name: str) -> tuple[str, str, str]:
    """The exponent of n between no public data and the most."""
    alone = select(rows, design="series", unlearn_steps=1)
    first, last = alone[0], alone[-1]
    grown = math.log(_total(last) / _total(first))
    logs = [math.log(a / b) for a, b in zip(last["values"], first["values"], strict=True)]
    found = mean_interval([one / grown for one in logs])
    bound = math.log(last["certified"] / first["certified"]) / grown
    verdict = "holds" if found.low <= -2 <= found.high else "does not hold exactly"
    if found.low > -2:
        verdict = (
            "holds for the bound only: D_2 falls more slowly, since public data also moves the "
        )
        verdict += "retained records' gradient away from the forgotten ones'"
    elif found.high < -2:
        verdict = "holds: D_2 falls faster than its bound"
    return (
        f"{name}: public data reduces the initial gap like 1/n^2",
        f"exponent of n from no public data to {last['public'] / last['retained']:g} times: "
        f"{found}; of the certified bound {bound:.2f}",
        verdict,
    )


def _start(rows: list[Row], name: str) -> tuple[str, str, str]:
    """Whether the effect of public data is there at K = 1, or comes with unlearning."""
    steps = sorted({row["unlearn_steps"] for row in rows})
    ends = {
        k: (alone[0], alone[-1])
        for k in steps
        for alone in [select(rows, design="series", unlearn_steps=k)]
    }
    effects = {k: ratio(most["values"], none["values"]) for k, (none, most) in ends.items()}
    kept = [ratio(ends[steps[-1]][i]["shifts"], ends[steps[0]][i]["shifts"]) for i in (0, 1)]
    share = math.log(effects[steps[0]].value) / math.log(effects[steps[-1]].value)
    return (
        f"{name}: public data acts through the start, not through unlearning",
        f"most over none: {effects[steps[0]]} at K = {steps[0]}, {effects[steps[-1]]} at "
        f"K = {steps[-1]}; means contract by {kept[0]} without and {kept[1]} with it",
        f"holds: {share:.0%} of the effect (in logs) is there at K = {steps[0]}"
        if 0.8 < share < 1.25
        else f"does not hold: {share:.0%} of the effect (in logs) is there at K = {steps[0]}",
    )


def _close(rows: list[Row], name: str) -> tuple[str, str, str]:
    """The certificate beside what it bounds, on every split of every point."""
    over = [row["certified"] / value for row in rows for value in row["values"]]
    return (
        f"{name}: how close the certificate is",
        f"certified D_2 is {min(over):,.0f} to {max(over):,.0f} times the predicted one over "
        f"{len(rows)} points and {len(rows[0]['values'])} splits",
        "holds, far above the truth: it covers the worst records of its class",
    )


def _falls(found: SplitInterval, splits: int) -> str:
    if found.high < 1:
        return "holds"
    if found.low > 1:
        return "does not hold: D_2 rises"
    return f"cannot conclude at this scale: about {splits_needed(found, splits):,} splits could"


def _nearest(rows: list[Row], public: int) -> Row:
    return min(rows, key=lambda row: abs(row["public"] - public))


def _total(row: Row) -> int:
    return row["public"] + row["retained"] + row["forget"]
