"""Data sets that experiments read: from a folder that the user names, never from this repository.

    EXPUNGE_DATA=/path/to/data python -m experiments run frontier --scale paper

    load_pair("sketch/cartoon")     a public and a private set, by name (`pairs.py`)

Smoke scales use what scikit-learn embeds, through the same interface. Sources, terms and layouts:
docs/data.md.
"""

from experiments.datasets.files import BadData, DataMissing
from experiments.datasets.mnist import Digits, load
from experiments.datasets.pairs import PAIRS, load_pair
from experiments.datasets.records import DataSet, Pair

__all__ = ["PAIRS", "BadData", "DataMissing", "DataSet", "Digits", "Pair", "load", "load_pair"]
