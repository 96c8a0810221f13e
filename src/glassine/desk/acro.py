"""ACRO's ``results.json``: any version is read; what is written is built by an allow-list."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassine.desk.folder import Folder, one_component
from glassine.errors import DeskError

RESULTS = "results.json"
ACRO_FILES = (RESULTS, "config.json")
"""Files that ACRO writes beside what it is about."""
LARGEST = 20_000_000
"""Bytes of the largest ``results.json``."""
BLOCKED = "DO_NOT_RELEASE"
MOST_CELLS, LARGEST_CELL = 10_000, 1_000_000
"""Marked cells of a file that are kept, and the number of a row or column that none has."""
MOST_COMMENTS, LONGEST = 20, 2_000
OF_GLASSINE = ("share_in_small_leaves", "smallest_leaf", "purest_leaf", "largest_bits_per_record")
"""Rules that mark cells of the table that an audit writes for ACRO."""
RULES = ("threshold", "p-ratio", "nk-rule", "negative", "missing", "all-values-are-same", *OF_GLASSINE)
TYPES = ("table", "regression", "model", "histogram", "survival plot", "plot", "custom")
"""Rules and types of outputs that ACRO knows; an analyst's words under these keys are not published."""
UID = re.compile(r"output_\d{1,6}", re.ASCII)
"""Names that ACRO itself gives to outputs."""
VERSION = "1.0.2"
"""Version whose reader the written file is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcroEntry:
    """What ACRO says of one file; all of it is stated by the analyst."""

    uid: str
    type: str
    status: str
    summary: str
    comments: tuple[str, ...]
    exception: str
    cells: dict[str, list[list[int]]] = field(default_factory=dict)  # Marked cells by rule
    checksum: str = ""  # As ACRO recorded it
    blocked: bool = False

    def body(self, digest: str) -> dict[str, Any]:
        """Return what an event holds of it, beside the hash of the bytes that were seen."""
        same = {"": "none", digest: "same"}.get(self.checksum, "differs")
        return {
            "uid": self.uid,
            "type": self.type,
            "status": self.status,
            "summary": self.summary,
            "comments": list(self.comments),
            "exception": self.exception,
            "cells": self.cells,
            "checksum": same,
            "blocked": self.blocked,
        }


def read_acro(folder: Folder) -> dict[str, AcroEntry]:
    """Return ACRO's entries by file of the folder; none if the file is no such record. Any version is read."""
    try:
        values = json.loads(folder.read(RESULTS, LARGEST))
    except (DeskError, ValueError, RecursionError):
        return {}
    results = values.get("results") if isinstance(values, dict) else None
    named = results.items() if isinstance(results, dict) else enumerate(results) if isinstance(results, list) else ()
    entries: dict[str, AcroEntry] = {}
    for uid, value in named:
        files = value.get("files") if isinstance(value, dict) else None
        for file in files if isinstance(files, list) else ():
            name = file.get("name") if isinstance(file, dict) else file
            if isinstance(name, str) and one_component(name):
                entries[name] = _entry(folder, str(value.get("uid", uid)), value, file, name)
    return entries


def _entry(folder: Folder, uid: str, value: Mapping[str, Any], file: object, name: str) -> AcroEntry:
    sdc = file.get("sdc") if isinstance(file, dict) else None
    marked = _marked(sdc.get("cells") if isinstance(sdc, dict) else None, (LARGEST_CELL, LARGEST_CELL))
    comments = value.get("comments")
    texts = comments if isinstance(comments, list) else [comments] if comments else []
    try:
        checksum = folder.read(f"{name}.txt", 200, under="checksums").decode("ascii", "replace").strip().lower()
    except DeskError:
        checksum = ""
    said = [uid, *(_text(value.get(key)) for key in ("status", "summary", "exception")), *map(_text, texts)]
    return AcroEntry(
        uid=_text(uid),
        type=_text(value.get("type")),
        status=_text(value.get("status")),
        summary=_text(value.get("summary")),
        comments=tuple(map(_text, texts[:MOST_COMMENTS])),
        exception=_text(value.get("exception")),
        cells=marked,
        checksum=checksum,
        blocked=any(BLOCKED in one for one in said),
    )


def _marked(cells: object, shape: tuple[int, int]) -> dict[str, list[list[int]]]:
    """Return the marked cells in a table of so many rows and columns, by rule, each once and in order."""
    marked: dict[str, list[list[int]]] = {}
    left = MOST_CELLS
    for rule in RULES:
        places = cells.get(rule) if isinstance(cells, dict) else None
        pairs = {
            (place[0], place[1])
            for place in (places if isinstance(places, list) else ())
            if isinstance(place, list)
            and [type(index) for index in place] == [int, int]
            and all(0 <= index < most for index, most in zip(place, shape, strict=True))
        }
        # The order and the repetitions of an analyst's list would say more than the marks.
        if kept := [list(pair) for pair in sorted(pairs)[:left]]:
            marked[rule] = kept
            left -= len(kept)
    return marked


def shape_of(path: Path) -> tuple[int, int]:
    """Return how many rows and columns of a table ACRO can mark: none of a file that is no text with separators."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv"):
        return 0, 0
    rows = columns = 0
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream, suppress(csv.Error):
        for row in csv.reader(stream, delimiter="\t" if ending == ".tsv" else ","):
            rows, columns = rows + 1, max(columns, len(row))
    # Marks are counted after the header and the first column.
    return max(rows - 1, 0), max(columns - 1, 0)


def _text(value: object) -> str:
    # A lone half of a pair can be written to no file.
    return str(value)[:LONGEST].encode(errors="replace").decode() if isinstance(value, str | int | float) else ""


def as_results(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a ``results.json`` of approved files alone, which ACRO's own reader opens.

    Nothing of a submitted ``results.json`` is copied but the type and the id, if they are ACRO's own words, and the
    cells of the released table that known rules mark. Other files have the type ``custom`` and their name as the id.
    """
    # files: name, acro (an event's entry or None), shape, reason and at of each approved file.
    results: dict[str, Any] = {}
    for file in files:
        entry = file["acro"] or {}
        uid = entry["uid"] if UID.fullmatch(str(entry.get("uid"))) else file["name"]
        while uid in results:
            uid += "-"
        cells = _marked(entry.get("cells"), file["shape"])
        results[uid] = {
            "uid": uid,
            "status": "review",
            "type": entry["type"] if entry.get("type") in TYPES else "custom",
            "properties": {},
            "files": [{"name": file["name"], "sdc": {"summary": {}, "cells": cells} if cells else {}}],
            "outcome": {},
            "command": "",
            "summary": "review; ",
            "timestamp": file["at"][:19],
            "comments": [file["reason"]] if file["reason"] else [],
            "exception": "",
            "fair": {},
        }
    return {"version": VERSION, "results": results}
