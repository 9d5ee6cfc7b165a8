"""Tests and examples in the docs draw the same numbers in every run: `tests/repeatable.py`."""

pytest_plugins = ["tests.repeatable"]
