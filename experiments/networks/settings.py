"""Networks, public and private sets, deletions, budgets."""

from dataclasses import dataclass

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Which pairs, deletions, budgets and candidates a scale runs.

    Args:
        pairs: Names of `experiments.datasets`, and "mnist/mnist", whose public rows are other
            MNIST.
        public, private: Rows of "mnist/mnist".
        hidden: Units of each pair's one hidden layer.
        shares: Of the private records, deleted.
        budgets: FLOPs of a request over those of retraining in full.
        epochs, step_sizes, weight_decays: Candidates for retraining in full with AdamW, whose step
            falls linearly to nothing; public records alone choose, and the cheapest of equals is
            taken. Everything else that is trained has the same recipe for fewer epochs.
        splits: Of the public records into four fifths and one, to choose.
        batch_size: Rows of a step.
        ridges: Candidates for l2 of a head on embeddings, the largest first; the private records
            choose, each fifth scored by heads on the others, and whether public records are trained
            on beside them or make the public start alone. Other heads have the package's own l2.
        head_seeds: Of records, initial values and noise, for heads and exact deletions (cheap
            ones).
        seeds: The same for clippings and noisy descent.
        langevin_steps: The most unlearning steps, each a pass over the records, that are run.
        radius: C_0 of the clippings: the trained model is clipped to it around the public start.
        noise_norm: What noisy descent's step is chosen to leave of noise, in Euclidean norm.
    """

    pairs: tuple[str, ...] = ("mnist/mnist", "amazon/imdb", "photo/art_painting")
    public: int = 10_000
    private: int = 20_000
    hidden: tuple[int, ...] = (64, 256, 256)
    shares: tuple[float, ...] = (0.1, 0.01, 0.5)
    budgets: tuple[float, ...] = (0.03, 0.1, 0.3)
    epochs: tuple[int, ...] = (10, 20, 50)
    step_sizes: tuple[float, ...] = (5e-3, 2e-2)
    weight_decays: tuple[float, ...] = (0.0, 0.3)
    splits: int = 2
    batch_size: int = 128
    ridges: tuple[float, ...] = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
    head_seeds: tuple[int, ...] = tuple(range(12))
    seeds: tuple[int, ...] = (0, 1, 2)
    langevin_steps: int = 15
    radius: float = 0.01
    noise_norm: float = 0.5
    epsilon: float = 1.0
    delta: float = 1e-5


SCALES = {
    "smoke": Settings(
        pairs=("digits+0/digits",),
        hidden=(8,),
        shares=(0.1,),
        budgets=(0.3,),
        epochs=(20,),
        ridges=(1e-3,),
        step_sizes=(1e-2,),
        weight_decays=(0.0,),
        splits=1,
        head_seeds=(0, 1),
        seeds=(0, 1),
        langevin_steps=10,
    ),
    "cpu": Settings(
        pairs=("photo/art_painting",), hidden=(256,), head_seeds=tuple(range(6)), seeds=(0, 1)
    ),
    "paper": Settings(),
}
