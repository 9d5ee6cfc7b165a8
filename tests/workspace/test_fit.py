"""Fitting: what each table may hold, that private records shape no rule, that it is whole."""

import json
from collections import Counter

import numpy as np
import pytest
from safetensors.torch import load_file

from expunge.errors import InvalidInput
from expunge.unlearning import CertifiedClassifier
from expunge.unlearning.linear.estimator import load
from expunge.workspace import encoding, fit_tables
from expunge.workspace.fit import fit
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.predict import predict
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.workspace.killed import killed
from tests.workspace.tables_made import (
    DECLARED,
    files_of,
    fitted,
    ledger_rows,
    private_people,
    public_people,
    read,
    write,
)


def settings(workspace):
    return {name: json.loads(value) for name, value in ledger_rows(workspace)["settings"]}


def stored_rows(workspace):
    """Encoded rows, public first, as the model was trained on them."""
    (chunk,) = (workspace / "secret").glob("*/secret/chunk-*.safetensors")
    return load_file(chunk)["features"].numpy()


def with_column(columns, name, change):
    return columns | {name: [change(row, one) for row, one in enumerate(columns[name])]}


# ---- what a workspace is ------------------------------------------------------------------------


def test_a_workspace_has_its_parts_and_nothing_beside_it(tmp_path):
    workspace = fitted(tmp_path)
    document = status(workspace)
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 0}
    sha256 = document["model"]["sha256"]
    names = set(files_of(workspace))
    assert f"models/{sha256}.safetensors" in names
    assert "records/public.parquet" in names
    kinds = Counter(name.split("/")[0] for name in names)
    # Model, index, document, state and two chunks, of rows and records, are the saved model.
    assert kinds == {"models": 1, "records": 1, "secret": 6}
    assert {path.name for path in tmp_path.iterdir()} == {"private.csv", "public.csv", "workspace"}


def test_the_released_model_is_the_estimators_and_holds_nothing_else(tmp_path):
    workspace = fitted(tmp_path)
    (model,) = (workspace / "models").iterdir()
    (secret,) = (workspace / "secret").iterdir()
    tensors = load_file(model)
    assert list(tensors) == ["theta"]
    np.testing.assert_array_equal(tensors["theta"], load(secret).fitted_.outcome.theta)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".parquet.gz", ".pq"])
def test_tables_of_every_kind_make_the_same_rows(tmp_path, suffix):
    workspace = fitted(tmp_path)
    name = suffix.replace(".pq", ".parquet")
    mine = write(tmp_path / f"private{name}", private_people())
    theirs = write(tmp_path / f"public{name}", public_people())
    mine, theirs = (path.rename(str(path).replace(name, suffix)) for path in (mine, theirs))
    fit(tmp_path / "other", mine, theirs, Options(id="id", label="label"))
    np.testing.assert_array_equal(stored_rows(tmp_path / "other"), stored_rows(workspace))
    assert settings(tmp_path / "other")["encoding"] == settings(workspace)["encoding"]


def test_an_empty_folder_becomes_the_workspace_and_a_full_one_is_left_alone(tmp_path):
    (tmp_path / "workspace").mkdir()
    workspace = fitted(tmp_path)
    before = files_of(workspace)
    with pytest.raises(InvalidInput, match="exists already"):
        fitted(tmp_path)
    assert files_of(workspace) == before
    with pytest.raises(InvalidInput, match="exists already"):
        fit(
            tmp_path / "public.csv",
            tmp_path / "private.csv",
            None,
            Options(id="id", label="label"),
        )


@pytest.mark.parametrize("name", ["what?", "a?b=c", "100%20", "a#b", "%41", "a[1]", "ü '\"*"])
def test_a_workspace_may_have_any_name_and_litter_of_it_is_swept(tmp_path, name):
    fitted(tmp_path)
    stale = tmp_path / f".{name}.fit-999999999"  # no process has such a number
    stale.mkdir()
    tables = tmp_path / "private.csv", tmp_path / "public.csv"
    fit(tmp_path / name, *tables, Options(id="id", label="label"))
    assert {path.name for path in tmp_path.iterdir()} == {
        name,
        "private.csv",
        "public.csv",
        "workspace",
    }
    assert forget(tmp_path / name, ["00003"])["records"]["forgotten"] == 1


def test_the_folder_that_one_is_in_cannot_be_replaced(tmp_path, monkeypatch):
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path / "workspace")
    with pytest.raises(InvalidInput, match="is the folder that you are in"):
        fitted(tmp_path)


