"""Values in a notebook: blocks of reports, as the public may see them, with a style of their own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

from glassine.attacks.outcome import Audience
from glassine.auditing.findings import Findings, ReleaseSummary
from glassine.errors import InvalidParameterError, check_choice
from glassine.plots.drawing import findings_of, style, with_own_names
from glassine.report import sections, wording
from glassine.report.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Piece,
    Row,
    Table,
    blocks_of,
    fold,
    heads,
)
from glassine.report.charts import draw_bar
from glassine.report.domain_chart import draw_domain, range_of
from glassine.report.page import blocks_html
from glassine.report.rendering import page_of
from glassine.report.sections.parts import Scale, part_rows, parts_of
from glassine.report.sections.policy import limits_of
from glassine.report.sections.regression import REGRESSION
from glassine.report.tree_chart import draw_tree, path_to

MOST_BYTES = 100_000
"""Most bytes of what stands in a notebook: it is kept in the file at every run."""
ROOM = 4_000
"""Bytes for what is said where something is left out."""
MOST_ROWS = 40
FOR_CHECKERS = (
    "This was measured on records, and is for the checker: a notebook is a file that leaves. "
    '`glassine.plots.show(result, "checker")` shows the figures, and keeps them in the notebook.'
)
LEFT_OUT = "More is left out here. A report has all of it: `glassine.render_html`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What is shown of a value: a title, what comes first, and blocks, the most important first."""

    title: str
    lead: str = ""
    tone: str = ""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class HtmlDisplay:
    """A value as HTML for a notebook, which shows it.

    Attributes
    ----------
    html : str
        A static piece of HTML of less than 100 kB, without a script.
    """

    html: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<HtmlDisplay of {len(self.html):,} characters>"


def show(value: Any, audience: Literal["public", "checker"] = "public") -> HtmlDisplay:
    """Show a result or a model in a notebook, for an audience.

    Parameters
    ----------
    value : object
        A model, findings, a result of an attack, a comparison, a domain, a policy, a ledger, a scrubbed copy, a release
        or an explanation.
    audience : {"public", "checker"}, default="public"
        ``checker`` shows what was measured on records as well; the notebook then holds it, and must not leave.

    Raises
    ------
    InvalidParameterError
        If there is no such audience, or nothing that draws such a value.
    """
    check_choice(audience, "audience", ("public", "checker"))
    return HtmlDisplay(html_of(value, audience))


def html_of(value: object, audience: Audience = "public") -> str:
    """Return a value as a piece of HTML of less than 100 kB, without a script, that loads nothing from anywhere."""
    named = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(value).__mro__)
    draw = next((DRAWN[name] for name in named if name in DRAWN), None)
    if draw is None:
        raise InvalidParameterError(
            f"nothing draws a {type(value).__name__}.", remedy="Pass a model, or a result of Glassine."
        )
    picture = draw(value, audience)
    tone = f' class="tone {escape(picture.tone.replace(" ", "-"))}"' if picture.tone else ""
    head = f'<div{tone}><h3 class="title">{escape(wording.clean(picture.title))}</h3>'
    head += (
        f"{blocks_html(blocks_of(Paragraph(text=wording.clean(picture.lead), tone='lead')))}</div>"
        if picture.lead
        else "</div>"
    )
    sheet = f"<style>.glassine-shown {{\n{style('notebook.css')}\n{style('blocks.css')}\n}}</style>"
    out, length = [sheet, head], len(sheet.encode()) + len(head.encode())
    for block in picture.blocks:
        piece = "\n".join(line for line in blocks_html((block,)).splitlines() if line.strip())
        if length + len(piece.encode()) > MOST_BYTES - ROOM:
            out.append(blocks_html((Paragraph(text=LEFT_OUT, tone="note"),)))
            break
        out.append(piece)
        length += len(piece.encode())
    return f'<div class="glassine-shown">{with_own_names("".join(out))}</div>'


