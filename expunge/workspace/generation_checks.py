"""Every file of a workspace's current generation, held against its index and what it came from."""

from collections.abc import Iterator
from typing import Any

from expunge.accounting.canonical import Difference
from expunge.core.stored_rows import StoredColumn
from expunge.errors import Altered
from expunge.ledger import Model
from expunge.store import read
from expunge.store.layout import INDEX, SECRET
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.public_records import read_public

__all__ = ["covered_files", "generation_differences"]

SHARED = ("epsilon", "strategy", "observer", "l2", "released", "adaptive_requests")


def generation_differences(
    folder: Folder, model: Model, options: str, head: str, public: str
) -> list[Difference]:
    """What is wrong with the files of the current generation, and with the last audit.

    Args:
        options, head, public: What the ledger's settings say.
    """
    faults = []
    try:
        read_public(folder, public)
    except Altered as error:
        faults.append(Difference(error.field, error.problem))
    try:
        estimator = loaded(folder, model)
        read(folder.saved, seal=model.seal).check()
        _check_rows(estimator)
        read_audit(folder.path / AUDIT, model)
    except Altered as error:
        return [*faults, Difference(error.field, error.problem)]
    return [*faults, *_setting_differences(estimator, Options.of(options), head)]


def covered_files(folder: Folder, model: Model, public: str, certificates: int) -> list[str]:
    """Every file that was read, by its path in the workspace."""
    paths = [folder.path / "ledger.sqlite", folder.model_file(model.sha256)]
    paths += [folder.certificate_file(number + 1) for number in range(certificates)]
    paths += [folder.public_file(public), folder.saved / SECRET / INDEX]
    paths += [folder.saved / name for name in read(folder.saved, seal=model.seal).names]
    paths += [folder.path / AUDIT] if (folder.path / AUDIT).exists() else []
    there = {path for path in paths if path.exists()}  # a certificate may be still to be written
    return sorted(path.relative_to(folder.path).as_posix() for path in there)


def _check_rows(estimator: Any) -> None:
    """Read every chunk of rows, which its reader holds against digest and bounds.

    Raises:
        Altered: one is not as it was written.
    """
    features = estimator.fitted_.job.features
    assert isinstance(features, StoredColumn)
    features.table.check()


def _setting_differences(estimator: Any, options: Options, head: str) -> Iterator[Difference]:
    """Settings in the ledger that are not those of the saved model."""
    for name in SHARED:
        if getattr(options, name) != getattr(estimator, name):
            yield Difference(f"ledger.sqlite: options.{name}", "is not that of the saved model")
    if head != estimator.fitted_.head.document():
        yield Difference("ledger.sqlite: head", "is not that of the saved model")
