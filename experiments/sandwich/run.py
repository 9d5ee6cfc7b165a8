"""What an attack proves, what models show, what is certified, on the same laws.

    lower bound (at its confidence)  <=  D_2  <=  certificate

of D_2(pi_R^{T+K} || pi_U^K), over K and public volume, for softmax heads on full batches from a
common zero start. Forget sets are whole classes, or as many records at random: the certificate is
the same for both, since it cannot know how ordinary the forgotten are. The attack looks along the
best linear test of the noise-free paths, which is known without any model. Its bound is on mu, as
the certificate's is, and D_2 = mu^2.

Controls: two samples of the retrained law, which must show nothing above the certificate; and the
claim that ten times the noise had been added, which the same models must refute.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from experiments.head_problems import (
    Point,
    certificate,
    closeness,
    direction,
    problem,
    rows_of,
)
from experiments.parts import Parts, machine
from experiments.sandwich.settings import Case, Settings
from expunge.accounting.bounds import GDP
from expunge.audit.lower_bound import EpsilonLowerBound, epsilon_lower_bound, models_needed
from expunge.divergence.lower_estimates import estimate_along
from expunge.sampling import sample_ensemble

__all__ = ["rows_of_case", "run", "verdicts"]

UNFINISHED = Path(__file__).parent / "results" / "unfinished"
FEW = 1000  # models of a run too short to be kept in parts


def run(settings: Settings) -> dict[str, Any]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kept = max(case.models for case in settings.cases) > FEW
    parts = Parts(UNFINISHED if kept else None, json.dumps(asdict(settings)), Path(__file__).parent)
    rows = [
        row
        for case in settings.cases
        for volume in settings.volumes
        for row in parts.rows(
            f"{case.pair.replace('/', '-')} {case.forget_set} {volume:g}",
            partial(squeezed, settings, case, volume, device),
        )
    ]
    parts.done()
    result = {
        "settings": asdict(settings),
        "device": parts.device or machine(),
        "seconds": parts.seconds,
        "rows": rows,
    }
    return result | {"verdicts": verdicts(result)}


def squeezed(
    settings: Settings, case: Case, volume: float, device: str
) -> Iterator[dict[str, Any]]:
    """One point, by K."""
    point = Point(round(volume * case.retained), case.retained, case.forget)
    found = problem(case.pair, point, case.variant, settings.chain, split=0, seed=settings.seed)
    sampled = sample_ensemble(
        found,
        unlearn_steps=settings.unlearn_steps,
        models=case.models,
        device=device,
        seed=settings.seed,
    )
    classes = int(rows_of(case.pair)[1].targets.max()) + 1
    for k in settings.unlearn_steps:
        of, against = (sampled[law, k].weights.flatten(1) for law in ("retrained", "unlearned"))
        test = direction(found, k).to(of.device)
        bound = certificate(case.variant, point, settings.chain, classes, k)
        attack = _attack(settings, of, against, test)
        half = len(of) // 2
        null = _attack(settings, of[:half], of[half:], test)
        seen = estimate_along(of, against, test, order=2.0, level=settings.level)
        told = closeness(found, k)["value"]
        yield {
            "pair": case.pair,
            "forget_set": case.forget_set,
            **asdict(point),
            "unlearn_steps": k,
            "models": case.models,
            "dimension": of.shape[1],
            "lower": {
                "epsilon": attack.value,
                "mu": attack.mu,
                "renyi_2": attack.mu**2,
                "ceiling": attack.ceiling,
            },
            "estimate": {"value": seen.value, "interval": seen.interval, "kind": seen.kind},
            "predicted": told,
            "certified": {
                "epsilon": bound.epsilon(settings.delta),
                "mu": bound.mu,
                "renyi_2": bound.renyi(2.0),
            },
            "contradicted": attack.decided.mu > bound.mu and not null.tells_apart,
            "null": {"mu": null.mu, "quiet": not null.tells_apart},
            "false_claim": _false_claim(settings, bound, attack, told),
        }


def _attack(settings: Settings, of: Tensor, against: Tensor, test: Tensor) -> EpsilonLowerBound:
    unit = test / test.norm()
    scores = [(side.double() @ unit).cpu().numpy() for side in (of, against)]
    return epsilon_lower_bound(
        of=scores[0], against=scores[1], delta=settings.delta, level=settings.level
    )


def _false_claim(
    settings: Settings, bound: GDP, attack: EpsilonLowerBound, told: float
) -> dict[str, Any]:
    """Had sigma been said to be ten times what it was: a tenth of mu."""
    claimed = bound.mu / 10
    needed = models_needed(mu=told**0.5, claimed=claimed, level=settings.level)
    return {
        "mu": claimed,
        "false": told > claimed**2,
        "caught": attack.mu > claimed,
        "models_needed": None if needed is None else 2 * needed,
    }


def verdicts(result: dict[str, Any]) -> list[dict[str, str]]:
    found = []
    for case in result["settings"]["cases"]:
        rows = rows_of_case(result, case)
        found += [_sound(rows), _tight(rows), _power(rows), _falls(result, rows)]
    return [dict(zip(("claim", "found", "verdict"), one, strict=True)) for one in found]


def rows_of_case(result: dict[str, Any], case: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of one pair and kind of forget set."""
    return [
        row
        for row in result["rows"]
        if (row["pair"], row["forget_set"]) == (case["pair"], case["forget_set"])
    ]


