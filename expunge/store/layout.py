"""What lies where in a store's folder, and which files there are ours.

    model.safetensors                what may be handed out: the model,
    certificate.json                 and the certificate about it, after the first request
    .model-T.safetensors             a new model or certificate, while it waits for its place
    secret/index.json                the index of the current generation
    secret/document-T.json           settings, ids, history
    secret/state-T.safetensors       arrays that the next request starts from
    secret/chunk-T-N.safetensors     rows (or .parquet), or preprocessing (.skops)
    secret/index-T.json              the index of a generation that is not current yet
    secret/.lock                     while a process writes

T is a random token of the generation that wrote the file. Only the owner may read secret/.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from expunge.errors import InvalidInput

__all__ = [
    "CERTIFICATE",
    "INDEX",
    "LOCK",
    "MODEL",
    "NAME",
    "PREPARED",
    "SECRET",
    "check_ours",
    "check_version",
    "own_files",
]

MODEL, CERTIFICATE, SECRET = "model.safetensors", "certificate.json", "secret"
INDEX, LOCK = "index.json", ".lock"
TOKEN = "[0-9a-f]{16}"
WAITING = rf"\.model-{TOKEN}\.safetensors|\.certificate-{TOKEN}\.json"
INSIDE = rf"(document|index)-{TOKEN}\.json|state-{TOKEN}\.safetensors"
INSIDE += rf"|chunk-{TOKEN}-[0-9]+\.(safetensors|parquet|skops)"
NAME = rf"^({WAITING}|{INSIDE})$"  # of every file that an index may name
UNFINISHED = r"\.[a-z0-9_]{8}"  # what `write_whole` adds, after a dot in front
PREPARED = f"index-{'?' * 16}.json"
EARLIER = ("estimator.json", "secret/unlearner.json")


def own_files(folder: Path) -> Iterator[Path]:
    """The files that some generation wrote, waiting, prepared and unfinished ones included.

    The index, the model and the certificate in their places are not among them: new ones replace
    them.
    """
    for place, names in ((folder, WAITING), (folder / SECRET, INSIDE)):
        pattern = re.compile(rf"({names})|\.({names}){UNFINISHED}")
        if place.is_dir():
            yield from (path for path in place.iterdir() if pattern.fullmatch(path.name))


def check_ours(folder: Path) -> None:
    """Check that a folder holds nothing but what a store writes.

    A link is let pass here, and named as an erasure that waits once something is to be erased.

    Raises:
        InvalidInput: it holds something else, or what an earlier version saved; it is named.
    """
    check_version(folder)
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InvalidInput(str(folder), "is a file, not a folder; choose another name")
    inside = folder / SECRET
    known = {folder / MODEL, folder / CERTIFICATE, inside, inside / INDEX, inside / LOCK}
    known |= set(own_files(folder))
    here = [*folder.iterdir(), *(inside.iterdir() if inside.is_dir() else ())]
    foreign = sorted(str(path.relative_to(folder)) for path in here if path not in known)
    if foreign:
        raise InvalidInput(
            str(folder), f"holds {foreign[0]!r}, which is no part of a saved model; not touched"
        )
    for path in here:
        if path.is_dir() and not path.is_symlink() and path != inside:
            raise InvalidInput(str(path), "is a folder, not a file: put the file itself there")


def check_version(folder: Path) -> None:
    """Check that no earlier version saved its model here.

    Raises:
        InvalidInput: an earlier version did; its file is named.
    """
    for name in EARLIER:
        if (folder / name).exists():
            raise InvalidInput(
                str(folder),
                f"{name} was written by an earlier version of expunge, which this one does not "
                "read; load it with the version that wrote it, or fit again in another folder",
            )
