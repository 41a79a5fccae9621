# What a contributor runs. Everything is installed into .venv, from a Python 3.11+ and nothing else.

PYTHON ?= python3
PIP_ARGS ?=
BIN := .venv/bin
INSTALLED := .venv/installed
MAKEFLAGS += --no-print-directory

NEED_PYTHON := 'import sys; sys.exit(sys.version_info < (3, 11) and \
	"transom needs Python 3.11 or newer; name one: make PYTHON=python3.12")'

.PHONY: demo test check format bench clean

# From nothing to a model that reads dates in many languages (about 4 minutes on 2 cores).
# The folder runs/demo is its own: what an earlier demo left there is replaced.
demo: $(INSTALLED)
	$(BIN)/transom build blueprints/dates.yaml
	$(BIN)/transom train blueprints/dates.yaml --out runs/demo --overwrite
	$(BIN)/transom export runs/demo
	$(BIN)/transom evaluate runs/demo/dates.onnx
	$(BIN)/transom run runs/demo/dates.onnx "le 3 mars 2021" "3. marts 1999" "Friday, March 5, 2027"

# One thread for each of two processes is quicker than two threads for one: the models are small.
test: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# make bench NAME=startup; NAME, ARGS and DATA are explained in benchmarks/README.md
bench: $(INSTALLED)
	@test -f "benchmarks/$(NAME).py" || { \
		echo "usage: make bench NAME=… [ARGS=…] [DATA=…]; benchmarks/README.md lists the names" >&2; exit 2; }
	@DATA="$(DATA)" $(BIN)/python "benchmarks/$(NAME).py" $(ARGS)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c $(NEED_PYTHON)
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install $(PIP_ARGS) -c constraints.txt -e ".[dev]"
	@touch $@
