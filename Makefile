# `make demo` shows Crucible at work; `make test` proves it in minutes, `make test-all` with every slow test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test test-all lint types pytest pytest-all selfcheck bench docs lock clean

demo: $(VENV)/.ready  ## rehearse asd-vs-baseline and print the comparison
	$(BIN)/crucible run asd-vs-baseline --rehearse --blocks 2

test: lint types pytest  ## lint, types and the fast tests

test-all: lint types pytest-all  ## lint, types and every test, the slow ones too

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

pytest: $(VENV)/.ready
	$(BIN)/python -m pytest -q -n 2 -m "not slow" --hypothesis-profile=quick

pytest-all: export CRUCIBLE_SCREENSHOTS ?= $(CURDIR)/results/screenshots
pytest-all: $(VENV)/.ready  ## pictures of every page, at two widths and in both themes, are kept in results/screenshots
	$(BIN)/python -m pytest -q -n 2

selfcheck: $(VENV)/.ready  ## simulated experiments with a known truth, through store, decision and report (half an hour of CPU)
	$(BIN)/python -m tests.selfcheck

bench: $(VENV)/.ready  ## measure; prints ratios, asserts nothing
	$(BIN)/python benchmarks/reset.py
	$(BIN)/python benchmarks/attempt.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/leaderboard.py
	$(BIN)/python benchmarks/decision.py
	$(BIN)/python benchmarks/similarity.py
	$(BIN)/python benchmarks/confirm.py
	$(BIN)/python benchmarks/trajectory.py
	$(BIN)/python benchmarks/ui.py
	$(BIN)/python benchmarks/tool_servers.py
	$(BIN)/python benchmarks/proxy.py

docs: $(VENV)/.ready  ## write the generated pages
	$(BIN)/python -m crucible.scenario.docs
	$(BIN)/crucible selftest --markdown docs/security.md

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Crucible needs Python 3.11 or newer; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
ifneq ($(UV),)
	$(UV) venv --quiet --clear --python "$$(command -v $(PYTHON))" $(VENV)
	$(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
else
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
endif
	touch $@

lock:  ## pin every dependency anew
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --upgrade -q -o requirements.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
