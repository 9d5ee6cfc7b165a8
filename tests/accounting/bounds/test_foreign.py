"""Bounds of other packages: found by entry points, watched, never in the place of ours."""

import json
import math
import sys

import pytest

from expunge.accounting import Assumptions, History, InvalidInput, Phase, Refused, account
from expunge.accounting.bounds import BOUNDS
from expunge.accounting.bounds.foreign import find_bound, installed, is_foreign
from expunge.accounting.canonical import fingerprints
from expunge.accounting.certificate import parse_certificate
from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.accounting.verification import differences
from expunge.errors import MissingPackage

SURE = dict.fromkeys(("strong_convexity", "smoothness", "lipschitz"), "enforced")
LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0, marks=SURE)
PIPELINE = History((Phase(50, 1.0, 1.0, 1000, 10), Phase(5, 1.0, 1.0, 990)))
NOTHING = History((Phase(50, 1.0, 1.0, 1000, 0),))
CODE = """
from expunge.accounting.bounds import GDP, HockeyStick, Renyi
from expunge.errors import InvalidInput, Refused

class Says:
    def __init__(self, epsilon, renyi=None):
        self.said, self.divergence = epsilon, renyi
    def epsilon(self, delta):
        return self.said
    def renyi(self, order):
        return self.divergence

def bound(assumptions, history):
    %s
"""


@pytest.fixture
def offer(tmp_path, monkeypatch):
    """Puts a package with bounds on the path, with the metadata that an installation leaves."""
    modules = []

    def offered(package: str = "other-package", **bounds: str) -> None:
        folder = tmp_path / package
        about = folder / f"{package.replace('-', '_')}-1.0.dist-info"
        about.mkdir(parents=True, exist_ok=True)
        lines = []
        for name, code in bounds.items():
            module = f"{package.replace('-', '_')}_{name}"
            (folder / f"{module}.py").write_text(CODE % code if code else "raise OSError('gone')")
            lines.append(f"{name} = {module}:bound")
            modules.append(module)
            sys.modules.pop(module, None)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[expunge.bounds]\n" + "\n".join(lines) + "\n")
        monkeypatch.syspath_prepend(folder)
        installed.cache_clear()

    yield offered
    monkeypatch.undo()
    installed.cache_clear()
    for module in modules:
        sys.modules.pop(module, None)


def judged(history: History = PIPELINE, **options):
    return account(LOSS, history, delta=1e-5, **options)


def test_without_other_packages_there_are_ours_alone():
    assert list(judged().bounds) == list(BOUNDS)


def test_a_bound_is_listed_after_ours_and_changes_nothing_else(offer):
    alone = judged().document()
    offer(tight="return GDP(1e-9)")
    document = judged().document()
    assert list(document["bounds"]) == [*BOUNDS, "other-package:tight"]
    assert document["bounds"].pop("other-package:tight")["mu"] == pytest.approx(1e-9)
    assert document == alone


