"""Records join where steps and losses are known to cover them, and nowhere else."""

from types import SimpleNamespace

import pytest

from expunge.errors import NoCertificate
from expunge.unlearning.ids import id_rows
from expunge.unlearning.room import check_room
from expunge.unlearning.roster import Roster
from expunge.unlearning.schemes import Cyclic, FullBatch, PoissonBatch


def grown(count, left=0):
    roster = Roster(id_rows(None, 20, 0), 0)
    roster = roster.without(range(left)) if left else roster
    return roster.with_more(None, count)


@pytest.mark.parametrize("scheme", [FullBatch(fixed=True), PoissonBatch(0.5)], ids=repr)
def test_a_fixed_normaliser_stays_what_it_was_at_fit_and_has_room_for_no_more(scheme):
    roster = grown(3, left=3)
    check_room(scheme, roster)
    batch = scheme.batch(roster, 0, 0)
    assert batch.divisor == 20 * (1 if scheme.normaliser == "fixed" and scheme.load == 1 else 0.5)
    with pytest.raises(NoCertificate, match=r"21 records would be there, and .* divides by the 20"):
        check_room(scheme, grown(4, left=3))


def test_the_mean_has_room_for_anybody_and_divides_by_who_is_there():
    check_room(FullBatch(), grown(40))
    assert FullBatch().batch(grown(40), 0, 0).divisor == 60


@pytest.mark.parametrize("scheme", [Cyclic(3), SimpleNamespace(normaliser="mean", load=1.0)])
def test_a_partition_of_the_records_at_fit_takes_nobody_in(scheme):
    with pytest.raises(NoCertificate, match=f"scheme: {type(scheme).__name__} is a partition"):
        check_room(scheme, grown(1, left=3))
