"""The report on membership attacks: a page, and text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from glassine import __version__
from glassine.findings import InputFile, MembershipFinding
from glassine.report import wording
from glassine.report.html import environment
from glassine.report.membership import membership_view
from glassine.report.roc import draw_roc

__all__ = ["render_attack_html", "render_attack_text"]

WIDTH = 88


def render_attack_html(
    found: MembershipFinding, *, title: str, described: str = "", inputs: Sequence[InputFile] = ()
) -> str:
    """Return what membership attacks found as one HTML page that loads nothing from anywhere.

    Parameters
    ----------
    found : MembershipFinding
        What the attacks found.
    title, described : str
        Title of the page, and a line on the model.
    inputs : sequence of InputFile
        The files that were read.
    """
    view = membership_view(found)
    cleaned = [
        InputFile(role=wording.clean(file.role), name=wording.clean(file.name), sha256=wording.clean(file.sha256))
        for file in inputs
    ]
    return (
        environment()
        .get_template("attack.html")
        .render(
            view=view,
            chart=draw_roc(view.curve, view.strongest),
            title=wording.clean(title),
            described=wording.clean(described),
            inputs=cleaned,
            version=__version__,
        )
    )


def render_attack_text(found: MembershipFinding) -> str:
    """Return what membership attacks found as plain text, at most 88 characters wide."""
    view = membership_view(found)
    lines = [*_wrap(view.sentence, ""), "", "Attacks: advantage with its interval; 0 is guessing"]
    for row in view.rows:
        lines += _wrap(f"[{row.state}] {row.name}{f': {row.advantage}' if row.advantage else ''}", "    ")
        lines += _wrap(row.meaning, "    ", first="    ")
    lines += ["", "Beside them"]
    for fact in view.facts:
        lines += _wrap(f"{fact.name}: {fact.value}. {fact.meaning}", "    ")
    return "\n".join(lines) + "\n"


def _wrap(text: str, hang: str, first: str | None = None) -> list[str]:
    lead = first if first is not None else ("  " if hang else "")
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=hang, break_on_hyphens=False)
