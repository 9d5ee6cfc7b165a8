"""Certificates that follow each other, and what their models say together."""

import math
from dataclasses import replace

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.certificate_chain import chain_differences, joint, joint_document
from expunge.accounting.history import History, Phase
from expunge.accounting.issue import issue
from expunge.accounting.reservations import Provenance
from expunge.accounting.stated import BatchPlace, Retained, Stated
from expunge.accounting.verification import differences
from expunge.errors import Refused

FIT = "a" * 32
SYSTEM = Provenance(noise="operating system", state="sole")
RELEASE = Assumptions(
    strong_convexity=0.0, smoothness=0.0, lipschitz=1.0, initial_distance=0.1,
    marks={"initial_distance": "enforced", "smoothness": "enforced", "lipschitz": "enforced",
           "strong_convexity": "enforced"},
)  # fmt: skip
DESCENT = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)


def draw(samples, sigma):
    """One draw of release noise: mu = 0.1 / (sqrt(2) sigma)."""
    return History((Phase(1, 1.0, sigma, samples),))


def facts(number, before, **changes):
    stated = {
        "strategy": "residual", "records": 100, "provenance": SYSTEM, "workspace": FIT,
        "model_sha256": "b" * 64, "generation": number, "sequence": number,
        "previous": None if before is None else before.sha256,
        "earlier_releases": "not covered" if number > 1 else None,
        "retained": [Retained(what="the un-noised solution")],
    }  # fmt: skip
    return Stated(**stated | changes)


def chain(sigmas, **changes):
    """Certificates of one fit with these release noises, one record forgotten at each request."""
    issued = []
    for number, sigma in enumerate(sigmas, start=1):
        stated = facts(number, issued[-1] if issued else None, **changes)
        issued.append(issue(RELEASE, draw(100 - number, sigma), delta=1e-5, stated=stated))
    return issued


def test_equal_models_say_sqrt_r_times_what_one_says():
    for models in (1, 2, 9):
        certificates = chain([0.5] * models)
        together = joint(certificates)
        assert together.models == models
        assert together.mu == pytest.approx(math.sqrt(models) * certificates[0].claim.mu, rel=1e-9)
        assert together.mu >= math.sqrt(models) * certificates[0].claim.mu


def test_epsilon_is_that_of_independent_gaussians_seen_together():
    """Against an independent accountant, which composes the mechanisms numerically."""
    certificates = chain([0.2, 0.3, 0.5])
    together = joint(certificates)
    loss = pld.identity(value_discretization_interval=1e-4)
    for certificate in certificates:
        one = pld.from_gaussian_mechanism(
            1 / certificate.claim.mu, value_discretization_interval=1e-4
        )
        loss = loss.compose(one)
    assert together.epsilon == pytest.approx(loss.get_epsilon_for_delta(1e-5), rel=1e-3)
    assert together.epsilon > max(certificate.epsilon for certificate in certificates)


def test_models_trained_anew_are_the_retrained_ones():
    issued = []
    for number in (1, 2):
        before = issued[-1] if issued else None
        commitment = {
            "strategy": "retrain",
            "model_sha256": None,
            "commitments": {"model": "c" * 64},
        }
        stated = facts(number, before, **commitment)
        history = History((Phase(1, 1.0, 0.0, 100 - number),))
        same = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
        issued.append(issue(same, history, delta=1e-5, stated=stated))
    assert joint(issued).mu == 0
    assert joint(issued).epsilon == 0


def descent(number, before, observer):
    """Noisy descent after so many requests, each for one record."""
    released = observer == "all"
    phases = [
        Phase(5 if done else 50, 0.5, 2.0, 100 - done, number - done, released=released)
        for done in range(number)
    ]
    history = History((*phases, Phase(5, 0.5, 2.0, 100 - number)))
    stated = facts(number, before, strategy="langevin", earlier_releases=None)
    if not released and number > 1:
        stated = stated.model_copy(update={"earlier_releases": "not covered"})
    return issue(DESCENT, history, delta=1e-5, stated=stated)


