"""What lies where in a workspace, and how it stays whole.

    ledger.sqlite                  what was asked and done; the truth
    models/<sha256>.safetensors    the current model
    certificates/<n>.json          written from the ledger
    records/public.parquet         the public records as given; public-N.parquet those of fit N
    secret/saved/                  what the next request starts from; never handed out (`store`):
                                   the model's state, and in chunks the private records as given,
                                   without those that were forgotten, and their encoded rows
    secret/arriving.sqlite         ids of the records of a new fit, until it is current
    secret/.lock                   while a process works on the requests
    audit.json                     the last audit, which the report shows

A request writes what changes under new names, then one ledger transaction makes it current, by the
seal of its index, then what is no longer current is deleted (`workspace.forget` has the states). A
process that is killed in between leaves the old state or the new one; the next that writes cleans
up after it. Readers change nothing and wait for nobody.
"""

import errno
import json
import os
import platform
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from expunge.accounting.certificate import parse_certificate
from expunge.core.whole_file import remove_unfinished, sync, write_whole
from expunge.errors import InvalidInput
from expunge.ledger import Busy, Entries, Lease, Ledger, Model, Overtaken
from expunge.store import NotErased, missing_files, settle, unerased_files
from expunge.store.layout import INDEX, SECRET
from expunge.store.lock import hold_lock
from expunge.workspace.audit_record import AUDIT

__all__ = ["LEDGER", "PUBLIC", "PUBLIC_RECORDS", "Folder", "current_model"]

Seen = TypeVar("Seen")
Result = TypeVar("Result")
PUBLIC = "public"  # the setting that says which file holds the public records, if any
PUBLIC_RECORDS = "public.parquet"
LEDGER = "ledger.sqlite"
LINK = "is a link; delete what it leads to, then the link"
# Names that we give, unfinished files included; whatever else lies there is not ours to sweep.
OURS = {
    "models": re.compile(r"\.?[0-9a-f]{64}\.safetensors.*"),
    "certificates": re.compile(r"\.?\d+\.json.*"),
    "records": re.compile(r"\.?public(-\d+)?\.parquet.*"),
    "secret": re.compile(r"arriving\.sqlite.*"),
    ".": re.compile(r"\.audit\.json\..*"),
}


