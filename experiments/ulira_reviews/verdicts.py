"""The paper's statements about U-LiRA on reviews, each with what was found and its interval.

A verdict is `holds`, `does not hold` or `cannot conclude at this scale`, the last with the number
of models of each law at which an effect of the size found would be seen four times in five.
"""

from typing import Any

from experiments.ulira_reviews.attacks import Attack, Interval, difference, needed

__all__ = ["LEARNT", "SIGMA", "learning", "verdicts"]

SMALL = 0.05  # a mean confidence within this of one half is as good as guessing
LEARNT = 0.6  # test accuracy; the labels are balanced
Row = dict[str, Any]
Key = tuple[str, str, int]
SIGMA = {"paper": "paper's sigma", "learns": "smaller sigma"}


def verdicts(
    cells: list[Row], attacks: dict[Key, Attack], search: Row, models: int
) -> list[dict[str, str]]:
    """Args: models: Of each law, asked for; a cell may still have fewer."""
    rows = {(cell["arm"], cell["public"], cell["forget"]): cell for cell in cells}
    found: list[tuple[str, str, str]] = []
    unknown = set()  # arms of which this scale does not tell whether models learn
    for arm in dict.fromkeys(cell["arm"] for cell in cells):
        run = [cell for cell in cells if cell["arm"] == arm and "test_accuracy" in cell]
        found += [learning(cell, _right(cell), search) for cell in run[:1]]
        unknown |= {arm} if run and found[-1][2].startswith("cannot") else set()
    for key, attack in attacks.items():
        count = rows[key]["models"]
        if key[1] == "without":
            found.append(_told_apart(key, attack, count, learnt=key[0] not in unknown))
        found.append(_falls(key, attack, count))
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


def learning(cell: Row, right: Interval, search: Row) -> tuple[str, str, str]:
    """Whether models learn at a cell's sigma; models without noise are the control.

    Args:
        right: Test accuracy of retrained models.
        search: With what models reach on held-out public reviews where there is no noise.
    """
    control, arm = search["no noise"]["accuracy"], cell["arm"]
    found = (
        f"sigma = {cell['sigma']:g}, step size {cell['step_size']:g}: retrained models, "
        f"{cell['public']} public data, are right on {right.value:.1%} [{right.low:.1%}, "
        f"{right.high:.1%}] of test reviews; without noise {control:.1%} of held-out public ones"
    )
    verdict = "holds"
    if right.low <= LEARNT and (right.high >= LEARNT or control < LEARNT):
        verdict = "cannot conclude at this scale: models without noise "
        verdict += f"hardly learn either (below {LEARNT:.0%})" if control < LEARNT else "do"
    elif right.high < LEARNT:
        verdict = f"does not hold: below {LEARNT:.0%}, which models without noise reach"
    said = " (82.5 % in the paper)" if arm == "paper" else ""
    return f"{SIGMA[arm]}: models learn{said}", found, verdict


def _right(cell: Row) -> Interval:
    found = cell["test_accuracy"]["retrained"]
    reach = 1.96 * found["standard_error"]
    return Interval(found["mean"], found["mean"] - reach, found["mean"] + reach)


def _told_apart(key: Key, attack: Attack, models: int, *, learnt: bool) -> tuple[str, str, str]:
    above = attack.at(0)
    found = (
        f"at K = {attack.steps[0]} confidence above one half {above}; right on "
        f"{attack.accuracy(0):.0%} of test models, more than 90 % sure and right on "
        f"{attack.confident(0):.0%}; at K = {attack.steps[-1]} {attack.accuracy(-1):.0%} and "
        f"{attack.confident(-1):.0%}"
    )
    verdict = f"cannot conclude at this scale: {_first(above, models)} models of each law could"
    if above.low > 0:
        verdict = "holds" if attack.confident(0) > 0.25 else "holds in part: right, seldom sure"
    elif above.high < SMALL:
        verdict = "does not hold: no better than guessing"
        if not learnt:
            verdict = "cannot conclude at this scale: no better than guessing, nothing is learned"
    return f"{_where(*key)}: many models are told apart confidently", found, verdict


def _falls(key: Key, attack: Attack, models: int) -> tuple[str, str, str]:
    trend = attack.trend
    slope = Interval(trend.slope, *trend.interval)
    first = Interval(trend.excess, *trend.excess_interval)
    found = f"change for each epoch {slope}; above one half at the first K {first}"
    words = {"falls": "holds", "rises": "does not hold: it rises"}
    verdict = words.get(trend.verdict)
    if verdict is None:
        reason, count = "either sign", needed(slope, models)
        if first.low <= 0:
            reason, count = "at the first K no better than guessing", _first(first, models)
        verdict = f"cannot conclude at this scale: {reason}; {count} models of each law could"
    return f"{_where(*key)}: confidence falls with K", found, verdict


def _first(above: Interval, models: int) -> str:
    """To see that it is above one half; or, found below it, that it is not above by `SMALL`."""
    return needed(above, models, 0.0 if above.value > 0 else SMALL)


def _public(
    arm: str, forget: int, attack: Attack, without: Attack, models: int
) -> tuple[str, str, str]:
    change, first = difference(attack, without), without.at(0)
    verdict = f"cannot conclude at this scale: {needed(change, models)} models of each law could"
    if first.low <= 0:
        verdict = (
            "cannot conclude at this scale: without public data no better than guessing; "
            f"{_first(first, models)} models of each law could"
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
