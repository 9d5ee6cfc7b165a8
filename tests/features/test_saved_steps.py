"""Steps on disk: they come back as they were, and a file runs nothing that it chose itself."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from expunge.errors import MissingPackage
from expunge.features import DeclaredColumns, TreeLeaves
from expunge.features.public_fitting import fit_steps
from expunge.features.row_blocks import dense
from expunge.features.saved_steps import steps_from, steps_to_bytes
from tests.features.steps import Watched

RNG = np.random.default_rng(0)
ROWS, LABELS = RNG.normal(size=(60, 3)), RNG.integers(0, 2, 60)
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"]).assign(town=list("xyz") * 20)
TEXTS = ["one two three", "two three", "three four one"] * 20
ENCODED = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
    (OneHotEncoder(handle_unknown="ignore"), ["town"]),
    (TreeLeaves(trees=2, ranges={0: (-4, 4)}, random_trees=2), ["c"]),
)
NUMBERS = (
    StandardScaler(), RobustScaler(), QuantileTransformer(n_quantiles=10), PowerTransformer(),
    KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf"), PCA(2),
    RBFSampler(n_components=5), Nystroem(n_components=5), SplineTransformer(), Normalizer(),
    FunctionTransformer(np.tanh), TreeLeaves(trees=3), SimpleImputer(),
    DeclaredColumns(ranges={1: (-3, 3)}),
)  # fmt: skip
OTHERS = (
    (OrdinalEncoder(), FRAME[["town"]]), (TargetEncoder(random_state=0), FRAME[["town"]]),
    (TfidfVectorizer(), TEXTS), (CountVectorizer(), TEXTS),
    (HashingVectorizer(n_features=8), TEXTS), (ENCODED, FRAME),
)  # fmt: skip


@pytest.mark.parametrize(
    ("step", "rows"), [*((step, ROWS) for step in NUMBERS), *OTHERS], ids=lambda x: type(x).__name__
)
def test_every_kind_of_step_comes_back_as_it_was(step, rows):
    frozen = fit_steps([("it", step)], (rows, LABELS), rows)
    back = steps_from(steps_to_bytes(frozen))
    np.testing.assert_array_equal(dense(back.transform(rows)), dense(frozen.transform(rows)))
    assert (back.lines, back.public) == (frozen.lines, frozen.public)
    assert repr(back.steps[0].transformer) == repr(frozen.steps[0].transformer)


def shout(rows):
    return rows


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (FunctionTransformer(shout), "shout"),
        (FunctionTransformer(lambda rows: rows), "lambda"),
        (Watched(), "Watched"),
        (ColumnTransformer([("inside", Watched(), [0])]), "Watched"),
    ],
    ids=["function", "lambda", "class", "nested"],
)
def test_code_of_others_is_refused_by_name_when_it_is_saved(step, said):
    frozen = fit_steps([("mine", step)], (ROWS, LABELS), ROWS)
    with pytest.raises(ValueError, match=f"'mine': holds what cannot be saved.*{said}"):
        steps_to_bytes(frozen)


def test_code_of_others_is_refused_by_name_when_it_is_read():
    content = skops.io.dumps({"format": 1, "steps": [["a", Watched(), "public", []]]})
    with pytest.raises(ValueError, match=r"the file holds .*Watched, which is not trusted"):
        steps_from(content)


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "numpy.testing.runstring"])
def test_a_function_that_could_do_harm_is_not_trusted_whatever_package_it_is_in(name):
    module, _, function = name.rpartition(".")
    given = getattr(__import__(module, fromlist=[function]), function)
    frozen = fit_steps([("f", FunctionTransformer())], (ROWS, LABELS), ROWS)
    frozen.steps[0].transformer.func = given
    with pytest.raises(ValueError, match="holds what cannot be saved"):
        steps_to_bytes(frozen)


@pytest.mark.parametrize(
    "content", [b"", b"no file", pickle.dumps(Normalizer()), skops.io.dumps({"format": 2})]
)
def test_what_is_no_such_file_is_refused_in_one_line(content):
    with pytest.raises(ValueError, match="no file of preprocessing steps") as caught:
        steps_from(content)
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(MissingPackage, match=r"pip install 'expunge\[pipelines\]'"):
        steps_from(b"")


def test_importing_expunge_imports_neither_skops_nor_lightgbm():
    code = (
        "import expunge, expunge.features, sys; from expunge import CertifiedPipeline; "
        "from expunge.features import TreeLeaves, DeclaredColumns; "
        "assert not {'skops', 'lightgbm'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
