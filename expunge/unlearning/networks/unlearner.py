"""Any `nn.Module` that can forget: fit, forget(ids) -> Certificate.

    unlearner = TorchUnlearner(model, nn.CrossEntropyLoss(), head="fc", epsilon=1.0, delta=1e-5)
    unlearner.fit((X, y), public=(X_public, y_public), ids=ids, evaluate=(X_test, y_test))
    certificate = unlearner.forget(ids_to_delete)

The model is neither wrapped nor renamed: its parameters are written in place, after everything has
succeeded. What it was when it first came to `fit` is the start that never saw private records; that
is the user's word, and every certificate says so.
"""

import copy
import threading
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from torch import nn

from expunge.accounting.certificate import Certificate
from expunge.accounting.prices import Price
from expunge.accounting.target import EpsilonDelta
from expunge.core.checks import integer, path_like
from expunge.core.inputs import Columns, taking_columns
from expunge.core.module_state import copy_into, state_of, with_state
from expunge.core.records import refuse_other_form, tensors_of
from expunge.errors import InvalidInput, NoCertificate
from expunge.features.module_checks import refuse_uncallable
from expunge.unlearning.batch_requests import BatchRequests
from expunge.unlearning.fitted import fresh_lineage
from expunge.unlearning.holding import Holding, was_released
from expunge.unlearning.ids import id_rows
from expunge.unlearning.networks import saved_unlearner
from expunge.unlearning.networks.comparison import Comparison
from expunge.unlearning.networks.network_fitted import NetworkFitted
from expunge.unlearning.networks.network_job import NetworkJob, NetworkLoss
from expunge.unlearning.networks.retrain import RetrainNetwork
from expunge.unlearning.networks.unlearner_parameters import RULES, check_unlearner
from expunge.unlearning.networks.weights import network_bytes
from expunge.unlearning.pricing import check_observer, price_each
from expunge.unlearning.released import PICKLED, ReleasedNetwork
from expunge.unlearning.requests import honour
from expunge.unlearning.roster import Roster
from expunge.unlearning.row_store import RowStore
from expunge.unlearning.strategy import registered_strategies, strategy_of

__all__ = ["TorchUnlearner"]

# Who wrote a module: it has seen private records, and is no start for anybody else.
_WRITERS: "WeakKeyDictionary[nn.Module, object]" = WeakKeyDictionary()
NOT_IT = "the model is no longer the one that came to fit; fit again"

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _one_at_a_time(
    verb: Callable[Concatenate["TorchUnlearner", Given], Result],
) -> Callable[Concatenate["TorchUnlearner", Given], Result]:
    """Another thread waits until this unlearner is done."""

    @wraps(verb)
    def alone(self: "TorchUnlearner", *given: Given.args, **named: Given.kwargs) -> Result:
        with self._busy:
            return verb(self, *given, **named)

    return alone


