"""Witnesses are whole numbers, and read as they were written."""

import json

from expunge.accounting.stated import WitnessDocument
from expunge.accounting.witness import Stretch, Witness

WITNESS = Witness(
    (
        Stretch(None, ((3, 1), (4, 0)), (2, (3, (1,)), 2)),
        Stretch(5, (), ((2, (1, 2)),)),
        Stretch(),
    )
)


def test_a_document_is_read_as_it_was_written():
    text = json.dumps(WITNESS.document())
    assert Witness.read(json.loads(text)) == WITNESS
    assert WitnessDocument.model_validate_json(text).record() == WITNESS
    assert WitnessDocument.model_validate_json(text).model_dump(mode="json") == json.loads(text)


def test_every_number_is_seen():
    assert [stretch.whole_numbers for stretch in WITNESS.stretches] == [
        [3, 1, 4, 0, 2, 3, 1, 2],
        [5, 2, 1, 2],
        [],
    ]


def test_numbers_that_some_languages_round_are_not_stored():
    assert WITNESS.storable
    assert Witness((Stretch(edges=(2**53 - 1,)),)).storable
    assert not Witness((Stretch(edges=(1, 2**53)),)).storable
    assert not Witness((Stretch(edges=((2**53, (1,)),)),)).storable
    assert not Witness((Stretch(start=2**53, edges=(1,)),)).storable
