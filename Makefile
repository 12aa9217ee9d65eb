# Two commands on a fresh machine (Python 3.11+, make, git, a C compiler):  make demo   make test
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
STAMP := $(VENV)/.installed
KERNELS := $(wildcard src/tablecloak/solvers/kernels/*.pyx src/tablecloak/solvers/kernels/*.pxi)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
MINUTES ?= 10


.PHONY: demo test check bench fuzz format wheel clean

demo: $(RUNS)
	$(BIN)/tablecloak demo

# All tests with the floors of coverage; PYTEST_ARGS="-k exposure" runs some of them, without.
test: $(STAMP) $(RUNS)
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

bench: $(STAMP) $(RUNS)
	$(BIN)/python benchmarks/run.py

fuzz: $(STAMP) $(RUNS)
	$(BIN)/python benchmarks/reliability.py --minutes $(MINUTES)

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# dist/: a wheel for this Python and system, and the sources.
wheel: $(STAMP)
	$(BIN)/python -m build

# What running the demonstration needs; again when a kernel changed: an editable install does not notice that.
$(RUNS): pyproject.toml setup.py $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[excel,report]"
	touch $(RUNS)

# The tools of developers.
$(STAMP): pyproject.toml | $(RUNS)
	$(PIP) -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist src/tablecloak/solvers/kernels/compiled.c src/tablecloak/solvers/kernels/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
