"""Exported predictors: the workspace's own predictions, from the same columns."""

import importlib
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pytest
from skops import io as skops

from expunge.errors import InvalidInput, MissingPackage
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.exported_pipeline import onnx_bytes, pipeline_of, skops_bytes
from tests.workspace.tables_made import people

torch = importlib.import_module("torch")
RULES = {
    "colour": Category(("blue", "green", "red")),
    "age": Number(40.0, 10.0),
    "town": Category(("x", "é")),
    "member": Number(0.5, 0.25),
}
LABELS = {
    "two texts": np.array(["no", "yes"]),
    "two numbers": np.array([3, 7]),
    "three texts": np.array(["a", "b", "c"]),
    "numbers": None,
}


def head_of(labels, width=8, row_norm=1.5):
    from expunge.losses import Logistic, Softmax, Squared

    classes, rng = LABELS[labels], np.random.default_rng(len(labels))
    count = 0 if classes is None else len(classes)
    loss = (
        Squared(0.1, row_norm)
        if classes is None
        else Logistic(0.1, row_norm)
        if count == 2
        else Softmax(count, 0.1, row_norm)
    )
    theta = torch.from_numpy(rng.normal(size=(loss.outputs, width)) * 3)
    return LinearHead(theta, loss, classes)


def table():
    columns = people(60, seed=4)
    columns["town"] = ["é", "x", "y"] * 20
    columns["member"] = [float(one) for one in columns["member"]]
    columns["colour"][0] = "mauve"
    return {name: columns[name] for name in RULES}


def expected(head):
    rows = Encoding(RULES).encode("table", pa.table(table()))
    return head.predict(rows), None if head.classes is None else head.probabilities(rows)


@pytest.mark.parametrize("labels", LABELS)
def test_the_pipeline_predicts_what_the_workspace_does(labels):
    head = head_of(labels)
    model = skops.loads(
        skops_bytes(pipeline_of(head, Encoding(RULES))),
        trusted=["expunge.core.row_scaler.RowScaler", "numpy.dtype"],
    )
    said, shares = expected(head)
    frame = pd.DataFrame(table())
    if shares is None:
        np.testing.assert_allclose(model.predict(frame), said, rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(model.predict(frame), said)
        np.testing.assert_allclose(model.predict_proba(frame), shares, rtol=1e-12)


@pytest.mark.parametrize("labels", LABELS)
def test_onnx_predicts_what_the_workspace_does(labels):
    head, encoding = head_of(labels), Encoding(RULES)
    session = onnxruntime.InferenceSession(onnx_bytes(pipeline_of(head, encoding), encoding))
    said, shares = expected(head)
    found = session.run(None, feed(table()))
    if shares is None:  # float32 there
        np.testing.assert_allclose(found[0][:, 0], said, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_allclose(found[1], shares, atol=1e-5)
        sure = np.sort(shares, axis=1)
        clear = sure[:, -1] - sure[:, -2] > 1e-4
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(found[0][clear], said[clear])


def feed(columns):
    """One input for each column, (rows, 1)."""
    return {
        name: np.array(["" if v is None else v for v in values])[:, None]
        if isinstance(RULES[name], Category)
        else np.array([np.nan if v is None else v for v in values], dtype=np.float32)[:, None]
        for name, values in columns.items()
    }


@pytest.mark.parametrize("only", ["numbers", "texts"])
def test_columns_of_one_kind_are_enough(only):
    kind = Number if only == "numbers" else Category
    encoding = Encoding({name: rule for name, rule in RULES.items() if isinstance(rule, kind)})
    head = head_of("two texts", width=encoding.width + 1)
    columns = {name: table()[name] for name in encoding.rules}
    want = head.probabilities(encoding.encode("table", pa.table(columns)))
    model = pipeline_of(head, encoding)
    np.testing.assert_allclose(model.predict_proba(pd.DataFrame(columns)), want, rtol=1e-12)
    session = onnxruntime.InferenceSession(onnx_bytes(model, encoding))
    np.testing.assert_allclose(session.run(None, feed(columns))[1], want, atol=1e-5)


def test_a_pipeline_with_the_weights_in_another_order_would_be_noticed():
    """The planted fault: numbers first, as in the pipeline, with the weights as given."""
    head = head_of("two texts")
    turned = sorted(RULES.items(), key=lambda rule: isinstance(rule[1], Category))
    frame = pd.DataFrame(table())[[name for name, _ in turned]]
    found = pipeline_of(head, Encoding(dict(turned))).predict_proba(frame)
    assert not np.allclose(found, expected(head)[1], atol=1e-3)


def test_a_model_of_one_label_has_no_such_form():
    head = head_of("two texts")
    with pytest.raises(InvalidInput, match="knows no label but 'a'"):
        pipeline_of(LinearHead(head.theta, head.loss, np.array(["a"])), Encoding(RULES))


@pytest.mark.parametrize(("package", "call"), [("skops.io", "skops"), ("skl2onnx", "onnx")])
def test_a_package_that_is_not_installed_is_named_with_the_command(monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    pipeline = pipeline_of(head_of("two texts"), Encoding(RULES))
    name = package.partition(".")[0]
    with pytest.raises(MissingPackage, match=rf"{name} is not installed: pip install") as missing:
        skops_bytes(pipeline) if call == "skops" else onnx_bytes(pipeline, Encoding(RULES))
    assert "expunge[export]" in str(missing.value)
