# `make help` lists what there is to run. Every target sets up what it needs, once; after that none of them needs a network.

.DEFAULT_GOAL := help

# Where `make` was typed, which `make -C elsewhere` would otherwise hide. Asked of make's own command line, because the
# shell's PWD alone may be out of date.
typed_in = $(if $(shell grep -qzE '^(-[A-Za-z0-9]*C|--directory)' /proc/$$PPID/cmdline 2>/dev/null && echo yes),$(or $(PWD),$(CURDIR)),$(CURDIR))
quote = '$(subst ','\'',$(1))'

# The folder to talk about, taken from where `make` was typed.
FOLDER = .
# Of `make simulate`: so many from the first on, or FIRST..AFTER; and the kind of operations, by default each seed's own.
SEEDS = 100
PROFILE =
# Further arguments for `make run`, `make test`, `make faults`, `make bench` and `make lock`.
ARGS =

# The caller's PYTHONPATH could shadow our modules. -P keeps the current folder out as well.
python := env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -P
# `dev` is a package of the checkout, so the checkout is in the path.
dev := env -u PYTHONHOME PYTHONPATH=. .venv/bin/python -P -m
bin := env -u PYTHONPATH -u PYTHONHOME .venv/bin

# One test process for each core. A test that must not share the machine's attention with its neighbors is in a group.
parallel := -n logical --maxprocesses 8 --dist loadgroup

agents := env -u PYTHONPATH -u PYTHONHOME build/agents/bin/python -P -m pytest -c tests/agents/pytest.ini

checks := check-format check-lint check-types check-layers check-protocol check-wheel check-typescript

.PHONY: prices help run test test-slow test-all test-live test-sdks test-agents test-mcp test-foreign test-editors faults simulate check $(checks) check-lua generate vscode release-check test-vscode vscode-gallery pictures neovim-tour terminal-screens docs format bench bench-quick bench-servers lock clean distclean run-ready dev-ready agents-ready node-ready

help:
	@echo 'make run [FOLDER=...]   talk about a folder, by default the one you are in'
	@echo 'make test               run the tests, but for the slow ones'
	@echo 'make test-slow          run what make test leaves out: slow tests, and more examples for each property'
	@echo 'make test-all           run all of them (ARGS=--hypothesis-profile=nightly: with still more examples)'
	@echo 'make faults             kill and starve the server at every statement, for an hour, and print a table'
	@echo 'make simulate SEEDS=1000 [PROFILE=...]  run the services in simulated time and look for what must never be; docs/simulation.md'
	@echo 'make test-live          ask real services for one short answer each; needs keys and costs money'
	@echo 'make test-sdks          let the official SDKs judge our fake model service'
	@echo 'make test-agents        let the official SDKs of ACP and MCP be our clients'
	@echo 'make test-mcp           let our client of MCP use servers that others wrote; needs node and npm'
	@echo 'make test-foreign       let the LiteLLM proxy, in front of our fake service, judge our clients; a large download'
	@echo 'make test-editors       drive the real editors that are installed, by the recipes of editors/README.md; what they showed is in build/editors'
	@echo 'make check              check format, lint, types, layers, the generated protocol, the wheel and TypeScript'
	@echo 'make check-lua          check the Neovim plugin; needs luacheck and stylua'
	@echo 'make generate           write every generated file: the protocol in each language, the settings'
	@echo 'make vscode             build the VS Code extension, editors/vscode/build/palimpsest-VERSION.vsix'
	@echo 'make release-check      build all parts of a release, compare them with a list, install each into an empty place and use it'
	@echo 'make test-vscode        drive the extension in a real VS Code in Chromium'
	@echo 'make vscode-gallery     photograph each page of the panel at four widths and in four themes, with what axe finds'
	@echo '                        (DESIGN=folder: its pictures stand beside; PAGES=07,08: only these pages)'
	@echo 'make pictures           photograph VS Code, Neovim and the terminal for the documents'
	@echo 'make neovim-tour        drive Neovim through a tour of the plugin, recorded in build/neovim-tour'
	@echo 'make terminal-screens   photograph the terminal at 60, 100 and 200 columns, dark and light, with and without colors'
	@echo 'make docs               build the documents as a site, build/docs/site, and check its links'
	@echo 'make format             format the sources and mend what lint can mend'
	@echo 'make bench              run the benchmarks (ARGS=--keep: and write the figures to the README; ARGS=startup: only this)'
	@echo 'make bench-quick        show that every benchmark runs'
	@echo 'make bench-servers      install other language servers for make bench to compare with'
	@echo 'make prices             write the table of what models cost anew'
	@echo 'make lock               resolve the dependencies anew (ARGS=--upgrade: to their newest releases)'
	@echo 'make clean              remove what builds and tests left behind'
	@echo 'make distclean          remove the environments as well'
	@echo 'ARGS=... adds arguments to what run, test, faults, simulate and bench start; ARGS="-n 0 FILE" tests a file in one process.'

