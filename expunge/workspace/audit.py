"""`audit`: attacks on the worst case, beside what is certified. It can contradict, never certify.

Models are drawn from both laws of a deletion that was made as hard as the claim allows
(`audit.laws`), and judged by `audit.sandwich`. Rows stay on disk: passes read them in stretches.
"""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from expunge.audit.laws import LEAST, audit_fitted
from expunge.core.sealed_json import sealed_json
from expunge.core.whole_file import write_whole
from expunge.errors import InvalidInput
from expunge.ledger import Busy
from expunge.workspace.audit_record import AUDIT, GENERATION
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder

__all__ = ["audit"]

Progress = Callable[[str], None]


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
    estimator, model = folder.steady(
        lambda _, model: model, lambda model: (loaded(folder, model), model)
    )
    progress("sampling models")
    document = {"model": model.number, **audit_fitted(estimator.fitted_, models=models, seed=seed)}
    # A workspace that can only be read, or that is written to for long, is audited all the same.
    with contextlib.suppress(OSError, Busy, InvalidInput), folder.ledger.writing():
        write_whole(folder.path / AUDIT, sealed_json({GENERATION: model.seal, **document}))
    folder.ledger.close()
    return document
