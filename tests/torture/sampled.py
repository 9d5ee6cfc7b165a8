"""A few rounds of kills, with few processes and with or without a planted fault.

python -m tests.torture.sampled ROUNDS SEED SCRATCH FAULT
"""

import json
import sys
from itertools import islice
from pathlib import Path

from expunge.ledger import Entries
from expunge.store import writing
from expunge.workspace.folder import Folder
from tests.torture import kills

FAULTS = {  # what goes wrong, and what the rounds must say of it
    "none": "",
    "nothing is erased": "traces",
    "a request is not known again": "already",
    "an accepted request is dropped": "a request is lost",
}


def plant(fault: str) -> None:
    """Break the package as the fault says."""
    if fault == "nothing is erased":
        Folder.strays = lambda *_: ()
        writing.finish = lambda _: None
    if fault == "a request is not known again":
        Entries.find_request = lambda *_: None
    if fault == "an accepted request is dropped":
        plain = Entries.requests
        Entries.requests = lambda *arguments: [
            request for request in plain(*arguments) if request.name != "ticket 2"
        ]


def main(count: str, seed: str, scratch: str, fault: str) -> None:
    plant(fault)
    kills.SUBMITTERS = (3, 4)
    lines = kills.rounds(500, int(seed), Path(scratch))
    json.dump(list(islice(lines, int(count))), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
