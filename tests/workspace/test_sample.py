"""`sample`: models of one law into one file or a folder of shards; repeatable, resumable."""

import pytest
from safetensors.torch import load_file

from expunge.errors import InvalidInput
from expunge.workspace.sample import Sampling, sample
from tests.workspace.tables_made import usual

SMALL = Sampling(models=30, learn_steps=5, unlearn_steps=2, sigma=0.1)


def weights(folder, name="models.safetensors", sampling=SMALL, forget=("00003", "00004")):
    path = folder / name
    sample(folder / "workspace", path, forget, sampling)
    return load_file(path)["weights"]


@pytest.fixture
def here(tmp_path):
    assert usual(tmp_path) == tmp_path / "workspace"
    return tmp_path


def test_one_file_holds_all_models_and_a_seed_repeats_them(here):
    first = weights(here)
    assert first.shape[0] == 30
    assert (first == weights(here, "again.safetensors")).all()
    other = Sampling(models=30, learn_steps=5, unlearn_steps=2, sigma=0.1, seed=1)
    assert (first != weights(here, "other.safetensors", other)).any()


def test_regimes_differ(here):
    found = [
        weights(here, f"{regime}.safetensors", Sampling(regime, 30, 5, 2, 0.1))
        for regime in ("unlearned", "retrained", "learned")
    ]
    assert (found[0] != found[1]).any()
    assert (found[0] != found[2]).any()


def test_a_folder_takes_shards_and_goes_on_where_it_was(here):
    document = sample(here / "workspace", here / "shards", ["00003"], SMALL)
    assert document["models"] == 30
    (shard,) = (here / "shards").glob("*.safetensors")
    before = shard.read_bytes()
    shard.unlink()
    sample(here / "workspace", here / "shards", ["00003"], SMALL)
    assert shard.read_bytes() == before


def test_sigma_is_langevin_s_own_unless_it_is_given(here):
    document = sample(
        here / "workspace", here / "m.safetensors", ["00003"], Sampling(models=4, learn_steps=5)
    )
    assert document["sigma"] > 0
    assert document["forgotten"] == 1


@pytest.mark.parametrize(
    ("forget", "sampling", "culprit"),
    [
        (["nobody"], SMALL, "nobody"),
        ([], SMALL, "name the records"),
        (["00003"], Sampling(models=0), "models"),
        (["00003"], Sampling(sigma=-1.0), "sigma"),
        (["00003"], Sampling(device="nowhere"), "nowhere"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(here, forget, sampling, culprit):
    before = sorted(here.rglob("*"))
    with pytest.raises(InvalidInput, match=culprit):
        sample(here / "workspace", here / "m.safetensors", forget, sampling)
    assert sorted(here.rglob("*")) == before
