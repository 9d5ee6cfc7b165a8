"""What `export` wrote, read back by whoever was given it: a predictor and its certificate.

    known = HandedOut.read("handed_out")
    known.predict(table)            # columns as they were given to `fit`

Needs neither the workspace nor a record; a model that its certificate does not name is refused.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of

from expunge.accounting.certificate import Certificate
from expunge.accounting.json_text import parse_json
from expunge.errors import InvalidInput
from expunge.store import read_handed_out
from expunge.unlearning.linear.linear_head import LinearHead
from expunge.workspace.encoding import Encoding

__all__ = ["HandedOut"]


@dataclass(frozen=True)
class HandedOut:
    """A model that was handed out.

    Args:
        folder: Where it was read from.
        certificate: None before the first deletion.
    """

    folder: Path
    head: LinearHead
    encoding: Encoding
    certificate: Certificate | None

    @classmethod
    def read(cls, folder: str | Path) -> Self:
        """Read a folder that `export` wrote, in any format.

        Raises:
            InvalidInput: a file is missing or damaged, the certificate does not recompute, or it is
                about another model.
        """
        folder = Path(folder)
        content, certificate = read_handed_out(folder)
        path = folder / "encoding.json"
        if not path.is_file():
            raise InvalidInput(str(path), "is missing")
        try:
            rules: Any = parse_json(path.read_text(encoding="utf-8"))
            columns, model = rules["columns"], json.dumps(rules["model"])
            columns = [columns, rules["features"]] if "features" in rules else columns
            encoding = Encoding.of(json.dumps(columns))
            head = LinearHead.of(tensors_of(content)["theta"], model)
        except (ValueError, LookupError, TypeError, SafetensorError) as error:
            raise InvalidInput(str(path), f"does not belong to the model ({error})") from error
        return cls(folder, head, encoding, certificate)

    def predict(self, table: pa.Table) -> np.ndarray:
        """Predict labels, or values of a regression.

        Raises:
            InvalidInput: a column is missing or of another kind.
        """
        return self.head.predict(self._rows(table))

    def predict_proba(self, table: pa.Table) -> np.ndarray:
        """The probability of every class: (rows, classes).

        Raises:
            InvalidInput: as `predict`.
        """
        return self.head.probabilities(self._rows(table))

    def _rows(self, table: pa.Table) -> Any:
        return self.encoding.encode(self.folder, table)
