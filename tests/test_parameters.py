"""Every parameter of every public constructor and function refuses nonsense in one line.

The table names, for each, a call that works and what each parameter may not be. Signatures are
looked up: a parameter without a row fails here, and so does a public record without a table.
"""

import dataclasses
import functools
import inspect
import math

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer
from torch import nn

from expunge import accounting, audit, features, losses, sampling, unlearning
from expunge.accounting import Assumptions, History, Phase, Poisson
from expunge.accounting.generalisation import (
    RiskBound,
    mismatch_factor,
    mismatch_factor_paper,
    public_weight,
)
from expunge.accounting.history import learn_unlearn
from expunge.accounting.planning import plan
from expunge.accounting.setting import Setting
from expunge.accounting.target import EpsilonDelta, RenyiWithin
from expunge.accounting.witness import Stretch, Witness
from expunge.audit.lower_bound import ceiling, models_needed
from expunge.audit.ulira import measure_leak, trend, ulira
from expunge.audit.utility import cost
from expunge.core import release
from expunge.core.rows import bounded_rows, public_row_norm
from expunge.sampling import Problem, sample_ensemble
from expunge.unlearning.networks.noisy_descent import Descent
from expunge.unlearning.networks.training import Training
from expunge.unlearning.schemes import SCHEMES

NAN, INF = math.nan, math.inf
NOT_NUMBERS = (True, "1", [1.0], NAN, INF, -INF, 10**400)
NUMBER = (*NOT_NUMBERS, None)
POSITIVE = (*NUMBER, 0, 0.0, -1.0, np.float32("nan"), 1e-310)
OPTIONAL_POSITIVE = (*NOT_NUMBERS, 0, -1.0)
POSITIVE_OR_INFINITE = (True, "1", [1.0], None, NAN, -INF, 0, -1.0)
NOT_NEGATIVE = (*NUMBER, -1.0)
OPTIONAL_NOT_NEGATIVE = (*NOT_NUMBERS, -1.0)
SHARE = (*POSITIVE, 1.5)
OPTIONAL_SHARE = (*OPTIONAL_POSITIVE, 1.5)
COUNT_FROM_1 = (*NUMBER, 0, -1, 1.5, 2.0)
COUNT = (*NUMBER, -1, 1.5)
OPTIONAL_COUNT_FROM_1 = (*NOT_NUMBERS, 0, -1, 1.5)
OPTIONAL_COUNT = (*NOT_NUMBERS, -1, 1.5)
SEED = (True, "1", [1], 1.5, NAN, None)
OPTIONAL_SEED = (True, "1", [1], 1.5, NAN)
FLAG = (None, 0, 1, "no", [], NAN)
WORD = ("", "nonsense", 1, None, True, ["final"], NAN)
OR_PUBLIC = ("private", True, [1.0], NAN, INF, 0, -1.0, None)
RECORD = ("nonsense", 1, True, NAN, [])
RECORD_OR_NONE = RECORD
SCORES = ("abc", None, ["x"], [[1.0], [1.0, 2.0]])

X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.2, 0.9]])
Y = np.array([0, 1, 1, 0])
TENSORS = (torch.from_numpy(X).float(), torch.from_numpy(Y))
LOADING = {
    "folder": "nowhere",
    "model": nn.Linear(2, 2),
    "loss": nn.CrossEntropyLoss(),
    "private": TENSORS,
}
BRIEF = unlearning.RetrainNetwork(training=Training(epochs=1))
LOSS = losses.Logistic(0.1)
ASSUMPTIONS = Assumptions(0.1, 1.0, 1.0)
PHASE = Phase(1, 0.5, 1.0, 10, 1)
SETTING = Setting(ASSUMPTIONS, 100, 0, 5, 1.0, 50)
TARGET = EpsilonDelta(1.0, 1e-5)
PROBLEM = Problem(LOSS, (X, Y), None, [0], step_size=0.5, sigma=1.0, learn_steps=2)
NORMAL = np.random.default_rng(0).normal(size=(80, 3))
ATTACK = ulira(unlearned=NORMAL, retrained=NORMAL, shadow=50)
HEADS = torch.zeros(3, 1, 2)


def declared(scores, targets):
    return (scores[:, 0] - targets) ** 2 / 2


def classified(**given):
    return unlearning.CertifiedClassifier(**given).fit(X, Y)


def piped(**given):
    settings = {"steps": [("norm", Normalizer())], "estimator": unlearning.CertifiedClassifier()}
    return unlearning.CertifiedPipeline(**settings | given).fit(X, Y)


def regressed(**given):
    return unlearning.CertifiedRegressor(**given).fit(X, Y.astype(float))


@functools.cache
def with_public():
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, size=(400, 2))
    labels = (rows[:, 0] > 0).astype(int)
    return unlearning.CertifiedClassifier().fit(rows, labels, public=(rows, labels))


