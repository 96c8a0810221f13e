"""ACRO's record and the names of files: what an analyst wrote there is neither released nor in the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassine.auditing.policy import NAMED
from glassine.desk import Desk, Person
from glassine.desk.acro import OF_GLASSINE
from glassine.desk.releasing import release, sign
from glassine.errors import DeskError, RefusedActionError
from tests.desk.desks import BERG, OKAFOR, RULES, SIGNED_FOR, approve, bound, look, ready, render


def released_as(folder: Path, files: dict[str, str], results: object) -> Path:
    """Release files beside a record of ACRO, and return the folder."""
    (folder / "results.json").write_text(json.dumps({"results": results}))
    for name, text in files.items():
        (folder / name).write_text(text)
    first, second = Desk(folder, OKAFOR), Desk(folder, BERG)
    look(first)
    second.scan()
    for desk in (first, second):
        for name in files:
            approve(desk, name, reason="looked at")
    first.refresh()
    return release(first, sign(first, {**SIGNED_FOR, "files": ready(first)}), render)


def test_nothing_that_an_analyst_wrote_into_the_record_of_acro_is_released(tmp_path: Path) -> None:
    cells = {
        "Bob Smith, born 1980": [[0, 0]],
        "threshold": [[1, 0], [0, 0], [0, 0], [2, 0], [0, 1], [-1, 0], [True, 0], [199203, 77123], [0], "x"],
        "p-ratio": 5,
        "missing": [[199203, 77123]],
    }
    entry = {"type": "Bob Smith", "files": [{"name": "table.csv", "sdc": {"cells": cells}}, {"name": "\ud800"}]}
    text = {"type": "table", "files": [{"name": "note.txt", "sdc": {"cells": {"threshold": [[0, 0]]}}}]}
    results = {"Bob \ud800": entry, "output_7": text, "b": {"files": [{"name": "none.txt", "sdc": {"cells": 5}}]}}
    files = {"table.csv": "group,n\nsmokers,3\nothers,97\n", "note.txt": "a,b\nc,d\n"}
    written = json.loads((released_as(tmp_path, files, results) / "results.json").read_text())["results"]
    assert list(written) == ["output_7", "table.csv"]
    assert written["table.csv"]["files"] == [
        {"name": "table.csv", "sdc": {"summary": {}, "cells": {"threshold": [[0, 0], [1, 0]]}}}
    ]
    assert (written["table.csv"]["type"], written["output_7"]["files"][0]["sdc"]) == ("custom", {})


def test_the_marks_of_an_audit_are_known() -> None:
    for named in NAMED.values():
        assert {rule.name for rule in named.policy.criteria if rule.flag is not None} == {*OF_GLASSINE}


def test_a_record_of_acro_of_any_size_fits_an_event(tmp_path: Path) -> None:
    marked = {rule: [[99_999, number] for number in range(10_000)] for rule in RULES}
    entry: dict[str, Any] = {"summary": "\U0001f600" * 9_000, "comments": ["\U0001f600" * 9_000] * 99}
    entry |= dict.fromkeys(("uid", "type", "status", "exception"), entry["summary"])
    entry["files"] = [{"name": "table.csv", "sdc": {"cells": marked}}]
    (tmp_path / "results.json").write_text(json.dumps({"results": [entry]}))
    (tmp_path / "table.csv").write_text("a,b\n")
    assert Desk(tmp_path, OKAFOR).scan() == 2


@pytest.mark.parametrize("name", ["record.json", "Record.HTML", "record.signed.json", "RESULTS.json", "\udcff.txt"])
def test_what_no_release_can_hold_is_not_signed(tmp_path: Path, name: str) -> None:
    try:
        (tmp_path / name).write_text("text")
    except OSError:
        pytest.skip("this system has no such names")
    first, second = Desk(tmp_path, OKAFOR), Desk(tmp_path, BERG)
    look(first)
    second.scan()
    for desk in (first, second):
        approve(desk, name, reason="looked at")
    first.refresh()
    with pytest.raises(RefusedActionError, match="cannot be released"):
        sign(first, {**SIGNED_FOR, "files": ready(first)})
    assert not first.refresh().signings


def entry_of(name: str, **more: Any) -> str:
    return json.dumps({"version": "1", "results": {"a": {"type": "table", "files": [{"name": name}], **more}}})


def released_with_acro(folder: Path) -> Path:
    """Release a model and a table of ACRO, whose record is of an older version, and return the folder."""
    folder.mkdir()
    (folder / "rules.txt").write_text(RULES)
    (folder / "table.csv").write_text("group,n\nsmokers,3\n")
    entry = {
        "uid": "output_0",
        "status": "fail",
        "type": "table",
        "summary": "fail; threshold: 1 cells; ",
        "files": [{"name": "table.csv", "sdc": {"cells": {"threshold": [[0, 0]]}}}, {"name": "../rules.txt"}],
        "comments": ["a comment of the analyst"],
        "exception": "an exception of the analyst",
    }
    session = {"uid": "session_summary", "files": [{"name": "secret.txt"}], "summary": "DO_NOT_RELEASE"}
    (folder / "secret.txt").write_text("the session")
    results = {"output_0": entry, "session_summary": session}
    (folder / "results.json").write_text(json.dumps({"version": "0.4.11", "results": results}))
    (folder / "checksums").mkdir()
    (folder / "checksums" / "table.csv.txt").write_text("0" * 64)
    first, second = Desk(folder, OKAFOR), Desk(folder, BERG)
    look(first)
    second.scan()
    for desk in (first, second):
        for name in ("rules.txt", "table.csv"):
            approve(desk, name, reason="looked at")
    first.refresh()
    return release(first, sign(first, {**SIGNED_FOR, "files": ready(first)}), render)


def test_acro_goes_in_and_out_by_an_allow_list(tmp_path: Path) -> None:
    before = tmp_path / "study"
    written = released_with_acro(before)
    desk = Desk(before, OKAFOR)
    desk.scan()
    files = {file.name: file.now.acro for file in desk.state.files.values()}
    table, secret = files["table.csv"], files["secret.txt"]
    assert table is not None
    assert (table["checksum"], table["cells"]) == ("differs", {"threshold": [[0, 0]]})
    assert files["rules.txt"] is None
    assert secret is not None
    assert secret["blocked"]
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        approve(desk, "secret.txt", reason="why not")
    text = (written / "results.json").read_text()
    results = json.loads(text)["results"]
    assert list(results) == ["rules.txt", "output_0"]
    assert results["output_0"]["files"][0]["sdc"]["cells"] == {"threshold": [[0, 0]]}
    assert not any(word in text for word in ("session_summary", "DO_NOT_RELEASE", "of the analyst", "secret"))
    # The submitted record and its checksums are as they were.
    assert (before / "checksums" / "table.csv.txt").read_text() == "0" * 64
    assert [path.name for path in (before / "checksums").iterdir()] == ["table.csv.txt"]


def test_an_entry_of_acro_that_lands_after_its_file_is_recorded_and_blocks(
    desks: tuple[Desk, Desk], folder: Path
) -> None:
    first, second = desks
    for desk in desks:
        approve(desk, "rules.txt")
    files = (first.refresh(), ready(first))[1]
    (folder / "results.json").write_text(entry_of("rules.txt", summary="DO_NOT_RELEASE"))
    # Before the desk has recorded it, too.
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        sign(first, {**SIGNED_FOR, "files": files})
    third = Desk(folder, Person(account="third", name="T", role="checker"))
    assert first.scan() == 2
    second.refresh()
    assert [second.scan(), first.scan()] == [0, 0]
    third.refresh()
    assert (third.file(bound(third, "rules.txt")[0]).now.acro or {})["blocked"]
    (folder / "results.json").unlink()
    first.scan()
    with pytest.raises(RefusedActionError, match="DO_NOT_RELEASE"):
        sign(first, {**SIGNED_FOR, "files": ready(first)})


def test_the_longest_entry_loses_no_other_file_and_a_failed_write_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(folder, OKAFOR)
    long = "\N{GRINNING FACE}" * 3_000
    cells = {rule: [[999_999 - n, 999_999] for n in range(20_000)] for rule in ("threshold", "p-ratio")}
    more = dict.fromkeys(("uid", "type", "status", "exception"), long) | {"comments": [long] * 60}
    files = [{"name": "rules.txt", "sdc": {"cells": cells}}]
    (folder / "results.json").write_text(entry_of("", **more, files=files, summary=f"DO_NOT_RELEASE {long}"))
    (folder / "other.txt").write_text("other")

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Desk, "append", fail)
        with pytest.raises(DeskError, match="disk is full"):
            desk.scan()
    assert desk.scan() == 3
    recorded = desk.file(bound(desk, "rules.txt")[0]).now.acro or {}
    assert (recorded["blocked"], len(recorded["comments"][0])) == (True, 2000)
    assert desk.scan() == 0