def test_for_observer_all_the_last_certificate_speaks_for_all_models():
    first = descent(1, None, "all")
    second = descent(2, first, "all")
    together = joint([first, second])
    assert together.mu == second.claim.mu
    assert "without any forgotten record" in together.comparator


def test_where_earlier_noise_is_still_in_the_model_nothing_is_said():
    first = descent(1, None, "final")
    second = descent(2, first, "final")
    with pytest.raises(Refused, match="noise of earlier requests is still in the models"):
        joint([first, second])
    assert "observer 'all' counts every model" in joint_document([first, second])["refused"]


def test_seeded_noise_may_be_shared_so_nothing_is_said():
    seeded = Provenance(noise="seeded", state="sole")
    with pytest.raises(Refused, match="seeded"):
        joint(chain([0.5, 0.5], provenance=seeded))


def test_certificates_that_do_not_follow_each_other_are_named():
    certificates, others = chain([0.5, 0.5, 0.5]), chain([0.4, 0.5])
    assert chain_differences(certificates) == []
    assert chain_differences(certificates[1:]) == []
    (fault,) = chain_differences([certificates[0], certificates[2]])
    assert fault.field == "certificate 3: sequence"
    (fault,) = chain_differences([others[0], certificates[1]])
    assert fault.field == "certificate 2: previous"
    (fault,) = chain_differences([certificates[0], chain([0.5, 0.5], workspace="d" * 32)[1]])
    assert fault.field == "certificate 2: workspace"
    with pytest.raises(Refused, match="certificate 2: previous"):
        joint([others[0], certificates[1]])


def second_of(first, samples, **counts):
    """Another certificate after the first, each of its own numbers recomputable."""
    certificate = issue(RELEASE, draw(samples, 0.5), delta=1e-5, stated=facts(2, first, **counts))
    assert differences(certificate) == []
    return certificate


@pytest.mark.parametrize(
    ("samples", "counts", "culprit"),
    [
        (98, {"records": 30_100}, "records"),  # both raised by 30,000: its own numbers agree
        (98, {"records": 110, "joined": 5}, "records"),
        (105, {"records": 105, "joined": 5}, "forgotten"),  # fewer than before
        (98, {"records": 100, "joined": 0}, None),
        (100, {"records": 102, "joined": 2}, None),
    ],
)
def test_counts_that_contradict_the_certificate_before_are_named(samples, counts, culprit):
    faults = chain_differences([chain([0.5])[0], second_of(chain([0.5])[0], samples, **counts)])
    assert [fault.field for fault in faults] == ([f"certificate 2: {culprit}"] if culprit else [])


def test_records_that_joined_cannot_be_fewer_than_before():
    first = issue(RELEASE, draw(101, 0.5), delta=1e-5, stated=facts(1, None, records=102, joined=2))
    (fault,) = chain_differences([first, second_of(first, 98, records=101, joined=1)])
    assert fault == ("certificate 2: joined", "is 1, but certificate 1 had 2 already")


RELABELLED = Provenance(noise="operating system", labels="public", state="sole")


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"generation": 5}, "generation"),  # five models, and two records that left in all
        ({"strategy": "head"}, "strategy"),
        ({"provenance": Provenance(noise="seeded", state="sole")}, "provenance.noise"),
        ({"provenance": RELABELLED}, "provenance.labels"),
    ],
)
def test_what_a_fit_fixes_is_the_same_on_all_its_certificates(change, culprit):
    first = issue(RELEASE, draw(97, 0.5), delta=1e-5, stated=facts(1, None))
    assert chain_differences([first, second_of(first, 95)]) == []
    (fault,) = chain_differences([first, second_of(first, 95, **change)])
    assert fault.field == f"certificate 2: {culprit}"


def test_what_losses_are_divided_by_is_the_same_on_all_certificates_of_a_fit():
    fixed = [History((Phase(1, 1.0, 0.5, left),), "fixed", 100) for left in (99, 98)]
    first = issue(RELEASE, fixed[0], delta=1e-5, stated=facts(1, None))
    alike = issue(RELEASE, fixed[1], delta=1e-5, stated=facts(2, first))
    assert chain_differences([first, alike]) == []
    (fault,) = chain_differences([first, second_of(first, 98)])
    assert fault == ("certificate 2: history.normaliser_count", "is None, certificate 1 has 100")


