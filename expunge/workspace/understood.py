"""What `fit` understood of the tables: columns, settings and where each came from, odd columns.

Everything here comes from public records and declarations alone, so that it may be shown to anybody
who may see the public table; of private records it says nothing.

The accuracy is that of public-only models, each on a fifth of the public records which it has not
seen: what the public records are worth without any private one. It is no estimate for the model
itself; `evaluate` scores that on rows of yours.
"""

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from expunge.core.rows import bounded_rows, largest_unscaled, row_norms
from expunge.errors import NotConverged
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.unlearning.linear.public_model import public_model
from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.feature_maps import describe_features
from expunge.workspace.options import Options
from expunge.workspace.tables import compute, is_text
from expunge.workspace.text_columns import Words

__all__ = ["describe_fit"]

FOLDS = 5
MOST_ROWS = 20_000  # of the public records, evenly spaced, that folds are made of
FEWEST_ROWS = 20  # below that neither folds nor suspicions mean much
UNIQUE = 0.5  # of the texts are different: more of an id than a category
DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")


def describe_fit(
    fitted: LinearFitted,
    options: Options,
    encoding: Encoding,
    declared: set[str],
    public: tuple[pa.Table, np.ndarray, np.ndarray] | None,
    apart: tuple[np.ndarray, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Describe what was understood, as a document.

    Args:
        declared: Columns whose rules the user gave.
        public: The table, its encoded rows and its labels.
        apart: Rows and labels of those public records that features were not grown on, in place of
            all where others flatter.
    """
    head = fitted.head
    scored = apart if apart is not None or public is None else public[1:]
    return {
        "columns": [
            {
                "name": name,
                **_becomes(rule),
                "from": "declared" if name in declared else "public records",
            }
            for name, rule in encoding.rules.items()
        ],
        "dropped": list(options.drop),
        "width": encoding.width,
        "labels": _labels(head, options),
        "settings": _settings(fitted, options, encoding),
        "rows_scaled_down": None if public is None else _scaled_down(public[1], head),
        "public_folds": None if scored is None else _folds(head, *scored),
        "suspicious": [] if public is None else _suspicious(public[0], encoding, declared),
    }


def _becomes(rule: Number | Category | Words) -> dict[str, Any]:
    if isinstance(rule, Words):
        return {"becomes": "words", "width": rule.places, "together": rule.together}
    if isinstance(rule, Category):
        return {"becomes": "categories", "categories": len(rule.values)}
    return {"becomes": "number", "center": rule.center, "scale": rule.scale}


def _labels(head: LinearHead, options: Options) -> dict[str, Any] | None:
    if head.classes is None:
        return None
    named = options.classes is not None
    return {"count": len(head.classes), "from": "--classes" if named else "public records"}


def _settings(fitted: LinearFitted, options: Options, encoding: Encoding) -> list[dict[str, Any]]:
    """The settings of the model as they were resolved, and where each came from."""
    loss, target = fitted.head.loss, fitted.job.target
    small = "1e-5 or 1/(10 n), whichever is less"
    bound = "public records" if fitted.job.roster.public else "the default without public records"
    resolved: list[tuple[str, Any, Any, str]] = [
        ("epsilon", target.level, options.epsilon, ""),
        ("delta", getattr(target, "delta", None), options.delta, small),
        ("strategy", fitted.strategy.name, options.strategy, ""),
        ("l2", loss.l2, options.l2, ""),
        ("row_norm", loss.row_norm, options.row_norm, bound),
    ]
    if options.task == "regression":
        largest = "the largest public |label|"
        resolved.append(
            ("target_norm", getattr(loss, "target_norm", None), options.target_norm, largest)
        )
    capacity, features = getattr(fitted.strategy, "capacity", None), describe_features(encoding)
    if capacity is not None:
        resolved.append(("capacity", capacity, options.capacity, "the default of the strategy"))
    if features is not None:
        resolved.append(("features", features, options.features, ""))
    return [
        {"name": name, "value": value, "from": _origin(name, given, otherwise)}
        for name, value, given, otherwise in resolved
    ]


def _origin(name: str, given: Any, otherwise: str) -> str:
    if given is None:
        return otherwise
    if given == "public":
        return "public records"
    if given == "auto":
        return "the cheapest that is sound for the observer"
    return f"--{name.replace('_', '-')}, or its default"


def _scaled_down(rows: Any, head: LinearHead) -> dict[str, int]:
    """How many public rows are longer than the bound."""
    if sparse.issparse(rows):
        longer = row_norms(rows) > largest_unscaled(head.loss.row_norm)
        return {"public": int(longer.sum()), "of": rows.shape[0]}
    kept = bounded_rows(rows, head.loss.row_norm)[:, :-1]
    changed = int((kept != rows.astype(kept.dtype)).any(axis=1).sum())
    return {"public": changed, "of": len(rows)}


def _folds(head: LinearHead, rows: Any, labels: np.ndarray) -> dict[str, Any] | None:
    """Public-only models scored on public records that they have not seen; None for too few."""
    step = max(1, len(labels) // MOST_ROWS)
    rows, labels = rows[::step], labels[::step]
    count = len(labels)
    if count < FEWEST_ROWS:
        return None
    said, fold = np.empty(count, dtype=object), np.arange(count) % FOLDS
    try:
        for left_out in range(FOLDS):
            seen = fold != left_out
            said[~seen] = public_model(head, rows[seen], labels[seen]).predict(rows[~seen])
    except (ValueError, ArithmeticError, NotConverged):
        return None
    if head.classes is None:
        spread = float(np.sum((labels - labels.mean()) ** 2))
        errors = float(np.sum((said.astype(float) - labels) ** 2))
        return {"rows": count, "r2": 1 - errors / spread if spread else None, "majority": 0.0}
    most = Counter(labels.tolist()).most_common(1)[0][1]
    right = float(np.mean([one == other for one, other in zip(said, labels, strict=True)]))
    return {"rows": count, "accuracy": right, "majority": most / len(labels)}


def _suspicious(table: pa.Table, encoding: Encoding, declared: set[str]) -> list[dict[str, str]]:
    """Public columns that are probably not what they were taken for, with the flag that helps."""
    found = []
    for name, rule in encoding.rules.items():
        if name in declared or table.num_rows < FEWEST_ROWS:
            continue
        drop = f"--drop {json.dumps(name)}"
        column = table[name]
        if isinstance(rule, Category) and is_text(column.type):
            texts = compute.drop_null(column.cast(pa.string()))
            dates = sum(1 for value in rule.values if DATE.fullmatch(value))
            if dates > len(rule.values) / 2:
                problem = "looks like dates, and each becomes a category"
                found.append((name, problem, drop))
            elif len(rule.values) > UNIQUE * len(texts):
                problem = f"{len(rule.values):,} different texts in {len(texts):,} public rows"
                found.append((name, problem, drop))
        elif isinstance(rule, Number) and compute.count_distinct(column).as_py() == 1:
            found.append((name, "the same number in every public row", drop))
    return [{"column": c, "problem": p, "remedy": r} for c, p, r in found]
