"""DomainNet's folders and lists, on small images."""

import numpy as np
import pytest
from PIL import Image

from experiments.datasets.domainnet import CLASSES, domainnet, picture, sample_grid, superclass_of
from experiments.datasets.files import BadData, DataMissing
from experiments.datasets.records import Pair
from tests.experiments.datasets import made


@pytest.mark.parametrize("lists", ["", "splits"])
def test_lists_decide_the_split_and_folders_the_superclass(tmp_path, lists):
    data = domainnet("clipart", made.domainnet(tmp_path, lists=lists))
    assert (len(data.train), len(data.test)) == (6, 3)
    assert [data.classes[t] for t in data.test.targets] == [
        "Building", "Water Transportation", "Others",
    ]  # fmt: skip
    assert data.test.groups.tolist() == ["The_Eiffel_Tower", "aircraft_carrier", "teddy-bear"]
    assert picture(data.features[0]).shape == (128, 128, 3)


def test_names_are_found_however_they_are_joined():
    for name in ("hot_air_balloon", "hot air balloon", "Hot-Air-Balloon"):
        assert CLASSES[superclass_of(name)] == "Sky Transportation"
    with pytest.raises(BadData, match="'kettle' is not one of DomainNet's 345 classes"):
        superclass_of("kettle")


def test_a_listed_image_that_is_not_there_is_named(tmp_path):
    folder = made.domainnet(tmp_path)
    missing = next((folder / "DomainNet/clipart/teddy-bear").iterdir())
    missing.unlink()
    with pytest.raises(DataMissing, match=f"{missing.name}: listed and not there; unpack clipart"):
        domainnet("clipart", folder)


def test_absent_folders_broken_lists_and_other_domains_are_refused(tmp_path):
    with pytest.raises(DataMissing, match=r"no DomainNet or domainnet; .*DOMAIN"):
        domainnet("clipart", tmp_path)
    folder = made.domainnet(tmp_path)
    with pytest.raises(DataMissing, match=r"no real_train\.txt"):
        domainnet("real", folder)
    with pytest.raises(BadData, match="no domain 'cartoon'"):
        domainnet("cartoon", folder)
    (folder / "DomainNet/clipart_test.txt").write_text("clipart/cat/1.jpg\n")
    with pytest.raises(BadData, match="line 1: expected DOMAIN/CLASS/FILE and a number"):
        domainnet("clipart", folder)


def test_a_grid_shows_both_domains(tmp_path):
    folder = made.domainnet(tmp_path)
    sets = domainnet("quickdraw", folder), domainnet("clipart", folder)
    path = tmp_path / "grid.png"
    sample_grid(Pair("quickdraw/clipart", *sets), path)
    with Image.open(path) as page:
        pixels = np.asarray(page.convert("RGB")).reshape(-1, 3)
    assert page.format == "PNG"
    colours = {tuple(c) for c in np.unique(pixels // 50, axis=0).tolist()}
    assert {(0, c // 50, 0) for c in (0, 80, 160)} & colours  # public: no blue
    assert any(blue == 2 and red in (0, 1, 3) for red, _, blue in colours)  # private: blue 100
