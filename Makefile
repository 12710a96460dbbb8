# make demo    see it work: installs into .venv and runs the sample
# make test    everything that CI runs
# make check   the inner loop: lint, types, layers, unit tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEBIAN := strace tmux faketime chromium
JOBS ?= 3

.PHONY: demo check lint test test-full bench pictures reference docs packages claude clean

demo: $(VENV)/installed
	@$(BIN)/ostler demo

check: lint
	$(BIN)/pytest tests/unit -n $(JOBS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

# With real processes, clocks and disks a busy machine can be in the way once: a test that fails gets a second
# try, and the closing lines name it. One that fails twice fails; one that is named there is to be mended.
test: packages claude lint
	$(BIN)/pytest -n $(JOBS) --dist worksteal --reruns 1 -rR

test-full: packages claude lint
	OSTLER_FULL=1 $(BIN)/pytest -n $(JOBS) --dist worksteal --timeout 1800

bench: $(VENV)/installed-dev
	$(BIN)/python bench/run.py

pictures: $(VENV)/installed-dev
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/diagram.py

reference: $(VENV)/installed-dev
	$(BIN)/python docs/reference.py

docs: reference
	$(BIN)/zensical build --strict -f mkdocs.yml

# Debian packages that some tests use; installed where that is possible.
packages: $(VENV)/installed-dev
	@missing=""; for tool in $(DEBIAN); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && apt-get install -y -qq $$missing >/dev/null; fi

# The real claude, which the tests drive: one copy, about 366 MB, in the user's cache directory.
claude: $(VENV)/installed-dev
	@$(BIN)/python tests/fetch_claude.py

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml $(VENV)/bin/python
	@$(BIN)/pip install -q --disable-pip-version-check -e . && touch $@

$(VENV)/installed-dev: pyproject.toml $(VENV)/bin/python
	@$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]' && touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV)
