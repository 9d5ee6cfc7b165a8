"""torch's losses: three are known, with options that leave them as they are."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from expunge.errors import InvalidInput
from expunge.losses import Logistic, Softmax, Squared
from expunge.losses.torch_losses import convex_in_last_layer

CLASSES, NUMBERS = torch.tensor([0, 2, 1]), torch.tensor([[0.0], [1.0], [1.0]])


@pytest.mark.parametrize(
    ("losses", "targets", "outputs", "kind"),
    [
        ((nn.CrossEntropyLoss(), functional.cross_entropy), CLASSES, 3, Softmax),
        (
            (nn.BCEWithLogitsLoss(), functional.binary_cross_entropy_with_logits),
            NUMBERS,
            1,
            Logistic,
        ),
        ((nn.MSELoss(), functional.mse_loss), NUMBERS, 1, Squared),
    ],
    ids=["classes", "two classes", "numbers"],
)
def test_a_module_and_a_function_are_the_same_loss_of_ours(losses, targets, outputs, kind):
    for loss in losses:
        made, flat = convex_in_last_layer(loss, [targets, targets[:1]], outputs)
        assert made is kind
        assert flat.tolist() == [*targets.flatten().tolist(), targets.flatten()[0].item()]
        assert flat.dtype == {Softmax: torch.int64, Logistic: torch.float32}.get(kind, torch.double)


@pytest.mark.parametrize(
    ("loss", "targets", "outputs", "said"),
    [
        (nn.L1Loss(), NUMBERS, 1, "loss: L1Loss: only cross_entropy"),
        (nn.CrossEntropyLoss(reduction="sum"), CLASSES, 3, "reduction is not certified"),
        (nn.CrossEntropyLoss(ignore_index=0), CLASSES, 3, "ignore_index is not certified"),
        (nn.CrossEntropyLoss(), CLASSES, 2, "targets: must be whole numbers from 0 to 1"),
        (nn.MSELoss(), NUMBERS, 2, "head: mse_loss with 2 outputs; 1 is needed"),
        (nn.MSELoss(), torch.zeros(3, 2), 1, "targets: one number for each record"),
        (nn.BCEWithLogitsLoss(), NUMBERS / 2, 1, "targets: must be 0 or 1"),
    ],
)
def test_another_loss_another_option_and_other_targets_are_refused(loss, targets, outputs, said):
    with pytest.raises(InvalidInput, match=said):
        convex_in_last_layer(loss, [targets], outputs)
