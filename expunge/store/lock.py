"""One process at a time writes into a folder; readers neither wait nor are waited for.

The lock is a flock on secret/.lock, which the system releases when the process ends. On a system
without flock no other process is kept out.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from expunge.store.layout import LOCK, SECRET

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None

__all__ = ["Locked", "hold_lock"]


class Locked(ValueError):
    """Another process is writing into the folder."""


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Keep other processes from writing; leave no folder if nothing was written.

    Raises:
        Locked: another process is writing.
    """
    busy = f"{folder}: another process is writing there; try again when it is done"
    inside, fresh = folder / SECRET, not folder.exists()
    inside.mkdir(mode=0o700, parents=True, exist_ok=True)
    inside.chmod(0o700)
    handle = None
    try:
        try:
            handle = os.open(inside / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            same = os.path.samestat(os.fstat(handle), (inside / LOCK).stat())
        except (BlockingIOError, FileNotFoundError) as error:
            raise Locked(busy) from error
        if not same:  # its last holder deleted the file, and another process made a new one
            raise Locked(busy)
        try:
            yield
        finally:
            with suppress(OSError):  # what the lock was held for is done; the lock goes anyway
                (inside / LOCK).unlink(missing_ok=True)
                for empty in (inside, folder) if fresh else (inside,):
                    if not any(empty.iterdir()):
                        empty.rmdir()
    finally:
        if handle is not None:
            os.close(handle)
