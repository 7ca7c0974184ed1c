# Everything a newcomer needs: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TREES := src tests papers benchmarks examples docs/*.py docs/stories noxfile.py
# Prepared data sets, when they lie beside the checkout; tests that need them are skipped elsewhere.
ifneq ($(wildcard ../shared/data),)
export LATENTBITS_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test warm coverage test-slow test-oldest test-peers papers bench bench-large lint docs release-check clean

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[demo]'
	touch $@

$(VENV)/.test: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet -e '.[bench]'
	touch $@

$(VENV)/.docs: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@

$(VENV)/.release: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet build twine
	touch $@

demo: $(VENV)/.demo
	$(BIN)/latentbits explore votes

# Kernels are compiled while the linters run, each once: tests that run side by side would compile them twice.
test: $(VENV)/.test
	$(MAKE) -j 2 lint warm
	$(BIN)/python -m pytest -n 2 --dist loadfile --durations=20 $(COVERAGE)

# The same with the floor for the share of lines that the tests run, as before every landing; a quarter slower on Python 3.11, a
# tenth on 3.13 (COVERAGE_CORE=sysmon).
coverage: COVERAGE = --cov --cov-report=term:skip-covered
coverage: test

warm: $(VENV)/.test
	$(BIN)/python -m tests.warm

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

# The oldest supported releases, in an environment of their own.
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --upgrade pip
	.venv-oldest/bin/python -m pip install --quiet -e . -r tests/oldest.txt
	.venv-oldest/bin/python -m pytest -q -n 2 --dist loadfile tests

# Our answers beside those of other packages, in an environment of their own (BERTopic without its language models).
test-peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade pip
	.venv-peers/bin/python -m pip install --quiet -e '.[test,peers]'
	.venv-peers/bin/python -m pip install --quiet --no-deps bertopic
	.venv-peers/bin/python -m pytest -q -m peers tests

papers: $(VENV)/.test
	$(BIN)/python -m papers.debd
	$(BIN)/python -m papers.debd.families
	$(BIN)/python -m papers.aspect --full
	$(BIN)/python -m papers.noisy_or --full
	$(BIN)/python -m papers.bayesian_mixture --full
	$(BIN)/python -m papers.gtm --full
	$(BIN)/python -m papers.bernoulli_gauss --full
	$(BIN)/python -m papers.explore --full

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.table
	$(BIN)/python -m benchmarks.precision
	$(BIN)/python -m benchmarks.first_use
	$(BIN)/python -m benchmarks.mixture
	$(BIN)/python -m benchmarks.aspect
	$(BIN)/python -m benchmarks.noisy_or
	$(BIN)/python -m benchmarks.gibbs
	$(BIN)/python -m benchmarks.gtm
	$(BIN)/python -m benchmarks.trees
	$(BIN)/python -m benchmarks.bernoulli_gauss
	$(BIN)/python -m benchmarks.explore
	$(BIN)/python -m benchmarks.imputers
	$(BIN)/python -m benchmarks.scale

bench-large: $(VENV)/.bench
	$(BIN)/python -m benchmarks.costs
	$(BIN)/python -m benchmarks.large

lint: $(VENV)/.test
	$(BIN)/ruff check $(TREES)
	$(BIN)/ruff format --check $(TREES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell $(TREES) docs *.md
	$(BIN)/rumdl check *.md docs papers benchmarks
	$(BIN)/oxlint --deny-warnings src/latentbits/report/files/js tests/js

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/links.py docs/_build/html

# Build what is released, install each file in an environment of its own, run the examples and the main job from it.
release-check: $(VENV)/.release
	$(BIN)/python tests/release.py

clean:
	rm -rf $(VENV) .venv-oldest build dist out docs/_build
