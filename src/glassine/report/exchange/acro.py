"""Findings as an entry of ACRO, which output checkers open in the SACRO viewer."""

from __future__ import annotations

import csv
import hashlib
import importlib.metadata
import io
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from glassine.auditing.findings import Findings, ShownPart
from glassine.auditing.findings.root import plain_value
from glassine.errors import UnreadableFileError
from glassine.files import write_json, write_text
from glassine.report import wording
from glassine.report.exchange.pipelines import as_summary
from glassine.report.sections.policy import checked

VERSION = "1.0.2"
"""Version whose reader the entry is written for, where ACRO is not installed: it reads its own version alone."""

FORMULA = ("=", "+", "-", "@")
COLUMNS = {"small": 1, "pure": 2, "exposed": 3}
"""Flags by the column that they are about, from 0 after the first one; others are about the condition."""


def write_acro(findings: Findings, folder: str | os.PathLike[str], name: str, command: str, at: datetime) -> None:
    """Write a new folder that ACRO's ``load_records`` reads and the SACRO viewer shows."""
    # A failed check is fail, and all else review: with pass a checker may approve without a comment.
    # folder: the folder; it may not exist, as ACRO's own.
    # name: name of the model, by which entry and files are called.
    # Raises UnreadableFileError if the folder exists, or cannot be written.
    target = Path(folder)
    try:
        (target / "checksums").mkdir(parents=True, exist_ok=False)
    except OSError as error:
        raise UnreadableFileError(
            f"cannot write {os.fspath(folder)}: {error.strerror or error}.", remedy="Name a new folder.", path=folder
        ) from None
    uid = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(name).stem) or "model"
    files: list[dict[str, Any]] = []
    parts: tuple[ShownPart, ...] = getattr(findings.value("parts"), "parts", ())
    if parts:
        write_text(_table(parts), target / f"{uid}_leaves.csv")
        files.append({"name": f"{uid}_leaves.csv", "sdc": _marks(findings, parts)})
    write_text(as_summary(findings, name), target / f"{uid}.md")
    files.append({"name": f"{uid}.md", "sdc": {}})
    write_json(
        {"version": _version(), "results": {uid: _entry(findings, uid, files, command, at)}}, target / "results.json"
    )
    write_json(plain_value(findings.policy), target / "config.json")
    for file in files:
        digest = hashlib.sha256((target / file["name"]).read_bytes()).hexdigest()
        write_text(digest, target / "checksums" / f"{file['name']}.txt")


def _version() -> str:
    try:
        return importlib.metadata.version("acro")
    except importlib.metadata.PackageNotFoundError:
        return VERSION


def _entry(findings: Findings, uid: str, files: list[dict[str, Any]], command: str, at: datetime) -> dict[str, Any]:
    status = "fail" if findings.verdict == "outside policy" else "review"
    # The viewer splits at the semicolons: the status first, then a detail a piece.
    details = [f"{one.rule}: {one.status}" for one in checked(findings) if one.status in ("fail", "unknown")]
    return {
        "uid": uid,
        "status": status,
        "type": "model",
        "properties": {"method": findings.subject.kind},
        "files": files,
        "outcome": {},
        "command": wording.clean(command),
        "summary": "; ".join([status, *details]) + "; ",
        "timestamp": at.isoformat(timespec="seconds"),
        "comments": [f"Glassine {findings.version}: {findings.verdict}."],
        "exception": "",
        "fair": {},
    }


def _marks(findings: Findings, parts: tuple[ShownPart, ...]) -> dict[str, Any]:
    """Return the marked cells of the table, by rule: row and column from 0 after the header and the first column."""
    flags = {rule.name: rule.flag.name for rule in findings.policy.criteria if rule.flag is not None}
    judged = {check.rule for check in findings.checks}
    cells = {
        rule: [[row, COLUMNS.get(flag, 0)] for row, part in enumerate(parts) if flag in part.flags]
        for rule, flag in flags.items()
        if rule in judged
    }
    return {"summary": {rule: len(marked) for rule, marked in cells.items()}, "cells": cells}


def _table(parts: tuple[ShownPart, ...]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["part", "condition", "records", "largest share of a class", "bits learned"])
    for part in parts:
        condition = wording.clean(part.condition)
        # A program that opens the table must not take a name for a formula.
        condition = f"'{condition}" if condition.startswith(FORMULA) else condition
        size = "" if part.size is None else str(part.size)
        purity = "" if part.purity is None else f"{part.purity:g}"
        bits = "" if part.bits_learned is None else f"{part.bits_learned:.3g}"
        writer.writerow([part.number, condition.replace("<", "&lt;"), size, purity, bits])
    return out.getvalue()