def piped_unfitted():
    return unlearning.CertifiedPipeline([("norm", Normalizer())], unlearning.CertifiedClassifier())


@functools.cache
def network():
    return unlearner(strategy=BRIEF, random_state=0).fit(TENSORS)


def grown(**given):
    pytest.importorskip("lightgbm")
    return features.TreeLeaves(**{"trees": 2, "min_leaf": 1} | given).fit(X, Y)


def encoded(**given):
    return features.DeclaredColumns(**given).fit().transform(X)


def unlearner(**given):
    return unlearning.TorchUnlearner(
        **{"model": nn.Linear(2, 2), "loss": nn.CrossEntropyLoss(), **given}
    )


ESTIMATOR = {
    "epsilon": (*POSITIVE, 21.0),
    "delta": (*POSITIVE[:-1], 1.0),
    "strategy": (*WORD, unlearning.Langevin),
    "observer": WORD,
    "l2": (*OR_PUBLIC, 1e-310),
    "row_norm": (*OR_PUBLIC, 1e16, 1e-300, 1e-16),
    "reference": WORD,
    "released": FLAG,
    "random_state": OPTIONAL_SEED,
    "device": ("nonsense", "meta", 1, None, True, "cuda:99", "cpu:x"),
    "adaptive_requests": FLAG,
    "capacity": OPTIONAL_SHARE,
}
TRAINED = {"training": (*RECORD, None)}