NONSENSE = {
    "nan": "return Says(float('nan'))",
    "infinite": "return Says(float('inf'))",
    "negative": "return Says(-1.0)",
    "text": "return Says('0.1')",
    "switch": "return Says(True)",
    "complex": "return Says(1j)",
    "nothing": "return None",
    "number": "return 0.0",
    "class": "return Says",
    "renyi": "return Says(0.1, float('nan'))",
    "renyi_text": "return Says(0.1, 'much')",
    "mu": "return GDP(-0.5)",
    "mu_nan": "return GDP(float('nan'))",
    "mu_text": "return GDP('0')",
    "divergence": "return Renyi(lambda order: float('nan'))",
    "curve": "return HockeyStick(lambda epsilon: 0.0)",
}
FAILURES = {
    "raises": ("raise KeyError('radius')", "fails with KeyError: 'radius'"),
    "divides": ("return GDP(1 / 0)", "fails with ZeroDivisionError"),
    "complains": ("raise InvalidInput('delta', 'too\\n small')", "InvalidInput: delta: too small"),
    "exits": ("raise SystemExit('bye')", "fails with SystemExit: bye"),
    "refuses": ("raise Refused('needs a radius')", "needs a radius"),
    "gone": ("", "fails with OSError: gone"),
    "lazy": ("return Says(0.1, (0).missing)", "fails with AttributeError"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_by_reason_and_breaks_nothing(offer, name):
    offer(bad=NONSENSE[name])
    listed = judged()
    assert listed.best == "shift"
    assert listed.bounds["other-package:bad"].refused
    asked = judged(bound="bad")
    assert (asked.best, asked.epsilon, asked.vacuous) == (None, None, True)
    assert asked.best_reason.startswith("other-package:bad was asked for and refused: ")
    json.dumps(listed.document(), allow_nan=False)
    with pytest.raises(Refused, match="other-package:bad was asked for and refused"):
        issue(LOSS, PIPELINE, delta=1e-5, bound="bad")


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_refused_by_reason_and_breaks_nothing(offer, name):
    code, reason = FAILURES[name]
    offer(bad=code)
    listed = judged()
    assert listed.best == "shift"
    assert reason in listed.bounds["other-package:bad"].refused
    assert "\n" not in listed.bounds["other-package:bad"].refused


@pytest.mark.parametrize("name", BOUNDS)
def test_a_name_of_ours_cannot_be_overridden(offer, name):
    alone = judged().bounds[name]
    offer(**{name: "return GDP(1e-9)"})
    assert judged().bounds[name] == alone
    assert "cannot be overridden" in judged().bounds[f"other-package:{name}"].refused
    with pytest.raises(InvalidInput, match="one of expunge's own"):
        judged(bound=name)


def test_a_bound_that_two_packages_offer_is_asked_for_with_its_package(offer):
    offer("a-package", drift="return GDP(0.1)")
    offer("b-package", drift="return GDP(0.2)")
    with pytest.raises(InvalidInput, match="a-package:drift, b-package:drift"):
        find_bound("drift")
    assert judged(bound="b-package:drift").bounds["b-package:drift"].mu == pytest.approx(0.2)
    assert judged(bound="b-package:drift").best == "b-package:drift"


def test_a_bound_that_nobody_offers_is_refused_with_those_that_there_are(offer):
    with pytest.raises(InvalidInput, match="none is installed"):
        find_bound("drift")
    offer(tight="return GDP(0.1)")
    with pytest.raises(InvalidInput, match="'drift' is not offered by any package: other-package:"):
        find_bound("drift")
    with pytest.raises(MissingPackage, match="needs the package third"):
        find_bound("third:drift")


def test_the_best_of_ours_stands_beside_a_bound_that_was_asked_for(offer):
    offer(loose="return GDP(3.0)", tight="return GDP(1e-9)")
    for name in ("loose", "tight"):
        asked = judged(bound=name)
        assert asked.best == f"other-package:{name}"
        assert asked.epsilon == asked.bounds[asked.best].epsilon
        assert "on the word of the package other-package" in asked.best_reason
        assert f"shift, gives epsilon {asked.bounds['shift'].epsilon:.3g}" in asked.best_reason


def test_nothing_forgotten_is_exactly_zero_for_them_too(offer):
    offer(loose="return GDP(3.0)")
    assert judged(NOTHING).bounds["other-package:loose"].epsilon == 0


def test_a_guarantee_may_have_no_divergence(offer):
    offer(curve="return HockeyStick(lambda epsilon: -60 * epsilon)")
    certificate = issue(LOSS, PIPELINE, delta=1e-5, bound="curve")
    assert certificate.epsilon == pytest.approx(math.log(1e5) / 60)
    assert differences(certificate) == []


def test_a_constant_that_was_declared_may_be_used_by_any_foreign_bound(offer):
    offer(loose="return GDP(3.0)")
    assert "initial_log_sobolev" not in judged().assumed
    assert "initial_log_sobolev" in judged(bound="loose").assumed


def test_a_certificate_names_bound_and_package_and_says_whose_word_it_is(offer):
    offer(loose="return GDP(0.1)")
    certificate = issue(LOSS, PIPELINE, delta=1e-5, bound="loose")
    assert certificate.claim.bound == "other-package:loose"
    assert certificate.reservations == ["assumed constants", "bound of another package"]
    assert "the word of the package other-package" in certificate.claim.statement[1]
    assert differences(parse_certificate(certificate.canonical())) == []


def test_a_certificate_that_does_not_ask_does_not_even_load_them(offer):
    offer(tight="return GDP(1e-9)")
    certificate = issue(LOSS, PIPELINE, delta=1e-5)
    assert certificate.claim.bound == "shift"
    assert differences(certificate) == []
    assert "other_package_tight" not in sys.modules
    assert judged().best == "shift"
    assert "other_package_tight" in sys.modules


def test_a_budget_is_counted_by_shift_alone(offer):
    offer(tight="return GDP(1e-9)")
    counted = Phase(50, 1.0, 1.0, 1000, 30, released=True)
    stated = Stated(capacity=30, budget=5.0)
    issue(LOSS, History((counted,)), delta=1e-5, stated=stated)
    with pytest.raises(InvalidInput, match="by the shift bound alone"):
        issue(LOSS, History((counted,)), delta=1e-5, stated=stated, bound="tight")


@pytest.fixture
def orphan(offer, monkeypatch):
    """A certificate on a bound whose package is gone."""
    offer(loose="return GDP(0.1)")
    certificate = issue(LOSS, PIPELINE, delta=1e-5, bound="loose")
    monkeypatch.undo()
    installed.cache_clear()
    return certificate


def test_without_its_package_a_certificate_can_neither_be_confirmed_nor_denied(orphan):
    with pytest.raises(MissingPackage, match="needs the package other-package"):
        differences(orphan)


def test_an_altered_field_is_named_with_or_without_the_package(orphan):
    claim = orphan.claim.model_copy(update={"epsilon": 0.01})
    assert differences(orphan.model_copy(update={"claim": claim}))[0].field == "claim.epsilon"


def test_a_package_whose_bound_changed_its_mind_no_longer_supports_the_certificate(orphan, offer):
    offer(loose="return GDP(0.25)")
    fields = [difference.field for difference in differences(orphan)]
    assert {"claim.epsilon", "claim.mu"} <= set(fields)
    offer(loose="raise Refused('not any more')")
    (difference,) = differences(orphan)
    assert difference.field == "history"
    assert "not any more" in difference.problem


def test_a_claim_of_ours_relabelled_as_another_packages_is_found(offer):
    offer(loose="return GDP(0.1)")
    honest = issue(LOSS, PIPELINE, delta=1e-5)
    claim = honest.claim.model_copy(update={"bound": "other-package:loose"})
    liar = honest.model_copy(update={"claim": claim})
    liar = liar.model_copy(update={"fingerprints": fingerprints(liar.body())})
    assert {"claim.epsilon", "reservations"} <= {found.field for found in differences(liar)}


@pytest.mark.parametrize("name", ["Shift", "a b:c", ":c", "a:", "a:b:c", "shift\n", "no colon"])
def test_a_certificate_names_one_of_ours_or_a_package_and_its_bound(name):
    document = json.loads(issue(LOSS, PIPELINE, delta=1e-5).canonical())
    document["claim"]["bound"] = name
    with pytest.raises(InvalidInput) as refused:
        parse_certificate(json.dumps(document))
    assert refused.value.field == "claim.bound"


def test_what_is_foreign_shows_in_the_name():
    assert is_foreign("a:b")
    assert not any(map(is_foreign, BOUNDS))
    assert not is_foreign(None)
