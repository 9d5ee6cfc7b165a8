"""Learning from what was read; what a model objects to is a line for the user."""

import json

import numpy as np
import pytest

from expunge.core.part_engine import HERE
from expunge.errors import InvalidInput
from expunge.ledger import Ledger
from expunge.store import sole_writer
from expunge.workspace.fit_tables import Sources, read_given
from expunge.workspace.folder import Folder
from expunge.workspace.learning import learn, rows_of, write_beside, write_rows
from expunge.workspace.options import Options
from tests.workspace.tables_made import private_people, public_people, write


@pytest.fixture
def folder(tmp_path):
    for kind in ("models", "records", "secret"):
        (tmp_path / "made" / kind).mkdir(parents=True)
    made = Folder(tmp_path / "made")
    made.ledger.create()
    yield made
    made.ledger.close()


def learned(folder, options, **more):
    place = folder.path.parent
    mine = write(place / "private.csv", private_people())
    theirs = write(place / "public.csv", public_people())
    given, blocks = read_given(Sources(mine, theirs), options, print, print)
    with sole_writer(folder.saved) as writer:
        rows = rows_of(writer, folder.ledger, given)
        write_rows(rows, given, blocks, print, print)
        made = learn(rows, given, memory=0.5, engine=HERE, progress=print, notice=print, **more)
        writer.commit(writer.prepare(made.generation(folder)))
    return made


def test_a_model_is_of_the_rows_that_were_written(folder):
    made = learned(folder, Options(id="id", label="label"))
    assert (made.rows.private, made.rows.rows) == (150, 270)
    assert made.model.fitted_.job.roster.private == 150
    assert not made.model.fitted_.released_before
    assert made.capacity_curve() == {}
    with folder.ledger.reading() as entries:
        assert entries.counts() == {"public": 120, "private": 150, "forgotten": 0}


def test_a_model_that_was_handed_out_before_is_noted(folder):
    made = learned(folder, Options(id="id", label="label"), released_before=True)
    assert made.model.fitted_.released_before


def test_what_lies_beside_the_model_goes_under_the_name_that_is_told(folder):
    made = learned(folder, Options(id="id", label="label"))
    settings, model = write_beside(folder, made, "public-7.parquet")
    assert folder.model_file(model["sha256"]).is_file()
    assert json.loads(settings["public"])["file"] == "public-7.parquet"
    assert folder.public_file(settings["public"]).is_file()
    assert json.loads(settings["options"])["id"] == "id"
    assert 0 < json.loads(model["evaluation"])["accuracy"] <= 1


def test_what_a_model_objects_to_names_the_remedy(folder, tmp_path):
    with pytest.raises(InvalidInput, match="epsilon"):
        learned(folder, Options(id="id", label="label", epsilon=-1.0))
    public = public_people() | {"label": ["maybe"] * 120}
    mine = write(tmp_path / "private.csv", private_people())
    theirs = write(tmp_path / "public.csv", public)
    options = Options(id="id", label="label", classes=("no", "yes"))
    given, _ = read_given(Sources(mine, theirs), options, print, print)
    assert isinstance(given.public_rows, tuple)
    assert isinstance(given.public_rows[1], np.ndarray)
    with sole_writer(folder.saved) as writer, pytest.raises(InvalidInput, match="--classes"):
        rows_of(writer, Ledger(tmp_path / "other.sqlite"), given)
