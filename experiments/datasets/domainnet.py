"""DomainNet: image folders and official split lists, 345 classes gathered into the paper's 24.

    DomainNet/clipart/aircraft_carrier/clipart_001_000018.jpg
    DomainNet/clipart_train.txt, clipart_test.txt       lines "clipart/aircraft_carrier/....jpg 0"

(lists may also lie in DomainNet/splits). The number in a list is the class among 345; the folder's
name is what counts here. Paper: its appendix, "DomainNet data".
"""

from pathlib import Path

import numpy as np

from experiments.datasets.files import BadData, DataMissing, find
from experiments.datasets.records import DataSet, Pair
from experiments.datasets.superclasses import SUPERCLASSES

__all__ = ["DOMAINS", "domainnet", "sample_grid", "superclass_of"]

DOMAINS = ("clipart", "infograph", "painting", "quickdraw", "real", "sketch")
LAYOUT = "DomainNet/{DOMAIN}/{CLASS}/*.jpg and DomainNet/{DOMAIN}_{train,test}.txt"
CLASSES = tuple(SUPERCLASSES)


def _plain(name: str) -> str:
    return name.lower().replace(" ", "_").replace("-", "_")


PLACES = {
    _plain(name): place for place, names in enumerate(SUPERCLASSES.values()) for name in names
}


def superclass_of(name: str) -> int:
    """The place of a class in the paper's table, however its words are joined.

    Raises:
        BadData: the table does not have it.
    """
    if _plain(name) not in PLACES:
        raise BadData(f"{name!r} is not one of DomainNet's {len(PLACES)} classes")
    return PLACES[_plain(name)]


def domainnet(domain: str, folder: Path | None = None) -> DataSet:
    """Paths of a domain's images as features; groups are the 345 classes.

    Raises:
        DataMissing: no lists, or a list names an image that is not there.
        BadData: a line that is no path and number, or an unknown class.
    """
    if domain not in DOMAINS:
        raise BadData(f"no domain {domain!r}; there are {', '.join(DOMAINS)}")
    root = find(folder, ["DomainNet", "domainnet"], LAYOUT)
    paths, targets, tests, groups = [], [], [], []
    for part in ("train", "test"):
        listed = find(root, [f"{domain}_{part}.txt", f"splits/{domain}_{part}.txt"], LAYOUT)
        for number, line in enumerate(listed.read_text("utf-8").splitlines(), 1):
            name, _, label = line.rpartition(" ")
            parts = name.split("/")
            if len(parts) != 3 or not label.isdigit():
                raise BadData(f"{listed}, line {number}: expected DOMAIN/CLASS/FILE and a number")
            targets.append(superclass_of(parts[1]))
            groups.append(parts[1])
            paths.append(root / name)
            tests.append(part == "test")
    absent = next((path for path in paths if not path.is_file()), None)
    if absent is not None:
        raise DataMissing(f"{absent}: listed and not there; unpack {domain}.zip in {root}")
    return DataSet(
        f"DomainNet {domain}",
        np.array(paths, dtype=object),
        np.array(targets, dtype=np.int64),
        CLASSES,
        np.array(tests, dtype=bool),
        np.array(groups),
    )


def sample_grid(pair: Pair, path: Path, columns: int = 8, seed: int = 0) -> None:
    """One image of each of some classes that both sets have, public above private, as a PNG.

    The images are the data set's: the file is for its reader, not for a repository.
    """
    import matplotlib.pyplot as plt

    both = sorted(set(pair.public.targets.tolist()) & set(pair.private.targets.tolist()))
    generator = np.random.default_rng(seed)
    shown = sorted(generator.permutation(both)[:columns].tolist())
    page, axes = plt.subplots(
        2, len(shown), figsize=(1.3 * len(shown), 3.1), squeeze=False, layout="constrained"
    )
    for line, (role, data) in enumerate((("public", pair.public), ("private", pair.private))):
        for axis, target in zip(axes[line], shown, strict=True):
            chosen = int(generator.choice(np.flatnonzero(data.targets == target)))
            axis.imshow(picture(Path(data.features[chosen])))
            axis.set_xticks([])
            axis.set_yticks([])
            if line == 0:
                axis.set_title(data.classes[target], fontsize=7)
        axes[line, 0].set_ylabel(f"{role}\n{data.source.removeprefix('DomainNet ')}", fontsize=8)
    page.savefig(path, dpi=130)
    plt.close(page)


def picture(path: Path, side: int = 128) -> np.ndarray:
    """(side, side, 3) bytes."""
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((side, side)))
