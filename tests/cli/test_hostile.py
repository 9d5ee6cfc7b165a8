"""No traceback on any input: 2 and one line for what cannot be read, 1 for what does not hold."""

import contextlib
import itertools
import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from expunge.store import Generation, NewChunk, read, write
from expunge.unlearning.linear.estimator import load
from tests.cli.hostile import CONTENTS, VALUES, changed, no_files, places
from tests.cli.test_main import EXAMPLE, expunge
from tests.cli.workspaces import made
from tests.workspace.tables_made import change_ledger, everything_in, usual

COLUMNS = ["--id", "id", "--label", "label"]
# Verbs that read a file which somebody names, with the place of that file.
VERBS = {
    "account": ["account", "FILE"],
    "verify": ["verify", "FILE"],
    "verify a model": ["verify", "WORKSPACE/certificates/1.json", "--model", "FILE"],
    "forget ids": ["forget", "WORKSPACE", "--ids", "FILE"],
    "sample ids": ["sample", "WORKSPACE", "--ids", "FILE", "--output", "OUT.safetensors"],
    "predict": ["predict", "WORKSPACE", "FILE", "--output", "OUT.csv"],
    "fit private": ["fit", "OUT", "--private", "FILE", "--public", "PUBLIC", *COLUMNS],
    "fit public": ["fit", "OUT", "--private", "PRIVATE", "--public", "FILE", *COLUMNS],
    "fit encoding": [
        "fit", "OUT", "--private", "PRIVATE", "--public", "PUBLIC", "--encoding", "FILE", *COLUMNS
    ],
}  # fmt: skip
READERS = (["status"], ["verify"], ["predict", "PUBLIC", "--output", "OUT.csv"])


@cache
def _once(folder: Path) -> Path:
    workspace = usual(folder)
    assert expunge("forget", workspace, "00003").status == 0
    return folder


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Path:
    """A folder with tables and a workspace that forgot a record."""
    return _once(tmp_path_factory.mktemp("hostile"))


def words(arguments: list[str], there: Path, file: Path) -> list[str]:
    named = {
        "FILE": file, "PRIVATE": there / "private.csv", "PUBLIC": there / "public.csv",
        "OUT": there / "out/new", "OUT.csv": there / "out/new.csv",
        "OUT.safetensors": there / "out/new.safetensors",
    }  # fmt: skip
    workspace = str(there / "workspace")
    return [str(named.get(w, w.replace("WORKSPACE", workspace))) for w in arguments]


def refused(there: Path, arguments: list[str], file: Path, *statuses: int) -> str:
    """Run it, and check that it was refused in one line and wrote nothing."""
    (there / "out").mkdir(exist_ok=True)
    outcome = expunge(*words(arguments, there, file))
    assert outcome.status in statuses, (file, outcome)
    if outcome.status == 2:
        assert len(outcome.complaint) < 600
    assert not list((there / "out").iterdir())
    return outcome.err


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_file_of_the_kind_exits_2_with_one_line_and_writes_nothing(
    there, verb, tmp_path
):
    before = everything_in(there / "workspace")
    ending = ".json" if "encoding" in verb or verb in ("account", "verify") else ".csv"
    statuses = (1, 2) if verb == "verify a model" else (2,)  # any file may be another model
    for name, content in CONTENTS.items():
        file = tmp_path / f"{name}{ending}"
        file.write_bytes(content)
        refused(there, VERBS[verb], file, *statuses)
    assert everything_in(there / "workspace") == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_folder_a_loop_of_links_and_nothing_at_all_exit_2_and_are_named(there, verb, tmp_path):
    for name, path in no_files(tmp_path).items():
        line = refused(there, VERBS[verb], path, 2)
        assert name in line or str(path) in line or "workspace" in line


@pytest.mark.parametrize("ending", [".parquet", ".csv.gz", ".parquet.gz"])
@pytest.mark.parametrize("verb", ["predict", "fit private", "fit public"])
def test_tables_of_every_format_are_refused_likewise(there, verb, ending, tmp_path):
    for name, content in CONTENTS.items():
        file = tmp_path / f"{name}{ending}"
        file.write_bytes(content)
        assert str(file) in refused(there, VERBS[verb], file, 2)


def test_an_account_with_any_value_anywhere_is_judged_or_refused(tmp_path):
    file = tmp_path / "history.json"
    for path, value in itertools.product(places(EXAMPLE), VALUES):
        file.write_text(json.dumps(changed(EXAMPLE, path, value)))
        outcome = expunge("account", file, "--json")
        assert outcome.status == 0 or outcome.complaint, (path, value)


