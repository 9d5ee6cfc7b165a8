"""The registry: names, records, and what a record must have."""

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

from expunge.errors import InvalidInput
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.networks.head import Head
from expunge.unlearning.strategy import (
    OURS,
    VERBS,
    registered_name,
    registered_strategies,
    registered_type,
    strategy_of,
)

EACH = [(models, name) for models in OURS for name in OURS[models]]


@dataclass(frozen=True)
class Other:
    """Has every verb and does nothing."""

    size: int = 1
    name = "other"
    comparator = "anything"
    observers: ClassVar[tuple[str, ...]] = ("final",)

    def fit(self, job): ...

    def forget(self, job, before): ...

    def add(self, job, before): ...

    def placebo(self, job, before): ...

    def price(self, job, forget): ...


@pytest.mark.parametrize(("models", "name"), EACH)
def test_every_name_gives_a_record_with_all_verbs(models, name):
    record = strategy_of(models, name)
    assert all(hasattr(record, verb) for verb in VERBS)
    assert strategy_of(models, record) is record
    assert registered_type(registered_name(record)) is type(record)


def test_registered_strategies_are_known_by_their_own_names():
    assert set(registered_strategies("linear")) == {
        "residual",
        "langevin",
        "noise_first",
        "retrain",
    }
    assert set(registered_strategies("network")) == {
        "head",
        "head+finetune",
        "retrain",
        "langevin",
        "clipped",
    }
    assert registered_strategies("network")["clipped"] == strategy_of("network", "clipped")


def test_a_record_keeps_its_settings():
    assert strategy_of("linear", Residual(1e-5)) == Residual(1e-5)
    assert registered_name(Residual(1e-5)) == "linear.residual"
    assert registered_name(Head()) == "network.head"
    assert registered_name(Other()) is None


@pytest.mark.parametrize("wrong", ["nobody", Residual, 3, None, object()])
def test_what_is_no_strategy_is_refused(wrong):
    with pytest.raises(InvalidInput, match=r"is not one of residual|neither a name nor a strategy"):
        strategy_of("linear", wrong)


def test_a_record_that_lacks_verbs_is_told_which():
    class Half:
        name = "half"

        def fit(self, job): ...

    with pytest.raises(InvalidInput, match="lacks observers, forget, add, placebo, price"):
        strategy_of("linear", Half())


@pytest.mark.parametrize("name", ["linear.nobody", "residual", "tables.residual", "Popen", ""])
def test_a_document_cannot_name_what_is_not_registered(name):
    with pytest.raises(ValueError, match="is not known here"):
        registered_type(name)


def test_names_are_to_be_had_without_torch():
    code = (
        "import sys; from expunge.unlearning.strategy import strategy_names; "
        "assert strategy_names('linear')[0] == 'residual'; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_strategy_of_the_other_kind_of_model_is_refused():
    with pytest.raises(InvalidInput, match="Head is not for linear models"):
        strategy_of("linear", Head())
    with pytest.raises(InvalidInput, match=r"lacks cost, keeps_backbone|not for network models"):
        strategy_of("network", Residual())


def test_one_for_networks_must_answer_what_networks_ask():
    with pytest.raises(InvalidInput, match="lacks cost, keeps_backbone"):
        strategy_of("network", Other())
