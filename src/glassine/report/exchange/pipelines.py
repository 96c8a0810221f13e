"""Findings in a pipeline: job summary, annotations, JUnit and SARIF. They stand where logs stand, and are public."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.blocks import CheckRow
from glassine.report.sections.policy import checked


def escaped(text: str) -> str:
    """Return a text that Markdown and HTML show unchanged."""
    plain = wording.clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\*_[]`|" else c for c in plain)


def with_code(text: str) -> str:
    """Return a text that Markdown shows unchanged, but for what stands between backticks: that is set as code."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"`{wording.clean(part)}`" if i % 2 else escaped(part) for i, part in enumerate(parts))


MOST_ANNOTATIONS = 10
"""GitHub shows ten annotations of a kind for each step, and drops the others."""

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"fail": "error", "unknown": "warning"}
STATES = {"pass": "pass", "fail": "**fail**", "unknown": "**unknown**", "not applicable": "not applicable"}


def as_summary(findings: Findings, path: str) -> str:
    """Return a job summary in Markdown: the verdict, the checks, and what to do."""
    # The findings hold nothing that is for the checker only; path is the file as the pipeline names it.
    rows = [
        f"| {escaped(one.label)} | {escaped(one.measured)} | {escaped(one.limit)} | {STATES[one.status]} |"
        for one in checked(findings)
    ]
    out = [f"## {escaped(path)}: {findings.verdict}", "", escaped(findings.decision), ""]
    if rows:
        out += ["| Check | Measured | Limit | |", "| --- | --- | --- | --- |", *rows, ""]
    open_ = [one for one in checked(findings) if one.status in LEVELS]
    out += [f"- **{escaped(one.label)}**: {escaped(one.meaning)}" for one in open_]
    if open_:
        out.append("")
    out += [f"{number}. {with_code(str(remedy))}" for number, remedy in enumerate(findings.advice, start=1)]
    if findings.advice:
        out.append("")
    digest = next((file.sha256 for file in findings.inputs if file.role in ("model", "release")), None)
    tied = f" SHA-256 of the file: `{digest}`." if digest else ""
    return "\n".join([*out, f"Glassine {findings.version}.{tied}", ""])


def as_annotations(findings: Findings | str, path: str) -> str:
    """Return workflow commands of GitHub: an error for each check that failed, a warning for each unknown one."""
    # A file that could not be audited, of which there is the reason alone, is an error.
    if isinstance(findings, str):
        return f"::error file={_property(path)},title=Not audited::{_data(findings)}\n"
    lines = [
        f"::{LEVELS[one.status]} file={_property(path)},title={_property(one.label)}::{_data(one.sentence)}"
        for one in checked(findings)
        if one.status in LEVELS
    ]
    return "".join(f"{line}\n" for line in lines[:MOST_ANNOTATIONS])


def _data(text: str) -> str:
    return wording.clean(text.replace("\n", " ")).replace("%", "%25").replace("\r", "%0D")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_junit(audits: Mapping[str, Findings | str]) -> str:
    """Return a JUnit report, a suite for each file and a test case for each rule."""
    # An unknown check is an error, as is a file that could not be audited, so that neither reads as a pass. Names hold
    # the path, as of equal names only the first counts. audits has the findings on each file, without what is for the
    # checker only, or why it could not be audited.
    suites = [_suite(path, outcome) for path, outcome in audits.items()]
    total = sum((counts for counts, _ in suites), Counter[str]())
    lines = (line for _, part in suites for line in part)
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {_numbers(total)}>", *lines, "</testsuites>\n"]
    )


def _suite(path: str, outcome: Findings | str) -> tuple[Counter[str], list[str]]:
    if isinstance(outcome, str):
        counts = Counter({"unknown": 1})
        head = f'<testcase classname="glassine.policy" name={_quoted(f"{path}: audit")} file={_quoted(path)} time="0">'
        cases = [f'{head}<error message={_quoted(outcome)} type="not audited"/></testcase>']
    else:
        counts = Counter(one.status for one in checked(outcome))
        cases = [_case(one, path) for one in checked(outcome)]
    return counts, [f"<testsuite name={_quoted(f'glassine: {path}')} {_numbers(counts)}>", *cases, "</testsuite>"]


def _numbers(counts: Counter[str]) -> str:
    return (
        f'tests="{counts.total()}" failures="{counts["fail"]}" errors="{counts["unknown"]}" '
        f'skipped="{counts["not applicable"]}" time="0"'
    )


def _case(one: CheckRow, path: str) -> str:
    head = f'<testcase classname="glassine.policy" name={_quoted(f"{path}: {one.rule}")} file={_quoted(path)} time="0"'
    message, body = _quoted(f"{one.measured} (limit: {one.limit})"), escape(wording.clean(one.meaning))
    inner = {
        "pass": "",
        "fail": f'<failure message={message} type="fail">{body}</failure>',
        "unknown": f'<error message={message} type="unknown">{body}</error>',
        "not applicable": f"<skipped message={message}/>",
    }[one.status]
    return f"{head}>{inner}</testcase>" if inner else f"{head}/>"


def _quoted(text: str) -> str:
    return quoteattr(wording.clean(text))


def as_sarif(findings: Findings, path: str) -> dict[str, Any]:
    """Return SARIF 2.1.0: a result for each check that failed (error) or is unknown (warning)."""
    # Checks that passed are left out: GitHub ignores the kind of a result, so that each would become an alert.
    alerts = [one for one in checked(findings) if one.status in LEVELS]
    uri = quote(PurePath(path).as_posix())
    rules = [
        {
            "id": f"glassine/{one.rule}",
            "shortDescription": {"text": one.label},
            "fullDescription": {"text": f"{one.label}: {one.limit}."},
            "help": {"text": one.meaning},
        }
        for one in alerts
    ]
    digests = [hashlib.sha256(f"{path}\n{one.rule}".encode()).hexdigest() for one in alerts]
    results = [
        {
            "ruleId": f"glassine/{one.rule}",
            "ruleIndex": index,
            "level": LEVELS[one.status],
            "message": {"text": one.sentence},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri},
                        # The finding is about the whole model: a line would say nothing.
                        "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2},
                    }
                }
            ],
            "partialFingerprints": {"primaryLocationLineHash": f"{digest[:16]}:1"},
        }
        for index, (one, digest) in enumerate(zip(alerts, digests, strict=True))
    ]
    driver = {"name": "Glassine", "semanticVersion": findings.version, "rules": rules}
    run = {"tool": {"driver": driver}, "automationDetails": {"id": f"glassine/{path}/"}, "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
