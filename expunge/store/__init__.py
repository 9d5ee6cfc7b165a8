"""The one way in which fitted models lie on disk: linear models and networks alike; no torch.

seal = write(folder, Generation(kind, lineage, document, state, model, certificate, chunks))
saved = read(folder)                 # index and document; the rest is read when asked for
chunks = erase_rows(saved, "private", rows)   # for the next generation
"""

from expunge.store.chunks import NewChunk, erase_rows, pack, split, unpack
from expunge.store.erasing import NotErased, unerased_files
from expunge.store.index import Chunk, Index
from expunge.store.lineage import Lineage
from expunge.store.lock import Locked
from expunge.store.reading import (
    Saved,
    missing_files,
    read,
    read_handed_out,
    read_steadily,
)
from expunge.store.writing import Generation, settle, sole_writer, write

__all__ = [
    "Chunk",
    "Generation",
    "Index",
    "Lineage",
    "Locked",
    "NewChunk",
    "NotErased",
    "Saved",
    "erase_rows",
    "missing_files",
    "pack",
    "read",
    "read_handed_out",
    "read_steadily",
    "settle",
    "sole_writer",
    "split",
    "unerased_files",
    "unpack",
    "write",
]