def test_folders_on_the_way_are_made(tmp_path):
    fitted(tmp_path)
    deep = tmp_path / "a" / "b"
    fit(deep, tmp_path / "private.csv", tmp_path / "public.csv", Options(id="id", label="label"))
    assert status(deep)["records"]["private"] == 150


# ---- columns ------------------------------------------------------------------------------------


def test_mixed_columns_are_encoded_as_documented(tmp_path):
    workspace = fitted(tmp_path)
    public, private = public_people(), private_people()
    known = np.array([age for age in public["age"] if age is not None])
    rows = stored_rows(workspace)
    head = settings(workspace)["head"]
    assert rows.shape == (270, 1 + 3 + 1 + 1)  # age, three colours, member, the intercept's
    everyone = {name: public[name] + private[name] for name in public}
    members = np.array(everyone["member"], float)
    spread = np.std(public["member"])
    want = np.zeros((270, 5))
    for row, (age, colour) in enumerate(zip(everyone["age"], everyone["colour"], strict=True)):
        want[row, 0] = 0 if age is None else (age - known.mean()) / known.std()
        for place, name in enumerate(("blue", "green", "red")):
            want[row, 1 + place] = colour == name
    want[:, 4] = (members - np.mean(public["member"])) / spread
    want /= np.sqrt(3)
    # The last feature is the intercept's; rows above the bound are scaled down to it.
    want = np.hstack([want, rows[:, -1:] / np.abs(rows[:, -1:]).max()])
    bound = head["loss"]["row_norm"]
    np.testing.assert_array_less(np.linalg.norm(rows, axis=1), bound * (1 + 1e-6))
    directions = rows[:, :5] / rows[:, 5:]
    free = np.argmax(rows[:, 5])
    scale = rows[free, 5]
    np.testing.assert_allclose(directions * scale, want[:, :5], atol=2e-6)


def test_an_unseen_category_and_a_missing_one_are_the_same_row(tmp_path):
    private = private_people()
    for name in ("age", "member", "label"):
        private[name][8] = private[name][7]
    private["colour"][7], private["colour"][8] = "mauve", None
    rows = stored_rows(fitted(tmp_path, private))
    np.testing.assert_array_equal(rows[127], rows[128])
    assert not rows[127, 1:4].any()


def test_a_missing_number_is_the_public_mean(tmp_path):
    private = with_column(private_people(), "age", lambda row, age: None if row == 9 else age)
    assert stored_rows(fitted(tmp_path, private))[129, 0] == 0


def test_columns_may_stand_in_another_order(tmp_path):
    private = private_people()
    turned = {name: private[name] for name in reversed(private)}
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = fitted(tmp_path / "one"), fitted(tmp_path / "two", turned)
    np.testing.assert_array_equal(stored_rows(one), stored_rows(two))


def test_categories_that_look_like_numbers_follow_the_public_table(tmp_path):
    public = with_column(public_people(), "colour", lambda row, _: "x" if row % 2 else "1")
    private = with_column(private_people(), "colour", lambda *_: "1")
    rows = stored_rows(fitted(tmp_path, private, public))
    assert (rows[120:, 1] > 0).all()
    assert not rows[120:, 2].any()


