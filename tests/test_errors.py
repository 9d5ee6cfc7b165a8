"""The ways to say no, and they are not the same."""

import pickle

import pytest

from expunge.errors import (
    Altered,
    InvalidInput,
    MissingPackage,
    NoCertificate,
    NotConverged,
    Refused,
)


def test_invalid_input_names_its_field_on_one_line():
    error = InvalidInput("phases[0].sigma", "must be finite")
    assert str(error) == "phases[0].sigma: must be finite"
    assert (error.field, error.problem) == ("phases[0].sigma", "must be finite")


def test_a_refusal_is_not_an_input_error():
    assert issubclass(InvalidInput, ValueError)
    assert not issubclass(Refused, ValueError)
    assert not issubclass(InvalidInput, Refused)
    with pytest.raises(Refused, match="why"):
        raise Refused("why")


def test_what_voids_a_certificate_is_neither_a_refusal_nor_wrong_input():
    for kind in (NoCertificate, NotConverged):
        assert issubclass(kind, RuntimeError)
        assert not issubclass(kind, (Refused, ValueError))


def test_a_missing_package_is_wrong_input_that_can_be_told_from_the_rest():
    assert issubclass(MissingPackage, InvalidInput)
    assert (
        str(MissingPackage("bound", "needs the package other")) == "bound: needs the package other"
    )


@pytest.mark.parametrize("kind", [InvalidInput, Altered, MissingPackage])
def test_a_workers_error_reaches_its_caller_as_it_was(kind):
    error = pickle.loads(pickle.dumps(kind("rows.npy", "is not what was written")))
    assert type(error) is kind
    assert (error.field, str(error)) == ("rows.npy", "rows.npy: is not what was written")