# What is made or called, with what, and which values each parameter must refuse; () for those
# whose wrong values are somebody else's business, said beside them.
TABLE = {
    unlearning.CertifiedClassifier: (
        classified,
        {},
        {
            **ESTIMATOR,
            "classes": ("abc", 5, True, [], [NAN, 1.0], [None, 1], [1, 1], [[0], [1]], [0, "a"]),
            "class_weight": (
                "balanced",
                5,
                True,
                [1.0, 2.0],
                {},
                {0: 0},
                {0: NAN},
                {9: 1.0},
                {0: "a"},
            ),
        },
    ),
    unlearning.CertifiedRegressor: (
        regressed,
        {},
        {
            **ESTIMATOR,
            "target_norm": POSITIVE,
            "radius": POSITIVE_OR_INFINITE,
            "loss": (*RECORD, LOSS),
        },
    ),
    unlearning.CertifiedPipeline: (
        piped,
        {},
        {
            "steps": (*RECORD, None, (), [Normalizer()], [("a", 1)], [("a__b", Normalizer())]),
            "estimator": (*RECORD, None, LogisticRegression(), unlearning.CertifiedClassifier),
        },
    ),
    unlearning.TorchUnlearner: (
        unlearner,
        {},
        {
            "model": (*RECORD, None, nn.Linear),
            "loss": (*RECORD, None),
            "head": (1, True, NAN, []),
            **{name: ESTIMATOR[name] for name in ("epsilon", "delta", "strategy", "observer")},
            "retraining": RECORD,
            **{name: ESTIMATOR[name] for name in ("released", "random_state", "device")},
            "adaptive_requests": FLAG,
        },
    ),
    unlearning.Residual: (
        unlearning.Residual,
        {},
        {
            "tolerance": POSITIVE,
            "distance": OPTIONAL_NOT_NEGATIVE,
            "max_anchor_age": POSITIVE,
            "state_limit": NOT_NEGATIVE,
            "fixed": FLAG,
        },
    ),
    unlearning.Retrain: (unlearning.Retrain, {}, {"tolerance": POSITIVE}),
    unlearning.Langevin: (
        unlearning.Langevin,
        {},
        {
            "learn_steps": (*COUNT_FROM_1, 1),
            "sigma": OPTIONAL_POSITIVE,
            "capacity": SHARE,
            "scheme": (*RECORD, None, unlearning.FullBatch),
            "requests": COUNT_FROM_1,
            "step_size": OPTIONAL_POSITIVE,
            "unlearn_steps": OPTIONAL_COUNT_FROM_1,
            "radius": OPTIONAL_POSITIVE,
        },
    ),
    unlearning.NoiseFirst: (
        unlearning.NoiseFirst,
        {},
        {"learn_steps": COUNT_FROM_1, "unlearn_steps": COUNT_FROM_1},
    ),
    unlearning.FullBatch: (unlearning.FullBatch, {}, {"fixed": FLAG}),
    unlearning.Cyclic: (unlearning.Cyclic, {"batches": 2}, {"batches": COUNT_FROM_1, "seed": SEED}),
    unlearning.PoissonBatch: (
        unlearning.PoissonBatch,
        {"rate": 0.5},
        {"rate": SHARE, "seed": SEED},
    ),
    Training: (
        Training,
        {},
        {
            "epochs": POSITIVE,
            "step_size": POSITIVE,
            "batch_size": COUNT_FROM_1,
            "optimiser": (*RECORD, None),
        },
    ),
    unlearning.Head: (
        unlearning.Head,
        {},
        {
            "l2": POSITIVE,
            "row_norm": OR_PUBLIC,
            "target_norm": OR_PUBLIC,
            "tolerance": OPTIONAL_POSITIVE,
            "one_by_one": FLAG,
            "fixed": FLAG,
        },
    ),
    unlearning.HeadFinetune: (
        unlearning.HeadFinetune,
        {},
        {**TRAINED, "head": (*RECORD, None)},
    ),
    unlearning.RetrainNetwork: (unlearning.RetrainNetwork, {}, {**TRAINED, "start": WORD}),
    unlearning.NetworkLangevin: (
        unlearning.NetworkLangevin,
        {},
        {
            "learn_steps": COUNT_FROM_1,
            "unlearn_steps": OPTIONAL_COUNT_FROM_1,
            "sigma": OPTIONAL_POSITIVE,
            "step_size": POSITIVE,
            "clip": POSITIVE,
            "weight_decay": (*NOT_NEGATIVE, 3.0),
            "radius": OPTIONAL_POSITIVE,
            "around": WORD,
            "smoothness": (*OPTIONAL_POSITIVE, 1.0),
            "gradient_error": (*OPTIONAL_NOT_NEGATIVE, 1.0),
            "capacity": SHARE,
            "scheme": (*RECORD, None),
            "memory": COUNT_FROM_1,
            "requests": COUNT_FROM_1,
        },
    ),
    unlearning.Clipped: (
        unlearning.Clipped,
        {},
        {
            **TRAINED,
            "radius": POSITIVE,
            "unlearn_steps": COUNT_FROM_1,
            "step_size": POSITIVE,
            "clip": POSITIVE,
            "weight_decay": (*NOT_NEGATIVE, 3.0),
            "project": FLAG,
            "around": WORD,
            "scheme": (*RECORD, None),
            "finetune": RECORD,
        },
    ),
    Descent: (
        Descent,
        {"step_size": 0.5, "clip": 1.0},
        {
            "step_size": POSITIVE,
            "clip": POSITIVE,
            "weight_decay": (*NOT_NEGATIVE, 3.0),
            "radius": OPTIONAL_POSITIVE,
            "smoothness": OPTIONAL_POSITIVE,
            "gradient_rounding": NOT_NEGATIVE,
            "load": POSITIVE,
        },
    ),
    losses.Logistic: (losses.Logistic, {"l2": 0.1}, {"l2": NOT_NEGATIVE, "row_norm": POSITIVE}),
    losses.Softmax: (
        losses.Softmax,
        {"classes": 3, "l2": 0.1},
        {"classes": COUNT_FROM_1, "l2": NOT_NEGATIVE, "row_norm": POSITIVE},
    ),
    losses.Squared: (
        losses.Squared,
        {"l2": 0.1},
        {
            "l2": NOT_NEGATIVE,
            "row_norm": POSITIVE,
            "target_norm": POSITIVE,
            "radius": POSITIVE_OR_INFINITE,
        },
    ),
    losses.Weighted: (
        losses.Weighted,
        {"loss": LOSS, "weights": (1.0, 2.0)},
        {
            "loss": (*RECORD, None, losses.Squared(0.1)),
            "weights": ("12", None, 1, (), (1.0,), (1.0, 0.0), (1.0, NAN), (1.0, 2.0, 3.0)),
        },
    ),
    losses.Declared: (
        losses.Declared,
        {"function": declared, "slope": 1.0, "bend": 1.0},
        {
            "function": (*RECORD, None),
            "slope": POSITIVE,
            "bend": NOT_NEGATIVE,
            "l2": NOT_NEGATIVE,
            "row_norm": POSITIVE,
            "outputs": COUNT_FROM_1,
        },
    ),
    Assumptions: (
        Assumptions,
        {"strong_convexity": 0.1, "smoothness": 1.0, "lipschitz": 1.0},
        {
            "strong_convexity": OPTIONAL_NOT_NEGATIVE,
            "smoothness": OPTIONAL_NOT_NEGATIVE,
            "lipschitz": POSITIVE,
            "radius": OPTIONAL_POSITIVE,
            "clip": OPTIONAL_POSITIVE,
            "weight_decay": NOT_NEGATIVE,
            "initial_distance": NOT_NEGATIVE,
            "initial_log_sobolev": OPTIONAL_NOT_NEGATIVE,
            "marks": ("enforced", None, 1, {"nonsense": "public"}, {"radius": "nonsense"}),
        },
    ),
    Phase: (
        Phase,
        {"steps": 2, "step_size": 0.5, "sigma": 1.0, "samples": 10, "forgotten": 1},
        {
            "steps": COUNT_FROM_1,
            "step_size": POSITIVE,
            "sigma": NOT_NEGATIVE,
            "samples": (*COUNT_FROM_1, 1),
            "forgotten": (*COUNT, 10, 11),
            "released": FLAG,
            "rounding": NOT_NEGATIVE,
            "batches": ("11", 1, True, NAN, (), (0.5,), (-1,), (True,), {0: 1}),
            "batch_size": ("1", 0, -1, True, NAN, 1.5, (), (0,), ("a",)),
            "poisson": ("nonsense", 1, True, NAN, {"rate": 1}),
        },
    ),
    Poisson: (
        Poisson,
        {"rate": 0.5, "counts": ((1, 0),)},
        {
            "rate": SHARE,
            "counts": (None, 1, "ab", (1, 2), ((1,),), ((1, 2, 3),), ((0.5, 1),), ((-1, 0),)),
        },
    ),
    History: (
        History,
        {"phases": (PHASE,)},
        {
            "phases": (None, 1, "ab", (), (1,), ("a",), PHASE),
            "normaliser": WORD,
            "normaliser_count": (*OPTIONAL_COUNT_FROM_1, 5),
        },
    ),
    learn_unlearn: (
        learn_unlearn,
        {
            "learn_steps": 2,
            "unlearn_steps": 1,
            "step_size": 0.5,
            "sigma": 1.0,
            "samples": 10,
            "forgotten": 1,
        },
        {
            "learn_steps": COUNT_FROM_1,
            "unlearn_steps": COUNT,
            "step_size": POSITIVE,
            "sigma": NOT_NEGATIVE,
            "samples": COUNT_FROM_1,
            "forgotten": COUNT,
            "normaliser": WORD,
            "learned_model_released": FLAG,
        },
    ),
    EpsilonDelta: (
        EpsilonDelta,
        {"level": 1.0, "delta": 1e-5},
        {"level": (*POSITIVE, 1e7), "delta": (*POSITIVE[:-1], 1.0)},
    ),
    RenyiWithin: (RenyiWithin, {"level": 1.0}, {"level": POSITIVE, "order": (*POSITIVE, 1.0)}),
    Setting: (
        Setting,
        {
            "assumptions": ASSUMPTIONS,
            "private": 100,
            "public": 0,
            "forget": 5,
            "step_size": 1.0,
            "learn_steps": 50,
        },
        {
            "assumptions": (*RECORD, None),
            "private": COUNT_FROM_1,
            "public": COUNT,
            "forget": (*COUNT, 100, 101),
            "step_size": (*POSITIVE, 2.1),
            "learn_steps": COUNT_FROM_1,
            "normaliser": WORD,
            "observer": WORD,
        },
    ),
    accounting.account: (
        accounting.account,
        {"assumptions": ASSUMPTIONS, "history": History((PHASE,)), "delta": 1e-5},
        {
            "assumptions": (),  # a record, checked above
            "history": (),  # a record, checked above
            "delta": (*POSITIVE[:-1], 1.0),
            "orders": ((1.0,), (0.5,), (NAN,), (INF,), ("a",), (True,), (None,)),
            "bound": ("nobody", "", 3, True, "shift"),
            "foreign": (),  # bounds that are installed
            "witness": (3, "a", True, {}, Witness(()), Witness((Stretch(edges=(7,)),))),
            "proven": ("yes", 1, 0.0, NAN),
        },
    ),
    plan: (
        plan,
        {"setting": SETTING, "target": TARGET},
        {
            "setting": (),  # a record, checked above
            "target": (),  # a record, checked above
            "unlearn_steps": OPTIONAL_COUNT,
            "sigma": OPTIONAL_POSITIVE,
        },
    ),
    RiskBound: (
        RiskBound,
        {"retrained_risk": 0.1, "lipschitz": 1.0, "radius": 1.0, "total_variation": 0.1},
        {
            "retrained_risk": NOT_NEGATIVE,
            "lipschitz": NOT_NEGATIVE,
            "radius": NOT_NEGATIVE,
            "total_variation": (*NOT_NEGATIVE, 1.1),
        },
    ),
    public_weight: (
        public_weight,
        {"public": 1, "retained_private": 1},
        {"public": COUNT, "retained_private": COUNT},
    ),
    **{
        factor: (
            factor,
            {"weight": 0.5, "d_infinity": 1.0},
            {
                "weight": (*NOT_NEGATIVE, 1.5),
                "d_infinity": (True, "1", None, NAN, -1.0, [1.0]),
            },
        )
        for factor in (mismatch_factor, mismatch_factor_paper)
    },
    sampling.Gaussian: (sampling.Gaussian, {"std": 1.0}, {"std": NOT_NEGATIVE}),
    sampling.SharedBatches: (sampling.SharedBatches, {"size": 1}, {"size": COUNT_FROM_1}),
    sampling.IndependentBatches: (
        sampling.IndependentBatches,
        {"size": 1},
        {"size": COUNT_FROM_1, "models_per_order": COUNT_FROM_1},
    ),
    Problem: (
        Problem,
        {
            "loss": LOSS,
            "private": (X, Y),
            "public": None,
            "forget": [0],
            "step_size": 0.5,
            "sigma": 1.0,
            "learn_steps": 2,
        },
        {
            "loss": (*RECORD, None),
            "private": (*RECORD, None, (X,), (X, Y[:2]), (X * NAN, Y), (1, 2), ("a", "b")),
            "public": (*RECORD, (X,), (X[:, :1], Y), (X + INF, Y)),
            "forget": (None, "a", 1, 0.5, [0.5], [NAN], [-1], [4], [[0]], [True]),
            "step_size": POSITIVE,
            "sigma": NOT_NEGATIVE,
            "learn_steps": COUNT,
            "radius": OPTIONAL_POSITIVE,
            "init": ("nonsense", 1, None, True, sampling.Gaussian),
            "batch": (0, -1, 1.5, NAN, True, "all", 99),
        },
    ),
    sample_ensemble: (
        sample_ensemble,
        {"problem": PROBLEM, "models": 2, "unlearn_steps": (1,)},
        {
            "problem": (*RECORD, None),
            "regimes": ((), "learned", ("nonsense",), None, 1, (1,)),
            "unlearn_steps": ((), None, 1, "1", (-1,), (0.5,), (True,), (NAN,), ("a",)),
            "models": COUNT_FROM_1,
            "coupled": FLAG,
            "device": ESTIMATOR["device"],
            "engine": ("nonsense", 1, None, True),
            "seed": SEED,
            "precision": ("nonsense", 1, True, "bfloat16"),
            "block": OPTIONAL_COUNT_FROM_1,
            "folder": (),  # a path; the file system speaks for it
            "progress": FLAG,
        },
    ),
    audit.epsilon_lower_bound: (
        audit.epsilon_lower_bound,
        {"of": NORMAL[:, 0], "against": NORMAL[:, 1], "delta": 1e-5},
        {
            "of": (*SCORES, NORMAL[:2, 0], NORMAL[:, 0] * NAN),
            "against": (*SCORES, NORMAL[:2, 0], NORMAL[:, 0] + INF),
            "delta": (*POSITIVE, 1.0),
            "level": (*POSITIVE, 1.0),
            "method": WORD,
        },
    ),
    ceiling: (
        ceiling,
        {"models": 100, "delta": 1e-5},
        {
            "models": COUNT_FROM_1,
            "delta": (*POSITIVE, 1.0),
            "level": (*POSITIVE, 1.0),
            "method": WORD,
        },
    ),
    models_needed: (
        models_needed,
        {"mu": 1.0, "claimed": 0.5},
        {
            "mu": NOT_NEGATIVE,
            "claimed": NOT_NEGATIVE,
            "level": (*POSITIVE, 1.0),
            "power": (*POSITIVE, 1.0),
            "most": COUNT_FROM_1,
        },
    ),
    audit.ulira: (
        ulira,
        {"unlearned": NORMAL, "retrained": NORMAL},
        {
            "unlearned": (*SCORES, 1.0, NORMAL[:20], NORMAL[:, :2], NORMAL * NAN),
            "retrained": (*SCORES, 1.0, NORMAL[:20], NORMAL[:, :2], NORMAL * NAN),
            "shadow": (*COUNT_FROM_1, 1, 70),
            "delta": (*POSITIVE, 1.0),
            "level": (*POSITIVE, 1.0),
            "method": WORD,
        },
    ),
    trend: (
        trend,
        {"repetitions": [{1: ATTACK, 2: ATTACK}] * 4},
        {
            "repetitions": (None, 1, "abcd", [], [{1: ATTACK}] * 4, [1, 2, 3, 4], [{1: 1}] * 4),
            "level": (*POSITIVE, 1.0),
        },
    ),
    measure_leak: (
        measure_leak,
        dict.fromkeys(("unlearned", "retrained", "retrained_again"), (NORMAL, NORMAL)),
        {
            **dict.fromkeys(
                ("unlearned", "retrained", "retrained_again"),
                (None, 1, "ab", (NORMAL,), (NORMAL[:1],) * 2, (NORMAL * NAN,) * 2, (1, 2)),
            ),
            "level": (*POSITIVE, 1.0),
        },
    ),
    cost: (
        cost,
        {
            "loss": LOSS,
            "features": torch.from_numpy(X),
            "targets": torch.from_numpy(Y),
            "unlearned": HEADS,
            "retrained": HEADS,
        },
        {
            "loss": (),  # a record, checked above
            "features": (),  # tensors of the test rows
            "targets": (),
            "unlearned": (None, 1, "a", HEADS[0], HEADS[:1]),
            "retrained": (None, 1, "a", HEADS[0], HEADS[:1]),
            "coupled": FLAG,
        },
    ),
    **{
        estimate: (
            estimate,
            {"problem": PROBLEM, "unlearn_steps": 1},
            {
                "problem": (*RECORD, None),
                "unlearn_steps": COUNT,
                "order": POSITIVE,
                "level": (*POSITIVE, 1.0),
                "seed": SEED,
                **extra,
            },
        )
        for estimate, extra in (
            (audit.predicted, {"checked": COUNT}),
            (audit.coupled_estimate, {"pairs": (*COUNT_FROM_1, 6, 9)}),
        )
    },
    release.draw: (
        release.draw,
        {"center": np.zeros(2), "std": 1.0, "grid": 0.5},
        {
            "center": (np.array([NAN]), np.array([INF]), np.array([1e300])),
            "std": (*POSITIVE, 0.1),
            "grid": (*POSITIVE, 0.3, 2.0),
        },
    ),
    release.grid_for: (
        release.grid_for,
        {"std": 1.0, "mu": 1.0, "dimension": 2},
        {"std": POSITIVE, "mu": POSITIVE, "dimension": COUNT_FROM_1},
    ),
    release.rounding_of: (
        release.rounding_of,
        {"grid": 0.5, "dimension": 2},
        {"grid": POSITIVE, "dimension": COUNT_FROM_1},
    ),
    bounded_rows: (
        bounded_rows,
        {"features": X, "row_norm": 1.0},
        {
            "features": (X * NAN, X + INF),
            "row_norm": POSITIVE,
            "intercept": (),  # a switch inside the package
            "out": (),  # a buffer inside the package
        },
    ),
    public_row_norm: (
        public_row_norm,
        {"features": X},
        {"features": (X * 0, X[:0], X * NAN, X + INF)},
    ),
}
TABLE[features.TreeLeaves] = (
    grown,
    {},
    {
        "trees": COUNT,
        "leaves": (*COUNT_FROM_1, 1),
        "raw": (*OR_PUBLIC[:4], -1.0, None),
        "ranges": (1, "ab", True, NAN, [(0, 1)], {0: 1}, {0: (1, 0)}, {9: (0, 1)}, {0: (0, NAN)}),
        "random_trees": COUNT,
        "task": WORD,
        "target_range": (1, "ab", True, NAN, [], (0,), (1, 0), (0, NAN), (None, 1)),
        "learning_rate": SHARE,
        "min_leaf": COUNT_FROM_1,
        "random_state": SEED,
    },
)
TABLE[features.DeclaredColumns] = (
    encoded,
    {"ranges": {0: (0, 1)}},
    {
        "ranges": (1, "ab", True, NAN, [(0, 1)], {0: 1}, {0: (1, 0)}, {9: (0, 1)}, {0: (0, NAN)}),
        "categories": (1, "ab", {0: "ab"}, {0: []}, {0: [1, 1]}, {0: [{}]}, {0: [[1], [2, 3]]}),
    },
)

