"""The paper's statements about U-LiRA on reviews, each with what was found and its interval.

A verdict is `holds`, `does not hold` or `cannot conclude at this scale`, the last with the number
of models of each law at which an effect of the size found would be seen four times in five. Whether
confidence falls is asked only where the attack sees something at the first K; beside it stands what
it sees of models that were never unlearned, and what the gap of mean scores, which needs no attack,
says of the same models.
"""

from typing import Any

from experiments.power import Interval, models_needed
from experiments.review_reports import CANNOT, SIGMA, judge_learning
from experiments.ulira_reviews.attacks import Attack, Gaps, difference

__all__ = ["verdicts"]

SMALL = 0.05  # a mean confidence within this of one half is as good as guessing
MANY = 0.25  # of test models: a large proportion
Row = dict[str, Any]
Key = tuple[str, str, int]
NOTHING = CANNOT + "models have learned nothing at this sigma; less noise could, more models not"


def verdicts(
    cells: list[Row],
    attacks: dict[Key, Attack],
    apart: dict[Key, Gaps],
    search: Row,
    models: int,
) -> list[dict[str, str]]:
    """Judge each of the paper's statements by what was found.

    Args:
        models: Of each law, asked for; a cell may still have fewer.
    """
    rows = {(cell["arm"], cell["public"], cell["forget"]): cell for cell in cells}
    found: list[tuple[str, str, str]] = []
    idle = set()  # arms whose models learn nothing
    for arm in dict.fromkeys(cell["arm"] for cell in cells):
        run = [cell for cell in cells if cell["arm"] == arm and "test_accuracy" in cell]
        found += [judge_learning(cell, _right(cell), search) for cell in run[:1]]
        idle |= {arm} if run and found[-1][2].startswith("does not hold") else set()
    for key, attack in attacks.items():
        row = rows[key]
        if key[1] == "without":
            found.append(_told_apart(key, attack, row["models"]))
        for claim, told, verdict in (_falls(key, attack, row), _closer(key, apart[key], row)):
            unseen = key[0] in idle and verdict.startswith(CANNOT)
            found.append((claim, told, NOTHING if unseen else verdict))
    for (arm, public, forget), attack in attacks.items():
        without = attacks.get((arm, "without", forget))
        if public == "with" and without is not None:
            count = min(rows[arm, one, forget]["models"] for one in ("with", "without"))
            found.append(_public(arm, forget, attack, without, count))
    for cell in cells:
        if cell["blocks_left"]:
            found.append(_unfinished(cell, models))
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in found]


def _where(arm: str, public: str, forget: int) -> str:
    records = "1 review" if forget == 1 else f"{forget} reviews"
    return f"{SIGMA[arm]}, {records} forgotten, {public} public data"


def _right(cell: Row) -> Interval:
    found = cell["test_accuracy"]["retrained"]
    reach = 1.96 * found["standard_error"]
    return Interval(found["mean"], found["mean"] - reach, found["mean"] + reach)


def _told_apart(key: Key, attack: Attack, models: int) -> tuple[str, str, str]:
    above, most = attack.at(0), attack.confident_at_most(0)
    found = (
        f"at K = {attack.steps[0]} confidence above one half {above}; right on "
        f"{attack.accuracy(0):.0%} of test models, more than 90 % sure and right on "
        f"{attack.confident(0):.0%} (at most {most:.0%}); at K = {attack.steps[-1]} "
        f"{attack.accuracy(-1):.0%} and {attack.confident(-1):.0%}"
    )
    verdict = f"{CANNOT}{_first(above, models)}"
    if above.low > 0:
        verdict = "holds" if attack.confident(0) > MANY else "holds in part: right, seldom sure"
    elif most < MANY:
        verdict = f"does not hold: at most {most:.0%} of models, and no better than guessing"
    return f"{_where(*key)}: many models are told apart confidently", found, verdict


def _falls(key: Key, attack: Attack, row: Row) -> tuple[str, str, str]:
    trend = attack.trend
    slope = Interval(trend.slope, *trend.interval)
    first = Interval(trend.excess, *trend.excess_interval)
    found = f"change for each epoch {slope}; above one half at the first K {first}"
    words = {"falls": "holds", "rises": "does not hold: it rises"}
    verdict = words.get(trend.verdict)
    if verdict is None and first.low > 0:
        verdict = f"{CANNOT}either sign; {_could(slope, row['models'])}"
    elif verdict is None:
        reason = "the attack sees nothing at the first K"
        if row["never_unlearned"]["interval"][0] <= 0.5:
            reason += ", nor where nothing was unlearned, so it has no power here"
        verdict = f"{CANNOT}{reason}; {_first(first, row['models'])}"
    never = row["never_unlearned"]
    low, high = (value - 0.5 for value in never["interval"])
    found += f"; of models never unlearned {Interval(never['confidence'] - 0.5, low, high)}"
    return f"{_where(*key)}: confidence falls with K", found, verdict


def _closer(key: Key, apart: Gaps, row: Row) -> tuple[str, str, str]:
    """Ours: of all models' mean scores, without fits and tests. A gap that models which were never
    unlearned do not show is not believed: one of several looks."""
    first, slope, never = apart.at(0), apart.slope, row["never_unlearned"]
    control = Interval(never["gap"], *never["gap_interval"])
    found = (
        f"unlearned - retrained at the first K {_short(first)} standard deviations, change for "
        f"each epoch {slope}; models never unlearned {_short(control)}"
    )
    verdict = f"{CANNOT}either sign; {_could(slope, row['models'])}"
    if first.low <= 0:
        verdict = f"{CANNOT}no gap is seen at the first K; {_first(first, row['models'])}"
    elif control.low <= 0:
        verdict = f"{CANNOT}no gap is seen without unlearning; {_first(control, row['models'])}"
    elif slope.high < 0:
        verdict = "holds"
    elif slope.low > 0:
        verdict = "does not hold: it grows"
    return f"{_where(*key)}: (ours) mean scores come closer with K", found, verdict


def _short(found: Interval) -> str:
    return f"{found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}]"


def _could(found: Interval, models: int) -> str:
    return f"{models_needed(found, models)} models of each law could"


def _first(above: Interval, models: int) -> str:
    """To see an effect of the size found; one that is not there no number of models shows."""
    return _could(above, models) if above.value > 0 else "if there is none, no number of models can"


def _public(
    arm: str, forget: int, attack: Attack, without: Attack, models: int
) -> tuple[str, str, str]:
    change, first = difference(attack, without), without.at(0)
    verdict = f"{CANNOT}{_could(change, models)}"
    if first.low <= 0:
        verdict = (
            f"{CANNOT}without public data the attack sees nothing at the first K; "
            f"{_first(first, models)}"
        )
    elif change.high < 0:
        verdict = "holds"
    elif change.low > 0:
        verdict = "does not hold: it rises"
    claim = f"{_where(arm, 'with', forget)}: lower confidence than without"
    return claim, f"change of the mean over all K {change}", verdict


def _unfinished(cell: Row, models: int) -> tuple[str, str, str]:
    key = cell["arm"], cell["public"], cell["forget"]
    found = f"{cell['models']} of {models} models of each law so far"
    return _where(*key), found, "not finished: run the same command again"
