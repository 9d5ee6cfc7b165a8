"""A string's edges as whole numbers: the same edges, repetitions written once."""

import random
from itertools import accumulate

from expunge.accounting import Assumptions, History, Phase
from expunge.accounting.bounds import shift
from expunge.accounting.bounds.corners import touching_points
from expunge.accounting.bounds.taut_string import pull_string
from expunge.accounting.moduli import Contraction, Cycle, Run
from expunge.accounting.witness import Edge

GROWS, SHRINKS = Contraction.of(1.25), Contraction.of(0.5)


def written_out(edges: tuple[Edge, ...]) -> list[int]:
    singles = [(1, (edge,)) if isinstance(edge, int) else edge for edge in edges]
    return [length for times, pattern in singles for length in pattern * times]


def test_every_edge_is_kept_in_its_order():
    rng, folded = random.Random(0), 0
    for _ in range(200):
        parts = [
            Cycle(
                tuple(
                    Run(
                        rng.randint(1, 3), rng.choice([GROWS, SHRINKS]), rng.choice([0.0, 1.0]), 1.0
                    )
                    for _ in range(rng.randint(1, 4))
                ),
                rng.randint(4, 9),
            )
            if rng.random() < 0.5
            else Run(rng.randint(1, 9), rng.choice([GROWS, SHRINKS]), 1.0, rng.uniform(0.5, 2))
            for _ in range(rng.randint(1, 4))
        ]
        string = pull_string(parts)
        stretch = touching_points(string, parts, (), 0)
        edges = [length for length, count in string.edges() for _ in range(count)]
        assert written_out(stretch.edges) == edges
        folded += any(not isinstance(edge, int) for edge in stretch.edges)
    assert folded > 50


def test_epochs_that_repeat_are_written_once_from_where_they_begin_to():
    growing = Assumptions(smoothness=0.5, lipschitz=1.0)
    gone, sizes = (0, 3, 0, 5), (50, 50, 50, 50)
    phase = Phase(4000, 0.01, 0.3, 200, 8, batches=gone, batch_size=sizes)
    (stretch,) = shift.bound(growing, History((phase,))).witness.stretches
    assert len(stretch.edges) < 12
    assert sum(written_out(stretch.edges)) == 4000


def test_steps_before_the_chains_part_are_not_counted():
    loss = Assumptions(strong_convexity=0.1, smoothness=1.0, lipschitz=1.0)
    learn, unlearn = Phase(50, 0.5, 0.3, 1000, 10), Phase(20, 0.5, 0.3, 990)
    alone = shift.bound(loss, History((learn, unlearn))).witness
    for sigma in (0.0, 0.3):
        public = Phase(7, 0.5, sigma, 500)
        assert shift.bound(loss, History((public, learn, unlearn))).witness == alone


def test_corners_of_a_climb_lie_at_every_step():
    string = pull_string([Run(6, GROWS, 1.0, 1.0)])
    assert list(string.edges()) == [(1, 6)]
    assert touching_points(string, [Run(6, GROWS, 1.0, 1.0)], (), 0).edges == ((6, (1,)),)
    assert list(accumulate(written_out(((6, (1,)),)))) == [1, 2, 3, 4, 5, 6]
