"""Audits of both strategies on the embedded digits, at their defaults."""

from dataclasses import dataclass

from expunge.audit.laws import MODELS

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """How often, and on what, each scale runs its audits.

    Args:
        residual_models, langevin_models: Of each law, by strategy.
        learn_steps: T of `langevin`; its default at the scales that count.
    """

    repetitions: int = 40
    residual_models: int = MODELS["residual"]
    langevin_models: int = MODELS["langevin"]
    learn_steps: int = 500
    public: int = 600
    private: int = 700
    epsilon: float = 1.0
    delta: float = 1e-5
    ridge: float = 1e-2


SCALES = {
    "smoke": Settings(
        repetitions=1,
        residual_models=40,
        langevin_models=200,
        learn_steps=20,
        public=60,
        private=70,
    ),
    "cpu": Settings(repetitions=10),
    "paper": Settings(),
}
