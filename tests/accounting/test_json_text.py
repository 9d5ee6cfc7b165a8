"""JSON from strangers: keys once, and limits that are counted before anything is built."""

import json

import pytest

from expunge.accounting.json_text import USUAL, JsonLimits, parse_json
from expunge.errors import InvalidInput


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_a_key_given_twice_is_refused_at_any_depth():
    for text in ('{"a": 1, "a": 1}', '{"b": [{"a": 1, "a": 2}]}'):
        with pytest.raises(InvalidInput) as refused:
            parse_json(text)
        assert refused.value.field == "a"


@pytest.mark.parametrize("text", ["", "{", "[1,]", "{'a': 1}", '"\\', "[" * 100_000])
def test_what_is_not_json_is_called_so_on_one_line(text):
    with pytest.raises(InvalidInput, match=r"not valid JSON|nested too deeply") as refused:
        parse_json(text)
    assert refused.value.field == "input"
    assert "\n" not in str(refused.value)


def test_depth_is_counted_exactly_and_the_flag_that_raises_it_is_named():
    assert parse_json(nested(USUAL.depth)) is not None
    with pytest.raises(InvalidInput, match="--max-depth raises the limit"):
        parse_json(nested(USUAL.depth + 1))
    assert parse_json(nested(USUAL.depth + 1), JsonLimits(depth=USUAL.depth + 1)) is not None


@pytest.mark.parametrize("quoted", ["[" * 200, '\\"[' * 200, "\\\\", '{"' * 200, "]" * 200])
def test_brackets_in_texts_do_not_count(quoted):
    document = [quoted] * 3 + [[]] * 100
    assert parse_json(json.dumps(document)) == document


def test_width_is_not_depth():
    document = [[1], {"a": []}] * 1000
    assert parse_json(json.dumps(document)) == document


def test_keys_are_counted_in_all_objects_together():
    text = json.dumps([{"a": 1, "b": {"c": 1}}] * 4)  # 12 keys
    assert parse_json(text, JsonLimits(keys=12))
    with pytest.raises(InvalidInput, match="more than 11 keys; --max-keys raises the limit"):
        parse_json(text, JsonLimits(keys=11))


@pytest.mark.parametrize("text", ['"' * 300_000, '"\\' * 150_000, "[" + '"\\"' * 100_000])
def test_texts_that_never_end_take_no_longer_than_others(text):
    with pytest.raises(
        InvalidInput, match=r"not valid JSON|too deeply"
    ):  # a quadratic scan would hang here
        parse_json(text + "[" * 65, JsonLimits(depth=64))
