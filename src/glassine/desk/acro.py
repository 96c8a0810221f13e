"""ACRO's ``results.json``: any version is read; what is written is built by an allow-list."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from glassine.desk.folder import Folder, one_component
from glassine.errors import DeskError

RESULTS = "results.json"
ACRO_FILES = (RESULTS, "config.json")
"""Files that ACRO writes beside what it is about."""
LARGEST = 20_000_000
"""Bytes of the largest ``results.json``."""
BLOCKED = "DO_NOT_RELEASE"
MOST_CELLS = 10_000
LONGEST = 2_000
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
    cells = sdc.get("cells") if isinstance(sdc, dict) else None
    marked = {}
    for rule, places in cells.items() if isinstance(cells, dict) else ():
        pairs = [p for p in places if isinstance(p, list) and [type(i) for i in p] == [int, int]] if places else []
        if pairs:
            marked[_text(rule)] = pairs[:MOST_CELLS]
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
        comments=tuple(map(_text, texts[:50])),
        exception=_text(value.get("exception")),
        cells=marked,
        checksum=checksum,
        blocked=any(BLOCKED in one for one in said),
    )


def _text(value: object) -> str:
    return str(value)[:LONGEST] if isinstance(value, str | int | float) else ""


def as_results(files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a ``results.json`` of approved files alone, which ACRO's own reader opens.

    Nothing of a submitted ``results.json`` is copied but the id, the type and the marked cells of approved entries;
    a file without an entry gets one of the type ``custom``.
    """
    # files: name, acro (an event's entry or None), reason and at of each approved file.
    results: dict[str, Any] = {}
    for file in files:
        entry = file["acro"] or {}
        uid = entry.get("uid") or file["name"]
        while uid in results:
            uid += "-"
        cells = entry.get("cells") or {}
        results[uid] = {
            "uid": uid,
            "status": "review",
            "type": entry.get("type") or "custom",
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
