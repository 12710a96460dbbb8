# make demo          see it work: installs into .venv and runs the sample
# make cluster-demo  the same on three workers with real servers, one of which is killed
# make check         the inner loop: lint, types, layers, unit tests
# make test          what CI runs for each commit
# make test-full     the same with every boundary, every real agent, every page and more examples
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A command, and after a colon its package where that has another name.
DEBIAN := strace tmux faketime chromium bwrap:bubblewrap node:nodejs npm
JOBS ?= 4
TIMEOUT ?= 300
# With compiled tests each worker of pytest starts in half the time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo cluster-demo check unit lint suite test test-full mutants bench growth peers pictures reference docs packages claude clean

demo: $(VENV)/installed
	@$(BIN)/ostler demo

# ARGS="--tasks 10" runs fewer tasks.
cluster-demo: $(VENV)/installed-dev
	@PYTHONPATH=tests $(BIN)/python deploy/demo $(ARGS)

# The linters and the tests run at the same time; where make can, each shows its output as one block.
check: $(VENV)/installed-dev
	@$(MAKE) -j2 --no-print-directory $(if $(filter output-sync,$(.FEATURES)),--output-sync) lint unit

unit:
	$(BIN)/pytest tests/unit -n $(JOBS) --dist worksteal

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/basedpyright

test: packages claude
	@$(MAKE) -j2 --no-print-directory lint suite

test-full: packages claude $(VENV)/installed-full
	@OSTLER_FULL=1 $(MAKE) -j2 --no-print-directory lint suite TIMEOUT=1800

suite: $(VENV)/compiled-tests
	$(BIN)/pytest -n $(JOBS) --dist worksteal --timeout $(TIMEOUT)

# Compiles the tests once; each worker of pytest would compile all of them.
$(VENV)/compiled-tests: $(VENV)/installed-dev $(shell find tests -name '*.py')
	@$(BIN)/pytest --collect-only >/dev/null; touch $@

# Checks that the tests detect each mutant of tests/mutants/table/; NAMES="..." runs only those.
mutants: $(VENV)/installed-dev
	PYTHONPATH=tests $(BIN)/python -m mutants $(NAMES)

bench: $(VENV)/installed-dev
	$(BIN)/python bench/run.py $(NAMES)

# Measures how Ostler grows and writes docs/performance.md; NAMES="tasks files" measures only those again.
growth: $(VENV)/installed-dev
	cd bench && ../$(BIN)/python -m growth $(NAMES)

# Runs other orchestrators with the same agent, installed into the user's cache directory, and writes
# bench/PEERS.md and the table of docs/comparison.md; NAMES="ralph-tui Bernstein" measures only those again.
peers: $(VENV)/installed-dev
	cd bench && ../$(BIN)/python -m peers $(NAMES)

pictures: $(VENV)/installed-dev
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/diagram.py

reference: $(VENV)/installed-dev
	$(BIN)/python docs/reference.py

docs: reference
	$(BIN)/zensical build --strict -f mkdocs.yml

# Debian packages that some tests use; installed where that is possible.
packages: $(VENV)/installed-dev
	@missing=""; for tool in $(DEBIAN); do command -v $${tool%%:*} >/dev/null || missing="$$missing $${tool##*:}"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; fi

# The real claude, which the tests drive: one copy, about 366 MB, in the user's cache directory.
claude: $(VENV)/installed-dev
	@$(BIN)/python tests/support/fetch_claude.py

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml $(VENV)/bin/python
	@$(BIN)/pip install -q --disable-pip-version-check -e . && touch $@

$(VENV)/installed-dev: pyproject.toml $(VENV)/bin/python
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]' && touch $@ $(VENV)/installed

$(VENV)/installed-full: pyproject.toml $(VENV)/installed-dev
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[full]' && touch $@

clean:
	rm -rf $(VENV)
