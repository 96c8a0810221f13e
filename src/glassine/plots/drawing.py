"""Drawings of models, domains and explanations as static SVG: what reports draw, one by one."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from markupsafe import Markup

from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.findings import Findings
from glassine.auditing.policy import Policy
from glassine.domain import Domain
from glassine.errors import InvalidParameterError, check_choice, parameter
from glassine.files import write_bytes
from glassine.models import AdditiveModel, DecisionTree, RegressionModel, RuleList
from glassine.models.shapes import ShapeFunction, common_scale, draw_shape
from glassine.models.svg import element, short
from glassine.report import wording
from glassine.report.domain_chart import draw_domain as _domain
from glassine.report.forest_plot import Coefficient, draw_forest
from glassine.report.rule_chart import draw_rules as _rules
from glassine.report.sections.additive import shape_of
from glassine.report.sections.parts import Scale, part_rows, parts_of
from glassine.report.tree_chart import MOST_COLUMNS, draw_tree_down, path_to
from glassine.report.tree_chart import draw_tree as _tree

Shown: TypeAlias = Literal["suppressed", "published"]
Orientation: TypeAlias = Literal["LR", "TD"]
Record: TypeAlias = Mapping[str, Any]

MEASURED = {AdditiveModel: "terms", RegressionModel: "columns"}
"""What an audit measures of what a model shows; ``parts`` of trees and rule lists."""
SHAPE, CAPTION = (420.0, 190.0), 22.0
"""Size of the drawing of a term, and the room for its name."""


@cache
def style(name: str) -> str:
    """Return a style sheet beside this module, without its comments."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)).strip()


def with_own_names(markup: str) -> str:
    """Return markup whose identifiers are its own, as several drawings stand in one notebook: they follow from it."""
    names = sorted(set(re.findall(r'\bid="([^"]+)"', markup)), key=len, reverse=True)
    mark = hashlib.blake2b(markup.encode(), digest_size=4).hexdigest()
    for name in names:
        markup = markup.replace(f'id="{name}"', f'id="{name}-{mark}"')
        markup = markup.replace(f"url(#{name})", f"url(#{name}-{mark})").replace(
            f'href="#{name}"', f'href="#{name}-{mark}"'
        )
    return re.sub(
        r'aria-labelledby="([^"]*)"',
        lambda match: f'aria-labelledby="{" ".join(f"{one}-{mark}" for one in match[1].split())}"',
        markup,
    )


