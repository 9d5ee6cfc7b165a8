"""The public records of a workspace: a file that no request changes, sealed in the ledger."""

import hashlib
import json
from typing import Any

import pyarrow as pa

from expunge.errors import Altered
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.encoding import Encoding
from expunge.workspace.evaluation import evaluation
from expunge.workspace.folder import PUBLIC_RECORDS, Folder
from expunge.workspace.labels import labels_of
from expunge.workspace.options import Options
from expunge.workspace.table_limits import OWN
from expunge.workspace.table_writer import write_table
from expunge.workspace.tables import read_table

__all__ = ["evaluate_on_public", "public_records", "read_public", "write_public"]


def write_public(folder: Folder, table: pa.Table | None, name: str = PUBLIC_RECORDS) -> str:
    """Write the public records, if there are any, into a file of this name.

    Returns the setting for the ledger: the file's digest as JSON, with its name where that is not
    the usual one; null without public records.
    """
    if table is None:
        return json.dumps(None)
    path = folder.records_file(name)
    write_table(table, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return json.dumps(digest if name == PUBLIC_RECORDS else {"file": name, "sha256": digest})


def read_public(folder: Folder, setting: str) -> bytes | None:
    """Read the file of the public records, held against its digest; None without any.

    Args:
        setting: What the ledger says of it.

    Raises:
        Altered: it is missing, or not what was written.
    """
    path, stated = folder.public_file(setting), json.loads(setting)
    if stated is None:
        return None
    digest = stated["sha256"] if isinstance(stated, dict) else stated
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise Altered(str(path), "is missing, restore it from a backup") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise Altered(str(path), "was changed since it was written, restore it from a backup")
    return content


def public_records(folder: Folder, setting: str) -> pa.Table | None:
    """The public records, held against their digest; None without any.

    Raises:
        Altered: the file is missing, or not what was written.
    """
    content = read_public(folder, setting)
    if content is None:
        return None
    return read_table(folder.public_file(setting), limits=OWN, content=content)


def evaluate_on_public(
    folder: Folder, setting: str, options: Options, encoding: Encoding, head: LinearHead
) -> dict[str, Any] | None:
    """How a model does on the public records; None without any.

    Raises:
        Altered: the file is missing, or not what was written.
    """
    table, path = public_records(folder, setting), folder.public_file(setting)
    if table is None:
        return None
    return evaluation(head, encoding.encode(path, table), labels_of(path, table, options))
