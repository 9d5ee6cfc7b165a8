"""One small problem for the tests of ensembles: heads of `classes` x 12 on 90 + 60 records."""

import torch

from expunge.losses import Softmax
from expunge.sampling.problem import Gaussian, Problem


def made(loss=None, classes=4, features=12, dtype=torch.float32, **settings):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(150, features, generator=generator, dtype=torch.float64)
    targets = (rows[:, :classes] + torch.randn(150, classes, generator=generator)).argmax(1)
    rows = rows.to(dtype)
    given = {
        "forget": range(20),
        "step_size": 0.3,
        "sigma": 0.02,
        "learn_steps": 4,
        "init": Gaussian(0.1),
        **settings,
    }
    return Problem(
        loss or Softmax(classes, l2=0.05),
        (rows[:90], targets[:90]),
        (rows[90:], targets[90:]),
        **given,
    )
