"""Models whose rows stay on disk: the same numbers, and nothing read but what a request needs."""

import copy
import shutil

import numpy as np
import pytest
import torch

from expunge.accounting.verification import differences
from expunge.core.stored_rows import StoredColumn
from expunge.errors import Altered, NoCertificate
from expunge.store import read
from expunge.unlearning.linear import saved_rows
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor, load
from expunge.unlearning.linear.langevin import Langevin
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.schemes import Cyclic
from tests.unlearning.records import labelled, measured

STRATEGIES = (
    "residual",
    Residual(distance=0),  # by passes
    "retrain",
    Langevin(learn_steps=40, capacity=0.2),
    Langevin(learn_steps=40, scheme=Cyclic(3)),
)
EACH_STRATEGY = pytest.mark.parametrize("strategy", STRATEGIES, ids=str)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(saved_rows, "CHUNK_ROWS", 16)


def saved(folder, strategy="residual", **parameters):
    X, y = labelled(60)
    clf = CertifiedClassifier(strategy=strategy, random_state=3, **parameters)
    clf.fit(X, y, public=labelled(200, seed=1), ids=[f"r{i}" for i in range(60)])
    clf.save(folder)
    return clf


def rows_of(estimator):
    job = estimator.fitted_.job
    return job.features[:], job.targets[:]


@EACH_STRATEGY
def test_requests_give_the_same_bits_as_in_memory(tmp_path, strategy):
    """Seeded, so that noise is the same; memory holds one chunk."""
    inside = saved(tmp_path / "model", strategy)
    outside = load(tmp_path / "model", on_disk=True)
    assert isinstance(outside.fitted_.job.features, StoredColumn)
    outside.fitted_.job.features.table.kept = 0
    for request in (["r3"], ["r20", "r59", "r21"]):
        one, other = inside.forget(request), outside.forget(request)
        assert one.claim == other.claim
        assert differences(other) == []
        assert torch.equal(inside.fitted_.outcome.theta, outside.fitted_.outcome.theta)
        secrets = inside.fitted_.outcome.secret, outside.fitted_.outcome.secret
        assert secrets[0].keys() == secrets[1].keys()
        for name in secrets[0].keys() - {"anchor", "salt"}:  # a time, and what is never seeded
            assert torch.equal(secrets[0][name], secrets[1][name]), name
        for mine, theirs in zip(rows_of(inside), rows_of(outside), strict=True):
            assert torch.equal(mine, theirs)


def test_a_regression_on_disk_and_in_memory_agree(tmp_path):
    X, y = measured()
    inside = CertifiedRegressor(target_norm=0.8, random_state=0, reference="center")
    inside.fit(X, y, public=measured(seed=1)).save(tmp_path / "model")
    outside = load(tmp_path / "model", on_disk=True)
    assert inside.forget([3, 40]).claim == outside.forget([3, 40]).claim
    assert torch.equal(inside.fitted_.outcome.theta, outside.fitted_.outcome.theta)


def damage_all_but(folder, numbers):
    """Whoever reads one of the other chunks of rows will notice."""
    for number, chunk in enumerate(read(folder).chunks("rows")):
        if number not in numbers:
            path = read(folder).path_of(chunk)
            path.write_bytes(b"x" * path.stat().st_size)


