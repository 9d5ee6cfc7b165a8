"""Reviews as text with a polarity: IMDB and Amazon, in the forms they are published in.

    imdb/imdb_train.csv[.xz], imdb/imdb_test.csv[.xz]       columns id, label (0, 1), movie, text
    aclImdb/{train,test}/{pos,neg}/ID_RATING.txt            with urls_{pos,neg}.txt beside
    amazon/amazon_reviews.csv[.xz]                          columns category, label (0, 1), text
    amazon_review_polarity_csv/{train,test}.csv             no header: label (1, 2), title, body

A text is data: it is read, numbered, and never printed.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np

from experiments.datasets.files import BadData, DataMissing, find, rows
from experiments.datasets.records import DataSet
from expunge.core.text import tokens

__all__ = [
    "amazon",
    "amazon_polarity",
    "amazon_shared",
    "closing",
    "imdb",
    "imdb_csv",
    "imdb_folder",
]

CLASSES = ("negative", "positive")
EACH = 12_500  # reviews of a label and part of aclImdb
PUBLIC = 50_000  # reviews that the paper takes from Amazon
Row = tuple[str, int, bool, str]  # text, label, is_test, group


def imdb(folder: Path | None = None) -> DataSet:
    """From aclImdb's own folders, or from the CSV files where those are not."""
    layout = "imdb/imdb_train.csv.xz and imdb_test.csv.xz, or aclImdb/"
    path = find(folder, ["imdb", "aclImdb"], layout)
    return imdb_csv(folder) if path.name == "imdb" else imdb_folder(folder)


def imdb_csv(folder: Path | None = None) -> DataSet:
    """25,000 training and 10,000 test reviews; groups are films."""
    read: list[Row] = []
    for part in ("train", "test"):
        names = [f"imdb/imdb_{part}.csv{ending}" for ending in (".xz", ".gz", "")]
        path = find(folder, names, "imdb/imdb_train.csv.xz and imdb/imdb_test.csv.xz")
        for row in rows(path, ["label", "movie", "text"]):
            read.append((row["text"], _label(path, row["label"]), part == "test", row["movie"]))
    return _gathered("IMDB reviews", read)


def imdb_folder(folder: Path | None = None, each: int | None = EACH) -> DataSet:
    """aclImdb as unpacked, in the order of labels and ids; groups are films.

    Args:
        each: Reviews to expect of a label and part; None for any number.

    Raises:
        DataMissing: a folder that is not there.
        BadData: another number of reviews, or a name that is not ID_RATING.txt.
    """
    root = find(folder, ["aclImdb"], "aclImdb/{train,test}/{pos,neg}/ID_RATING.txt")
    read: list[Row] = []
    for part in ("train", "test"):
        for label, name in enumerate(("neg", "pos")):
            place = root / part / name
            if not place.is_dir():
                raise DataMissing(f"{place}: no such folder; unpack aclImdb_v1.tar.gz here")
            found = list(_reviews(place))
            if each is not None and len(found) != each:
                raise BadData(f"{place}: {len(found)} reviews, expected {each}; unpack it again")
            read += [(text, label, part == "test", film) for text, film in found]
    return _gathered("IMDB reviews", read)


def amazon(folder: Path | None = None) -> DataSet:
    """The paper's 50,000 of Amazon review polarity, or the smaller collection where it is not."""
    layout = "amazon_review_polarity_csv/train.csv, or amazon/amazon_reviews.csv.xz"
    path = find(folder, ["amazon_review_polarity_csv", "amazon"], layout)
    return amazon_shared(folder) if path.name == "amazon" else amazon_polarity(folder)


def amazon_shared(folder: Path | None = None) -> DataSet:
    """33,260 reviews of five categories and "any"; groups are categories."""
    names = [f"amazon/amazon_reviews.csv{ending}" for ending in (".xz", ".gz", "")]
    path = find(folder, names, names[0])
    read: list[Row] = [
        (row["text"], _label(path, row["label"]), False, row["category"])
        for row in rows(path, ["category", "label", "text"])
    ]
    return _gathered("Amazon reviews", read)


def amazon_polarity(folder: Path | None = None, limit: int | None = PUBLIC) -> DataSet:
    """The first `limit` training rows (of 3,600,000), title and body joined by a colon."""
    names = [f"amazon_review_polarity_csv/train.csv{ending}" for ending in ("", ".gz", ".xz")]
    path = find(folder, names, names[0])
    read: list[Row] = []
    for row in islice(rows(path), limit):
        if len(row) != 3 or row["0"] not in ("1", "2"):
            raise BadData(f"{path}, row {len(read) + 1}: expected label (1 or 2), title, body")
        text = f"{row['1']}: {row['2']}".replace("\\n", " ")
        read.append((text, int(row["0"]) - 1, False, "any"))
    return _gathered("Amazon review polarity", read)


def closing(data: DataSet, words: int) -> DataSet:
    """The same reviews, of each its last words and marks: reviewers conclude at the end."""
    texts = [" ".join(tokens(text)[-words:]) for text in data.features]
    return replace(data, features=np.array(texts, dtype=object))


def _reviews(place: Path) -> Iterator[tuple[str, str]]:
    """Texts and films of one folder, by id."""
    urls = place.parent / f"urls_{place.name}.txt"
    films = re.findall(r"/title/(tt\d+)", urls.read_text("utf-8")) if urls.is_file() else []
    numbered = []
    for path in place.glob("*.txt"):
        stem = re.fullmatch(r"(\d+)_\d+", path.stem)
        if stem is None:
            raise BadData(f"{path}: reviews are called ID_RATING.txt")
        numbered.append((int(stem[1]), path))
    for number, path in sorted(numbered):
        film = films[number] if number < len(films) else ""
        yield path.read_text("utf-8"), film


def _label(path: Path, given: str) -> int:
    if given not in ("0", "1"):
        raise BadData(f"{path}: a label must be 0 or 1")
    return int(given)


def _gathered(source: str, read: list[Row]) -> DataSet:
    if not read:
        raise BadData(f"{source}: no reviews")
    texts, labels, tests, groups = zip(*read, strict=True)
    return DataSet(
        source,
        np.array(texts, dtype=object),
        np.array(labels, dtype=np.int64),
        CLASSES,
        np.array(tests, dtype=bool),
        np.array(groups),
    )
