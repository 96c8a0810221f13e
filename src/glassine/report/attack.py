"""The report on membership attacks: a page, and text."""

from __future__ import annotations

from collections.abc import Sequence

from glassine.auditing.findings import InputFile, MembershipFinding
from glassine.report.charts import draw_roc
from glassine.report.html import render_page
from glassine.report.lines import wrap
from glassine.report.membership import membership_view
from glassine.report.wording import HOLDER_ONLY

__all__ = ["render_attack_html", "render_attack_text"]


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
    return render_page(
        "attack.html",
        view=view,
        chart=draw_roc(view.curve, view.curve_of),
        title=title,
        described=described or view.described,
        inputs=inputs,
        holder_only=True,
    )


def render_attack_text(found: MembershipFinding) -> str:
    """Return what membership attacks found as plain text, at most 88 characters wide."""
    view = membership_view(found)
    lines = [HOLDER_ONLY, *wrap(view.sentence, ""), "", "Attacks: advantage with its interval; 0 is guessing"]
    for row in view.rows:
        lines += wrap(f"[{row.state}] {row.name}{f': {row.advantage}' if row.advantage else ''}", "    ")
        lines += wrap(row.meaning, "    ", first="    ")
    lines += ["", "Beside them"]
    for fact in view.facts:
        lines += wrap(f"{fact.name}: {fact.value}. {fact.meaning}", "    ")
    return "\n".join(lines) + "\n"
