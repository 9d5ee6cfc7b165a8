"""Small networks and records for them."""

import numpy as np
import torch
from torch import nn

from expunge.accounting.target import EpsilonDelta
from expunge.core.module_state import state_of
from expunge.unlearning.ids import id_rows
from expunge.unlearning.networks.network_job import NetworkJob
from expunge.unlearning.roster import Roster
from tests.unlearning.records import labelled


class Small(nn.Module):
    """Features by one hidden layer, classes by `fc`."""

    def __init__(self, inputs=4, hidden=6, classes=3, extra=None, bias=True):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, hidden), extra or nn.Identity(), nn.Tanh())
        self.fc = nn.Linear(hidden, classes, bias=bias)

    def forward(self, x):
        return self.fc(self.body(x))


class Masked(nn.Module):
    """Means of embeddings where the mask says so; a record without any has no mean."""

    def __init__(self, words=9, hidden=6, classes=3):
        super().__init__()
        self.embed = nn.Embedding(words, hidden)
        self.body = nn.Linear(hidden, hidden)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, tokens, mask):
        weights = mask.unsqueeze(-1).to(self.embed.weight.dtype)
        mean = (self.embed(tokens) * weights).sum(1) / weights.sum(1)
        return self.fc(torch.tanh(self.body(mean)))


def masked(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Masked()


def texts(count=60, seed=0, length=5):
    """Columns by name and targets: tokens, and a mask of the first few of them."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, 9, (count, length), generator=generator)
    lengths = torch.randint(1, length + 1, (count, 1), generator=generator)
    mask = torch.arange(length) < lengths
    tokens = tokens * mask
    return {"tokens": tokens, "mask": mask}, (tokens.sum(1) % 3)


def network(seed=0, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Small(**options)


def rows(count=60, seed=0, classes=3):
    features, targets = labelled(count, classes=classes, seed=seed, noise=0.1)
    return torch.from_numpy(features.astype(np.float32)), torch.from_numpy(targets)


def job_of(module=None, *, private=60, public=40, seed=0, loss=None, head="fc", **changed):
    module = (network() if module is None else module).eval()
    inputs, targets = rows(private, seed=1)
    others = rows(public, seed=2) if public else (None, None)
    settings = {
        "module": module,
        "loss": nn.CrossEntropyLoss() if loss is None else loss,
        "inputs": inputs,
        "targets": targets,
        "roster": Roster(id_rows(None, private, public), public),
        "public_inputs": others[0],
        "public_targets": others[1],
        "target": EpsilonDelta(1.0, 1e-5),
        "observer": "final",
        "seed": seed,
        "head": head,
        "start": state_of(module),
    }
    return NetworkJob(**settings | changed)


def without(job, rows):
    """The job after one more request for these private rows."""
    return job.without([job.roster.public + row for row in rows])


def bits(state):
    """A state's bytes by name: what must not change."""
    return {name: value.detach().cpu().clone().numpy().tobytes() for name, value in state.items()}
