"""ACRO's record and the names of files: what an analyst wrote there is neither released nor in the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from glassine.auditing.policy import NAMED
from glassine.desk import Desk
from glassine.desk.acro import OF_GLASSINE, RULES
from glassine.desk.releasing import release, sign
from glassine.errors import RefusedActionError
from tests.desk.desks import BERG, OKAFOR, approve, look
from tests.desk.test_desk import STATED, ready, render


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
    return release(first, sign(first, {**STATED, "files": ready(first)}), render)


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
        sign(first, {**STATED, "files": ready(first)})
    assert not first.refresh().signings