# The same for verbs of what was fitted: (what is called, a call that works, nonsense).
NO_ROWS = (None, "x", NAN, 0, object(), {}, {"a": 1}, [])
NO_TABLE = (*NO_ROWS, np.zeros((2, 2, 2)), [1.0], [["a", 1]])
WIDE = np.zeros((2, 7))
NO_LABELS = ([], ["x"], [NAN], [None], [[0, 1]], [0, 1])
NO_PATH = (None, 1, NAN, True, [], b"x", object())
NO_IDS = (NAN, [None], [NAN], np.array([NAN]), [[]], [{}], [1, 2], ["a", "a"])
UNKNOWN = ([], None, NAN, "nobody", [-1], 10**9, [0, 0], [{}], 0.5, True)
ADDING = {"X": X[:1], "y": Y[:1], "ids": ["new"]}
NEWCOMERS = {
    "X": (*NO_TABLE, WIDE, X[:1] * NAN, X[:0]),
    "y": (None, "x", NAN, object(), {}, *NO_LABELS),
    "ids": NO_IDS,
    "again": FLAG,
    "request": (1, "", [], NAN, True),
}
VERBS = {
    "add": (lambda **given: classified().add(**given), ADDING, NEWCOMERS),
    "pipeline add": (  # tables of something else are the steps' business
        lambda **given: piped().add(**given),
        ADDING,
        NEWCOMERS | {"X": NO_ROWS},
    ),
    "forget": (
        lambda **given: classified().forget(**given),
        {"ids": 0},
        {"ids": UNKNOWN, "request": (1, "", [], NAN, True)},
    ),
    "forget_batch": (
        lambda **given: classified().forget_batch(**given),
        {"requests": [[0], [1]]},
        {
            "requests": (None, 1, "ab", [], {0: [0]}, [[0], []], [["nobody"]], [[0], [0]], [None]),
            "names": (1, "ab", [], ["a"], ["a", ""], ["a", 1], ["a", "a"]),
            "each": FLAG,
        },
    ),
    "placebo": (lambda **given: classified().placebo(**given), {"ids": 0}, {"ids": UNKNOWN}),
    "plan": (lambda **given: classified().plan(**given), {"forget": 1}, {"forget": COUNT_FROM_1}),
    "capacity_curve": (
        lambda **given: with_public().capacity_curve(**given),
        None,
        {"capacities": (1, "ab", NAN, [], [0], [2.0], [NAN], ["a"], [None], [True])},
    ),
    "fit": (
        lambda **given: unlearning.CertifiedClassifier().fit(**{"X": X, "y": Y} | given),
        {},
        {"public": (1, "ab", X, (X,), (X, 1), (X, None), (X, Y[:1])), "ids": NO_IDS},
    ),
    "pipeline fit": (
        lambda **given: piped_unfitted().fit(**{"X": X, "y": Y} | given),
        {},
        {
            "X": ([], {}, {"a": 1}, None, 1, "x"),
            "public": (1, "ab", X, (X,), (X, 1), (X, None), (X, Y[:1]), ({}, Y), ([], Y[:1])),
            "ids": NO_IDS,
        },
    ),
    "names": (
        lambda **given: piped(steps=[("as it is", "passthrough")]).get_feature_names_out(**given),
        {},
        {"input_features": (1, "ab", NAN, {}, [["a", "b"]])},
    ),
    "a placebo's predict": (
        lambda **given: classified().placebo(0).predict(**given),
        {"features": X},
        {"features": (*NO_TABLE, WIDE, X * NAN)},
    ),
    "a released model's predict": (
        lambda **given: classified().release().predict(**given),
        {"rows": X},
        {"rows": (*NO_TABLE, WIDE, X * NAN)},
    ),
    "a released pipeline's predict": (
        lambda **given: piped().release().predict(**given),
        {"rows": X},
        {"rows": NO_ROWS[:-1]},
    ),
    "save": (lambda **given: classified().save(**given), None, {"folder": NO_PATH}),
    "generation": (lambda **given: classified().generation(**given), None, {"folder": NO_PATH}),
    "an unlearner's save": (
        lambda **given: network().save(**given),
        None,
        {"folder": NO_PATH},
    ),
    "load": (
        lambda **given: unlearning.linear.estimator.load(**{"folder": "nowhere"} | given),
        None,
        {"folder": NO_PATH, "on_disk": FLAG, "seal": (1, NAN, True, [])},
    ),
    "a pipeline's load": (unlearning.load, None, {"folder": NO_PATH}),
    "an unlearner's load": (
        lambda **given: unlearning.TorchUnlearner.load(**LOADING | given),
        None,
        {"folder": NO_PATH, "certificate": RECORD},
    ),
    "an unlearner's fit": (
        lambda **given: unlearner(strategy=BRIEF).fit(**{"private": TENSORS} | given),
        {},
        {
            "private": (None, 1, "ab", [], (TENSORS[0], 1), (1, TENSORS[1]), (TENSORS[0], NAN)),
            "ids": NO_IDS,
        },
    ),
}
CALLED = [
    pytest.param(call, given or {}, name, bad, id=f"{verb}-{name}-{index}")
    for verb, (call, given, rows) in VERBS.items()
    for name, values in rows.items()
    for index, bad in enumerate(values)
]
CASES = [
    pytest.param(subject, name, bad, id=f"{subject.__name__}-{name}-{index}")
    for subject, (_, _, rows) in TABLE.items()
    for name, values in rows.items()
    for index, bad in enumerate(values)
]


