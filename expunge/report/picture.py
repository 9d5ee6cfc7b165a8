"""A figure as the bytes of a file."""

import io

from matplotlib.figure import Figure

__all__ = ["encode"]


def encode(figure: Figure, kind: str) -> bytes:
    """Return a figure as the bytes of a file.

    Equal figures make equal png files: no version is written.

    Args:
        kind: png, svg or pdf.
    """
    buffer = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {}
    figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()
