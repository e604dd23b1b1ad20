# The one list of dev verbs; CI and the README call these and nothing else.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

UV_VERSION := 0.13.8
TOOLS := .tools
UV := $(TOOLS)/bin/uv
VENV := .venv
PY := $(VENV)/bin/python
# Rebuilt when any of these changes.
NATIVE_SOURCES := $(shell find crates bindings .cargo -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml
# A caller's virtual environment must not be mistaken for ours.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME CONDA_PREFIX

.PHONY: help demo demo-text test test-rust test-python test-checked fuzz lint docs format bench prices setup setup-dev lock clean

help: ## this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

$(UV):
	@echo "== tools: uv $(UV_VERSION)"
	python3 -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(VENV)/.base: locks/base.txt | $(UV)
	@echo "== environment: $(VENV) from locks/base.txt"
	test -x $(PY) || $(UV) venv --quiet --python python3 $(VENV)
	$(UV) pip install --quiet --python $(PY) --require-hashes -r locks/base.txt
	touch $@

$(VENV)/.dev: locks/dev.txt $(VENV)/.base
	@echo "== environment: everything that tests need (torch included, a few minutes the first time)"
	$(UV) pip install --quiet --python $(PY) --require-hashes -r locks/dev.txt
	touch $@

$(VENV)/.native: $(NATIVE_SOURCES) $(VENV)/.base
	@echo "== native core: cargo build --release (a few minutes the first time)"
	PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" VIRTUAL_ENV=$(CURDIR)/$(VENV) $(VENV)/bin/maturin develop --release --uv --quiet
	touch $@

setup: $(VENV)/.native ## environment and native core, without torch

setup-dev: $(VENV)/.dev $(VENV)/.native ## the same with torch, test and lint tools

demo: setup ## private answers for real pictures, between two processes on this machine
	$(PY) scripts/demo.py

demo-compressed: setup ## the same by a compressed model, the uncompressed one beside it; two tokens that tie can make it fail
	$(PY) scripts/demo.py --model demo/model-compressed --beside demo/model

demo-text: setup ## private answers for real sentences of movie reviews, the same way
	$(PY) scripts/demo_text.py

test: test-rust test-python ## every test

test-rust: ## the native core's tests
	cargo test --release --workspace --exclude degreespar-native --quiet

test-python: setup-dev ## the package's tests, slow end-to-end cases last
	$(PY) -m pytest

test-checked: ## the native core's tests with overflow checks, and every attack on every message (minutes)
	HOSTILE_ATTACKS=all cargo test --profile checked --workspace --exclude degreespar-native --quiet

SECONDS := 60
fuzz: setup-dev ## coverage-guided fuzzing of every reader, SECONDS=60 each; needs a C++ compiler
	scripts/fuzz.sh $(SECONDS)
	$(PY) -m pytest --hypothesis-profile=fuzz -p no:cacheprovider --timeout=0 tests/hostile

lint: setup-dev ## formatters, linters, type checker, import contracts; nothing is changed
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m mypy.stubtest degreespar._native --mypy-config-file pyproject.toml
	$(VENV)/bin/lint-imports
	$(PY) scripts/render_docs.py --check

docs: setup ## renders the figures of README.md and docs/ from results/
	$(PY) scripts/render_docs.py

format: setup-dev ## rewrites sources in the house format
	cargo fmt --all
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

BENCH := $(PY) -m degreespar.cli.main bench
PRICES := .bench/prices.json
# A quarter of an hour on two quiet cores; LAN and WAN2 are emulated at the IP layer, which needs root.
bench: setup ## measures everything that docs/targets.md shows on this machine, and renders it (about 15 minutes, root)
	mkdir -p $(dir $(PRICES))
	$(BENCH) engine
	$(BENCH) ot
	$(PY) -m degreespar.cli.main price --row --out $(PRICES)
	$(BENCH) layer --geometry vit-s --peer spu --prices $(PRICES)
	$(BENCH) layer --geometry vit-s --network lan --prices $(PRICES)
	$(BENCH) layer --geometry vit-s --network wan2 --prices $(PRICES)
	$(BENCH) model --geometry vit-s --prices $(PRICES)
	$(BENCH) model --geometry vit-b --layers 3 --prices $(PRICES)
	$(BENCH) selection --network wan2
	$(PY) scripts/render_docs.py

prices: setup ## measures the price table that comes with the package, on this machine
	$(PY) -m degreespar.cli.main price --out src/degreespar/degree/default_prices.json

lock: | $(UV) ## refreshes locks/ from pyproject.toml
	$(UV) pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-emit-index-url --group build pyproject.toml -o locks/base.txt
	$(UV) pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header --no-emit-index-url --group build --group dev --extra train --extra report pyproject.toml -o locks/dev.txt

clean: ## removes what the verbs above made
	rm -rf $(VENV) $(TOOLS) target fuzz/target fuzz/corpus fuzz/artifacts demo-run
