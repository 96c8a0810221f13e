"""Commands in an environment of ``requirements/run.txt`` alone: they work, or say which extra they need."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, distributions
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, as_model
from glassine.cli.entry import COMMANDS
from glassine.formats.canonical import written
from glassine.formats.registry import formats, writer
from tests.repo.code_blocks import ROOT

STATED = """
name = "Visits"
data_curators = ["A clinic"]
description = "A tree"
intended_use = "Teaching"
data_product_region = "Nowhere"
publication_date = 2026-11-01
registry_authors = ["A clinic"]
"""


def plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> set[str]:
    """Return the names of the packages of the lock file."""
    text = (ROOT / "requirements" / "run.txt").read_text()
    return {plain_name(name) for name in re.findall(r"(?m)^([A-Za-z0-9_.-]+)==", text)}


def tops(distribution: Distribution) -> set[Path]:
    """Return the files and folders of a package that lie in the folder of packages itself."""
    tops = {file.parts[0] for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
    return {Path(str(distribution.locate_file(name))) for name in tops}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make an environment that has the packages of the lock file and this one, as links to those that are here."""
    made = tmp_path_factory.mktemp("environment")
    venv.create(made, symlinks=True, with_pip=False)
    (packages,) = made.glob("lib/python*/site-packages")
    names = locked()
    for distribution in distributions():
        if plain_name(distribution.metadata["Name"]) in names | {"glassine"}:
            for path in tops(distribution):
                if path.suffix != ".pth":
                    (packages / path.name).symlink_to(path)
    (packages / "source.pth").write_text(f"{ROOT / 'src'}\n")
    return made / "bin" / "python"


def run(python: Path, folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), "-m", "glassine", *command.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )


