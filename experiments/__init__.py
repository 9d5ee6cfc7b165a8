"""One folder per claim: settings.py, run.py -> JSON, report.py -> figures and tables.

    python -m experiments list
    python -m experiments run required_noise --scale paper
    python -m experiments report required_noise

`run` writes results/SCALE.json with settings, commit and versions; `report` draws from that
JSON only. The library imports nothing of this package.
"""
