"""The report: findings as one page of HTML, or as text.

Findings become a :class:`Summary`, plain values that hold every word and figure that is shown; the renderers only lay
it out.
"""

from glassine.report.attack import render_attack_html, render_attack_text
from glassine.report.html import render_html
from glassine.report.summary import Summary, summarize
from glassine.report.surrogates import render_surrogates, render_surrogates_text
from glassine.report.terminal import render_rich, render_text

__all__ = [
    "Summary",
    "render_attack_html",
    "render_attack_text",
    "render_html",
    "render_rich",
    "render_surrogates",
    "render_surrogates_text",
    "render_text",
    "summarize",
]
