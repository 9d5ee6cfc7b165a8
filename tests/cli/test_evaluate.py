"""`expunge evaluate`: one document, or four lines for people."""

import pytest

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused
from tests.workspace.tables_made import people, write


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_the_document_has_the_scores_side_by_side(workspace, tmp_path):
    file = write(tmp_path / "mine.csv", people(30, seed=5, prefix="t"))
    document = printed("evaluate", workspace, "--data", file)
    assert document["rows"] == 30
    assert 0.5 < document["accuracy"] <= 1
    assert 0.5 < document["public_only"]["accuracy"] <= 1
    assert document["majority"]["accuracy"] >= 0.5


def test_people_read_the_same_in_lines(workspace, tmp_path):
    mine = people(30, seed=5, prefix="t")
    mine["colour"][0], mine["id"][1], mine["label"][2] = "mauve", "00003", "perhaps"
    file = write(tmp_path / "mine.csv", mine)
    document = printed("evaluate", workspace, "--data", file)
    outcome = expunge("evaluate", workspace, "--data", file)
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == f"30 rows of {file}, accuracy:"
    assert lines[1].split() == ["this", "model", f"{document['accuracy']:.5g}"]
    assert lines[2].startswith("  public records only")
    assert lines[3].startswith(f"  always {document['majority']['label']!r}")
    assert "labels that the model does not know: 1" in outcome.out
    assert "column 'colour': 1 text that the model does not know" in outcome.out
    assert "was trained on 1 of these rows" in outcome.out


def test_a_table_in_another_form_is_read_by_its_flags(workspace, tmp_path):
    mine = people(30, seed=5, prefix="t")
    plain = printed("evaluate", workspace, "--data", write(tmp_path / "mine.csv", mine))
    rows = zip(*mine.values(), strict=True)
    cells = [[str("" if cell is None else cell) for cell in row] for row in rows]
    text = "\n".join(";".join(row).replace(".", ",").lower() for row in [list(mine), *cells])
    file = tmp_path / "theirs.csv"
    file.write_text(text, encoding="utf-16")
    assert "--text-encoding utf-16" in refused("evaluate", workspace, "--data", file)
    flags = ("--text-encoding", "utf-16")
    assert "--separator ';'" in refused("evaluate", workspace, "--data", file, *flags)
    flags = (*flags, "--separator", ";", "--decimal", ",")
    document = printed("evaluate", workspace, "--data", file, *flags)
    assert document | {"data": 0} == plain | {"data": 0}


def test_a_table_without_labels_is_refused(workspace, tmp_path):
    mine = people(30, seed=5)
    del mine["label"]
    file = write(tmp_path / "mine.csv", mine)
    assert "no column 'label'" in refused("evaluate", workspace, "--data", file)
    assert "--data" in refused("evaluate", workspace)
