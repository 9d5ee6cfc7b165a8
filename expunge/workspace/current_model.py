"""The current model as a head that predicts: weights from its file, the rest from the ledger.

Predicting never opens a private record.
"""

import hashlib

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of

from expunge.core.part_engine import HERE, PartEngine
from expunge.errors import Altered, InvalidInput
from expunge.ledger import Model
from expunge.store.layout import INDEX, SECRET
from expunge.unlearning.linear.estimator import CertifiedClassifier, CertifiedRegressor, load
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.folder import Folder
from expunge.workspace.stored_settings import damaged

__all__ = ["head_of", "loaded"]


def head_of(folder: Folder, model: Model, head: str) -> LinearHead:
    """Read the model's file as a head that predicts.

    Args:
        head: What the ledger says of it.

    Raises:
        InvalidInput: the model's file is not the one that the ledger names.
    """
    path = folder.model_file(model.sha256)
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != model.sha256:
        raise Altered(str(path), "is not the model that the ledger names; it was changed")
    try:
        theta = tensors_of(content)["theta"]
    except (SafetensorError, KeyError) as error:
        raise InvalidInput(str(path), f"not a model ({error})") from error
    try:
        return LinearHead.of(theta, head)
    except ValueError as error:
        raise damaged("head", str(error)) from error


def loaded(
    folder: Folder, model: Model, *, on_disk: bool = True, engine: PartEngine = HERE
) -> CertifiedClassifier | CertifiedRegressor:
    """The estimator behind the current model, records and secrets included.

    Args:
        on_disk: Read the rows that are asked for when they are asked for, and no others.
        engine: Computes the parts of passes over them.

    Raises:
        Altered: its files are damaged.
    """
    path, index = folder.saved, folder.saved / SECRET / INDEX
    if not index.is_file():
        raise Altered(str(index), "is missing, restore it from a backup")
    try:
        return load(path, on_disk=on_disk, engine=engine, seal=model.seal)
    except Altered as error:
        restore = f"{error.problem}; restore {path} from a backup"
        raise Altered(error.field, restore) from error
    except ValueError as error:
        named = index if isinstance(error, InvalidInput) and error.field == str(index) else path
        raise Altered(str(named), f"is damaged, restore it from a backup ({error})") from error
