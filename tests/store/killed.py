"""Kills a writer at its first, second, third ... touch of the disk, and looks at what it left.

    python -m tests.store.killed SCENARIO SCRATCH

Prints a list with one entry for each kill (`tests/torture/dying.py`) and a last one without. What
is found afterwards comes in three parts: what a reader sees, what lies on top, and what is left
once the next writer has been there.
"""

import json
import stat
import sys
from pathlib import Path

from expunge.accounting.certificate import parse_certificate
from expunge.accounting.verification import file_differences
from expunge.core.whole_file import write_whole
from expunge.errors import InvalidInput
from expunge.store import read, settle, sole_writer, unerased_files, write
from expunge.store.index import digest
from tests.store.generations import (
    files_in,
    following,
    fresh,
    holds,
    lineage_after,
    model_after,
    trace,
)
from tests.torture.dying import Child, copied, own_process

LEDGER = "ledger"  # beside the folder: the seal that is in force


def first(folder):
    write(folder, fresh())


def next_one(folder):
    write(folder, following(read(folder)))


def by_ledger(folder):
    ledger = folder.parent / LEDGER
    with sole_writer(folder, seal=ledger.read_text()) as writer:
        seal = writer.prepare(following(read(folder)))
        write_whole(ledger, seal.encode())
        writer.commit(seal)


def prepare(name, scratch):
    """The folder that each run starts from, and what runs in it."""
    start = scratch / "start"
    start.mkdir(parents=True)
    folder = start / "m"
    if name == "first":
        return start, first
    write(folder, fresh(1))  # with a certificate on top, which must go before the model does
    (start / LEDGER).write_text(read(folder).index.seal)
    if name in ("after a kill", "settled"):  # committed, but neither published nor swept
        touches = forked(next_one, copied(start, scratch / "recorded"), record=True)["touches"]
        committed = len(touches) - touches[::-1].index("os.rename index.json")
        assert forked(next_one, start, committed + 1) is None
        assert unerased_files(folder)
    return start, {"settled": settle, "by ledger": by_ledger}.get(name, next_one)


def forked(work, place, moment=None, *, record=False):
    """The touches of a run in a process of its own; None if it was killed."""
    return Child(lambda: work(place / "m"), place, moment, record).ended()


def seen(folder, seal=None):
    """Which generation a reader finds whole; None where there is none."""
    try:
        saved = read(folder, seal=seal)
    except InvalidInput as error:
        if "not a saved model" in str(error):
            return None
        raise
    saved.check()
    requests = saved.document["requests"]
    assert saved.model() == model_after(requests)
    return requests


def on_top(folder):
    """Whether a certificate on top is about the model beside it; None without a certificate."""
    model, certificate = folder / "model.safetensors", folder / "certificate.json"
    if not certificate.exists():
        return None
    stated = parse_certificate(certificate.read_text())
    return model.exists() and not file_differences(stated, digest(model.read_bytes()))


def modes(paths):
    return sorted({oct(stat.S_IMODE(path.stat().st_mode)) for path in paths})


def run(name, scratch):
    lineage_after(4)  # its certificates are made once, for every fork
    start, work = prepare(name, scratch)
    touches = forked(work, copied(start, scratch / "whole"), record=True)["touches"]
    return [
        outcome(work, copied(start, scratch / f"killed at {moment}"), moment, name)
        for moment in (*range(1, len(touches) + 1), None)
    ]


def outcome(work, place, moment, name):
    folder = place / "m"
    ended = forked(work, place, moment, record=True)
    seal = (place / LEDGER).read_text() if name == "by ledger" else None
    entry = {
        "killed": ended is None,
        "problem": ended and ended["problem"],
        "seen": seen(folder, seal),
        "on_top": on_top(folder),
        "secret": modes(folder.glob("secret/*")),
        "waiting": modes(folder.glob(".*")),
    }
    if folder.exists() and (folder / "secret").exists():
        settle(folder, seal=seal)
    after = seen(folder)
    left = files_in(folder) if folder.exists() else {}
    return entry | {
        "after": after,
        "on_top_after": on_top(folder),
        "left": sorted(left),
        "unerased": len(unerased_files(folder)) if after is not None else 0,
        "traces": [holds(folder, trace(request)) for request in (1, 2, 3)] if left else [],
    }


def killed(name, scratch):
    """The outcomes of a scenario, from a process of its own."""
    return own_process("tests.store.killed", name, str(scratch))


if __name__ == "__main__":
    json.dump(run(sys.argv[1], Path(sys.argv[2])), sys.stdout)
