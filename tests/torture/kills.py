"""Kills: 2 to 24 processes ask at once, some of them die, and no request is lost or doubled.

In each round some processes ask for a deletion each, and one runs another command. One of all is
killed at a certain touch of the disk (`tests/torture/dying.py`); over the rounds every touch of
every verb in `VERBS` gets its turn. Of the others half are killed at random moments. A reader looks
on from beginning to end. Then comes one more request, as on any other day, and everything that the
ledger accepted must be certified and erased: nobody repairs anything.

Each request names records of two chunks. Rounds draw from their own number, so a run that was
interrupted goes on with the next.
"""

import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rich.progress  # noqa: F401
import sqlalchemy.dialects.sqlite  # noqa: F401
from pyarrow import parquet

import expunge.report.page  # loaded once, for every fork
import expunge.workspace.audit
import expunge.workspace.evaluate
import expunge.workspace.export
import expunge.workspace.fit_again
import expunge.workspace.honour
import expunge.workspace.predict
import expunge.workspace.refresh
import expunge.workspace.report
import expunge.workspace.sample  # noqa: F401
from expunge.store import read
from expunge.workspace.status import status
from expunge.workspace.verify import verify
from tests.repeatable import start_from
from tests.torture.dying import Child, copied, write_plain_parquet
from tests.torture.subjects import in_short_chunks
from tests.workspace.killed import ran
from tests.workspace.tables_made import fitted, people, private_people, write

SUBMITTERS = (2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 6, 8, 12, 24)
NEXT = "00149"  # the record of the request that comes after the kills
GUESSES, MORE = "guesses.csv", "more.csv"  # of the reader; records that join
JOINING = people(3, seed=5, prefix="1")
ANEW, LACKING = "anew.csv", ("00145", "00146")  # a table for another fit; whom it lacks
VERBS = ("forget", "add", "refresh", "fit", "audit", "sample", "report", "export")
EXPORTED = {"model.safetensors", "encoding.json", "MODEL_CARD.md"}
CHUNK = 32  # rows
SPREAD = 0.15  # seconds a submitter, over which kills at random moments are spread
TRIES = 8  # for a touch that a run did not come to, because another process was faster


def command(verb: str, place: Path, number: int = 0) -> list[str]:
    """A command line on the workspace of a round; the number tells requests apart."""
    workspace = str(place / "workspace")
    outputs = {"sample": f"models-{number}", "report": f"{number}.html", "export": f"out-{number}"}
    out = str(place / outputs.get(verb, ""))
    small = ["--models", "4", "--learn-steps", "3", "--unlearn-steps", "2", "--sigma", "0.1"]
    return {
        "forget": ["forget", workspace, *records(number), "--name", f"ticket {number}", "--json"],
        "audit": ["audit", workspace, "--models", "60", "--seed", "0", "--json"],
        "sample": ["sample", workspace, "00140", "--output", f"{out}.safetensors", *small],
        "report": ["report", workspace, "--output", out],
        "refresh": ["refresh", workspace, "--json"],
        "add": ["add", workspace, "--private", str(place / MORE), "--json"],
        "fit": [
            *("fit", workspace, "--again", "--skip-forgotten", "--name", "left out", "--json"),
            *("--private", str(place / ANEW), "--public", str(place / "public.csv")),
            *("--id", "id", "--label", "label"),
        ],
        "export": ["export", workspace, "--to", out, "--json"],
    }[verb]


def records(number: int) -> list[str]:
    """The records that a request names: two of them, in chunks far apart."""
    return [f"{number:05d}", f"{number + 70:05d}"]


def mark(record: str) -> str:
    """A value of this record that no other has."""
    return f"mark{record}kram"


