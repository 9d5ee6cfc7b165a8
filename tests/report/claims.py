"""A claim and evaluations as JSON, for figures."""

CLAIM = {
    "epsilon": 1.0,
    "delta": 1e-5,
    "bound": "shift",
    "mu": 0.24,
    "renyi": None,
    "vacuous": False,
    "statement": ["Whoever sees the final model cannot tell."],
}
EVALUATIONS = [
    {
        "name": name,
        "on": "public records",
        "records": 9,
        "labels": ["a", "b"],
        "confusion": [[4, 1], [0, 4]],
        "accuracy": right,
    }
    for name, right in (("before", 8 / 9), ("after", 7 / 9))
]
STRATEGIES = [
    {"name": "residual", "steps": 16, "release_noise_std": 1e-6, "excluded": None},
    {"name": "retrain", "steps": 24, "release_noise_std": 0.0, "excluded": None},
    {"name": "langevin", "steps": None, "release_noise_std": None, "excluded": "too noisy"},
]
AUDIT = {
    "models": 400,
    "delta": 1e-5,
    "lower_bound": {"value": 0.2, "level": 0.95},
    "decision": {"epsilon": 0.05, "mu": 0.02, "ceiling": 11.0, "level": 1 - 1e-6},
    "estimate": {"value": 0.01, "interval": [-0.01, 0.04]},
    "certified": {"epsilon": 1.0, "mu": 0.26},
    "verdict": "not contradicted: the attack shows 0.2, the claim is 1",
    "null_control": {"epsilon": 0.0, "quiet": True},
    "positive_control": {
        "fault": "a model that was never unlearned",
        "epsilon": 7.5,
        "claimed": 1.0,
        "caught": True,
    },
    "canaries_reach": 0.3,
    "models_to_catch_noise_over_10": 2668,
}
