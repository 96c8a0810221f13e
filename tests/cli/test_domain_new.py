"""``glassine domain new`` and ``domain infer --model``: domains of what a model tests, without records or with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassine import Category, Domain, Integer, as_model, write_model
from tests.cli.running import Run, attributes, people


@pytest.fixture
def folder(folder: Path) -> Path:
    """Add a tree that tests the age alone, and a code book."""
    from sklearn.tree import DecisionTreeClassifier

    frame = people()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame.select("age"), frame["ill"])
    write_model(as_model(tree), folder / "tree.json", overwrite=True)
    (folder / "book.csv").write_text("name,type,values\nage,integer,18-90\nill,category,no|yes\n")
    return folder


def test_a_form_from_a_model_alone_is_filled_in_and_then_a_domain(folder: Path, run: Run) -> None:
    done = run("domain", "new", "--model", "tree.json", "-o", "form.toml", cwd=folder)
    assert done.status == 0, done.err
    assert done.out.startswith("form.toml: 1 attribute. Fill in the bounds of 1")
    text = (folder / "form.toml").read_text()
    refused = run("audit", "tree.json", "--domain", "form.toml", cwd=folder)
    assert refused.status == 2
    assert "has no lo yet" in refused.err
    (folder / "form.toml").write_text(text.replace('lo = "?"', "lo = 18").replace('hi = "?"', "hi = 90"))
    for more in ((), ("--json",)):
        done = run("audit", "tree.json", "--domain", "form.toml", *more, cwd=folder)
        assert done.status in (0, 1, 3), done.err
    assert run("domain", "check", "form.toml", "--data", "people.csv", cwd=folder).status == 0


def test_a_form_with_bounds_to_fill_in_is_toml(folder: Path, run: Run) -> None:
    done = run("domain", "new", "--model", "tree.json", "-o", "form.json", cwd=folder)
    assert done.status == 2
    assert "Let the name of the output end in .toml." in done.err
    assert not (folder / "form.json").exists()


def test_a_code_book_gives_a_domain_in_either_form(folder: Path, run: Run) -> None:
    expected = Domain({"age": Integer(18, 90), "ill": Category(("no", "yes"))})
    assert run("domain", "new", "--codebook", "book.csv", "-o", "d.json", cwd=folder).status == 0
    assert run("domain", "new", "--codebook", "book.csv", "-o", "d.toml", cwd=folder).status == 0
    assert Domain.read(folder / "d.json") == expected == Domain.read(folder / "d.toml")
    printed = run("domain", "new", "--codebook", "book.csv", "--model", "tree.json", cwd=folder)
    assert [entry["name"] for entry in json.loads(printed.out)["attributes"]] == ["age"]


def test_a_draft_has_what_the_model_tests_alone(folder: Path, run: Run) -> None:
    done = run("domain", "infer", "people.csv", "--model", "tree.json", "-o", "d.toml", cwd=folder)
    assert done.status == 0, done.err
    assert Domain.read(folder / "d.toml").names == ("age",)
    done = run("domain", "infer", "people.csv", "--model", "tree.json", "--exclude", "age", cwd=folder)
    assert done.status == 2
    assert "tests none of the columns" in done.err


def test_remarks_are_comments_of_a_draft_in_toml(folder: Path, run: Run) -> None:
    (folder / "people.csv").write_text("age;dose\n34;1,5\n58;2,25\n")
    assert run("domain", "infer", "people.csv", "-o", "d.toml", cwd=folder).status == 0
    assert (
        "# numbers with decimal commas, read as texts. Read the file with --decimal-comma"
        in (folder / "d.toml").read_text()
    )


def test_every_command_reads_a_domain_in_toml(folder: Path, run: Run) -> None:
    from glassine.domain.forms import to_toml

    (folder / "domain.toml").write_text(to_toml(Domain(attributes())))
    for words in (
        ("audit", "tree.json"),
        ("scrub", "tree.json", "-o", "s.json"),
        ("rebuild", "tree.json", "--no-rows"),
        ("fit", "tree", "people.csv", "--target", "ill", "--epsilon", "1", "--max-depth", "2", "-o", "m.json"),
    ):
        done = run(*words, "--domain", "domain.toml", cwd=folder)
        assert done.status in (0, 1, 3), done.err


def test_a_domain_needs_a_source(folder: Path, run: Run) -> None:
    assert "Give --model, --codebook or both." in run("domain", "new", cwd=folder).err
    assert "end in .json or .toml" in run("domain", "new", "--codebook", "book.csv", "-o", "d.csv", cwd=folder).err
