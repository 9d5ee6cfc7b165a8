"""What the paper's headline says, and two items of its future work, each with a verdict.

High utility means two things at once: a certified model is within a point of the same descent
without noise, and better than the public records' minimiser, which needs no certificate. A gain or
a loss counts where it exceeds three standard errors of the mean over runs.
"""

from typing import Any

from experiments.tables import select

__all__ = ["verdicts"]

Row = dict[str, Any]
NEAR = 1.0  # points
ERRORS = 3.0


def verdicts(result: Row) -> list[dict[str, str]]:
    """Every statement with what was seen and its verdict, by observer."""
    statements: list[tuple[str, str, str]] = []
    for observer in ("final", "all"):
        statements += [
            _utility(result, observer),
            _against(result, observer, "asymmetric", "symmetric", "higher utility than symmetric"),
            _against(result, observer, "pre-trained", "asymmetric", "pre-training helps"),
            _against(
                result, observer, "public reference", "asymmetric", "a public reference helps"
            ),
        ]
    statements.append(_strategy(result))
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in statements]


def _cells(result: Row, observer: str, arm: str) -> list[Row]:
    return [row for row in result["rows"] if (row["arm"], row.get("observer")) == (arm, observer)]


def plain(result: Row, pair: str, arm: str) -> float:
    """The accuracy of what has neither noise nor an observer."""
    (row,) = select(result["rows"], pair=pair, arm=arm)
    return row["accuracy"]


def _utility(result: Row, observer: str) -> tuple[str, str, str]:
    cells = _cells(result, observer, "asymmetric")
    near = [
        row
        for row in cells
        if row["accuracy"] >= plain(result, row["pair"], "asymmetric, without noise") - NEAR
    ]
    useful = [row for row in near if row["accuracy"] > plain(result, row["pair"], "public only")]
    by_share = "; ".join(
        f"{share:.0%} deleted: {_sizes(select(cells, deletion=share))}"
        for share in result["settings"]["deletions"]
    )
    yardstick = ", ".join(
        f"{pair} {plain(result, pair, 'public only'):.1f}"
        for pair, _ in result["settings"]["pairs"]
    )
    seen = (
        f"within {NEAR:g} point of no noise in {len(near)} of {len(cells)} cells, better than the "
        f"public-only model in {len(useful)} of those; accuracy at epsilon "
        f"{min(result['settings']['epsilons']):g}, {by_share}; public only: {yardstick}"
    )
    verdict = "does not hold: not one cell has both"
    if len(useful) == len(cells):
        verdict = "holds"
    elif useful:
        where = sorted({f"{row['pair']} {row['deletion']:.0%}" for row in useful})
        verdict = f"holds only when little is asked: {', '.join(where)}"
    return f"observer {observer}: mass unlearning with high utility", seen, verdict


def _sizes(cells: list[Row]) -> str:
    least = min(row["epsilon"] for row in cells)
    return ", ".join(f"{row['accuracy']:.1f}" for row in select(cells, epsilon=least))


def _against(result: Row, observer: str, arm: str, other: str, says: str) -> tuple[str, str, str]:
    """One way to learn against another, cell by cell; and how often it beats public data alone."""
    first, second = _cells(result, observer, arm), _cells(result, observer, other)
    gaps = [_gap(a, b) for a, b in zip(first, second, strict=True)]
    gains = sum(gap > error for gap, error in gaps)
    losses = sum(gap < -error for gap, error in gaps)
    beats = sum(
        row["accuracy"] - ERRORS * row["standard_error"] > plain(result, row["pair"], "public only")
        for row in first
    )
    by_kind = "; ".join(
        f"{kind} {min(points):+.1f} to {max(points):+.1f} points"
        for kind in ("aligned", "misaligned")
        if (
            points := [
                g for (g, _), row in zip(gaps, first, strict=True) if row["alignment"] == kind
            ]
        )
    )
    seen = (
        f"{arm} over {other}: {by_kind}; better in {gains}, worse in {losses} of {len(gaps)} "
        f"cells; better than the public-only model in {beats}"
    )
    verdict = f"holds only in part: {gains} of {len(gaps)} cells"
    if gains == len(gaps):
        verdict = "holds"
    elif not gains:
        verdict = "does not hold"
    if not beats:
        verdict += "; the public-only model is as good or better in every cell"
    return f"observer {observer}: {says}", seen, verdict


def _gap(row: Row, other: Row) -> tuple[float, float]:
    """A difference in points, and what it must exceed."""
    error = (row["standard_error"] ** 2 + other["standard_error"] ** 2) ** 0.5
    return row["accuracy"] - other["accuracy"], ERRORS * error


def _strategy(result: Row) -> tuple[str, str, str]:
    """`auto` without any public record, where the observer sees the last model alone."""
    cells = _cells(result, "final", "asymmetric")
    exact = _cells(result, "final", "auto, no public data")
    gaps = [a["accuracy"] - b["accuracy"] for a, b in zip(exact, cells, strict=True)]
    retrained = {
        (row["pair"], row["deletion"]): row["accuracy"]
        for row in _cells(result, "final", "retrain, no public data")
    }
    away = max(abs(row["accuracy"] - retrained[row["pair"], row["deletion"]]) for row in exact)
    verdict = "holds"
    if away < NEAR and min(gaps) > -NEAR:
        verdict = "does not hold: noise at the minimiser costs next to nothing at any share"
    elif max(gaps) > 0:
        verdict = "holds only in part: without public data `auto` is better in some cells"
    return (
        "observer final: symmetric methods become impractical at a constant share",
        f"`auto` (residual) without public data is {min(gaps):+.1f} to {max(gaps):+.1f} points "
        f"from the asymmetric model over {len(gaps)} cells, and within {away:.2f} of retraining",
        verdict,
    )
