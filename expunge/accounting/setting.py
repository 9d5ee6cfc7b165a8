"""The learning problem that a plan is made for: how much data, which step, how many steps.

A setting leaves sigma and the unlearning steps open; `calibration` solves for them.
"""

from dataclasses import dataclass

from expunge.accounting.assumptions import Assumptions
from expunge.accounting.history import History, Normaliser, learn_unlearn
from expunge.accounting.moduli import check_step_sizes
from expunge.accounting.number_checks import check_count, check_positive
from expunge.accounting.target import Observer
from expunge.errors import InvalidInput

__all__ = ["Setting"]


@dataclass(frozen=True)
class Setting:
    """T learning steps on public + private records, of which `forget` private ones go."""

    assumptions: Assumptions
    private: int
    public: int
    forget: int
    step_size: float
    learn_steps: int
    normaliser: Normaliser = "mean"
    observer: Observer = "final"

    def __post_init__(self) -> None:
        if not isinstance(self.assumptions, Assumptions):
            raise InvalidInput("assumptions", "must be an Assumptions record")
        least = {"private": 1, "public": 0, "forget": 0, "learn_steps": 1}
        for name, value in least.items():
            object.__setattr__(self, name, check_count(name, getattr(self, name), value))
        object.__setattr__(self, "step_size", check_positive("step_size", self.step_size))
        if self.normaliser not in ("mean", "fixed"):
            raise InvalidInput("normaliser", "must be mean or fixed")
        if self.observer not in ("final", "all"):
            raise InvalidInput("observer", "must be final or all")
        if not 0 <= self.forget <= self.private:
            raise InvalidInput("forget", f"{self.forget} of {self.private} private records")
        if self.forget == self.private + self.public:
            raise InvalidInput("forget", "no record is retained, so there is no comparator")
        check_step_sizes(self.assumptions, self.history(1.0, 0))

    def history(self, sigma: float, unlearn_steps: int) -> History:
        """The phases of learning and unlearning."""
        return learn_unlearn(
            learn_steps=self.learn_steps,
            unlearn_steps=unlearn_steps,
            step_size=self.step_size,
            sigma=sigma,
            samples=self.private + self.public,
            forgotten=self.forget,
            normaliser=self.normaliser,
            learned_model_released=self.observer == "all",
        )
