"""Unlearning of any `nn.Module`: certified heads, post-processing, exact retraining, baselines.

Modules are imported by name (`from expunge.unlearning.networks.head import Head`); the unlearner
itself is `expunge.unlearning.TorchUnlearner`.
"""
