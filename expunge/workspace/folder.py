"""What lies where in a workspace, and how it stays whole.

    ledger.sqlite                  what was asked and done; the truth
    models/<sha256>.safetensors    the current model
    certificates/<n>.json          written from the ledger
    records/*.parquet              the records as given, without those that were forgotten
    secret/<token>/                what the next request starts from; never handed out
    audit.json                     the last audit, which the report shows

A request writes its files under new names, then one ledger transaction makes them current, then
what is no longer current is deleted. A process that is killed in between leaves the old state or
the new one; `sweep` cleans up after it.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from expunge.accounting.certificate import parse_certificate
from expunge.core.whole_file import remove_unfinished, write_whole
from expunge.errors import InvalidInput
from expunge.ledger import Busy, Entries, Ledger, Model
from expunge.workspace.audit_record import AUDIT

__all__ = ["PUBLIC_RECORDS", "Folder"]

Result = TypeVar("Result")
PUBLIC_RECORDS = "public.parquet"
# Names that we give, unfinished files included; whatever else lies there is not ours to sweep.
OURS = {
    "models": re.compile(r"\.?[0-9a-f]{64}\.safetensors.*"),
    "certificates": re.compile(r"\.?\d+\.json.*"),
    "records": re.compile(r"\.?(private-[0-9a-f]{8}|public)\.parquet.*"),
    "secret": re.compile(r"[0-9a-f]{8}"),
}


class Folder:
    """A workspace's paths and ledger."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger(path / "ledger.sqlite")

    @classmethod
    def opened(cls, path: Path) -> "Folder":
        """Open an existing workspace, and clean up after runs that were killed.

        Raises:
            InvalidInput: there is no workspace.
        """
        if not (path / "ledger.sqlite").is_file():
            raise InvalidInput(str(path), "not a workspace; make one with expunge fit")
        folder = cls(path)
        folder.sweep()
        return folder

    def sweep(self) -> None:
        """Call `settle`, unless another process works on the workspace: it will sweep itself."""
        try:
            with self.ledger.writing() as entries:
                self.settle(entries)
        except Busy:
            pass

    def model_file(self, sha256: str) -> Path:
        return self.path / "models" / f"{sha256}.safetensors"

    def certificate_file(self, number: int) -> Path:
        return self.path / "certificates" / f"{number}.json"

    def records_file(self, name: str) -> Path:
        return self.path / "records" / name

    def secret_folder(self, name: str) -> Path:
        return self.path / "secret" / name

    @contextmanager
    def reading(self) -> Iterator[tuple[Entries, Model]]:
        """The ledger and the current model."""
        with self.ledger.reading() as entries:
            yield entries, current_model(entries)

    def steady(self, work: Callable[[Entries, Model], Result]) -> Result:
        """What `work` returns; repeated as long as a request was honoured in the middle of it.

        Readers do not wait for writers, but a writer deletes the files of the earlier model.
        """
        while True:
            problem, result = None, None
            with self.reading() as (entries, model):
                try:
                    result = work(entries, model)
                except (OSError, InvalidInput) as error:
                    problem = error
            with self.reading() as (_, after):
                if after.number != model.number:
                    continue
            if problem is not None:
                raise problem
            return result  # pyright: ignore[reportReturnType]

    def settle(self, entries: Entries) -> None:
        """Delete what is not current; write the certificates that the ledger holds.

        The caller is the only writer, so no file here is still being made.
        """
        model = current_model(entries)
        keep = {
            self.model_file(model.sha256),
            self.records_file(model.records),
            self.records_file(PUBLIC_RECORDS),
            self.secret_folder(model.secret),
        }
        for number, document in entries.certificates().items():
            file = self.certificate_file(number)
            keep.add(file)
            if not file.exists():
                write_whole(file, f"{parse_certificate(document).readable()}\n".encode())
        for kind, ours in OURS.items():
            for path in (self.path / kind).iterdir():
                if ours.fullmatch(path.name) and path not in keep:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        remove_unfinished(self.path / AUDIT)  # of an audit that was killed


def current_model(entries: Entries) -> Model:
    """The model that is in use: the last in the ledger."""
    models = entries.models()
    if not models:
        raise InvalidInput("ledger.sqlite", "holds no model")
    return models[-1]
