"""Which strategy: every one priced for a job, and the cheapest sound one for `auto`.

`accounting.prices` makes the list from counts and public constants; retraining is a solver from
zero here. Nothing looks at the records' content.
"""

from dataclasses import replace

from expunge.accounting.calibration import sigma_for_requests, smallest_sigma
from expunge.accounting.prices import (
    COLD_PASSES,
    Price,
    langevin_price,
    list_prices,
    noise_first_price,
    residual_price,
)
from expunge.accounting.setting import Setting
from expunge.errors import Refused
from expunge.unlearning.linear.langevin import UNCOUNTED, Langevin, NoiseFirst, setting_of
from expunge.unlearning.linear.linear_job import LinearJob
from expunge.unlearning.linear.residual import Residual
from expunge.unlearning.linear.retrain import Retrain
from expunge.unlearning.linear.tolerances import attainable

__all__ = ["Strategy", "cheapest", "prices"]

Strategy = Residual | Langevin | NoiseFirst | Retrain


def prices(job: LinearJob, forget: int) -> list[Price]:
    """Every strategy for forgetting so many records; those that can be taken first, by cost."""
    noise_std, _ = attainable(Residual(), job).noise(job)
    residual = residual_price(job.target, release_noise_std=noise_std, observer=job.observer)
    rows = [residual, *_descent_prices(job, forget)]
    return list_prices(rows, retraining=COLD_PASSES, observer=job.observer)


def cheapest(job: LinearJob, forget: int) -> Strategy:
    """What `auto` takes; langevin last, whose noise is in every model before any deletion.

    Raises:
        ValueError: no strategy is sound for this observer and target.
    """
    made = {s.name: s for s in (Residual(), Langevin(), NoiseFirst(), Retrain())}
    listed = prices(job, forget)
    for price in sorted(listed, key=lambda price: price.name == "langevin"):
        if price.excluded is None:
            return attainable(made[price.name], job)
    reasons = "; ".join(f"{price.name}: {price.excluded}" for price in listed)
    raise ValueError(f"strategy: none can be taken for observer {job.observer!r} ({reasons})")


def _descent_prices(job: LinearJob, forget: int) -> list[Price]:
    """langevin and noise_first; squared losses may lack the ball that both need."""
    langevin, noise_first = Langevin(), NoiseFirst()
    try:
        setting = setting_of(job, langevin.learn_steps, forget)
    except ValueError as error:
        return [
            Price(name, None, None, None, None, None, "shift", str(error))
            for name in (langevin.name, noise_first.name)
        ]
    noisy = _langevin_price(job, setting, langevin)
    clean = noise_first_price(setting, job.target, unlearn_steps=noise_first.unlearn_steps)
    if job.adaptive_requests:
        clean = replace(clean, excluded=UNCOUNTED)
    compared = job.observer == "all" and job.roster.public and setting.forget < setting.private
    if compared and noisy.excluded is None:
        return [noisy, clean, _without_public(job, setting, noisy)]
    return [noisy, clean]


def _langevin_price(job: LinearJob, setting: Setting, langevin: Langevin) -> Price:
    """The least noise for a tenth of the learning steps, or for one where every model counts."""
    # Where it counts, noise was spent at learning; one step turns the page.
    steps = 1 if job.counts_every_model else max(1, langevin.learn_steps // 10)
    try:
        sigma = _least_sigma(job, setting, langevin, 0 if job.counts_every_model else steps)
    except Refused:
        return langevin_price(setting, sigma=None, unlearn_steps=steps, epsilon=None, met=False)
    level = job.target.level
    return langevin_price(setting, sigma=sigma, unlearn_steps=steps, epsilon=level, met=True)


def _least_sigma(job: LinearJob, setting: Setting, langevin: Langevin, unlearn_steps: int) -> float:
    if job.adaptive_requests:
        return sigma_for_requests(setting, job.target, requests=langevin.requests)
    return smallest_sigma(setting, job.target, unlearn_steps=unlearn_steps)


def _without_public(job: LinearJob, setting: Setting, beside: Price) -> Price:
    """What observer `all` would cost if there were no public records: for comparison only."""
    alone, steps = replace(setting, public=0), beside.steps
    sigma = smallest_sigma(alone, job.target, unlearn_steps=0)
    price = langevin_price(alone, sigma=sigma, unlearn_steps=steps, epsilon=None, met=True)
    why = "for comparison: the noise that public records save"
    return replace(price, name="langevin without public data", excluded=why)
