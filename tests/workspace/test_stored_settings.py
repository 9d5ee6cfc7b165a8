"""Settings in the ledger are read like a stranger's documents: as they were written, or refused."""

import itertools
import json
from dataclasses import asdict

import pytest

from expunge.errors import InvalidInput
from expunge.workspace.encoding import Category, Encoding, Number
from expunge.workspace.options import Options
from expunge.workspace.stored_settings import read_setting
from tests.cli.hostile import CONTENTS, VALUES, changed, places

OPTIONS = Options(id="id", label="label", classes=("a", "b"), drop=("c",), row_norm="public")
ENCODING = Encoding({"age": Number(40.0, 10.0), "colour": Category(("red", "blue"))})
WRITTEN = {
    "options": (Options.of, json.dumps(asdict(OPTIONS)), OPTIONS),
    "encoding": (Encoding.of, ENCODING.document(), ENCODING),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_was_written_comes_back(name):
    parse, text, record = WRITTEN[name]
    assert parse(text) == record


@pytest.mark.parametrize("name", WRITTEN)
def test_any_value_anywhere_comes_back_as_it_is_or_is_refused(name):
    parse, text, _ = WRITTEN[name]
    stored, complaints = json.loads(text), []
    for path, value in itertools.product(places(stored), VALUES):
        document = changed(stored, path, value)
        try:
            read = parse(json.dumps(document))
        except InvalidInput as error:
            complaints.append(str(error))
        else:
            again = json.loads(read.document() if name == "encoding" else json.dumps(asdict(read)))
            assert again == document or document == {}  # no columns, or the defaults
    assert len(complaints) > 50
    assert all(f"setting '{name}' is damaged" in line for line in complaints)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("content", [c for c in CONTENTS if c not in ("object", "byte order mark")])
def test_what_is_no_document_is_refused(name, content):
    with pytest.raises(InvalidInput, match="is damaged"):
        WRITTEN[name][0](CONTENTS[content].decode("latin-1"))


@pytest.mark.parametrize("document", [b"{}", None, 5])
def test_a_column_that_holds_no_text_is_refused(document):
    with pytest.raises(InvalidInput, match="not text"):
        read_setting(Options, "options", document)
