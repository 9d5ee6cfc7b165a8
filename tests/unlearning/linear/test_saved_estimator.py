"""Estimators on disk: they come back whole, and what was forgotten is not there."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from expunge.accounting.verification import differences
from expunge.errors import Altered
from expunge.store import pack, read, unpack
from expunge.store.index import File
from expunge.unlearning.linear import saved_estimator, saved_rows
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor, load
from expunge.unlearning.linear.langevin import Langevin, NoiseFirst
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.linear.retrain import Retrain
from expunge.unlearning.schemes import Cyclic, PoissonBatch
from tests.unlearning.records import labelled, measured, state
from tests.unlearning.resealing import edit, reseal

STRATEGIES = (
    "auto",
    Residual(tolerance=1e-8),
    Retrain(),
    Langevin(learn_steps=40, capacity=0.2),
    Langevin(learn_steps=40, scheme=Cyclic(3)),
    Langevin(learn_steps=40, scheme=PoissonBatch(0.5, seed=4)),
    NoiseFirst(learn_steps=40, unlearn_steps=5),
)
EACH_STRATEGY = pytest.mark.parametrize("strategy", STRATEGIES, ids=str)


def fitted(strategy="auto", **parameters):
    X, y = labelled(60)
    clf = CertifiedClassifier(strategy=strategy, **parameters)
    return clf.fit(X, y, public=labelled(200, seed=1), ids=[f"r{i}" for i in range(60)])


@pytest.mark.parametrize("requests", [0, 2])
@EACH_STRATEGY
def test_what_was_saved_comes_back_whole_and_can_go_on(tmp_path, strategy, requests):
    clf = fitted(strategy)
    for i in range(requests):
        clf.forget(f"r{i}")
    clf.save(tmp_path / "model")
    back = load(tmp_path / "model")
    X, _ = labelled(60)
    assert type(back) is CertifiedClassifier
    assert back.get_params() == clf.get_params()
    assert state(back) == state(clf)
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    assert back.classes_.dtype == clf.classes_.dtype
    with pytest.raises(ValueError, match="unknown id 'nobody'"):
        back.forget("nobody")
    certificate = back.forget(["r7", "r8"])
    assert certificate.forgotten == requests + 2
    assert differences(certificate) == []
    assert certificate.claim.epsilon <= 1


@pytest.mark.parametrize("strategy", ["residual", "retrain"])  # a hash, and a commitment
def test_another_model_does_not_fit_the_certificate(tmp_path, strategy):
    clf = fitted(strategy)
    clf.forget("r1")
    clf.save(tmp_path / "model")
    file = tmp_path / "model/model.safetensors"
    assert file.read_bytes() == clf.model_bytes() == load(tmp_path / "model").model_bytes()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match="is of another state"):
        load(tmp_path / "model")


@pytest.mark.parametrize("strategy", ["residual", "retrain", "noise_first"])
def test_before_a_deletion_nobody_can_try_the_models_hash_against_records_they_suspect(strategy):
    one, other = fitted(strategy), fitted(strategy)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.model_bytes() != other.model_bytes()


def test_a_file_that_lost_its_salt_is_refused(tmp_path):
    fitted("retrain").save(tmp_path / "model")
    file = tmp_path / "model/model.safetensors"
    save_file(load_file(file), file)
    with pytest.raises(ValueError, match="is of another state"):
        load(tmp_path / "model")


@pytest.mark.parametrize("strategy", ["residual", "retrain"])
def test_a_flipped_bit_in_any_file_is_refused(tmp_path, strategy):
    clf = fitted(strategy)
    clf.forget("r1")
    clf.save(tmp_path / "model")
    for path in [path for path in (tmp_path / "model").rglob("*") if path.is_file()]:
        content = path.read_bytes()
        for place in (0, len(content) // 2, len(content) - 1):
            flipped = bytearray(content)
            flipped[place] ^= 4
            path.write_bytes(flipped)
            with pytest.raises(ValueError, match=str(tmp_path)):
                load(tmp_path / "model")
        path.write_bytes(content)
    load(tmp_path / "model")


@pytest.mark.parametrize("reference", ["zero", "start", "center"])
def test_a_regressor_without_a_ball_comes_back(tmp_path, reference):
    X, y = measured()
    regressor = CertifiedRegressor(target_norm=0.8, reference=reference)
    regressor.fit(X, y, public=measured(seed=1))
    regressor.forget([3])
    regressor.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert state(back) == state(regressor)
    assert back.radius == np.inf
    np.testing.assert_array_equal(back.predict(X), regressor.predict(X))
    one, other = back.forget(4), regressor.forget(4)
    assert one.claim == other.claim


@pytest.mark.parametrize(
    "names", [np.array(["ja", "nein"]), np.array([3, -1]), np.array([True, False])]
)
def test_labels_of_every_kind_come_back(tmp_path, names):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X, names[y])
    clf.save(tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.classes_.dtype == clf.classes_.dtype
    np.testing.assert_array_equal(back.predict(X), clf.predict(X))


def test_float32_records_stay_float32(tmp_path):
    X, y = labelled(40)
    clf = CertifiedClassifier().fit(X.astype(np.float32), y)
    clf.save(tmp_path / "model")
    assert load(tmp_path / "model").fitted_.job.features.dtype == torch.float32


def test_the_folder_holds_json_and_safetensors_and_nothing_else(tmp_path):
    clf = fitted()
    clf.forget("r3")
    clf.save(tmp_path / "model")
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".json", ".safetensors"}
    on_top = {path.name for path in (tmp_path / "model").iterdir()}
    assert on_top == {"model.safetensors", "certificate.json", "secret"}
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]  # and no litter beside it


def test_what_may_be_handed_out_holds_the_released_model_only(tmp_path):
    clf = fitted()
    clf.forget("r3")
    clf.save(tmp_path / "model")
    released = load_file(tmp_path / "model/model.safetensors")
    assert list(released) == ["theta"]
    assert torch.equal(released["theta"], clf.fitted_.outcome.theta)
    assert not torch.equal(released["theta"], clf.fitted_.outcome.secret["theta"])


def test_forgotten_rows_are_not_on_disk(tmp_path):
    X, y = labelled(40)
    X[3] = 0.123456789
    clf = CertifiedClassifier().fit(X, y)
    pattern = clf.fitted_.job.features[3, :1].numpy().tobytes()
    clf.save(tmp_path / "model")
    (rows,) = (tmp_path / "model/secret").glob("chunk-*")
    assert pattern in rows.read_bytes()
    clf.forget(3)
    clf.save(tmp_path / "model")
    for path in (path for path in (tmp_path / "model").rglob("*") if path.is_file()):
        assert pattern not in path.read_bytes()


def test_a_request_rewrites_only_the_chunks_that_hold_its_records(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)
    clf = fitted()
    clf.save(tmp_path / "model")
    before = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    clf.forget("r3")  # row 203 of 260, after the public ones
    clf.save(tmp_path / "model")
    after = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    assert len(before) == len(after) == 17
    assert [a == b for a, b in zip(before, after, strict=True)] == [
        place != 203 // 16 for place in range(17)
    ]
    assert state(load(tmp_path / "model")) == state(clf)


def test_a_later_request_is_not_saved_over(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model")
    later = load(tmp_path / "model")
    later.forget("r3")
    later.save(tmp_path / "model")
    with pytest.raises(ValueError, match="holds a request that this state has not honoured"):
        clf.save(tmp_path / "model")
    with pytest.raises(ValueError, match="holds requests of another fit"):
        fitted().save(tmp_path / "model")
    assert state(load(tmp_path / "model")) == state(later)


def test_a_second_save_replaces_the_first(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model")
    clf.forget("r3")
    clf.save(str(tmp_path / "model"))
    assert state(load(tmp_path / "model")) == state(clf)
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


@pytest.mark.parametrize("writer", ["tensor_bytes", "_document", "_state"])
def test_an_interrupted_save_leaves_the_old_folder_and_no_litter(tmp_path, monkeypatch, writer):
    clf = fitted()
    clf.save(tmp_path / "model")
    before = state(clf)
    clf.forget("r3")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(saved_estimator, writer, interrupted)
    with pytest.raises(KeyboardInterrupt):
        clf.save(tmp_path / "model")
    monkeypatch.undo()
    assert state(load(tmp_path / "model")) == before
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_an_interrupted_first_save_leaves_nothing(tmp_path, monkeypatch):
    full = OSError("disk full")
    monkeypatch.setattr("expunge.store.writing.write_whole", lambda *_, **__: raised(full))
    with pytest.raises(OSError, match="disk full"):
        fitted().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def raised(error):
    raise error


def test_a_folder_that_is_not_a_saved_estimator_is_named(tmp_path):
    for folder in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(ValueError, match="not a saved model") as caught:
            load(folder)
        assert str(folder) in str(caught.value)


def test_what_an_earlier_version_saved_is_refused_by_name(tmp_path):
    (tmp_path / "estimator.json").write_text('{"format": 2}')
    for verb in (lambda: load(tmp_path), lambda: fitted().save(tmp_path)):
        with pytest.raises(ValueError, match=r"estimator\.json was written by an earlier version"):
            verb()


def test_another_kind_of_model_is_named(tmp_path):
    from tests.unlearning.networks.test_unlearner import fitted as fitted_network

    fitted_network("head").save(tmp_path / "model")
    with pytest.raises(ValueError, match="holds a TorchUnlearner, not one of CertifiedClassifier"):
        load(tmp_path / "model")


def test_a_saved_folder_can_be_moved(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "a/b/model")
    shutil.move(str(tmp_path / "a/b/model"), str(tmp_path / "elsewhere"))
    assert state(load(tmp_path / "elsewhere")) == state(clf)


@pytest.mark.parametrize("observer", ["final", "all"])
def test_a_reloaded_estimator_still_says_that_an_earlier_model_was_handed_out(tmp_path, observer):
    clf = fitted(Langevin(learn_steps=40, capacity=0.2), observer=observer)
    if observer == "all":  # its own history covers what it released, not what another fit did
        X, y = labelled(60)
        clf.fit(X, y, public=labelled(200, seed=1), ids=[f"r{i}" for i in range(60)])
    clf.save(tmp_path / "model")
    for request in ("r1", "r2"):
        back = load(tmp_path / "model")
        certificate = back.forget(request)
        assert certificate.earlier_releases == "not covered"
        assert certificate.claim.statement == clf.forget(request).claim.statement
        assert any("EARLIER RELEASES NOT COVERED" in line for line in certificate.claim.statement)
        back.save(tmp_path / "model")


@pytest.mark.parametrize("declared", [True, False])
def test_a_reloaded_estimator_still_knows_whether_its_labels_were_declared(tmp_path, declared):
    X, y = labelled(60)
    clf = CertifiedClassifier(classes=[0, 1] if declared else None).fit(X, y)
    clf.save(tmp_path / "model")
    one, other = load(tmp_path / "model").forget(3), clf.forget(3)
    assert one.declared == other.declared


def test_a_damaged_chunk_is_written_anew_from_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)
    clf = fitted()
    clf.save(tmp_path / "model")
    chunk = read(tmp_path / "model").chunks("rows")[0].file.name
    (tmp_path / "model/secret" / chunk).write_bytes(b"damaged")
    clf.forget("r3")
    clf.save(tmp_path / "model")
    assert state(load(tmp_path / "model")) == state(clf)


def test_ids_that_json_does_not_bring_back_are_refused_by_name(tmp_path):
    X, y = labelled(6)
    clf = CertifiedClassifier().fit(X, y, ids=[("a", i) for i in range(6)])
    with pytest.raises(ValueError, match=r"ids: \('a', 0\) cannot be saved"):
        clf.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_lost_index_is_named_and_nothing_is_erased(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model")
    index = tmp_path / "model/secret/index.json"
    content = index.read_bytes()
    index.unlink()
    for verb in (lambda: load(tmp_path / "model"), lambda: fitted().save(tmp_path / "model")):
        with pytest.raises(ValueError, match=r"index\.json"):
            verb()
    index.write_bytes(content)
    assert state(load(tmp_path / "model")) == state(clf)


def in_head(**changes):
    def change(document):
        head = json.loads(document["head"])
        head["loss"].update(changes)
        document["head"] = json.dumps(head)

    return change


RESEALED = {
    "row_norm": (in_head(row_norm=0.5), "holds rows of norm above 0.5"),
    "history": (
        lambda d: d["outcome"]["account"]["phases"][0].update(sigma=9.0),
        "the certificate is about another history",
    ),
    "constant": (
        lambda d: d["outcome"]["account"]["assumptions"]["lipschitz"].update(value=0.1),
        "the certificate is about another history",
    ),
    "delta": (lambda d: d["terms"].update(delta=1e-2), "about another request"),
    "strategy": (
        lambda d: d.update(strategy={"kind": "linear.retrain", "tolerance": 1e-9}),
        "about another request",
    ),
}


@pytest.mark.parametrize("name", RESEALED)
def test_a_document_that_contradicts_what_it_came_from_is_refused_with_its_seal_renewed(
    tmp_path, name
):
    clf = fitted()
    clf.forget("r3")
    clf.save(tmp_path / "model")
    change, said = RESEALED[name]
    edit(tmp_path / "model", change, sealed=True)
    with pytest.raises(ValueError, match=said) as caught:
        load(tmp_path / "model")
    assert str(tmp_path / "model") in str(caught.value)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("features", 1.5, "rows of norm above 1, the bound that is certified"),
        ("features", np.nan, "rows of norm above"),
        ("targets", 2, "labels other than the 2 that are known"),
    ],
)
def test_rows_that_no_fit_has_stored_are_refused_by_their_file_with_all_seals_renewed(
    tmp_path, column, value, said
):
    fitted().save(tmp_path / "model")
    saved = read(tmp_path / "model")
    (chunk,) = saved.chunks("rows")
    rows = {name: array.copy() for name, array in unpack(saved.rows(chunk)).items()}
    rows[column][7] = value
    content = pack(rows)
    reseal(
        tmp_path / "model",
        chunks=(chunk.model_copy(update={"file": File.of(chunk.file.name, content)}),),
    )
    saved.path_of(chunk).write_bytes(content)
    with pytest.raises(Altered, match=rf"{chunk.file.name}: holds {said}"):
        load(tmp_path / "model")


def test_saving_reads_only_the_chunks_that_it_rewrites(tmp_path, monkeypatch):
    """The others stay, digests and all."""
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)
    clf = fitted()
    clf.save(tmp_path / "model")
    clf.forget("r3")
    opened, read_bytes = [], Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: opened.append(path) or read_bytes(path))
    clf.save(tmp_path / "model")
    (chunk,) = [path for path in opened if path.name.startswith("chunk-")]
    assert chunk.name.endswith(f"-{203 // 16}.safetensors")  # row 203, after the public ones
    monkeypatch.undo()
    assert state(load(tmp_path / "model")) == state(clf)


def test_a_chunk_that_stays_keeps_its_digest_so_damage_to_it_is_still_found(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)
    clf = fitted()
    clf.save(tmp_path / "model")
    chunk = read(tmp_path / "model").chunks("rows")[0].file.name
    path = tmp_path / "model/secret" / chunk
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    clf.forget("r3")
    clf.save(tmp_path / "model")
    with pytest.raises(Altered, match=f"{chunk}: was changed"):
        load(tmp_path / "model")


def more(model, ids, first=260, **options):
    X, y = labelled(first + len(ids))
    return model.add(X[first:], y[first:], ids=ids, **options)


def test_rows_that_joined_fill_the_last_chunk_and_no_other_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)
    clf = fitted()
    clf.save(tmp_path / "model")
    before = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    more(clf, ["n0", "n1", "n2"])
    clf.forget(["r3", "n1"])
    clf.save(tmp_path / "model")
    chunks = read(tmp_path / "model").chunks("rows")
    after = [chunk.file.name for chunk in chunks]
    assert (chunks[-1].first, chunks[-1].stop) == (256, 263)
    assert [a == b for a, b in zip(before, after, strict=False)] == [
        place not in (203 // 16, 256 // 16) for place in range(17)
    ]
    again = load(tmp_path / "model")
    assert state(again) == state(clf)
    more(again, ["n3"], 263)
    again.forget("n0")
    again.save(tmp_path / "model")
    assert state(load(tmp_path / "model")) == state(again)


def test_an_addition_without_a_certificate_is_not_saved_over(tmp_path):
    clf = fitted()
    clf.save(tmp_path / "model")
    later = load(tmp_path / "model")
    more(later, ["n0"])
    later.save(tmp_path / "model")
    assert load(tmp_path / "model").certificate_ is None
    with pytest.raises(ValueError, match="holds a request that this state has not honoured"):
        clf.save(tmp_path / "model")
    clf.forget("r3")
    with pytest.raises(ValueError, match="holds a request that this state has not honoured"):
        clf.save(tmp_path / "model")
    assert state(load(tmp_path / "model")) == state(later)


def test_an_id_that_came_back_comes_back_from_disk_with_its_new_row(tmp_path):
    clf = fitted()
    clf.forget(["r3", "r4"])
    more(clf, ["r3"], again=True)
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.fitted_.job.roster.rows_of("r3") == [260]
    with pytest.raises(ValueError, match="'r4' was forgotten"):
        more(again, ["r4"], 261)
    assert again.forget("r3").forgotten == 3


def test_row_numbers_go_on_after_a_load(tmp_path):
    X, y = labelled(43)
    clf = CertifiedClassifier(strategy="residual").fit(X[:40], y[:40])
    clf.add(X[40:42], y[40:42])
    clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    again.add(X[42:], y[42:])
    assert again.forget([0, 41, 42]).forgotten == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"class_weight": "balanced"}, "class_weight: 'balanced' would count private records"),
        ({"class_weight": [1, 2]}, "class_weight: must be a mapping"),
        ({"class_weight": {(1, 2): 3.0}}, r"class_weight: \(1, 2\) is no label"),
        ({"class_weight": {0: "x"}}, "class_weight of 0: must be a number"),
        ({"classes": [[1, 2], [3]]}, "classes: "),
    ],
    ids=str,
)
def test_parameters_that_make_no_sense_any_more_are_named_and_nothing_is_written(
    tmp_path, given, said
):
    clf = fitted()
    clf.set_params(**given)
    with pytest.raises(ValueError, match=said):
        clf.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    assert not clf.fitted_.copied
