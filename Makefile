# `make help` lists what there is to run. Every target sets up what it needs, once; after that none of them needs a network.

.DEFAULT_GOAL := help

# Where `make` was typed, which `make -C elsewhere` would otherwise hide. Asked of make's own command line, because the
# shell's PWD alone may be out of date.
typed_in = $(if $(shell grep -qzE '^(-[A-Za-z0-9]*C|--directory)' /proc/$$PPID/cmdline 2>/dev/null && echo yes),$(or $(PWD),$(CURDIR)),$(CURDIR))
quote = '$(subst ','\'',$(1))'

# The folder to talk about, taken from where `make` was typed.
FOLDER = .
# Further arguments for `make run`, `make test`, `make faults`, `make bench` and `make lock`.
ARGS =

# The caller's PYTHONPATH could shadow our modules. -P keeps the current folder out as well.
python := env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -P
bin := env -u PYTHONPATH -u PYTHONHOME .venv/bin

checks := check-format check-lint check-types check-layers check-protocol check-wheel check-typescript

.PHONY: help run test test-live test-wire faults check $(checks) format bench lock clean distclean run-ready dev-ready node-ready

help:
	@echo 'make run [FOLDER=...]   talk about a folder, by default the one you are in'
	@echo 'make test               run the tests'
	@echo 'make faults             kill and starve the server at every statement, for an hour, and print a table'
	@echo 'make test-live          ask real services for one short answer each; needs keys and costs money'
	@echo 'make test-wire          let the official SDKs judge our fake model service'
	@echo 'make check              check format, lint, types, layers, the generated protocol, the wheel and TypeScript'
	@echo 'make format             format the sources and mend what lint can mend'
	@echo 'make bench              run the benchmarks'
	@echo 'make lock               resolve the dependencies anew (ARGS=--upgrade: to their newest releases)'
	@echo 'make clean              remove what builds and tests left behind'
	@echo 'make distclean          remove the environments as well'
	@echo 'ARGS=... adds arguments to what run, test, faults and bench start.'

run-ready:
	@sh requirements/install.sh run

dev-ready:
	@sh requirements/install.sh dev

node-ready:
	@command -v node >/dev/null && command -v npm >/dev/null || { \
	    echo 'Checking TypeScript needs node and npm: install the packages nodejs and npm.' >&2; exit 1; }
	@cd editors/vscode && cat package.json package-lock.json | cmp -s - node_modules/.installed || { \
	    echo 'Setting up editors/vscode/node_modules ...' >&2; \
	    npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2 && \
	    cat package.json package-lock.json >node_modules/.installed; }

# -I is -P, and PYTHON* of the caller is ignored but still there for the programs that the conversation starts.
run: run-ready
	@cd $(call quote,$(typed_in)) && exec $(call quote,$(CURDIR)/.venv/bin/python) -I $(call quote,$(CURDIR)/.venv/bin/palimpsest) chat $(call quote,$(or $(FOLDER),.)) $(ARGS)

test: dev-ready
	@$(python) -m pytest $(ARGS)

faults: dev-ready
	@env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -m tests.faults $(ARGS)

# One call for each service whose key stands in the environment. Off in `make test`.
test-live: dev-ready
	@PALIMPSEST_TEST_LIVE=1 $(python) -m pytest tests/live $(ARGS)

# The SDKs want other versions of what we use, so they have an environment of their own.
test-wire:
	@cmp -s requirements/wire.txt build/wire/.installed || { \
	    echo 'Setting up build/wire ...' >&2; rm -rf build/wire; \
	    $${PYTHON:-python3} -m venv build/wire && \
	    env -u PYTHONPATH -u PYTHONHOME build/wire/bin/python -I -m pip --quiet --disable-pip-version-check --no-input \
	        install --require-hashes --no-deps -r requirements/wire.txt && \
	    cp requirements/wire.txt build/wire/.installed; }
	@env -u PYTHONPATH -u PYTHONHOME NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 build/wire/bin/python -P -m pytest \
	    -c tests/wire/pytest.ini tests/wire $(ARGS)

check: $(checks)
	@echo 'All checks passed.'

check-format: dev-ready
	$(bin)/ruff format --check .

check-lint: dev-ready
	$(bin)/ruff check .

check-types: dev-ready
	$(bin)/mypy

check-layers: dev-ready
	$(bin)/lint-imports

check-protocol: dev-ready
	$(python) -m palimpsest.wire.generate --check
	$(python) -m palimpsest.settings_schema --check

check-wheel: dev-ready
	@rm -rf build/wheel
	$(python) -m hatchling build --target wheel --directory build/wheel
	$(bin)/check-wheel-contents build/wheel

check-typescript: node-ready
	cd editors/vscode && node_modules/.bin/tsc --noEmit --project .

format: dev-ready
	$(bin)/ruff check --fix --show-fixes .
	$(bin)/ruff format .

bench: dev-ready
	@env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -m benchmarks $(ARGS)

# Both locks hold the digests of every file of a release, so they install on any platform that has one; and no address,
# so the index is the one pip is configured with. To be run on Python 3.11, the oldest we support: it needs the most
# packages. pip-compile warns that pip and setuptools are not pinned; we install with --no-deps, so nothing asks for them.
define compile
	CUSTOM_COMPILE_COMMAND='make lock' $(bin)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links $(ARGS) --output-file requirements/$(1).txt \
	    pyproject.toml requirements/run.in $(2)
	sed -i -e '/^# WARNING/,$$d' -e '/^$$/d' requirements/$(1).txt
endef

without_addresses = const fs = require("fs"), file = "package-lock.json", lock = JSON.parse(fs.readFileSync(file)); \
    for (const entry of Object.values(lock.packages)) delete entry.funding; \
    fs.writeFileSync(file, JSON.stringify(lock, null, 2) + "\n");

lock: dev-ready
	$(call compile,run,)
	$(call compile,dev,requirements/dev.in)
	CUSTOM_COMPILE_COMMAND='make lock' $(bin)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links $(ARGS) --output-file requirements/wire.txt requirements/wire.in
	cd editors/vscode && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved && \
	    node -e '$(without_addresses)'

clean:
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find server clients tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv editors/vscode/node_modules