@dataclass
class Round:
    """What happens in a round, and what came of it."""

    place: Path
    rng: random.Random
    submitters: int
    verb: str
    moment: int | None
    kills: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    ended_well: set[str] = field(default_factory=set)

    def run(self) -> dict[str, Any]:
        """Run it; returns its line of the results."""
        began = time.monotonic()
        reached = self._commands()
        accepted = status(self.place / "workspace")["requests"]
        self._expect(
            ran(["forget", str(self.place / "workspace"), NEXT, "--json"]), "the next request"
        )
        self._check(len(accepted))
        return {
            "submitters": self.submitters,
            "verb": self.verb,
            "aimed": self.moment,
            "touch": self.moment if reached else None,
            "kills": self.kills,
            "accepted": len(accepted) + 1,
            "left_unfinished": sum(one["state"] != "honoured" for one in accepted),
            "wrong": self.wrong,
            "seconds": round(time.monotonic() - began, 2),
        }

    def _commands(self) -> bool:
        """Run all commands at once, and kill some; whether the chosen touch was reached."""
        reader = self._child(self._look_on)
        chosen = self._child(lambda: ran(command(self.verb, self.place)), self.moment)
        self._let_begin(chosen)
        first = 1 if self.verb == "forget" else 0
        others = [
            (number, self._child(lambda number=number: ran(command("forget", self.place, number))))
            for number in range(first, self.submitters)
        ]
        victims = self.rng.sample(others, len(others) // 2)
        last = SPREAD * self.submitters
        moments = sorted((self.rng.uniform(0, last), child) for child in victims)
        began = time.monotonic()
        for moment, (_, child) in moments:
            time.sleep(max(0.0, began + moment - time.monotonic()))
            child.kill()
        outcomes = {number: child.ended() for number, child in others}
        outcome = chosen.ended()
        if outcome is None:
            self.kills.append(f"{self.verb} at touch {self.moment}")
            self._again()
        else:
            self._expect(outcome["result"], "ticket 0" if self.verb == "forget" else self.verb)
        died = {number: moment for moment, (number, _) in moments}
        for number, ended in outcomes.items():
            if ended is not None:
                self._expect(ended["result"], f"ticket {number}")
            elif number in died:
                self.kills.append(f"forget after {died[number]:.2f} s")
            else:
                self.wrong.append(f"ticket {number} died by itself")
        (self.place / "over").touch()
        self.wrong += reader.ended()["result"]
        return outcome is None

    def _child(self, work: Any, moment: int | None = None) -> Child:
        seed = str(self.rng.random())

        def seeded() -> Any:
            start_from(seed)
            return work()

        return Child(seeded, self.place, moment)

    def _let_begin(self, chosen: Child) -> None:
        """Wait until the chosen process works, or did: then it comes to the touch it dies at."""
        if self.verb not in ("forget", "refresh", "add", "fit"):
            return
        until = time.monotonic() + 3
        lock = self.place / "workspace/secret/.lock"
        while time.monotonic() < until and not lock.exists() and not chosen.is_over():
            time.sleep(0.005)

    def _again(self) -> None:
        """The same command once more must do it, and leave nothing unfinished beside its output."""
        what = "ticket 0" if self.verb == "forget" else f"{self.verb} again"
        whole = self.place / "out-0"
        if self.verb == "export" and whole.exists():  # the last touch was done: so it is all there
            files = {path.name for path in whole.iterdir()}
            if not files >= EXPORTED:
                self.wrong.append(f"exported in part: {files}")
        elif self.verb == "add" and self._joined() == set(JOINING["id"]):
            again = ran(command(self.verb, self.place))  # it was committed
            if again["status"] != 2 or JOINING["id"][0] not in again["err"]:
                self.wrong.append(f"records that joined may join again: {again}")
        elif self.verb == "fit" and status(self.place / "workspace")["fits"]:
            again = ran(command(self.verb, self.place))  # it was committed
            if again["status"] != 2 or "'left out' is taken" not in again["err"]:
                self.wrong.append(f"a fit that is done is done again: {again}")
        else:
            self._expect(ran(command(self.verb, self.place)), what)
        for path in self.place.glob(".*"):
            if not path.name.startswith(f".{GUESSES}"):  # which the reader may just be writing
                self.wrong.append(f"{path.name} is left")

    def _expect(self, outcome: dict[str, Any], what: str) -> None:
        if outcome["status"] != 0:
            self.wrong.append(f"{what}: exit {outcome['status']}: {outcome['err'].strip()}")
        self.ended_well.add(what)

    def _look_on(self) -> list[str]:
        """Look at everything until the round is over; returns what went wrong."""
        problems, workspace = [], str(self.place / "workspace")
        table = str(self.place / "public.csv")
        while not (self.place / "over").exists():
            for line in (
                ["status", workspace, "--json"],
                ["verify", workspace, "--json"],
                ["predict", workspace, table, "--output", str(self.place / GUESSES)],
                ["evaluate", workspace, "--data", table, "--json"],
            ):
                outcome = ran(line)
                if outcome["status"] != 0:
                    problems.append(
                        f"{line[0]}: {outcome['status']} {outcome['out'][:300]}{outcome['err']}"
                    )
            _sleep_until((self.place / "over").exists, 1)
        return problems

    # ---- afterwards -------------------------------------------------------------------------

    def _check(self, accepted: int) -> None:
        """Everything accepted is certified once and erased, and nothing else is."""
        workspace = self.place / "workspace"
        document, checked = status(workspace), verify(workspace)
        requests = document["requests"]
        certificate = json.loads(
            max((workspace / "certificates").glob("[0-9]*.json"), key=_number).read_text()
        )
        gone, anew = {NEXT}, len(document["fits"])
        if anew:
            gone |= set(LACKING)
        names = [request["name"] for request in requests]
        for name in names[:-1]:
            gone |= set(LACKING if name == "left out" else records(int(name.split()[-1])))
        left, joined = self._left(), self._joined()
        more = bool(joined)
        tickets = {what for what in self.ended_well if what.startswith("ticket")}
        for holds, problem in (
            (len(requests) == accepted + 1 and tickets <= set(names), "a request is lost"),
            (len(set(names)) == len(names), "a request is doubled"),
            ({one["state"] for one in requests} == {"honoured"}, "a request is not honoured"),
            (document["records"]["forgotten"] == len(gone), "other records are forgotten"),
            (document["model"]["number"] == len(requests) + 1 + more, "models are lost or doubled"),
            (checked["valid"], f"verify: {checked}"),
            (
                0 <= checked["certificates"] - (len(requests) - anew) <= more,
                "certificates are not as many",
            ),
            (anew == names.count("left out") <= 1, "a fit is done twice, or in part"),
            (anew or not self.ended_well & {"fit", "fit again"}, "a fit is lost"),
            (more >= bool(self.ended_well & {"add", "add again"}), "records that joined are lost"),
            (joined in (set(), set(JOINING["id"])), "records joined in part"),
            (
                certificate["sequence"] <= len(names) - anew  # which begin anew with a fit
                if anew
                else 0 <= certificate["sequence"] - len(names) <= more,
                "a certificate is lost or doubled",
            ),
            (left == set(private_people()["id"]) - gone | joined, "the records left are others"),
            (document["unerased"] == [] and document["lease"] is None, "not everything is erased"),
            (
                _kinds(workspace)
                == {"models": 1, "records": 1, "secret": 1, "saved": self._named_by_index()},
                f"files: {_kinds(workspace)}",
            ),
            (not _traces(workspace, gone), f"traces: {_traces(workspace, gone)}"),
        ):
            if not holds:
                self.wrong.append(problem)

    def _left(self) -> set[str]:
        """The ids of the records that lie in the workspace."""
        tables = (self.place / "workspace").glob("secret/saved/secret/chunk-*.parquet")
        return {
            record for table in tables for record in parquet.read_table(table)["id"].to_pylist()
        }

    def _joined(self) -> set[str]:
        """The records of `add` that are there."""
        return self._left() & set(JOINING["id"])

    def _named_by_index(self) -> int:
        """How many files the saved model has: those that its index names, and the index."""
        return 1 + len(read(self.place / "workspace/secret/saved").names)


def _sleep_until(done: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not done():
        time.sleep(0.02)


def _number(certificate: Path) -> int:
    return int(certificate.stem)


def _kinds(workspace: Path) -> dict[str, int]:
    """How many files of each kind there are; of the saved model those that its index names."""
    kinds = ("models", "records", "secret")
    saved = [path for path in (workspace / "secret/saved").rglob("*") if path.is_file()]
    return {kind: len(list((workspace / kind).iterdir())) for kind in kinds} | {"saved": len(saved)}


def _traces(workspace: Path, gone: set[str]) -> list[str]:
    """Files that hold a value of a record that left."""
    contents = {path: path.read_bytes() for path in workspace.rglob("*") if path.is_file()}
    return sorted(
        path.name
        for path, content in contents.items()
        if any(mark(record).encode() in content for record in gone)
    )


def start(scratch: Path) -> Path:
    """The workspace that each round starts from; every private record has a value of its own."""
    place = scratch / "start"
    place.mkdir()
    private = private_people()
    private["colour"] = [mark(record) for record in private["id"]]
    write_plain_parquet()
    with in_short_chunks(CHUNK):
        workspace = fitted(place, private)
    assert len(list(workspace.glob("secret/saved/secret/chunk-*.parquet"))) > 2
    write(place / MORE, JOINING)
    kept = [row for row, record in enumerate(private["id"]) if record not in LACKING]
    write(place / ANEW, {name: [values[row] for row in kept] for name, values in private.items()})
    for record in private["id"]:
        assert _traces(workspace, {record}), record  # they can be seen where they are
    return place


def touches(place: Path, scratch: Path) -> list[tuple[str, int]]:
    """Every touch of every verb, as it runs undisturbed."""
    every = []
    for verb in VERBS:
        copy = copied(place, scratch / f"alone-{verb}")
        ended = Child(
            lambda verb=verb, copy=copy: ran(command(verb, copy)), copy, record=True
        ).ended()
        assert ended is not None
        assert ended["result"]["status"] == 0, ended
        every += [(verb, moment + 1) for moment in range(len(ended["touches"]))]
    return every


def rounds(
    count: int, seed: int, scratch: Path, earlier: Sequence[dict[str, Any]] = ()
) -> Iterator[dict[str, Any]]:
    """Rounds until there were so many kills, and every touch was one of them.

    Args:
        earlier: Lines of a run that was interrupted.
    """
    place, waiting = start(scratch), dict[tuple[str, int], int]()
    for each in touches(place, scratch):
        waiting[each] = TRIES
    for line in earlier:
        _take(waiting, line)
    kills = sum(len(line["kills"]) for line in earlier)
    number = max((line["round"] for line in earlier), default=0)
    while kills < count or waiting:
        number += 1
        rng = random.Random(f"{seed} {number}")
        verb, moment = rng.choice([*waiting] or [(verb, None) for verb in VERBS])
        copy = copied(place, scratch / f"round-{number}")
        line = Round(copy, rng, rng.choice(SUBMITTERS), verb, moment).run()
        _take(waiting, line)
        kills += len(line["kills"])
        shutil.rmtree(copy)
        yield {"round": number, "seed": seed, "touches_left": len(waiting)} | line


def _take(waiting: dict[tuple[str, int], int], line: dict[str, Any]) -> None:
    """Take the touch of a round from those that wait, or one of its tries."""
    aimed = line["verb"], line["aimed"]
    if aimed in waiting:
        waiting[aimed] -= 1
        if line["touch"] is not None or not waiting[aimed]:
            del waiting[aimed]
