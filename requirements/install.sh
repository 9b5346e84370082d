#!/bin/sh
# `requirements/install.sh run|dev`, from the repository's root: after it, .venv holds what requirements/run.txt or
# dev.txt pins, and the project itself, editable.
#
# Says nothing and touches no network when that is so already. Three records in .venv tell: each is written only after
# its step succeeded and holds what the step depended on, so a set-up that was interrupted, a clone that was moved and
# a lock that changed all fail to match and are mended here. Standard output belongs to the caller's program and standard
# input too: neither is used.
set -eu
set_wanted=$1
exec >&2 </dev/null
trap 'exit 130' INT
trap 'exit 143' TERM

# Settings of the caller that would lead python or pip away from .venv. The index and certificates pip is to use stay.
unset PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_USER=0

record() {
    case $1 in
        run | dev) pwd -P && cat "requirements/$1.txt" ;;
        project) cat pyproject.toml server/palimpsest/__about__.py ;;
    esac
}

is_recorded() {
    [ -x .venv/bin/python ] && [ -f ".venv/.$1" ] && [ "$(record "$1")" = "$(cat ".venv/.$1")" ]
}

is_ready() {
    is_recorded "$set_wanted" && is_recorded project
}

pip() {
    .venv/bin/python -I -m pip --quiet --disable-pip-version-check --no-input "$@"
}

# Prints the first interpreter that is new enough and able to make environments with pip in them.
find_python() {
    without_venv=
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.11 python3 python3.12 python3.13 python3.14; fi
    for candidate; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            return
        fi
        : "${without_venv:=$candidate}"
    done
    if [ -n "$without_venv" ]; then
        version=$("$without_venv" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
        echo "$version cannot make virtual environments: install the package $version-venv." >&2
    else
        echo "Python 3.11 or newer is needed (looked for: $*): install the package python3-venv." >&2
    fi
    return 1
}

make_venv() {
    python=$(find_python)
    "$python" -m venv --clear .venv
}

# pip writes INSTALLER last: a distribution without one was being installed when pip ended, and pip would take it for whole.
drop_half_installed() {
    for info in .venv/lib/python*/site-packages/*.dist-info; do
        [ -e "$info/INSTALLER" ] || rm -rf "$info"
    done
    rm -rf .venv/lib/python*/site-packages/~*
}

is_ready && exit
# Two commands started at once take turns.
if command -v flock >/dev/null; then
    exec 9<requirements/install.sh
    flock 9
    is_ready && exit
fi

echo "Setting up .venv ($set_wanted) ..."
if ! is_recorded "$set_wanted"; then
    # dev.txt pins what run.txt pins and more, so adding it cannot break what `make run` needs.
    if is_recorded run; then drop_half_installed; else make_venv; fi
    pip install --require-hashes --no-deps -r "requirements/$set_wanted.txt"
    record run >.venv/.run
    record "$set_wanted" >".venv/.$set_wanted"
fi
rm -f .venv/.project
drop_half_installed
pip install --no-deps --no-build-isolation --no-index --editable .
record project >.venv/.project
