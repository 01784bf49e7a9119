# Two commands on a fresh machine: `make demo` and `make test`. Both create .venv and reinstall only when
# pyproject.toml or constraints.txt changed.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PROJECT := pyproject.toml constraints.txt

.PHONY: demo test lint types check docs benchmarks clean

demo: .venv/installed-demo
	$(BIN)/gpmnet demo

test: lint types check

lint: .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/installed-test
	$(BIN)/mypy

# One thread a worker: two workers with two threads each would wait for one another most of the time.
check: .venv/installed-test
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# The site with its gallery, minutes; warnings are errors. Nothing is downloaded once the extra is installed.
docs: .venv/installed-docs
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html

benchmarks: .venv/installed-test
	$(BIN)/python benchmarks/encode.py

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/installed-demo: $(PROJECT) | $(BIN)/python
	$(PIP) -e .
	touch $@

.venv/installed-test: $(PROJECT) | $(BIN)/python
	$(PIP) -e '.[test,baselines]'
	touch $@ .venv/installed-demo

.venv/installed-docs: $(PROJECT) | $(BIN)/python
	$(PIP) -e '.[docs]'
	touch $@

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache docs/_build docs/_demo docs/gallery
