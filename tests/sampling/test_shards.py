"""Ensembles on disk: resumed, whole files only, never mixed with another run."""

import os

import pytest
import torch

from expunge.core import whole_file
from expunge.errors import Altered
from expunge.sampling import Problem, shards
from expunge.sampling.chain import Recipe, run_block
from expunge.sampling.engines import Block
from expunge.sampling.ensembles import sample_ensemble
from expunge.sampling.recurrent import LSTMClassifier, Recurrent
from tests.sampling.heads_problem import made

SETTINGS = {"unlearn_steps": (1,), "models": 50, "block": 20, "seed": 3}


class Interrupted(Exception):
    pass


class Stops:
    """An engine that ends after `blocks` blocks, as a run that is interrupted."""

    def __init__(self, blocks):
        self.blocks, self.done = blocks, []

    def map(self, recipe, blocks):
        for block in blocks:
            if len(self.done) == self.blocks:
                raise Interrupted
            self.done.append(block)
            yield block, run_block(recipe, *block)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    whole = sample_ensemble(made(), **SETTINGS)
    with pytest.raises(Interrupted):
        sample_ensemble(made(), **SETTINGS, folder=tmp_path, engine=Stops(2))
    rest = Stops(9)
    found = sample_ensemble(made(), **SETTINGS, folder=tmp_path, engine=rest)
    assert rest.done == [Block(40, 10)]
    for point, ensemble in whole.items():
        assert torch.equal(found[point].weights, ensemble.weights)
        assert [len(block) for block in found[point].blocks()] == [20, 20, 10]


def test_half_a_file_is_no_file(tmp_path):
    recipe = Recipe(made(), ("learned",), (), 0)
    folder = shards.ShardFolder.open(tmp_path, recipe, [Block(0, 2)])
    folder.shard(Block(0, 2)).with_suffix(".new").write_bytes(b"half")
    assert folder.missing([Block(0, 2)]) == [Block(0, 2)]
    folder.save(Block(0, 2), run_block(recipe, 0, 2))
    assert folder.missing([Block(0, 2)]) == []


@pytest.mark.parametrize("place", ["header", "digest", "weights", "cut", "empty"])
def test_a_shard_that_was_changed_is_not_read_and_is_made_again(tmp_path, place):
    sample_ensemble(made(), **SETTINGS, folder=tmp_path)
    shard = tmp_path / "0000000020.safetensors"
    before, whole = shards.read(shard, ("unlearned", 1)).clone(), shard.read_bytes()
    content = bytearray(whole)
    content[{"header": 3, "digest": whole.index(b"unlearned-1") + 20}.get(place, -5)] ^= 1
    kept = {"cut": whole[:-1], "empty": b""}.get(place, bytes(content))
    shard.write_bytes(kept)
    with pytest.raises(ValueError, match=r"0000000020.safetensors: (cannot be read|is not what)"):
        [shards.read(shard, (regime, 1)) for regime in ("unlearned", "retrained")]
    again = Stops(9)
    sample_ensemble(made(), **SETTINGS, folder=tmp_path, engine=again)
    assert again.done == [Block(20, 20)]
    assert torch.equal(shards.read(shard, ("unlearned", 1)), before)


def test_a_shard_and_its_name_are_on_disk_before_the_next_block(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(whole_file.os, "fsync", lambda handle: synced.append(os.fstat(handle)))
    recipe = Recipe(made(), ("learned",), (), 0)
    folder = shards.ShardFolder.open(tmp_path, recipe, [Block(0, 2)])
    synced.clear()
    folder.save(Block(0, 2), run_block(recipe, 0, 2))
    inodes = [entry.st_ino for entry in synced]
    assert inodes == [folder.shard(Block(0, 2)).stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"seed": 3}'])
def test_a_description_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(ValueError, match="delete it and sample again"):
        sample_ensemble(made(), **SETTINGS, folder=tmp_path)


@pytest.mark.parametrize(
    "other", [{"seed": 4}, {"models": 60}, {"unlearn_steps": (2,)}, {"coupled": True}], ids=str
)
def test_another_run_is_refused(tmp_path, other):
    sample_ensemble(made(), **SETTINGS, folder=tmp_path)
    with pytest.raises(ValueError, match="another run"):
        sample_ensemble(made(), **{**SETTINGS, **other}, folder=tmp_path)


@pytest.mark.parametrize(
    "other", [{"sigma": 0.03}, {"forget": range(21)}, {"radius": 3.0}], ids=str
)
def test_another_problem_is_refused(tmp_path, other):
    sample_ensemble(made(), **SETTINGS, folder=tmp_path)
    with pytest.raises(ValueError, match="another run"):
        sample_ensemble(made(**other), **SETTINGS, folder=tmp_path)


@pytest.mark.parametrize("other", [{"word_bound": 1.0}, {"forget_bias": 1.0}, {"l2": 0.1}], ids=str)
def test_models_of_another_initial_law_or_gate_are_another_run(tmp_path, other):
    words, targets = torch.tensor([[1, 2], [2, 1]]).float(), torch.tensor([0, 1])

    def sampled(**options):
        loss = Recurrent(LSTMClassifier(3, 2, 2, layers=1), **options)
        problem = Problem(loss, (words, targets), None, [0], 0.1, 0.01, 1)
        sample_ensemble(problem, ("learned",), (), models=2, folder=tmp_path)

    sampled()
    with pytest.raises(ValueError, match="another run"):
        sampled(**other)


def test_any_flipped_bit_of_a_shard_is_refused_by_name_when_it_is_read(tmp_path):
    point = ("learned", 0)
    ensemble = sample_ensemble(made(), ("learned",), (), models=2, folder=tmp_path)[point]
    whole = ensemble.weights
    (path,) = tmp_path.glob("*.safetensors")
    content = path.read_bytes()
    for place in range(0, 8 * len(content), 7):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        try:
            with pytest.raises(Altered, match=path.name):
                _ = ensemble.weights
        finally:
            path.write_bytes(content)
    assert torch.equal(ensemble.weights, whole)


def test_a_shard_of_another_run_is_refused_and_sampled_again(tmp_path):
    for name, seed in (("a", 3), ("b", 4)):
        sample_ensemble(made(), ("learned",), (), models=2, seed=seed, folder=tmp_path / name)
    (shard,) = (tmp_path / "a").glob("*.safetensors")
    (tmp_path / "b" / shard.name).write_bytes(shard.read_bytes())
    with pytest.raises(Altered, match="is not what this run has written"):
        shards.read(tmp_path / "b" / shard.name, ("learned", 0))
    settings = {"regimes": ("learned",), "unlearn_steps": (), "models": 2, "seed": 4}
    ensembles = sample_ensemble(made(), **settings, folder=tmp_path / "b")
    expected = sample_ensemble(made(), **settings)["learned", 0].weights
    assert torch.equal(ensembles["learned", 0].weights, expected)


def test_a_changed_description_of_the_run_is_refused_by_name(tmp_path):
    sample_ensemble(made(), **SETTINGS, folder=tmp_path)
    record = tmp_path / "run.json"
    record.write_bytes(record.read_bytes().replace(b'"seed": 3', b'"seed": 4'))
    with pytest.raises(Altered, match=r"run\.json"):
        sample_ensemble(made(), **{**SETTINGS, "seed": 4}, folder=tmp_path)
