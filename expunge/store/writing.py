"""Writing a generation: everything under fresh names, then one rename makes it current.

    prepare    every file that changed, and the index under a name of its own
    commit     the index takes the place of the current one
    finish     the new model and certificate take their places on top; every other file is erased

Whoever is killed before the commit leaves the old generation, afterwards the new one; the next
writer finishes. On top the old certificate goes before the new model comes, and the new certificate
comes last, so no certificate ever lies beside a model of another generation.

A ledger that decides what is current commits between `prepare` and `commit`, with the seal; after a
kill it says which seal is in force (`sole_writer(folder, seal=...)`).
"""

import errno
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from expunge.accounting.certificate import Certificate, parse_certificate
from expunge.accounting.document import validate
from expunge.accounting.verification import file_differences
from expunge.core.whole_file import sync, write_whole
from expunge.errors import InvalidInput
from expunge.store.chunks import NewChunk
from expunge.store.erasing import finish
from expunge.store.index import Chunk, File, Index, digest, read_index
from expunge.store.layout import CERTIFICATE, INDEX, MODEL, SECRET, check_ours
from expunge.store.lineage import Lineage
from expunge.store.lock import hold_lock
from expunge.store.reading import check_on_top, check_whole, find_index, find_prepared

__all__ = ["Generation", "Writer", "settle", "sole_writer", "write"]


@dataclass(frozen=True)
class Generation:
    """One state of a model, as it is to be saved.

    Args:
        kind: Which kind of model it is.
        document: Settings, ids and history, as JSON; tuples come back as lists.
        state: The arrays that the next request starts from, as a safetensors file.
        model: The model's file, as it may be handed out.
        certificate: The last one that the lineage has issued.
        chunks: New chunks, and chunks of the current generation that stay as they are; taken one
            by one, so they need not be in memory together.
    """

    kind: str
    lineage: Lineage
    document: Mapping[str, Any]
    state: bytes
    model: bytes
    certificate: Certificate | None = None
    chunks: Iterable[Chunk | NewChunk] = ()


def write(folder: str | Path, generation: Generation) -> str:
    """Save a generation in place of the one that is there; returns its seal.

    Raises:
        InvalidInput: the folder holds something else, or requests that this state does not know.
        Locked: another process is writing there.
        OSError: the disk is full, or the like; the old generation is unchanged.
        NotErased: the new generation is saved, but the old one could not be erased.
    """
    with sole_writer(folder) as writer:
        seal = writer.prepare(generation)
        writer.commit(seal)
    return seal


def settle(folder: str | Path, *, seal: str | None = None) -> None:
    """Finish what an interrupted writer left: publish what waits, erase what is not current.

    Raises:
        as `write`.
    """
    if not (Path(folder) / SECRET).is_dir():
        raise InvalidInput(str(folder), f"not a saved model (no {SECRET}/)")
    with sole_writer(folder, seal=seal):
        pass


@contextmanager
def sole_writer(folder: str | Path, *, seal: str | None = None) -> Iterator["Writer"]:
    """Be the only writer of a folder; at the end erase whatever is not current.

    Args:
        seal: The generation that a ledger says is current; None if the folder itself decides. After
            a failure nothing is erased then: the ledger may have called current by now what waits.

    Raises:
        as `write`.
    """
    folder = Path(folder)
    check_ours(folder)
    check_whole(folder, seal)  # refused before anything is touched
    with hold_lock(folder):
        writer = Writer(folder)
        if seal is not None:
            writer.commit(seal)
        try:
            yield writer
        except BaseException:
            if seal is None:
                with suppress(OSError, InvalidInput):
                    finish(folder)
            raise
        finish(folder)