@pytest.mark.parametrize("subject", TABLE, ids=lambda s: s.__name__)
def test_every_parameter_has_a_row(subject):
    names = set(inspect.signature(subject).parameters)
    assert names == set(TABLE[subject][2])


def test_every_public_record_and_estimator_has_a_table():
    """What nothing can be wrong with, or what only we make, is named here."""
    made_by_us = {
        "Account", "Certificate", "DefaultUniform", "Ensemble", "EpsilonLowerBound", "Estimate",
        "InvalidInput",
        "LSTMClassifier", "Local", "Network", "NoCertificate", "Ray", "Recurrent", "Refused",
        "Ulira", "Verdict", "judge",
    }  # fmt: skip
    public = {
        getattr(package, name)
        for package in (accounting, audit, features, losses, sampling, unlearning)
        for name in package.__all__
        if name not in made_by_us
    }
    records = {one for one in public if inspect.isclass(one) or inspect.isfunction(one)}
    without = {one for one in records if inspect.signature(one).parameters} - set(TABLE)
    assert {one.__name__ for one in without} <= {"load", "save"}
    assert set(SCHEMES.values()) <= set(TABLE)


@pytest.mark.parametrize("subject", TABLE, ids=lambda s: s.__name__)
def test_the_call_beside_each_row_works(subject):
    call, given, _ = TABLE[subject]
    call(**given)


