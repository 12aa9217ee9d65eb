# Two commands on a fresh machine (Python 3.11+, make, git):  make demo   make test
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
MINUTES ?= 10

.PHONY: demo test check bench fuzz format clean

demo: $(STAMP)
	$(BIN)/tablecloak demo

# All tests with the floors of coverage; PYTEST_ARGS="-k exposure" runs some of them, without.
test: $(STAMP)
ifeq ($(PYTEST_ARGS),)
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=json:.coverage.json
	$(BIN)/python tests/coverage_floors.py
else
	$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)
endif

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

fuzz: $(STAMP)
	$(BIN)/python benchmarks/reliability.py --minutes $(MINUTES)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
