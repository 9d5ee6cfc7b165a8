"""Frozen steps as a file, and back: skops, with a list of what may be in it; never pickle.

A step whose code is not among scikit-learn's estimators, NumPy's and SciPy's functions and this
library's own transformers is refused by name: reading a file must run nothing that the file chose.
"""

from importlib import import_module
from typing import Any

from expunge.errors import InvalidInput, MissingPackage
from expunge.features.frozen_steps import FrozenSteps, StepRecord

__all__ = ["steps_from", "steps_to_bytes"]

# Beyond what skops itself takes to be safe: scikit-learn's estimators, NumPy's and SciPy's ufuncs.
TRUSTED = frozenset(
    {
        "expunge.features.declared_columns.DeclaredColumns",
        "expunge.features.tree_leaves.TreeLeaves",
        "numpy.dtype",
        "scipy.interpolate._bsplines.BSpline",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
    }
)
FORMAT = 1


def steps_to_bytes(frozen: FrozenSteps) -> bytes:
    """The steps as the bytes of a skops file.

    Raises:
        InvalidInput: a step holds something that no reader would accept; it is named.
        MissingPackage: skops is not installed.
    """
    skops = _skops()
    for step in frozen.steps:
        problem = "holds what cannot be saved"
        try:
            strange = _strange(skops, skops.dumps(step.transformer))
        except Exception as error:  # whatever an object does that was not made to be written
            raise InvalidInput(f"steps: {step.name!r}", f"{problem} ({error})") from error
        if strange:
            raise InvalidInput(
                f"steps: {step.name!r}",
                f"{problem}: {', '.join(strange)}; steps of scikit-learn, NumPy functions and this "
                "library's own can be",
            )
    return skops.dumps(
        {
            "format": FORMAT,
            "steps": [
                [step.name, step.transformer, step.origin, list(step.declared)]
                for step in frozen.steps
            ],
            "public": frozen.public,
            "width": frozen.width,
            "columns": None if frozen.columns is None else list(frozen.columns),
        }
    )


def steps_from(content: bytes) -> FrozenSteps:
    """The steps that `steps_to_bytes` wrote.

    Raises:
        InvalidInput: not such a file, or it holds what is not on the list; it is named.
        MissingPackage: skops is not installed.
    """
    skops = _skops()
    try:
        strange = _strange(skops, content)
        if not strange:
            return _frozen(skops.loads(content, trusted=sorted(TRUSTED)))
    except Exception as error:  # a file that is none fails in as many ways as there are bytes
        raise InvalidInput("steps", f"no file of preprocessing steps ({error})") from error
    raise InvalidInput("steps", f"the file holds {', '.join(strange)}, which is not trusted")


def _frozen(document: dict[str, Any]) -> FrozenSteps:
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']!r}, this version reads {FORMAT}")
    steps = tuple(
        StepRecord(name, transformer, origin, tuple(declared))
        for name, transformer, origin, declared in document["steps"]
    )
    columns = document["columns"]
    return FrozenSteps(
        steps,
        document["public"],
        document["width"],
        None if columns is None else tuple(columns),
    )


def _strange(skops: Any, content: bytes) -> list[str]:
    """Names of what a file holds beyond what is trusted."""
    return sorted(set(skops.get_untrusted_types(data=content)) - TRUSTED)


def _skops() -> Any:
    """The package that reads and writes scikit-learn's estimators without pickle.

    Raises:
        MissingPackage: it is not installed.
    """
    try:
        return import_module("skops.io")
    except ImportError as error:
        raise MissingPackage(
            "skops", "saving a pipeline needs it: pip install 'expunge[pipelines]'"
        ) from error
