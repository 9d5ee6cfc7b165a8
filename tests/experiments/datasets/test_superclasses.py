"""The paper's table of 24 superclasses. Paper: its appendix, "Class aggregation"."""

from experiments.datasets.superclasses import SUPERCLASSES


def test_every_class_of_domainnet_is_in_one_superclass():
    names = [name for group in SUPERCLASSES.values() for name in group]
    assert len(SUPERCLASSES) == 24
    assert len(names) == len(set(names)) == 345
