"""`expunge fit`: two tables in, a workspace out; a refusal is one line and writes nothing."""

import inspect
import json

import pytest
import torch
from safetensors.torch import load_file

from expunge.cli.fit import fit as command
from expunge.unlearning import CertifiedClassifier, CertifiedRegressor
from expunge.workspace.fit import fit as library
from expunge.workspace.options import Options
from tests.cli.test_main import expunge, spawn
from tests.cli.workspaces import printed, refused, tables
from tests.workspace.tables_made import (
    DECLARED,
    ledger_rows,
    people,
    private_people,
    write,
    write_declared,
)


def test_fit_prints_the_status_of_what_it_made(tmp_path):
    document = printed("fit", tmp_path / "workspace", *tables(tmp_path))
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 0}
    assert document["certificate"] is None
    assert document == printed("status", tmp_path / "workspace")


def test_fit_tells_people_what_it_made(tmp_path):
    outcome = expunge("fit", tmp_path / "workspace", *tables(tmp_path))
    assert outcome.status == 0
    assert "120 public, 150 private, 0 forgotten" in outcome.out
    assert "no certificate yet" in outcome.out


def test_every_option_reaches_the_workspace(tmp_path):
    arguments = [*tables(tmp_path), "--epsilon", 0.5, "--delta", 1e-6, "--strategy", "langevin"]
    arguments += ["--observer", "all", "--l2", 0.02, "--row-norm", 1.5, "--classes", "yes, no"]
    arguments += ["--drop", "age", "--drop", "member", "--unreleased", "--adaptive-requests"]
    arguments += ["--publish-names", "--capacity", 0.05, "--features", "trees"]
    stored = printed("fit", tmp_path / "workspace", *arguments)["options"]
    assert stored == {
        "id": "id",
        "label": "label",
        "epsilon": 0.5,
        "delta": 1e-6,
        "strategy": "langevin",
        "observer": "all",
        "l2": 0.02,
        "row_norm": 1.5,
        "classes": ["yes", "no"],
        "drop": ["age", "member"],
        "task": "classification",
        "target_norm": None,
        "released": False,
        "adaptive_requests": True,
        "publish_names": True,
        "capacity": 0.05,
        "features": "trees",
        "text": [],
        "text_width": 65536,
    }


def test_a_regression_is_asked_for(tmp_path):
    people = private_people()
    people["label"] = [float(row) for row in range(150)]
    mine = write(tmp_path / "mine.csv", people)
    encoding = write_declared(tmp_path / "encoding.json")
    arguments = ["--private", mine, "--id", "id", "--label", "label", "--encoding", encoding]
    regression = [*arguments, "--task", "regression"]
    assert "target_norm" in refused("fit", tmp_path / "workspace", *regression)
    document = printed("fit", tmp_path / "workspace", *regression, "--target-norm", 200)
    assert document["options"]["task"] == "regression"


def test_columns_are_declared_by_a_file(tmp_path):
    arguments = tables(tmp_path)
    del arguments[2:4]
    complaint = refused("fit", tmp_path / "workspace", *arguments)
    assert "'age', 'colour', 'member'" in complaint
    assert "--encoding" in complaint
    arguments += ["--encoding", write_declared(tmp_path / "encoding.json")]
    assert "--classes" in refused("fit", tmp_path / "workspace", *arguments)
    arguments += ["--classes", "no,yes"]
    assert printed("fit", tmp_path / "workspace", *arguments)["records"]["public"] == 0
    stored = dict(ledger_rows(tmp_path / "workspace")["settings"])
    assert json.loads(stored["encoding"]) == DECLARED


