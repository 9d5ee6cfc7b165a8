"""`expunge sample`: an ensemble in a file."""

import pytest
from safetensors.torch import load_file

from tests.cli.test_main import expunge
from tests.cli.workspaces import made, printed, refused

SMALL = ("--models", 20, "--learn-steps", 4, "--unlearn-steps", 2, "--sigma", 0.1)


@pytest.fixture
def workspace(tmp_path):
    return made(tmp_path)


def test_models_are_written_and_counted(workspace, tmp_path):
    file = tmp_path / "models.safetensors"
    document = printed("sample", workspace, "00003", "--output", file, *SMALL)
    found = load_file(file)["weights"]
    assert list(found.shape) == [20, *document["shape"]]
    assert document["regime"] == "unlearned"
    outcome = expunge(
        "sample", workspace, "--ids", "-", "--output", file, "--regime", "retrained", *SMALL,
        stdin="00003\n00004\n",
    )  # fmt: skip
    assert outcome.out == f"20 retrained models: {file}\n"


def test_bad_input_is_one_line(workspace, tmp_path):
    file = tmp_path / "models.safetensors"
    assert "nobody" in refused("sample", workspace, "nobody", "--output", file, *SMALL)
    assert "not a workspace" in refused("sample", tmp_path, "00003", "--output", file, *SMALL)
    absent = tmp_path / "no" / "models.safetensors"
    assert "No such file" in refused("sample", workspace, "00003", "--output", absent, *SMALL)
    assert not file.exists()