def _model(model: Any, audience: Audience) -> Shown:
    """Return a tree, a rule list, an additive model or a regression, small counts suppressed."""
    findings = findings_of(model)
    with wording.counting(findings.counted):
        terms = findings.value("terms")
        if terms is not None:
            blocks = sections.additive_section(terms).blocks
        elif (columns := findings.value("columns")) is not None:
            blocks = REGRESSION.section(columns, findings).blocks
        else:
            blocks = tuple(_static(sections.model_section(findings).blocks))
        lead = page_of(findings).described
    return Shown(title=f"{findings.model.kind.capitalize()}", lead=lead, blocks=blocks)


def _static(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """Yield blocks whose drawings no script draws larger."""
    for block in blocks:
        if isinstance(block, Fold):
            yield Fold(block.summary, tuple(_static(block.blocks)))
        else:
            yield replace(block, zooms=False, scrolls="") if isinstance(block, Figure) else block


def _forest(forest: Any, audience: Audience) -> Shown:
    leaves = sum(len(tree.cells) for tree in forest.trees)
    facts = (
        Fact("Trees", f"{len(forest.trees):,}", "trained on the same records"),
        Fact("Leaves", f"{leaves:,}", "of all trees"),
        Fact("Records of each tree", "drawn with replacement" if forest.bootstrap else "all", ""),
    )
    first = _model(forest.trees[0], audience) if forest.trees else Shown(title="")
    return Shown(title="Forest", blocks=(Facts(facts), Heading("The first tree"), *first.blocks))


def _ensemble(ensemble: Any, audience: Audience) -> Shown:
    """Return what an ensemble of trees is."""
    ensemble = getattr(ensemble, "model", ensemble)
    leaves, thresholds = ensemble.leaves, ensemble.thresholds
    of = f"of {wording.plural(len(thresholds), 'attribute')}"
    facts = (
        Fact("Trees", f"{len(leaves):,}", "averaged" if ensemble.combined == "mean" else "each corrects those before"),
        Fact("Leaves", f"{int(leaves.sum()):,}", f"{int(leaves.max()):,} at most in a tree"),
        Fact("Thresholds", f"{sum(map(len, thresholds.values())):,}", of),
    )
    return Shown(title=_words(ensemble.learner or "ensemble of trees"), blocks=(Facts(facts),))


def _merged(merged: Any, audience: Audience) -> Shown:
    """Return the model of several sites, and what its certificate says."""
    inner = _model(merged.model, audience)
    said = Paragraph(text=merged.certificate.text().partition("\n")[0])
    return replace(inner, title=f"Merged: {inner.title.lower()}", blocks=(said, *inner.blocks))


def _findings(findings: Findings, audience: Audience) -> Shown:
    """Return the verdict, what stands against a release, what to do, and the checks."""
    findings_shown = findings.public() if audience == "public" else findings
    page = page_of(findings_shown)
    checks = sections.policy_section(
        findings_shown.checks, findings_shown.policy, findings_shown.subject.kind, source=findings_shown.policy_source
    )
    notes = tuple(Paragraph(text=note, tone="note") for note in page.notes[:5])
    pieces: list[Piece] = [*page.details, *notes, Facts(page.figures) if page.figures else None]
    pieces.append(fold("The policy, check by check", checks.blocks) if findings_shown.checks else None)
    if audience == "checker":
        pieces += [fold(section.title, section.blocks) for section in page.sections if section.audience == "checker"]
    lead = f"{page.sentence} {page.described}".strip()
    kind = (
        findings_shown.subject.kind
        if isinstance(findings_shown.subject, ReleaseSummary)
        else str(findings_shown.subject)
    )
    return Shown(title=f"{page.headline}: {kind}", lead=lead, tone=page.tone, blocks=tuple(blocks_of(*pieces)))


def _page(value: Any, audience: Audience) -> Shown:
    """Return the page of a report on a value."""
    page = page_of(value)
    pieces: list[Piece] = [Facts(page.figures) if page.figures else None, *page.details]
    pieces += [(Heading(section.title), *section.blocks) for section in page.sections]
    return Shown(title=page.headline, lead=page.sentence, tone=page.tone, blocks=tuple(blocks_of(*pieces)))


def _multiplicity(multiplicity: Any, audience: Audience) -> Shown:
    # What was asked about records is not covered by the summary's guarantee.
    return _page(multiplicity if audience == "checker" else replace(multiplicity, n_asked=None, disputed={}), audience)


def _comparison(comparison: Any, audience: Audience) -> Shown:
    """Return a comparison; its figures are of many fits on the records, and only the checker sees them."""
    if audience == "checker":
        return _page(comparison, audience)
    models = wording.listing(
        tuple(dict.fromkeys(row.model.replace("_", " ") for row in comparison.rows)), most=8, room=300
    )
    return Shown(
        title="Comparison of learners", lead=f"Compared: {models}.", blocks=(Paragraph(text=FOR_CHECKERS, tone="note"),)
    )


def _for_checkers(result: Any, audience: Audience) -> Shown:
    """Return the figures of a result that was measured on records, for the checker alone."""
    title = _words(type(result).__name__)
    first = (type(result).__doc__ or "").strip().partition("\n")[0]
    if audience == "public":
        return Shown(title=title, lead=first, blocks=(Paragraph(text=FOR_CHECKERS, tone="note"),))
    return replace(_plain(result, audience), title=title, lead=f"{first} Measured on records.")


def _plain(result: Any, audience: Audience) -> Shown:
    """Return the figures of a result as a table."""
    rows = tuple(Row(name=_named(name), cells=(_figure(entry),)) for name, entry in _figures(result))
    table = Table(caption="Figures", columns=heads("Figure", figures=("Value",)), rows=rows)
    first = (type(result).__doc__ or "").strip().partition("\n")[0]
    return Shown(title=_words(type(result).__name__), lead=first, blocks=(table,))


def _file(file: Any, audience: Audience) -> Shown:
    """Return the model of a file, and whether the file may be released unchanged."""
    inner = _model(file.model, audience)
    copy = file.form.clean_copy
    said = "Glassine wrote the file: it may be released unchanged."
    if copy is not None:
        said = f"Release only the clean copy, {copy.n_bytes:,} bytes: the file can hold more than the model."
    return replace(inner, title=f"File ({file.form.format})", blocks=(Paragraph(text=said), *inner.blocks))


def _figures(result: Any) -> Iterator[tuple[str, object]]:
    """Yield the figures of a result: fields and properties that are one number or word."""
    names = [entry.name for entry in dataclasses.fields(result)] if dataclasses.is_dataclass(result) else []
    names += [name for name, entry in vars(type(result)).items() if isinstance(entry, property)]
    for name in dict.fromkeys(names):
        try:
            entry = getattr(result, name)
        except Exception:  # noqa: S112 - a figure that this result does not have
            continue
        if not name.startswith("_") and isinstance(entry, bool | int | float | str) and len(str(entry)) < 200:
            yield name, entry


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return wording.clean(f"{value:,}" if isinstance(value, int) else str(value))


def _named(name: str) -> str:
    """Return the name of a figure in words: a number of things is called by them."""
    return "Records" if name == "n" else _words(name.removeprefix("n_"))


def _words(name: str) -> str:
    """Return a name of Python in words."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip().replace("_", " ")
    return f"{spaced[:1].upper()}{spaced[1:]}"


def _domain(domain: Any, audience: Audience) -> Shown:
    rows = []
    for name in list(domain)[:MOST_ROWS]:
        kind = _words(type(domain[name]).__name__)
        rows.append(
            Row(name=wording.clean(name), cells=(kind, wording.shorten(wording.clean(range_of(domain, name)), 200)))
        )
    more = len(domain) - len(rows)
    names = wording.plural(len(domain), "attribute")
    seen = sum(domain[name].inferred for name in domain)
    lead = f"{names}. Ticks are public cut points." + (
        f" {wording.plural(seen, 'attribute')} {'was' if seen == 1 else 'were'} inferred from records: ranges and "
        "categories are not shown, and void a guarantee."
        if seen
        else ""
    )
    groups = [wording.clean(str(group)) for group in domain.groups]
    said = tuple(Paragraph(text=text, tone="note") for text in groups[:8])
    table = Table(
        caption="What is public" + (f"; {more:,} more" if more > 0 else ""),
        columns=heads("Attribute", "Kind", "Values"),
        rows=tuple(rows),
    )
    figure = Figure(drawings=(draw_domain(domain),), caption="")
    return Shown(title="Domain", lead=lead, blocks=(figure, *said, *blocks_of(fold("As a table", table))))


def _policy(policy: Any, audience: Audience) -> Shown:
    rows = tuple(
        Row(name=label, cells=(limit,), meaning=measures.replace("`", ""))
        for label, limit, measures in limits_of(policy)
    )
    table = Table(caption="Limits that a published model must meet", columns=heads("Check", "Limit"), rows=rows)
    accepted = "is accepted" if policy.accept_guarantee else "is not accepted"
    lead = f"{policy.source[:1].upper()}{policy.source[1:]} A claimed guarantee {accepted}. Counts below "
    lead += f"{policy.suppress_below:,} are not shown."
    return Shown(title=f"Policy {policy.name}", lead=lead, blocks=(table,))


def _ledger(ledger: Any, audience: Audience) -> Shown:
    accounts = [ledger.account(name) for name in ledger.datasets()[:MOST_ROWS]]
    rows = tuple(
        Row(
            name=wording.clean(account.dataset),
            cells=(
                f"{float(account.spent_epsilon):.6g}",
                f"{float(account.epsilon):.6g}",
                f"{float(account.remaining_epsilon):.6g}",
                f"{account.charges:,}",
                draw_bar(min(float(account.spent_epsilon / account.epsilon), 1.0) if account.epsilon else 0.0),
            ),
            note=wording.clean(str(account.unit)),
        )
        for account in accounts
    )
    columns = (*heads("Dataset", figures=("Spent", "Budget", "Left", "Charges")), *heads("Share spent"))
    table = Table(caption="Epsilon of each dataset", columns=columns, rows=rows)
    lead = "" if rows else "No dataset has a budget."
    return Shown(title=f"Ledger {ledger.path.name}", lead=lead, blocks=(table,) if rows else ())


def _scrubbed(result: Any, audience: Audience) -> Shown:
    """Return a scrubbed copy; how many leaves were merged can follow from records, and is for the checker."""
    inner = (_ensemble if hasattr(result.model, "n_trees") else _model)(result.model, audience)
    changes = tuple(
        Fact(_words(name.removeprefix("n_")), f"{entry:,}", "")
        for name, entry in _figures(result)
        if name.startswith("n_")
    )
    blocks = (Facts(changes), *inner.blocks) if audience == "checker" else inner.blocks
    return replace(inner, title=f"Scrubbed copy: {inner.title.lower()}", blocks=blocks)


def _tried(tried: Any, audience: Audience) -> Shown:
    """Return what a tried remedy does; verdict and cost are for the checker."""
    if audience == "public":
        return Shown(title="A remedy, tried", lead=tried.reply, blocks=(Paragraph(text=FOR_CHECKERS, tone="note"),))
    return Shown(
        title="A remedy, tried",
        lead=tried.note,
        blocks=(Paragraph(text=tried.reply), *_findings(tried.findings, audience).blocks),
    )


def _release(release: Any, audience: Audience) -> Shown:
    """Return a release of explanations, which is published whole: its representatives, and what they reveal."""
    facts = (
        Fact("Groups", f"{release.n_groups:,}", "each with a representative and a small tree"),
        Fact("Records of a group", "not bounded" if release.k is None else f"at least {release.k:,}", ""),
        Fact("Form", str(release.provenance.form), ""),
    )
    names = list(release.domain)
    columns = names[:8]
    rows = tuple(
        Row(
            name=f"Group {group + 1}",
            cells=tuple(wording.clean(str(release.representative(group)[name])) for name in columns),
        )
        for group in range(min(release.n_groups, 10))
    )
    more = f"; {len(names) - len(columns):,} more attributes" if len(names) > len(columns) else ""
    table = Table(
        caption=f"The first representatives{more}", columns=heads("Group", *map(wording.clean, columns)), rows=rows
    )
    return Shown(title="Release of explanations", blocks=(Facts(facts), table))


def _explanation(explanation: Any, audience: Audience) -> Shown:
    """Return the answer to one query: the path through the tree, and the representative."""
    rows = tuple(
        Row(name=wording.clean(name), cells=(wording.clean(str(value)),))
        for name, value in list(explanation.representative.items())[:MOST_ROWS]
    )
    table = Table(caption="The representative of the group", columns=heads("Attribute", "Value"), rows=rows)
    findings = findings_of(explanation.tree)
    nodes = parts_of(findings).nodes
    part = {cell.node: number for number, cell in enumerate(explanation.tree.cells, start=1)}.get(explanation.path[-1])
    figure: tuple[Block, ...] = ()
    if len(nodes) > 1 and part is not None:
        drawn, _ = draw_tree(nodes, part_rows(findings, Scale.of(findings)), path=path_to(nodes, part), static=True)
        figure = (Figure(drawings=(drawn,), caption="The tree of the group, and the path of this query."),)
    return Shown(
        title="Explanation", lead=f"{str(explanation)[:1].upper()}{str(explanation)[1:]}", blocks=(*figure, table)
    )


def _parameters(estimator: Any) -> Table:
    """Return the parameters of an estimator as a table; of a value that is no number or text its class alone."""
    values = estimator.get_params(deep=False)
    simple = (bool, int, float, str, type(None))
    rows = tuple(
        Row(name=name, cells=(wording.clean(repr(one))[:80] if isinstance(one, simple) else type(one).__name__,))
        for name, one in values.items()
    )
    return Table(caption="Parameters", columns=heads("Parameter", figures=("Value",)), rows=rows)


def _summary(estimator: Any, audience: Audience) -> Shown:
    """Return a private summary: what its certificate says, and what follows from it."""
    certificate = getattr(estimator, "certificate_", None)
    lead = "Not fitted yet." if certificate is None else certificate.text().partition("\n")[0]
    return Shown(title=type(estimator).__name__, lead=lead, blocks=(_parameters(estimator),))


def _estimator(estimator: Any, audience: Audience) -> Shown:
    """Return the model of a fitted estimator, and what its certificate says; before the fit, its parameters."""
    if not hasattr(estimator, "model_"):
        return _summary(estimator, audience)
    inner = _model(estimator.model_, audience)
    certificate = getattr(estimator, "certificate_", None)
    said = () if certificate is None else (Paragraph(text=certificate.text().partition("\n")[0]),)
    return replace(inner, title=f"{type(estimator).__name__}: {inner.title.lower()}", blocks=(*said, *inner.blocks))


DRAWN: Mapping[str, Callable[[Any, Audience], Shown]] = {
    **dict.fromkeys(
        (
            "glassine.models.additive.AdditiveModel",
            "glassine.models.regression.RegressionModel",
            "glassine.models.rule_list.RuleList",
            "glassine.models.tree.DecisionTree",
        ),
        _model,
    ),
    "glassine.models.tree.Forest": _forest,
    "glassine.auditing.findings.root.Findings": _findings,
    "glassine.auditing.policy.Policy": _policy,
    "glassine.auditing.trying.TriedRemedy": _tried,
    "glassine.comparison.comparison_results.Comparison": _comparison,
    "glassine.domain.domain.Domain": _domain,
    "glassine.learners.estimator.PublishedModel": _estimator,
    "glassine.learners.estimator.Parameters": _summary,
    "glassine.learners.summaries.multiplicity.Multiplicity": _multiplicity,
    "glassine.privacy.ledger.Ledger": _ledger,
    "glassine.scrubbing.additive.AdditiveScrub": _scrubbed,
    "glassine.scrubbing.ensemble.EnsembleScrub": _scrubbed,
    "glassine.scrubbing.regression.RegressionScrub": _scrubbed,
    "glassine.scrubbing.scrub.ScrubResult": _scrubbed,
    "glassine.surrogates.surrogate_release.SurrogateRelease": _release,
    "glassine.surrogates.explainer_values.Explanation": _explanation,
    "glassine.formats.judged.EnsembleFile": _ensemble,
    "glassine.formats.loading.ModelFile": _file,
    "glassine.learners.additive.merging.Merged": _merged,
    "glassine.models.ensemble.TreeEnsemble": _ensemble,
    "glassine.exports.DisplayedToCheckers": _for_checkers,
    "glassine.exports.Displayed": _plain,
}
"""What draws a value, by the full name of its class or of one that it inherits from: none is imported for it."""