def test_a_class_that_no_public_record_has_is_told_to_the_operator_with_the_remedy(tmp_path):
    arguments = tables(tmp_path)
    people = private_people()
    people["label"][0] = "maybe"
    write(tmp_path / "private.csv", people)
    outcome = expunge("fit", tmp_path / "workspace", *arguments, "--json")
    assert outcome.status == 0
    assert "1 of 150 cannot be read as one of the labels" in outcome.err
    assert "--classes" in outcome.err
    assert "cannot be read" not in outcome.out
    assert printed("fit", tmp_path / "named", *arguments, "--classes", "yes,no,maybe")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (["--private", "none.csv"], "none.csv"),
        (["--public", "none.parquet"], "none.parquet"),
        (["--private", "table.xls"], "must end in .csv or .parquet"),
        (["--encoding", "none.json"], "none.json"),
        (["--id", "nobody"], "'nobody'"),
        (["--label", "nothing"], "'nothing'"),
        (["--drop", "nothing"], "'nothing'"),
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "nan"], "epsilon"),
        (["--epsilon", "x"], "--epsilon"),
        (["--delta", "2"], "delta"),
        (["--l2", "-1"], "l2"),
        (["--row-norm", "big"], "row_norm"),
        (["--row-norm", "-1"], "row_norm"),
        (["--row-norm", "1e300"], "row_norm"),
        (["--label", "id"], "'id' is the id column"),
        (["--private", "long.csv"], "long.csv: cannot be read"),
        (["--strategy", "hope"], "'hope'"),
        (["--observer", "nobody"], "--observer"),
        (["--task", "clustering"], "--task"),
        (["--task", "regression"], "not numbers"),
        (["--classes", "yes"], "--classes"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_nothing_is_written(
    tmp_path, monkeypatch, change, named
):
    arguments = tables(tmp_path)
    (tmp_path / "long.csv").write_text("x" * 200_000)
    before = {path.name for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    assert named in refused("fit", "workspace", *arguments, *change)
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("missing", ["--private", "--id", "--label"])
def test_what_must_be_said_is_asked_for(tmp_path, missing):
    arguments = tables(tmp_path)
    place = arguments.index(missing)
    del arguments[place : place + 2]
    assert missing in refused("fit", tmp_path / "workspace", *arguments)


def test_what_is_there_is_not_overwritten(tmp_path):
    arguments = tables(tmp_path)
    assert "exists already" in refused("fit", tmp_path, *arguments)
    assert "exists already" in refused("fit", tmp_path / "public.csv", *arguments)


def test_the_library_and_the_command_make_the_same(tmp_path):
    first = printed("fit", tmp_path / "workspace", *tables(tmp_path))
    mine, theirs = tmp_path / "private.csv", tmp_path / "public.csv"
    second = library(tmp_path / "other", mine, theirs, Options(id="id", label="label"))
    assert first["options"] == second["options"]
    made = [next((tmp_path / name / "models").iterdir()) for name in ("workspace", "other")]
    assert torch.equal(*(load_file(file)["theta"] for file in made))
    assert made[0].name != made[1].name  # without noise before a deletion, so each has its salt


def test_the_installed_command_prints_one_document_and_nothing_else(tmp_path):
    done = spawn("fit", tmp_path / "workspace", *tables(tmp_path), "--json")
    assert done.returncode == 0
    assert done.stderr == b""
    assert json.loads(done.stdout)["records"]["private"] == 150


def test_the_settings_are_printed_once_by_fit_and_by_status(tmp_path):
    words = [*tables(tmp_path), "--l2", "public", "--row-norm", "public"]
    outcome = expunge("fit", tmp_path / "workspace", *words)
    shown = expunge("status", tmp_path / "workspace")
    for start in ("strategy residual: ", "l2 ", "row_norm "):
        (line,) = (one for one in outcome.out.splitlines() if one.startswith(start))
        assert line in shown.out.splitlines()
    assert outcome.out.count(": public records\n") == 2


def test_a_new_fit_in_a_workspace_is_said_and_the_ledger_goes_on(tmp_path):
    given = tables(tmp_path)
    printed("fit", tmp_path / "workspace", *given)
    printed("forget", tmp_path / "workspace", "00003")
    command = ("fit", tmp_path / "workspace", "--again", *given)
    assert "--skip-forgotten leaves such records out" in refused(*command)
    outcome = expunge(*command, "--skip-forgotten", "--name", "second")
    assert outcome.status == 0
    assert "fit 2, with model 3" in outcome.out
    assert "nothing has been deleted since this fit" in outcome.out
    assert outcome.err == "expunge: 1 record left out, which was forgotten before\n"
    document = printed(*command, "--take-back")
    assert document["records"] == {"public": 120, "private": 150, "forgotten": 1}
    assert [fit["number"] for fit in document["fits"]] == [2, 3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--skip-forgotten",), "--skip-forgotten: needs --again"),
        (("--take-back",), "--take-back: needs --again"),
        (("--name", "x"), "--name: needs --again"),
        (("--again", "--skip-forgotten", "--take-back"), "is the opposite of --take-back"),
    ],
)
def test_what_makes_sense_only_for_a_new_fit_is_refused(tmp_path, words, said):
    assert said in refused("fit", tmp_path / "workspace", *tables(tmp_path), *words)
    assert not (tmp_path / "workspace").exists()


def test_for_observer_all_accuracy_against_capacity_is_printed_beside_the_public_only_model(
    tmp_path,
):
    words = ["--id", "id", "--label", "label", "--observer", "all", "--capacity", 0.004]
    words += ["--private", write(tmp_path / "private.csv", people(300, seed=2, prefix="0"))]
    words += ["--public", write(tmp_path / "public.csv", people(500, seed=1, prefix="9"))]
    outcome = expunge("fit", tmp_path / "one", *words)
    assert outcome.status == 0
    assert "for the model of public records alone" in outcome.out
    assert "  0.1 (30 records): 0." in outcome.out
    assert "capacity 0.004" in outcome.out
    lines = outcome.err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [["expunge", "capacity"]]
    document = expunge("fit", tmp_path / "two", *words, "--json").document
    points = document["capacity_curve"]["points"]
    assert [point["records"] for point in points] == [1, 3, 9, 30, 90]
    assert points[0]["score"] > points[-1]["score"]
    settings = {one["name"]: one["value"] for one in document["understood"]["settings"]}
    assert settings["capacity"] == 0.004


def test_settings_without_public_records_to_choose_them_on_are_refused(tmp_path):
    mine = write(tmp_path / "private.csv", private_people())
    declared = write_declared(tmp_path / "encoding.json")
    words = ["--private", mine, "--id", "id", "--label", "label", "--encoding", declared]
    words += ["--classes", "yes,no", "--l2", "public"]
    complaint = expunge("fit", tmp_path / "workspace", *words).complaint
    assert "l2: 'public' needs 20 public records or more, not 0" in complaint


def test_class_and_command_line_have_the_same_defaults():
    defaults = inspect.signature(CertifiedClassifier).parameters
    for name in ("epsilon", "strategy", "observer", "l2", "released", "capacity"):
        assert getattr(Options, name) == defaults[name].default
    spoken = inspect.signature(command).parameters
    assert float(spoken["l2"].default) == Options.l2
    assert inspect.signature(CertifiedRegressor).parameters["l2"].default == Options.l2


# ---- nonsense -----------------------------------------------------------------------------------

NO_NUMBERS = ("nan", "inf", "-1", "0", "abc", "", "1e400")
NONSENSE = {
    **dict.fromkeys(
        ("workspace", "private", "public", "id", "label", "encoding", "schema", "drop"), ()
    ),
    "classes": ("", "yes,yes", ","),
    "epsilon": (*NO_NUMBERS, "21"),
    "delta": (*NO_NUMBERS, "1"),
    "strategy": ("hope", "", "nan"),
    "observer": ("nobody", "", "nan"),
    "l2": NO_NUMBERS,
    "row_norm": (*NO_NUMBERS, "private", "1e16"),
    "task": ("both", "", "nan"),
    "target_norm": NO_NUMBERS,
    "unreleased": (),  # a switch
    "adaptive_requests": (),  # a switch
    "publish_names": (),  # a switch
    "capacity": (*NO_NUMBERS, "1.5"),
    "features": ("forest", "", "nan"),
    "text_column": ("age,", "nobody"),
    "text_width": ("0", "-1", "1.5", "x"),
    "engine": ("spark", "", "nan"),
    "address": (),  # of a cluster that is there or not
    "max_width": ("0", "-1", "1.5", "x"),
    "max_inflated": ("0", "-1", "1.5", "x"),
    "separator": ("", "::", "x", '"'),
    "decimal": ("", ";", "point"),
    "text_encoding": ("martian", "rot13"),
    "memory": ("-1", "nan", "inf", "x"),
    **dict.fromkeys(("again", "skip_forgotten", "take_back"), ()),  # switches
    "name": ("x",),  # without --again
    "json": (),  # a switch
}


def test_every_option_has_its_nonsense():
    """A new option without a row fails here; files and columns have tests of their own."""
    assert set(inspect.signature(command).parameters) == set(NONSENSE)


@pytest.mark.parametrize(
    ("option", "value"), [(name, value) for name, values in NONSENSE.items() for value in values]
)
def test_nonsense_exits_2_with_one_line_that_names_the_option(tmp_path, option, value):
    arguments = tables(tmp_path)
    if option == "target_norm":
        for name in ("private", "public"):
            path = tmp_path / f"{name}.csv"
            path.write_text(path.read_text().replace(",yes", ",1").replace(",no", ",2"))
        arguments += ["--task", "regression"]
    words = ("fit", tmp_path / "workspace", *arguments, f"--{option.replace('_', '-')}", value)
    complaint = expunge(*words).complaint
    assert option in complaint.replace("-", "_")
    assert not (tmp_path / "workspace").exists()
