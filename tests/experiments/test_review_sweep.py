"""A search of all points at once, and models without noise, kept where the blocks are."""

from dataclasses import replace

import pytest

from experiments.review_control import control
from experiments.review_models import MODELS
from experiments.review_sweep import chosen_by_sweep, sweep
from experiments.reviews_lstm import slices
from experiments.reviews_lstm.corpus import TOY, Corpus
from experiments.reviews_lstm.models import Chain, Shape
from experiments.reviews_lstm.search import Grid
from experiments.reviews_lstm.slices import Sampler

EASY = Corpus(TOY, private=20, public=600, test=20, length=12)
CHAIN = Chain(learn_epochs=1, unlearn_epochs=(1,), batch=30, models=2)
SHAPE = Shape(60, 8, 8, word_bound=2.0, forget_bias=1.0)
SIGMAS = (0.1, 0.01, 0.0)


def grid(shapes=(SHAPE,), step_sizes=(1.0,), steps=5):
    return Grid(shapes, step_sizes, steps=steps, models=1, sigmas=SIGMAS)


def accuracies(rows):
    return {
        (row["shape"]["word_bound"], row["step_size"], row["sigma"]): row["accuracy"]
        for row in rows
    }


def test_every_shape_is_tried_with_every_step_size_and_sigma():
    shapes = (SHAPE, replace(SHAPE, word_bound=0.5), replace(SHAPE, hidden=4, word_bound=0.1))
    found = accuracies(sweep(EASY, CHAIN, grid(shapes, (0.5, 1.0))))
    assert set(found) == {(b, e, s) for b in (2.0, 0.5, 0.1) for e in (0.5, 1.0) for s in SIGMAS}


def test_a_point_without_noise_is_the_same_alone_and_in_company():
    alone = accuracies(sweep(EASY, CHAIN, grid(steps=40)))
    shapes = (replace(SHAPE, word_bound=0.3), SHAPE)
    among = accuracies(sweep(EASY, CHAIN, grid(shapes, (0.01, 1.0), steps=40)))
    assert among[2.0, 1.0, 0.0] == alone[2.0, 1.0, 0.0]


def test_each_point_has_its_own_step_size_and_noise():
    """Labels follow from words; 120 reviews are held out."""
    rows = list(sweep(EASY, CHAIN, grid(step_sizes=(1e-6, 1.0), steps=300)))
    found, majority = accuracies(rows), rows[0]["majority"]
    assert found[2.0, 1.0, 0.0] > majority + 0.2
    assert found[2.0, 1e-6, 0.0] < majority + 0.1
    assert found[2.0, 1.0, 0.1] < majority + 0.1


@pytest.fixture
def sampler(tmp_path):
    return lambda seconds=60.0, chain=CHAIN: Sampler(
        slices.Models(EASY, chain, grid()), True, seconds, folder=tmp_path
    )


def test_what_a_sweep_found_is_kept_as_the_search_of_the_blocks(sampler, monkeypatch):
    found = chosen_by_sweep(sampler())
    assert found["shape"]["words"] == 60
    monkeypatch.setattr(slices, "search", pytest.fail)  # nobody searches again
    assert sampler(0.0).chosen() == found


def test_models_without_noise_are_made_once_and_only_while_there_is_time(sampler):
    few = replace(CHAIN, batch=5)
    found = chosen_by_sweep(sampler(chain=few))
    assert control(sampler(0.0, few), found, forget=3, models=2) is None
    made = control(sampler(chain=few), found, forget=3, models=2)
    assert made is not None
    assert len(made["accuracy"]) == 2
    assert made["epochs"] == 2
    assert control(sampler(0.0, few), found, forget=3, models=2) == made


def test_the_large_models_are_as_large_as_is_said():
    large = MODELS["large"]
    assert large.corpus.length == 100
    assert large.chain.models == 75
    assert all(shape.words >= 5000 and shape.hidden >= 32 for shape in large.grid.shapes)
