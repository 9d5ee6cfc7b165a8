"""Folders that appear whole or not at all."""

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from expunge.core.whole_file import sync
from expunge.errors import InvalidInput

__all__ = ["check_new_folder", "whole_folder"]


def check_new_folder(path: Path) -> None:
    """Check, before long work, that a folder can be made there; an empty one may be there.

    Raises:
        InvalidInput: something else is there.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InvalidInput(str(path), "exists already; choose another folder")
    if path.exists() and path.samefile(Path.cwd()):
        raise InvalidInput(str(path), "is the folder that you are in; name a new one")


@contextmanager
def whole_folder(path: Path, purpose: str) -> Iterator[Path]:
    """A hidden folder to fill, which then takes the name; an exception leaves nothing of it.

    What killed runs left is removed.

    Args:
        purpose: A word in the hidden folder's name.
    """
    building = _building(path, purpose)
    try:
        yield building
        if path.exists():
            path.rmdir()
        building.rename(path)
        sync(building.parent)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _building(path: Path, purpose: str) -> Path:
    path = Path(os.path.abspath(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for stale in path.parent.glob(f".{glob.escape(path.name)}.{purpose}-*"):
            if not _alive(stale.name.rpartition("-")[2]):
                shutil.rmtree(stale)
        building = path.parent / f".{path.name}.{purpose}-{os.getpid()}"
        building.mkdir(mode=0o700)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return building


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return int(pid) != os.getpid()
