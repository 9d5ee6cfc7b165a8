"""Files that appear whole or not at all, and stay after a power cut."""

import errno
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

__all__ = ["check_writable", "remove_unfinished", "share", "sync", "write_whole"]


def write_whole(path: Path, content: bytes, *, private: bool = False) -> None:
    """Write beside the target, then rename: an interrupted run leaves no half file.

    Args:
        private: Only the owner may read it, at every moment.
    """
    check_writable(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "wb") as file:
            _try_lock(handle)  # so that others can tell it from what a killed run left
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if not private:
                share(Path(name))  # temporary files are private
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def remove_unfinished(path: Path) -> None:
    """Remove what killed runs left beside a file that they were about to write.

    A file that a process is still writing is locked by it, and stays.
    """
    name = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    for left in path.parent.iterdir():
        if not name.fullmatch(left.name):
            continue
        with suppress(OSError):  # gone already, or not ours to remove
            handle = os.open(left, os.O_RDONLY)
            try:
                if _try_lock(handle):
                    left.unlink()
            finally:
                os.close(handle)


def _try_lock(handle: int) -> bool:
    """Lock an open file; False if another process has it, or the system knows no such locks."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return fcntl is not None


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
