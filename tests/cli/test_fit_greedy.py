"""``glassine fit --model greedy-rule-list``: mechanisms, accountings, and what does not apply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassine import Certificate, Ledger, RuleList, load_model
from tests.cli.running import Run

GREEDY = (
    *("fit", "greedy-rule-list", "people.csv", "--target", "ill", "--max-rules", "2"),
    *("--domain", "domain.json", "-o", "g.json"),
)


def read(folder: Path) -> tuple[Any, Certificate]:
    return load_model(folder / "g.json"), Certificate.from_json((folder / "g.certificate.json").read_text())


def test_counted_gini_is_what_is_learnt_if_nothing_is_said(folder: Path, run: Run) -> None:
    done = run(*GREEDY, "--epsilon", "0.5", cwd=folder)
    assert done.status == 0, done.err
    model, certificate = read(folder)
    assert isinstance(model, RuleList)
    assert certificate.holds
    assert certificate.public["mechanism"] == "counted-gini"
    assert "Guarantee: epsilon 0.5, delta 0" in done.out
    assert "The classes follow from the noisy counts." in " ".join(done.out.split())


def test_a_mechanism_with_delta_is_charged_with_it(folder: Path, run: Run) -> None:
    Ledger(folder / "budget.sqlite").budget("more", 2, 0.01)
    done = run(
        *(*GREEDY, "--mechanism", "smooth-laplace", "--epsilon", "1", "--delta", "1e-4", "--min-support", "0.1"),
        *("--ledger", "budget.sqlite", "--dataset", "more"),
        cwd=folder,
    )
    assert done.status == 0, done.err
    model, certificate = read(folder)
    assert (certificate.delta, model.guarantee.delta) == (1e-4, 1e-4)
    (entry,) = Ledger(folder / "budget.sqlite").entries("more")
    assert float(entry.delta) == 1e-4
    assert certificate.public["minimum support"] == 0.1


def test_the_published_accounting_says_that_it_does_not_hold(folder: Path, run: Run) -> None:
    done = run(*GREEDY, "--mechanism", "smooth-laplace", "--epsilon", "1", "--accounting", "published", cwd=folder)
    assert done.status == 0, done.err
    _, certificate = read(folder)
    assert not certificate.holds
    assert "as published; see errata: the guarantee does not hold as stated" in " ".join(done.out.split())
    headline = done.out.splitlines()[0]
    assert headline.endswith("grown as published at a stated epsilon 1, which does not hold.")
    assert "private" not in headline.lower()


def test_a_published_fit_with_a_ledger_needs_a_delta(folder: Path, run: Run) -> None:
    book = Ledger(folder / "budget.sqlite")
    book.budget("more", 2, 0.01)
    published = (*GREEDY, "--mechanism", "smooth-laplace", "--epsilon", "1", "--accounting", "published")
    done = run(*published, "--ledger", "budget.sqlite", "--dataset", "more", cwd=folder)
    assert done.status == 2
    assert "delta is needed with a ledger" in done.err
    assert book.entries("more") == ()


def test_without_privacy(folder: Path, run: Run) -> None:
    done = run(*GREEDY, "--not-private", "--json", cwd=folder)
    assert done.status == 0, done.err
    assert json.loads(done.out)["error_rate"] < 0.3
    model, certificate = read(folder)
    assert model.guarantee is None
    assert certificate.epsilon == float("inf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--epsilon is needed"),
        (("--epsilon", "1", "--mechanism", "gini"), "noisy-counts, counted-gini, got 'gini'"),
        (("--epsilon", "1", "--mechanism", "smooth-laplace"), "--mechanism smooth-laplace needs --delta"),
        (("--epsilon", "1", "--delta", "1e-6"), "private without a delta"),
        (("--epsilon", "1", "--rule-weight", "2"), "fit greedy-rule-list has no option --rule-weight"),
        (("--epsilon", "1", "--memory-limit", "1e9"), "fit greedy-rule-list has no option --memory-limit"),
        (("--not-private", "--epsilon", "1"), "--epsilon does not apply to a greedy rule list without privacy"),
        (("--not-private", "--mechanism", "counted-gini"), "--mechanism does not apply"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    arguments: tuple[str, ...], message: str, folder: Path, run: Run
) -> None:
    done = run(*GREEDY, *arguments, cwd=folder)
    assert done.status == 2
    assert message in done.err
    assert not (folder / "g.json").exists()


def test_options_of_greedy_lists_do_not_apply_to_trees(folder: Path, run: Run) -> None:
    tree = ("fit", "tree", "people.csv", "--target", "ill", "--epsilon", "1", "--domain", "domain.json", "-o", "t.json")
    for option in (("--mechanism", "counted-gini"), ("--delta", "1e-6"), ("--accounting", "strict")):
        done = run(*tree, *option, cwd=folder)
        assert done.status == 2
        assert f"fit tree has no option {option[0]}" in done.err
