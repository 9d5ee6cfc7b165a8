"""Networks, public and private sets, deletions, budgets."""

from dataclasses import dataclass

__all__ = ["SCALES", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Args:
    pairs: Names of `experiments.datasets`, and "mnist/mnist", whose public rows are other MNIST.
    public, private: Rows of "mnist/mnist".
    hidden: Units of each pair's one hidden layer.
    shares: Of the private records, deleted.
    budgets: FLOPs of a request over those of retraining in full.
    epochs: Candidates for retraining in full; public records alone choose.
    splits: Of the public records into four fifths and one, to choose.
    step_size, batch_size: Of Adam; the step falls linearly to nothing. The best of 1e-3, 2e-3 and
        5e-3 and of 64 and 128 on 2,000 of MNIST's private records, seed 0; the other pairs take
        the same.
    ridges: Candidates for l2 of a head on embeddings, the cheapest first; the private records
        choose, each fifth scored by heads on the others. Other heads have the package's own.
    seeds: Of records, initial values and noise, for exact deletions and strategies with a head.
    baseline_seeds: For the published clippings; at `baseline_shares` alone.
    langevin_seeds: For noisy descent with per-record clipping; at `baseline_shares` alone.
    langevin_epochs: The most unlearning steps, each a pass over the records, that are run.
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
    splits: int = 2
    step_size: float = 5e-3
    batch_size: int = 128
    ridges: tuple[float, ...] = (1e-4, 1e-5, 1e-6)
    seeds: tuple[int, ...] = (0, 1, 2)
    baseline_seeds: tuple[int, ...] = (0, 1, 2)
    baseline_shares: tuple[float, ...] = (0.1,)
    langevin_seeds: tuple[int, ...] = (0,)
    langevin_epochs: int = 6
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
        step_size=1e-2,
        splits=1,
        seeds=(0, 1),
        baseline_seeds=(0,),
        langevin_epochs=10,
    ),
    "cpu": Settings(pairs=("photo/art_painting",), hidden=(256,)),
    "paper": Settings(),
}