class Folder:
    """A workspace's paths and ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger(path / LEDGER)

    @classmethod
    def opened(cls, path: Path) -> "Folder":
        """Open an existing workspace; nothing is written.

        Raises:
            InvalidInput: there is no workspace.
        """
        if not (path / LEDGER).is_file():
            raise InvalidInput(str(path), "not a workspace; make one with expunge fit")
        return cls(path)

    def model_file(self, sha256: str) -> Path:
        return self.path / "models" / f"{sha256}.safetensors"

    def certificate_file(self, number: int) -> Path:
        return self.path / "certificates" / f"{number}.json"

    def records_file(self, name: str) -> Path:
        return self.path / "records" / name

    def public_file(self, setting: str) -> Path:
        """The file of the public records, by what the ledger says of them (`public_records`)."""
        stated = json.loads(setting)
        name = stated["file"] if isinstance(stated, dict) else PUBLIC_RECORDS
        return self.records_file(name)

    @property
    def arriving(self) -> Path:
        """Where the ids of a new fit lie, until it is current."""
        return self.path / "secret/arriving.sqlite"

    @property
    def saved(self) -> Path:
        """Where the saved model lies, with its rows and the records (`expunge.store`)."""
        return self.path / "secret/saved"

    # ---- readers ----------------------------------------------------------------------------

    def look(self, at: Callable[[Entries, Model], Seen]) -> Seen:
        """What `at` reads from the ledger, all of one moment; be short, and open no files."""
        while True:
            with suppress(Overtaken), self.ledger.reading() as entries:
                return at(entries, current_model(entries))

    def steady(
        self, at: Callable[[Entries, Model], Seen], work: Callable[[Seen], Result]
    ) -> Result:
        """What `work` makes of what `at` read; again if a request or a refresh came in between.

        Readers do not wait for writers, but a writer deletes the files of the earlier model.
        """
        while True:
            problem, result = None, None
            begun, seen = self.look(lambda entries, model: (_state(model), at(entries, model)))
            try:
                result = work(seen)
            except (OSError, InvalidInput) as error:
                problem = error
            if self.look(lambda _, model: _state(model)) != begun:
                continue
            if problem is not None:
                raise problem
            return result  # pyright: ignore[reportReturnType]

    def strays(self, entries: Entries) -> tuple[Path, ...]:
        """Our files that are not current, but for the saved model's: left, or in the making.

        A folder that is gone has none; what should be in it is missing, which others tell.
        """
        model = current_model(entries)
        keep = {
            self.model_file(model.sha256),
            self.public_file(entries.setting(PUBLIC)),
            *map(self.certificate_file, entries.certificates()),
        }
        return tuple(
            path
            for kind, ours in OURS.items()
            if (self.path / kind).is_dir()
            for path in sorted((self.path / kind).iterdir())
            if ours.fullmatch(path.name) and path not in keep
        )

    def missing(self, model: Model, public: str) -> list[str]:
        """The files of a generation that are not there, by their paths; contents are not looked at.

        Args:
            public: What the ledger says of the public records.
        """
        paths = [self.model_file(model.sha256)]
        paths += [] if json.loads(public) is None else [self.public_file(public)]
        paths.append(self.saved / SECRET / INDEX)
        paths = [path for path in paths if not path.exists()]
        with suppress(InvalidInput):  # a damaged index is what verify finds
            paths += missing_files(self.saved, seal=model.seal)
        return [str(path) for path in paths]

    def unerased(self, entries: Entries) -> tuple[Path, ...]:
        """What a request or a refresh still has to erase; empty when all are honoured."""
        if not entries.has_committed():
            return ()
        try:
            saved = unerased_files(self.saved, seal=current_model(entries).seal)
        except InvalidInput:  # a later request is just replacing it, or it is damaged
            saved = (self.saved,)
        return (*self.strays(entries), *saved)

    # ---- who works --------------------------------------------------------------------------

    @contextmanager
    def leased(self) -> Iterator[Lease]:
        """Be the only process that works on the requests; one that died is succeeded at once.

        Raises:
            Locked: another process works on them.
            Busy: the ledger cannot be written.
        """
        with hold_lock(self.path):
            with self.ledger.writing() as entries:
                lease = entries.take_lease(f"process {os.getpid()} on {platform.node()}")
            try:
                yield lease
            finally:
                with suppress(Busy, InvalidInput), self.ledger.writing() as entries:
                    entries.return_lease(lease)

    def finish(self, lease: Lease) -> tuple[str, ...]:
        """Erase what is not current, then call what is committed honoured; or say what is left.

        Raises:
            Overtaken: another process has taken the lease.
        """
        with self.ledger.writing() as entries:  # so nothing becomes current meanwhile
            entries.check_lease(lease)
            committed = entries.has_committed()
            problems = tuple(self._sweep(entries))
        if not committed or problems:
            return problems
        if not self.ledger.empty_log():
            return (f"{self.path / 'ledger.sqlite'}-wal: somebody still reads earlier entries",)
        with self.ledger.writing() as entries:
            entries.check_lease(lease)
            entries.close_committed()
        return ()

    def _sweep(self, entries: Entries) -> Iterator[str]:
        """Write the ledger's certificates, delete what is not current; yields what went wrong."""
        for number, document in entries.certificates().items():
            file = self.certificate_file(number)
            if file.is_symlink() or (file.exists() and not file.is_file()):
                yield f"{file}: is no file of its own, and the certificate belongs there"
            elif not file.exists():
                try:
                    write_whole(file, f"{parse_certificate(document).readable()}\n".encode())
                except (OSError, InvalidInput) as error:
                    yield f"{file}: cannot be written ({error})"
        for path in self.strays(entries):
            yield from _erase(path)
        try:
            settle(self.saved, seal=current_model(entries).seal)
        except NotErased as error:
            for path in error.paths:
                yield f"{path}: {LINK if path.is_symlink() else 'cannot be deleted'}"
        except OSError as error:  # such as an index that cannot be replaced
            yield f"{error.filename2 or error.filename}: {error.strerror}"
        remove_unfinished(self.path / AUDIT)  # of an audit that was killed
        for kind in OURS:
            if (self.path / kind).is_dir():
                sync(self.path / kind)
            else:
                yield f"{self.path / kind}: is gone; restore it from a backup"


def _erase(path: Path) -> Iterator[str]:
    """Delete a file; yields that it is still there, and why.

    A link is left: what it leads to lies elsewhere, and would outlive it unseen.
    """
    try:
        if path.is_symlink():
            raise OSError(errno.ELOOP, LINK)
        path.unlink()
    except OSError as error:
        yield f"{path}: {error.strerror}"


def _state(model: Model) -> tuple[int, str]:
    """What tells one state of a workspace from another."""
    return model.number, model.seal


def current_model(entries: Entries) -> Model:
    """The model that is in use: the last in the ledger."""
    models = entries.models()
    if not models:
        raise InvalidInput("ledger.sqlite", "holds no model")
    return models[-1]
