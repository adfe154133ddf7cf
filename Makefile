# For newcomers: `make demo`, `make test-core` and `make test`. All create .venv with pip.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-core lint clean

demo: $(VENV)/.demo
	$(BIN)/firth differences "The deadline is October 15th." "The deadline is October 16th."
	$(BIN)/firth build demo:speeches --run runs/demo
	$(BIN)/firth search "old people should not be poor" --run runs/demo --top 2
	$(BIN)/firth duplicates --run runs/demo --top 1
	$(BIN)/firth calibrate --run runs/demo --false-match-rate 0.01
	$(BIN)/firth explain "We must cut taxes for working families." \
	  "Lower taxes would help people who work." --run runs/demo
	$(BIN)/firth report --run runs/demo --out runs/demo.html --force

# With COVERAGE=1 it prints which lines no test runs.
test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal $(if $(COVERAGE),--cov firth --cov-report term:skip-covered)

# The tests of the core that need neither PyTorch nor an extra, for a first change.
test-core: $(VENV)/.core
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/text tests/run tests/scorer tests/model

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) -e '.[encoder]'
	touch $@

$(VENV)/.core: $(VENV)/.demo
	$(PIP) -e '.[core-test]'
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	@echo "Installing everything that the tests need, PyTorch and Ray among it: about 2.2 GB. The core alone: make test-core"
	$(PIP:--quiet=--progress-bar on) -e '.[dev]'
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) build dist src/firth.egg-info .pytest_cache .mypy_cache .ruff_cache
