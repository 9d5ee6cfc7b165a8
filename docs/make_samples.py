"""Makes the tables of `docs/samples`, on which every line of README and the tutorial runs.

    python docs/make_samples.py

Nobody is in them: customers who visit, have a plan, and leave or stay, by a rule with some chance.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "samples"
TABLES = {"customers": ("0", 600), "survey": ("9", 400), "new_customers": ("1", 40)}
TABLES["last_year"] = ("5", 200)
RULES = {"visits": {"center": 5, "scale": 2}, "plan": {"values": ["basic", "gold"]}}
HISTORY = {
    "assumptions": {"strong_convexity": 0.0119, "smoothness": 0.2619, "lipschitz": 1.0},
    "normaliser": "mean",
    "phases": [
        {"steps": 10000, "step_size": 3.8182512, "sigma": 0.03, "samples": 33000, "forgotten": 300},
        {"steps": 100, "step_size": 3.8182512, "sigma": 0.03, "samples": 32700, "forgotten": 0},
    ],
    "delta": 1e-5,
}


def rows(first: str, count: int, rng: np.random.Generator) -> Iterator[list[object]]:
    """Customers: an id, visits in a month, the plan, and whether they left."""
    for number in range(count):
        visits, gold = int(rng.poisson(5)), bool(rng.random() < 0.5)
        stays = visits + 3 * gold + rng.logistic() > 5
        yield [
            f"{first}{number:04d}", visits, "gold" if gold else "basic", "no" if stays else "yes",
        ]  # fmt: skip


def main(folder: Path = FOLDER) -> None:
    """Write every file into the folder."""
    rng = np.random.default_rng(2024)
    for name, (first, count) in TABLES.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["customer", "visits", "plan", "churned"])
            table.writerows(rows(first, count, rng))
    (folder / "requests.txt").write_text("00417\n00582\n00003\n")
    (folder / "rules.json").write_text(json.dumps({"columns": RULES}) + "\n")
    (folder / "history.json").write_text(json.dumps(HISTORY, indent=1) + "\n")


if __name__ == "__main__":
    main()
