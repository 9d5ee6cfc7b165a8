"""Markov kernels, one in each file: learning, unlearning and retraining are the same step."""
