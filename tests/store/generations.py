"""Small generations with real certificates: forty rows in five chunks, one row a request."""

import functools
import hashlib
from contextlib import suppress

import numpy as np

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.issue import issue
from expunge.accounting.stated import Stated
from expunge.store import (
    Generation,
    Lineage,
    erase_rows,
    pack,
    read,
    sole_writer,
    split,
    unpack,
    write,
)

FIT, OTHER_FIT = "ab" * 16, "cd" * 16
ROWS, EACH = 40, 8
LOSS = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
PIPELINE = History((Phase(50, 1.0, 0.1, 1000, 10), Phase(5, 1.0, 0.1, 990)))


def values():
    """One row for each record; no two bytes of the byte search agree by chance."""
    return np.random.default_rng(5).normal(size=(ROWS, 3))


def forgotten_row(request):
    return 7 * request


def trace(request):
    """The bytes of the first value of the row that a request forgets."""
    return values()[forgotten_row(request), :1].tobytes()


def model_after(requests, fit=FIT):
    seed = int(hashlib.sha256(f"{fit} {requests}".encode()).hexdigest()[:8], 16)
    return pack({"theta": np.random.default_rng(seed).normal(size=4)})


@functools.cache
def certificate_after(requests, fit=FIT):
    digest = hashlib.sha256(model_after(requests, fit)).hexdigest()
    facts = Stated(
        model_sha256=digest,
        requests=[f"{fit[:2]} {requests}"],
        issued="2026-01-02T03:04:05Z",  # the same in every process
    )
    return issue(LOSS, PIPELINE, delta=1e-5, stated=facts)


def lineage_after(requests, fit=FIT):
    lineage = Lineage(fit=fit)
    for request in range(1, requests + 1):
        lineage = lineage.after(certificate_after(request, fit))
    return lineage


def parts_after(requests, fit=FIT):
    """Everything of a generation but its chunks; the state holds sums over the rows that stay."""
    rows = values()
    rows[[forgotten_row(request) for request in range(1, requests + 1)]] = 0
    return {
        "kind": "linear",
        "lineage": lineage_after(requests, fit),
        "document": {"requests": requests, "radius": float("inf"), "seed": 2**60 + 1},
        "state": pack({"gram": rows.T @ rows, "last": rows[-1]}),
        "model": model_after(requests, fit),
        "certificate": certificate_after(requests, fit) if requests else None,
    }


def fresh(requests=0, fit=FIT):
    """A generation that keeps nothing of an earlier one."""
    rows = values()
    rows[[forgotten_row(request) for request in range(1, requests + 1)]] = 0
    chunks = split("private", {"features": rows, "number": np.arange(ROWS)}, rows=EACH)
    return Generation(**parts_after(requests, fit), chunks=chunks)


def following(saved, fit=FIT):
    """The generation after the saved one: one more row erased, the other chunks kept."""
    request = saved.document["requests"] + 1
    chunks = erase_rows(saved, "private", [forgotten_row(request)])
    return Generation(**parts_after(request, fit), chunks=chunks)


def left_prepared(folder):
    """Write the next generation and die before a ledger commits it; returns its seal."""
    saved, seals = read(folder), []
    with suppress(KeyboardInterrupt), sole_writer(folder, seal=saved.index.seal) as writer:
        seals.append(writer.prepare(following(saved)))
        raise KeyboardInterrupt
    return seals[0]


def rows_of(saved):
    return np.concatenate([unpack(saved.rows(c))["features"] for c in saved.chunks("private")])


def saved_in(folder, requests=0, fit=FIT):
    write(folder, fresh(requests, fit))
    return folder


def files_in(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def holds(folder, trace):
    """Whether any file of the folder holds these bytes."""
    return any(trace in content for content in files_in(folder).values())