def test_a_dropped_column_counts_for_nothing(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    extra = {"note": [f"note {row}" for row in range(150)]}
    one = fitted(tmp_path / "one", drop=("age",))
    two = fitted(tmp_path / "two", private_people() | extra, drop=("age", "note"))
    assert list(settings(one)["encoding"]) == ["colour", "member"]
    np.testing.assert_array_equal(stored_rows(one), stored_rows(two))


@pytest.mark.parametrize(
    ("mine", "theirs", "options", "complaint"),
    [
        ({"extra": [1] * 150}, {}, {}, r"private.csv: column 'extra' .* --drop \"extra\""),
        ({}, {"extra": [1] * 120}, {}, r"private.csv: no column 'extra', which the model needs"),
        ({"age": ["old"] * 150}, {}, {}, r"private.csv: column 'age': no value can be read"),
        ({"age": ["inf"] * 150}, {}, {}, r"private.csv: column 'age': no value can be read"),
        ({}, {"age": ["inf"] * 120}, {}, r"public.csv: column 'age' holds a number of 1e"),
        ({}, {"age": [None] * 120}, {}, r"public.csv: column 'age' is empty: .*--drop"),
        ({}, {"colour": ["2026-01-01"] * 120}, {}, r"'colour' is date32.*: .*--encoding"),
        ({}, {}, {"drop": ("nothing",)}, r"drop: no column 'nothing'"),
        ({}, {}, {"drop": ("age", "colour", "member")}, r"no columns beside id and label"),
        ({}, {}, {"label": "id"}, r"label: 'id' is the id column as well"),
        ({}, {}, {"id": "prediction"}, r"id: a column 'prediction' is what predict writes"),
        ({}, {}, {"row_norm": 1e300}, r"row_norm: 1e\+300 must be"),
        ({}, {}, {"label": "nothing"}, r"no column 'nothing'"),
        ({}, {}, {"id": "nothing"}, r"private.csv: no column 'nothing'; there are 'id', 'age'"),
        ({"label": [None] * 150}, {}, {}, r"private.csv: labels in 'label': no value can be read"),
        ({}, {}, {"epsilon": -1.0}, r"epsilon"),
        ({}, {}, {"epsilon": 21.0}, r"epsilon"),
        ({}, {}, {"delta": 1.0}, r"delta"),
        ({}, {}, {"l2": 0.0}, r"l2"),
        ({}, {}, {"strategy": "hope"}, r"'hope' is not one of auto, residual"),
        ({}, {}, {"observer": "all", "strategy": "residual"}, r"for observer 'final'"),
        ({}, {}, {"task": "regression"}, r"labels in 'label' are string, not numbers"),
    ],
)
def test_what_cannot_be_fitted_is_named_and_nothing_is_left(
    tmp_path, mine, theirs, options, complaint
):
    with pytest.raises(InvalidInput, match=complaint):
        fitted(tmp_path, private_people() | mine, public_people() | theirs, **options)
    assert {path.name for path in tmp_path.iterdir()} == {"private.csv", "public.csv"}


# ---- labels -------------------------------------------------------------------------------------


def three_classes():
    return with_column(private_people(), "label", lambda row, one: "maybe" if row == 11 else one)


def test_a_class_absent_from_the_public_rows_is_learned_as_a_blank_row(tmp_path):
    """Were it refused, the refusal would tell of that record."""
    workspace = fitted(tmp_path, three_classes())
    assert settings(workspace)["head"]["labels"]["values"] == ["no", "yes"]
    rows = stored_rows(workspace)[120:]
    assert (rows[11, :-1] == 0).all()
    assert (rows[[10, 12], :-1] != 0).any(axis=1).all()
    assert forget(workspace, ["00011"])["records"]["forgotten"] == 1
    assert verify(workspace)["valid"]


def test_a_class_absent_from_the_public_rows_is_fine_once_declared(tmp_path):
    workspace = fitted(tmp_path, three_classes(), classes=("yes", "no", "maybe"))
    assert settings(workspace)["head"]["labels"]["values"] == ["maybe", "no", "yes"]
    assert forget(workspace, ["00011"])["records"]["forgotten"] == 1
    assert verify(workspace)["valid"]


def test_one_class_is_enough(tmp_path):
    private, public = (
        with_column(people, "label", lambda *_: "yes")
        for people in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public)
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 1


def test_a_declared_class_that_nobody_has_keeps_its_place(tmp_path):
    workspace = fitted(tmp_path, classes=("yes", "no", "never"))
    predict(workspace, tmp_path / "public.csv", tmp_path / "out.csv")
    assert "probability_never" in read(tmp_path / "out.csv")


@pytest.mark.parametrize(
    ("given", "classes"),
    [({"yes": 1, "no": 0}, [0, 1]), ({"yes": True, "no": False}, ["false", "true"])],
)
def test_labels_may_be_integers_or_booleans(tmp_path, given, classes):
    private, public = (
        with_column(people, "label", lambda _, one: given[one])
        for people in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public)
    assert settings(workspace)["head"]["labels"]["values"] == classes


def test_numbers_are_learned_as_a_regression(tmp_path):
    private, public = (
        with_column(people, "label", lambda row, one: (one == "yes") * 5.0 + row % 3)
        for people in (private_people(), public_people())
    )
    workspace = fitted(tmp_path, private, public, task="regression")
    head = settings(workspace)["head"]
    assert head["labels"] is None
    assert head["loss"]["target_norm"] == max(map(abs, public["label"]))
    assert forget(workspace, ["00003"])["records"]["forgotten"] == 1


def test_a_regression_without_public_records_needs_its_largest_label(tmp_path):
    private = with_column(private_people(), "label", lambda row, _: row / 10)
    options = {"task": "regression", "without_public": True, "declare": DECLARED}
    with pytest.raises(InvalidInput, match="target_norm: without public records"):
        fitted(tmp_path, private, **options)
    workspace = fitted(tmp_path, private, **options, target_norm=15.0)
    assert settings(workspace)["head"]["loss"]["target_norm"] == 15


# ---- no public records --------------------------------------------------------------------------


def test_without_public_records_the_columns_to_declare_are_named(tmp_path):
    with pytest.raises(
        InvalidInput,
        match=r"declare 'age', 'colour', 'member' with --schema",
    ):
        fitted(tmp_path, without_public=True)
    some = {"age": DECLARED["age"]}
    with pytest.raises(InvalidInput, match=r"declare 'colour', 'member' with --schema"):
        fitted(tmp_path, without_public=True, declare=some)
    assert not (tmp_path / "workspace").exists()


def test_without_public_records_what_was_declared_is_used(tmp_path):
    workspace = fitted(tmp_path, without_public=True, declare=DECLARED)
    stored = settings(workspace)
    assert stored["encoding"] == DECLARED
    assert stored["head"]["loss"]["row_norm"] == 2
    assert status(workspace)["records"] == {"public": 0, "private": 150, "forgotten": 0}
    assert not (workspace / "records/public.parquet").exists()
    document = forget(workspace, ["00003"])
    assert document["certificate"]["epsilon"] <= 1
    assert verify(workspace)["valid"]


def test_labels_are_never_taken_from_private_records(tmp_path):
    with pytest.raises(InvalidInput, match="--classes"):
        fitted(tmp_path, without_public=True, declare=DECLARED, classes=None)
    assert not (tmp_path / "workspace").exists()


def test_a_declared_column_goes_before_the_public_one(tmp_path):
    workspace = fitted(tmp_path, declare={"age": DECLARED["age"]})
    rules = settings(workspace)["encoding"]
    assert rules["age"] == DECLARED["age"]
    assert rules["colour"] == {"values": ["blue", "green", "red"]}


def test_a_declared_column_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="column 'hight' is declared but not in"):
        fitted(tmp_path, declare={"hight": {"center": 0, "scale": 1}})


