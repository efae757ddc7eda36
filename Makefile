# Everything runs from .venv, which the first target that needs it makes. No root, nothing outside this folder.
#     make demo        see it work          make test         what must pass before every push (a few minutes)
#     make demo ISOLATION=container   inside Docker, where the default `namespace` cannot be had
#     make bench       measure it           make test-slow    the rest: attacks, interruptions, whole classes
# Another Python:  make PYTHON=/path/to/python3.11 demo

PYTHON ?= python3
ISOLATION ?= namespace
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt
READY := .venv/.ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help venv demo format lint test test-slow bench clean

help: # the comment lines at the top are the help
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

venv: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "grader needs Python 3.11 or newer, and \`$(PYTHON)\` is not. Try: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "\`$(PYTHON)\` cannot make virtual environments: its \`ensurepip\` is missing. On Debian and Ubuntu it comes with" \
	    "\`apt install python3-venv\`; without root, use a Python that has it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "· making .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "· installing torch (the largest part by far; it may take minutes)"
	@$(PIP) "$$(grep '^torch==' constraints.txt)"
	@echo "· installing the grader and its tools"
	@$(PIP) --editable '.[instructor,dev]'
	@touch $@

demo: $(READY)
	@$(BIN)/python -m tests.demo $(ISOLATION)

format: $(READY)
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format

lint: $(READY)
	@echo "· ruff" && $(BIN)/ruff check && $(BIN)/ruff format --check
	@echo "· mypy" && $(BIN)/mypy
	@echo "· import-linter" && $(BIN)/lint-imports --no-logo

test: lint
	@echo "· pytest, without what is marked slow"
	@$(BIN)/coverage run -m pytest -m "not slow"
	@$(BIN)/coverage report

test-slow: $(READY)
	@echo "· pytest, only what is marked slow"
	@$(BIN)/python -m pytest -m slow || test $$? -eq 5 # 5: nothing is marked slow

bench: $(READY)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist *.egg-info .coverage .coverage.* .hypothesis .import_linter_cache
	rm -rf .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