def _name(rows: list[dict[str, Any]]) -> str:
    how = "at random" if rows[0]["forget_set"] == "random" else "by class"
    return f"{rows[0]['pair']}, forgotten {how}"


def _sound(rows: list[dict[str, Any]]) -> tuple[str, str, str]:
    bad = sum(row["contradicted"] for row in rows)
    share = max(row["lower"]["mu"] / row["certified"]["mu"] for row in rows)
    loud = sum(not row["null"]["quiet"] for row in rows)
    verdict = "holds"
    if bad:
        verdict = f"DOES NOT HOLD: contradicted at {bad} points"
    elif loud:
        verdict = f"cannot conclude: two samples of one law differ at {loud} points"
    return (
        f"{_name(rows)}: no attack shows more than is certified",
        f"{len(rows)} points, {rows[0]['models']:,} models of each law: the largest lower bound on "
        f"mu is {share:.2f} of the certified one; {loud} null controls above {0 if loud else 'it'}",
        verdict,
    )


def _tight(rows: list[dict[str, Any]]) -> tuple[str, str, str]:
    shares = [row["predicted"] / row["certified"]["renyi_2"] for row in rows]
    shown = [row["lower"]["renyi_2"] / row["predicted"] for row in rows]
    return (
        f"{_name(rows)}: how close the certificate is",
        f"D_2 is {min(shares):.2g} to {max(shares):.2g} of the certified one; the attack proves "
        f"{min(shown):.2g} to {max(shown):.2g} of D_2",
        f"{1 / max(shares):,.0f} to {1 / min(shares):,.0f} times the truth: these data are not the "
        "worst of their class",
    )


def _power(rows: list[dict[str, Any]]) -> tuple[str, str, str]:
    false = [row["false_claim"] for row in rows if row["false_claim"]["false"]]
    caught = sum(one["caught"] for one in false)
    most = max((one["models_needed"] or 0 for one in false), default=0)
    claim = f"{_name(rows)}: a claim of ten times the noise is caught"
    told = f"false at {len(false)} of {len(rows)} points, caught at {caught}"
    if not false:
        return claim, told, "cannot conclude: it would be true of these data at every point"
    if caught == len(false):
        return claim, told, "holds"
    return claim, told, (
        f"cannot conclude at {len(false) - caught} points at this scale: up to {most:,} models of "
        "each law"
    )  # fmt: skip


def _falls(result: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[str, str, str]:
    """With public volume, at the last K: by intervals of the estimate."""
    k = result["settings"]["unlearn_steps"][-1]
    last = [row for row in rows if row["unlearn_steps"] == k]
    first, most = last[0]["estimate"], last[-1]["estimate"]
    apart = most["interval"][1] < first["interval"][0]
    volume = last[-1]["public"] / last[-1]["retained"]
    return (
        f"{_name(rows)}: all three fall with public data alone",
        f"K = {k}, none to {volume:g} times the retained rows: lower bound "
        f"{last[0]['lower']['renyi_2']:.3g} to {last[-1]['lower']['renyi_2']:.3g}, estimate "
        f"{first['value']:.3g} to {most['value']:.3g}, certified "
        f"{last[0]['certified']['renyi_2']:.3g} to {last[-1]['certified']['renyi_2']:.3g}",
        "holds" if apart else "cannot conclude at this scale: the intervals meet",
    )