# ---- nothing is fitted on private records -------------------------------------------------------


def strangers():
    """Private tables that have nothing in common but their columns."""
    usual = private_people()
    return {
        "usual": usual,
        "huge": with_column(usual, "age", lambda *_: 1e12),
        "coloured": with_column(usual, "colour", lambda row, _: f"colour {row}"),
        "empty": usual | {"age": [None] * 150, "colour": [None] * 150},
        "one-sided": with_column(usual, "label", lambda *_: "yes"),
        "few": {name: column[:3] for name, column in usual.items()},
        "members": with_column(usual, "member", lambda *_: 1),
    }


def shaped(folder, private):
    """All that a model and its certificate take from outside the weights."""
    folder.mkdir()
    workspace = fitted(folder, private)
    stored = settings(workspace)
    return stored["encoding"], stored["head"], stored["options"]


def test_private_records_shape_neither_encoding_nor_row_norm_nor_labels(tmp_path):
    found = [shaped(tmp_path / name, private) for name, private in strangers().items()]
    assert found == found[:1] * len(found)


@pytest.mark.parametrize("fault", ["encoding", "row norm", "labels"])
def test_a_rule_that_looked_at_private_records_would_be_caught(tmp_path, monkeypatch, fault):
    if fault == "encoding":
        monkeypatch.setattr(fit_tables, "_encoding", _encoding_of_private)
    elif fault == "row norm":
        monkeypatch.setattr(CertifiedClassifier, "row_bound_of", lambda *_: next(norms))
        norms = iter(range(1, 99))
    else:
        monkeypatch.setattr(CertifiedClassifier, "fit_stored", _with_labels_of_private)
    found = []
    for name, private in strangers().items():
        try:
            found.append(shaped(tmp_path / name, private))
        except (InvalidInput, IndexError, UserWarning):
            found.append(name)
    assert found != found[:1] * len(found)


def _encoding_of_private(mine, theirs, options, rules):
    return encoding.fitted(mine.path, mine.table, ["age", "colour", "member"], rules)


def _with_labels_of_private(self, rows, public, bound, labels, engine, **more):
    there = np.unique(rows.column("targets")[len(public[0]) :].numpy())
    return FIT_STORED(self, rows, public, bound, labels[there], engine, **more)


FIT_STORED = CertifiedClassifier.fit_stored


# ---- ids ----------------------------------------------------------------------------------------


def test_leading_zeros_survive_csv(tmp_path):
    workspace = fitted(tmp_path)
    ids = {row[0] for row in ledger_rows(workspace)["records"]}
    assert ids == {*private_people()["id"], *public_people()["id"]}


