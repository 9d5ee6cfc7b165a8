"""More public data alone, by the number of retained rows: size decides the verdict.

Paper: [fig:renyi_estimation]. D_2 with as many public rows as retained private ones over D_2 with
none, K = 1, random forget sets, rows of norm 10. The gap between a random forget set's mean
gradient and the retained one's is sampling noise and falls like 1/n; the gap between domains does
not. With V the variance of a row's gradient (summed over coordinates) and m its mean, both at the
start,

    D_2 ~ (n_f/n)^2 (V/n_f + (n_r V + n_pub V_pub)/(n_r + n_pub)^2 + w^2 |m - m_pub|^2)

with w = n_pub/(n_r + n_pub): two moments of each side, no model. Its ratio stands beside the
measured one, and beyond the rows that there are it is an extrapolation, marked as such.
"""

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from experiments.head_closeness import predictions
from experiments.head_problems import BASE, Rows, rows_of, series
from experiments.parts import Parts, begins_no_part
from experiments.retained_rows.settings import Settings
from experiments.split_intervals import ratio
from experiments.tables import select

__all__ = ["Moments", "formula", "run", "verdicts"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
FEW = 2  # splits of a run too short to be kept in parts
CLOSE = 0.1  # of the measured ratio: what counts as agreement of the formula
VOLUMES = (0.0, 1.0)  # public rows for each retained one
Row = dict[str, Any]


@dataclass(frozen=True)
class Moments:
    """Two moments of the gradients at the start: variances of both sides, and their gap."""

    private_variance: float
    public_variance: float
    squared_gap: float


def run(settings: Settings) -> Row:
    parts = Parts(
        UNFINISHED if settings.splits > FEW else None,
        json.dumps(asdict(settings)),
        Path(__file__).parent,
        begins_no_part(),
    )
    rows: list[Row] = []
    for pair, sizes in settings.pairs:
        for retained in sizes:
            points = series(retained, VOLUMES)
            made = partial(predictions, settings, pair, "size", "base", BASE, points)
            rows += parts.rows(f"{pair.replace('/', '-')} {retained}", made)
    parts.done()
    result = {
        "settings": asdict(settings),
        "device": parts.device,
        "seconds": parts.seconds,
        "missing": parts.missing,
        "norm": BASE.norm,
        "moments": {pair: asdict(moments(pair)) for pair, _ in settings.pairs},
        "available": {
            pair: [len(side.targets) for side in rows_of(pair)] for pair, _ in settings.pairs
        },
        "rows": rows,
    }
    return result | {"verdicts": verdicts(result)}


def moments(pair: str) -> Moments:
    """The moments of a pair at zero weights, rows of norm 1; a common factor does not matter."""
    public, private, _ = rows_of(pair)
    classes = int(private.targets.max()) + 1
    (there, spread_there), (here, spread_here) = (_of(side, classes) for side in (public, private))
    return Moments(spread_here, spread_there, float((here - there).square().sum()))


def _of(rows: Rows, classes: int) -> tuple[torch.Tensor, float]:
    """The mean gradient of a row, and the sum of the variances of its coordinates."""
    residual = torch.full((len(rows.targets), classes), 1 / classes, dtype=torch.float64)
    residual[torch.arange(len(residual)), rows.targets] -= 1
    features = rows.features.double()
    mean = residual.T @ features / len(features)
    squared = (residual.square().sum(1) * features.square().sum(1)).mean()
    return mean, float(squared - mean.square().sum())


def formula(found: Moments, retained: int, public: int, forget: int) -> float:
    """The formula's D_2, up to a factor that counts do not change."""
    kept, total = retained + public, retained + public + forget
    noise = found.private_variance / forget + (
        (retained * found.private_variance + public * found.public_variance) / kept**2
    )
    gap = (public / kept) ** 2 * found.squared_gap
    return (forget / total) ** 2 * (noise + gap)


def told_ratio(result: Row, pair: str, retained: int) -> float:
    """The formula's ratio of as many public rows as retained ones to none."""
    found = Moments(**result["moments"][pair])
    none, same = (
        formula(found, point.retained, point.public, point.forget)
        for point in series(retained, VOLUMES)
    )
    return same / none


def measured(result: Row, pair: str) -> list[tuple[int, Any, float]]:
    """Retained rows, the ratio over splits and the formula's, for each size."""
    lines = []
    for retained in sorted({row["retained"] for row in result["rows"] if row["pair"] == pair}):
        none, same = select(result["rows"], pair=pair, retained=retained)
        seen = ratio(same["values"], none["values"])
        lines.append((retained, seen, told_ratio(result, pair, retained)))
    return lines


def verdicts(result: Row) -> list[dict[str, str]]:
    """By pair: whether public data alone lowers D_2 at each size, and the formula's word."""
    statements = []
    for pair, _ in result["settings"]["pairs"]:
        statements += [_sized(result, pair), _formula(result, pair), _extrapolated(result, pair)]
    if missing := result.get("missing"):
        told = f"not there yet: {', '.join(missing)}"
        statements.append(("Larger sizes", told, "not finished: run the same command again"))
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in statements]


def _sized(result: Row, pair: str) -> tuple[str, str, str]:
    lines = measured(result, pair)
    falls = [retained for retained, seen, _ in lines if seen.high < 1]
    rises = [retained for retained, seen, _ in lines if seen.low > 1]
    verdict = "cannot conclude at any size"
    if len(falls) == len(lines):
        verdict = f"holds only when rows are few: at every size run, up to {max(falls):,}"
    elif falls:
        verdict = f"holds only when rows are few: up to {max(falls):,}"
        verdict += f"; D_2 rises from {min(rises):,} on" if rises else "; undecided beyond"
    elif rises:
        verdict = "does not hold: D_2 rises at every size"
    told = "; ".join(f"{retained:,}: {seen}" for retained, seen, _ in lines)
    return (
        f"{pair}, rows of norm {result['norm']:g}: as many public rows as retained ones lower D_2",
        f"K = 1, over none, by private rows retained: {told}",
        verdict,
    )


def _formula(result: Row, pair: str) -> tuple[str, str, str]:
    lines = measured(result, pair)
    away = [told / seen.value - 1 for _, seen, told in lines]
    told = ", ".join(f"{retained:,}: {told:.3g}" for retained, _, told in lines)
    most = max(abs(one) for one in away)
    return (
        f"{pair}: (ours) two moments of the rows tell the ratio",
        f"{told}; {min(away):+.1%} to {max(away):+.1%} of the measured",
        "holds" if most <= CLOSE else f"holds only within {most:.0%}",
    )


def _extrapolated(result: Row, pair: str) -> tuple[str, str, str]:
    retained = result["settings"]["paper_retained"]
    value = told_ratio(result, pair, retained)
    rises = "rises" if value > 1 else "falls"
    return (
        f"{pair}: (ours, extrapolated) the ratio at the paper's {retained:,} retained rows",
        f"{value:.3g} by the formula, of rows that are not there",
        f"cannot conclude: an extrapolation, by which D_2 {rises} if the rows stay as they are",
    )
