"""Small files in the layouts that the sets are published in."""

import lzma

import numpy as np
from PIL import Image

CLASSES = ["dog", "cat"]
DOMAINS = ["art_painting", "cartoon", "photo", "sketch"]
CATEGORIES = ["any", "books", "dvd", "electronics", "kitchen", "video"]


def pacs(folder):
    """Row i has every feature equal to i; domains in turn."""
    (folder / "pacs").mkdir(parents=True)
    number = np.arange(16)
    np.savez(
        folder / "pacs/pacs_effnetlite0_rp384.npz",
        x=np.repeat(number[:, None], 3, axis=1).astype(np.float16),
        y=(number // 4 % 2).astype(np.uint8),
        domain=(number % 4).astype(np.uint8),
        is_test=number >= 12,
        class_names=np.array(CLASSES),
        domain_names=np.array(DOMAINS),
    )
    return folder


def minilm(folder):
    (folder / "text_minilm").mkdir(parents=True)
    number = np.arange(12)
    shared = {"x": np.ones((12, 4), np.float16), "y": (number % 2).astype(np.uint8)}
    np.savez(
        folder / "text_minilm/imdb_minilm384.npz",
        **shared,
        is_test=number >= 8,
        movie=np.array([f"tt{i // 3:07}" for i in number]),
    )
    np.savez(
        folder / "text_minilm/amazon_minilm384.npz",
        **shared,
        category=(number // 2).astype(np.uint8),
        category_names=np.array(CATEGORIES),
    )
    return folder


def reviews(folder, ending=".xz"):
    """The shared CSV files."""
    for name, header, lines in (
        ("imdb/imdb_train", "id,label,rating,movie,text", ["0,0,3,tt1,bad film", "0,1,9,tt2,good"]),
        ("imdb/imdb_test", "id,label,rating,movie,text", ['7,1,8,tt3,"fine, really"']),
        ("amazon/amazon_reviews", "source,category,id,label,text", ["hatn,dvd,0,1,nice"] * 2),
    ):
        path = folder / f"{name}.csv{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = "\n".join([header, *lines, ""]).encode()
        path.write_bytes(lzma.compress(content) if ending else content)
    return folder


def acl_imdb(folder, each=2):
    for part in ("train", "test"):
        for name in ("neg", "pos"):
            place = folder / "aclImdb" / part / name
            place.mkdir(parents=True)
            for number in range(each):
                text = f"{part} {name} {number}<br />caf\u00e9"
                (place / f"{number}_{9 if name == 'pos' else 2}.txt").write_text(text, "utf-8")
            lines = [f"http://www.imdb.com/title/tt{i:07}/usercomments" for i in range(each)]
            (place.parent / f"urls_{name}.txt").write_text("\n".join(lines))
    return folder


def polarity(folder, lines=('"2","Great","It\\nworks ""well"""', '"1","Bad","No"')):
    (folder / "amazon_review_polarity_csv").mkdir(parents=True)
    content = "".join(f"{line}\n" for line in lines)
    (folder / "amazon_review_polarity_csv/train.csv").write_text(content, "utf-8")
    return folder


def domainnet(folder, domains=("quickdraw", "clipart"), lists="", each=3):
    """Images of each of three classes, a third of them for testing."""
    root = folder / "DomainNet"
    (root / lists).mkdir(parents=True)
    for shade, domain in enumerate(domains):
        lines = {"train": [], "test": []}
        for label, name in enumerate(("The_Eiffel_Tower", "aircraft_carrier", "teddy-bear")):
            (root / domain / name).mkdir(parents=True)
            for number in range(each):
                path = f"{domain}/{name}/{domain}_{label:03}_{number:06}.jpg"
                colour = (80 * label, 80 * number % 256, 100 * shade)
                Image.new("RGB", (20 + label, 16), colour).save(root / path)
                lines["test" if number >= each - each // 3 else "train"].append(f"{path} {label}")
        for part, listed in lines.items():
            (root / lists / f"{domain}_{part}.txt").write_text("\n".join(listed) + "\n")
    return folder
