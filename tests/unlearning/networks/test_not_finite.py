"""Values that are not finite are refused at fit and left out at a request."""

import pytest
import torch

from expunge.errors import NoCertificate
from expunge.sampling.left_out import LeftOut
from expunge.unlearning.networks.noisy_descent import Place
from expunge.unlearning.networks.not_finite import check_left_out
from tests.unlearning.networks.problems import job_of


def test_what_is_too_large_for_the_modules_precision_is_its_largest_number():
    """No draw makes a model that is none, which could not be handed out."""
    place = Place.of(job_of(), "start")
    offset = torch.full((place.dimension,), -1e300, dtype=torch.float64)
    parts = place.state(offset).values()
    assert {float(value) for part in parts for value in part.flatten()} == {
        torch.finfo(torch.float32).min
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("gone", "smooth", "said"), [(5, False, "no record"), (1, True, "smooth")])
def test_records_without_a_gradient_are_refused_at_fit_and_never_later(gone, smooth, said):
    at_fit, later = LeftOut(fitting=True), LeftOut(fitting=False)
    for each in (at_fit, later):
        each.rows.update(range(gone))
    with pytest.raises(NoCertificate, match=said):
        check_left_out(at_fit, 5, smooth=smooth)
    check_left_out(later, 5, smooth=smooth)
