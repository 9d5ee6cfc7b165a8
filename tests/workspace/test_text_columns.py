"""Words of text columns: hashed without any record, sparse from the table to the certificate."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import HashingVectorizer

from expunge.errors import InvalidInput
from expunge.store import unpack
from expunge.workspace.add import add
from expunge.workspace.encoding import Encoding, Number
from expunge.workspace.evaluate import evaluate
from expunge.workspace.export import export
from expunge.workspace.fit import fit
from expunge.workspace.forget import forget
from expunge.workspace.options import Options
from expunge.workspace.predict import predict
from expunge.workspace.text_columns import WIDEST, Words, text_rules
from expunge.workspace.verify import verify

TEXTS = ["a very good film", None, "Bad, bad film", ""]
HERE = Path("table.csv")
WIDTH = 2**9


def reviews(path, count, seed, name):
    """Reviews with a word of their own each, and what they say."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "said", "stars", "verdict"])
        for row in range(count):
            good = bool(rng.random() < 0.5)
            words = rng.choice(["film", "plot", "music", "story"], 3)
            told = rng.choice(["fine", "great"] if good else ["poor", "dull"])
            stars = round(float(rng.normal(3.5 if good else 2.5)), 2)
            text = f"{' '.join(words)} {told} {name}{row}"
            rows.writerow([f"{name}{row}", text, stars, "good" if good else "bad"])
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    tables = {
        name: reviews(folder / f"{name}.csv", count, seed, name)
        for seed, (name, count) in enumerate({"private": 60, "public": 40, "new": 20}.items())
    }
    options = Options("id", "verdict", features="text", text_width=WIDTH)
    status = fit(folder / "workspace", tables["private"], tables["public"], options)
    return folder, tables, status


def test_a_text_is_hashed_as_scikit_learn_hashes_it_and_a_missing_one_has_no_words():
    rows = Words(64).encode(pa.chunked_array([TEXTS]))
    expected = HashingVectorizer(n_features=64, ngram_range=(1, 2), alternate_sign=False).transform(
        [text or "" for text in TEXTS]
    )
    np.testing.assert_allclose(rows.toarray(), expected.toarray(), rtol=1e-6)
    assert rows.dtype == np.float32
    assert [rows[[i]].nnz > 0 for i in range(4)] == [True, False, True, False]


def test_columns_beside_words_are_what_they_were_and_rows_are_sparse():
    numbers = [1.0, None, 3.0, 2.0]
    table = pa.table({"said": TEXTS, "stars": numbers})
    encoding = Encoding({"stars": Number(2.0, 0.5), "said": Words(64)})
    rows = encoding.encode(HERE, table)
    assert rows.format == "csr"
    alone = Encoding({"stars": Number(2.0, 0.5)}).encode(HERE, table) / np.sqrt(2)
    np.testing.assert_allclose(rows[:, [0]].toarray(), alone, rtol=1e-6)
    assert (encoding.width, encoding.dense_widths) == (65, {"stars": 1})
    back = Encoding.of(encoding.document())
    assert back == encoding
    assert (back.encode(HERE, table) != rows).nnz == 0
    assert back.encode(HERE, table.slice(0, 0)).shape == (0, 65)


def test_the_only_column_of_texts_is_taken_and_several_must_be_named():
    def rules(named, texts, declared=()):
        return text_rules(named, 64, path=HERE, texts=texts, declared=declared)

    assert rules([], ["said"]) == {"said": Words(64)}
    assert rules([], ["said", "town"], ["town"]) == {"said": Words(64)}
    assert rules(["town", "said"], ["said", "town"]) == {"town": Words(64), "said": Words(64)}
    with pytest.raises(InvalidInput, match=r"text-column: name the column .*'said', 'town'"):
        rules([], ["said", "town"])
    with pytest.raises(InvalidInput, match=r"texts in table.csv: none"):
        rules([], [])
    with pytest.raises(InvalidInput, match="no column 'stars' of texts"):
        rules(["stars"], ["said"])
    with pytest.raises(InvalidInput, match="'town' is declared as something else"):
        rules(["town"], ["said", "town"], ["town"])


