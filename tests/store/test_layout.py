"""Which files of a folder are ours; everything else is left alone."""

import pytest

from expunge.errors import InvalidInput
from expunge.store import read, settle, write
from expunge.store.layout import check_ours, own_files
from tests.store.generations import files_in, fresh, saved_in

TOKEN = "0123456789abcdef"
LEFT_BEHIND = (
    f".model-{TOKEN}.safetensors",
    f"..model-{TOKEN}.safetensors.ab12_xyz",
    f".certificate-{TOKEN}.json",
    f"secret/document-{TOKEN}.json",
    f"secret/index-{TOKEN}.json",
    f"secret/.index-{TOKEN}.json.ab12_xyz",
    f"secret/state-{TOKEN}.safetensors",
    f"secret/.state-{TOKEN}.safetensors.ab12_xyz",
    f"secret/chunk-{TOKEN}-17.parquet",
)
FOREIGN = (
    "thesis.txt",
    "model.safetensors.bak",
    "state.safetensors",
    f"state-{TOKEN}.safetensors",
    ".model-1.safetensors",
    "secret/thesis.txt",
    "secret/model.safetensors",
    f"secret/state-{TOKEN}.safetensors.bak",
    f"secret/chunk-{TOKEN}.safetensors",
    f"secret/{TOKEN}/state.safetensors",
)


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_what_a_killed_writer_left_is_ours_and_swept(tmp_path, name):
    folder = saved_in(tmp_path / "m")
    before = files_in(folder)
    (folder / name).write_bytes(b"left behind")
    assert folder / name in set(own_files(folder))
    settle(folder)
    assert files_in(folder) == before


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("saved", [True, False])
def test_what_others_put_there_is_named_and_not_touched(tmp_path, name, saved):
    folder = tmp_path / "m"
    if saved:
        saved_in(folder)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("years of work")
    before = files_in(folder)
    for verb in (lambda: write(folder, fresh()), lambda: check_ours(folder)):
        with pytest.raises(InvalidInput, match="not touched") as caught:
            verb()
        assert str(folder) in str(caught.value)
        assert "/".join(name.split("/")[:2]) in str(caught.value)
    assert files_in(folder) == before
    if saved:
        assert read(folder).document["requests"] == 0  # readers do not mind


def test_a_file_in_place_of_the_folder_is_not_touched(tmp_path):
    (tmp_path / "m").write_text("years of work")
    with pytest.raises(InvalidInput, match="is a file, not a folder"):
        write(tmp_path / "m", fresh())
    assert (tmp_path / "m").read_text() == "years of work"


@pytest.mark.parametrize("name", ["estimator.json", "secret/unlearner.json"])
def test_folders_of_earlier_versions_are_refused_by_name_with_the_remedy(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text('{"format": 2}')
    before = files_in(tmp_path)
    for verb in (lambda: read(tmp_path), lambda: write(tmp_path, fresh())):
        with pytest.raises(
            InvalidInput, match=f"{name} was written by an earlier version"
        ) as caught:
            verb()
        assert "load it with the version that wrote it, or fit again" in str(caught.value)
    assert files_in(tmp_path) == before


def test_a_folder_in_a_files_place_is_refused(tmp_path):
    folder = saved_in(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    with pytest.raises(InvalidInput, match=r"model.safetensors: is a folder"):
        check_ours(folder)