@dataclass(frozen=True, slots=True)
class SvgDrawing:
    """A drawing as SVG: static, without a script, and whole in itself.

    Attributes
    ----------
    svg : str
        The drawing.

    Examples
    --------
    >>> from glassine.domain import Integer
    >>> drawn = draw_domain(Domain({"age": Integer(0, 99)}))
    >>> drawn.svg[:4], "<script" in drawn.svg
    ('<svg', False)
    """

    svg: str

    @classmethod
    def of(cls, markup: Markup) -> SvgDrawing:
        """Return a chart of a report as a drawing that stands alone, with its style."""
        # A style in a file of its own is XML.
        sheet = style("notebook.css").replace("&", "&amp;")
        head, _, rest = str(markup).partition(">")
        head = head.replace('class="', 'xmlns="http://www.w3.org/2000/svg" class="glassine-drawing ', 1)
        return cls(with_own_names(f"{head}><style>.glassine-drawing {{\n{sheet}\n}}</style>{rest}"))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it to a file, whole or not at all, and only if there is none yet unless it may be overwritten.

        Raises
        ------
        UnreadableFileError
            If the file exists or cannot be written.
        """
        write_bytes(self.svg.encode(), path, replaces=overwrite)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<SvgDrawing of {len(self.svg):,} characters>"


def findings_of(model: Any, counts: Shown = "suppressed") -> Findings:
    """Return what an audit without records shows of a model, small counts suppressed unless they are asked for."""
    check_choice(counts, "counts", ("suppressed", "published"))
    measured = next((name for kind, name in MEASURED.items() if isinstance(model, kind)), "parts")
    policy = Policy() if counts == "suppressed" else Policy(suppress_below=0)
    return audit(model, policy=policy, settings=AuditSettings(measurements={measured})).public()


def columns_of(record: Record) -> dict[str, Any]:
    """Return a record as columns of one value."""
    return {
        name: np.array([value], dtype=object if value is None or isinstance(value, str) else None)
        for name, value in record.items()
    }


def caught_by(model: DecisionTree | RuleList, record: Record | None) -> int | None:
    """Return the number, from 1, of the leaf or rule of a record."""
    return None if record is None else int(model.apply(columns_of(record))[0]) + 1


def shapes_of(model: AdditiveModel, names: Sequence[str] | None = None) -> list[ShapeFunction]:
    """Return shape functions as a report may show them: those of some terms, or the most important ones.

    Raises
    ------
    InvalidParameterError
        If the model has no such term.
    """
    if names is not None:
        own = {term.name: term for term in model.terms}
        for name in names:
            if name not in own:
                listed = ", ".join([*own][:8])
                raise InvalidParameterError(f"the model has no term {name!r}.", remedy=f"There are {listed}.")
        # An audit draws the most important terms; of these, all.
        model = replace(model, terms=tuple(own[name] for name in names), edits=(), scorecard=None)
    finding = findings_of(model).value("terms")
    shapes = {term.name: shape_of(term) for term in finding.terms if term.shape is not None}
    return list(shapes.values()) if names is None else [shapes[name] for name in names if name in shapes]


def draw_tree(
    tree: DecisionTree,
    *,
    record: Record | None = None,
    max_depth: int | None = None,
    orientation: Orientation = "LR",
    counts: Shown = "suppressed",
) -> SvgDrawing:
    """Draw a tree, each column or row one more condition; with a record, its path stands out.

    Parameters
    ----------
    tree : DecisionTree
        The tree; of a fitted estimator, ``as_model`` of it.
    record : mapping of str to value, optional
        A record with the tested attributes.
    max_depth : int, optional
        Most conditions in view, at least 1; six without it, as more cannot be read.
    orientation : {"LR", "TD"}, default="LR"
        From left to right, where long conditions can be read, or from the top down, as suits few leaves.
    counts : {"suppressed", "published"}, default="suppressed"
        Whether counts below ten are hidden, as in reports, or drawn as the model has them.

    Raises
    ------
    InvalidParameterError
        If it is no tree, a single leaf, or the depth or the orientation is out of range.
    InvalidDataError
        If the record lacks a tested attribute.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from glassine import as_model
    >>> tree = as_model(DecisionTreeClassifier().fit([[20], [30], [50], [60]], ["a", "a", "b", "b"]))
    >>> "on-path" in draw_tree(tree, record={"x0": 25}).svg
    True
    """
    if not isinstance(tree, DecisionTree):
        raise InvalidParameterError(
            f"draw_tree draws trees, got {tree!r:.80}.", remedy="Pass as_model of an estimator."
        )
    check_choice(orientation, "orientation", ("LR", "TD"))
    if max_depth is not None and not max_depth >= 1:
        raise InvalidParameterError(f"{parameter('max_depth')} must be at least 1, got {max_depth!r}.")
    findings = findings_of(tree, counts)
    nodes = parts_of(findings).nodes
    if len(nodes) < 2:
        raise InvalidParameterError("the tree is a single leaf: there is nothing to draw.", remedy="Print it.")
    part = caught_by(tree, record)
    path = frozenset[int]() if part is None else path_to(nodes, part)
    levels = min(max_depth or MOST_COLUMNS, MOST_COLUMNS - 1)
    with wording.counting(findings.counted):
        rows = part_rows(findings, Scale.of(findings))
        if orientation == "TD":
            return SvgDrawing.of(draw_tree_down(nodes, rows, path=path, levels=levels))
        drawn, _ = _tree(nodes, rows, path=path, levels=levels, static=True)
    return SvgDrawing.of(drawn)


def draw_rules(rules: RuleList, *, record: Record | None = None, counts: Shown = "suppressed") -> SvgDrawing:
    """Draw a rule list, one row a rule; with a record, the rule that captures it stands out.

    Parameters
    ----------
    rules : RuleList
        The rules; sixty of them are drawn.
    record, counts
        As for :func:`draw_tree`.

    Raises
    ------
    InvalidParameterError
        If it is no rule list.
    """
    if not isinstance(rules, RuleList):
        raise InvalidParameterError(f"draw_rules draws rule lists, got {rules!r:.80}.", remedy="Pass one.")
    findings = findings_of(rules, counts)
    with wording.counting(findings.counted):
        return SvgDrawing.of(_rules(part_rows(findings, Scale.of(findings)), caught=caught_by(rules, record)))


def draw_shapes(
    model: AdditiveModel, *, terms: Sequence[str] | None = None, output: int = 0, same_scale: bool = True
) -> SvgDrawing:
    """Draw the shape functions of an additive model one below the other, the most important first.

    Parameters
    ----------
    model : AdditiveModel
        The model.
    terms : sequence of str, optional
        Names of the terms that are drawn, in this order; the most important ones by default.
    output : int, default=0
        The output, of several the index of the class.
    same_scale : bool, default=True
        Whether all have one axis of scores.

    Raises
    ------
    InvalidParameterError
        If the model has no such term or output.
    """
    if not isinstance(model, AdditiveModel):
        raise InvalidParameterError(f"draw_shapes draws additive models, got {model!r:.80}.", remedy="Pass one.")
    chosen = shapes_of(model, terms)
    scale = common_scale(chosen) if same_scale and chosen else None
    (width, tall), pieces = SHAPE, []
    for place, shape in enumerate(chosen):
        top = place * (tall + CAPTION)
        drawn = draw_shape(shape, output=output, width=int(width), height=int(tall), scale=scale)
        pieces.append(element("text", f"{shape.name}, importance {shape.importance:.3g}", x=4, y=top + 15))
        # Only the head of an element of ours changes: it has a place.
        pieces.append(Markup(str(drawn).replace("<svg ", f'<svg x="0" y="{top + CAPTION:.0f}" ', 1)))  # noqa: S704
    box = f"0 0 {width:.0f} {max(len(chosen), 1) * (tall + CAPTION):.0f}"
    return SvgDrawing.of(element("svg", *pieces, class_="chart shapes", viewBox=box, role="img", aria_label=str(model)))


def draw_contributions(model: AdditiveModel, record: Record, *, output: int = 0) -> SvgDrawing:
    """Draw what each term adds to the score of one record, the largest first.

    Parameters
    ----------
    model : AdditiveModel
        The model.
    record : mapping of str to value
        A record with the attributes of the model.
    output : int, default=0
        The output, of several the index of the class.
    """
    added = model.contributions(columns_of(record)).record(0, output)
    rows = [Coefficient(name=f"{short(name, 16)}: {label}", value=value, error=None) for name, label, value in added]
    return SvgDrawing.of(draw_forest(rows, "What each term adds to the score of the record", stems=True))


def draw_coefficients(model: RegressionModel, *, output: int = -1) -> SvgDrawing:
    """Draw the coefficients of a regression with their intervals of 95 %, the first forty.

    Parameters
    ----------
    model : RegressionModel
        The regression.
    output : int, default=-1
        The output, of several the index of the class; the last by default.

    Raises
    ------
    InvalidParameterError
        If it is no regression, or has no columns.
    """
    effects: Sequence[object] = getattr(model, "effects", ())
    if not effects:
        raise InvalidParameterError(
            f"draw_coefficients draws regressions with columns, got {model!r:.80}.", remedy="Pass one."
        )
    finding = findings_of(model).value("columns")
    rows = [
        Coefficient(
            name=wording.clean(column.name),
            value=column.coefficients[output],
            error=None if column.errors is None else column.errors[output],
        )
        for column in finding.columns
    ]
    return SvgDrawing.of(draw_forest(rows, "Coefficients with intervals of 95 %"))


def draw_domain(domain: Domain, *, names: Sequence[str] | None = None) -> SvgDrawing:
    """Draw what is public of each attribute: ranges with their cut points, categories, and what was seen in records.

    A range that was inferred from records is not shown: its ends are values of people.

    Parameters
    ----------
    domain : Domain
        The domain.
    names : sequence of str, optional
        The attributes that are drawn, sixty at most; all of them by default.
    """
    return SvgDrawing.of(_domain(domain if names is None else domain.restrict(list(names))))