@pytest.mark.parametrize("places", [1, WIDEST + 1])
def test_more_or_fewer_numbers_than_make_sense_are_refused(places):
    with pytest.raises(InvalidInput, match="text-width"):
        Words(places)


def test_a_workspace_of_texts_learns_deletes_and_predicts(made, tmp_path):
    folder, tables, status = made
    assert status["records"] == {"public": 40, "private": 60, "forgotten": 0}
    described = [each for each in status["understood"]["columns"] if each["becomes"] == "words"]
    assert described == [
        {"name": "said", "becomes": "words", "width": WIDTH, "together": 2, "from": "declared"}
    ]
    workspace = folder / "workspace"
    forget(workspace, ["private3", "private4"])
    assert verify(workspace)["differences"] == []
    score = evaluate(workspace, tables["new"])
    assert score["accuracy"] > 0.9
    more = reviews(tmp_path / "more.csv", 5, 7, "more")
    add(workspace, more)
    forget(workspace, ["more1"])
    assert verify(workspace)["differences"] == []
    assert score["public_only"]["accuracy"] > 0.6
    predict(workspace, tables["new"], tmp_path / "said.csv")
    assert len((tmp_path / "said.csv").read_text().splitlines()) == 21
    out = export(workspace, tmp_path / "out")
    assert "model.safetensors" in out["files"]
    rules = json.loads((tmp_path / "out/encoding.json").read_text())["columns"]
    assert rules["said"] == {"places": WIDTH, "together": 2}
    assert f"hashed into {WIDTH:,} columns" in (tmp_path / "out/MODEL_CARD.md").read_text()
    with pytest.raises(InvalidInput, match="take --format safetensors"):
        export(workspace, tmp_path / "other", format="onnx")


def test_a_deleted_text_leaves_neither_its_words_nor_their_places(tmp_path):
    """Each review has a word of its own, in a place that few others share."""
    tables = [reviews(tmp_path / f"{n}.csv", 30, i, n) for i, n in enumerate(("own", "public"))]
    options = Options("id", "verdict", features="text", text=("said",), text_width=WIDEST)
    workspace = tmp_path / "workspace"
    fit(workspace, *tables, options)
    before = stored_places(workspace)
    place = Words(WIDEST).encode(pa.chunked_array([["own7"]])).indices[0]
    assert place in before
    forget(workspace, ["own7"])
    assert place not in stored_places(workspace)


def stored_places(workspace):
    """Every column in which a stored row has a number, less those before the words."""
    places = set()
    for path in (workspace / "secret").rglob("chunk-*.safetensors"):
        places |= set(unpack(path.read_bytes())["features.columns"].tolist())
    return places


def test_what_does_not_fit_together_is_refused_and_nothing_is_made(made, tmp_path):
    _, tables, _ = made
    for options, said in (
        (Options("id", "verdict", text=("said",)), "only --features text"),
        (
            Options("id", "verdict", features="text", text=("absent",)),
            "no column .absent. of texts",
        ),
        (Options("id", "verdict", features="speech"), "'speech' is none of"),
    ):
        with pytest.raises(InvalidInput, match=said):
            fit(tmp_path / "workspace", tables["private"], tables["public"], options)
        assert not (tmp_path / "workspace").exists()


def test_without_public_records_words_need_no_declaration(made, tmp_path):
    _, tables, _ = made
    options = Options(
        "id", "verdict", features="text", text=("said",), drop=("stars",), classes=("good", "bad")
    )
    fit(tmp_path / "workspace", tables["private"], None, options)
    forget(tmp_path / "workspace", ["private3"])
    assert evaluate(tmp_path / "workspace", tables["new"])["accuracy"] > 0.8
