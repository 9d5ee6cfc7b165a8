"""Reading a generation: without a lock, without writing, every file held against the index.

A writer may replace the generation while somebody reads it. Every file is checked against one
index, so what was read belongs together; a reader who misses a file checks whether the index has
changed, and if so starts again.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.json_text import parse_json
from expunge.accounting.verification import differences, file_differences
from expunge.errors import Altered, InvalidInput
from expunge.store.index import Chunk, File, Index, digest, read_index
from expunge.store.layout import (
    CERTIFICATE,
    INDEX,
    MODEL,
    PREPARED,
    SECRET,
    check_version,
    own_files,
)

__all__ = [
    "Saved",
    "check_on_top",
    "check_whole",
    "find_index",
    "find_prepared",
    "missing_files",
    "read",
    "read_handed_out",
    "read_steadily",
]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Saved:
    """A generation on disk; files other than the document are read when they are asked for."""

    folder: Path
    index: Index
    document: dict[str, Any]

    def state(self) -> bytes:
        """The arrays that the next request starts from."""
        return self._secret(self.index.state)

    def chunks(self, table: str) -> tuple[Chunk, ...]:
        """The chunks of a table."""
        return tuple(chunk for chunk in self.index.chunks if chunk.table == table)

    def rows(self, chunk: Chunk) -> bytes:
        """The content of one chunk."""
        return self._secret(chunk.file)

    def path_of(self, chunk: Chunk) -> Path:
        """Where a chunk lies."""
        return self.folder / SECRET / chunk.file.name

    def has(self, chunk: Chunk) -> bool:
        """Whether a chunk is there, as long as it was; its content is not read."""
        path = self.path_of(chunk)
        return path.is_file() and path.stat().st_size == chunk.file.size

    def model(self) -> bytes:
        """The model's file."""
        return self._read_handed_out(self.index.model, MODEL)

    def certificate(self) -> Certificate | None:
        """The certificate about the model; None before the first request."""
        file = self.index.certificate
        if file is None:
            return None
        return parse_certificate(self._read_handed_out(file, CERTIFICATE).decode())

    def check(self) -> tuple[str, ...]:
        """Read every file, and return the names of those read.

        Raises:
            InvalidInput: a file is not as it was written; it is named.
        """
        for file in self.index.secret:
            self._secret(file)
        self.model()
        self.certificate()
        return self.names

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files but the index."""
        on_top = (MODEL,) if self.index.certificate is None else (MODEL, CERTIFICATE)
        return (*on_top, *(f"{SECRET}/{file.name}" for file in self.index.secret))

    def _secret(self, file: File) -> bytes:
        return file.read(self.folder / SECRET / file.name)

    def _read_handed_out(self, file: File, name: str) -> bytes:
        """Read a file that waits for its place, or that is in it."""
        return file.read(self.folder / file.name, self.folder / name)


def read(folder: str | Path, *, seal: str | None = None) -> Saved:
    """Read the current generation of a folder, or the one with this seal.

    Raises:
        InvalidInput: the folder holds none, an earlier version wrote it, or a file was changed.
    """
    return read_steadily(folder, lambda saved: saved, seal=seal)


def read_steadily(
    folder: str | Path, work: Callable[[Saved], Result], *, seal: str | None = None
) -> Result:
    """Let `work` read one generation; it starts again if a writer replaced that meanwhile.

    Raises:
        InvalidInput: as for `read`, and whatever `work` raises.
    """
    folder = Path(folder)
    check_version(folder)
    while True:
        index = find_index(folder, seal)
        try:
            check_on_top(folder, index)
            text = index.document.read(folder / SECRET / index.document.name).decode()
            document: Any = parse_json(text)
            return work(Saved(folder, index, document))
        except (InvalidInput, OSError):
            if find_index(folder, seal) == index:
                raise


def missing_files(folder: str | Path, *, seal: str | None = None) -> tuple[Path, ...]:
    """The files of a generation that are not there; contents are not looked at.

    Raises:
        InvalidInput: as for `read`, of an index.
    """
    folder = Path(folder)
    index = find_index(folder, seal)
    on_top = zip(index.handed_out, (MODEL, CERTIFICATE), strict=False)
    places = [
        *((folder / file.name, folder / name) for file, name in on_top),  # waiting, or on top
        *((folder / SECRET / file.name,) for file in index.secret),
    ]
    return tuple(each[-1] for each in places if not any(path.exists() for path in each))


def read_handed_out(folder: str | Path) -> tuple[bytes, Certificate | None]:
    """Read the model's file and its certificate, without anything secret.

    Raises:
        InvalidInput: no model, a certificate that does not recompute, or one about another model.
    """
    model_path, path = Path(folder) / MODEL, Path(folder) / CERTIFICATE
    while True:
        text = _content(path)
        model = _content(model_path)
        if _content(path) == text:  # a writer takes it away before the model changes
            break
    if model is None:
        raise InvalidInput(str(folder), f"not a saved model (no {MODEL})")
    if text is None:
        return model, None
    try:
        certificate = parse_certificate(text.decode())
    except ValueError as error:
        raise InvalidInput(str(path), f"not a certificate ({error})") from error
    for field, problem in differences(certificate):
        raise InvalidInput(str(path), f"the certificate's {field}: {problem}")
    if file_differences(certificate, digest(model)):
        raise InvalidInput(str(model_path), "is not the one that its certificate is about")
    return model, certificate


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def find_index(folder: Path, seal: str | None = None) -> Index:
    """Find the current index, or the one with this seal, which may wait to become current.

    Raises:
        InvalidInput: the folder has no such index.
    """
    waiting = find_prepared(folder, seal)
    index = read_index(folder)  # last: a prepared one may become current while we look
    if index is not None and seal in (None, index.seal):
        return index
    if waiting is not None:
        return waiting[1]
    missing = f"no {SECRET}/{INDEX}" if seal is None else f"no generation with the seal {seal}"
    raise InvalidInput(str(folder), f"not a saved model ({missing})")


def find_prepared(folder: Path, seal: str | None) -> tuple[Path, Index] | None:
    """Find the index with this seal that waits to become current, and its path."""
    for path in (folder / SECRET).glob(PREPARED):
        with suppress(InvalidInput):  # a damaged one has no seal
            index = read_index(folder, path.name)
            if index is not None and index.seal == seal:
                return path, index
    return None


def check_whole(folder: Path, seal: str | None = None) -> None:
    """Check that a folder has every secret file of its generation, so that others may be erased.

    Without an index only what an unfinished first save left may be there.

    Raises:
        InvalidInput: the index, or a file that it names, is missing.
    """
    if seal is None and read_index(folder) is None:
        published = any((folder / name).exists() for name in (MODEL, CERTIFICATE))
        if published and any(path.parent.name == SECRET for path in own_files(folder)):
            raise InvalidInput(
                str(folder), f"{SECRET}/{INDEX} is missing: put it back, or choose another folder"
            )
        return
    for file in find_index(folder, seal).secret:
        if not (folder / SECRET / file.name).is_file():
            raise InvalidInput(
                str(folder / SECRET / file.name),
                "is missing, and the index names it; put back the whole folder as it was saved",
            )


def check_on_top(folder: Path, index: Index) -> None:
    """Check that the model and the certificate on top are the generation's; they may be missing.

    Raises:
        InvalidInput: a file belongs to another generation; it is named.
    """
    if (folder / index.model.name).exists():
        return  # what waits for its place will replace them
    stated = {MODEL: index.model, CERTIFICATE: index.certificate}
    for name, file in stated.items():
        path = folder / name
        if path.exists() and (file is None or digest(path.read_bytes()) != file.sha256):
            raise Altered(
                str(path),
                f"is of another state: put back {SECRET}/ of the same save, or delete it",
            )
