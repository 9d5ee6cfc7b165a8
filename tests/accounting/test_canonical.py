"""Canonical form and fingerprints, held against the examples of RFC 8785."""

import json

import pytest

from expunge.accounting.canonical import altered_fields, canonical, fingerprints, leaves, sha256
from expunge.errors import InvalidInput

DOCUMENT = {"b": 1.0, "a": {"x": 0.1, "list": [1, 2], "rows": [{"y": None}, {"y": "z"}]}}


def test_the_rfcs_own_example_is_reproduced():
    """RFC 8785, section 3.2.2."""
    document = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    assert canonical(document) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_a_number_has_one_form_whether_it_was_written_as_1_or_as_1_0():
    assert canonical({"x": 1.0}) == canonical({"x": 1}) == '{"x":1}'
    assert canonical(json.loads(canonical(DOCUMENT))) == canonical(DOCUMENT)
    assert sha256({"x": 1.0}) == sha256({"x": 1})


def test_the_largest_count_is_exact():
    assert canonical(2**53) == "9007199254740992"
    with pytest.raises(InvalidInput, match="no canonical form"):
        canonical(2**53 + 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: "x"}, object()])
def test_what_json_cannot_hold_is_refused(value):
    with pytest.raises(InvalidInput, match="no canonical form"):
        canonical({"value": value})


def test_every_leaf_has_a_path_and_lists_of_plain_values_are_one():
    assert dict(leaves(DOCUMENT)) == {
        "b": 1.0,
        "a.x": 0.1,
        "a.list": [1, 2],
        "a.rows[0].y": None,
        "a.rows[1].y": "z",
    }


def test_an_altered_a_removed_and_an_added_leaf_are_named():
    stated = fingerprints(DOCUMENT)
    assert list(altered_fields(DOCUMENT, stated)) == []
    changed = {"b": 2.0, "c": 3, "a": {"x": 0.1, "list": [1, 2], "rows": [{"y": None}]}}
    problems = dict(altered_fields(changed, stated))
    assert problems == {
        "b": "altered after the certificate was issued",
        "c": "added after the certificate was issued",
        "a.rows[1].y": "removed after the certificate was issued",
    }
