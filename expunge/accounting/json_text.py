"""JSON from strangers: every key once, and no more keys and no deeper than the reader asked for.

Depth is counted before the text is parsed: how deep a parser can go depends on the machine, and a
document that was read may still be too deep for whoever walks through it.
"""

import json
import re
from dataclasses import dataclass
from itertools import accumulate

from expunge.errors import InvalidInput

__all__ = ["USUAL", "JsonLimits", "parse_json"]

# A text in quotes, closed or not; then what opens or closes a list or an object.
QUOTED = re.compile(r'"(?:[^"\\]+|\\.)*+\\?(?:"|\Z)', re.DOTALL)
BRACKET = re.compile(r"[\[\]{}]")
STEP = {"[": 1, "{": 1, "]": -1, "}": -1}


@dataclass(frozen=True)
class JsonLimits:
    """How large a document may be.

    Args:
        keys: In all objects together.
        depth: Lists and objects inside each other; 200 is what every reader can walk through.
    """

    keys: int = 1_000_000
    depth: int = 64


USUAL = JsonLimits()


def parse_json(text: str, limits: JsonLimits = USUAL) -> object:
    """Read a JSON text in which every key is given once.

    Raises:
        InvalidInput: not JSON, a key given twice, or beyond the limits.
    """
    _check_depth(text, limits.depth)
    count = 0

    def check_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal count
        count += len(pairs)
        if count > limits.keys:
            raise InvalidInput(
                "input", f"more than {limits.keys:,} keys; --max-keys raises the limit"
            )
        values: dict[str, object] = {}
        for key, value in pairs:
            if key in values:
                raise InvalidInput(key, "given twice")
            values[key] = value
        return values

    try:
        return json.loads(text, object_pairs_hook=check_keys)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput("input", f"not valid JSON: {error.msg} ({where})") from error
    except InvalidInput:
        raise
    except ValueError as error:  # Python's limit on the digits of an integer
        raise InvalidInput("input", "a number has too many digits") from error


def _check_depth(text: str, most: int) -> None:
    """Refuse a text in which more than so many lists and objects are open at once.

    Raises:
        InvalidInput: it is deeper.
    """
    if text.count("[") + text.count("{") <= most:
        return
    brackets = BRACKET.findall(QUOTED.sub("", text))
    if max(accumulate(STEP[bracket] for bracket in brackets), default=0) > most:
        raise InvalidInput(
            "input", f"nested too deeply: beyond {most} levels; --max-depth raises the limit"
        )