def test_a_request_without_a_pass_reads_and_writes_the_chunks_of_its_records_alone(tmp_path):
    saved(tmp_path / "model")
    before = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    touched = {(200 + 3) // 16, (200 + 40) // 16}
    damage_all_but(tmp_path / "model", touched | {0})  # 0 tells the type
    clf = load(tmp_path / "model", on_disk=True)
    clf.forget(["r3", "r40"])
    clf.save(tmp_path / "model")
    after = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    assert {i for i, name in enumerate(before) if after[i] != name} == touched
    assert not clf.fitted_.outcome.read_every_row


def test_a_damaged_chunk_is_named_by_the_request_that_needs_it(tmp_path):
    saved(tmp_path / "model")
    damage_all_but(tmp_path / "model", {0})
    clf = load(tmp_path / "model", on_disk=True)
    with pytest.raises(Altered, match=r"chunk-\w+-12.safetensors: was changed"):
        clf.forget("r3")
    with pytest.raises(Altered, match="was changed"):
        clf.fitted_.job.features.table.check()


def test_passes_over_damaged_rows_are_refused(tmp_path):
    saved(tmp_path / "model", Residual(distance=0))
    damage_all_but(tmp_path / "model", {0, 12})
    with pytest.raises(Altered, match="was changed"):
        load(tmp_path / "model", on_disk=True).forget("r3")


def test_after_saving_requests_go_on_from_the_new_files(tmp_path):
    saved(tmp_path / "model")
    clf = load(tmp_path / "model", on_disk=True)
    for record in ("r3", "r4", "r30"):  # two of them in one chunk
        clf.forget(record)
        clf.save(tmp_path / "model")
    again = load(tmp_path / "model")
    for mine, theirs in zip(rows_of(clf), rows_of(again), strict=True):
        assert torch.equal(mine, theirs)
    assert torch.equal(clf.fitted_.outcome.theta, again.fitted_.outcome.theta)


def test_a_model_on_disk_can_be_saved_into_another_folder(tmp_path):
    saved(tmp_path / "model")
    clf = load(tmp_path / "model", on_disk=True)
    clf.forget("r3")
    clf.save(tmp_path / "other")
    back = load(tmp_path / "other")
    for mine, theirs in zip(rows_of(clf), rows_of(back), strict=True):
        assert torch.equal(mine, theirs)
    assert rows_of(back)[0][203].abs().sum() == 0


def test_a_state_whose_files_a_later_one_replaced_is_refused(tmp_path):
    saved(tmp_path / "model")
    old, new = (load(tmp_path / "model", on_disk=True) for _ in range(2))
    new.forget("r3")
    new.save(tmp_path / "model")
    with pytest.raises(Altered, match="is missing"):
        old.forget("r4")


def test_a_request_that_fails_leaves_rows_as_they_were(tmp_path, monkeypatch):
    saved(tmp_path / "model")
    clf = load(tmp_path / "model", on_disk=True)
    before = rows_of(clf)[0]

    def refuse(*_, **__):
        raise NoCertificate("not today")

    monkeypatch.setattr("expunge.unlearning.fitted.Fitted.with_certificates", refuse)
    with pytest.raises(NoCertificate, match="not today"):
        clf.forget(["r3", "r50"])
    assert torch.equal(rows_of(clf)[0], before)
    monkeypatch.undo()
    clf.forget(["r3", "r50"])


def test_an_earlier_state_refuses_once_a_later_one_has_erased(tmp_path):
    saved(tmp_path / "model")
    clf = load(tmp_path / "model", on_disk=True)
    other = copy.copy(clf)
    clf.forget("r3")
    with pytest.raises(NoCertificate, match="a later request has erased"):
        other.forget("r4")


def test_a_deep_copy_erases_for_itself(tmp_path):
    saved(tmp_path / "model")
    clf = load(tmp_path / "model", on_disk=True)
    other = copy.deepcopy(clf)
    other.forget("r3")
    assert clf.fitted_.job.features[[203]].abs().sum() > 0
    assert other.fitted_.job.features[[203]].abs().sum() == 0


@pytest.mark.parametrize(("first", "stop", "expected"), [(0, 0, []), (3, 40, [(3, 19), (19, 35), (35, 40)])])  # fmt: skip  # noqa: E501
def test_bounds_follow_one_another(first, stop, expected):
    assert list(saved_rows.bounds_of(first, stop)) == expected


def test_rows_that_are_not_as_many_as_records_are_refused(tmp_path):
    from tests.unlearning.resealing import reseal

    saved(tmp_path / "model")
    chunks = read(tmp_path / "model").index.chunks
    reseal(tmp_path / "model", chunks=chunks[:-1])
    for on_disk in (True, False):
        with pytest.raises(ValueError, match="256 rows for 260 records"):
            load(tmp_path / "model", on_disk=on_disk)


def test_numbers_come_from_public_rows_too(tmp_path):
    clf = saved(tmp_path / "model")
    outside = load(tmp_path / "model", on_disk=True)
    X, _ = labelled(60)
    np.testing.assert_array_equal(outside.predict_proba(X), clf.predict_proba(X))


EXTRA = labelled(90, seed=5)


def add_some(clf, first, stop, **options):
    X, y = (each[first:stop] for each in EXTRA)
    return clf.add(X, y, ids=[f"n{row}" for row in range(first, stop)], **options)


@pytest.mark.parametrize("strategy", STRATEGIES[:-1], ids=str)  # a partition takes nobody in
def test_records_join_rows_that_stay_on_disk_as_they_join_those_in_memory(tmp_path, strategy):
    """Bit for bit, whether a model is saved in between, once or never; chunks are filled up."""
    inside = saved(tmp_path / "model", strategy)
    shutil.copytree(tmp_path / "model", tmp_path / "untouched")
    saving, outside = (load(tmp_path / n, on_disk=True) for n in ("model", "untouched"))
    for step in (
        lambda clf: add_some(clf, 0, 3),
        lambda clf: clf.forget(["r3", "n1"]),
        lambda clf: add_some(clf, 3, 60),
        lambda clf: clf.forget(["n40", "r7"]),
    ):
        made = [step(model) for model in (inside, outside, saving)]
        saving.save(tmp_path / "model")
        assert len({None if one is None else one.claim.epsilon for one in made}) == 1
        for other in (outside, saving):
            assert torch.equal(inside.fitted_.outcome.theta, other.fitted_.outcome.theta)
            assert all(map(torch.equal, rows_of(inside), rows_of(other)))
    again = load(tmp_path / "model", on_disk=True)
    assert all(map(torch.equal, rows_of(inside), rows_of(again)))
    assert again.fitted_.job.roster.sizes == (260, 263, 263, 320, 320)
    bounds = [(chunk.first, chunk.stop) for chunk in read(tmp_path / "model").chunks("rows")]
    assert bounds == list(saved_rows.bounds_of(0, 320))
    outside.save(tmp_path / "other")
    assert all(map(torch.equal, rows_of(inside), rows_of(load(tmp_path / "other"))))


def test_an_addition_reads_and_writes_the_last_chunk_alone(tmp_path):
    saved(tmp_path / "model", Residual(distance=10.0))
    before = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    damage_all_but(tmp_path / "model", {0, len(before) - 1})  # the first tells the type
    clf = load(tmp_path / "model", on_disk=True)
    add_some(clf, 0, 20)
    clf.save(tmp_path / "model")
    after = [chunk.file.name for chunk in read(tmp_path / "model").chunks("rows")]
    assert after[: len(before) - 1] == before[:-1]
    assert len(after) == len(before) + 1
    assert not clf.fitted_.outcome.read_every_row


def test_records_are_corrected_in_one_request_in_memory_and_on_disk_alike(tmp_path):
    inside = saved(tmp_path / "model")
    outside = load(tmp_path / "model", on_disk=True)
    certificates = []
    for clf in (inside, outside):
        add_some(clf, 0, 3)
        X, y = EXTRA[0][50:53], EXTRA[1][50:53]
        certificates.append(clf.exchange(["r3", "n2"], X, y, ids=["r3", "n2", "other"]))
    one, other = certificates
    assert one.claim == other.claim
    assert differences(other) == []
    assert (other.records, other.forgotten, other.joined) == (266, 2, 6)
    assert (other.sequence, other.generation) == (1, 2)
    assert torch.equal(inside.fitted_.outcome.theta, outside.fitted_.outcome.theta)
    assert all(map(torch.equal, rows_of(inside), rows_of(outside)))
    assert not rows_of(outside)[0][[203, 262]].any()
    outside.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert all(map(torch.equal, rows_of(inside), rows_of(again)))
    assert again.fitted_.job.roster.rows_of(["r3", "other"]) == [263, 265]
    for clf in (inside, again):
        assert differences(clf.forget(["r3", "r4"])) == []


def test_an_exchange_that_fails_leaves_everything_as_it_was(tmp_path, monkeypatch):
    saved(tmp_path / "model")
    clf = load(tmp_path / "model", on_disk=True)
    before = rows_of(clf)[0]

    def refuse(*_, **__):
        raise NoCertificate("not today")

    monkeypatch.setattr("expunge.unlearning.fitted.Fitted.with_certificates", refuse)
    with pytest.raises(NoCertificate, match="not today"):
        clf.exchange("r3", EXTRA[0][:1], EXTRA[1][:1], ids=["r3"])
    assert torch.equal(rows_of(clf)[0], before)
    assert len(clf.fitted_.rows.columns[0]) == 260
    monkeypatch.undo()
    clf.exchange("r3", EXTRA[0][:1], EXTRA[1][:1], ids=["r3"])


def test_rows_that_joined_on_disk_are_read_back_in_memory(tmp_path):
    saved(tmp_path / "model")
    X, y = labelled(61)
    inside = load(tmp_path / "model")
    inside.add(X[60:], y[60:], ids=["new"])
    inside.forget(["r3", "new"])
    inside.save(tmp_path / "model")
    again = load(tmp_path / "model", on_disk=True)
    assert again.fitted_.job.roster.sizes == inside.fitted_.job.roster.sizes
    assert torch.equal(again.fitted_.job.roster.keys, inside.fitted_.job.roster.keys)
    assert all(torch.equal(*pair) for pair in zip(rows_of(again), rows_of(inside), strict=True))
    assert differences(again.forget("r4")) == []
