"""The page of each kind of result, as HTML or as text.

A measurement that was made has its own section. One that was not is in the list of what was not measured, with
what it needs.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import TYPE_CHECKING, TypeAlias

from glassine.auditing.findings import (
    SCHEMA,
    DisclosureFinding,
    Findings,
    MembershipFinding,
    ReleaseSummary,
    SeveralSummary,
)
from glassine.report import sections, wording
from glassine.report.blocks import Block, Columns, Command, Fact, Failures, Fold, Paragraph, Points, Released
from glassine.report.section import MODEL, Page, Section, sections_of

if TYPE_CHECKING:
    from glassine.comparison import Comparison
    from glassine.learners.summaries.multiplicity import Multiplicity

Reportable: TypeAlias = "Findings | MembershipFinding | DisclosureFinding | Multiplicity | Comparison"
"""What there is a report on."""


def _model(findings: Findings) -> tuple[Section, ...]:
    if findings.model.kind in ("regression", "ensemble"):
        return ()  # its measurement has the section
    terms = findings.value("terms")
    return (sections.model_section(findings) if terms is None else sections.additive_section(terms),)


def audit_page(findings: Findings, *, title: str | None = None, drawn: bool = True) -> Page:
    """Return the report on a tree, a rule list or an additive model; what a text does not show only if ``drawn``."""
    kind = findings.model.kind
    measures = sections.measure_rows(findings)
    claimed, additive = findings.guarantee, findings.value("terms")
    if not drawn:
        figures: tuple[Fact, ...] = ()
    elif claimed is not None:
        figures = sections.guarantee_figures(claimed)
    elif additive is not None:
        figures = sections.additive_figures(additive, findings.policy.small)
    else:
        figures = sections.headline_figures(findings)
    page = sections.judged_page(findings, kind, measures, title=title or f"Privacy of a published {kind}")
    return replace(
        page,
        described=_described(findings),
        figures=figures,
        sections=(
            *((sections.guarantee_section(claimed),) if claimed is not None else ()),
            *page.sections,
            *sections_of(findings, below=MODEL),
            *(_model(findings) if drawn or additive is not None else ()),
            *sections_of(findings, least=MODEL),
            *sections.record_sections(findings, kind),
        ),
        terms=(
            "bit",
            *({"additive model": ("term",), "regression": ()}.get(kind, ("leaf",))),
            "member",
            *(("quasi", "distance") if findings.value("disclosure") is not None else ()),
            *("outcome", "domain", "dist_g", "cut point", "suppressed"),
        ),
        tied=True,
        scripted=True,
    )


def _attacks_page(findings: Findings, title: str | None) -> Page | None:
    """Return the page of an audit of one attack alone, judged where the policy has a check; None of others."""
    if len(findings.measured) != 1:
        return None
    (name,) = findings.measured
    finding = findings.value(name)
    if isinstance(finding, MembershipFinding):
        page = sections.attack_page(finding, title=title, inputs=findings.inputs)
    elif isinstance(finding, DisclosureFinding) and finding.details is not None:
        page = sections.disclosure_page(finding, title=title, inputs=findings.inputs)
    else:
        return None
    page = replace(page, notes=(*map(wording.clean, findings.notes), *page.notes), schema=SCHEMA)
    if not findings.checks:
        return page
    judged = sections.policy_section(findings.checks, findings.policy, findings.model.kind)
    return replace(page, sentence=f"{page.sentence} {findings.decision}", sections=(judged, *page.sections))


def _described(findings: Findings) -> str:
    model = findings.model
    noun = "rule" if model.kind == "rule list" else "leaf"
    depth = f"depth {model.depth}"
    if model.kind == "rule list":
        depth = f"at most {wording.plural(model.depth, 'condition')} per rule"
    said = [model.kind[:1].upper() + model.kind[1:], wording.plural(model.n_parts, noun), depth]
    if model.kind == "regression":
        said = ["Regression", wording.plural(model.n_parts, "column")]
    elif model.kind == "ensemble":
        said = ["Ensemble", wording.plural(model.n_parts, "tree")]
    terms = findings.value("terms")
    summary = findings.value("released")
    if summary is not None:
        said[1:] = [wording.plural(summary.n_attributes, "attribute"), wording.plural(summary.n_values, "noisy number")]
    elif terms is not None:
        said[1:] = [wording.plural(model.n_parts, "term"), wording.plural(terms.n_bins, "bin")]
    if model.n_records is not None:
        noisy = " by noisy counts" if model.count_scale is not None else ""
        noisy = noisy or (" by sums of weights" if model.sizes == "derived" else "")
        noisy = noisy or (" by rounded counts" if model.approximate else "")
        said.append(f"{wording.plural(model.n_records, 'record')}{noisy}")
    if model.classes is not None:
        said.append(wording.plural(len(model.classes), "class"))
    remarks = ["counts are not exact"] if model.approximate else []
    remarks += ["sizes counted in the data, not published"] if sections.sizes_are_counted(findings) else []
    if findings.guarantee is not None and findings.guarantee.subject == "person" and model.n_records is not None:
        remarks.append("records are counted as the fit weighs each person's, which may repeat them")
    text = "; ".join([", ".join(said), *remarks])
    return f"{text}; from {wording.clean(model.source)}." if model.source else f"{text}."


def page_of(result: Reportable, *, title: str | None = None, drawn: bool = True) -> Page:
    """Return the page of any finding that there is a report on; without drawings as far as only a text is asked."""
    if isinstance(result, Findings):
        with wording.counting(result.counted):
            if isinstance(result.subject, ReleaseSummary):
                return sections.release_page(result, title=title)
            if isinstance(result.subject, SeveralSummary):
                return sections.several_page(result, title=title)
            return _attacks_page(result, title) or audit_page(result, title=title, drawn=drawn)
    if isinstance(result, MembershipFinding):
        return sections.attack_page(result, title=title)
    if isinstance(result, DisclosureFinding):
        return sections.disclosure_page(result, title=title)
    from glassine.learners.summaries.multiplicity import Multiplicity

    if isinstance(result, Multiplicity):
        return sections.near_optimal_page(result, title=title)
    return sections.comparison_page(result, title=title)


WIDTH = 88
COMMAND, UNBROKEN = re.compile("`glassine [^`]+`"), "\ue000"
LONGEST_NAME = 50


def _lines(page: Page) -> Iterator[str]:
    yield from _wrap(page.opening())
    yield f"Glassine {page.version}: {page.headline.upper() if page.judged else f'{page.headline}.'}"
    yield from _wrap(page.sentence)
    for block in page.details:
        yield from _answer(block)
    for note in page.notes:
        yield from _wrap(f"Note: {note}", hang=6)
    yield from _wrap(page.described)
    files = [
        (
            file.role,
            wording.shorten(file.name, LONGEST_NAME),
            "no digest: records" if file.sha256 is None else f"sha256 {file.sha256[:12]}…",
        )
        for file in page.inputs
        # Digests stand in texts whose verdict is handed on, so that it can be matched with the files.
        if page.tied and not any(isinstance(block, Released) and block.name == file.name for block in page.details)
    ]
    yield from _aligned(files)
    for title, titled in groupby(
        (section for section in page.sections if section.text),
        lambda section: wording.marked(section.text_title or section.title, section.audience),
    ):
        yield ""
        yield from _wrap(title)
        for section in titled:
            for tabular, entries in groupby(section.text, lambda entry: isinstance(entry, tuple)):
                if tabular:
                    yield from _aligned([entry for entry in entries if isinstance(entry, tuple)], indent=2)
                else:
                    for entry in entries:
                        number = re.match(r"\d+\. ", str(entry))
                        yield from _wrap(str(entry), indent=2, hang=2 + (len(number[0]) if number else 2))


def _answer(block: Block) -> Iterator[str]:
    """Yield a block of what stands with the result."""
    if isinstance(block, Command):
        # Not wrapped: it is there to be pasted.
        yield from ("", f"  {block.text}", "")
    elif isinstance(block, Failures):
        for check in block.checks:
            yield from _wrap(
                f"[{check.status}] {check.label}: {check.measured} (limit: {check.limit})", indent=2, hang=4
            )
            yield from _wrap(check.meaning, indent=4, hang=4)
    elif isinstance(block, Paragraph):
        yield from _wrap(block.text)
    elif isinstance(block, Columns | Fold):
        for inner in block.blocks if isinstance(block, Fold) else chain(*block.columns):
            yield from _answer(inner)
    elif isinstance(block, Points):
        yield from _wrap(block.title) if block.title else ()
        for number, text in enumerate(block.items, start=block.first):
            mark = f"{number}. " if block.style == "advice" else ""
            yield from _wrap(f"{mark}{text}", indent=2, hang=2 + len(mark))
    elif isinstance(block, Released):
        yield from _wrap(f"{block.title}: {wording.shorten(block.name, LONGEST_NAME)}")
        yield f"  sha256 {block.sha256}"


def _wrap(text: str, *, indent: int = 0, hang: int = 0) -> list[str]:
    """Return lines of a text; a command is on one line, however long, as a shell would end it where it breaks."""
    joined = COMMAND.sub(lambda match: match[0].replace(" ", UNBROKEN), text)
    lines = textwrap.wrap(
        joined,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * hang,
        break_on_hyphens=False,
        break_long_words=joined == text,
    )
    return [line.replace(UNBROKEN, " ") for line in lines]


def _aligned(rows: Sequence[tuple[str, ...]], indent: int = 0) -> list[str]:
    """Return rows with their columns lined up, figures at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [any(text[:1].isdigit() for text in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            text.rjust(width) if figures else text.ljust(width)
            for text, width, figures in zip(row, widths, right, strict=True)
        )
        for row in rows
    )
    return [f"{' ' * indent}{line}".rstrip() for line in lines]


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

    return as_html(result if isinstance(result, Page) else page_of(result, title=title))


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
    # The result stands first, then each section under its heading, in the order of the page.
    page = result if isinstance(result, Page) else page_of(result, drawn=False)
    return "\n".join(_lines(page)) + "\n"


