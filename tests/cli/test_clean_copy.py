"""What of a file may be released: the file as Glassine writes it, which ``audit --clean-copy`` writes."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import skops.io

from glassine.domain import Domain, Integer
from glassine.formats import load_file, load_model
from tests.cli.running import Run
from tests.formats.smuggling import MARK, RECORDS, fitted_tree

RULES = "classes: [no] [yes]\nif [age < 40] then [no] ([2000 ; 1000] examples)\nelse [yes] ([3000 ; 4000] examples)\n"
DOMAIN = Domain({"age": Integer(0, 99, thresholds=(40,))})
STATED = ("--one-record-per-person", "--domain", "domain.json")


@pytest.fixture
def hiding(folder: Path) -> Path:
    """Write a skops file with records in an attribute of the tree, and rules with a comment, which are harmless."""
    tree = fitted_tree()
    tree.notes_ = RECORDS
    (folder / "tree.skops").write_bytes(skops.io.dumps(tree))
    (folder / "rules.txt").write_text(f"# {MARK}\n{RULES}")
    DOMAIN.to_json(folder / "domain.json")
    return folder


def of(done: Any, rule: str) -> Any:
    return next((check for check in json.loads(done.out)["checks"] if check["rule"] == rule), None)


def test_the_verdict_is_on_the_model_and_names_the_copy_that_may_be_released(hiding: Path, run: Run) -> None:
    done = run("audit", "rules.txt", *STATED, cwd=hiding)
    assert done.status == 0, done.out + done.err
    file = load_file(hiding / "rules.txt", DOMAIN)
    said = " ".join(done.out.split())
    assert "Release only the clean copy." in said
    assert f"the clean copy of rules.txt sha256 {hashlib.sha256(file.copy).hexdigest()}" in said
    assert MARK not in done.out
    assert sorted(path.name for path in hiding.glob("*clean*")) == [], "nothing is written unasked"


def test_the_option_writes_the_copy_in_the_same_run_and_the_copy_is_released_as_it_is(hiding: Path, run: Run) -> None:
    done = run("audit", "rules.txt", *STATED, "--clean-copy", "clean.txt", cwd=hiding)
    assert done.status == 0, done.err
    digest = hashlib.sha256((hiding / "clean.txt").read_bytes()).hexdigest()
    assert f"Release only the clean copy: clean.txt\n  sha256 {digest}\n" in done.out
    assert MARK not in (hiding / "clean.txt").read_text()
    assert load_model(hiding / "clean.txt", DOMAIN) == load_model(hiding / "rules.txt", DOMAIN)
    again = run("audit", "clean.txt", *STATED, cwd=hiding)
    assert again.status == 0
    assert f"Only this file may be released: clean.txt\n  sha256 {digest}\n" in again.out


@pytest.mark.parametrize("strict", [("--policy", "tre"), ("--ci", "github"), ("--policy", "own.toml")])
def test_where_a_clean_copy_is_required_the_remedy_of_a_foreign_file_makes_it_pass(
    strict: tuple[str, ...], hiding: Path, run: Run
) -> None:
    (hiding / "own.toml").write_text("require_clean_copy = true\n")
    done = run("audit", "rules.txt", *STATED, *strict, "--json", cwd=hiding)
    assert done.status == 1
    check = of(done, "require_clean_copy")
    assert (check["status"], check["measured"], check["limit"]) == ("fail", 1, 0)
    assert [one["status"] for one in json.loads(done.out)["checks"]].count("fail") == 1
    (advised,) = (one["text"] for one in json.loads(done.out)["advice"] if "--clean-copy" in one["text"])
    option = shlex.split(advised.split("`")[1])
    assert option == ["--clean-copy", "clean.txt"]
    remedied = run("audit", "rules.txt", *STATED, *strict, *option, "--json", cwd=hiding)
    assert remedied.status == 0, remedied.err
    assert of(remedied, "require_clean_copy")["status"] == "pass"
    copied = run("audit", "clean.txt", *STATED, *strict, "--json", cwd=hiding)
    assert copied.status == 0
    assert json.loads(copied.out)["files"] == [
        {
            "format": "a rule list",
            "n_bytes": (hiding / "clean.txt").stat().st_size,
            "canonical": True,
            "clean_copy": None,
            "name": "",
            "uncopied": "",
        }
    ]


def test_a_pipeline_does_not_change_the_name_of_the_policy(hiding: Path, run: Run) -> None:
    done = run("audit", "rules.txt", *STATED, "--ci", "github", "--json", cwd=hiding)
    assert json.loads(done.out)["policy_source"].startswith("default:")


def test_the_copy_is_json_where_the_files_own_format_does_not_keep_the_model(hiding: Path, run: Run) -> None:
    done = run("audit", "tree.skops", "--clean-copy", "clean.bin", "--json", cwd=hiding)
    assert done.status in (1, 3)
    (file,) = json.loads(done.out)["files"]
    assert not file["canonical"]
    assert file["clean_copy"]["name"] == "clean.bin"
    assert MARK.encode() not in (hiding / "clean.bin").read_bytes()
    copied, given = load_model(hiding / "clean.bin"), load_model(hiding / "tree.skops")
    assert replace(copied, source="") == replace(given, source="")


def test_a_file_that_glassine_wrote_is_copied_as_it_is(hiding: Path, run: Run) -> None:
    assert run("export", "rules.txt", "--to", "json", "-o", "rules.json", cwd=hiding).status == 0
    done = run("audit", "rules.json", *STATED, "--clean-copy", "clean.json", cwd=hiding)
    assert done.status == 0
    assert (hiding / "clean.json").read_bytes() == (hiding / "rules.json").read_bytes()
    assert "Only this file may be released: rules.json" in done.out


def test_of_several_files_the_table_says_which_are_released_by_a_copy(hiding: Path, run: Run) -> None:
    assert run("export", "rules.txt", "--to", "json", "-o", "rules.json", cwd=hiding).status == 0
    done = run("audit", "rules.txt", "rules.json", *STATED, cwd=hiding)
    assert done.status == 0
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.startswith("rules.")}
    assert "release only the clean copy" in rows["rules.txt"]
    assert "release only the clean copy" not in rows["rules.json"]


def test_a_clean_copy_is_of_one_model_and_never_its_own_source(hiding: Path, run: Run) -> None:
    for words, message in (
        (("rules.txt", "--clean-copy", "rules.txt"), "is read or written already"),
        (("rules.txt", "tree.skops", "--clean-copy", "c.json"), "--clean-copy writes the copy of one model"),
        (("rules.txt", "--only", "reconstruction", "--clean-copy", "c.json"), "without --only"),
    ):
        refused = run("audit", *words, cwd=hiding)
        assert refused.status == 2
        assert message in refused.err
        assert not (hiding / "c.json").exists()


def test_an_export_needs_a_form(hiding: Path, run: Run) -> None:
    refused = run("export", "rules.txt", cwd=hiding)
    assert refused.status == 2
    assert "--to" in refused.err
