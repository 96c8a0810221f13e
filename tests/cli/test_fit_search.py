"""``glassine fit --search`` and ``--max-depth auto:N``: what is chosen, charged, said, written and refused."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import polars as pl
import pytest

from glassine import Certificate, Domain, Integer, Ledger
from glassine.learners import PrivateSearchCV, PrivateTreeClassifier, suggested_depth
from glassine.privacy.accounting import Parallel
from tests.cli.running import Run, attributes, listing, people, process
from tests.formats.reading import read_cells

COMMON = ("people.csv", "--target", "ill", "--epsilon", "0.5", "--domain", "domain.json", "-o", "m.json")
CHARGED = ("--ledger", "budget.sqlite", "--dataset", "people")
TREE = ("fit", "tree", *COMMON, "--search", "max-depth=1,2")


def certified(folder: Path) -> Certificate:
    return Certificate.from_json((folder / "m.certificate.json").read_text())


@pytest.mark.slow
def test_a_search_is_charged_once_and_every_output_says_what_was_chosen(folder: Path) -> None:
    done = process("", *TREE, *CHARGED, "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    model, certificate = read_cells(folder / "m.json"), certified(folder)
    assert model.guarantee is not None
    assert model.guarantee.setting in ("max_depth=1", "max_depth=2")
    assert (model.guarantee.epsilon, certificate.epsilon, certificate.holds) == (0.5, 0.5, True)
    search = certificate.public["search"]
    assert search["chosen"] == model.guarantee.setting
    assert search["settings"] == ["max_depth=1", "max_depth=2"]
    assert search["epsilon of each fit"] == 0.2
    (event,) = certificate.events
    assert isinstance(event, Parallel)
    (entry,) = Ledger(folder / "budget.sqlite").entries("people")
    assert (float(entry.epsilon), entry.note) == (0.5, "search over 2 settings of PrivateTreeClassifier")
    said = " ".join(done.stdout.split())
    assert f"A search chose {model.guarantee.setting} from 2 settings: max_depth=1; max_depth=2." in said
    assert "each fit had epsilon 0.2" in said
    assert "entry 1. people: epsilon 0.5 of 1 spent" in said
    assert model.guarantee.setting in (folder / "r.html").read_text()
    assert json.loads((folder / "m.json").read_text())["guarantee"]["setting"] == model.guarantee.setting


def test_the_command_line_finds_what_the_class_finds(folder: Path, run: Run) -> None:
    done = run(*TREE, "--search", "split-weight=0.5,1", "--literals", "thresholds", "--seed", "3", "--json", cwd=folder)
    assert done.status == 0, done.err
    tree = PrivateTreeClassifier(domain=Domain(attributes()), literals="thresholds")
    grid = {"max_depth": [1, 2], "split_weight": [0.5, 1.0]}
    search = PrivateSearchCV(tree, grid, epsilon=0.5, random_state=3).fit(people().drop("id"), "ill")
    assert read_cells(folder / "m.json") == search.model_
    plain = json.loads(done.out)
    assert plain["search"]["chosen"] == ", ".join(f"{name}={value}" for name, value in search.best_params_.items())
    assert {**plain["certificate"], "file": None} == search.certificate_.to_dict()


@pytest.mark.parametrize("model", ["tree", "rule-list", "greedy-rule-list", "additive"])
def test_every_kind_of_model_has_a_grid_of_its_own(model: str, folder: Path, run: Run) -> None:
    done = run("fit", model, *COMMON, "--search", "default", "--json", cwd=folder)
    assert done.status == 0, done.err
    search = json.loads(done.out)["search"]
    assert search["chosen"] in search["settings"]
    assert len(search["settings"]) > 1
    assert certified(folder).holds


@pytest.mark.slow
def test_words_and_deltas_can_be_searched_too(folder: Path, run: Run) -> None:
    chosen = ("--search", "literals=thresholds,quantiles", "--search", "max_depth=1,2")
    done = run("fit", "tree", *COMMON, *chosen, "--json", cwd=folder)
    assert done.status == 0, done.err
    assert len(json.loads(done.out)["search"]["settings"]) == 4
    more = ("--overwrite", "--delta", "1e-5", "--search", "interactions=auto,0", "--json")
    assert run("fit", "additive", *COMMON, *more, cwd=folder).status == 0
    assert certified(folder).delta == 1e-5


def test_a_search_for_persons_covers_all_records_of_one(folder: Path, run: Run) -> None:
    frame = people().with_columns(id=pl.col("id") // 3)
    frame.write_csv(folder / "people.csv")
    done = run(*TREE, "--person", "id", "--records-per-person", "3", cwd=folder)
    assert done.status == 0, done.err
    assert certified(folder).unit.most_records == 3
    assert "person, at most 3 records each" in " ".join(done.out.split())


REFUSED = {
    "a name that is no option": (("max-dept=1,2",), "names 'max-dept', which cannot be searched", "Did you mean 'max-"),
    "what is the same for all settings": (("time-limit=1,2",), "names 'time-limit'", "There are max-depth"),
    "what is spent": (("epsilon=1,2",), "names 'epsilon'", "cannot be searched"),
    "no values": (("max-depth",), "must be an option and its values, such as max-depth=1,2,3,4", "got 'max-depth'"),
    "an empty list": (("max-depth=",), "--search max-depth= has no value", "List values"),
    "a value of another type": (("max-depth=1,deep",), "must list a whole number, got 'deep'", ""),
    "a word that there is not": (("literals=auto,quantile",), "got 'quantile'", "Did you mean 'quantiles'?"),
    "a value twice": (("max-depth=2,2",), "lists a value twice", "Drop the repeat"),
    "a name twice": (("max-depth=1,2", "max_depth=3,4"), "--search sets max-depth twice", ""),
    "one setting": (("max-depth=2",), "nothing to choose", "leave it out"),
    "a value out of its range": (("max-depth=1,99",), "--max-depth must be a whole number in [1, 8], got 99", ""),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_searched_is_refused_before_anything_is_spent(case: str, folder: Path, run: Run) -> None:
    texts, *said = REFUSED[case]
    before = listing(folder)
    words = [word for text in texts for word in ("--search", text)]
    done = run("fit", "tree", *COMMON, *CHARGED, *words, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    for part in said:
        assert part in done.err, done.err
    assert listing(folder) == before
    assert not Ledger(folder / "budget.sqlite").entries("people")


CONTRADICTIONS = {
    "an option that is set besides": ("tree", ("--max-depth", "2"), "--max-depth and --search both set --max-depth"),
    "no privacy": ("tree", ("--not-private",), "--search does not apply to an optimal tree"),
    "a rule that chooses": ("tree", ("--max-depth", "auto:300"), "--max-depth and --search both set --max-depth"),
    "an account that does not hold": ("greedy-rule-list", ("--accounting", "published"), "--accounting published"),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_a_search_that_contradicts_another_option_is_refused(case: str, folder: Path, run: Run) -> None:
    model, words, said = CONTRADICTIONS[case]
    before = listing(folder)
    done = run("fit", model, *COMMON, *CHARGED, "--search", "default", *words, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert listing(folder) == before


def test_a_model_of_numbers_is_not_searched(folder: Path, run: Run) -> None:
    Domain({**attributes(), "score": Integer(0, 100)}).to_json(folder / "domain.json")
    people().with_columns(score=pl.col("age")).write_csv(folder / "people.csv")
    words = ("people.csv", "--target", "score", "--epsilon", "0.5", "--domain", "domain.json", "-o", "m.json")
    done = run("fit", "additive", *words, "--search", "default", cwd=folder)
    assert done.status == 2
    assert "--search does not apply to a model of numbers" in done.err


def test_a_search_that_cannot_be_paid_spends_nothing(folder: Path, run: Run) -> None:
    before = listing(folder)
    done = run(*TREE[:6], "1.5", *TREE[7:], *CHARGED, cwd=folder)
    assert done.status == 2
    assert "not enough budget for 'people'" in done.err
    assert listing(folder) == before


KILL = """
import os, signal
import glassine.sealed.selection as searching
def struck(*args, **kwargs): os.kill(os.getpid(), signal.SIGINT)
searching.best_of_runs = struck
"""


@pytest.mark.slow
def test_a_search_that_is_interrupted_stays_charged_and_writes_nothing(folder: Path) -> None:
    before = set(listing(folder))
    done = process(KILL, *TREE, *CHARGED, cwd=folder)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert "entry 1 of budget.sqlite stays charged: epsilon 0.5 is spent." in done.stderr
    assert set(listing(folder)) - before == {"m.certificate.json"}
    assert certified(folder).public["released"].startswith("nothing")


def test_a_searched_model_is_replaced_only_on_demand(folder: Path, run: Run) -> None:
    assert run(*TREE, cwd=folder).status == 0
    before = listing(folder)
    done = run(*TREE, *CHARGED, cwd=folder)
    assert done.status == 2
    assert "cannot write m.json: it exists" in done.err
    assert listing(folder) == before
    assert run(*TREE, *CHARGED, "--overwrite", cwd=folder).status == 0


@pytest.mark.parametrize(("guess", "epsilon"), [(300, "0.5"), (26_000, "0.1"), (1_000_000, "1")])
def test_a_depth_from_public_figures_costs_nothing_and_is_said(
    guess: int, epsilon: str, folder: Path, run: Run
) -> None:
    words = ("people.csv", "--target", "ill", "--epsilon", epsilon, "--domain", "domain.json", "-o", "m.json")
    done = run("fit", "tree", *words, "--max-depth", f"auto:{guess}", "--seed", "0", cwd=folder)
    assert done.status == 0, done.err
    depth = suggested_depth(guess, float(epsilon), 4)
    assert f"The largest depth, {depth}, follows from public figures and costs nothing." in done.out
    tree = PrivateTreeClassifier(depth, epsilon=float(epsilon), domain=Domain(attributes()), random_state=0)
    assert read_cells(folder / "m.json") == tree.fit(people().drop("id"), "ill").model_
    assert certified(folder).epsilon == float(epsilon)


def test_a_depth_from_public_figures_needs_a_public_guess_and_privacy(folder: Path, run: Run) -> None:
    for word in ("auto", "auto:", "deep", "auto:-3"):
        done = run("fit", "tree", *COMMON, "--max-depth", word, cwd=folder)
        assert (done.status, done.out) == (2, "")
        assert "public guess N of the number of records" in done.err
    done = run("fit", "tree", *COMMON[:3], *COMMON[5:], "--not-private", "--max-depth", "auto:9", cwd=folder)
    assert "--max-depth auto does not apply" in done.err
