"""Records from tensors, arrays, DataLoaders and datasets in torch format."""

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)

from expunge.core.inputs import Columns
from expunge.core.records import refuse_other_form, tensors_of
from expunge.errors import InvalidInput
from tests.unlearning.networks.problems import rows


class Dicts:
    """A map-style dataset of dicts, as Hugging Face's are in torch format."""

    def __init__(self, inputs, targets, **more):
        self.inputs, self.targets, self.more = inputs, targets, more

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, i):
        return {"pixels": self.inputs[i], "label": self.targets[i], **self.more}


class Items:
    """A map-style dataset of these items."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


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
        (Dicts(*rows(3), y=torch.ones(2)), "columns pixels, label, y; keep one of targets"),
        ({"pixels": torch.zeros(2, 2)}, "columns pixels; keep one of targets"),
        ({"label": torch.zeros(2)}, "columns label; keep one of targets"),
        (Dicts(*rows(3), text="a review"), "text: not a tensor"),
        (Dicts(*rows(3), mask=torch.tensor(torch.nan)), "mask: contains NaN"),
        (((torch.zeros(3, 2), torch.zeros(2, 2)), torch.zeros(3)), r"2 inputs\[1\] and 3 targets"),
        (({"a": torch.zeros(3), "b": torch.zeros(4)}, torch.zeros(3)), "4 b and 3 targets"),
        ((torch.zeros(2, 1), (torch.zeros(1), torch.ones(1))), "targets: a tuple of tensors"),
        (({}, torch.zeros(3)), "a dict of one or more tensors by name"),
        (({3: torch.zeros(3), "b": torch.zeros(3)}, torch.zeros(3)), "by name"),
        (Items(((torch.zeros(2), 3.0), 1)), r"inputs\[1\] is float beside tensors"),
        (Items(((torch.zeros(2), {"a": torch.zeros(2)}), 1)), r"inputs\[1\] is dict beside"),
        (Items(([torch.zeros(2), torch.zeros(2)], 1)), "inputs: a list of tensors; give a tuple"),
        (
            Items(({"a": torch.zeros(2), "b": torch.ones(1)}, 1), (torch.zeros(2), 1)),
            "item 1 has the inputs inputs alone, item 0 a, b by name",
        ),
        (
            Items(((torch.zeros(2), torch.ones(1)), 1), ((torch.zeros(2), torch.ones(2)), 1)),
            r"inputs\[1\]: items of different shapes .* no private record decides",
        ),
        (
            Items(({"a": torch.zeros(2), "b": 1}, 1), ({"a": torch.zeros(2), "b": 1.5}, 1)),
            "b: items of different types",
        ),
        (TensorDataset(torch.zeros(2, 2)), "pairs"),
        (np.array([["a"]]).tolist(), "pairs"),
        (3, "give"),
        ((["a", "b"], [0, 1]), "not a tensor"),
    ],
    ids=[
        "lengths",
        "nan",
        "stream",
        "two targets",
        "no target",
        "no input",
        "text column",
        "nan column",
        "columns by place",
        "columns by name",
        "two target columns",
        "empty",
        "numbers as names",
        "number beside",
        "dict beside",
        "list of tensors",
        "forms",
        "ragged",
        "types",
        "singles",
        "text",
        "number",
        "strings",
    ],
)
def test_bad_records_are_refused_with_the_arguments_name(given, said):
    with pytest.raises(InvalidInput, match=f"private: .*{said}"):
        tensors_of(given, "private")


def several(count=12):
    (first, targets), (second, _) = rows(count), rows(count, seed=5)
    return first, second[:, :2], targets


@pytest.mark.parametrize(
    ("wrap", "named"),
    [
        (lambda a, b, y: ((a, b), y), False),
        (lambda a, b, y: ((a.numpy(), b.numpy()), y.numpy()), False),
        (lambda a, b, y: DataLoader(Items(*zip(zip(a, b, strict=True), y, strict=True))), False),
        (lambda a, b, y: ({"a": a, "b": b}, y), True),
        (lambda a, b, y: {"a": a, "b": b, "label": y}, True),
        (
            lambda a, b, y: DataLoader(
                Items(*({"a": p, "labels": t, "b": q} for p, q, t in zip(a, b, y, strict=True))),
                batch_size=5,
                shuffle=True,
            ),
            True,
        ),
    ],
    ids=["tuple", "arrays", "loader of tuples", "dict", "table", "loader of dicts"],
)
def test_several_inputs_keep_their_places_or_names(wrap, named):
    first, second, targets = several()
    inputs, labels = tensors_of(wrap(first, second, targets), "private")
    assert isinstance(inputs, Columns)
    assert inputs.named == named
    assert labels.tolist() == targets.tolist()
    placed, by_name = inputs.arguments
    found = (by_name["a"], by_name["b"]) if named else placed
    assert torch.equal(found[0], first)
    assert torch.equal(found[1], second)
    inputs[0] = 0
    assert float(first[0].abs().sum()) > 0  # a copy


def test_numbers_in_a_tuple_are_one_vector_and_one_column_is_one_input():
    dataset = Items(((1.0, 2.0), 0), ((3.0, 4.0), 1))
    assert tensors_of(dataset, "private")[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    first, _, targets = several()
    for given in (((first,), targets), ({"a": first}, targets), {"a": first, "y": targets}):
        assert torch.equal(tensors_of(given, "private")[0], first)


def padded(items):
    """As collators do: to the longest of the batch, and to eight at least."""
    longest = max(8, *(len(tokens) for tokens, _ in items))
    tokens = torch.zeros(len(items), longest, dtype=torch.int64)
    for row, (some, _) in zip(tokens, items, strict=True):
        row[: len(some)] = some
    return {"tokens": tokens, "mask": tokens > 0, "labels": torch.tensor([y for _, y in items])}


def test_a_collate_fn_sees_one_item_at_a_time():
    ragged = [(torch.arange(1, 3 + i), i % 2) for i in range(5)]
    inputs, targets = tensors_of(DataLoader(Items(*ragged), collate_fn=padded), "private")
    assert inputs.columns["tokens"].shape == (5, 8)
    assert inputs.columns["mask"].sum(1).tolist() == [2, 3, 4, 5, 6]
    assert targets.tolist() == [0, 1, 0, 1, 0]
    longer = Items(*ragged, (torch.arange(1, 20), 0))  # one record's length would pad all others
    with pytest.raises(InvalidInput, match="private: tokens: items of different shapes"):
        tensors_of(DataLoader(longer, collate_fn=padded), "private")
    with pytest.raises(InvalidInput, match=r"collate_fn makes \(2, 2\) of one item's inputs"):
        tensors_of(
            DataLoader(Items((1, 2)), collate_fn=lambda _: (torch.zeros(2, 2), [0])), "private"
        )


def test_public_records_must_be_called_like_the_private_ones():
    first, second, _ = several()
    placed = Columns({"inputs[0]": first, "inputs[1]": second}, named=False)
    named = Columns({"a": first, "b": second}, named=True)
    for one, other in ((placed, named), (named, first), (first, placed)):
        with pytest.raises(InvalidInput, match="public: has the inputs"):
            refuse_other_form(one, other, "public")
        refuse_other_form(one, one, "public")


def test_a_loader_that_picks_records_is_refused():
    """Its dataset holds others: a private record would be read as a public one."""
    dataset = TensorDataset(torch.randn(6, 2), torch.arange(6))
    picking = [
        DataLoader(dataset, sampler=SubsetRandomSampler([0, 1])),
        DataLoader(dataset, sampler=RandomSampler(dataset, num_samples=3)),
        DataLoader(dataset, batch_sampler=[[0, 1], [2]]),
        DataLoader(dataset, batch_sampler=BatchSampler(SubsetRandomSampler([0, 1]), 2, False)),
        DataLoader(dataset, batch_sampler=BatchSampler(SequentialSampler(range(3)), 2, False)),
        DataLoader(dataset, sampler=SequentialSampler(list(range(6)))),
    ]
    for loader in picking:
        with pytest.raises(InvalidInput, match="Subset"):
            tensors_of(loader, "private")
    with pytest.raises(InvalidInput, match="pairs"):
        tensors_of(DataLoader(dataset, collate_fn=lambda items: items), "private")
    whole = BatchSampler(RandomSampler(dataset), 2, False)
    for loader in (
        DataLoader(dataset, shuffle=True),
        DataLoader(dataset, batch_size=None),
        DataLoader(dataset, batch_sampler=whole),
    ):
        assert len(tensors_of(loader, "private")[0]) == 6
    assert len(tensors_of(DataLoader(Subset(dataset, [4, 2])), "private")[0]) == 2