run-ready:
	@sh requirements/install.sh run

dev-ready:
	@sh requirements/install.sh dev

node-ready:
	@command -v node >/dev/null && command -v npm >/dev/null || { \
	    echo 'Checking TypeScript needs node and npm: install the packages nodejs and npm.' >&2; exit 1; }
	@cd editors/vscode && cmp -s package-lock.json node_modules/.installed || { \
	    echo 'Setting up editors/vscode/node_modules ...' >&2; \
	    npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2 && \
	    cp package-lock.json node_modules/.installed; }

# -I is -P, and PYTHON* of the caller is ignored but still there for the programs that the conversation starts.
run: run-ready
	@cd $(call quote,$(typed_in)) && exec $(call quote,$(CURDIR)/.venv/bin/python) -I $(call quote,$(CURDIR)/.venv/bin/palimpsest) chat $(call quote,$(or $(FOLDER),.)) $(ARGS)

test: dev-ready
	@$(python) -m pytest $(parallel) -m 'not slow' $(ARGS)

# The mark `hypothesis` is on every property test.
test-slow: dev-ready
	@$(python) -m pytest $(parallel) -m '(slow or hypothesis) and not hunt' --hypothesis-profile=ci $(ARGS)

test-all: dev-ready
	@$(python) -m pytest $(parallel) --hypothesis-profile=ci $(ARGS)

faults: dev-ready
	@env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -m tests.faults $(ARGS)

simulate: dev-ready
	@env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -m tests.simulation hunt --seeds $(SEEDS) $(if $(PROFILE),--profile $(PROFILE)) $(ARGS)

# One call for each service whose key stands in the environment. Off in `make test`.
test-live: dev-ready
	@TEST_PALIMPSEST_LIVE=1 $(python) -m pytest tests/live $(ARGS)

# The SDKs want other versions of what we use, so they have an environment of their own.
test-sdks:
	@cmp -s requirements/sdks.txt build/sdks/.installed || { \
	    echo 'Setting up build/sdks ...' >&2; rm -rf build/sdks; \
	    $${PYTHON:-python3} -m venv build/sdks && \
	    env -u PYTHONPATH -u PYTHONHOME build/sdks/bin/python -I -m pip --quiet --disable-pip-version-check --no-input \
	        install --require-hashes --no-deps -r requirements/sdks.txt && \
	    cp requirements/sdks.txt build/sdks/.installed; }
	@env -u PYTHONPATH -u PYTHONHOME NO_PROXY=127.0.0.1 no_proxy=127.0.0.1 build/sdks/bin/python -P -m pytest \
	    -c tests/sdks/pytest.ini tests/sdks $(ARGS)

# The extras acp and mcp bring much that the server itself does without, so they have an environment of their own.
test-agents: agents-ready
	@$(agents) tests/agents $(ARGS)

# Servers that others wrote, as real child processes.
test-mcp: agents-ready
	@command -v node >/dev/null && command -v npm >/dev/null || { \
	    echo 'The servers need node and npm: install the packages nodejs and npm.' >&2; exit 1; }
	@cat requirements/mcp_servers.txt requirements/mcp_servers/package-lock.json | cmp -s - build/mcp-servers/.installed || { \
	    echo 'Setting up build/mcp-servers ...' >&2; rm -rf build/mcp-servers; mkdir -p build/mcp-servers && \
	    cp requirements/mcp_servers/package.json requirements/mcp_servers/package-lock.json build/mcp-servers && \
	    (cd build/mcp-servers && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2) && \
	    $${PYTHON:-python3} -m venv build/mcp-servers/python && \
	    env -u PYTHONPATH -u PYTHONHOME build/mcp-servers/python/bin/python -I -m pip --quiet --disable-pip-version-check \
	        --no-input install --require-hashes --no-deps -r requirements/mcp_servers.txt && \
	    cat requirements/mcp_servers.txt requirements/mcp_servers/package-lock.json > build/mcp-servers/.installed; }
	@TEST_PALIMPSEST_MCP=$(call quote,$(CURDIR)/build/mcp-servers) $(agents) tests/agents/test_mcp_servers.py $(ARGS)