@pytest.mark.parametrize(("subject", "name", "bad"), CASES)
def test_nonsense_is_refused_in_one_line_that_names_the_parameter(subject, name, bad):
    call, given, _ = TABLE[subject]
    with pytest.raises(ValueError, match=r"\S") as refused:
        call(**{**given, name: bad})
    message = str(refused.value)
    assert "\n" not in message
    assert any(word in message for word in (name, *NAMED_AS.get((subject, name), ())))
    assert raised_by_us(refused)


@pytest.mark.parametrize(
    "verb", [verb for verb, (_, given, _) in VERBS.items() if given is not None]
)
def test_the_call_beside_each_verb_works(verb):
    call, given, _ = VERBS[verb]
    call(**given)


@pytest.mark.parametrize(("call", "given", "name", "bad"), CALLED)
def test_verbs_refuse_nonsense_in_one_line_from_here(call, given, name, bad, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=rf"{name}|{SAID_OF.get(name, name)}") as refused:
        call(**{**given, name: bad})
    assert "\n" not in str(refused.value)
    assert raised_by_us(refused)
    assert not list(tmp_path.iterdir())


SAID_OF = {
    "capacities": "capacity",
    "ids": "forget",
    "requests": "forget",
    "public": "X",
    "features": "X|rows",
    "rows": "X|rows|features",
    "private": "ids",
}


