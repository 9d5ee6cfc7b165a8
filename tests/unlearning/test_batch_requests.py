"""Several requests are honoured by one model: all of them or none."""

import pytest
import torch

from expunge.errors import NoCertificate
from expunge.unlearning.batch_requests import check_names, honour_batch
from tests.unlearning.test_requests import KINDS, some_ids, states, stored


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("each", [True, False])
def test_a_batch_leads_to_one_state_with_all_of_its_certificates(kind, each):
    before = states()[kind]
    one, two, three = some_ids(before, 3)
    after, certificates = honour_batch(before, [[one], [two, three]], ["a", "b"], each=each)
    hashes = [certificate.sha256 for certificate in certificates]
    assert [certificate.requests for certificate in certificates] == (
        [["a"], ["b"]] if each else [["a", "b"]]
    )
    assert (after.issued, after.beside) == ((hashes[-1],), tuple(hashes[:-1]))
    assert after.certificate == certificates[-1]
    assert after.job.roster.request == 1
    after.check_unchanged()


@pytest.mark.parametrize(
    ("requests", "names", "complaint"),
    [
        ([], None, "requests: none given"),
        ("ab", None, "requests: must be a list with the ids of each"),
        ({0: [0]}, None, "requests: must be a list"),
        ([[0], []], None, "no ids given"),
        ([[0], [0]], None, "id 0 is given twice"),
        ([[0], ["nobody"]], None, "unknown id 'nobody'"),
        ([[0], [1]], ["a"], "names: must be one for each of the 2 requests"),
        ([[0], [1]], "ab", "names: must be one for each"),
        ([[0], [1]], ["a", ""], "names: must be texts"),
        ([[0], [1]], ["a", "a"], "names: one is given twice"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_as_a_whole(requests, names, complaint):
    before = states()["classifier"]
    assert before.job.roster.rows_of([0, 1])
    values = stored(before)
    with pytest.raises(ValueError, match=complaint):
        honour_batch(before, requests, names)
    assert all(map(torch.equal, stored(before), values))
    before.check_unchanged()


def test_a_certificate_that_is_refused_in_the_middle_of_a_batch_undoes_all_of_it(monkeypatch):
    from expunge.unlearning import issuing

    before, issue, issued = states()["classifier"], issuing.issue, []

    def refuse(*given, **named):
        if len(issued) == 2:
            raise NoCertificate("planted")
        issued.append(issue(*given, **named))
        return issued[-1]

    monkeypatch.setattr(issuing, "issue", refuse)
    values = stored(before)
    with pytest.raises(NoCertificate, match="planted"):
        honour_batch(before, [[0], [1], [2]])
    assert len(issued) == 2
    assert all(map(torch.equal, stored(before), values))
    before.check_unchanged()


def test_names_of_requests_are_one_text_for_each_or_none():
    assert check_names(None, 2) == [None, None]
    assert check_names(["a", "b"], 2) == ["a", "b"]
    for bad in ("ab", ["a"], ["a", "a"], ["a", ""], ["a", None], 3):
        with pytest.raises(ValueError, match="names: "):
            check_names(bad, 2)
