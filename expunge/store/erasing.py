"""Honoured means erased: files that the index does not name are deleted, or named as still there.

Between the commit and the end of `finish` files of the generation before are still in the folder;
`unerased_files` names them without touching anything.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from expunge.core.whole_file import share, sync
from expunge.store.index import Index, read_index
from expunge.store.layout import CERTIFICATE, INDEX, MODEL, SECRET, own_files
from expunge.store.reading import find_index, find_prepared

__all__ = ["NotErased", "finish", "unerased_files"]


class NotErased(OSError):
    """The new generation is saved, but files of an earlier one could not be deleted."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            f"{self.paths[0]}: the new state is saved, but this file of an earlier one could not "
            "be deleted; delete it by hand, or save again"
        )


def unerased_files(folder: str | Path, *, seal: str | None = None) -> tuple[Path, ...]:
    """Files of other generations that are still there: a writer was interrupted, or is at work.

    Args:
        seal: The generation that a ledger says is current; None if the folder itself decides.

    Raises:
        InvalidInput: the folder holds no such model, or its index is not as it was written.
    """
    folder = Path(folder)
    waiting = None if seal is None else find_prepared(folder, seal)
    index = find_index(folder, seal)
    strays = [path for path in _strays(folder, index) if waiting is None or path != waiting[0]]
    replaced = () if waiting is None else (folder / SECRET / INDEX,)
    return (*_in_the_way(folder, index), *replaced, *strays)


def finish(folder: Path) -> None:
    """Put the waiting model and certificate into their places, and erase what is not current.

    Raises:
        NotErased: files of an earlier generation are still there.
    """
    index, left = read_index(folder), []
    if index is not None:
        try:
            _publish(folder, index)
        except OSError:
            left += _in_the_way(folder, index) or (folder / MODEL,)
    try:
        for path in tuple(_strays(folder, index)):
            try:
                _erase(path)
            except OSError:
                left.append(path)
        sync(folder / SECRET)
        sync(folder)
    except OSError:  # what is there cannot be listed, or not made to last
        left.append(folder / SECRET)
    if left:
        raise NotErased(left)


def _publish(folder: Path, index: Index) -> None:
    """Put the model and the certificate that wait into their places on top.

    Raises:
        OSError: a file of the generation before is in the way: it cannot be replaced, or is a link,
            whose content lies elsewhere and would outlive it unseen. What waits goes on waiting.
    """
    if (folder / index.model.name).exists():
        _erase(folder / CERTIFICATE)  # it is about the model before
        sync(folder)
    for file, name in zip(index.handed_out, (MODEL, CERTIFICATE), strict=False):
        waiting, place = folder / file.name, folder / name
        if waiting.exists():
            _refuse_link(place)
            share(waiting)
            os.replace(waiting, place)
            sync(folder)


def _in_the_way(folder: Path, index: Index) -> tuple[Path, ...]:
    """What lies on top and is of the generation before."""
    waits = [(folder / file.name).exists() for file in index.handed_out]
    names = [MODEL, CERTIFICATE] if waits[0] else [CERTIFICATE] if any(waits) else []
    return tuple(folder / name for name in names if os.path.lexists(folder / name))


def _strays(folder: Path, index: Index | None) -> Iterator[Path]:
    """Files of ours that the index does not name."""
    named = set()
    if index is not None:
        named = {folder / SECRET / file.name for file in index.secret}
        named |= {folder / file.name for file in index.handed_out}
    return (path for path in sorted(own_files(folder)) if path not in named)


def _erase(path: Path) -> None:
    """Delete a file of ours.

    Raises:
        OSError: it cannot be deleted, or is a link, whose content lies elsewhere.
    """
    _refuse_link(path)
    path.unlink(missing_ok=True)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise OSError(f"{path} is a link")
