#!/bin/sh
# Usage: requirements/spark.sh
# Makes .spark anew: an environment with pyspark, of which .venv is a part, so that the tests find the rest there.
set -eu

lock=requirements/spark.txt
spark=.spark
python=$spark/bin/python

rm -rf $spark
echo "Making $spark"
if command -v uv >/dev/null 2>&1; then
    UV_PYTHON_DOWNLOADS=never uv venv --quiet --python .venv/bin/python $spark
    install="uv pip install --quiet --python $python"
else
    .venv/bin/python -m venv $spark
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    install="$python -m pip install --quiet"
fi

echo "Installing $lock"
# pyspark is built here, from pinned parts: what builds it comes first.
awk '/^[^ #]/ { keep = !/^pyspark==/ } keep' $lock >$spark/first.txt
$install --require-hashes -r $spark/first.txt
$install --require-hashes --no-build-isolation -r $lock

# addsitedir, because it follows the path files of .venv: by one of them the package itself is installed.
folder='import sysconfig; print(sysconfig.get_path("purelib"))'
printf 'import site; site.addsitedir("%s")\n' "$(.venv/bin/python -c "$folder")" >"$($python -c "$folder")/venv.pth"
