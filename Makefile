# Two commands for users: `make demo` and `make test`. The rest is for developers.
PYTHON ?= python3
BIN := .venv/bin

# the files of core/ and the top-level folders are linked one by one (setup.py): a new one there needs installing again
UNLINKED := $(filter-out __pycache__ $(notdir $(wildcard .editable/holter/*)),$(notdir $(wildcard core/*)))

.PHONY: always docs types-js demo test test-frameworks test-fast test-patterns explore fuzz mutation screenshots message-pictures dev lint types types-python types-pages test-programs check-imports format build clean serve bench bench-peers

demo: .venv/server.done  ## Holter with real training runs, replayed live (ONCE=1: replay, print, exit)
	@$(BIN)/holter demo $(if $(ONCE),--once)

# hundreds of processes that the tests start would each compile Holter again
test test-fast: export PYTHONDONTWRITEBYTECODE :=

test: .venv/test.done  ## lint, types, direction of imports, all tests
	@$(MAKE) --no-print-directory -j 2 types-python test-programs lint check-imports types-pages
	@$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder

test-fast: .venv/test.done  ## the tests without browser, PostgreSQL and long ones: at most three minutes
	@$(BIN)/pytest -q -n 3 --dist loadfile -m "not browser and not postgresql and not slow"

FRAMEWORKS ?= $(HOME)/.cache/holter/frameworks/environment
test-frameworks: .venv/test.done  ## the plug-ins with real frameworks, which are installed apart from .venv (torch: large)
	@test -x $(FRAMEWORKS)/bin/python || $(BIN)/python -m venv $(FRAMEWORKS)
	@$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check -c constraints-frameworks.txt --group frameworks
	@$(FRAMEWORKS)/bin/python -m pip install -q --disable-pip-version-check --no-deps .
	@HOLTER_FRAMEWORKS_PYTHON=$(FRAMEWORKS)/bin/python $(BIN)/pytest -q tests/frameworks

test-patterns: .venv/test.done  ## every pattern of the formats against worst-case texts of 64 Ki characters
	@HOLTER_TEST_PATTERN_KIB=64 $(BIN)/pytest -q tests/ingest/all_formats/test_linear_patterns.py

explore: .venv/test.done  ## the tests of properties with other examples each time; `make test` has the same each time
	@$(BIN)/pytest -q -n auto --dist loadfile -m hypothesis --hypothesis-profile=exploring

fuzz: .venv/test.done  ## 1,000,000 mutated inputs for every reader of files (FUZZ="--inputs 50000 --seed 7 --targets format/csv")
	@$(BIN)/python -m tests.support.fuzzing --save .fuzz $(FUZZ)

screenshots: .venv/test.done  ## a picture of every page: both themes, four widths, no, few and many points; in .screenshots/
	@$(BIN)/python -m tests.support.install_chromium
	@$(BIN)/python -m tests.support.screenshots $(SCREENSHOTS)

message-pictures: .venv/test.done  ## the pictures of messages in docs/images: e-mails wide and narrow, light and dark; chats
	@$(BIN)/python -m tests.support.install_chromium
	@$(BIN)/python -m tests.support.message_pictures docs/images

mutation: .venv/mutation.done  ## plants faults in the code and lists those that no test notices (MUTATION="--sample 40 --seed 1 --targets spool")
	@$(BIN)/python -m tests.support.mutation $(MUTATION)

dev: .venv/test.done  ## an environment for development

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Holter needs Python 3.11 or newer; say which: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv .venv

.venv/server.done: pyproject.toml setup.py constraints.txt $(if $(UNLINKED),always) | .venv/bin/python
	@echo "Installing Holter into .venv ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[server]'
	@touch $@

.venv/test.done: .venv/server.done
	@echo "Installing what the tests need into .venv ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -U 'pip>=25.1'
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --group test
	@touch $@

.venv/mutation.done: .venv/test.done
	@echo "Installing what mutation testing needs into .venv ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt --group mutation
	@touch $@

lint: .venv/test.done
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: types-python types-pages

types-python: .venv/test.done  ## of the Python modules: half a minute, so `make test` does it beside the rest
	@$(BIN)/mypy

types-pages: .venv/test.done
	@$(BIN)/python -m tests.ui.check_types

test-programs: .venv/test.done  ## what tests of pages and of trackio's client need besides .venv
	@$(BIN)/python -m tests.support.install_chromium
	@$(BIN)/python -m tests.support.install_trackio

types-js: .venv/server.done  ## the JSDoc types of the REST interface, for the pages
	@$(BIN)/python -m holter.server.schemas.jsdoc

docs: .venv/server.done  ## the parts of the documentation that are made from the code
	@$(BIN)/python docs/generate.py

check-imports: .venv/test.done
	@$(BIN)/lint-imports

format: .venv/test.done
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

serve: .venv/server.done
	@$(BIN)/holter serve

bench: .venv/test.done
	@$(BIN)/python benchmarks/store.py

bench-peers: .venv/test.done  ## Holter compared with its peers (BENCH="--quick", "--write": see benchmarks/README.md)
	@$(BIN)/python benchmarks/peers $(BENCH)

build: .venv/test.done
	@$(BIN)/python -m pip wheel -q --no-deps -w dist .

clean:
	rm -rf .venv .editable build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