agents-ready:
	@cat pyproject.toml requirements/agents.txt | cmp -s - build/agents/.installed || { \
	    echo 'Setting up build/agents ...' >&2; rm -rf build/agents; \
	    $${PYTHON:-python3} -m venv build/agents && \
	    env -u PYTHONPATH -u PYTHONHOME build/agents/bin/python -I -m pip --quiet --disable-pip-version-check --no-input \
	        install --require-hashes --no-deps -r requirements/agents.txt && \
	    env -u PYTHONPATH -u PYTHONHOME build/agents/bin/python -I -m pip --quiet --disable-pip-version-check --no-input \
	        install --no-deps --no-build-isolation --no-index --editable . && \
	    cat pyproject.toml requirements/agents.txt > build/agents/.installed; }

# The proxy wants 120 packages of its own, so it has an environment of its own; our clients run in ours.
test-foreign: dev-ready
	@cmp -s requirements/foreign.txt build/foreign/.installed || { \
	    echo 'Setting up build/foreign ...' >&2; rm -rf build/foreign; \
	    $${PYTHON:-python3} -m venv build/foreign && \
	    env -u PYTHONPATH -u PYTHONHOME build/foreign/bin/python -I -m pip --quiet --disable-pip-version-check --no-input \
	        install --no-deps -r requirements/foreign.txt && \
	    cp requirements/foreign.txt build/foreign/.installed; }
	@TEST_PALIMPSEST_FOREIGN=$(call quote,$(CURDIR)/build/foreign/bin/litellm) $(python) -m pytest tests/foreign $(ARGS)

# An editor that is not installed is skipped, with the packages that bring it.
test-editors: dev-ready
	@TEST_PALIMPSEST_SCREENS=$(call quote,$(CURDIR)/build/editors) $(python) -m pytest -rs tests/editors $(ARGS)

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
	@$(dev) dev.generate --check

check-wheel: dev-ready
	@rm -rf build/wheel
	$(python) -m hatchling build --target wheel --directory build/wheel
	$(bin)/check-wheel-contents build/wheel

check-typescript: node-ready
	cd editors/vscode && npm run --silent check
	cd editors/vscode && npm run --silent test

# Not among the checks: luacheck comes from a distribution (lua-check), stylua from npm (@johnnymorganz/stylua-bin).
check-lua:
	luacheck --quiet --config editors/nvim/.luacheckrc editors/nvim tests/editors/nvim
	stylua --check --config-path editors/nvim/stylua.toml editors/nvim tests/editors/nvim

# Everything that is generated from declarations in Python: the protocol in every language, the settings and their page.
generate: dev-ready
	@$(dev) dev.generate

# The extension carries the server: a wheel of it, and requirements/run.txt and extras.txt.
vscode: dev-ready node-ready
	cd editors/vscode && PYTHON=$(call quote,$(CURDIR)/.venv/bin/python) npm run --silent package

# Leaves the parts in build/release when all has passed. Five minutes; pipx, uv and what the wheel needs come from the package index.
release-check: dev-ready node-ready
	@$(dev) dev.release.check

# A VS Code is installed from the package registries under build/, and driven in Chromium; about ten minutes.
test-vscode: dev-ready node-ready
	PYTHON=$(call quote,$(CURDIR)/.venv/bin/python) editors/vscode/scripts/e2e.sh

# Writes build/vscode-gallery/index.html; about ten minutes.
vscode-gallery: dev-ready node-ready
	PYTHON=$(call quote,$(CURDIR)/.venv/bin/python) editors/vscode/scripts/e2e.sh gallery.mjs $(call quote,$(abspath $(DESIGN))) $(if $(PAGES),$(call quote,$(PAGES)))