# Where another word says it better, or the parameter is refused together with another.
NAMED_AS = {
    (features.DeclaredColumns, "ranges"): ("no column",),
    (EpsilonDelta, "level"): ("epsilon",),
    (learn_unlearn, "learn_steps"): ("steps",),
    (learn_unlearn, "unlearn_steps"): ("steps",),
    (learn_unlearn, "learned_model_released"): ("released",),
    (Assumptions, "marks"): ("assumptions.nonsense", "assumptions.radius.mark"),
    (Phase, "samples"): ("forgotten",),
    (Phase, "batches"): ("batch_size",),
    (Phase, "batch_size"): ("batches",),
    (History, "normaliser_count"): ("samples",),
    (audit.epsilon_lower_bound, "of"): ("scores",),
    (audit.epsilon_lower_bound, "against"): ("scores",),
    (ulira, "shadow"): ("shadows",),
    (public_row_norm, "features"): ("public",),
}


def raised_by_us(refused):
    """Not in the depths of torch, NumPy or SciPy."""
    return "/expunge/" in str(refused.traceback[-1].path).replace("\\", "/")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_scalars_of_numpy_are_numbers_and_become_plain_ones(kind):
    assert type(unlearning.Residual(kind(1)).tolerance) in (int, float)
    assert type(Phase(1, kind(1), kind(1), 10).sigma) in (int, float)
    assert type(Assumptions(None, kind(1), kind(1)).lipschitz) in (int, float)
    assert type(losses.Squared(kind(1)).l2) in (int, float)