def test_integer_ids_of_parquet_are_their_digits(tmp_path):
    mine = write(tmp_path / "private.parquet", private_people() | {"id": list(range(-5, 145))})
    theirs = write(tmp_path / "public.csv", public_people())
    fit(tmp_path / "workspace", mine, theirs, Options(id="id", label="label"))
    ids = {row[0] for row in ledger_rows(tmp_path / "workspace")["records"] if row[1] == "private"}
    assert ids == {str(one) for one in range(-5, 145)}
    assert forget(tmp_path / "workspace", ["-5"])["records"]["forgotten"] == 1


def test_public_records_need_no_ids(tmp_path):
    public = public_people()
    del public["id"]
    workspace = fitted(tmp_path, public=public)
    assert status(workspace)["records"]["public"] == 120
    with pytest.raises(InvalidInput, match="is public"):
        forget(workspace, ["public row 1"])


@pytest.mark.parametrize(
    ("mine", "theirs", "complaint"),
    [
        ("00001", None, "private.csv: id '00001' is there twice"),
        (None, "90001", "public.csv: id '90001' is there twice"),
        ("", None, "private.csv: row 10 has no id"),
        ("  ", None, "private.csv: row 10 has no id"),
        (None, "", "public.csv: row 10 has no id"),
        ("90004", None, "private.csv: id '90004' is in the public table as well"),
        (" 00009", None, "private.csv: id ' 00009' begins or ends with blanks"),
        (None, "9\u2028", "public.csv: id .* cannot be printed"),
    ],
)
def test_ids_that_are_none_are_refused_by_name(tmp_path, mine, theirs, complaint):
    private, public = private_people(), public_people()
    for people, tenth in ((private, mine), (public, theirs)):
        if tenth is not None:
            people["id"][9] = tenth
    with pytest.raises(InvalidInput, match=complaint):
        fitted(tmp_path, private, public)
    assert not (tmp_path / "workspace").exists()


def test_fractions_are_no_ids(tmp_path):
    mine = write(tmp_path / "p.parquet", private_people() | {"id": [i + 0.5 for i in range(150)]})
    with pytest.raises(InvalidInput, match="ids in 'id' are double; use text or integers"):
        fit(tmp_path / "workspace", mine, None, Options(id="id", label="label"))


# ---- whole or not at all ------------------------------------------------------------------------


def test_an_exception_while_writing_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(*_):
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
        raise KeyboardInterrupt

    monkeypatch.setattr(CertifiedClassifier, "model_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"private.csv", "public.csv"}


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["crucial", "all"])
def test_whoever_is_killed_leaves_a_whole_workspace_or_none(tmp_path, moments):
    mine = write(tmp_path / "private.csv", private_people())
    theirs = write(tmp_path / "public.csv", public_people())
    (tmp_path / "scratch").mkdir()
    make = ["fit", "@/workspace", "--private", str(mine), "--public", str(theirs), "--id", "id"]
    make += ["--label", "label", "--json"]
    check = ["verify", "@/workspace", "--json"]
    outcomes = killed(
        {
            "command": make,
            "then": [check, make, check, ["forget", "@/workspace", "00003", "--json"], check],
            "start": None,
            "scratch": str(tmp_path / "scratch"),
            "moments": moments,
        }
    )
    whole = [outcome["then"][0]["status"] == 0 for outcome in outcomes]
    assert whole == sorted(whole)
    assert whole[0] is False
    assert whole[-1] is True
    for was_whole, outcome in zip(whole, outcomes, strict=True):
        statuses = [one["status"] for one in outcome["then"]]
        assert statuses == [0 if was_whole else 2, 2 if was_whole else 0, 0, 0, 0], outcome
        assert ("workspace" in outcome["left"]) == was_whole
        assert [name for name in outcome["after"] if "/" not in name] == ["workspace"]


def test_the_options_that_were_given_are_kept(tmp_path):
    given = {"epsilon": 0.5, "delta": 1e-4, "l2": 0.02, "row_norm": 1.5, "strategy": "retrain"}
    workspace = fitted(tmp_path, **given, drop=("member",), released=False)
    stored = settings(workspace)["options"]
    assert {name: stored[name] for name in given} == given
    assert settings(workspace)["head"]["loss"]["row_norm"] == 1.5
    assert settings(workspace)["head"]["loss"]["l2"] == 0.02
    document = forget(workspace, ["00003"])["certificate"]
    assert document["delta"] == 1e-4
    assert document["epsilon"] <= 0.5
    assert document["earlier_releases"] == "none known"


def test_without_a_delta_it_is_a_small_one(tmp_path):
    workspace = fitted(tmp_path)
    assert forget(workspace, ["00003"])["certificate"]["delta"] == 1e-5