# Needs Chromium, tmux and Neovim; the answers come from our fake service.
pictures: dev-ready node-ready
	PYTHON=$(call quote,$(CURDIR)/.venv/bin/python) editors/vscode/scripts/e2e.sh pictures.mjs
	@for pair in conversation:chat context:context stale-fact:facts; do \
	    cp docs/pictures/$${pair%:*}.png editors/vscode/media/screenshots/$${pair#*:}.png; done
	@$(dev) dev.neovim_tour build/neovim-tour
	@cp build/neovim-tour/104-*-answer.svg docs/pictures/neovim.svg
	@cp build/neovim-tour/104-*-decision.svg docs/pictures/neovim-decision.svg
	@cp build/neovim-tour/104-*-stale-fact.svg docs/pictures/neovim-stale-fact.svg
	@$(dev) dev.terminal_screens build/terminal-screens
	@cp build/terminal-screens/answer-100-color.svg docs/pictures/terminal.svg
	@cp build/terminal-screens/approval-100-color.svg docs/pictures/terminal-approval.svg

# Needs tmux and Neovim. Writes each scene at two widths as text and as a picture, and recordings (asciicasts).
neovim-tour: dev-ready
	@$(dev) dev.neovim_tour build/neovim-tour

# Needs tmux; a scripted server answers. Writes build/terminal-screens/index.html and each screen as text.
terminal-screens: dev-ready
	@$(dev) dev.terminal_screens build/terminal-screens

# What services charge for their models, by a package that collects their price lists.
prices:
	@[ -x build/prices/bin/python ] || $${PYTHON:-python3} -m venv build/prices
	@build/prices/bin/python -I -m pip --quiet --disable-pip-version-check --no-input install --upgrade genai-prices
	@build/prices/bin/python -I dev/price_table.py

# MkDocs is no part of what we ship or test with, so it has an environment of its own. With --quiet its warnings would
# not count.
docs:
	@cmp -s requirements/docs.txt build/docs/env/.installed || { \
	    echo 'Setting up build/docs/env ...' >&2; rm -rf build/docs/env; \
	    $${PYTHON:-python3} -m venv build/docs/env && \
	    env -u PYTHONPATH -u PYTHONHOME build/docs/env/bin/python -I -m pip --quiet --disable-pip-version-check --no-input \
	        install --require-hashes --no-deps -r requirements/docs.txt && \
	    cp requirements/docs.txt build/docs/env/.installed; }
	@build/docs/env/bin/python -I dev/docs_site.py build/docs/source
	@env -u PYTHONPATH -u PYTHONHOME NO_MKDOCS_2_WARNING=1 build/docs/env/bin/python -I -m mkdocs build \
	    --strict --config-file docs/mkdocs.yml >build/docs/log 2>&1 || { cat build/docs/log >&2; exit 1; }
	@echo 'build/docs/site/index.html'

format: dev-ready
	$(bin)/ruff check --fix --show-fixes .
	$(bin)/ruff format .

# ARGS="NAME ... --keep": only these, and write the page.
bench: dev-ready
	@env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -m benchmarks $(ARGS)

# Shows that every benchmark runs; its figures say nothing.
bench-quick: dev-ready
	@env -u PYTHONPATH -u PYTHONHOME .venv/bin/python -m benchmarks --quick $(ARGS)

# What `benchmarks.startup` and `benchmarks.price` compare with, where it can be had. The number in the stamp is to be
# raised when a package is added.
bench-servers:
	@[ -e build/bench-servers/python/.installed-2 ] || { mkdir -p build/bench-servers && \
	    $${PYTHON:-python3} -m venv build/bench-servers/python && \
	    env -u PYTHONPATH -u PYTHONHOME build/bench-servers/python/bin/python -I -m pip --quiet \
	        --disable-pip-version-check --no-input install python-lsp-server jedi-language-server langchain tiktoken && \
	    touch build/bench-servers/python/.installed-2; }
	@[ -e build/bench-servers/node_modules/.installed ] || { cd build/bench-servers && \
	    npm install --no-audit --no-fund --no-update-notifier --loglevel=error @github/copilot-language-server >&2 && \
	    touch node_modules/.installed; }

# The locks hold the digests of every file of a release, so they install on any platform that has one; and no address,
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
	$(call compile,extras,--extra hub --extra mcp --extra web -c requirements/run.txt)
	$(call compile,dev,--extra hub --extra web requirements/dev.in)
	CUSTOM_COMPILE_COMMAND='make lock' $(bin)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links $(ARGS) --output-file requirements/sdks.txt requirements/sdks.in
	CUSTOM_COMPILE_COMMAND='make lock' $(bin)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links $(ARGS) --extra acp --extra mcp --output-file requirements/agents.txt \
	    pyproject.toml requirements/run.in requirements/agents.in
	sed -i -e '/^# WARNING/,$$d' -e '/^$$/d' requirements/agents.txt
	CUSTOM_COMPILE_COMMAND='make lock' $(bin)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links $(ARGS) --output-file requirements/mcp_servers.txt requirements/mcp_servers.in
	sed -i -e '/^# WARNING/,$$d' -e '/^$$/d' requirements/mcp_servers.txt
	CUSTOM_COMPILE_COMMAND='make lock' $(bin)/pip-compile --quiet --generate-hashes --strip-extras --no-emit-index-url \
	    --no-emit-trusted-host --no-emit-find-links $(ARGS) --output-file requirements/docs.txt requirements/docs.in
	sed -i -e '/^# WARNING/,$$d' -e '/^$$/d' requirements/docs.txt
	cd requirements/mcp_servers && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved && \
	    node -e '$(without_addresses)'
	cd editors/vscode && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved && \
	    node -e '$(without_addresses)'

clean:
	rm -rf build dist editors/vscode/build editors/vscode/dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find server clients hub dev tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv editors/vscode/node_modules
