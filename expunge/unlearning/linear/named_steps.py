"""Steps by name, as in scikit-learn's pipelines: a parameter of a step is `name__parameter`."""

from typing import Any, Self

from sklearn.base import BaseEstimator

__all__ = ["NamedSteps"]


class NamedSteps(BaseEstimator):
    """An estimator whose parameter `steps` is a list of pairs (name, transformer)."""

    steps: list[tuple[str, Any]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; those of steps and of the estimator as `name__parameter`."""
        given = super().get_params(deep=deep)
        for name, step in self._named() if deep else ():
            given[name] = step
            if hasattr(step, "get_params"):
                inner = step.get_params(deep=True)
                given |= {f"{name}__{parameter}": value for parameter, value in inner.items()}
        return given

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; a step's name replaces the step."""
        if "steps" in parameters:
            self.steps = parameters.pop("steps")
        replaced = {name: parameters.pop(name) for name, _ in self._named() if name in parameters}
        if replaced:
            self.steps = [(name, replaced.get(name, step)) for name, step in self.steps]
        super().set_params(**parameters)
        return self

    def _named(self) -> list[tuple[str, Any]]:
        """The steps where they are pairs; nothing is checked before fit."""
        try:
            return [(name, step) for name, step in self.steps if isinstance(name, str)]
        except (TypeError, ValueError):
            return []
