"""Certified machine unlearning.

Importing `expunge` is cheap: `expunge.accounting` never imports torch.
"""

__version__ = "0.1.0.dev0"
