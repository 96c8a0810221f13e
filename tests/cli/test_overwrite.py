"""Outputs that exist stay, unless ``--overwrite`` is given: in every command that writes files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from glassine import as_model, write_model
from tests.cli.running import Run, listing, people
from tests.cli.test_help import COMMANDS

OLD = b"what stood here before"
DOMAIN = ("--domain", "domain.json")
WRITING: dict[str, tuple[tuple[str, ...], str]] = {
    "audit": (("audit", "tree.json", *DOMAIN, "--output"), "r.html"),
    "scrub": (("scrub", "tree.json", *DOMAIN, "--output"), "s.json"),
    "scrub with a report": (("scrub", "tree.json", *DOMAIN, "--output", "new.json", "--report"), "r.json"),
    "export": (("export", "tree.json", "--to", "sql", "--output"), "t.sql"),
    "compare": (("compare", "people.csv", "--target", "ill", "--epsilon", "1", *DOMAIN, "--output"), "c.html"),
    "rebuild": (("rebuild", "tree.json", *DOMAIN, "--output"), "rows.csv"),
    "domain infer": (("domain", "infer", "people.csv", "--output"), "d.json"),
    "fit": (("fit", "tree", "people.csv", "--target", "ill", *DOMAIN, "--epsilon", "1", "--output"), "m.json"),
}


@pytest.fixture
def folder(folder: Path) -> Path:
    """Add a tree to the folder."""
    from sklearn.tree import DecisionTreeClassifier

    frame = people()
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame.select("age", "smoker"), frame["ill"])
    write_model(as_model(tree), folder / "tree.json", overwrite=True)
    return folder


@pytest.mark.parametrize("kind", WRITING)
def test_an_output_that_exists_is_refused_before_any_work(kind: str, folder: Path, run: Run) -> None:
    words, output = WRITING[kind]
    (folder / output).write_bytes(OLD)
    before = listing(folder)
    done = run(*words, output, cwd=folder)
    assert (done.status, done.out) == (2, "")
    assert done.err == f"glassine: cannot write {output}: it exists. Name another file, or give --overwrite.\n"
    assert listing(folder) == before


@pytest.mark.parametrize("kind", ["audit", "scrub", "export", "domain infer"])
def test_an_output_that_exists_is_replaced_if_that_is_asked_for(kind: str, folder: Path, run: Run) -> None:
    words, output = WRITING[kind]
    (folder / output).write_bytes(OLD)
    done = run(*words, output, "--overwrite", cwd=folder)
    assert done.status in (0, 1, 3), done.err
    assert (folder / output).read_bytes() != OLD


def test_every_command_that_writes_a_file_can_be_told_to_replace_it() -> None:
    writing = set()
    for path, command in COMMANDS.items():
        options = {option: param for param in command.params for option in param.opts}
        files = [param for param in command.params if (param.help or "").startswith("Write")]
        if files:
            writing.add(path)
            assert "--overwrite" in options, path
    assert {"audit", "scrub", "edit", "compare", "rebuild", "export", "explain make", "explain sign", "demo"} < writing


def test_the_demonstration_replaces_no_file_that_exists(tmp_path: Path, run: Run) -> None:
    (tmp_path / "glassine-demo").mkdir()
    (tmp_path / "glassine-demo" / "tree.json").write_bytes(OLD)
    done = run("demo", cwd=tmp_path)
    assert done.status == 2
    assert "tree.json: it exists" in done.err
    assert listing(tmp_path) == {"tree.json": OLD}


@pytest.mark.slow
def test_the_demonstration_writes_the_files_that_it_names(tmp_path: Path, run: Run) -> None:
    from glassine.cli.demo import FILES

    assert run("demo", cwd=tmp_path).status == 0
    assert {path.name for path in (tmp_path / "glassine-demo").iterdir()} == set(FILES)


def test_a_link_that_leads_nowhere_is_not_replaced(folder: Path, run: Run) -> None:
    (folder / "t.sql").symlink_to("nowhere.sql")
    assert run("export", "tree.json", "--to", "sql", "-o", "t.sql", cwd=folder).status == 2
    assert (folder / "t.sql").is_symlink()
    shutil.copy(folder / "tree.json", folder / "u.sql")
    assert run("export", "tree.json", "--to", "sql", "-o", "u.sql", "--overwrite", cwd=folder).status == 0
