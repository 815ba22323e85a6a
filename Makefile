# Two commands do everything: `make demo` and `make test`. Each creates .venv
# when it is missing and installs the exact versions of constraints.txt.

PYTHON ?= python3.11
BIN := .venv/bin
# No start-up chatter of TensorFlow.
export TF_CPP_MIN_LOG_LEVEL ?= 3
# Constraints also reach the isolated build environment of pip.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test coverage lint site lock clean

help:  ## Lists the targets.
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 10

.venv/installed: setup.py pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is needed: \
	install it, or name one with 'make PYTHON=/path/to/python3.11 ...'."; \
	exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@

# The same command again shows what is there and runs what is missing.
demo: .venv/installed  ## Policy, log, estimators and a report on catch.
	$(BIN)/dfiv-ope sweep docs/examples/demo.yaml --out build/demo/runs
	$(BIN)/dfiv-ope report build/demo/runs --out build/demo/report
	@echo "LSTD-Q, KIV, DFIV and FQE said what a DQN policy is worth on catch \
	from its log alone: open build/demo/report/index.html. One seed: intervals \
	of DFIV and FQE leave out the training ('$(BIN)/dfiv-ope sweep \
	docs/examples/demo.yaml --seeds 3 --methods all --out build/demo/runs' adds \
	it, and the other estimators). Then try your own log with \
	'$(BIN)/dfiv-ope dataset import log.csv --out data/mine'." | tr -s '[:space:]' ' '
	@echo

# A file of tests stays with one worker: its fixtures are made once. Products
# of matrices take one thread each, so that workers do not wait for each other.
test: .venv/installed  ## Runs all tests, on two cores.
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

# All tests under a tracer, some half as long again; the last line is the share
# of lines that ran. `make coverage TESTS=tests/iv` measures a part.
coverage: .venv/installed  ## Runs all tests and says how many lines they run.
	rm -rf build/coverage && mkdir -p build/coverage
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage run \
	  -m pytest -n 2 --dist loadfile $(TESTS)
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

# mypy knows the mapped packages only where they lie inside dfiv_ope.
lint: .venv/installed  ## Checks style (ruff) and types (mypy).
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	rm -rf build/typed && mkdir -p build/typed
	cp -r dfiv_ope build/typed/
	cp -r agents envs datasets launch build/typed/dfiv_ope/
	cd build/typed && ../../$(BIN)/mypy --config-file ../../pyproject.toml \
	  -p dfiv_ope

# The site is files: nothing is fetched when a page is read. Its search asks a
# server for its index, which `python -m http.server` is.
site: .venv/installed  ## Builds the documentation, warnings as errors.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "build/site/index.html is there; to search in it: \
	'$(BIN)/python -m http.server -d build/site'" | tr -s '[:space:]' ' '
	@echo

lock:  ## Rewrites constraints.txt from a new resolution of all extras.
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	PIP_CONSTRAINT= build/lock/bin/pip install --quiet \
	  '.[test,cluster,formats,gym,control]'
	build/lock/bin/pip freeze --all --exclude dfiv-ope > constraints.txt

clean:  ## Removes everything the targets made.
	rm -rf .venv build *.egg-info
