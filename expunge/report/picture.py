"""A figure as the bytes of a file, and other people's texts in it as they are."""

import io
import warnings

from matplotlib.figure import Figure

__all__ = ["encode", "plain"]

LONGEST = 24  # characters of a label


def plain(text: str, longest: int = LONGEST) -> str:
    """A label that is drawn as it is: no formula, nothing that cannot be printed, not too long.

    >>> plain("a" * 50) == "a" * 23 + "…", plain("tab\\there"), plain("$5")
    (True, 'tab here', '\\\\$5')
    """
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    shown = shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
    return shown.replace("$", "\\$")


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of a file.

    Equal figures make equal png files: no version is written. A character that the font lacks is
    drawn as a box.

    Args:
        kind: png, svg or pdf.
    """
    buffer = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph|Matplotlib|constrained_layout")
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()
