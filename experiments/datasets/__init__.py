"""Data sets that experiments read: from a folder that the user names, never from this repository.

    EXPUNGE_DATA=/path/to/data python -m experiments run frontier --scale paper

Smoke scales use what scikit-learn embeds, through the same interface.
"""

from experiments.datasets.mnist import DataMissing, Digits, load

__all__ = ["DataMissing", "Digits", "load"]
