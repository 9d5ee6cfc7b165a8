"""Files that appear whole or not at all, and stay after a power cut."""

import errno
import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

__all__ = ["check_writable", "remove_unfinished", "share", "sync", "write_whole", "writing_whole"]

UNFINISHED = ".unfinished"  # ends the names of files that are still being written


def write_whole(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write beside the target, then rename: an interrupted run leaves no half file.

    What killed runs left beside the target is removed first, except beside private files: whoever
    owns their folder knows what lies there.

    Args:
        private: Only the owner may read it, at every moment.
    """
    with writing_whole(path, private=private) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write into, part by part: it is the target once the block has ended well.

    Args:
        private: As for `write_whole`.
    """
    check_writable(path)
    if not private:
        remove_unfinished(path)
    try:
        handle, new = _new_file(path, "" if private else UNFINISHED)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:  # closing it ends the lock
            yield file
            file.flush()
            os.fsync(handle)
            if not private:
                share(new)  # temporary files are private
            if fcntl is not None:
                new.replace(path)
        if fcntl is None:  # such a system does not rename what is open
            new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def share(path: Path) -> None:
    """Let a file be read by all who may read a file that was just made."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def check_writable(path: Path) -> None:
    """Check, before long work, that a file can be put there.

    Raises:
        OSError: it is a folder, or its own folder is missing.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder, not a file", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))


def sync(path: Path) -> None:
    """Flush to disk a file that was written elsewhere, or a folder's list of names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_unfinished(path: Path) -> None:
    """Remove what killed runs left of this file; a run that still writes holds a lock on its own.

    Without locks on this system nothing is removed: nobody could tell the two apart.
    """
    if fcntl is None:
        return
    for left in path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}"):
        with suppress(OSError):  # in use, gone meanwhile, or not ours to remove
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(handle)


def _new_file(path: Path, ending: str) -> tuple[int, Path]:
    """Make and lock an empty file beside the target."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=ending)
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, Path(name)
        os.close(handle)  # somebody removed it before it was locked
