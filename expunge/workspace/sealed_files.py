"""The index of a workspace's generation: a digest of every file that the next request needs.

    records/private-T.parquet       the records as given
    records/public.parquet          the public ones, if there are any
    secret/T/secret/index.json      which in turn names every file of the saved model

It lies in the ledger with the model that it belongs to, under the ledger's seal. Each file is held
against it whenever it is read. The model has its hash for a name; certificates are in the ledger.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from expunge.accounting.canonical import canonical
from expunge.errors import Altered, InvalidInput
from expunge.ledger import Model
from expunge.store.index import read_index
from expunge.store.layout import INDEX, SECRET
from expunge.workspace.folder import PUBLIC_RECORDS, Folder

__all__ = ["index_of_files", "index_of_saved", "missing_files", "read_sealed", "sealed_paths"]


def index_of_saved(folder: Folder, secret: str) -> Path:
    """The index of the saved model of a generation."""
    return folder.secret_folder(secret) / SECRET / INDEX


def index_of_files(folder: Folder, *, secret: str, records: str) -> str:
    """Index the files of a new generation, as JSON for the ledger."""
    paths = [folder.records_file(records), index_of_saved(folder, secret)]
    public = folder.records_file(PUBLIC_RECORDS)
    paths += [public] if public.exists() else []
    return canonical({_name(folder, path): _digest(path.read_bytes()) for path in paths})


def sealed_paths(folder: Folder, model: Model) -> Iterator[Path]:
    """The files that a generation's index names."""
    return (folder.path / name for name in json.loads(model.files))


def missing_files(folder: Folder, model: Model) -> list[str]:
    """The files of a generation that are not there, by their paths; contents are not looked at."""
    paths = [folder.model_file(model.sha256), *sealed_paths(folder, model)]
    secret = folder.secret_folder(model.secret)
    with suppress(InvalidInput):  # a damaged index is what verify finds
        index = read_index(secret)
        if index is not None:
            paths += [secret / SECRET / file.name for file in index.secret]
    return [str(path) for path in paths if not path.exists()]


def read_sealed(folder: Folder, model: Model, path: Path) -> bytes:
    """Read a file of a generation, held against the index.

    Raises:
        Altered: it is missing, or not what was written; it is named.
    """
    stated = json.loads(model.files).get(_name(folder, path))
    if stated is None:
        raise Altered(str(path), "is not in the index of the ledger's current model")
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise Altered(str(path), "is missing, restore it from a backup") from error
    if _digest(content) != stated:
        raise Altered(str(path), "was changed since it was written, restore it from a backup")
    return content


def _name(folder: Folder, path: Path) -> str:
    return path.relative_to(folder.path).as_posix()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
