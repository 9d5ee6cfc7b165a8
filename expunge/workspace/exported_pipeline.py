"""The current model as a scikit-learn pipeline from columns to predictions, and as ONNX.

    numbers     missing: the center     (x - center) / scale
    categories  one column for each known text, all 0 for others
    rows        divided by sqrt(columns), scaled down to the model's bound
    model       logistic, softmax or linear

Made from the workspace's rules and the released weights alone: no step is fitted on a record.
"""

import math
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from expunge.core.row_scaler import RowScaler
from expunge.core.rows import bounded_rows
from expunge.errors import InvalidInput, MissingPackage
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.encoding import Category, Encoding, Number

__all__ = ["onnx_bytes", "pipeline_of", "skops_bytes"]

REMEDY = "is not installed: pip install 'expunge[export]'"


def pipeline_of(head: LinearHead, encoding: Encoding) -> Pipeline:
    """Build the pipeline.

    Raises:
        InvalidInput: the model knows one label only, and scikit-learn has no such classifier; or a
            column is words.
    """
    if encoding.sparse:
        raise InvalidInput(
            "format", "hashed words have no place in it yet; take --format safetensors"
        )
    columns = _columns_step(encoding)
    scaler = RowScaler(1 / math.sqrt(len(encoding.rules)), head.loss.row_norm)
    model = _linear_step(head, _order(encoding))
    return Pipeline([("columns", columns), ("rows", scaler), ("model", model)])


def skops_bytes(pipeline: Pipeline) -> bytes:
    """The pipeline as a skops file, which loads without running code.

    Raises:
        MissingPackage: skops is not installed.
    """
    try:
        from skops.io import dumps
    except ImportError as error:
        raise MissingPackage("format", f"skops {REMEDY}") from error
    return dumps(pipeline)


def onnx_bytes(pipeline: Pipeline, encoding: Encoding) -> bytes:
    """The pipeline as an ONNX file: one input for each column, (rows, 1).

    Raises:
        MissingPackage: skl2onnx is not installed.
    """
    try:
        from skl2onnx import convert_sklearn, update_registered_converter
        from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    except ImportError as error:
        raise MissingPackage("format", f"skl2onnx {REMEDY}") from error
    update_registered_converter(
        RowScaler, "ExpungeRowScaler", _scaler_shape, _convert_scaler, overwrite=True
    )
    inputs = [
        (name, (StringTensorType if isinstance(rule, Category) else FloatTensorType)([None, 1]))
        for name, rule in encoding.rules.items()
    ]
    classifies = hasattr(pipeline, "predict_proba")
    options = {id(pipeline.steps[-1][1]): {"zipmap": False}} if classifies else None
    opsets = {"": 17, "ai.onnx.ml": 3}
    converted: Any = convert_sklearn(
        pipeline, "expunge", inputs, options=options, target_opset=opsets
    )
    return converted.SerializeToString()


def _columns_step(encoding: Encoding) -> ColumnTransformer:
    """The step from columns to numbers, with the workspace's rules for what it would have learned.

    It is fitted on one row that says nothing: centers, and the first text of each category.
    """
    rules = list(encoding.rules.values())
    texts = [place for place, rule in enumerate(rules) if isinstance(rule, Category)]
    numbers = [place for place, rule in enumerate(rules) if isinstance(rule, Number)]
    known: Any = [
        np.array(rule.values, dtype=object) for rule in rules if isinstance(rule, Category)
    ]
    scale = Pipeline([("missing", SimpleImputer(strategy="mean")), ("scale", StandardScaler())])
    encode = OneHotEncoder(categories=known, handle_unknown="ignore", sparse_output=False)
    steps = [("numbers", scale, numbers), ("categories", encode, texts)]
    columns: Any = ColumnTransformer([step for step in steps if step[2]], sparse_threshold=0)
    row = [
        rule.values[0] if isinstance(rule, Category) else getattr(rule, "center", 0.0)
        for rule in rules
    ]
    columns.fit(np.array([row], dtype=object))
    names = np.array(list(encoding.rules), dtype=object)
    columns.feature_names_in_ = names
    inner = columns.named_transformers_
    if texts:
        inner["categories"].feature_names_in_ = names[texts]
    if numbers:
        inner["numbers"].named_steps["missing"].feature_names_in_ = names[numbers]
        learned = inner["numbers"].named_steps["scale"]
        scales = [rule.scale for rule in rules if isinstance(rule, Number)]
        learned.scale_, learned.var_ = np.array(scales), np.square(scales)
    return columns


def _order(encoding: Encoding) -> np.ndarray:
    """Where each number after the pipeline's encoding stands in the model's own order."""
    first, places = 0, {}
    for name, width in encoding.widths.items():
        places[name] = range(first, first + width)
        first += width
    texts = set(encoding.categories)
    names = [n for n in places if n not in texts] + [n for n in places if n in texts]
    return np.array([place for name in names for place in places[name]], dtype=int)


def _linear_step(head: LinearHead, order: np.ndarray) -> Any:
    weights = head.theta.numpy()
    width = weights.shape[1] - 1
    bias = float(bounded_rows(np.zeros((1, width), dtype=np.float32), head.loss.row_norm)[0, -1])
    coefficients, intercepts = weights[:, :-1][:, order].copy(), weights[:, -1] * bias
    if head.classes is None:
        model: Any = LinearRegression()
        model.coef_, model.intercept_ = coefficients[0], float(intercepts[0])
    elif len(head.classes) == 1:
        label = str(head.classes[0])
        raise InvalidInput(
            "format", f"the model knows no label but {label!r}; export it with --format safetensors"
        )
    else:
        model = LogisticRegression()
        model.coef_, model.intercept_ = coefficients, intercepts
        model.classes_ = head.classes.copy()
    model.n_features_in_ = width
    return model


def _scaler_shape(operator: Any) -> None:
    from skl2onnx.common.data_types import FloatTensorType

    operator.outputs[0].type = FloatTensorType([None, operator.inputs[0].type.shape[1]])


def _convert_scaler(scope: Any, operator: Any, container: Any) -> None:
    """Write the scaling of rows as ONNX: y = f x * F / max(F, ||f x||)."""
    from skl2onnx.algebra import onnx_ops

    write: Any = onnx_ops  # its classes are made when it loads, out of sight of type checkers
    step, opset = operator.raw_operator, container.target_opset
    width = operator.inputs[0].type.shape[1]
    most = bounded_rows(np.zeros((1, width), dtype=np.float32), step.row_norm)[0, -1:]
    factor = np.array([step.factor], dtype=np.float32)
    rows = write.OnnxMul(operator.inputs[0], factor, op_version=opset)
    norms = write.OnnxReduceL2(rows, axes=[1], keepdims=1, op_version=opset)
    shrunk = write.OnnxDiv(most, write.OnnxMax(norms, most, op_version=opset), op_version=opset)
    result = write.OnnxMul(rows, shrunk, op_version=opset, output_names=operator.outputs[:1])
    result.add_to(scope, container)
