# Every target that needs an environment makes it: .venv, from the lock files in requirements/.
# PYTHON=... names the interpreter when .venv is made; ARGS=... is handed to pytest.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory
export PYTHON
# Otherwise each process that a test starts compiles what it imports anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
RUN := .venv/.installed-run
DEV := .venv/.installed-dev
SPARK := .spark/.installed
# With extras: pip before 24 takes a package that only others ask extras of for one without a pin, once a newer release exists.
RESOLVE := uv pip compile --quiet --universal --python-version 3.11 \
	--fork-strategy fewest --no-strip-extras --generate-hashes --no-emit-index-url --no-emit-find-links \
	--custom-compile-command 'make lock'
LOCK := $(RESOLVE) pyproject.toml --group build
PARALLEL := -n auto --dist worksteal
GATES := format-check lint docs types test

.PHONY: help generated house demo test test-slow test-spark test-lowest coverage mutants window papers check format-check lint types docs format bundle lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-13s%s\n", $$1, $$2}' Makefile

demo: $(RUN) ## Train and audit two models, write glassine-demo/
	@$(BIN)/glassine demo --overwrite

# Tests share the cores of the machine; ARGS="-n 0" runs them in one process, for a debugger.
test: $(DEV) ## Run the tests and doctests
	@$(BIN)/python -m pytest $(PARALLEL) $(ARGS)

test-slow: $(DEV) ## Run the tests that are slow, need the data sets or a browser
	@$(BIN)/python -m pytest $(PARALLEL) -m "slow or data or browser" $(ARGS)

# Spark is 400 MB and needs Java: it has an environment of its own, which sees all of .venv.
test-spark: $(DEV) $(SPARK) ## Run the tests on a local Spark (needs Java 17 or newer)
	@command -v java >/dev/null || { echo "make test-spark needs Java: apt-get install default-jre-headless" >&2; exit 1; }
	@.spark/bin/python -m pytest -m spark $$(grep -rlF --include='test_*.py' pytest.mark.spark tests) $(ARGS)

test-lowest: ## Run the fast rooms on the lowest dependencies that pyproject allows (needs uv)
	@requirements/lowest.sh $(ARGS)

coverage: $(DEV) ## Run the tests and measure their coverage
	@$(BIN)/python -m pytest --cov --cov-report=term $(ARGS)

# ARGS="--only scrubbing/scrub.py" tries the changes of one module.
mutants: $(DEV) ## Change the code in 102 places and print what no test notices
	@$(BIN)/python benchmarks/mutants.py $(ARGS)

# WINDOW=DIR names a frozen window, BASE=COMMIT a commit to draw; ARGS="--only audit --workers 2" is handed on.
window: $(DEV) ## Compare what the package shows with an earlier commit
	@$(BIN)/python benchmarks/window.py $(if $(WINDOW),compare $(WINDOW),base $(BASE)) $(ARGS)

# GLASSINE_DATA names the data folder; ARGS="--judge" measures nothing and judges the stored results.
papers: $(DEV) ## Repeat the five papers' experiments and rewrite their tables (hours)
	@$(BIN)/python papers/run_all.py $(ARGS)

# Types are checked beside the other gates: each is one process.
check: $(DEV) ## Run every gate: format, lint, types, docs, tests
	@failed=; said=$$(mktemp); \
	$(MAKE) types >"$$said" 2>&1 & types=$$!; \
	for gate in $(GATES); do \
		echo "== $$gate"; \
		if [ $$gate != types ]; then $(MAKE) $$gate; else wait $$types; types=$$?; cat "$$said"; rm "$$said"; (exit $$types); fi \
			|| failed="$$failed $$gate"; \
	done; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed" >&2; exit 1; fi; \
	echo "All gates passed."

format-check: $(DEV)
	@$(BIN)/ruff format --check --quiet --diff .

lint: $(DEV)
	@$(BIN)/ruff check --quiet .

types: $(DEV)
	@$(BIN)/mypy

docs: $(DEV) ## Build the documentation, strictly, into docs/_build/html
	@$(BIN)/python -m sphinx -b html -W -n -E --keep-going -q docs docs/_build/html

generated: $(DEV) ## Write the parts of reference pages that are made from the code
	@$(BIN)/python -m docs.generated

house: $(DEV) ## Print the figures of the house: rooms, arrows, circles, names, sizes, flows
	@$(BIN)/python benchmarks/house.py $(ARGS)
	@$(BIN)/python benchmarks/traced.py

format: $(DEV) ## Format the code and apply safe lint fixes
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format --quiet .

# OUT names the folder, ARGS="--extras server,plots" what else is in it.
bundle: $(DEV) ## Write a folder from which Glassine is installed without a network
	@$(BIN)/python requirements/bundle.py $(or $(OUT),glassine-bundle) $(ARGS)

lock: ## Resolve the dependencies anew (needs uv)
	@command -v uv >/dev/null || { echo "make lock needs uv on PATH: python3 -m pip install uv" >&2; exit 1; }
	@$(LOCK) $(ARGS) --output-file requirements/run.txt >/dev/null
	@$(LOCK) $(ARGS) --extra dev --constraint requirements/run.txt --output-file requirements/dev.txt >/dev/null
	@$(RESOLVE) requirements/spark.in $(ARGS) --constraint requirements/dev.txt --output-file requirements/spark.txt >/dev/null

clean: ## Remove everything that make has made
	@rm -rf .venv .spark docs/_build glassine-demo glassine-bundle build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	@find src tests docs -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so that an interrupted installation leaves none.
$(RUN): requirements/run.txt pyproject.toml
	@rm -f $@
	@requirements/install.sh requirements/run.txt
	@touch $@

# dev.txt holds all of run.txt.
$(DEV): requirements/dev.txt pyproject.toml
	@rm -f $@
	@requirements/install.sh requirements/dev.txt
	@touch $(RUN) $@

# Made anew with .venv, whose interpreter it has, but not with what is installed there.
$(SPARK): requirements/spark.txt requirements/spark.sh $(wildcard .venv/.made) | $(DEV)
	@rm -f $@
	@requirements/spark.sh
	@touch $@
