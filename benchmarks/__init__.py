"""Speed and memory only: ratios measured side by side in one run.

python -m benchmarks [--json]
"""
