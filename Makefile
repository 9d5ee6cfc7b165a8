# The two commands: make demo, make test. Everything runs in .venv, which setup fills.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test slow lint docs smoke wheel mlflow schema sbom torture bench clean

setup: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed (PYTHON=python3.12 make ...)")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: setup  ## the main job on embedded data
	$(BIN)/expunge demo

test: setup  ## everything that is neither slow nor gpu, and the examples in the docs
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2  # a core for each worker
	$(BIN)/python -m pytest -q --doctest-modules --doctest-glob='*.md' expunge docs README.md

slow: setup  ## the statistical and long tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -m slow

lint: setup  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

docs: setup  ## warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

smoke: setup  ## every experiment at its smallest scale
	$(BIN)/python -m experiments run --all --scale smoke

wheel: setup  ## the built wheel in an environment of its own; PYTHON=python3.12 for another Python
	$(BIN)/python -m tests.wheel --python $(PYTHON) --pins constraints.txt

mlflow: setup  ## docs/mlflow.md against the real package, in an environment of its own; needs a network
	$(PYTHON) -m venv build/mlflow
	build/mlflow/bin/python -m pip install --quiet . pytest "$$(grep '^torch==' constraints.txt)" 'mlflow>=3'
	build/mlflow/bin/python -m pytest -q -W default --doctest-glob=mlflow.md docs/mlflow.md

schema: setup  ## after a change to the certificate
	$(BIN)/python -c 'from expunge.accounting.certificate import json_schema; print(json_schema(), end="")' > expunge/accounting/certificate.schema.json

sbom: setup  ## sbom.json, the bill of materials (CycloneDX), and known vulnerabilities; needs a network
	$(PYTHON) -m venv build/security
	build/security/bin/python -m pip install --quiet cyclonedx-bom pip-audit
	build/security/bin/cyclonedx-py environment --output-format JSON --output-file sbom.json $(BIN)/python
	$(BIN)/python -m pip freeze --exclude-editable > build/security/installed.txt
	build/security/bin/pip-audit --disable-pip --no-deps --requirement build/security/installed.txt

torture: setup  ## kills among processes that ask at once, bits flipped in every file; 40 minutes of a core
	$(BIN)/python -m tests.torture kills --again --count 500 --seed 0
	$(BIN)/python -m tests.torture.flips --again --count 3000 --seed 0
	$(BIN)/python -m tests.torture tables

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist docs/_build demo sbom.json
