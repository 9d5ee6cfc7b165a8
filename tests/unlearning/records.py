"""Small learning problems, and what must not change when a request fails."""

import numpy as np

CERTIFYING = ("residual", "langevin", "noise_first", "retrain")


def labelled(rows=120, features=4, classes=2, seed=0, noise=0.3):
    """Rows within the unit ball and labels 0, 1, ... along fixed directions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) / (2 * np.sqrt(features))
    directions = np.random.default_rng(99).normal(size=(features, classes))
    y = (X @ directions + noise * rng.normal(size=(rows, classes)) / 4).argmax(1)
    y[:classes] = np.arange(classes)  # every label occurs
    return X, y


def measured(rows=120, features=4, seed=0):
    """Rows within the unit ball and targets within [-1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) / (2 * np.sqrt(features))
    return X, np.clip(X @ np.linspace(-1, 1, features) + 0.1 * rng.normal(size=rows), -1, 1)


def every_value(job):
    """All that a model rests on: what is looked at by block, and what as a whole."""
    return [*job.row_columns, *job.stored_values()]


def state(estimator):
    """Everything that a failed request must leave alone."""
    job, outcome = estimator.fitted_.job, estimator.fitted_.outcome
    return (
        outcome.theta.numpy().tobytes(),
        tuple((name, value.numpy().tobytes()) for name, value in sorted(outcome.secret.items())),
        job.features.numpy().tobytes(),
        job.targets.numpy().tobytes(),
        job.roster.present.numpy().tobytes(),
        estimator.history_,
        None if estimator.certificate_ is None else estimator.certificate_.canonical(),
    )
