"""A model card in Markdown: what the model is for, what is certified, and what is not."""

from typing import Any

from expunge.accounting.certificate import Certificate
from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.feature_maps import describe_features
from expunge.workspace.options import Options
from expunge.workspace.text_columns import Words

__all__ = ["model_card"]

USES = {
    "onnx": """`model.onnx` takes one input for each column, of shape (rows, 1): float32, NaN where
a number is missing, or text, empty where it is missing. Its outputs are the label and the
probabilities, or the value of a regression.""",
    "sklearn": """`model.skops` is a scikit-learn pipeline that takes a DataFrame of these columns:

    import skops.io
    trusted = ["expunge.core.row_scaler.RowScaler", "numpy.dtype"]
    model = skops.io.load("model.skops", trusted=trusted)

It needs the package `expunge` for one step, the bound on rows.""",
    "safetensors": """`model.safetensors` holds the weights `theta`: outputs by columns after
encoding, then the intercept's. `encoding.json` says how a table's columns become numbers, and what
bound rows are scaled down to. With the package `expunge`, whose `read` also checks the certificate:

    from expunge.workspace.handed_out import HandedOut
    HandedOut.read(folder).predict(table)  # a table of pyarrow""",
}
PREDICTS = {"classification": "the label", "regression": "the value"}


def model_card(
    options: Options,
    encoding: Encoding,
    head: dict[str, Any],
    certificate: Certificate | None,
    evaluation: dict[str, Any] | None,
    *,
    format: str,  # noqa: A002
) -> str:
    """Write the card; it names columns, and categories by their number, and no record.

    Args:
        head: Loss and labels, as `LinearHead.document` has them.
        evaluation: On public records.
    """
    what = f"Predicts {PREDICTS[options.task]} `{options.label}`, {options.task}"
    labels = "" if head["labels"] is None else f" of {len(head['labels']['values'])} labels"
    parts = [
        f"# A model that can forget: `{options.label}`",
        f"{what}{labels}, with a linear model ({head['loss']['kind'].lower()}).",
        "## Columns",
        "\n".join(["| column | becomes |", "|---|---|", *_columns(encoding)]),
        "Missing numbers count as the center; texts that are not known count as missing.",
        *_features(encoding),
        "## Use",
        USES[format],
        "## What is certified",
        *_certified(certificate),
        "## How well it does",
        _score(evaluation),
        "## What is not in here",
        "No record and no id: weights, rules that come from public records or declarations, and "
        "the certificate. Nothing is claimed about logs, backups, or models released before.",
    ]
    return "\n\n".join(parts) + "\n"


def _columns(encoding: Encoding) -> list[str]:
    return [f"| `{name}` | {_becomes(rule)} |" for name, rule in encoding.rules.items()]


def _becomes(rule: Number | Category | Words) -> str:
    if isinstance(rule, Words):
        return f"words, up to {rule.together} together, hashed into {rule.places:,} columns"
    if isinstance(rule, Category):
        return f"one column for each of {len(rule.values):,} texts"
    return f"(x - {rule.center:.6g}) / {rule.scale:.6g}"


def _features(encoding: Encoding) -> list[str]:
    """What becomes of the encoded columns before the model sees them."""
    described = describe_features(encoding)
    if described is None:
        return []
    return [
        f"All of it is divided by the root of the number of columns, and then becomes features: "
        f"{described}. They were grown on public records alone. In `encoding.json`, `features` is "
        "a skops file in base64 that holds them, for "
        "`expunge.features.saved_steps.steps_from`."
    ]


def _certified(certificate: Certificate | None) -> list[str]:
    if certificate is None:
        return ["Nothing: no record has been deleted from it yet. **Private records shaped it.**"]
    return [
        *certificate.claim.statement,
        f"Strategy `{certificate.strategy}`, observer `{certificate.observer}`, compared with "
        f"{certificate.comparator}.",
        "`expunge verify certificate.json --model model.safetensors` recomputes the numbers and "
        "holds the weights against the certificate.",
    ]


def _score(evaluation: dict[str, Any] | None) -> str:
    if evaluation is None:
        return "Not known here: there are no public records. Try it on rows of your own."
    shown = (
        f"accuracy {evaluation['accuracy']:.4g}"
        if "accuracy" in evaluation
        else f"root mean square error {evaluation['root_mean_square_error']:.4g}"
    )
    return (
        f"On the {evaluation['records']:,} public records, which it was trained on: {shown}. On "
        "others it will do less well."
    )
