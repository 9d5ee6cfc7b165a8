"""Mass unlearning: what each way learns from, and verdicts that follow the rows."""

import json
from pathlib import Path

import pytest

from experiments.deletion_tasks import division
from experiments.mass_unlearning.report import report
from experiments.mass_unlearning.run import joined, run, without_public
from experiments.mass_unlearning.settings import SCALES, Settings
from experiments.mass_unlearning.verdicts import verdicts
from experiments.stacked_descent import Descent, langevin_cell

PAIR = "digits+2/digits"


def made(certified: dict[str, float], public_only: float = 70.0):
    """Rows of one pair with these accuracies; 80 without noise, 81 retrained."""
    rows = [
        {"pair": PAIR, "alignment": "misaligned", "arm": "public only", "accuracy": public_only}
    ]
    for arm, accuracy in certified.items():
        rows.append({"pair": PAIR, "arm": f"{arm}, without noise", "accuracy": 80.0})
        for observer in ("final", "all"):
            rows.append(
                {
                    "pair": PAIR,
                    "alignment": "misaligned",
                    "arm": arm,
                    "observer": observer,
                    "deletion": 0.5,
                    "epsilon": 1.0,
                    "accuracy": accuracy,
                    "standard_error": 0.5,
                }
            )
    for arm in ("auto, no public data", "retrain, no public data"):
        spot = {"observer": "final", "deletion": 0.5, "epsilon": 1.0}
        rows.append({"pair": PAIR, "arm": arm, "accuracy": 81.0} | spot)
    settings = {"pairs": [[PAIR, "misaligned"]], "deletions": [0.5], "epsilons": [1.0]}
    return {"settings": settings, "rows": rows}


def verdict(result, ending: str) -> str:
    return next(row["verdict"] for row in verdicts(result) if row["claim"].endswith(ending))


FOUR = ("symmetric", "asymmetric", "pre-trained", "public reference")


def test_high_utility_needs_both_little_loss_and_more_than_public_data_alone_gives():
    says = "observer all: mass unlearning with high utility"
    assert verdict(made(dict.fromkeys(FOUR, 79.5)), says) == "holds"
    assert verdict(made(dict.fromkeys(FOUR, 79.5), public_only=79.9), says).startswith("does not")
    assert verdict(made(dict.fromkeys(FOUR, 75.0)), says).startswith("does not")


def test_a_gain_within_three_standard_errors_is_no_gain():
    says = "observer all: higher utility than symmetric"
    near = made(
        {"symmetric": 78.0, "asymmetric": 79.0, "pre-trained": 79.0, "public reference": 79}
    )
    far = made({"symmetric": 60.0, "asymmetric": 79.0, "pre-trained": 79.0, "public reference": 79})
    assert verdict(near, says).startswith("does not hold")
    assert verdict(far, says) == "holds"


def test_a_model_of_public_data_alone_is_named_where_it_is_as_good():
    result = made(dict.fromkeys(FOUR, 79.5), public_only=79.9)
    assert verdict(result, "pre-training helps").endswith("as good or better in every cell")


def test_public_rows_come_first_and_the_symmetric_way_never_sees_them():
    task, public = joined(Settings(rows=50), PAIR)
    assert public == 50
    alone = without_public(task, public)
    assert (alone.rows == task.rows[50:]).all()
    assert (alone.labels == task.labels[50:]).all()


def test_public_records_lower_the_noise_that_a_certificate_asks_for():
    task, public = joined(Settings(rows=50), PAIR)
    sigmas = []
    for some, there in ((without_public(task, public), 0), (task, public)):
        descent = Descent.of(
            some.rows, some.labels, classes=10, ridge=0.0119, learn_steps=20, seed=0
        )
        where = division(there, 50, 0.5)
        setting = descent.setting(where, "all")
        sigmas.append(langevin_cell(setting, where, epsilon=1.0, delta=0.01, unlearn_steps=1).sigma)
    assert sigmas[1] < 0.51 * sigmas[0]


@pytest.mark.slow
def test_a_smoke_run_covers_every_way_and_its_report_is_drawn_from_json(tmp_path):
    result = json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))
    assert {*FOUR, "auto", "retrain", "public only"} <= {row["arm"] for row in result["rows"]}
    text = report(result, tmp_path)
    assert text.count("| all |") == 4
    assert (tmp_path / "run.png").exists()


def test_the_frontier_on_the_page_is_the_committed_one():
    """docs/alu.md shows cells of results/cpu.md, and no others."""
    root = Path(__file__).parents[2]

    def rows(path):
        lines = (root / path).read_text().splitlines()
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        return [row for row in cells if len(row) > 5 and row[1] in ("final", "all")]

    shown = rows("docs/alu.md")
    committed = {
        (row[0].split(" ")[0], row[1]): [
            *(row[i].split(" ")[0] for i in (4, 5, 6, 8)),
            row[10].split(" ")[0],
        ]
        for row in rows("experiments/mass_unlearning/results/cpu.md")
        if row[2:4] == ["10%", "1"]
    }
    assert len(shown) == 8
    for pair, observer, *cells in shown:
        assert cells == committed[pair, observer]
