"""`forget --dry-run`: what a request would come to; nothing is recorded and nothing changes.

The price is the typical one of the strategy, in passes over the records: what these records would
really cost depends on what is in them, and is not told (DESIGN, honesty rule 7).
"""

from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from expunge.accounting.reservations import EarlierReleases
from expunge.errors import InvalidInput
from expunge.ledger import Entries, IdOutcome, Model
from expunge.unlearning.linear.linear_fitted import LinearFitted
from expunge.workspace.current_model import loaded
from expunge.workspace.folder import Folder
from expunge.workspace.given_ids import known_ids

__all__ = ["rehearse"]


class _Stated(NamedTuple):
    """What the ledger says of the ids, of one moment."""

    model: Model
    outcomes: dict[str, IdOutcome]
    wanted: list[str]
    name: str | None
    problem: str | None
    repeated: str | None
    pending: int
    counts: dict[str, int]


def rehearse(
    workspace: Path,
    ids: Sequence[str],
    *,
    name: str | None = None,
    skipped: Set[str] = frozenset(),
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Say what `forget` would make of these ids: outcomes, plan, price, and what would be covered.

    Args:
        skipped: Outcomes of ids that would be left out.

    Raises:
        InvalidInput: no ids.
    """
    if not ids:
        raise InvalidInput("ids", "none given; a dry run is of ids")
    folder = Folder.opened(workspace)
    progress("loading")
    said, plan = folder.steady(
        lambda entries, model: _look(entries, model, ids, name, skipped),
        lambda said: (said, _plan(folder, said)),
    )
    folder.ledger.close()
    return {
        "workspace": str(workspace),
        "dry_run": True,
        "accepted": said.problem is None,
        "problem": said.problem,
        "request": said.name,
        "repeated": said.repeated,
        "pending_before": said.pending,
        "outcomes": [
            {"id": record, "outcome": outcome} for record, outcome in said.outcomes.items()
        ],
        "records": _afterwards(said),
        **plan,
    }


def _look(
    entries: Entries, model: Model, ids: Sequence[str], name: str | None, skipped: Set[str]
) -> _Stated:
    ids = known_ids(entries, ids)
    outcomes = entries.outcomes(ids)
    before = entries.find_request(ids, name)
    wanted = [] if before else [record for record in ids if outcomes[record] not in skipped]
    before = before or (entries.find_request(wanted, name) if wanted and skipped else None)
    problem = called = None
    if wanted and before is None:
        try:
            called = entries.check_request(wanted, name)
        except InvalidInput as error:
            problem = str(error)
    return _Stated(
        model,
        outcomes,
        [] if before else wanted,
        called,
        problem,
        None if before is None else before.name,
        sum(len(entries.in_this_fit(each.records)) for each in entries.requests("pending")),
        entries.counts(),
    )


def _afterwards(said: _Stated) -> dict[str, int]:
    """How many records there would be, those of pending requests gone as well."""
    leaving = said.pending + (len(said.wanted) if said.problem is None else 0)
    counts = said.counts
    return counts | {
        "private": counts["private"] - leaving,
        "forgotten": counts["forgotten"] + leaving,
    }


def _plan(folder: Folder, said: _Stated) -> dict[str, Any]:
    """What the strategy would do, and what would be certified; nulls where nothing would be."""
    if said.problem is not None or not said.wanted:
        return {"strategy": None, "price": None, "strategies": [], "claim": None}
    estimator = loaded(folder, said.model)
    fitted = estimator.fitted_
    prices = [vars(price) for price in estimator.plan(len(said.wanted))]
    taken = fitted.strategy.name
    target = fitted.job.target
    return {
        "strategy": taken,
        "price": next((price for price in prices if price["name"] == taken), None),
        "strategies": prices,
        "claim": {
            "epsilon": target.level,
            "delta": target.delta,
            "observer": fitted.job.observer,
            "earlier_releases": _earlier_releases(fitted),
        },
    }


def _earlier_releases(fitted: LinearFitted) -> EarlierReleases:
    """What the certificate will say of models that were handed out before."""
    if not fitted.covered:
        return "not covered"
    counted = fitted.job.observer == "all" or fitted.outcome.capacity is not None
    return "covered" if counted else "none known"