@dataclass(eq=False, repr=False)
class TorchUnlearner(BatchRequests[NetworkFitted, ReleasedNetwork]):
    """Learning and deletion for a module.

    Args:
        model: Any module called as model(inputs), or with several; `fit` and `forget` write its
            parameters.
        loss: (outputs, targets) -> the batch's mean loss.
        head: Name of the last linear layer, for the strategies that certify it.
        epsilon, delta: Of every certificate.
        strategy: "head", "head+finetune", "retrain", "langevin", "clipped" or one of its kinds
            ("gradient clipping", "model clipping", "hybrid"), or a record with its own settings.
        observer: "final" sees only the model after deletion; "all" also holds earlier ones.
        retraining: The yardstick: what retraining would be, here in full, in comparisons
            cut to the request's cost.
        released: Whether fitted models are handed out; if so a certificate for observer
            "final" says that they are not covered.
        random_state: None draws from the operating system; an integer makes runs repeatable
            and every certificate EXPERIMENT ONLY.
        device: Where the module runs.
        adaptive_requests: Whether those who ask for deletions may have looked at a model that was
            handed out; as for `CertifiedClassifier`, and only "langevin" is affected.
    """

    model: nn.Module
    loss: NetworkLoss
    _: KW_ONLY
    head: str | None = None
    epsilon: float = 1.0
    delta: float = 1e-5
    strategy: Any = "head"
    observer: Literal["final", "all"] = "final"
    retraining: RetrainNetwork | None = None
    released: bool = True
    random_state: int | None = None
    device: str = "cpu"
    adaptive_requests: bool = False

    def __post_init__(self) -> None:
        check_unlearner(**{name: getattr(self, name) for name in RULES})
        self.target = EpsilonDelta(self.epsilon, self.delta)
        self.strategy = strategy_of("network", self.strategy)
        if isinstance(self.loss, nn.Module) and any(True for _ in self.loss.parameters()):
            raise InvalidInput("loss", "has parameters, which nothing here trains; move them out")
        check_observer(self.strategy, self.observer)
        self._begin(None)

    def _begin(self, state: NetworkFitted | ReleasedNetwork | None) -> None:
        """Hold this state, and nobody else's.

        Args:
            state: Where pickle left no more, what may be handed out.
        """
        self._mark = object()  # an id would come back after this unlearner is gone
        self._busy = threading.RLock()
        self._state = state

    @_one_at_a_time
    def fit(
        self, private: Any, public: Any = None, ids: Any = None, evaluate: Any = None
    ) -> "TorchUnlearner":
        """Learn; nothing of an earlier fit changes before everything has succeeded.

        Args:
            private, public: (inputs, targets), or a DataLoader of a map-style dataset; several
                inputs are a tuple, or a dict by name (`expunge.core.records`).
            ids: One for each private record, in the dataset's order; row numbers by default.
            evaluate: Held-out records, none of them private, on which every request is
                compared with its placebo.
        """
        check_observer(self.strategy, self.observer)
        if not any(True for _ in self.model.parameters()):
            raise InvalidInput("model", "has no parameters, so there is nothing to learn")
        inputs, targets = tensors_of(private, "private")
        others = (None, None) if public is None else tensors_of(public, "public")
        public_count = 0 if others[0] is None else len(others[0])
        known = id_rows(ids, len(inputs), offset=public_count)
        held_out = None if evaluate is None else tensors_of(evaluate, "evaluate")
        before = self._state
        if isinstance(before, NetworkFitted):
            template = before.job.module
        else:
            self._check_unseen()
            template = copy.deepcopy(self.model).cpu().eval()
        for given, what in ((others, "public"), (held_out, "evaluate")):
            if given is not None and given[0] is not None:
                refuse_other_form(given[0], inputs, what)
        if isinstance(inputs, Columns):
            refuse_uncallable(self.model, inputs, "private")
            taking_columns(template)
        job = NetworkJob(
            module=template,
            loss=copy.deepcopy(self.loss),
            inputs=inputs,
            targets=targets,
            roster=Roster(known, public_count),
            public_inputs=others[0],
            public_targets=others[1],
            target=self.target,
            observer=self.observer,
            seed=None if self.random_state is None else int(self.random_state),
            device=self.device,
            head=self.head,
            start=state_of(template),
            adaptive_requests=bool(self.adaptive_requests),
        )
        strategy = copy.deepcopy(self.strategy)
        outcome = strategy.fit(job).lay_out()
        self._hold(
            NetworkFitted(
                job=job,
                rows=RowStore((job.inputs, job.targets), first=public_count),
                strategy=strategy,
                retraining=copy.deepcopy(self.retraining or RetrainNetwork()),
                outcome=outcome,
                held_out=held_out,
                released=bool(self.released),
                released_before=was_released(before),
                lineage=fresh_lineage(),
            )
        )
        return self

    @_one_at_a_time
    def forget(self, ids: Any, request: str | None = None) -> Certificate:
        """Delete records, one id or several, from the module and from the state behind it.

        Args:
            request: A name of this request to publish: its certificate states it.

        Raises:
            ValueError, NoCertificate: nothing was changed; as for `requests.honour`.
        """
        with self.replacing() as keep:
            return honour(self.fitted_, ids, request, accept=self.accept, keep=keep)[1]

    forget_batch = _one_at_a_time(BatchRequests.forget_batch)  # pyright: ignore[reportAssignmentType]
    certificate, history = Holding.certificate_, Holding.history_

    @_one_at_a_time
    def placebo(self, evaluate: Any = None) -> Comparison:
        """The last request beside exact deletions of the same cost.

        Args:
            evaluate: Held-out records; those of `fit` by default, where nothing is run again.
        """
        fitted = self.fitted_
        if fitted.certificate is None:
            raise InvalidInput("placebo", "nothing was forgotten yet")
        if evaluate is None and fitted.comparison is not None:
            return fitted.comparison
        if evaluate is None:
            raise InvalidInput("evaluate", "give held-out records (inputs, targets)")
        held_out = tensors_of(evaluate, "evaluate")
        refuse_other_form(held_out[0], fitted.job.inputs, "evaluate")
        return fitted.compare(fitted.before, held_out)

    def plan(self, forget: int) -> list[Price]:
        """This strategy and the standard ones, priced for forgetting so many records."""
        fitted = self.fitted_
        job = fitted.job
        there = job.roster.private - job.roster.forgotten
        if not 0 < integer("forget", forget) <= there:
            raise ValueError(f"forget: {forget} of {there} private records")
        there = (row for row in job.present.tolist() if row >= job.roster.public)
        smaller = job.without(islice(there, forget))  # any of them: only counts matter
        own = {s.name: s for s in (fitted.retraining, fitted.strategy)}
        return price_each(registered_strategies("network") | own, smaller, forget)

    @_one_at_a_time
    def save(self, folder: str | Path) -> None:
        """Write model, certificate and what the next request starts from into a folder.

        Records are not written: `load` wants them again. Save after every request: a loaded
        unlearner knows of no later one. Nothing under `secret/` may be handed out (docs/store.md).
        Certificates then say that they rest on your word that this state is continued once.

        Raises:
            ValueError: the folder is busy, holds something else, a later request of this unlearner
                or requests of another fit; or the model or a setting cannot be saved.
        """
        path_like("folder", folder)
        self._state = fitted = replace(self.fitted_, copied=True)  # even if interrupted
        if network_bytes(self.model, fitted.outcome.salt) != fitted.model_bytes:
            raise InvalidInput("model", "is not the one that its certificate is about; fit again")
        saved_unlearner.save(fitted, folder)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        model: nn.Module,
        loss: NetworkLoss,
        private: Any,
        public: Any = None,
        ids: Any = None,
        evaluate: Any = None,
        certificate: Certificate | None = None,
        device: str | None = None,
    ) -> "TorchUnlearner":
        """Go on where `save` stopped: the next request is what it would have been.

        What was fitted is given again and checked; code has no hash, so model and loss are tried
        on 8 records. A folder that was put back from before a later request looks like any other:
        keep your last certificate elsewhere, and give it.

        Args:
            model: As it came to `fit`, frozen layers above all; it is written.
            private, ids: The records in any order, each with its id; forgotten ones may be
                missing, and are not read where they are there.
            evaluate: Held-out records, as for `fit`; without, later certificates have no placebo.
            certificate: One that this unlearner has issued; an older state is refused. Observer
                "all" needs it after the first request.
            device: Where the module runs, if not where it ran before.

        Raises:
            ValueError: not such a folder, busy, changed since, older than the certificate, or not
                the model, loss or records that were fitted; the first that differs is named.
        """
        given = (model, loss, private, public, ids, evaluate, certificate, device)
        fitted = saved_unlearner.resume(folder, saved_unlearner.GivenAgain(*given))
        job = fitted.job
        made = cls(
            model,
            loss,
            head=job.head,
            epsilon=job.target.level,
            delta=job.target.delta,
            strategy=fitted.strategy,
            observer=job.observer,
            retraining=fitted.retraining,
            released=fitted.released,
            random_state=job.seed,
            device=job.device,
            adaptive_requests=job.adaptive_requests,
        )
        made._check_unseen()
        made._hold(fitted)
        return made

    def model_bytes(self) -> bytes:
        """The current model's file, as the last fit or request left it."""
        return self.fitted_.model_bytes

    def release(self) -> ReleasedNetwork:
        """A copy of the model with its certificate: no record and no secret."""
        fitted = self.held_
        if isinstance(fitted, ReleasedNetwork):
            return fitted
        model = copy.deepcopy(self.model).cpu().eval()
        copy_into(model, with_state(fitted.job.module, fitted.outcome.state))
        _WRITERS[model] = self._mark  # it has seen private records: no start for another fit
        return ReleasedNetwork(model, self.certificate)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle writes: the model as it may be handed out, and its certificate."""
        kept = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        if self._state is None:
            return kept
        if isinstance(self._state, NetworkFitted):
            warnings.warn(PICKLED, stacklevel=2)
        released = self.release()
        return kept | {"model": released.model, "_state": released}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin(state.get("_state"))

    def __copy__(self, memo: dict[int, Any] | None = None) -> "TorchUnlearner":
        """Refuse to copy an unlearner, deeply or not.

        Raises:
            TypeError: always; two unlearners would write one model.
        """
        raise TypeError("an unlearner cannot be copied: release() gives a model, save() the state")

    __deepcopy__ = __copy__

    @property
    def held_(self) -> NetworkFitted | ReleasedNetwork:
        """The fitted state; of an unlearner that was pickled, what may be handed out."""
        if self._state is None:
            raise InvalidInput("unlearner", "not fitted yet; call fit first")
        return self._state

    def _check_unseen(self) -> None:
        """The start must never have seen private records; that much can be known of it here."""
        written = _WRITERS.get(self.model, self._mark) is not self._mark
        if (written or self._state is not None) and not self.strategy.starts_anew:
            raise InvalidInput(
                "model", "another unlearner has trained it on its private records; pass a fresh one"
            )

    def accept(self, state: NetworkFitted) -> None:
        """Check that what is certified can be written into the user's model as a whole.

        Raises:
            NoCertificate: its shapes, buffers or ties are not those that came to fit.
        """
        whole = with_state(state.job.module, state.outcome.state)
        trial = copy.deepcopy(self.model).cpu()
        shapes = [{n: v.shape for n, v in module.state_dict().items()} for module in (trial, whole)]
        if shapes[0] != shapes[1]:
            raise NoCertificate(NOT_IT)
        copy_into(trial, whole)
        if network_bytes(trial) != network_bytes(whole):
            raise NoCertificate(NOT_IT)

    def _hold(self, state: NetworkFitted) -> None:
        """Take a state, and copy its weights into the module."""
        copy_into(self.model, with_state(state.job.module, state.outcome.state))
        _WRITERS[self.model] = self._mark
        self._state = state
