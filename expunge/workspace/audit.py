"""`audit`: attacks on the worst case, beside what is certified. It can contradict, never certify.

Models are drawn from both laws of a deletion that was made as hard as the claim allows
(`unlearning.canaries`), and judged by `audit.sandwich`.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from expunge.audit.laws import LEAST, audit_fitted
from expunge.core.sealed_json import read_sealed_json, sealed_json
from expunge.core.whole_file import write_whole
from expunge.errors import InvalidInput
from expunge.ledger import Model
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder

__all__ = ["audit", "last_audit"]

Progress = Callable[[str], None]
AUDIT = "audit.json"  # of a workspace: evidence about its model, for the report
GENERATION = "generation"  # whose audit it is: the random name of the model's secret folder


def audit(
    workspace: Path,
    *,
    models: int | None = None,
    seed: int | None = None,
    progress: Progress = lambda _: None,
) -> dict[str, Any]:
    """Attack the claim of a workspace's strategy, and report lower bound, estimate and certificate.

    A tenth of the private records that are still present stands in for forgotten ones, because
    those that were forgotten before are gone.

    Args:
        models: Of each law; by default what catches a tenth of the noise: `MODELS`.

    Raises:
        InvalidInput: too few models, or nothing to audit.
    """
    if models is not None and models < LEAST:
        raise InvalidInput(
            "models", f"{models} are too few; {LEAST} is the least that can show anything"
        )
    folder = Folder.opened(workspace)
    estimator, model = folder.steady(lambda _, model: (loaded(folder, model), model))
    folder.ledger.close()
    progress("sampling models")
    document = {"model": model.number, **audit_fitted(estimator.fitted_, models=models, seed=seed)}
    with contextlib.suppress(OSError):  # a workspace that can only be read is audited all the same
        write_whole(folder.path / AUDIT, sealed_json({GENERATION: model.secret, **document}))
    return document


def last_audit(folder: Folder, model: Model) -> dict[str, Any] | None:
    """The last audit, if it was of this model and by the rules of `audit.verdict`.

    Raises:
        Altered: it is not as it was written.
    """
    try:
        document = read_sealed_json(folder.path / AUDIT, "audit again, or delete it")
    except OSError:
        return None
    current = document.pop(GENERATION, None) == model.secret and "decision" in document
    return document if current else None