def make_files(out: Path) -> None:
    """Write records, a domain, a tree in four formats, and a black box of Python."""
    rng = np.random.default_rng(0)
    age, visits = rng.integers(18, 100, 400), rng.poisson(3, 400).clip(0, 20)
    ill = np.where(rng.random(400) < 1 / (1 + np.exp(-0.07 * (age - 60))), "yes", "no")
    frame = pl.DataFrame({"age": age, "visits": visits, "ill": ill})
    frame.write_csv(out / "records.csv")
    frame.write_parquet(out / "records.parquet")
    attributes = {"age": Integer(18, 110, thresholds=(30, 50, 70)), "visits": Integer(0, 50, thresholds=(2, 4))}
    Domain({**attributes, "ill": Category(("no", "yes"))}).to_json(out / "domain.json")
    Domain(attributes).to_json(out / "people.json")
    frame.drop("ill").write_csv(out / "people.csv")
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(np.stack([age, visits], axis=1), ill)
    model = as_model(fitted, Domain(attributes))
    for to in ("json", "onnx", "pmml"):
        (out / f"tree.{to}").write_bytes(written(model, writer(to, model)))
    skops.io.dump(fitted, out / "tree.skops")
    (out / "statements.toml").write_text(STATED)
    (out / "black_box.py").write_text(
        "def decide(rows):\n    return ['yes' if row[0] > 60 else 'no' for row in rows.iter_rows()]\n"
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_files(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make what commands that need an extra read, with the environment of the tests."""
    out = tmp_path_factory.mktemp("signed")
    make_files(out)
    frame = pl.read_csv(out / "people.csv")
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(frame.to_numpy(), np.arange(400) % 2)
    (out / "forest.pkl").write_bytes(pickle.dumps(forest))
    (out / "folder").mkdir()
    for command in (
        f"fit tree {FIT} -o private.json",
        "explain make people.csv --domain people.json --black-box black_box:decide --k 50 -o release.json",
        "certificate keys secret.pem publisher.pem",
        "certificate sign private.certificate.json --key secret.pem -o certificate.json",
        "explain sign release.json --key secret.pem -o signed.json",
    ):
        done = run(Path(sys.executable), out, command)
        assert done.returncode == 0, done.stderr
    return out


PUBLIC = "--target ill --domain domain.json"
TRAINED = f"--data records.csv {PUBLIC}"
FIT = f"records.csv {PUBLIC} --epsilon 1"
LEDGER = "--ledger budgets.db --dataset visits"
WALKS: dict[str, tuple[str, ...]] = {
    "audits": (
        f"audit tree.json {TRAINED} --holdout records.csv --shadows 4 -o page.html --clean-copy clean.json",
        f"audit tree.json --data records.parquet {PUBLIC} --only disclosure --sensitive ill --remedies",
        f"audit tree.pmml {TRAINED} --json -o report.json",
        "audit tree.json tree.pmml --domain domain.json -o both.html",
        "audit tree.json tree.pmml --data records.csv --domain domain.json --together",
        *(f"audit tree.json {TRAINED} --to {form} {form}" for form in ("acro", "junit", "plain", "sarif", "summary")),
        *(f"audit tree.json --domain domain.json --ci {name}" for name in ("github", "gitlab", "junit")),
        *(f"evidence report.json --for {who} -o {who}.html" for who in ("tre", "tehdas", "edpb", "nist", "hipaa")),
        "rebuild tree.json --domain domain.json --no-rows",
        f"scrub tree.json {TRAINED} -o copy.json",
    ),
    "domains": (
        "domain infer records.csv -o draft.toml",
        "domain infer records.parquet",
        "domain new --model tree.json -o form.toml",
        "domain check domain.json --data records.csv",
        "demo --output shown",
    ),
    "private trees": (
        "ledger budget budgets.db visits 3",
        f"fit tree {FIT} {LEDGER} -o private.json --report private.html",
        f"fit rule-list {FIT} -o list.json",
        f"fit greedy-rule-list {FIT} -o greedy.json",
        "ledger charge budgets.db visits 0.5 --note Another",
        "ledger show budgets.db",
        "ledger verify budgets.db --certificates private.certificate.json",
        f"certificate verify private.json private.certificate.json {LEDGER.partition(' --dataset')[0]}",
        "certificate tie private.json records.csv -o tie.json --tie-key tie.key",
        "certificate registry private.certificate.json --statements statements.toml -o record.yaml",
        "evidence private.certificate.json --for tre",
    ),
    "additive models": (
        f"fit additive {FIT} -o additive.json",
        f"fit scorecard {FIT} -o card.json",
        "edit additive.json --smooth visits -o edited.json --page editor.html",
        f"fit additive {FIT} -o second.json",
        "merge additive.json second.json -o merged.json",
        "export card.json --to card -o card.html",
        "export additive.json --to csv",
    ),
    "summaries": (
        f"summarize {FIT.replace('epsilon 1', 'epsilon 20')} -o summary.json",
        "fit tree --summary summary.json -o following.json",
        "compare --summary summary.json",
        "sample summary.json --n-rows 20 -o rows.parquet",
        f"compare {FIT} --splits 2 --models tree,additive,cart,logistic,boosting -o compared.html",
    ),
    "exports": tuple(f"export tree.json --to {form}" for form in ("pmml", "python", "sql", "text", "json", "csv")),
    "explanations": (
        "explain make people.csv --domain people.json --black-box black_box:decide --k 50 -o release.json "
        "--report release.html",
        'explain answer release.json --query {"age":40,"visits":2} --decision no',
        "explain verify release.json",
    ),
}
"""Commands in the order in which they are run."""
NEEDING = {
    "export tree.json --to onnx -o exported.onnx": "formats",
    "export tree.json --to sklearn -o exported.skops": "formats",
    "audit tree.skops --domain domain.json": "formats",
    "audit tree.onnx --domain domain.json": "formats",
    "scrub tree.onnx --domain domain.json -o copy.json": "formats",
    "rebuild tree.skops --domain domain.json": "formats",
    "domain new --model tree.skops": "formats",
    "explain make people.csv --domain people.json --black-box tree.onnx --k 50 -o other.json": "formats",
    "explain make people.csv --domain people.json --black-box tree.skops --k 50 -o other.json": "formats",
    "explain serve release.json": "server",
    "explain keys private.pem public.pem": "server",
    "explain sign release.json --key secret.pem -o other.json": "server",
    "explain verify signed.json --public-key publisher.pem": "server",
    "certificate keys private.pem public.pem": "server",
    "certificate sign private.certificate.json --key secret.pem -o other.json": "server",
    "certificate verify private.json certificate.json --public-key publisher.pem": "server",
    "desk folder --no-open-browser": "desk",
    "rebuild forest.pkl --trust-pickle --domain people.json -o rows.csv": "solver",
}
"""Commands that need an extra, and which."""


@pytest.mark.slow
def test_the_environment_has_the_packages_of_the_lock_file_alone(python: Path) -> None:
    code = "import importlib.metadata as m; print(*(d.metadata['Name'] for d in m.distributions()))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    packages = {plain_name(name) for name in done.stdout.split()}
    assert {"glassine", "numpy", "polars", "typer"} <= packages <= locked() | {"glassine"}
    # Of the lock file only what is for another system is missing.
    assert len(locked() - packages) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_a_command_needs_no_more_than_the_run_environment(walk: str, folder: Path, python: Path) -> None:
    for command in WALKS[walk]:
        done = run(python, folder, command)
        assert done.returncode in (0, 1, 3), f"{command}: {done.stderr}"
        assert "Traceback" not in done.stderr, f"{command}: {done.stderr}"
        assert "pip install" not in done.stdout + done.stderr, f"{command}: {done.stdout}{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("command", NEEDING)
def test_a_command_that_needs_more_names_the_extra(command: str, signed: Path, python: Path) -> None:
    done = run(python, signed, command)
    assert (done.returncode, done.stdout) == (2, ""), done.stdout
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert f"pip install 'glassine[{NEEDING[command]}]'" in done.stderr


def test_every_command_and_form_is_run_there() -> None:
    lines = [*(line for walk in WALKS.values() for line in walk), *NEEDING]
    assert [words for words, *_ in COMMANDS if not any(line.startswith(f"{words} ") for line in lines)] == []
    assert [one.to for one in formats() if one.to and not any(f"--to {one.to}" in line for line in lines)] == []
