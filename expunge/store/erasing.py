"""Honoured means erased: files that the index does not name are deleted, or named as still there.

Between the commit and the end of `finish` files of the generation before are still in the folder;
`unerased_files` names them without touching anything.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from expunge.core.whole_file import share, sync
from expunge.store.index import Index, read_index
from expunge.store.layout import CERTIFICATE, MODEL, SECRET, own_files
from expunge.store.reading import find_index

__all__ = ["NotErased", "finish", "unerased_files"]


class NotErased(OSError):
    """The new generation is saved, but files of an earlier one could not be deleted."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = tuple(paths)
        super().__init__(
            f"{self.paths[0]}: the new state is saved, but this file of an earlier one could not "
            "be deleted; delete it by hand, or save again"
        )


def unerased_files(folder: str | Path) -> tuple[Path, ...]:
    """Files of other generations that are still there: a writer was interrupted, or is at work.

    Raises:
        InvalidInput: the folder holds no saved model, or its index is not as it was written.
    """
    folder = Path(folder)
    index = find_index(folder)
    on_top = [folder / MODEL] if (folder / index.model.name).exists() else []
    return (*(path for path in on_top if path.exists()), *_strays(folder, index))


def finish(folder: Path) -> None:
    """Put the waiting model and certificate into their places, and erase what is not current.

    Raises:
        NotErased: files of an earlier generation are still there.
    """
    index, left = read_index(folder), []
    try:
        if index is not None:
            _publish(folder, index)
    except OSError:
        left.append(folder / MODEL)
    for path in _strays(folder, index):
        try:
            _erase(path)
        except OSError:
            left.append(path)
    sync(folder / SECRET)
    sync(folder)
    if left:
        raise NotErased(left)


def _publish(folder: Path, index: Index) -> None:
    """Put the model and the certificate that wait into their places on top."""
    if (folder / index.model.name).exists():
        (folder / CERTIFICATE).unlink(missing_ok=True)  # it is about the model before
        sync(folder)
    for file, name in zip(index.handed_out, (MODEL, CERTIFICATE), strict=False):
        waiting = folder / file.name
        if waiting.exists():
            share(waiting)
            os.replace(waiting, folder / name)
            sync(folder)


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
    if path.is_symlink():
        raise OSError(f"{path} is a link")
    path.unlink()
