"""Texts to rows of word numbers: tokens, public vocabulary, padding, bounded length."""

import dataclasses

import pytest
import torch

from expunge.core import text
from expunge.core.text import PADDING, UNKNOWN, Vocabulary, lengths_of, tokens


def test_tokens_are_lower_case_words_and_single_marks():
    assert tokens("It's GREAT -- 10/10!") == ["it's", "great", "-", "-", "10", "/", "10", "!"]
    assert tokens("Amélie's naïve 'quote'") == ["amélie's", "naïve", "'", "quote", "'"]


def test_html_breaks_are_dropped_and_do_not_join_words():
    assert tokens("good<br /><br/>film<BR>end.<b>") == ["good", "film", "end", ".", "<", "b", ">"]


def test_frequent_words_come_first_and_ties_by_alphabet():
    vocabulary = Vocabulary.of(["b b c a", "c b d"], size=5)
    assert vocabulary.words == ("b", "c", "a")
    assert len(vocabulary) == 5
    assert vocabulary.ids == {"b": 2, "c": 3, "a": 4}


def test_a_vocabulary_is_marked_public_and_cannot_be_changed():
    vocabulary = Vocabulary.of(["one"])
    assert vocabulary.mark == "public"
    with pytest.raises(dataclasses.FrozenInstanceError):
        vocabulary.words = ()


def test_the_order_of_public_texts_does_not_matter():
    texts = ["a b c d e", "e d c", "x y z a"]
    assert Vocabulary.of(texts, size=6) == Vocabulary.of(texts[::-1], size=6)


def test_rows_are_padded_and_bounded_and_unknown_words_share_an_id():
    vocabulary = Vocabulary.of(["good good film"])
    encoded = vocabulary.encode(["good film", "good secret good film", ""], length=3)
    good, film = vocabulary.ids["good"], vocabulary.ids["film"]
    expected = [[good, film, PADDING], [good, UNKNOWN, good], [UNKNOWN, PADDING, PADDING]]
    assert encoded.tokens.tolist() == expected
    assert encoded.lengths.tolist() == [2, 3, 1]
    assert encoded.tokens.dtype == torch.int64
    assert torch.equal(lengths_of(encoded.tokens), encoded.lengths)


def test_private_texts_leave_the_vocabulary_as_it_was():
    vocabulary = Vocabulary.of(["good film"])
    before = vocabulary.words
    vocabulary.encode(["private secret"] * 3, length=2)
    assert vocabulary.words == before
    assert not {"private", "secret"} & set(vocabulary.words)


def test_blocks_do_not_show(monkeypatch):
    texts = [f"w{i % 7} w{i % 3}" * (i % 4) for i in range(23)]
    vocabulary = Vocabulary.of(texts)
    whole = vocabulary.encode(texts, length=4)
    monkeypatch.setattr(text, "BLOCK", 5)
    pieces = vocabulary.encode(iter(texts), length=4)
    assert torch.equal(whole.tokens, pieces.tokens)
    assert torch.equal(whole.lengths, pieces.lengths)


def test_no_texts_give_no_rows():
    encoded = Vocabulary.of(["a"]).encode([], length=4)
    assert encoded.tokens.shape == (0, 4)
    assert encoded.lengths.shape == (0,)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Vocabulary.of([]), "needs public texts"),
        (lambda: Vocabulary.of(["<br />"]), "needs public texts"),
        (lambda: Vocabulary.of(["a"], size=2), "no room for words"),
        (lambda: Vocabulary.of(["a"]).encode(["a"], length=0), "length must be at least 1"),
    ],
    ids=["none", "empty", "small", "length"],
)
def test_what_cannot_be_is_refused_in_one_line(call, said):
    with pytest.raises(ValueError, match=said) as error:
        call()
    assert "\n" not in str(error.value)
