"""Commands in the environment of ``requirements/run.txt`` alone: they work, or say which extra they need."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, as_model, write_model
from glassine.surrogates import SurrogateExplainer
from tests.repo.code_blocks import ROOT, glassine_command

BLOCK = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {names!r} else find(name, path, target)


PathFinder.find_spec = find_spec
"""
"""Hides what is installed here and not there, as if it were not on the disk."""


def installed_by(requirements: str) -> set[str]:
    """Return the names of the packages of a lock file."""
    return {name.replace("-", "_").lower() for name in re.findall(r"(?m)^([A-Za-z0-9_.-]+)==", requirements)}


def others(providers: Mapping[str, list[str]]) -> set[str]:
    """Return the modules here that no package of the run environment brings."""
    run = installed_by((ROOT / "requirements" / "run.txt").read_text()) | {"glassine", "pip", "setuptools"}
    named = {module: {name.replace("-", "_").lower() for name in names} for module, names in providers.items()}
    return {module for module, names in named.items() if names.isdisjoint(run)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make records, a domain and a tree, and a module that blocks what only extras install."""
    out = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(0)
    age, visits = rng.integers(18, 100, 400), rng.poisson(3, 400).clip(0, 20)
    ill = np.where(rng.random(400) < 1 / (1 + np.exp(-0.07 * (age - 60))), "yes", "no")
    pl.DataFrame({"age": age, "visits": visits, "ill": ill}).write_csv(out / "records.csv")
    attributes = {"age": Integer(18, 110, thresholds=(30, 50, 70)), "visits": Integer(0, 50, thresholds=(2, 4))}
    Domain({**attributes, "ill": Category(("no", "yes"))}).to_json(out / "domain.json")
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(np.stack([age, visits], axis=1), ill)
    write_model(as_model(fitted, Domain(attributes)), out / "tree.json", overwrite=True)
    frame = pl.DataFrame({"age": age, "visits": visits})
    frame.write_csv(out / "people.csv")
    Domain(attributes).to_json(out / "people.json")
    explained = SurrogateExplainer(lambda rows: np.asarray(rows)[:, 0] > 60, 50, domain=Domain(attributes)).fit(frame)
    explained.release().to_json(out / "release.json")
    (out / "black_box.py").write_text(
        "def decide(rows):\n    return ['yes' if row[0] > 60 else 'no' for row in rows.iter_rows()]\n"
    )
    (out / "blocked").mkdir()
    (out / "blocked" / "sitecustomize.py").write_text(BLOCK.format(names=sorted(others(packages_distributions()))))
    return out


TRAINED = "--data records.csv --target ill --domain domain.json"
FIT = "records.csv --target ill --domain domain.json --epsilon 1 --overwrite"
COMMANDS = (
    f"audit tree.json {TRAINED} --holdout records.csv -o page.html --overwrite",
    f"audit tree.json {TRAINED} --only disclosure --sensitive ill --remedies",
    f"audit tree.json {TRAINED} --to sarif out.sarif --overwrite",
    f"audit tree.json {TRAINED} --to acro acro --overwrite",
    "audit tree.json --domain domain.json --ci junit",
    f"fit tree {FIT} -o private.json --report private.html",
    f"fit rule-list {FIT} -o list.json",
    f"fit greedy-rule-list {FIT} -o greedy.json",
    f"fit additive {FIT} -o additive.json",
    f"fit scorecard {FIT} -o card.json",
    f"summarize {FIT} -o summary.json",
    f"compare {FIT} --splits 2 --models tree -o compared.html",
    f"scrub tree.json {TRAINED} -o copy.json --overwrite",
    "rebuild tree.json --domain domain.json",
    "domain infer records.csv -o draft.json --overwrite",
    "domain check domain.json --data records.csv",
    "export tree.json --to pmml -o tree.pmml --overwrite",
    "explain make people.csv --domain people.json --black-box black_box:decide --k 50 -o explained.json --overwrite",
)
NEEDING = {
    "export tree.json --to onnx -o tree.onnx": "glassine[formats]",
    "export tree.json --to sklearn -o tree.skops": "glassine[formats]",
    "explain serve release.json": "glassine[server]",
    "certificate keys private.pem public.pem": "glassine[server]",
}
"""Commands that need an extra, and which."""


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(glassine_command()), *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PYTHONPATH": f"{folder / 'blocked'}:{folder}", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.split()[:2]))
def test_a_command_needs_no_more_than_the_run_environment(folder: Path, command: str) -> None:
    done = run(folder, command)
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert "pip install" not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", NEEDING, ids=lambda command: " ".join(command.split()[:3]))
def test_a_command_that_needs_more_names_the_extra(folder: Path, command: str) -> None:
    done = run(folder, command)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert NEEDING[command] in done.stderr


def test_what_only_extras_install_is_known() -> None:
    assert {"pandas", "uvicorn", "onnx", "skops", "cryptography", "pytest"} <= others(packages_distributions())
    assert {"numpy", "polars", "typer", "glassine", "sklearn"}.isdisjoint(others(packages_distributions()))
