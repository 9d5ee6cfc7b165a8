"""From weights to outputs: how much of D_2 an evaluator sees who may only ask the models.

The paper's future work: "extending analysis from weight distributions to output distributions would
facilitate black-box evaluation". Outputs are scores up to a constant (what probabilities tell) on
some rows: forgotten, retained, or test. By data processing [lemma:dpi] their divergence is at most
that of the weights, so a certificate on weights covers them; how far below it lies, by number and
kind of queries, is what is measured, by Hotelling's estimate on independent models.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor

from experiments.head_closeness import figures
from experiments.head_problems import (
    BASE,
    Point,
    certified_divergence,
    closeness,
    problem,
    rows_of,
    series,
)
from experiments.output_divergence.settings import Settings
from experiments.tables import select
from expunge.divergence.rule import renyi_estimate
from expunge.sampling import Problem, sample_ensemble

__all__ = ["outputs", "run", "verdicts"]

FORGET_SETS = {"random": BASE, "by class": replace(BASE, forget_set="by class")}
ALIKE = 1e-4  # of the largest singular value: what counts as none
FAR = 5.0  # standard errors: one in millions by chance
Row = dict[str, Any]


def run(settings: Settings) -> Row:
    rows = [
        row
        for kind in FORGET_SETS
        for point in series(settings.retained, settings.volumes)
        for row in seen_through(settings, kind, point)
    ]
    result = {"settings": asdict(settings), "norm": BASE.norm, "rows": rows}
    return result | {"verdicts": verdicts(result)}


def seen_through(settings: Settings, kind: str, point: Point) -> Iterator[Row]:
    """D_2 of the outputs on growing numbers of rows of each kind, beside that of the weights."""
    variant, k = FORGET_SETS[kind], settings.unlearn_steps
    heads = problem(settings.pair, point, variant, settings.chain, split=0, seed=settings.seed)
    classes = int(rows_of(settings.pair)[1].targets.max()) + 1
    bound = certified_divergence(variant, point, settings.chain, classes, k)
    weights = closeness(heads, k)["value"]
    sampled = sample_ensemble(heads, unlearn_steps=(k,), models=settings.models, seed=settings.seed)
    laws = [sampled[law, k].weights for law in ("retrained", "unlearned")]
    for name, asked in asked_rows(settings, heads, point).items():
        for count in settings.queries:
            if count > len(asked):
                continue
            of, against = (outputs(law, asked[:count]) for law in laws)
            seen = renyi_estimate(of=of, against=against, method="hotelling")
            assert seen.interval is not None
            yield {
                "forget_set": kind,
                **asdict(point),
                "asked": name,
                "queries": count,
                "value": figures(seen.value),
                "interval": [figures(end) for end in seen.interval],
                "weights": figures(weights),
                "certified": figures(bound),
            }


def asked_rows(settings: Settings, heads: Problem, point: Point) -> dict[str, Tensor]:
    """Rows whose outputs are asked for: forgotten, retained private, and test rows."""
    private, _ = heads.records_of()
    test = rows_of(settings.pair)[2]
    return {
        "forgotten": private.features[: point.forget],
        "retained": private.features[point.forget :],
        "test": BASE.norm * test.features,
    }


def outputs(weights: Tensor, asked: Tensor) -> Tensor:
    """(models, rank * (classes - 1)): scores on the rows, less the last class's.

    In coordinates of the span of the rows, of which scores are a one-to-one function: rows that
    depend on each other tell nothing twice.
    """
    _, sizes, directions = torch.linalg.svd(asked, full_matrices=False)
    basis = directions[sizes > ALIKE * sizes[0]]
    scores = basis @ weights.transpose(1, 2)  # (models, rank, classes)
    return (scores[..., :-1] - scores[..., -1:]).flatten(1)


def verdicts(result: Row) -> list[dict[str, str]]:
    """That outputs tell no more than weights, and how much of it, by kind of query."""
    statements = [_covered(result)]
    statements += [_share(result, kind) for kind in FORGET_SETS]
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in statements]


def _covered(result: Row) -> tuple[str, str, str]:
    rows = result["rows"]
    above = [row for row in rows if row["value"] - FAR * _error(row) > row["weights"]]
    most = max(row["value"] / row["certified"] for row in rows)
    return (
        "a bound on weights covers outputs",
        f"D_2 of outputs is above the weights' by more than {FAR:g} standard errors at "
        f"{len(above)} of {len(rows)} points; the largest is {most:.2g} of the certified one",
        "holds" if not above else f"DOES NOT HOLD at {len(above)} points",
    )


def _error(row: Row) -> float:
    low, high = row["interval"]
    return (high - low) / 2 / 1.96


def _share(result: Row, kind: str) -> tuple[str, str, str]:
    parts = []
    for asked in ("forgotten", "retained", "test"):
        rows = select(result["rows"], forget_set=kind, asked=asked)
        for count in (min(row["queries"] for row in rows), max(row["queries"] for row in rows)):
            shares = [row["value"] / row["weights"] for row in select(rows, queries=count)]
            parts.append((asked, count, min(shares), max(shares)))
    told = "; ".join(
        f"{count} {asked}: {low:.0%} to {high:.0%}" for asked, count, low, high in parts
    )
    single = next(high for asked, count, _, high in parts if asked == "forgotten")
    many = min(low for asked, count, low, _ in parts if count > 1)
    verdict = f"holds: {many:.0%} at least is seen through many queries"
    if many < 0.5:
        verdict = f"holds only when queries are well chosen: {many:.0%} through many of the worst"
    return (
        f"forgotten {kind}, rows of norm {result['norm']:g}: outputs suffice for an evaluation",
        f"share of the weights' D_2, by queries, over public volumes: {told}; one forgotten row "
        f"shows at most {single:.0%}",
        verdict,
    )
