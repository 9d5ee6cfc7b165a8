"""Features: a record's own, bit for bit, and only of the last layer."""

import pytest
import torch
from torch import nn

from expunge.core.inputs import Columns, taking_columns
from expunge.errors import InvalidInput, RecordsWarning
from expunge.features.backbone import backbone_features
from tests.unlearning.networks.problems import bits, masked, network, rows, texts


def test_they_are_what_the_last_layer_is_given():
    module, (inputs, _) = network(), rows(20)
    found = backbone_features(module, "fc", inputs, "cpu")
    torch.testing.assert_close(module.fc(found), module(inputs))
    assert not found.requires_grad


@pytest.mark.parametrize("count", [300, 512, 1])
def test_other_records_do_not_move_a_bit(count):
    module, (inputs, _) = network(hidden=33), rows(max(count, 3))
    inputs = inputs[:count]
    blanked = inputs.clone()
    blanked[: count // 2] = 0
    whole, rest = (backbone_features(module, "fc", each, "cpu") for each in (inputs, blanked))
    assert torch.equal(whole[count // 2 :], rest[count // 2 :])


def test_several_inputs_are_blanked_together_and_an_empty_mask_is_no_obstacle():
    """A blanked record has no words, so its mean is 0/0: that is no record's feature."""
    columns, _ = texts(300)
    table = Columns(columns, named=True)
    module = taking_columns(masked())
    found = backbone_features(module, "fc", table, "cpu")
    assert torch.isfinite(found).all()
    torch.testing.assert_close(module.fc(found), module(**columns))
    columns["mask"][7] = False
    with pytest.raises(InvalidInput, match="gives layer 'fc' NaN"):
        backbone_features(module, "fc", table, "cpu")
    with pytest.warns(RecordsWarning, match="for 1 of 300 private records"):
        blank = backbone_features(module, "fc", table, "cpu", private=True)
    found[7] = 0
    assert torch.equal(blank, found)


class Jitter(nn.Module):
    """Last digits depend on the batch, as another summation order's do."""

    def forward(self, x):
        return x + 1e-7 * x.sum()


def test_where_neighbours_move_bits_the_module_is_refused_and_records_may_go_one_by_one():
    """One by one of its own accord would tell which records were there."""
    module, (inputs, _) = network(extra=Jitter()), rows(40)
    with pytest.raises(InvalidInput, match="one_by_one=True"):
        backbone_features(module, "fc", inputs, "cpu")
    blanked = inputs.clone()
    blanked[:20] = 0
    whole, rest = (backbone_features(module, "fc", x, "cpu", True) for x in (inputs, blanked))
    assert torch.equal(whole[20:], rest[20:])


def test_an_outlier_in_a_later_batch_is_noticed():
    class Peak(nn.Module):
        def forward(self, x):
            return x * 6 / x.abs().max().clamp_min(6)

    inputs = rows(600)[0].clamp(-3, 3)
    backbone_features(network(extra=Peak()), "fc", inputs, "cpu")
    inputs[500] = 1e4
    with pytest.raises(InvalidInput, match="other records in its batch"):
        backbone_features(network(extra=Peak()), "fc", inputs, "cpu")


def test_a_module_that_remembers_or_draws_is_refused():
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = 0.0

        def forward(self, x):
            self.mean = self.mean + 1e-4 * float(x.mean())
            return x - self.mean

    class AlwaysDropping(nn.Module):
        def forward(self, x):
            return nn.functional.dropout(x, 0.1, training=True)

    for extra in (Running(), AlwaysDropping()):
        for one_by_one in (False, True):
            with pytest.raises(InvalidInput, match="model"):
                backbone_features(network(extra=extra), "fc", rows(40)[0], "cpu", one_by_one)


class Largest(nn.Module):
    """Divides by the largest value that it has ever seen: from the first outlier on, the same."""

    def __init__(self, keep):
        super().__init__()
        self.keep, self.largest = keep, 6.0
        if keep == "buffer":
            self.register_buffer("scale", torch.tensor(6.0))

    def forward(self, x):
        if self.keep == "buffer":
            self.scale.copy_(torch.maximum(self.scale, x.abs().max()))
            return x / self.scale
        self.largest = max(self.largest, float(x.abs().max()))
        return x / self.largest


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("count", [40, 600])
@pytest.mark.parametrize(("keep", "outlier"), [("buffer", 0), ("attribute", 0), ("attribute", 33)])
def test_a_memory_that_only_grows_is_noticed(keep, outlier, count, one_by_one):
    """A second look at the same copy would find all as it was the first time."""
    inputs = rows(count)[0].clamp(-3, 3)
    inputs[outlier] = 1e4
    with pytest.raises(InvalidInput, match=r"remembers|other records in its batch"):
        backbone_features(network(extra=Largest(keep)), "fc", inputs, "cpu", one_by_one)


class Trimmed(nn.Module):
    """Cuts its batch to the longest text, then takes means over what is left."""

    def __init__(self):
        super().__init__()
        self.embed, self.fc = nn.Embedding(9, 6), nn.Linear(6, 3)

    def forward(self, tokens, mask):
        longest = int(mask.sum(1).max().clamp_min(1))
        words = self.embed(tokens[:, :longest]) * mask[:, :longest, None]
        return self.fc(words.mean(1))


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_cut_to_its_longest_record_is_noticed_however_many_are_longest(seed):
    """Halves would not tell: some of the longest are in either."""
    columns, _ = texts(120, seed=seed, length=8)
    full = torch.arange(120) % 5 > 0
    columns["mask"][full], columns["tokens"][full] = True, 4
    module = taking_columns(Trimmed())
    with pytest.raises(InvalidInput, match="other records in its batch"):
        backbone_features(module, "fc", Columns(columns, named=True), "cpu")


def test_dropout_is_off_and_frozen_batch_statistics_are_used_and_kept():
    module = network(extra=nn.Sequential(nn.BatchNorm1d(6), nn.Dropout(0.9))).train()
    before = bits(module.state_dict())
    inputs, _ = rows(20)
    first, second = (backbone_features(module, "fc", inputs, "cpu") for _ in range(2))
    assert torch.equal(first, second)
    assert bits(module.state_dict()) == before


def test_half_precision_gives_single_precision_rows():
    inputs = rows(10)[0].to(torch.bfloat16)
    found = backbone_features(network().to(torch.bfloat16), "fc", inputs, "cpu")
    assert found.dtype == torch.float32


class Wrapped(nn.Module):
    def __init__(self, finish):
        super().__init__()
        self.inner, self.finish = network(), finish

    def forward(self, x):
        return self.finish(self.inner, x)


@pytest.mark.parametrize(
    ("finish", "said"),
    [
        (lambda net, x: net(x).softmax(1), "not the last one"),
        (lambda net, x: net(x) + net.fc(net.body(2 * x)), "runs 2 times"),
        (lambda net, x: net.body(x), "runs 0 times"),
        (lambda net, x: {"logits": net(x)}, "not the last one"),
        (lambda net, x: net(x[:, None]), "one vector for each record"),
    ],
    ids=["softmax", "twice", "never", "dict", "sequence"],
)
def test_a_layer_that_is_not_the_last_one_is_refused(finish, said):
    with pytest.raises(InvalidInput, match=f"head: layer 'inner.fc' .*{said}"):
        backbone_features(Wrapped(finish), "inner.fc", rows(8)[0], "cpu")


def test_features_that_are_not_finite_are_refused():
    module = network()
    with torch.no_grad():
        module.body[0].bias[0] = torch.nan
    for private in (False, True):  # where every record's are, it is the model
        with pytest.raises(InvalidInput, match="NaN"):
            backbone_features(module, "fc", rows(8)[0], "cpu", private=private)
