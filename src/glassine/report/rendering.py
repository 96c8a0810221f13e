"""Results of every kind as one page of HTML, as text, or as coloured text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassine.report.pages import Reportable, page_of
from glassine.report.section import Page
from glassine.report.text import as_text, colour

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["render_html", "render_rich", "render_text"]


def render_html(result: Reportable | Page, *, title: str | None = None) -> str:
    r"""Return a report as one HTML page that loads nothing from anywhere.

    **Guarantee**: none; the page shows what the findings hold, shares and bits rounded, suppressed sizes as suppressed.

    Parameters
    ----------
    result : Findings, MembershipFinding, DisclosureFinding, Multiplicity, Comparison or Page
        The result of an audit, of attacks, of an estimate of disclosure or of a comparison; what near-optimal trees of
        a summary have in common; or the page of one.
    title : str, optional
        Title of the page, such as ``Privacy of a published decision tree``; that of a page is kept.

    Returns
    -------
    str
        The page. It stays below 1 MB for models of every size: what is left out is stated.

    Examples
    --------
    >>> from glassine import audit, parse_rules
    >>> findings = audit(parse_rules("if [smoker] then [true] ([3 ; 41] examples)\nelse [false] ([52 ; 9] examples)"))
    >>> "Within policy" in render_html(findings)
    True
    """
    # The templates take longer to import than a text takes to print.
    from glassine.report.page import as_html

    return as_html(_page(result, title))


def render_text(result: Reportable | Page) -> str:
    """Return a report as plain text, at most 88 characters wide but for tables and commands.

    Parameters
    ----------
    result : Findings, MembershipFinding, DisclosureFinding, Multiplicity, Comparison or Page
        As for :func:`render_html`.

    Returns
    -------
    str
        The text, with a line feed at its end; some 30 lines for an audit.
    """
    return as_text(_page(result))


def render_rich(result: Reportable | Page) -> Text:
    """Return the text of :func:`render_text` with colours, for a terminal.

    Parameters
    ----------
    result : Findings, MembershipFinding, DisclosureFinding, Multiplicity, Comparison or Page
        As for :func:`render_html`.

    Returns
    -------
    rich.text.Text
        Colour is added to words, never instead of them.
    """
    return colour(_page(result))


def _page(result: Reportable | Page, title: str | None = None) -> Page:
    return result if isinstance(result, Page) else page_of(result, title=title)
