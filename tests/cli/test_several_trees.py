"""Files of several trees on the command line: one of them, or all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from glassine import Domain, Integer, Real
from tests.cli.running import Run

FILES = Path(__file__).parents[1] / "formats" / "files"


@pytest.fixture
def boosted(tmp_path: Path) -> Path:
    shutil.copy(FILES / "lightgbm_three.txt", tmp_path / "three.txt")
    Domain({"age": Integer(18, 90), "dose": Real(-5.0, 5.0, 0.01)}).to_json(tmp_path / "domain.json")
    return tmp_path


def test_an_audit_judges_several_trees_together(boosted: Path, run: Run) -> None:
    done = run("audit", "three.txt", "--json", cwd=boosted)
    assert done.status in (0, 1, 3), done.err
    assert json.loads(done.out)["subject"]["kind"] == "ensemble"
    form = run("domain", "new", "--model", "three.txt", "-o", "form.toml", cwd=boosted)
    assert form.status == 0, form.err
    assert "age" in (boosted / "form.toml").read_text()


def test_which_of_several_trees_is_exported_must_be_said(boosted: Path, run: Run) -> None:
    done = run("export", "three.txt", "--to", "text", cwd=boosted)
    said = " ".join(done.err.split())
    assert done.status == 2
    assert "holds 3 trees" in said
    assert "--tree 0 reads the first; glassine rebuild reads all, if its trees publish counts." in said
    assert "load_model" not in said


def test_each_tree_is_read(boosted: Path, run: Run) -> None:
    told = [run("export", "three.txt", "--to", "text", "--tree", str(i), cwd=boosted) for i in range(3)]
    assert [done.status for done in told] == [0, 0, 0]
    assert len({done.out for done in told}) == 3


@pytest.mark.parametrize("place", [0, 2])
def test_an_audit_says_that_the_others_were_not_judged(place: int, boosted: Path, run: Run) -> None:
    done = run("audit", "three.txt", "--tree", str(place), "--json", cwd=boosted)
    found = json.loads(done.out)
    assert found["subject"]["source"] == f"tree {place} of 3 of LightGBM"
    assert found["notes"].count(f"Tree {place} of 3; the other 2 were not judged.") == 1


def test_a_tree_that_is_not_there_is_refused(boosted: Path, run: Run) -> None:
    done = run("audit", "three.txt", "--tree", "3", cwd=boosted)
    assert done.status == 2
    assert "--tree must be a whole number from 0 to 2" in done.err


def test_reconstruct_reads_all_of_them(boosted: Path, run: Run) -> None:
    done = run("rebuild", "three.txt", "--domain", "domain.json", "--no-rows", cwd=boosted)
    assert done.status == 0, done.err
    assert [f"tree {i}:" in done.out for i in (1, 2, 3)] == [True, True, True]
    assert "together:" in done.out
