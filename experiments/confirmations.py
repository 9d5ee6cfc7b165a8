"""Whether models confirm what was predicted of them, with every interval that does not."""

from typing import Any

__all__ = ["judge_checks"]

Row = dict[str, Any]


def judge_checks(checks: list[Row]) -> list[tuple[str, str, str]]:
    """Predictions against independent models, and against coupled pairs, on one split each.

    Points with the same counts share their models over K, so their intervals miss together.
    """
    independent = [row for row in checks if row["hotelling"]]
    if not independent:
        return []
    missed = [row for row in independent if not _holds(row, row["hotelling"])]
    told = f"{len(independent) - len(missed)} of {len(independent)} intervals at 95 % hold it"
    if missed:
        told += "; not " + "; ".join(
            f"{_point(row)}: {row['predicted']:.3g} predicted, {_interval(row['hotelling'])} seen"
            for row in missed
        )
    away = max(abs(row["coupled"]["value"] / row["predicted"] - 1) for row in checks)
    outside = sum(not _holds(row, row["coupled"]) for row in checks)
    told += (
        f"; coupled pairs differ from it by at most {away:.1g} of the value, outside their own "
        f"far narrower intervals at {outside} of {len(checks)} points"
    )
    few = len(missed) <= max(1, round(0.1 * len(independent)))
    verdict = "holds" if not missed else "holds but for the intervals named"
    return [
        (
            "(ours) independent models confirm the predictions",
            told,
            verdict if few else "does not hold: too many intervals miss",
        )
    ]


def _holds(row: Row, estimate: Row) -> bool:
    low, high = estimate["interval"]
    return low <= row["predicted"] <= high


def _interval(estimate: Row) -> str:
    return "{:.3g} [{:.3g}, {:.3g}]".format(estimate["value"], *estimate["interval"])


def _point(row: Row) -> str:
    return (
        f"{row['pair']}, {row['public']:,} public, {row['forget']:,} forgotten, "
        f"K = {row['unlearn_steps']}"
    )