BRIEF, BRIEF_CHECKS = 10, 4
"""Most lines between the verdict and where the rest is, and most checks among them."""


def render_brief(findings: Findings, rest: str) -> str:
    r"""Return a verdict for a terminal: one line, at most ten lines on it, and where the rest is.

    Parameters
    ----------
    findings : Findings
        The result of an audit.
    rest : str
        Where all of it is.

    Examples
    --------
    >>> from glassine import audit, parse_rules
    >>> findings = audit(parse_rules("if [smoker] then [true] ([3 ; 41] examples)\nelse [false] ([52 ; 9] examples)"))
    >>> print(render_brief(findings, "The rest: -o report.html.").splitlines()[-1])
    The rest: -o report.html.
    """
    page = page_of(findings, drawn=False)
    lines = [*_wrap(page.opening()), *_wrap(page.sentence)[:3]]
    points = [block for block in _inside(page.details) if isinstance(block, Points | Failures)]
    checks = [check for block in points if isinstance(block, Failures) for check in block.checks]
    steps = [text for block in points if isinstance(block, Points) and block.style == "advice" for text in block.items]
    lines += [
        wording.shorten(f"  [{check.status}] {check.label}: {check.measured} (limit: {check.limit})", WIDTH)
        for check in checks[:BRIEF_CHECKS]
    ]
    met = [entry.name for entry in findings.policies if entry.verdict == "within policy"]
    lines += [f"  Meets: {', '.join(met)}."] if met else []
    more = len(checks) - BRIEF_CHECKS
    lines += [f"  and {wording.plural(more, 'more check')}"] if more > 0 else []
    for number, text in enumerate(steps, start=1):
        wrapped = _wrap(f"{number}. {text}", indent=2, hang=5)
        if len(lines) + len(wrapped) > BRIEF:
            break
        lines += wrapped
    return "\n".join([f"Glassine {page.version}: {page.headline.upper()}", *lines[:BRIEF], rest]) + "\n"


def _inside(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks, and those in their columns; what is folded away is not among them."""
    for block in blocks:
        yield block
        if isinstance(block, Columns):
            yield from _inside(tuple(chain(*block.columns)))
