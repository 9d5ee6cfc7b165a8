"""What reports on LSTMs of reviews have in common: the run, the search, whether models learn."""

from typing import Any

from experiments.power import Interval

__all__ = ["CANNOT", "LEARNT", "SIGMA", "judge_learning", "scale_run", "search_table"]

Row = dict[str, Any]
LEARNT = 0.6  # accuracy; the labels are balanced
SIGMA = {"paper": "paper's sigma", "learns": "smaller sigma"}
CANNOT = "cannot conclude at this scale: "


def scale_run(result: Row) -> str:
    """What was run, on what, and what was cut."""
    cut = "; ".join(result["cut"]) or "nothing"
    stands = f" Its data stand for {result['stands_for']}." if result["stands_for"] else ""
    seconds = dict(result["seconds"])
    search = seconds.pop("search")
    models = result["settings"]["models"]
    return (
        f"Scale `{result.get('scale', 'run')}` (models: {result['device']}, "
        f"{sum(seconds.values()):.0f} s summed over blocks; search: {search:.0f} s, possibly "
        f"elsewhere; batches of {models['chain']['batch']}). "
        f"Cut against the paper's size: {cut}.{stands}"
    )


def search_table(result: Row) -> str:
    """The search on public data."""
    choice = result["search"]
    shape, laws = choice["shape"], {_law(row["shape"]) for row in choice["tried"]}
    arms = "; ".join(
        f"{arm}: sigma {choice[arm]['sigma']:g}, step size {choice[arm]['step_size']:g}, "
        f"{choice[arm]['accuracy']:.1%}"
        for arm in ("paper", "learns", "no noise")
    )
    reached = "" if choice["reached"] else "; no sigma above 0 reaches it"
    bound, added = _law(shape)
    start = f"Initial embeddings are uniform on +-{bound} and forget gates have {added} added"
    if len(laws) > 1:
        start += ", which was searched too."
    else:
        start += (
            ": from torch's own law models hardly leave guessing in as many steps, without noise "
            "too."
        )
    lines = [
        f"Chosen on held-out public reviews, of which {choice['majority']:.1%} have one label "
        f"(to learn: {choice['needed']:.1%}{reached}): {shape['words']} words, embedding "
        f"{shape['embedding']}, hidden {shape['hidden']}; {arms}. {start}",
        "",
        "| words, embedding, hidden | embeddings within, added to forget gates | sigma | step size "
        "| accuracy |",
        "|---|---|---:|---:|---:|",
    ]
    for row in choice["tried"]:
        widths = ", ".join(str(row["shape"][name]) for name in ("words", "embedding", "hidden"))
        lines.append(
            f"| {widths} | {', '.join(_law(row['shape']))} | {row['sigma']:g} "
            f"| {row['step_size']:g} | {row['accuracy']:.1%} |"
        )
    return "\n".join(lines)


def _law(shape: Row) -> tuple[str, str]:
    """Of initial weights: the bound of embeddings, and what forget gates have added."""
    return f"{shape['word_bound']:g}", f"{shape['forget_bias']:g}"


def judge_learning(cell: Row, right: Interval, search: Row) -> tuple[str, str, str]:
    """Judge whether models learn at a cell's sigma; models without noise are the control.

    Args:
        right: Test accuracy of retrained models.
        search: What models reach on held-out public reviews, at this sigma and without noise; only
            these two may be compared, because private reviews are harder.
    """
    arm = cell["arm"]
    public, control = (search[name]["accuracy"] for name in (arm, "no noise"))
    observed = (
        f"sigma = {cell['sigma']:g}, step size {cell['step_size']:g}: retrained models, "
        f"{cell['public']} public data, are right on {right.value:.1%} [{right.low:.1%}, "
        f"{right.high:.1%}] of test reviews; in the search on {public:.1%} of held-out public "
        f"ones, without noise on {control:.1%}"
    )
    verdict = CANNOT
    if right.low > LEARNT:
        verdict = "holds"
    elif right.high >= LEARNT:
        verdict += f"{LEARNT:.0%}, what we call learning, is within the interval"
    elif control < LEARNT:
        verdict += f"models without noise hardly learn either (below {LEARNT:.0%})"
    elif public >= LEARNT:
        verdict += (
            f"of private reviews they get less than {LEARNT:.0%} right, of public ones more: too "
            "few reviews and words; more models could not tell"
        )
    else:
        verdict = f"does not hold: below {LEARNT:.0%}, which models without noise reach"
    said = " (82.5 % in the paper)" if arm == "paper" else ""
    return f"{SIGMA[arm]}: models learn{said}", observed, verdict
