"""Every file of a workspace's current generation, held against its index and what it came from."""

from collections.abc import Iterator
from typing import Any

from expunge.accounting.canonical import Difference
from expunge.errors import Altered
from expunge.ledger import Model
from expunge.store import read
from expunge.workspace.audit_record import AUDIT, read_audit
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder
from expunge.workspace.options import Options
from expunge.workspace.sealed_files import read_sealed, sealed_paths

__all__ = ["covered_files", "generation_differences"]

SHARED = ("epsilon", "strategy", "observer", "l2", "released", "adaptive_requests")


def generation_differences(
    folder: Folder, model: Model, options: str, head: str
) -> list[Difference]:
    """What is wrong with the files of the current generation, and with the last audit.

    Args:
        options, head: What the ledger's settings say.
    """
    faults = []
    for path in sealed_paths(folder, model):
        try:
            read_sealed(folder, model, path)
        except Altered as error:
            faults.append(Difference(error.field, error.problem))
    try:
        estimator = loaded(folder, model)
        read_audit(folder.path / AUDIT, model)
    except Altered as error:
        return [*faults, Difference(error.field, error.problem)]
    return [*faults, *_setting_differences(estimator, Options.of(options), head)]


def covered_files(folder: Folder, model: Model, certificates: int) -> list[str]:
    """Every file that was read and holds, by its path in the workspace.

    Raises:
        Altered: a file is not what was written.
    """
    secret = folder.secret_folder(model.secret)
    paths = [folder.path / "ledger.sqlite", folder.model_file(model.sha256)]
    paths += [folder.certificate_file(number + 1) for number in range(certificates)]
    paths += [*sealed_paths(folder, model), *(secret / name for name in read(secret).check())]
    paths += [folder.path / AUDIT] if (folder.path / AUDIT).exists() else []
    there = {path for path in paths if path.exists()}  # a certificate may be still to be written
    return sorted(path.relative_to(folder.path).as_posix() for path in there)


def _setting_differences(estimator: Any, options: Options, head: str) -> Iterator[Difference]:
    """Settings in the ledger that are not those of the saved model."""
    for name in SHARED:
        if getattr(options, name) != getattr(estimator, name):
            yield Difference(f"ledger.sqlite: options.{name}", "is not that of the saved model")
    if head != estimator.fitted_.head.document():
        yield Difference("ledger.sqlite: head", "is not that of the saved model")