def test_counts_of_numpy_are_counts_and_become_plain_ones():
    assert type(unlearning.Langevin(np.int64(5)).learn_steps) is int
    assert type(Phase(np.int64(1), 0.5, 1.0, np.int32(10)).samples) is int


def test_estimators_keep_what_they_are_given():
    """scikit-learn's clone compares by identity; only `fit` looks."""
    bad = {"epsilon": -1.0, "l2": "x", "released": None}
    made = unlearning.CertifiedClassifier(**bad)
    assert all(getattr(made, name) is value for name, value in bad.items())


def test_a_certificate_is_never_made_from_nonsense():
    """The two that were: a negative bound on targets, and public rows that are all zero."""
    targets = Y.astype(float)
    with pytest.raises(ValueError, match="target_norm"):
        unlearning.CertifiedRegressor(target_norm=-1.0, radius=1.0).fit(X, targets)
    zero = unlearning.CertifiedClassifier(row_norm="public")
    with pytest.raises(ValueError, match="public: every row is zero"):
        zero.fit(X, Y, public=(0 * X, Y))


@pytest.mark.parametrize("bad", [5, "ab c", (X,), (X, Y, Y), (X, Y[:2]), (X, [NAN] * 4), NAN])
@pytest.mark.parametrize(
    "estimator", [unlearning.CertifiedClassifier, unlearning.CertifiedRegressor]
)
def test_public_records_that_are_none_are_refused_by_that_name(estimator, bad):
    with pytest.raises(ValueError, match="public") as refused:
        estimator().fit(X, Y, public=bad)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("bad", [0, -1, 5, 1.5, NAN, "1", True, None])
def test_a_plan_for_a_senseless_number_of_records_is_refused(bad):
    with pytest.raises(ValueError, match="forget: "):
        classified().plan(bad)


def test_dataclasses_of_this_table_are_frozen():
    """What was checked cannot be changed behind the check's back.

    Estimators may change: what a certificate rests on is their frozen state.
    """
    estimators = BaseEstimator, unlearning.TorchUnlearner
    for subject in TABLE:
        if dataclasses.is_dataclass(subject) and not issubclass(subject, estimators):
            assert subject.__dataclass_params__.frozen, subject