@pytest.mark.slow
def test_a_certificate_with_any_value_anywhere_is_valid_or_not_or_unreadable(there, tmp_path):
    """0 only where the value says the same: every field has a fingerprint."""
    certificate = json.loads((there / "workspace/certificates/1.json").read_text())
    file = tmp_path / "certificate.json"
    for path, value in itertools.product(places(certificate), VALUES[::2]):
        if path[:1] == ("fingerprints",) and len(path) > 1 and path[1] != "claim.epsilon":
            continue
        file.write_text(json.dumps(changed(certificate, path, value)))
        outcome = expunge("verify", file)
        same = json.loads(file.read_text()) == certificate
        assert same or outcome.status == 1 or outcome.complaint, (path, value, outcome)


@pytest.mark.parametrize(
    "path", [(), ("claim",), ("claim", "renyi"), ("assumptions",), ("history",), ("provenance",),
             ("history", "phases", 0), ("assumptions", "smoothness")], ids=str,
)  # fmt: skip
def test_an_unknown_key_of_a_strangers_certificate_exits_2_and_is_named(there, tmp_path, path):
    certificate = json.loads((there / "workspace/certificates/1.json").read_text())
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(changed(certificate, (*path, "stranger"), {"value": 1.0})))
    assert "stranger: unknown key" in expunge("verify", file).complaint


# ---- a workspace's own files -----------------------------------------------------------------


def try_readers(there: Path, *statuses: int) -> None:
    """Every verb that reads a workspace, none of them writing anything."""
    for verb, *others in READERS:
        refused(there, [verb, "WORKSPACE", *others], there / "workspace", *statuses)


@pytest.mark.parametrize("setting", ["options", "encoding", "head"])
@pytest.mark.parametrize("content", ["", "[]", "null", "[" * 10_000, '{"a": 1}'])
def test_the_line_about_a_damaged_setting_says_which(tmp_path, setting, content):
    made(tmp_path)
    update = "UPDATE settings SET value = ? WHERE name = ?"
    change_ledger(tmp_path / "workspace", update, content, setting)
    predict = ["predict", "WORKSPACE", "PUBLIC", "--output", "OUT.csv"]
    assert f"setting '{setting}' is damaged" in refused(tmp_path, predict, tmp_path, 2)


@pytest.fixture(scope="module")
def audited(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    assert expunge("audit", usual(folder), "--models", "60").status == 0
    return folder


def test_an_audit_that_is_none_is_refused_by_the_report(audited):
    file = audited / "workspace/audit.json"
    kept = file.read_bytes()
    report = ["report", "WORKSPACE", "--output", "OUT.csv"]
    try:
        for content in CONTENTS.values():
            file.write_bytes(content)
            if content != CONTENTS["object"] and not content.startswith(b'{"'):
                assert str(file) in refused(audited, report, file, 2)
    finally:
        file.write_bytes(kept)


@pytest.mark.parametrize("content", ["empty", "list", "deep lists", "binary", "UTF-16", "object"])
def test_state_that_cannot_be_read_is_named(tmp_path, content):
    made(tmp_path)
    secret = tmp_path / "workspace/secret/saved"
    for file in secret.glob("secret/*"):
        kept = file.read_bytes()
        file.write_bytes(CONTENTS[content])
        if file.suffix == ".parquet":  # the report needs no record
            outcome = expunge("verify", tmp_path / "workspace")
            assert (outcome.status, file.name in outcome.out) == (1, True)
        else:
            line = refused(tmp_path, ["report", "WORKSPACE", "--output", "OUT.csv"], file, 2)
            assert secret.name in line
        file.write_bytes(kept)


def resealed(folder: Path, document: object) -> None:
    """Put another document into a saved model, under a seal that fits: as a forger would."""
    saved = read(folder)
    chunks = [NewChunk(c.table, c.first, c.stop, saved.rows(c)) for c in saved.index.chunks]
    index, state, model = saved.index, saved.state(), saved.model()
    certificate = saved.certificate()
    shutil.rmtree(folder)
    parts = (index.kind, index.lineage, document, state, model, certificate, chunks)
    write(folder, Generation(*parts))


@pytest.mark.slow
def test_a_forged_document_under_a_seal_that_fits_is_refused_or_loads(tmp_path):
    made(tmp_path)
    (secret,) = (tmp_path / "workspace/secret").iterdir()
    document = read(secret).document
    values = (None, [], {"a": 1}, -1, "x", 2**70)
    for path, value in itertools.product(itertools.islice(places(document), 1, None), values):
        resealed(secret, changed(document, path, value))
        with contextlib.suppress(ValueError):  # anything else is a traceback
            load(secret)


@pytest.mark.parametrize("content", CONTENTS)
def test_a_ledger_that_is_none_exits_2(tmp_path, content):
    (tmp_path / "workspace").mkdir()
    (tmp_path / "public.csv").touch()
    (tmp_path / "workspace/ledger.sqlite").write_bytes(CONTENTS[content])
    try_readers(tmp_path, 2)
