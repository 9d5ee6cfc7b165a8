"""Reviews in every published form."""

import pytest

from experiments.datasets.files import BadData, DataMissing
from experiments.datasets.reviews import (
    amazon,
    amazon_polarity,
    amazon_shared,
    closing,
    imdb,
    imdb_csv,
    imdb_folder,
)
from tests.experiments.datasets import made


@pytest.mark.parametrize("ending", ["", ".xz"])
def test_csv_files_have_texts_labels_and_films(tmp_path, ending):
    data = imdb_csv(made.reviews(tmp_path, ending))
    assert data.features.tolist() == ["bad film", "good", "fine, really"]
    assert data.targets.tolist() == [0, 1, 1]
    assert data.is_test.tolist() == [False, False, True]
    assert data.groups.tolist() == ["tt1", "tt2", "tt3"]
    shared = amazon_shared(tmp_path)
    assert shared.features.tolist() == ["nice", "nice"]
    assert shared.groups.tolist() == ["dvd", "dvd"]


def test_folders_are_read_by_label_and_id(tmp_path):
    data = imdb_folder(made.acl_imdb(tmp_path, each=12), each=12)
    assert len(data.train) == len(data.test) == 24
    assert data.features[11] == "train neg 11<br />café"  # 11 after 10, not after 1
    assert data.targets[:24].tolist() == [0] * 12 + [1] * 12
    assert data.groups[11] == "tt0000011"


def test_the_closing_words_of_a_review_are_its_last_and_are_taken_once(tmp_path):
    data = imdb_csv(made.reviews(tmp_path, ""))
    short = closing(data, 2)
    assert short.features.tolist() == ["bad film", "good", ", really"]
    assert closing(short, 2).features.tolist() == short.features.tolist()
    assert short.targets is data.targets


def test_a_part_of_the_archive_is_refused(tmp_path):
    folder = made.acl_imdb(tmp_path)
    with pytest.raises(BadData, match="2 reviews, expected 12500; unpack it again"):
        imdb_folder(folder)
    (folder / "aclImdb/train/pos/readme.txt").write_text("x")
    with pytest.raises(BadData, match=r"reviews are called ID_RATING\.txt"):
        imdb_folder(folder, each=None)
    (folder / "aclImdb/test/neg").rename(folder / "elsewhere")
    (folder / "aclImdb/train/pos/readme.txt").unlink()
    with pytest.raises(DataMissing, match=r"unpack aclImdb_v1\.tar\.gz"):
        imdb_folder(folder, each=None)


def test_polarity_joins_title_and_body_and_takes_the_first_rows(tmp_path):
    data = amazon_polarity(made.polarity(tmp_path))
    assert data.features.tolist() == ['Great: It works "well"', "Bad: No"]
    assert data.targets.tolist() == [1, 0]
    assert len(amazon_polarity(tmp_path, limit=1)) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [('"3","a","b"', "row 1: expected label"), ('"1","a"', "row 1: expected label")],
    ids=["label", "width"],
)
def test_other_rows_are_refused(tmp_path, line, said):
    with pytest.raises(BadData, match=said):
        amazon_polarity(made.polarity(tmp_path, [line]))


def test_what_is_there_is_taken(tmp_path):
    with pytest.raises(DataMissing, match="or aclImdb/"):
        imdb(tmp_path)
    assert len(imdb(made.reviews(tmp_path / "csv"))) == 3
    assert amazon(tmp_path / "csv").source == "Amazon reviews"
    both = made.polarity(made.reviews(tmp_path / "both"))
    assert amazon(both).source == "Amazon review polarity"
    with pytest.raises(BadData, match="expected 12500"):
        imdb(made.acl_imdb(tmp_path / "folders"))


def test_a_label_that_is_no_polarity_is_refused_without_its_text(tmp_path):
    folder = made.reviews(tmp_path, "")
    (folder / "amazon/amazon_reviews.csv").write_text("category,label,text\ndvd,5,secret words\n")
    with pytest.raises(BadData, match="a label must be 0 or 1") as error:
        amazon_shared(folder)
    assert "secret" not in str(error.value)
