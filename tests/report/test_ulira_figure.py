"""The paper's violins: one for each K, quartiles inside, the verdict above."""

import numpy as np

from expunge.report.ulira_figure import draw


def panel(center, **change):
    rng = np.random.default_rng(0)
    attacks = [
        {"unlearn_steps": k, "confidences": rng.beta(center, 2, 100).tolist()} for k in (1, 2, 3)
    ]
    return {"title": "1 record", "with_public": False, "verdict": "falls", "attacks": attacks} | (
        change
    )


def test_a_panel_says_what_it_shows():
    text = draw([[panel(4)], [panel(2, with_public=True, verdict="cannot conclude")]]).decode()
    assert text.lstrip().startswith("<?xml")
    assert text.count(">1 record</text>") == 2
    assert text.count(">falls</text>") == 1
    assert "violins of 100 test models" in text
    assert text.count(">cannot conclude</text>") == 1


def test_it_can_be_a_png():
    assert draw([[panel(4)]], "png").startswith(b"\x89PNG")


def test_an_attack_that_is_always_certain_has_a_violin_too():
    sure = panel(4, attacks=[{"unlearn_steps": k, "confidences": [1.0] * 30} for k in (1, 2)])
    assert draw([[sure]])