def test_the_same_model_is_not_certified_twice():
    first = issue(RELEASE, draw(97, 0.5), delta=1e-5, stated=facts(1, None, generation=2))
    (fault,) = chain_differences([first, second_of(first, 95)])
    assert fault == ("certificate 2: generation", "0 more models than certificate 1, for 2 records")


def test_a_state_that_was_copied_stays_copied():
    copied = Provenance(noise="operating system", state="copied")
    first = issue(RELEASE, draw(99, 0.5), delta=1e-5, stated=facts(1, None, provenance=copied))
    assert chain_differences([first, second_of(first, 98, provenance=copied)]) == []
    (fault,) = chain_differences([first, second_of(first, 98)])
    assert fault.field == "certificate 2: provenance.state"
    sole = issue(RELEASE, draw(99, 0.5), delta=1e-5, stated=facts(1, None))
    assert chain_differences([sole, second_of(sole, 98, provenance=copied)]) == []


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 5},
        {"sigma": 4.0},
        {"step_size": 0.4},
        {"rounding": 1e-9},
    ],
    ids=str,
)
@pytest.mark.parametrize("observer", ["final", "all"])
def test_a_history_begins_with_that_of_the_certificate_before(observer, change):
    first = descent(1, None, observer)
    second = descent(2, first, observer)
    assert chain_differences([first, second]) == []
    assumptions, history = second.records_of_history()
    phases = (replace(history.phases[0], **change), *history.phases[1:])
    known = {name: getattr(second, name) for name in Stated.model_fields} | {"witness": None}
    known = Stated.model_validate(known)
    altered = issue(assumptions, History(phases), delta=1e-5, stated=known)
    assert differences(altered) == []
    (fault,) = chain_differences([first, altered])
    assert fault == ("certificate 2: history", "does not go on from that of certificate 1")
    other = issue(replace(assumptions, lipschitz=0.5), history, delta=1e-5, stated=known)
    (fault,) = chain_differences([first, other])
    assert fault.field == "certificate 2: history"


def test_one_certificate_has_nothing_to_be_seen_together_with():
    assert joint_document(chain([0.5])) is None
    assert joint_document(chain([0.5, 0.5]))["statement"].startswith("Whoever has all 2 models")


def test_certificates_grow_no_longer_with_the_requests_before():
    certificates = chain([0.5] * 40)
    sizes = [len(certificate.canonical()) for certificate in certificates]
    assert max(sizes[1:]) - min(sizes[1:]) < 20


# ---- requests that share a model -----------------------------------------------------------------


def batch(requests, before=None, sigma=0.5, **changes):
    """The certificates of a model that honours so many requests, one record each."""
    issued, models = [], 1 if before is None else before.generation + 1
    forgotten = requests + (0 if before is None else before.forgotten)
    for place in range(1, requests + 1):
        last = issued[-1] if issued else before
        stated = facts(1 if last is None else last.sequence + 1, last, generation=models)
        alike = {"earlier_releases": "not covered" if models > 1 else None}
        own = {"batch": BatchPlace(of=requests, place=place), "issued": "2026-01-01T00:00:00Z"}
        stated = stated.model_copy(update=alike | own | changes)
        issued.append(issue(RELEASE, draw(100 - forgotten, sigma), delta=1e-5, stated=stated))
    return issued


@pytest.fixture(scope="module")
def shared():
    """A request alone, three that share a model, and another alone."""
    (first,) = chain([0.5])
    three = batch(3, first)
    last = facts(5, three[-1], generation=3)
    return [first, *three, issue(RELEASE, draw(95, 0.5), delta=1e-5, stated=last)]