class Writer:
    """The only writer of a folder; `sole_writer` makes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inside = folder / SECRET
        self._added: set[Chunk] = set()

    def add(self, chunk: NewChunk) -> Chunk:
        """Write a chunk before the generation that it is for is known; it counts once that does."""
        token = secrets.token_hex(8)
        file = _write(self.inside / f"chunk-{token}-0.{chunk.suffix}", chunk.content)
        made = _entry(chunk, file)
        self._added.add(made)
        return made

    def prepare(self, generation: Generation, *, anew: bool = False) -> str:
        """Write everything but the switch to it; returns the seal of the new generation.

        Args:
            anew: It is of a new fit, which takes the place of another, with its requests.

        Raises:
            InvalidInput: it may not replace what is there.
        """
        before = read_index(self.folder)
        _check_certificate(generation)
        _check_may_replace(self.folder, before, generation, anew)
        token = secrets.token_hex(8)
        folder, inside, stated = self.folder, self.inside, generation.certificate
        text = None if stated is None else f"{stated.readable()}\n".encode()
        document = _document(generation.document)
        parts = {
            "kind": generation.kind,
            "generation": 1 if before is None else before.generation + 1,
            "lineage": generation.lineage,
            "document": _write(inside / f"document-{token}.json", document),
            "state": _write(inside / f"state-{token}.safetensors", generation.state),
            "chunks": tuple(self._chunks(generation.chunks, before, token)),
            "model": _write(folder / f".model-{token}.safetensors", generation.model),
            "certificate": text and _write(folder / f".certificate-{token}.json", text),
        }
        index = validate(Index, parts)
        _write(inside / f"index-{token}.json", index.content())
        for place in (inside, folder, folder.parent):
            sync(place)
        return index.seal

    def commit(self, seal: str) -> None:
        """Make a prepared generation the current one; it may be current already.

        Raises:
            InvalidInput: no generation has this seal.
            OSError: the index before cannot be replaced, or is a link, whose content lies elsewhere
                and would outlive it unseen. What waits goes on waiting.
        """
        waiting, place = find_prepared(self.folder, seal), self.inside / INDEX
        if waiting is None:
            find_index(self.folder, seal)
            return
        if place.is_symlink():
            raise OSError(errno.ELOOP, "is a link; delete what it leads to, then it", str(place))
        os.replace(waiting[0], place)
        sync(self.inside)

    def _chunks(
        self, chunks: Iterable[Chunk | NewChunk], before: Index | None, token: str
    ) -> Iterator[Chunk]:
        kept = self._added | (set() if before is None else set(before.chunks))
        for number, chunk in enumerate(chunks):
            if isinstance(chunk, NewChunk):
                name = f"chunk-{token}-{number}.{chunk.suffix}"
                file = _write(self.inside / name, chunk.content)
                yield _entry(chunk, file)
            elif chunk in kept and (self.inside / chunk.file.name).is_file():
                yield chunk
            else:
                raise InvalidInput(str(self.folder), f"has no chunk {chunk.file.name} to keep")


def _entry(chunk: NewChunk, file: File) -> Chunk:
    """The index's entry of a chunk that was written."""
    rows = {"table": chunk.table, "first": chunk.first, "stop": chunk.stop}
    return validate(Chunk, rows | {"file": file})


def _write(path: Path, content: bytes) -> File:
    """Write a file that only the owner may read; returns its entry in the index."""
    write_whole(path, content, private=True)
    return File.of(path.name, content)


def _document(document: Mapping[str, Any]) -> bytes:
    """The document as JSON.

    Raises:
        InvalidInput: JSON would not bring it back as it is.
    """
    try:
        text = json.dumps(document, indent=1)
    except (TypeError, ValueError) as error:
        raise InvalidInput("document", f"cannot be saved as JSON ({error})") from error
    back = json.loads(text)
    for name, value in document.items():
        if name not in back or back[name] != _with_lists(value):
            raise InvalidInput(f"document.{name}", "JSON would not bring it back as it is")
    return f"{text}\n".encode()


def _with_lists(value: Any) -> Any:
    """The value with every tuple as the list that JSON makes of it."""
    if isinstance(value, dict):
        return {key: _with_lists(inner) for key, inner in value.items()}
    return [_with_lists(inner) for inner in value] if isinstance(value, list | tuple) else value


def _check_certificate(generation: Generation) -> None:
    """Check that the certificate is about the model, and the last of the lineage.

    Without a certificate the model itself is: records joined, and none was forgotten.

    Raises:
        InvalidInput: it is not.
    """
    certificate, issued = generation.certificate, generation.lineage.issued
    last = digest(generation.model) if certificate is None else certificate.sha256
    if (issued or certificate is not None) and last not in issued[-1:]:
        raise InvalidInput("certificate", "is not the last one that the lineage has issued")
    if certificate is not None and file_differences(certificate, digest(generation.model)):
        raise InvalidInput("model", "is not the one that its certificate is about")


def _check_may_replace(
    folder: Path, before: Index | None, generation: Generation, anew: bool
) -> None:
    """Check that no request is undone, and that what lies on top is ours.

    Raises:
        InvalidInput: the folder holds requests that this state does not know, or another's model.
    """
    if before is not None:
        if not anew:
            generation.lineage.check_follows(before.lineage, str(folder))
        check_on_top(folder, before)
        return
    path, known = folder / CERTIFICATE, None
    if path.exists():
        known = _read_certificate(path)
        if known.sha256 not in generation.lineage.issued:
            raise InvalidInput(str(folder), "holds requests of another fit; choose another folder")
    if (folder / MODEL).exists():
        actual = digest((folder / MODEL).read_bytes())
        if actual != digest(generation.model) and (not known or file_differences(known, actual)):
            raise InvalidInput(str(folder), f"holds a {MODEL} that is not ours; not touched")


def _read_certificate(path: Path) -> Certificate:
    try:
        return parse_certificate(path.read_bytes().decode())
    except ValueError as error:
        raise InvalidInput(
            str(path), f"is no certificate of ours; not touched ({error})"
        ) from error
