# Every target sets up what it needs in $(VENV), with uv when it is on PATH and plain python3
# otherwise. A stamp remembers what is installed, so that a second run starts at once and a
# changed pyproject.toml installs again.

VENV ?= .venv
# Requirements besides pyproject.toml's, such as WITH='jax==0.8.0 jaxlib==0.8.0'.
WITH ?=
# Passed on to pytest, the fuzzers or the benchmarks: make test ARGS='-k scan -x'
ARGS ?=

PY := $(VENV)/bin/python
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help test demo transcripts lint types fuzz bench docs programs foreign clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(MAKEFILE_LIST)

test: $(VENV)/.has-test ## run the tests
	@$(PY) -m pytest -n auto --maxprocesses 4 --dist worksteal $(ARGS)

demo: $(VENV)/.has-demo ## a program with bugs is audited, and a simulation repairs itself
	@$(PY) examples/demo.py

transcripts: $(VENV)/.has-test ## write what commands print now into README and guides
	@$(PY) tests/transcript.py

lint: $(VENV)/.has-dev ## check style and formatting
	@$(VENV)/bin/ruff check
	@$(VENV)/bin/ruff format --check

types: $(VENV)/.has-dev ## check types, and that every exported name has a complete one
	@$(in-venv) pyright
	@$(call quietly,$(in-venv) pyright --ignoreexternal --verifytypes verax)
	@echo 'every exported name has a complete type'

fuzz: $(VENV)/.has-test ## try random cases, for a minute: make fuzz ARGS='git --seconds 600'
	@$(PY) -m tests.fuzz $(ARGS)

programs: $(VENV)/.has-programs ## audit real programs, and compare with what is on record
	@$(PY) tests/audit/programs/check.py $(ARGS)

foreign: $(VENV)/.has-foreign ## audit packages that are not JAX's, in which nothing is to be found
	@$(PY) tests/audit/foreign/check.py $(ARGS)

bench: $(VENV)/.has-bench ## measure, side by side with what users would pick instead
	@$(PY) -m benchmarks $(ARGS)

docs: $(VENV)/.has-docs ## make the documentation's site, in site/
	@$(call quietly,$(VENV)/bin/mkdocs build --strict)
	@echo 'site/index.html'

clean: ## remove environments and caches
	rm -rf .venv .venv-* .pytest_cache .ruff_cache .hypothesis .fuzz build dist site
	find src tests typing_tests -name __pycache__ -type d -prune -exec rm -rf {} +

# For tools that look for Python on PATH, as `pyright --verifytypes` does.
in-venv = PATH="$(abspath $(VENV))/bin:$$PATH"
# Output is shown only on failure.
quietly = out=$$($(1) 2>&1) || { printf '%s\n' "$$out" >&2; exit 1; }

extras-test := [test]
extras-dev := [dev]
extras-bench := [bench]
extras-docs := [docs]
extras-programs := [programs]
extras-foreign := [foreign]

$(VENV)/.has-%: pyproject.toml $(VENV)/.created
	@echo "installing into $(VENV): verax$(extras-$*) $(WITH)"
ifdef UV
	@$(call quietly,$(UV) pip install --python $(PY) --upgrade -e '.$(extras-$*)' $(WITH))
else
	@$(call quietly,$(PY) -m pip install --disable-pip-version-check --upgrade -e '.$(extras-$*)' $(WITH))
endif
	@touch $@

$(VENV)/.created:
ifdef UV
	@$(call quietly,$(UV) venv --allow-existing --python '$(or $(PYTHON),>=3.11)' $(VENV))
else
	@for python in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	    "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	    python=; \
	done; \
	[ "$$python" ] || { echo 'verax needs Python 3.11 or newer; say where: make PYTHON=...' >&2; exit 1; }; \
	$(call quietly,"$$python" -m venv --clear $(VENV))
endif
	@touch $@
