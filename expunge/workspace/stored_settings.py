"""What `fit` wrote into the ledger as JSON, read like a stranger's document.

Types are checked as strictly as JSON allows, so that a damaged setting is refused where it is read
and not noticed, or missed, where it is used.
"""

from functools import cache
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from expunge.accounting.json_text import parse_json
from expunge.errors import InvalidInput

__all__ = ["STRICT", "damaged", "read_object", "read_setting"]

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)  # of the records in settings


def read_setting(kind: Any, name: str, document: object) -> Any:
    """Read a setting as a record of this kind.

    Args:
        kind: A type whose records have the configuration `STRICT`.

    Raises:
        InvalidInput: it is not as it was written; the setting and the field are named.
    """
    if not isinstance(document, str):
        raise damaged(name, "not text")
    try:
        parse_json(document)
        return _reader(kind).validate_json(document)
    except InvalidInput as error:
        raise damaged(name, str(error)) from error
    except ValidationError as errors:
        first = errors.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise damaged(name, f"{place}: {first['msg']}".removeprefix(": ")) from errors


def read_object(name: str, document: str) -> dict[str, Any]:
    """Read a setting that is a JSON object for people, of no further form.

    Raises:
        InvalidInput: it is none.
    """
    try:
        known = parse_json(document)
    except InvalidInput as error:
        raise damaged(name, str(error)) from error
    if not isinstance(known, dict):
        raise damaged(name, "not an object")
    return known


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def damaged(name: str, problem: str) -> InvalidInput:
    """The complaint about a setting that is not as it was written."""
    return InvalidInput(
        "ledger.sqlite", f"setting {name!r} is damaged ({problem}); restore it from a backup"
    )
