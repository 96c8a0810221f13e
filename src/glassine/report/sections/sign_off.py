"""The sign-off: what only a person can state, if it was stated."""

from __future__ import annotations

from collections.abc import Iterator

from glassine.auditing.findings import Findings
from glassine.report import wording
from glassine.report.blocks import Definitions, Paragraph
from glassine.report.section import Section

__all__ = ["sign_off_section"]

ONLY_A_PERSON = "Only a person can state this. Glassine fills in nothing."
EMPTY = "(empty)"


def sign_off_section(findings: Findings) -> Iterator[Section]:
    """Yield what a person stated of the release; for the checker with the fields that are empty."""
    stated = findings.sign_off
    filled = {name: wording.clean(getattr(stated, name)) for name in stated.names() if name not in stated.empty}
    names = tuple(filled) if findings.audience == "public" else stated.names()
    if not names:
        return
    labels = {name: name.replace("_", " ").capitalize() for name in names}
    empty = ", ".join(labels[name].lower() for name in names if name not in filled)
    yield Section(
        id="sign-off",
        title="Sign-off",
        blocks=(
            Paragraph(text=ONLY_A_PERSON, tone="note"),
            Definitions(tuple((labels[name], (filled.get(name, EMPTY),)) for name in names)),
        ),
        text=(
            *(f"{labels[name]}: {text}" for name, text in filled.items()),
            *((f"Empty, as only a person can state it: {empty}.",) if empty else ()),
        ),
    )
