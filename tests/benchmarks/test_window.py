"""The shop window: equal code shows equal things, and a difference is found, named and printed."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

import glassine

window: Any = importlib.import_module("benchmarks.window")
commands: Any = importlib.import_module("benchmarks.artefacts.commands")
fits: Any = importlib.import_module("benchmarks.artefacts.fits")

PART = ("--only", "files/rpart.txt", "--only", "learners/optimal rules", "--only", "help/explain serve")


@pytest.fixture
def frozen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "window"
    assert window.main(["freeze", str(folder), *PART]) == 0
    assert "of 4 cases" in capsys.readouterr().out
    return folder


@pytest.mark.slow
def test_the_same_code_shows_the_same(frozen: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert window.main(["compare", str(frozen), *PART]) == 0
    assert " 0 differ, 0 missing, 0 new." in capsys.readouterr().out
    index = json.loads((frozen / "index.json").read_text())
    assert {window.case_of(name) for name in index} == {
        *("files/rpart.txt", "learners/optimal rules", "learners/optimal rules, pairs", "help/explain serve")
    }
    assert all((frozen / entry["file"]).is_file() for entry in index.values())


def test_a_planted_difference_is_found_and_no_other(
    frozen: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = glassine.formats.to_sql
    monkeypatch.setattr(
        glassine.formats, "to_sql", lambda *a, **k: honest(*a, **k).replace("SELECT", "SELECT DISTINCT", 1)
    )
    assert window.main(["compare", str(frozen), *PART]) == 1
    out = capsys.readouterr().out
    differing = [line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith("differs")]
    assert differing == ["files/rpart.txt/model.sql.txt", "files/rpart.txt/tree 0.sql.txt"]
    assert "+++ after" in out
    assert "SELECT DISTINCT" in out


def test_what_fails_is_shown_and_does_not_stop_the_rest(
    frozen: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> str:
        raise RuntimeError("planted")

    monkeypatch.setattr(glassine.formats, "to_sql", fail)
    assert window.main(["compare", str(frozen), *PART]) == 1
    out = capsys.readouterr().out
    assert "new      files/rpart.txt/failed.txt" in out
    assert "RuntimeError: planted" in out
    assert "missing  files/rpart.txt/model.json" in out
    assert "equal    learners" in out
    assert window.main(["freeze", str(frozen.parent / "other"), "--only", "files/rpart.txt"]) == 1


def test_other_bytes_of_the_same_values_differ() -> None:
    one, other = (window.artefact("model.json", text) for text in ('{"a": 1}', '{"a":1}'))
    assert one.text == other.text
    assert window.differ({"x": one}, {"x": other})
    assert "    the same values, laid out in other bytes" in list(window.compared({"x": one}, {"x": other}))
    assert not window.differ({"x": one}, {"x": one})
    assert window.differ({"x": one}, {})


def test_a_long_difference_is_cut_unless_all_of_it_is_wanted() -> None:
    one, other = (window.artefact("a.txt", "\n".join(f"{mark}{i}" for i in range(100))) for mark in "ab")
    short, whole = (list(window.compared({"x": one}, {"x": other}, full=full)) for full in (False, True))
    assert any("--full" in line for line in short)
    assert len(short) < len(whole)
    assert "    +b99" in whole


@pytest.mark.parametrize("text", ["Glassine {v}: WITHIN POLICY", '"version": "{v}"', "<small>Glassine {v}</small>"])
def test_versions_are_masked_and_other_numbers_are_not(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for version in (glassine.__version__, "7.12.3"):
        monkeypatch.setattr(glassine, "__version__", version)
        seen.append(window.masked(text.format(v=version), Path("folder"), "audit/tree"))
    assert seen[0] == seen[1] == text.format(v="<version>")
    assert window.masked("epsilon 7.12.3", Path("folder"), "audit/tree") == "epsilon 7.12.3"


def test_what_a_machine_takes_is_masked() -> None:
    """A run that compiles, and a slower one, show what others show."""
    said = "glassine: compiling for this machine, which takes some seconds. It is kept in /a/b.\nWITHIN POLICY\n"
    assert window.masked(said, Path("folder"), "audit/tree") == "WITHIN POLICY\n"
    timed = '{"auroc": {"value": 0.8}, "seconds": {"value": 0.1, "values": [\n0.1]}}'
    assert window.masked(timed, Path("folder"), "compare/few") == '{"auroc": {"value": 0.8}, "seconds": "<seconds>"}'


def test_a_folder_of_other_files_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(SystemExit, match="other files"):
        window.freeze(tmp_path, {})
    with pytest.raises(SystemExit, match="no window"):
        window.frozen(tmp_path)
    with pytest.raises(SystemExit, match="no case"):
        window.main(["freeze", str(tmp_path / "new"), "--only", "nothing at all"])
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_every_command_and_learner_has_a_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert window.main(["list"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert len(names) == len(set(names)) > 300
    lines = [line for case in commands.COMMANDS.values() for line in case]
    for name in commands.HELP:
        if name not in ("", "fit", "domain", "ledger", "explain"):
            assert any(line.startswith(f"{name} ") and not line.endswith("--help") for line in lines), name
    learners = {type(make()).__name__ for make in fits.FITS.values()}
    public = {name for name in glassine.learners.__all__ if name.endswith(("Classifier", "Regressor"))}
    assert public | {"SurrogateExplainer"} == learners
