"""The paper's audit, [subseq:ulira_details], on scikit-learn's embedded digits."""

from dataclasses import dataclass, replace

__all__ = ["SCALES", "Settings", "for_pair"]


@dataclass(frozen=True)
class Settings:
    """T = 50 and K = 1..15 as in the paper; a softmax head of 10 x 64 on rows of norm 1.

    Args:
        forget: Sizes of forget sets, drawn uniformly from the private records.
        repetitions: Of the whole attack, each with its own shadow and test models.
        shadow, test: Models of each law in a repetition; the paper's 50 and 25.
        retained: Records of each side in the check of what retained records leak.
        pair: Public and private set in place of the embedded digits, which are both sides if "".
    """

    private: int = 600
    public: int = 747
    forget: tuple[int, ...] = (1, 20, 100)
    learn_steps: int = 50
    unlearn_steps: tuple[int, ...] = tuple(range(1, 16))
    step_size: float = 0.5
    sigma: float = 0.01
    radius: float = 100.0
    repetitions: int = 16
    shadow: int = 50
    test: int = 25
    retained: int = 100
    level: float = 0.95
    delta: float = 1e-5
    seed: int = 0
    pair: str = ""


SCALES = {
    "smoke": Settings(forget=(20,), unlearn_steps=(1, 15), repetitions=4, learn_steps=20),
    "cpu": Settings(),
    "paper": Settings(repetitions=100),
}


def for_pair(
    settings: Settings, pair: str, *, retained: int, public: tuple[float, ...] | None
) -> Settings:
    """The same on a pair of your own; the largest forget set is a quarter of its private rows.

    Args:
        public: Public rows as a multiple of the retained ones; the largest counts.
    """
    largest = max(1, retained // 4)
    forget = tuple(sorted({min(one, largest) for one in settings.forget}))
    return replace(
        settings,
        pair=pair,
        private=retained + max(forget),
        public=round(max(public or (1.0,)) * retained),
        forget=forget,
        retained=min(settings.retained, retained // 2),
    )
