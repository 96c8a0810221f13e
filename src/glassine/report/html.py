"""The report as one self-contained page of HTML."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from glassine import __version__
from glassine.auditing.findings import Findings, InputFile
from glassine.report import wording
from glassine.report.additive import draw_figures
from glassine.report.charts import draw_bar, draw_curve, draw_roc
from glassine.report.inputs import clean_inputs
from glassine.report.summary import summarize
from glassine.report.tree_chart import draw_tree

__all__ = ["environment", "render_html", "render_page"]


@functools.cache
def environment() -> Environment:
    """Return the templates of the pages."""
    environment = Environment(
        loader=PackageLoader("glassine.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    environment.globals["draw_bar"] = draw_bar
    environment.filters["bits"] = wording.bits
    environment.filters["percent"] = wording.percent
    environment.filters["plural"] = wording.plural
    return environment


def render_page(
    template: str,
    *,
    title: str,
    described: str = "",
    inputs: Sequence[InputFile] = (),
    holder_only: bool = False,
    **more: Any,
) -> str:
    """Return a page with its head and foot.

    Parameters
    ----------
    template : str
        Name of the template.
    title, described : str
        Title of the page, and a line on what was examined.
    inputs : sequence of InputFile
        The files that were read.
    holder_only : bool, default=False
        Whether the page says at its head that it is for the holder of the data only.
    **more
        What the template shows besides; ``version``, unless it is given, is that of the package.
    """
    head = {
        "title": wording.clean(title),
        "described": wording.clean(described),
        "inputs": clean_inputs(inputs),
        "audience": wording.HOLDER_ONLY if holder_only else "",
    }
    return environment().get_template(template).render({"version": __version__} | more | head)


def _code(text: str) -> Markup:
    """Return text with everything between backticks set as code."""
    pieces = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{0}</code>").format(piece) if i % 2 else Markup.escape(piece) for i, piece in enumerate(pieces)
    )


def render_html(findings: Findings, *, title: str | None = None) -> str:
    """Return the report as one HTML page that loads nothing from anywhere.

    **Guarantee**: none; the page shows what the findings hold, shares and bits rounded, suppressed sizes as suppressed.

    Parameters
    ----------
    findings : Findings
        The result of an audit.
    title : str, optional
        Title of the page; ``Privacy of a published <kind of model>`` otherwise.

    Returns
    -------
    str
        The page. It stays below 1 MB whatever the size of the model: what is left out is stated.

    Examples
    --------
    >>> from glassine.attacks.outcome import NotApplicable
    >>> from glassine.auditing.findings import ModelSummary
    >>> from glassine.auditing.policy import Policy
    >>> none = NotApplicable("nothing was given.")
    >>> findings = Findings(
    ...     verdict="could not tell",
    ...     checks=(),
    ...     model=ModelSummary(
    ...         kind="rule list",
    ...         source="",
    ...         n_parts=0,
    ...         depth=0,
    ...         n_records=None,
    ...         classes=None,
    ...         attributes=(),
    ...         approximate=False,
    ...     ),
    ...     domain=None,
    ...     policy=Policy(),
    ...     reconstruction=none,
    ...     labels=none,
    ...     values=none,
    ...     subgroups=none,
    ...     exposed_rows=none,
    ...     alignment=none,
    ...     sensitive=None,
    ...     parts=(),
    ...     tree=(),
    ...     notes=(),
    ...     advice=(),
    ...     version="0",
    ... )
    >>> "Could not tell" in render_html(findings)
    True
    """
    summary = summarize(findings, title=title)
    drawing, reading = draw_tree(summary.tree, summary.parts)
    return render_page(
        "report.html",
        title=summary.title,
        version=summary.version,
        holder_only=summary.holder_only,
        s=summary,
        curve=draw_curve(summary.curve, top=summary.scale.top, limit=summary.scale.limit),
        drawing=drawing,
        drawing_note=reading,
        shapes=draw_figures(summary.additive),
        roc=draw_roc(summary.membership.curve, summary.membership.curve_of) if summary.membership else "",
    )
