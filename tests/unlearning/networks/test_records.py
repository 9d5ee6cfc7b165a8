"""Records from tensors, arrays, DataLoaders and datasets in torch format."""

import numpy as np
import pytest
import torch
from torch.utils.data import (
    DataLoader,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)

from expunge.accounting.refusal import InvalidInput
from expunge.unlearning.networks.records import tensors_of
from tests.unlearning.networks.problems import rows


class Dicts:
    """A map-style dataset of dicts, as Hugging Face's are in torch format."""

    def __init__(self, inputs, targets, **more):
        self.inputs, self.targets, self.more = inputs, targets, more

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, i):
        return {"pixels": self.inputs[i], "label": self.targets[i], **self.more}


class Stream(IterableDataset):
    def __iter__(self):
        yield from zip(*rows(3), strict=True)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x, y: (x, y),
        lambda x, y: [x.numpy(), y.numpy()],
        lambda x, y: DataLoader(TensorDataset(x, y), batch_size=7, shuffle=True),
        lambda x, y: DataLoader(Dicts(x, y), batch_size=2),
        lambda x, y: Dicts(x, y.tolist()),
    ],
    ids=["tensors", "arrays", "loader", "loader of dicts", "dataset of dicts"],
)
def test_every_form_gives_the_same_rows_in_the_datasets_order(wrap):
    inputs, targets = rows(20)
    read = tensors_of(wrap(inputs, targets), "private")
    torch.testing.assert_close(read[0], inputs)
    assert read[1].tolist() == targets.tolist()


def test_what_is_read_is_a_copy():
    inputs, targets = rows(5)
    read, _ = tensors_of((inputs, targets), "private")
    read.zero_()
    assert inputs.abs().sum() > 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((torch.zeros(3, 2), torch.zeros(4)), "3 inputs and 4 targets"),
        ((torch.full((2, 2), torch.nan), torch.zeros(2)), "NaN or infinity"),
        (DataLoader(Stream()), "no stable order"),
        (Dicts(*rows(3), mask=torch.ones(2)), "columns pixels, label, mask"),
        (TensorDataset(torch.zeros(2, 2)), "pairs"),
        (np.array([["a"]]).tolist(), "pairs"),
        (3, "give"),
        ((["a", "b"], [0, 1]), "not a tensor"),
    ],
    ids=["lengths", "nan", "stream", "columns", "singles", "text", "number", "strings"],
)
def test_bad_records_are_refused_with_the_arguments_name(given, said):
    with pytest.raises(InvalidInput, match=f"private: .*{said}"):
        tensors_of(given, "private")


def test_a_loader_that_picks_or_changes_records_is_refused():
    """Its dataset holds others: a private record would be read as a public one."""
    dataset = TensorDataset(torch.randn(6, 2), torch.arange(6))
    picking = [
        DataLoader(dataset, sampler=SubsetRandomSampler([0, 1])),
        DataLoader(dataset, sampler=RandomSampler(dataset, num_samples=3)),
        DataLoader(dataset, batch_sampler=[[0, 1], [2]]),
    ]
    for loader in picking:
        with pytest.raises(InvalidInput, match="Subset"):
            tensors_of(loader, "private")
    with pytest.raises(InvalidInput, match="collate_fn"):
        tensors_of(DataLoader(dataset, collate_fn=lambda items: items), "private")
    for loader in (DataLoader(dataset, shuffle=True), DataLoader(dataset, batch_size=None)):
        assert len(tensors_of(loader, "private")[0]) == 6
    assert len(tensors_of(DataLoader(Subset(dataset, [4, 2])), "private")[0]) == 2
