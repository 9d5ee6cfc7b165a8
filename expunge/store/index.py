"""The index of a generation: every file it consists of, with size and digest, under one seal.

    seal = SHA-256 of the canonical index without its seal (RFC 8785)

The file holds the canonical form and nothing else, so no byte of it can change unnoticed. A chunk
that a generation did not change keeps its file and its entry.
"""

import hashlib
import json
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from expunge.accounting.document import validate
from expunge.accounting.json_text import parse_json
from expunge.accounting.stated import SHA256
from expunge.errors import Altered, InvalidInput
from expunge.store.layout import INDEX, NAME, SECRET
from expunge.store.lineage import Lineage

__all__ = ["FORMAT", "Chunk", "File", "Index", "digest", "parse_index", "read_index"]

# 2 were linear models (estimator.json), 3 networks (unlearner.json), 4 kept who left by record.
FORMAT = 5


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal, as `sha256sum` prints it."""
    return hashlib.sha256(content).hexdigest()


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class File(_Frozen):
    """A file of the folder, as it was written."""

    name: str = Field(pattern=NAME)
    size: int = Field(ge=0)
    sha256: str = Field(pattern=SHA256)

    @classmethod
    def of(cls, name: str, content: bytes) -> "File":
        """The entry of a file with this content."""
        return cls(name=name, size=len(content), sha256=digest(content))

    def read(self, *places: Path) -> bytes:
        """The content of the first of these paths that exists.

        Raises:
            Altered: none exists, or it is not what was written; the file is named.
        """
        for path in places:
            with suppress(FileNotFoundError):
                self._check_size(path, path.stat().st_size)  # a pipe would be waited for
                content = path.read_bytes()
                break
        else:
            raise Altered(str(places[-1]), "is missing, and the index names it")
        self._check_size(path, len(content))
        if digest(content) != self.sha256:
            raise Altered(str(path), "was changed: its digest is not the one in the index")
        return content

    def _check_size(self, path: Path, size: int) -> None:
        if size != self.size:
            raise Altered(str(path), f"has {size} bytes, the index says {self.size}")


class Chunk(_Frozen):
    """The file that holds rows `first` to `stop - 1` of a table."""

    table: str = Field(pattern=r"^[a-z_]+$")
    first: int = Field(ge=0)
    stop: int = Field(ge=1)
    file: File


def _check_order(chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    """Check that each table's chunks are in the order of their rows and do not overlap."""
    reached: dict[str, int] = {}
    for chunk in chunks:
        if not reached.get(chunk.table, 0) <= chunk.first < chunk.stop:
            raise ValueError(f"{chunk.file.name} holds no rows, or overlaps those before it")
        reached[chunk.table] = chunk.stop
    return chunks


class Index(_Frozen):
    """What a generation consists of.

    Args:
        kind: Which kind of model it is; for the reader, the store does not care.
        generation: 1 for the first that was written into the folder.
        document: Settings, ids and history, as JSON.
        state: Arrays that the next request starts from.
        chunks: Rows, each table's in order.
        model, certificate: What may be handed out.
    """

    format: Literal[5] = FORMAT
    kind: str
    generation: int = Field(ge=1)
    lineage: Lineage
    document: File
    state: File
    chunks: Annotated[tuple[Chunk, ...], AfterValidator(_check_order)]
    model: File
    certificate: File | None

    @property
    def seal(self) -> str:
        """The hash by which a ledger, or whoever notes it elsewhere, knows this generation."""
        return digest(_canonical(self.model_dump(mode="json")))

    def content(self) -> bytes:
        """The index as it lies on disk."""
        document = self.model_dump(mode="json")
        return _canonical(document | {"seal": digest(_canonical(document))}) + b"\n"

    @property
    def handed_out(self) -> tuple[File, ...]:
        """The files to hand out, in the order in which they are put on top: the model first."""
        return (self.model,) if self.certificate is None else (self.model, self.certificate)

    @property
    def secret(self) -> tuple[File, ...]:
        """The files that stay in the secret folder."""
        return (self.document, self.state, *(chunk.file for chunk in self.chunks))


def _canonical(document: dict[str, Any]) -> bytes:
    """RFC 8785 of texts and whole numbers, as fast as an index of many chunks needs it."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


@lru_cache(maxsize=4)
def parse_index(content: bytes) -> Index:
    """Read an index, and check that it is as it was written.

    Raises:
        InvalidInput: it is not an index, or has another format.
        Altered: it was changed since.
    """
    try:
        document: Any = parse_json(content.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput("input", "not valid JSON: no UTF-8") from error
    if isinstance(document, dict):
        if document.get("format") != FORMAT:
            raise InvalidInput("format", f"{document.get('format')!r}, this version reads {FORMAT}")
        document.pop("seal", None)
    index = validate(Index, document)
    if index.content() != content:
        raise Altered("seal", "does not fit: the index was changed since it was written")
    return index


def read_index(folder: Path, name: str = INDEX) -> Index | None:
    """Read the index of a folder's current generation; None if the folder has none.

    Raises:
        InvalidInput: the index is not as it was written.
    """
    path = folder / SECRET / name
    try:
        return parse_index(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Altered as error:
        raise Altered(str(path), str(error)) from error
    except InvalidInput as error:
        raise InvalidInput(str(path), str(error)) from error
