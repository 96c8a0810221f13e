"""``glassine fit tree`` for a target that is a number."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassine import Certificate, Domain, Integer, Real
from glassine.formats import load_model
from tests.cli.running import Run

DOMAIN = Domain({"age": Integer(20, 70, thresholds=(30, 40, 50)), "pay": Real(0.0, 100.0)})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with records of which the pay follows from the age, and the public domain."""
    monkeypatch.chdir(tmp_path)
    age = np.random.default_rng(0).integers(20, 71, 300)
    pl.DataFrame({"age": age, "pay": age + (age > 40) * 20.0}).write_csv("people.csv")
    DOMAIN.to_json("domain.json")
    return tmp_path


FIT = ("fit", "tree", "people.csv", "--target", "pay", "--domain", "domain.json", "-o", "m.json", "--max-depth", "2")


def test_a_number_of_the_domain_as_target_makes_a_regression_tree(folder: Path, run: Run) -> None:
    done = run(*FIT, "--epsilon", "2", "--report", "r.html", cwd=folder)
    assert done.status == 0, done.err
    assert done.out.startswith("Private regression tree")
    assert "The RMSE is not given" in done.out
    assert load_model(folder / "m.json", DOMAIN).classes is None
    certificate = Certificate.from_json((folder / "m.certificate.json").read_text())
    assert certificate.public["range of the target"] == [0.0, 100.0]
    assert "regression tree" in (folder / "r.html").read_text()


def test_the_optimal_regression_tree_states_its_error_beside_that_of_the_mean(folder: Path, run: Run) -> None:
    done = run(*FIT, "--not-private", "--json", cwd=folder)
    assert done.status == 0, done.err
    training = json.loads(done.out)["training"]
    assert 0 < training["rmse"] < training["baseline_rmse"] / 2
    assert "RMSE on the training records" in run(*FIT, "--not-private", "--overwrite", cwd=folder).out


def test_an_option_of_classes_is_refused_for_numbers(folder: Path, run: Run) -> None:
    done = run(*FIT, "--epsilon", "2", "--accuracy-share", "0.5", cwd=folder)
    assert done.status == 2
    assert "--accuracy-share does not apply to a private tree of numbers" in done.err


def test_a_range_is_public(folder: Path, run: Run) -> None:
    Domain({"age": DOMAIN["age"]}).to_json(folder / "domain.json")
    done = run(*FIT, "--epsilon", "2", cwd=folder)
    assert done.status == 2
    assert "--target-range LO,HI for a number" in done.err
    assert run(*FIT, "--epsilon", "2", "--target-range", "0,100", cwd=folder).status == 0


@pytest.mark.parametrize("model", ["tree", "additive"])
def test_one_target_that_is_no_number_does_not_change_how_others_are_read(folder: Path, run: Run, model: str) -> None:
    Domain({"age": DOMAIN["age"]}).to_json(folder / "domain.json")
    lines = "".join(f"{20 + i % 50};{i % 7},5\n" for i in range(300))
    (folder / "good.csv").write_text(f"age;pay\n{lines}")
    (folder / "odd.csv").write_text(f"age;pay\n{lines}1;x\n")
    for name in ("good", "odd"):
        command = ("fit", model, f"{name}.csv", "--target", "pay", "--target-range", "0,7", "--decimal-comma")
        done = run(*command, "--domain", "domain.json", "--epsilon", "5", "-o", f"{name}.json", cwd=folder)
        assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("model", "size"), [("tree", Real(0, 1, thresholds=(0.1 + 0.2,))), ("additive", Real(0.1, 0.7))]
)
def test_numbers_are_short_on_the_screen_and_whole_in_the_file(folder: Path, run: Run, model: str, size: Real) -> None:
    sizes = np.random.default_rng(0).uniform(0.1, 0.7, 300)
    pl.DataFrame({"size": sizes, "pay": 20.0 + 50 * (sizes > 0.3)}).write_csv("people.csv")
    Domain({"size": size, "pay": DOMAIN["pay"]}).to_json("domain.json")
    done = run(*("fit", model), *FIT[2:-2], "--epsilon", "20", cwd=folder)
    assert done.status == 0, done.err
    assert not re.findall(r"[0-9]{12,}", done.out)
    assert "glassine.guarantee" not in done.out
    cuts = re.findall(r'"(?:cuts|above|at_most)": (\[[^\]]*\]|[0-9.]+)', (folder / "m.json").read_text())
    whole = set(re.findall(r"[0-9]\.[0-9]{15,}", " ".join(cuts)))
    texts = [run("export", "m.json", "--to", to, cwd=folder).out for to in ("sql", "python")]
    assert whole
    assert all(number in text for number in whole for text in texts)


@pytest.mark.parametrize("spent", [("--epsilon", "4"), ("--not-private",)])
def test_counts_of_events_are_fitted_with_their_exposures(folder: Path, run: Run, spent: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    age, years = rng.integers(20, 71, 3000), rng.uniform(0.1, 1.0, 3000)
    falls = rng.poisson(years * np.exp((age - 50) / 20)).clip(0, 8)
    pl.DataFrame({"age": age, "years": years, "falls": falls}).write_csv("falls.csv")
    Domain({"age": DOMAIN["age"], "years": Real(0.1, 1.0), "falls": Integer(0, 8)}).to_json("falls.json")
    options = ("--objective", "poisson", "--exposure", "years", "--report", "r.html", "-o", "m.json", *spent)
    done = run("fit", "additive", "falls.csv", "--target", "falls", "--domain", "falls.json", *options, cwd=folder)
    assert done.status == 0, done.err
    model = load_model(folder / "m.json")
    assert model.link == "log"  # type: ignore[union-attr]
    low, high = model.predict({"age": np.array([25.0, 65.0])})
    assert high > 3 * low
    assert "falls" in (folder / "r.html").read_text()
    again = (*options[2:], "--overwrite")
    refused = run("fit", "additive", "falls.csv", "--target", "falls", "--domain", "falls.json", *again, cwd=folder)
    assert refused.status == 2
    assert "--exposure" in refused.err
