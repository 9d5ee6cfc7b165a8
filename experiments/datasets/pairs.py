"""Pairs of a public and a private set, by name.

    pair = load_pair("sketch/cartoon")      # public/private, from EXPUNGE_DATA
    pair.public.features, pair.private.train.features, pair.private.test.targets

Names ending in "text" hold texts, all others rows of numbers. Where a pair stands for one of the
paper's, `stands_for` says so, and every table made from it must.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from experiments.datasets.digits import mnist16, shifted_digits, usps
from experiments.datasets.domainnet import domainnet
from experiments.datasets.embeddings import Embedder, embedded_images, named_embedder
from experiments.datasets.files import BadData, data_folder
from experiments.datasets.minilm import amazon_minilm, imdb_minilm
from experiments.datasets.own import declared_pair
from experiments.datasets.pacs import pacs
from experiments.datasets.records import Alignment, Pair
from experiments.datasets.reviews import amazon, closing, imdb

__all__ = ["PAIRS", "domainnet_pair", "load_pair"]

CLOSING = 100  # words of a review's end
QUICKDRAW, INFOGRAPH = "DomainNet Quickdraw / Clipart", "DomainNet Infograph / Real"
AMAZON = "50,000 Amazon reviews / IMDB"
REVIEWS: dict[str | None, Alignment] = {
    "dvd": "aligned",
    "video": "aligned",
    "kitchen": "misaligned",
    "electronics": "misaligned",
}


def load_pair(name: str, folder: Path | None = None) -> Pair:
    """Public and private records.

    Args:
        folder: The environment variable EXPUNGE_DATA if None; the embedded digits need none.

    Raises:
        DataMissing: a file that is not there, with the layout expected.
        BadData: a name that is not in `PAIRS`, or a file that is not what its name says.
    """
    if (own := declared_pair(name)) is not None:
        return own
    if name not in PAIRS:
        raise BadData(f"no pair {name!r}; there are {', '.join(PAIRS)}")
    return PAIRS[name](folder)


def domainnet_pair(
    public: str, private: str, folder: Path | None = None, embed: Embedder | None = None
) -> Pair:
    """The paper's own pairs, embedded; what was computed is kept beside the images.

    Args:
        embed: What the environment names (EXPUNGE_EMBEDDER=module:object) if None, timm's DINO if
            it names nothing.
    """
    place = data_folder(folder, "DomainNet")
    embed = embed or named_embedder()
    first, second = (
        embedded_images(domainnet(one, place), place / "embeddings", embed)
        for one in (public, private)
    )
    return Pair(f"{public}/{private}", first, second)


def _pacs(
    public: str, private: str, stands_for: str, alignment: Alignment, folder: Path | None
) -> Pair:
    sets = pacs(public, folder), pacs(private, folder)
    return Pair(f"{public}/{private}", *sets, stands_for, alignment)


def _reviews(category: str | None, folder: Path | None) -> Pair:
    name = f"{category or 'amazon'}/imdb"
    sets = amazon_minilm(category, folder), imdb_minilm(folder)
    return Pair(name, *sets, AMAZON, REVIEWS.get(category, ""))


def _text(folder: Path | None) -> Pair:
    public = amazon(folder)
    stands_for = "" if public.source == "Amazon review polarity" else AMAZON
    return Pair("amazon/imdb text", public, imdb(folder), stands_for)


def _closing_text(folder: Path | None) -> Pair:
    pair = _text(folder)
    sets = closing(pair.public, CLOSING), closing(pair.private, CLOSING)
    return Pair("amazon/imdb closing text", *sets, pair.stands_for)


def _digits(moved: int, _: Path | None) -> Pair:
    return shifted_digits(moved)  # type: ignore[arg-type]


PAIRS: dict[str, Callable[[Path | None], Pair]] = {
    "sketch/cartoon": partial(_pacs, "sketch", "cartoon", QUICKDRAW, "misaligned"),
    "art_painting/photo": partial(_pacs, "art_painting", "photo", INFOGRAPH, "aligned"),
    "photo/art_painting": partial(_pacs, "photo", "art_painting", "", ""),
    **{
        f"{category or 'amazon'}/imdb": partial(_reviews, category)
        for category in (None, "dvd", "video", "kitchen", "electronics", "books", "any")
    },
    "amazon/imdb text": _text,
    "amazon/imdb closing text": _closing_text,
    "mnist/usps": lambda folder: Pair("mnist/usps", mnist16(folder), usps(folder)),
    "usps/mnist": lambda folder: Pair("usps/mnist", usps(folder), mnist16(folder)),
    **{f"digits+{moved}/digits": partial(_digits, moved) for moved in (0, 1, 2)},
    "quickdraw/clipart": partial(domainnet_pair, "quickdraw", "clipart"),
    "infograph/real": partial(domainnet_pair, "infograph", "real"),
}
