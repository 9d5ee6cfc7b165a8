"""U-LiRA on reviews: attacks, intervals and verdicts; blocks that add up; what was cut is said."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments import review_reports
from experiments.parts import machine
from experiments.power import Interval, models_needed
from experiments.review_models import MODELS, PAPER, list_cuts
from experiments.review_reports import judge_learning
from experiments.reviews_lstm import models as models_module
from experiments.reviews_lstm import processes as processes_module
from experiments.reviews_lstm import search as search_module
from experiments.reviews_lstm import slices
from experiments.reviews_lstm.corpus import TOY, Corpus, flipped, generated, reviews
from experiments.reviews_lstm.models import Cell, Shape, problem, steps_of
from experiments.reviews_lstm.processes import at_once
from experiments.reviews_lstm.search import Grid, choice, search
from experiments.reviews_lstm.slices import Sampler, arms_of
from experiments.ulira_reviews.attacks import attacked, confidences, difference, gaps
from experiments.ulira_reviews.report import report
from experiments.ulira_reviews.run import run
from experiments.ulira_reviews.settings import SCALES
from experiments.ulira_reviews.verdicts import verdicts
from expunge.audit.ulira import ulira
from expunge.core.text import UNKNOWN, Vocabulary
from expunge.sampling.problem import Records

RESULTS = Path(__file__).parents[2] / "experiments/ulira_reviews/results"
SMALL = MODELS["smoke"]
CELL = Cell("learns", Shape(64, 4, 4), 1.0, 0.01, "with", 10)
SEARCH = {arm: {"accuracy": a} for arm, a in (("no noise", 0.8), ("learns", 0.7), ("paper", 0.5))}
K = (1, 5, 10, 15)
LAWS = "unlearned", "retrained"


def laws(gaps, models=75, seed=0):
    """Scores of two laws that lie so many standard deviations apart at each K."""
    generator = np.random.default_rng(seed)
    unlearned, retrained = generator.normal(size=(2, len(gaps), models))
    return unlearned + np.array(gaps)[:, None], retrained


def attack(gaps, seed=0, resamples=300):
    sides = laws(gaps, seed=seed)
    return attacked(
        *sides, K[: len(gaps)], shadow=50, test=25, resamples=resamples, level=0.95, seed=seed
    )


def apart(sides, steps=K, seed=0):
    return gaps(sides[0], sides[1], steps, resamples=300, level=0.95, seed=seed)


def cell_row(public="without", arm="learns", models=75, never=(0.5, 0.0)):
    """A cell's row of results.

    Args:
        never: What is seen of models that were never unlearned: confidence and gap.
    """
    confidence, gap = never
    control = {
        "confidence": confidence, "interval": [confidence - 0.05, confidence + 0.05],
        "gap": gap, "gap_interval": [gap - 0.3, gap + 0.3],
    }  # fmt: skip
    return {
        "arm": arm, "public": public, "forget": 100, "models": models, "blocks_left": 0,
        "never_unlearned": control,
    }  # fmt: skip


def words_of(found, seeds=(0, 1), never=(0.9, 3.0)):
    """Verdicts by claim, the sigma that learns, 100 reviews forgotten. Args: found: Gaps."""
    pairs = list(zip(found.items(), seeds, strict=False))
    cells = [cell_row(public, never=never) for public in found]
    attacks = {("learns", public, 100): attack(given, seed) for (public, given), seed in pairs}
    lie = {
        ("learns", public, 100): apart(laws(given, seed=seed), K[: len(given)], seed)
        for (public, given), seed in pairs
    }
    return {row["claim"]: row["verdict"] for row in verdicts(cells, attacks, lie, SEARCH, 75)}


@pytest.fixture(scope="module")
def small():
    return json.loads(json.dumps(run(SCALES["smoke"]), allow_nan=False))


# --- attacks


def test_confidences_are_those_of_the_library_s_attack():
    unlearned, retrained = laws((1.3,))
    expected = ulira(unlearned=unlearned[0], retrained=retrained[0], shadow=50).in_the_right_law
    np.testing.assert_allclose(confidences(unlearned, retrained, 50)[0], expected, rtol=1e-10)


@pytest.mark.parametrize(("gap", "low", "high"), [(0.0, 1.2, 2.2), (1.5, 0.9, 1.4)])
def test_intervals_are_too_wide_rather_than_too_narrow(gap, low, high):
    """The std of means of 200 fresh attacks is known to 5 %. Tests drawn again with the fits kept
    give 0.89 at gap 0, shadows alone 0.5 at gap 1.5."""
    fresh = [attack((gap,), seed, resamples=60) for seed in range(200)]
    spread = np.std([one.means[0] for one in fresh], ddof=1)
    resampled = np.mean([one.resampled.std(ddof=1) for one in fresh])
    assert low < resampled / spread < high


def test_a_fall_with_k_and_with_public_data_is_found():
    found = words_of({"without": (3, 2.5, 2, 1.5), "with": (1.0, 0.6, 0.3, 0)})
    assert found["smaller sigma, 100 reviews forgotten, without public data: "
                 "many models are told apart confidently"] == "holds"  # fmt: skip
    for public in ("with", "without"):
        where = f"smaller sigma, 100 reviews forgotten, {public} public data"
        assert found[f"{where}: confidence falls with K"] == "holds"
        assert found[f"{where}: (ours) mean scores come closer with K"] == "holds"
    assert found[f"{where.replace('without', 'with')}: lower confidence than without"] == "holds"


def test_a_rise_does_not_hold():
    found = words_of({"without": (1, 2, 3, 4), "with": (3, 3, 4, 4)})
    told = [verdict for claim, verdict in found.items() if "falls" in claim or "lower" in claim]
    assert told[0] == told[-1] == "does not hold: it rises"
    closer = [verdict for claim, verdict in found.items() if "(ours)" in claim]
    assert closer[0] == "does not hold: it grows"


@pytest.mark.parametrize("seed", range(5))
def test_one_law_twice_never_holds_and_says_how_many_models_could(seed):
    found = words_of({"without": (0,) * 4, "with": (0,) * 4}, (seed, 100 + seed))
    assert "holds" not in found.values()
    assert any("models" in verdict for verdict in found.values())


def test_an_attack_that_sees_nothing_without_unlearning_either_is_said_to_have_no_power():
    claim = ("learns", "without", 100)
    one, lie = attack((0,) * 4), apart(laws((0,) * 4))
    told = [
        verdicts([cell_row(never=never)], {claim: one}, {claim: lie}, SEARCH, 75)
        for never in ((0.5, 0.0), (0.9, 3.0))
    ]
    (blind,), (seeing,) = (
        [row["verdict"] for row in rows if row["claim"].endswith("falls with K")] for rows in told
    )
    assert "it has no power here" in blind
    assert "sees nothing at the first K" in seeing
    assert "no power" not in seeing


def test_a_gap_is_seen_where_the_attack_on_the_same_models_sees_nothing():
    """0.5 standard deviations: a perfectly fitted attack would have confidence 0.53."""
    found = words_of({"without": (0.5, 0.3, 0.1, 0.0)})
    told = {claim.split(": ")[1]: verdict for claim, verdict in found.items()}
    assert told["confidence falls with K"].startswith("cannot conclude")
    assert told["(ours) mean scores come closer with K"] == "holds"


def test_a_gap_that_models_never_unlearned_do_not_show_is_not_believed():
    found = words_of({"without": (0.5, 0.3, 0.1, 0.0)}, never=(0.5, 0.29))
    (told,) = [verdict for claim, verdict in found.items() if "(ours)" in claim]
    assert told.startswith("cannot conclude at this scale: no gap is seen without unlearning")
    assert "models of each law could" in told


def test_of_models_that_learn_nothing_no_number_is_asked_for():
    cell = cell_row(arm="paper") | {
        "sigma": 0.1, "step_size": 1.0,
        "test_accuracy": {"retrained": {"mean": 0.5, "standard_error": 0.001}},
    }  # fmt: skip
    key = ("paper", "without", 100)
    one, lie = attack((0.2,) * 4), apart(laws((0.2,) * 4))
    told = {
        row["claim"].split(": ")[-1]: row["verdict"]
        for row in verdicts([cell], {key: one}, {key: lie}, SEARCH, 75)
    }
    assert "learned nothing" in told["confidence falls with K"]
    assert "learned nothing" in told["(ours) mean scores come closer with K"]


def test_intervals_of_gaps_are_those_of_fresh_models():
    """The std of 200 fresh gaps is known to 5 %, the mean of their resamples far better."""
    fresh = [apart(laws((0.5,), seed=seed), (1,), seed) for seed in range(200)]
    spread = np.std([one.means[0] for one in fresh], ddof=1)
    resampled = np.mean([one.resampled.std(ddof=1) for one in fresh])
    assert 0.75 < resampled / spread < 1.25
    assert abs(np.mean([one.means[0] for one in fresh]) - 0.5) < 5 * spread / 200**0.5 + 0.01


def test_that_many_are_told_apart_confidently_is_refuted_by_the_share_of_sure_tests():
    found = words_of({"without": (0,) * 4})
    (told,) = [verdict for claim, verdict in found.items() if claim.endswith("confidently")]
    assert told == "does not hold: at most 6% of models, and no better than guessing"


def test_no_interval_of_a_confidence_leaves_the_unit_interval():
    one = attack((4.5,))
    assert one.interval(one.means[0], one.resampled[:, 0]).high > 1
    assert one.at(0).high == 0.5


def test_more_models_are_needed_for_a_smaller_effect():
    assert models_needed(Interval(0.1, -0.1, 0.3), 75) == f"about {int(75 * (1.43 * 2) ** 2):,}"
    assert models_needed(Interval(0.0, -0.2, 0.2), 75) == "more than a million"


def test_the_difference_of_an_attack_from_itself_has_no_size():
    one = attack((1, 1, 1, 1))
    assert difference(one, one).value == 0


def test_too_few_models_are_refused():
    with pytest.raises(ValueError, match="an attack needs 75"):
        attacked(*laws((0, 0), 40), (1, 2), shadow=50, test=25, resamples=9, level=0.95, seed=0)


# --- corpus, cells, search


def test_the_vocabulary_has_never_seen_a_private_word(monkeypatch):
    corpus = Corpus(TOY, 5, 5, 2, 4)
    pair = generated(corpus)
    secret = replace(pair.private, features=np.array(["secret"] * 7, dtype=object))
    monkeypatch.setattr(
        "experiments.reviews_lstm.corpus.generated", lambda _: replace(pair, private=secret)
    )
    found = reviews.__wrapped__(corpus, 50)
    assert (found.private.features[:, 0] == UNKNOWN).all()
    assert found.words == len(Vocabulary.of(pair.public.features, size=50))


def test_the_search_reads_public_reviews_alone(monkeypatch):
    found = reviews(SMALL.corpus, 64)
    nothing = Records(torch.empty(0, 6), torch.empty(0))
    hidden = found._replace(private=nothing, test=nothing)
    monkeypatch.setattr(search_module, "reviews", lambda *_: hidden)
    assert len(list(search(SMALL.corpus, SMALL.chain, SMALL.grid))) == len(SMALL.grid.sigmas)


def test_forget_sets_are_nested_and_of_the_size_asked():
    sets = [problem(SMALL.corpus, SMALL.chain, replace(CELL, forget=n)).forgotten for n in (1, 10)]
    assert [len(one) for one in sets] == [1, 10]
    assert sets[0][0] in sets[1]


def test_an_epoch_is_a_pass_over_private_and_public_reviews():
    assert steps_of(SMALL.corpus, SMALL.chain, CELL) == 120 // 20
    assert steps_of(SMALL.corpus, SMALL.chain, replace(CELL, public="without")) == 60 // 20
    made = problem(SMALL.corpus, SMALL.chain, CELL)
    assert made.learn_steps == SMALL.chain.learn_epochs * 6
    assert made.radius == 100


def test_exactly_the_share_asked_of_public_labels_is_flipped():
    before = reviews(SMALL.corpus, 64).public
    after = flipped(before, 0.4, seed=0)
    assert int((before.targets != after.targets).sum()) == round(0.4 * len(before.targets))
    assert set(after.targets.tolist()) <= {0, 1}
    assert torch.equal(before.features, after.features)


def test_models_start_where_the_shape_says():
    loss = Shape(64, 4, 4, word_bound=0.5, forget_bias=3.0).loss
    assert (loss.word_bound, loss.forget_bias) == (0.5, 3.0)
    assert float(loss.split(loss.default_bounds())["embedding.weight"].max()) == 0.5


def tried(accuracies, majority=0.5):
    """Of one shape and step size, by sigma."""
    shape = {"words": 1, "embedding": 1, "hidden": 1}
    return [
        {"shape": shape, "step_size": 1.0, "sigma": s, "accuracy": a, "majority": majority}
        for s, a in accuracies.items()
    ]


def test_the_largest_sigma_that_learns_is_chosen():
    found = choice(tried({0.1: 0.5, 0.03: 0.6, 0.01: 0.75, 0.003: 0.78, 0.0: 0.8}), 0.01)
    assert (found["learns"]["sigma"], found["paper"]["sigma"]) == (0.01, 0.1)
    assert found["reached"]


def test_where_nothing_learns_the_smallest_sigma_is_taken_and_it_is_said():
    found = choice(tried({0.1: 0.5, 0.01: 0.5, 0.0: 0.5}), 0.01)
    assert found["learns"]["sigma"] == 0.01
    assert not found["reached"]


def test_an_arm_that_is_the_paper_s_own_is_not_run_twice():
    found = choice(tried({0.1: 0.8, 0.01: 0.8, 0.0: 0.8}), 0.01)
    assert arms_of(found, ("learns", "paper")) == ["paper"]


def test_a_grid_without_the_paper_s_sigma_is_refused():
    with pytest.raises(ValueError, match="the paper's"):
        Grid((CELL.shape,), (1.0,), 1, 1, sigmas=(0.01, 0.0))


def test_failing_to_learn_is_blamed_on_sigma_only_where_models_without_noise_learn():
    cell = {"arm": "paper", "sigma": 0.1, "step_size": 1.0, "public": "without"}
    guess = Interval(0.5, 0.49, 0.51)
    assert judge_learning(cell, guess, SEARCH)[2].startswith("does not hold")
    nobody = {arm: {"accuracy": 0.55} for arm in SEARCH}
    assert "without noise hardly learn either" in judge_learning(cell, guess, nobody)[2]
    assert judge_learning(cell, Interval(0.8, 0.79, 0.81), SEARCH)[2] == "holds"
    assert "within the interval" in judge_learning(cell, Interval(0.6, 0.58, 0.62), SEARCH)[2]
    assert review_reports.LEARNT == 0.6


def test_models_that_learn_public_reviews_but_not_private_ones_are_not_blamed_on_sigma():
    cell = {"arm": "learns", "sigma": 0.01, "step_size": 1.0, "public": "without"}
    told = judge_learning(cell, Interval(0.53, 0.52, 0.54), SEARCH)[2]
    assert told.startswith("cannot conclude at this scale")
    assert "more models could not tell" in told


# --- slices


@pytest.fixture
def sampler(tmp_path, monkeypatch):
    """Samplers that share a folder, and the blocks that were computed, each in a tenth second.

    What two processes are sent is run by two threads, which see the fake block."""
    computed = []

    def block(_corpus, _chain, cell, number):
        computed.append((cell.forget, number))
        time.sleep(0.1)
        return [{"models": 1, "forget": cell.forget, "number": number, "device": machine()}]

    monkeypatch.setattr(slices, "block", block)
    monkeypatch.setattr(slices, "FEW", 0)
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(slices, "pool", lambda _: pool)
        yield (
            computed,
            lambda seconds, processes=1: Sampler(
                SMALL, True, seconds, folder=tmp_path, processes=processes
            ),
        )


BOTH = pytest.mark.parametrize("processes", [1, 2])


def test_a_slice_that_is_over_leaves_blocks_and_the_next_goes_on(sampler, capsys):
    computed, made = sampler
    (first,) = made(0.01).sampled([CELL], 3)
    assert (len(first.rows), first.missing) == (1, 2)
    assert "2 of 3 blocks left" in capsys.readouterr().err
    assert made(60.0).sampled([CELL], 3)[0].missing == 0
    assert computed == [(10, 0), (10, 1), (10, 2)]


def test_of_two_processes_each_begins_one_block_before_any_tells_how_long_it_takes(sampler):
    computed, made = sampler
    (first,) = made(0.01, 2).sampled([CELL], 5)
    assert (len(first.rows), first.missing) == (2, 3)
    assert made(0.01, 2).sampled([CELL], 5)[0].missing == 3
    (rest,) = made(60.0, 2).sampled([CELL], 5)
    assert [row["number"] for row in rest.rows] == [0, 1, 2, 3, 4]
    assert sorted(computed) == [(10, number) for number in range(5)]


@BOTH
def test_kept_blocks_of_this_machine_tell_how_long_the_next_would_take(
    processes, sampler, monkeypatch
):
    computed, made = sampler
    made(60.0).sampled([replace(CELL, forget=1)], 1)
    cells = [CELL, replace(CELL, forget=1)]
    assert [one.missing for one in made(0.01, processes).sampled(cells, 1)] == [1, 0]
    monkeypatch.setattr(slices, "machine", lambda: "another")
    assert [one.missing for one in made(0.01, processes).sampled(cells, 1)] == [0, 0]
    assert len(computed) == 2


@BOTH
def test_a_slice_of_no_time_reports_what_is_kept_and_begins_nothing(
    processes, sampler, monkeypatch
):
    computed, made = sampler
    made(60.0).sampled([CELL], 1)
    monkeypatch.setenv("EXPUNGE_SLICE", "0")
    (found,) = made(60.0, processes).sampled([CELL], 3)
    assert (len(found.rows), found.missing, len(computed)) == (1, 2, 1)


@BOTH
def test_a_longer_run_adds_to_the_same_blocks(processes, sampler):
    computed, made = sampler
    made(60.0, processes).sampled([CELL], 2)
    (found,) = made(60.0, processes).sampled([replace(CELL, arm="another name")], 4)
    assert [row["number"] for row in found.rows] == [0, 1, 2, 3]
    assert len(computed) == 4


@BOTH
def test_another_sigma_or_forget_set_finds_no_block_of_this_one(processes, sampler):
    computed, made = sampler
    made(60.0, processes).sampled([CELL, replace(CELL, sigma=0.1), replace(CELL, forget=1)], 1)
    assert len(computed) == 3


def test_a_block_is_kept_as_it_ends_whatever_becomes_of_the_other_process(sampler, monkeypatch):
    computed, made = sampler
    well = slices.block

    def stopped(corpus, chain, cell, number):
        if number == 0:
            time.sleep(0.3)
            raise MemoryError
        return well(corpus, chain, cell, number)

    monkeypatch.setattr(slices, "block", stopped)
    with pytest.raises(MemoryError):
        made(60.0, 2).sampled([CELL], 2)
    monkeypatch.setattr(slices, "block", well)
    (found,) = made(60.0, 2).sampled([CELL], 2)
    assert [row["number"] for row in found.rows] == [0, 1]
    assert computed == [(10, 1), (10, 0)]


def test_times_stand_in_the_order_of_the_cells_whichever_ended_first(sampler, monkeypatch):
    _, made = sampler
    well = slices.block

    def slow_first(corpus, chain, cell, number):
        time.sleep(0.2 * (cell == CELL))
        return well(corpus, chain, cell, number)

    monkeypatch.setattr(slices, "block", slow_first)
    one = made(60.0, 2)
    found = one.sampled([CELL, replace(CELL, forget=1)], 1)
    assert list(one.parts.seconds) == [f"{each.cell.name}-block0" for each in found]
    assert [each.rows[0]["forget"] for each in found] == [10, 1]


@pytest.mark.slow
def test_two_processes_find_what_one_finds(monkeypatch):
    """Rounding may differ with the number of threads. A block under another's seed is elsewhere:
    no two of the four are alike."""
    monkeypatch.setattr(slices, "FEW", 0)
    cells = [replace(CELL, public=public) for public in ("without", "with")]
    alone, spread = (
        Sampler(SMALL, False, 600.0, processes=processes).sampled(cells, 2) for processes in (1, 2)
    )
    numbers = [
        np.array([row[law]["scores"] for one in found for row in one.rows for law in LAWS])
        for found in (alone, spread)
    ]
    np.testing.assert_allclose(numbers[1], numbers[0], rtol=1e-3, atol=1e-5)
    first = numbers[0][:, -1, 0]
    assert np.diff(np.sort(first)).min() > 1e-3 * np.abs(first).max()


@pytest.mark.slow
def test_a_search_in_two_processes_tries_the_same_points(monkeypatch):
    monkeypatch.setattr(slices, "FEW", 0)
    grid = replace(SMALL.grid, shapes=(CELL.shape, Shape(64, 4, 8)), step_sizes=(0.5, 1.0))
    found = [
        Sampler(replace(SMALL, grid=grid), False, 60.0, processes=processes).chosen()
        for processes in (1, 2)
    ]
    assert found[0] == found[1]
    assert len(found[0]["tried"]) == grid.points == 8


def test_on_cuda_one_process_has_the_device(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    assert at_once() == (1 if torch.cuda.is_available() else 8)
    monkeypatch.setattr(processes_module, "device", lambda: "cuda")
    assert at_once() == 1


def test_cells_and_blocks_share_no_randomness(monkeypatch):
    seeds = []

    def stopped(*_, seed, **__):
        seeds.append(seed)
        raise KeyboardInterrupt

    monkeypatch.setattr(models_module, "sample_ensemble", stopped)
    for cell, number in ((CELL, 0), (CELL, 1), (replace(CELL, public="without"), 0)):
        with pytest.raises(KeyboardInterrupt):
            models_module.block(SMALL.corpus, SMALL.chain, cell, number)
    assert len(set(seeds)) == 3


# --- results


def test_everything_smaller_than_the_paper_s_is_named():
    full = Corpus(TOY, 25_000, 50_000, 10_000, 200)
    whole = replace(MODELS["paper"], corpus=full)
    assert list_cuts(whole, of_each_law=75, public=50_000, forget=100) == []
    assert len(list_cuts(SMALL, of_each_law=24, public=60, forget=10)) == len(PAPER)
    paper = list_cuts(MODELS["paper"], of_each_law=75, public=33_260, forget=100)
    assert paper == ["words read of a review: 48 of 200", "public reviews: 33,260 of 50,000"]


def test_a_run_makes_tables_and_the_figure_and_says_what_was_cut(small, tmp_path):
    text = report(small, tmp_path)
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    assert "words read of a review: 6 of 200" in text
    assert "never unlearned" in text
    assert "epochs (appendix; the text says iterations)" in text


def test_what_a_reader_must_know_of_a_scale_stands_in_its_report(small, tmp_path):
    noted = small | {"settings": small["settings"] | {"note": SCALES["cpu"].note}}
    assert "remembered rather than learned" in report(noted, tmp_path)


def test_a_run_out_of_time_reports_what_there_is(tmp_path):
    result = json.loads(json.dumps(run(replace(SCALES["smoke"], slice_seconds=0.01))))
    assert [cell["blocks_left"] for cell in result["cells"]] == [0, 1]
    text = report(result, tmp_path)
    assert "not yet" in text
    assert "not finished: run the same command again" in text


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_committed_verdicts_follow_from_their_intervals(path):
    result = json.loads(path.read_text())
    for cell in result["cells"]:
        trend = cell.get("trend")
        if trend is not None and trend["verdict"] == "falls":
            assert trend["interval"][1] < 0 < trend["excess_interval"][0]
    assert all(
        row["verdict"].startswith(("holds", "does not hold", "cannot conclude", "not finished"))
        for row in result["verdicts"]
    )
    assert result["cut"]
