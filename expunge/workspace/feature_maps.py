"""`fit --features`: what becomes of the encoded columns before the model learns from them.

    linear    nothing
    trees     leaves of boosted trees, grown on the public records (`features.TreeLeaves`)
    text      nothing more: words of text columns are hashed by a rule of the encoding

Every map is fitted on public records alone and lies with the encoding in the ledger, so that
whatever encodes a table, `predict`, `evaluate` or `forget`, goes through it too.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from expunge.errors import InvalidInput
from expunge.features.public_fitting import fit_halves, fit_steps
from expunge.features.row_blocks import dense
from expunge.features.tree_leaves import TreeLeaves
from expunge.workspace.encoding import Encoding, Number
from expunge.workspace.options import Options

__all__ = ["FEATURES", "Halves", "describe_features", "with_features"]

Public = tuple[np.ndarray, np.ndarray]
Halves = list[Public]
Ranges = Mapping[str, tuple[float, float]]


def with_features(
    encoding: Encoding, public: Public | None, options: Options, ranges: Ranges
) -> tuple[Encoding, Halves]:
    """The encoding with the map that the options name, fitted on encoded public rows and labels.

    Args:
        ranges: Declared ranges of columns, in their own units.

    Returns:
        Beside it the halves of the public records on which settings may be chosen and models
        judged; none where the rows themselves will do.

    Raises:
        InvalidInput: no such map, or it needs public records.
    """
    if options.features not in FEATURES:
        known = ", ".join(FEATURES)
        raise InvalidInput("features", f"{options.features!r} is none of {known}; choose one")
    return FEATURES[options.features](encoding, public, options, ranges)


def describe_features(encoding: Encoding) -> str | None:
    """What was chosen and grown, in words; None where columns are taken as they are."""
    if encoding.steps is None:
        return None
    leaves: TreeLeaves = encoding.steps.steps[0].transformer
    trees, count = len(leaves.leaf_counts_), int(leaves.leaf_counts_.sum())
    weight = leaves.raw_
    if math.isinf(weight):
        return "trees were left out: public records are told better by the columns alone"
    return f"{trees:,} trees of {count:,} leaves, columns of weight {weight:g} beside them"


def _linear(encoding: Encoding, *_others: object) -> tuple[Encoding, Halves]:
    return encoding, []


def _trees(
    encoding: Encoding, public: Public | None, options: Options, ranges: Ranges
) -> tuple[Encoding, Halves]:
    """Leaves of trees grown on the public records."""
    if public is None:
        raise InvalidInput(
            "features",
            "trees are grown on public records, and there are none: give --public FILE, or take "
            "--features linear",
        )
    grown = TreeLeaves(ranges=_encoded_ranges(encoding, ranges) or None, task=options.task)
    frozen = fit_steps([("trees", grown)], public, public[0])
    halves = [(dense(rows), labels) for rows, labels in fit_halves(frozen, public)]
    return replace(encoding, steps=frozen), halves


def _encoded_ranges(encoding: Encoding, ranges: Ranges) -> dict[int, tuple[float, float]]:
    """Ranges of the encoded columns, by their number."""
    found, place = {}, 0
    for name, rule in encoding.rules.items():
        if isinstance(rule, Number) and name in ranges:
            units = rule.scale * math.sqrt(len(encoding.rules))
            low, high = ranges[name]
            found[place] = (low - rule.center) / units, (high - rule.center) / units
        place += rule.width
    return found


FEATURES: dict[str, Callable[..., tuple[Encoding, Halves]]] = {
    "linear": _linear,
    "text": _linear,
    "trees": _trees,
}