def test_certificates_of_one_model_hold_alone_and_follow_each_other(shared):
    assert [differences(certificate) for certificate in shared] == [[]] * 5
    assert chain_differences(shared) == []
    assert [one.generation for one in shared] == [1, 2, 2, 2, 3]
    assert all(chain_differences(shared[begin:end]) == [] for begin in range(4) for end in (4, 5))
    said = {tuple(one.claim.statement) + tuple(one.scope) for one in shared[1:4]}
    assert len(said) == 1
    assert "honours 3 requests at once" in " ".join(shared[2].scope)
    assert "2 to 4 in sequence" in " ".join(shared[2].scope)


def test_a_model_with_several_certificates_counts_once(shared):
    mu = shared[0].claim.mu
    assert (joint(shared).models, joint(shared).mu) == (3, pytest.approx(math.sqrt(3) * mu))
    assert joint(shared[2:]).models == 2
    assert joint_document(shared[1:4]) is None  # one model


def test_the_first_model_of_a_fit_may_honour_several_requests_and_nothing_was_released_before():
    certificates = batch(4)
    assert chain_differences(certificates) == []
    assert {one.earlier_releases for one in certificates} == {"none known"}
    assert '"batch":' not in chain([0.5])[0].canonical()


def altered(certificate, **changes):
    """The certificate with other facts, each of its numbers recomputed and fingerprints renewed."""
    known = {name: getattr(certificate, name) for name in Stated.model_fields}
    known |= {"witness": None} | changes
    samples = known.pop("samples", certificate.history.phases[0].samples)
    sigma = known.pop("sigma", certificate.history.phases[0].sigma)
    made = issue(RELEASE, draw(samples, sigma), delta=1e-5, stated=Stated.model_validate(known))
    assert differences(made) == []
    return made


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        ({"model_sha256": "c" * 64}, "model_sha256"),  # a second draw would be a second model
        ({"sigma": 0.4}, "claim"),
        ({"samples": 94, "forgotten": 6}, "forgotten"),
        ({"records": 101, "samples": 97}, "records"),
        ({"generation": 3}, "generation"),
        ({"earlier_releases": "not covered", "issued": "2026-01-02T00:00:00Z"}, "issued"),
        ({"retained": [Retained(what="less")]}, "retained"),
        ({"provenance": Provenance(noise="operating system", state="copied")}, "provenance"),
        ({"batch": BatchPlace(of=4, place=2), "samples": 95, "forgotten": 5}, "batch"),
        ({"batch": BatchPlace(of=3, place=3)}, "batch"),
        # Another model, in the middle of one; with four records its own numbers contradict it.
        ({"batch": BatchPlace(of=3, place=1), "samples": 95, "forgotten": 5}, "batch"),
        ({"batch": BatchPlace(of=3, place=None), "samples": 95, "forgotten": 5}, "batch"),
        ({"batch": None}, "batch"),
    ],
)
def test_a_forged_certificate_of_a_model_with_several_is_named(shared, change, culprit):
    forged = altered(shared[2], **change)
    faults = chain_differences([*shared[:2], forged])
    assert f"certificate 3: {culprit}" in [fault.field for fault in faults]
    with pytest.raises(Refused, match="certificate 3"):
        joint([*shared[:2], forged])


def test_a_model_is_not_left_before_its_last_certificate(shared):
    after = facts(3, shared[1], generation=3)
    early = issue(RELEASE, draw(95, 0.5), delta=1e-5, stated=after)
    (fault,) = chain_differences([*shared[:2], early])
    problem = "begins another model, but certificate 2 is not the last of its model"
    assert fault == ("certificate 3: batch", problem)


def test_a_certificate_for_all_requests_of_a_model_is_one_model_and_says_how_many():
    (first,) = chain([0.5])
    stated = facts(2, first, batch=BatchPlace(of=3, place=None), requests=["a", "b", "c"])
    whole = issue(RELEASE, draw(96, 0.5), delta=1e-5, stated=stated)
    assert differences(whole) == []
    assert chain_differences([first, whole]) == []
    assert joint([first, whole]).models == 2
    assert "this certificate is for all of them" in " ".join(whole.scope)
