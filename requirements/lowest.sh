#!/bin/sh
# Usage: requirements/lowest.sh [TESTS]...
# Runs fast tests on the lowest versions that pyproject.toml allows of what the package and its extras import.
# PYTHON names the interpreter: the oldest that is supported, 3.11 if nothing is said. Needs uv.
set -eu

command -v uv >/dev/null 2>&1 || { echo "requirements/lowest.sh needs uv on PATH." >&2; exit 1; }
export UV_PYTHON_DOWNLOADS=never

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python=$folder/venv/bin/python

uv pip compile pyproject.toml --quiet --extra formats --extra server --extra solver --resolution lowest-direct \
    --python-version 3.11 --output-file "$folder/lowest.txt" >/dev/null
uv venv --quiet --python "${PYTHON:-3.11}" "$folder/venv"
uv pip install --quiet --python "$python" -r "$folder/lowest.txt"
# The tests' own tools may be new: nobody else needs them.
uv pip install --quiet --python "$python" --constraint "$folder/lowest.txt" \
    duckdb httpx "httpx2>=2" hypothesis jsonschema pandas pyarrow pytest
# A package, not a checkout: what stands in src is not on the path.
uv pip install --quiet --python "$python" --no-deps .
uv pip list --quiet --python "$python"

"$folder/venv/bin/glassine" --help >/dev/null
"$python" -I -W default tests/repo/wheel_run.py
if [ $# -eq 0 ]; then
    set -- tests/domain/test_conforming.py tests/counting/test_records.py tests/models/test_loading.py \
        tests/learners/test_tree_class.py tests/privacy/test_quantiles.py tests/report/test_html.py tests/server/test_app.py
fi
"$python" -m pytest -p no:cacheprovider -o filterwarnings=default "$@"
