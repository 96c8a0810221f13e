#!/bin/sh
# Usage: requirements/install.sh LOCK
# Makes .venv if it is not there, installs the lock file into it, then the package itself (editable).
# PYTHON names the interpreter; otherwise the first that runs and is new enough is taken.
set -eu

lock=$1
venv=.venv
python=$venv/bin/python

if command -v uv >/dev/null 2>&1; then
    uv=yes
    needs="sys"
else
    uv=no
    needs="sys, ensurepip, venv"
fi

# Prints the path of the interpreter, or fails: a shim may exist and yet not run.
full_path() {
    "$1" -c "import $needs; assert sys.version_info >= (3, 11); print(sys.executable)" 2>/dev/null
}

find_interpreter() {
    if [ -n "${PYTHON:-}" ]; then
        full_path "$PYTHON" && return
        echo "PYTHON=$PYTHON is not a working Python >= 3.11 with venv. Name another one, or leave PYTHON unset." >&2
        return 1
    fi
    for candidate in python3.13 python3.12 python3.11 python3; do
        full_path "$candidate" && return
    done
    echo "No Python >= 3.11 with venv was found. Install one (on Debian also python3-venv)," >&2
    echo "or name it: make PYTHON=/path/to/python3.11" >&2
    return 1
}

if [ ! -e $venv/.made ] || ! $python -c "" 2>/dev/null; then
    interpreter=$(find_interpreter)
    echo "Making $venv with $interpreter"
    rm -rf $venv
    if [ $uv = yes ]; then
        UV_PYTHON_DOWNLOADS=never uv venv --quiet --python "$interpreter" $venv
    else
        "$interpreter" -m venv $venv
    fi
    touch $venv/.made
fi

echo "Installing $lock"
if [ $uv = yes ]; then
    export UV_PYTHON_DOWNLOADS=never
    uv pip install --quiet --python $python --require-hashes -r "$lock"
    uv pip install --quiet --python $python --no-deps --no-build-isolation --editable .
else
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    $python -m pip --version >/dev/null 2>&1 || $python -m ensurepip >/dev/null
    $python -m pip install --quiet --require-hashes -r "$lock"
    $python -m pip install --quiet --no-deps --no-build-isolation --editable .
fi
