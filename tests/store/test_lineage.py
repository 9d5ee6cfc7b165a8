"""A later state is told from an earlier one, and one fit from another."""

import pytest

from expunge.errors import InvalidInput
from expunge.store import Lineage
from tests.store.generations import OTHER_FIT, certificate_after, lineage_after


def test_every_fit_has_a_name_of_its_own():
    first, second = Lineage.start(), Lineage.start()
    assert first.fit != second.fit
    assert first.issued == ()


def test_a_certificate_is_added_by_its_hash():
    certificate = certificate_after(1)
    assert lineage_after(0).after(certificate).issued == (certificate.sha256,)


@pytest.mark.parametrize(("earlier", "later"), [(0, 0), (0, 2), (1, 2), (2, 2)])
def test_a_later_state_follows_an_earlier_one(earlier, later):
    lineage_after(later).check_follows(lineage_after(earlier), "folder")


def test_an_earlier_state_does_not_follow_a_later_one():
    with pytest.raises(InvalidInput, match=r"folder: holds a request .* load it from there"):
        lineage_after(1).check_follows(lineage_after(2), "folder")


def test_of_two_states_that_honoured_different_requests_neither_follows_the_other():
    start = lineage_after(1)
    states = [start.after(certificate_after(2)), start.after(certificate_after(3))]
    for later, earlier in (states, states[::-1]):
        with pytest.raises(InvalidInput, match="not honoured"):
            later.check_follows(earlier, "folder")


def test_another_fit_follows_only_one_without_requests():
    other = lineage_after(1, OTHER_FIT)
    other.check_follows(lineage_after(0), "folder")
    with pytest.raises(InvalidInput, match="folder: holds requests of another fit"):
        other.check_follows(lineage_after(1), "folder")


def test_a_state_knows_every_certificate_that_it_has_issued_and_no_other():
    for request in (1, 2):
        lineage_after(2).check_issued(certificate_after(request), "folder")
    for certificate in (certificate_after(3), certificate_after(1, OTHER_FIT)):
        with pytest.raises(InvalidInput, match="folder: has not issued this certificate"):
            lineage_after(2).check_issued(certificate, "folder")


def test_a_certificate_beside_the_last_one_of_its_model_is_issued_too():
    certificate = certificate_after(1)
    lineage = lineage_after(1).model_copy(update={"beside": (certificate_after(2).sha256,)})
    lineage.check_issued(certificate_after(2), "folder")
    with pytest.raises(InvalidInput, match="has not issued this certificate"):
        lineage_after(1).check_issued(certificate_after(2), "folder")
    assert lineage.after(certificate_after(3)).beside == lineage.beside
    assert certificate.sha256 in lineage.issued
