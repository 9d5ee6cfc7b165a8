"""Records that hold private rows or un-noised solutions: they are never pickled or shown."""

import copy
from typing import Any, Self

__all__ = ["Secret"]

UNPICKLED = (
    "holds private records and secret state, which pickle would write in clear; use release() for "
    "what may be handed out, save() to go on from disk"
)


class Secret:
    """A frozen record that stays in this process; copies in memory are allowed."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{type(self).__name__}: {UNPICKLED}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: records and secret state, not shown>"

    def __copy__(self) -> Self:
        return self._rebuild(vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._rebuild(copy.deepcopy(vars(self), memo))

    def _rebuild(self, values: dict[str, Any]) -> Self:
        made = object.__new__(type(self))
        vars(made).update(values)
        return made
