"""LSTMs on reviews, sampled in blocks that `ulira_reviews` and `flipped_labels` share.

`corpus.py` reads and numbers the texts, `search.py` chooses on public data what the paper does not
name, `models.py` samples a block and keeps its scores, `slices.py` runs blocks until time is up, on
a CPU several at once (`processes.py`). Blocks are kept in results/ under a digest of what they are
a function of: a later run adds to them.
"""
