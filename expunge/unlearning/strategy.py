"""What a strategy is, and which there are: ours, and those that other packages register.

    strategy_of("linear", "residual")        the record of that name, with its default settings
    strategy_of("linear", Residual(1e-8))    the record itself, once it is known to have the verbs

A strategy is added in two places: its file, and a line of OURS below, or of another package's

    [project.entry-points."expunge.strategies"]
    "linear.public_only" = "expunge_example.public_only:PublicOnly"

Nothing is imported before it is asked for: names, which the command line's help shows, are cheap.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from expunge.errors import InvalidInput
from expunge.unlearning.foreign_strategies import (
    check_foreign,
    foreign_entries,
    load_foreign,
)

if TYPE_CHECKING:
    from expunge.accounting.prices import Price
    from expunge.accounting.target import Observer
    from expunge.unlearning.job import Job
    from expunge.unlearning.outcome import Outcome

__all__ = [
    "Models",
    "Strategy",
    "registered_name",
    "registered_strategies",
    "registered_type",
    "strategy_names",
    "strategy_of",
]

Models = Literal["linear", "network"]  # the kinds of model
OURS: Mapping[Models, Mapping[str, str]] = MappingProxyType(
    {
        "linear": {
            "residual": "linear.residual:Residual",
            "langevin": "linear.langevin:Langevin",
            "noise_first": "linear.langevin:NoiseFirst",
            "retrain": "linear.retrain:Retrain",
        },
        "network": {
            "head": "networks.head:Head",
            "head+finetune": "networks.finetune:HeadFinetune",
            "retrain": "networks.retrain:RetrainNetwork",
            "langevin": "networks.langevin:NetworkLangevin",
            "clipped": "networks.clipped:Clipped",
            "gradient clipping": "networks.clipped:GRADIENT_CLIPPING",
            "model clipping": "networks.clipped:MODEL_CLIPPING",
            "hybrid": "networks.clipped:HYBRID",
        },
    }
)
VERBS = ("name", "observers", "fit", "forget", "add", "placebo", "price")
OF_NETWORKS = ("cost", "keeps_backbone", "runs_the_loss", "starts_anew")  # `NetworkStrategy`'s

Given = TypeVar("Given", bound="Job", contravariant=True)


class Strategy(Protocol[Given]):
    """A way to learn and to honour requests.

    An implementation must satisfy: nothing of the job is changed; whatever the history says was
    done was done; sizes, noise and numbers of steps are functions of counts and targets, never of
    records; whatever is wrong raises `NoCertificate` (or `ValueError` for a setting) before
    anything is returned. Strategies of other packages also have a `comparator`, in words: what
    their models are hard to tell from, which `accounting.kinds` says of ours. One that keeps secret
    state made with records that may have left since has `refresh(job, before)` too, which makes it
    anew; one whose noise is fixed at fit says how much it is (`chosen_sigma(job)`); one that reads
    no rows but the request's says so (`Outcome.read_every_row`); and one that can delete and add
    records in one request has `exchange(job, before)`: of the job's roster `last_rows` have left
    and `last_joined` are new.
    """

    name: ClassVar[str]
    observers: "ClassVar[tuple[Observer, ...]]" = ("final",)  # for whom it is sound

    def fit(self, job: Given) -> "Outcome": ...

    def forget(self, job: Given, before: "Outcome") -> "Outcome":
        """Honour a request.

        Args:
            job: After the deletion: the request's records are gone from the roster.
            before: What `fit`, or the request before, returned.
        """
        ...

    def add(self, job: Given, before: "Outcome") -> "Outcome":
        """Take records in, by the rule that the timeline without any forgotten one would follow.

        The last request's rows (`Roster.last_joined`) are the new ones. Where nothing has been
        forgotten yet, the outcome needs no certificate.

        Raises:
            NoCertificate: it cannot, by name.
        """
        ...

    def placebo(self, job: Given, before: "Outcome") -> "Outcome":
        """Run the request's own procedure from a point that never saw a private record.

        An exact deletion of the request's nominal cost.

        Args:
            before: For counts and settings of its history only, never its model.
        """
        ...

    def price(self, job: Given, forget: int) -> "Price":
        """The price of forgetting so many records, from counts and settings only.

        Raises:
            ValueError, NoCertificate, Refused: it cannot be taken; the message says why.
        """
        ...


def strategy_names(models: Models) -> list[str]:
    """The names that a user may give, ours first."""
    return [*OURS[models], *_foreign_names(models)]


def _foreign_names(models: Models) -> list[str]:
    """The names of other packages' strategies; none of ours can be overridden."""
    return sorted(foreign_entries(models).keys() - OURS[models].keys())


def registered_strategies(models: Models, *, foreign: bool = True) -> dict[str, Any]:
    """Every strategy with its default settings, by its own name.

    Args:
        foreign: Those of other packages too, as far as they load.
    """
    records = [_load(models, name) for name in OURS[models]]
    for name in _foreign_names(models) if foreign else ():
        with suppress(InvalidInput):  # whoever names it is told why it does not load
            records.append(_load(models, name))
    return {record.name: record for record in reversed(records)}


def strategy_of(models: Models, given: Any, also: Sequence[str] = ()) -> Any:
    """The strategy of this name, or the record that is given, checked.

    Args:
        also: Other names that the caller accepts, for the message.

    Raises:
        InvalidInput: no strategy has this name, or the record lacks a strategy's verbs.
    """
    if isinstance(given, str):
        if given not in strategy_names(models):
            names = ", ".join([*also, *strategy_names(models)])
            raise InvalidInput("strategy", f"{given!r} is not one of {names}")
        return _load(models, given)
    if isinstance(given, type) or not any(hasattr(given, verb) for verb in VERBS):
        raise InvalidInput("strategy", f"{given!r} is neither a name nor a strategy's record")
    _check(models, given)
    known = registered_name(given)
    if known is not None and not known.startswith(f"{models}."):
        raise InvalidInput("strategy", f"{type(given).__name__} is not for {models} models")
    return given


def registered_name(record: Any) -> str | None:
    """The registered name of a record's class, with its kind of model: "linear.residual"."""
    for models in OURS:
        name = getattr(record, "name", None)
        if name in strategy_names(models) and type(_load(models, name)) is type(record):
            return f"{models}.{name}"
    return None


def registered_type(name: str) -> type:
    """The class of a record that `registered_name` gave this name.

    Raises:
        ValueError: no registered strategy has this name.
    """
    for models in OURS:
        own = name.removeprefix(f"{models}.")
        if own != name and own in strategy_names(models):
            return type(_load(models, own))
    raise ValueError(f"strategy {name!r} is not known here")


def _load(models: Models, name: str) -> Any:
    """The record of a registered name, with its default settings.

    Raises:
        InvalidInput: what another package registered does not load, or is not a strategy.
    """
    if name in OURS[models]:
        module, attribute = OURS[models][name].split(":")
        ours = getattr(import_module(f"expunge.unlearning.{module}"), attribute)
        return ours() if isinstance(ours, type) else ours
    record = load_foreign(models, name)
    _check(models, record)
    return record


def _check(models: Models, record: Any) -> None:
    """Check that a record has a strategy's verbs and does not take the name of one of ours.

    Raises:
        InvalidInput: the record lacks a verb, or takes such a name.
    """
    verbs = (*VERBS, *OF_NETWORKS) if models == "network" else VERBS
    missing = [verb for verb in verbs if not hasattr(record, verb)]
    if missing:
        raise InvalidInput("strategy", f"{record!r} lacks {', '.join(missing)}")
    if not type(record).__module__.startswith("expunge."):
        check_foreign(record)
