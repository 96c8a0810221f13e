"""Decision trees as PMML, with what they publish; and additive models."""

from __future__ import annotations

import math
from collections.abc import Iterable

from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import place_of
from glassine.formats.conditions import check_domain, check_model, compared_values
from glassine.formats.contents import FittedValues, OtherContent
from glassine.formats.pmml import forest_from_pmml, is_xml, tree_of_document
from glassine.formats.pmml_additive import additive_from_pmml, additive_to_pmml, holds_additive
from glassine.formats.pmml_contents import beside_pmml
from glassine.formats.pmml_predicates import parsed_xml
from glassine.formats.pmml_text import HEAD, TARGET, escaped, field_type, quoted, text_of
from glassine.formats.registry import Format, PublishedModel
from glassine.models.additive import AdditiveModel
from glassine.models.evidence import Evidence
from glassine.models.tree import Branch, DecisionTree

__all__ = ["FORMAT", "to_pmml"]


def to_pmml(model: PublishedModel, domain: Domain | None = None) -> str:
    """Return a decision tree or an additive model as PMML 4.4.

    Parameters
    ----------
    model : DecisionTree or AdditiveModel
        The model; a rule list is refused.
    domain : Domain, optional
        The public domain, which states types and values of the fields.

    Returns
    -------
    str
        One ``TreeModel``. Counts stand in ``recordCount`` and ``ScoreDistribution`` as the model has them; noisy ones
        are not marked, and the file carries no guarantee. A record that satisfies no branch has no prediction.
        Of an additive model one ``RegressionModel`` on a derived field for each term, with every digit of its scores.

    Raises
    ------
    UnsupportedModelError
        If it is a rule list, a text cannot stand in XML, or an attribute or the classes mix texts and numbers.
    InvalidModelError
        If the domain lacks an attribute or a value.

    Examples
    --------
    >>> from glassine.models import Node
    >>> tree = DecisionTree((Node(evidence=Evidence(counts=(3, 1))),), ("age",), ("ill", "well"))
    >>> print(to_pmml(tree).splitlines()[-6].strip())
    <Node id="0" recordCount="4" score="ill"><True/>
    """
    if isinstance(model, AdditiveModel):
        return additive_to_pmml(model)
    check_model(model)
    if not isinstance(model, DecisionTree):
        raise UnsupportedModelError(
            "PMML is written of decision trees and additive models, got a rule list.",
            remedy="Write SQL or Python instead.",
        )
    check_domain(model, domain)
    target = TARGET
    while target in model.attributes:
        target += "_"
    kind = "regression" if model.classes is None else "classification"
    fields = [_field(name, model, domain) for name in model.attributes]
    outcome = "double" if model.classes is None else field_type(model.classes, "the classes are")
    optype = "continuous" if model.classes is None else "categorical"
    listed = "".join(f"<Value value={quoted(text_of(label))}/>" for label in model.classes or ())
    fields.append(f'    <DataField name={quoted(target)} optype="{optype}" dataType="{outcome}">{listed}</DataField>')
    schema = [f"      <MiningField name={quoted(name)}/>" for name in model.attributes]
    lines = [
        f'  <DataDictionary numberOfFields="{len(fields)}">',
        *fields,
        "  </DataDictionary>",
        f'  <TreeModel functionName="{kind}" splitCharacteristic="multiSplit" missingValueStrategy="none"'
        ' noTrueChildStrategy="returnNullPrediction">',
        "    <MiningSchema>",
        *schema,
        f'      <MiningField name={quoted(target)} usageType="target"/>',
        "    </MiningSchema>",
        *_nodes(model),
        "  </TreeModel>",
        "</PMML>",
    ]
    return HEAD + "\n".join(lines) + "\n"


def _field(name: str, model: DecisionTree, domain: Domain | None) -> str:
    attribute = None if domain is None else domain[name]
    compared = compared_values(model).get(name, ())
    bounded = any(isinstance(lit, Between) for lit in model.literals if lit.attribute == name)
    if isinstance(attribute, Category):
        listed = "".join(f"<Value value={quoted(text_of(value))}/>" for value in attribute.values)
        kind = field_type(attribute.values, f"the values of {name!r} are")
        return f'    <DataField name={quoted(name)} optype="categorical" dataType="{kind}">{listed}</DataField>'
    kind = "integer" if isinstance(attribute, Integer) else "double"
    optype = "continuous"
    if attribute is None and compared and not bounded:
        kind, optype = field_type(compared, f"the values of {name!r} are"), "categorical"
    elif attribute is None and not bounded:
        optype = "categorical"
        kind = "string"
    return f'    <DataField name={quoted(name)} optype="{optype}" dataType="{kind}"/>'


def _nodes(model: DecisionTree) -> list[str]:
    """Return the lines of the nodes, depth first."""
    lines: list[str] = []
    stack: list[tuple[int, str, int] | str] = [(0, "<True/>", 2)]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            lines.append(entry)
            continue
        index, predicate, depth = entry
        node, margin = model.nodes[index], "  " * min(depth, 40)
        lines.append(f'{margin}<Node id="{index}"{_published(model, node.evidence)}>{predicate}')
        lines += _distribution(model, node.evidence, margin)
        stack.append(f"{margin}</Node>")
        stack += [(branch.child, _predicate(branch), depth + 1) for branch in reversed(node.branches)]
    return lines


def _published(model: DecisionTree, evidence: Evidence) -> str:
    size = "" if evidence.size is None else f' recordCount="{evidence.size}"'
    label = evidence.prediction
    if model.classes is None:
        score = None if evidence.value is None else repr(float(evidence.value))
    else:
        score = None if label is None else text_of(model.classes[label])
    return size + ("" if score is None else f" score={quoted(score)}")


def _distribution(model: DecisionTree, evidence: Evidence, margin: str) -> list[str]:
    if evidence.counts is None or model.classes is None:
        return []
    shares = [""] * len(model.classes)
    if evidence.probabilities is not None:
        shares = [f' probability="{share!r}"' for share in evidence.probabilities]
    return [
        f'{margin}  <ScoreDistribution value={quoted(text_of(label))} recordCount="{count}"{share}/>'
        for label, count, share in zip(model.classes, evidence.counts, shares, strict=True)
    ]


def _predicate(branch: Branch) -> str:
    """Return the predicate that is true exactly where a literal holds; what is unknown counts as false."""
    literal = branch.literal
    name = quoted(literal.attribute)
    gap = f'<SimplePredicate field={name} operator="isMissing"/>'
    present = f'<SimplePredicate field={name} operator="isNotMissing"/>'
    presence = _known(literal, name)
    if presence is None:  # it speaks of missing values alone
        holds = not literal.negated if isinstance(literal, Between) else literal.negated
        presence = present if holds else "<False/>"
        if literal.missing:
            return "<True/>" if holds else gap
        return presence
    return (
        f'<CompoundPredicate booleanOperator="or">{presence}{gap}</CompoundPredicate>' if literal.missing else presence
    )


def _known(literal: Literal, name: str) -> str | None:
    if isinstance(literal, OneOf):
        return _listed(literal, name)
    below, above = ("lessOrEqual", "greaterThan") if not literal.negated else ("greaterThan", "lessOrEqual")
    tests = [
        f'<SimplePredicate field={name} operator="{operator}" value="{float(bound)!r}"/>'
        for bound, operator in ((literal.lo, above), (literal.hi, below))
        if math.isfinite(bound)
    ]
    if len(tests) == 2:
        joined = "or" if literal.negated else "and"
        return f'<CompoundPredicate booleanOperator="{joined}">{tests[0]}{tests[1]}</CompoundPredicate>'
    return tests[0] if tests else None


def _listed(literal: OneOf, name: str) -> str | None:
    values = [text_of(value) for value in literal.values]
    if not values:
        return None
    if len(values) == 1:
        operator = "notEqual" if literal.negated else "equal"
        return f'<SimplePredicate field={name} operator="{operator}" value={quoted(values[0])}/>'
    operator, kind = ("isNotIn" if literal.negated else "isIn"), field_type(literal.values, f"the values of {name} are")
    kind = {"integer": "int", "double": "real"}.get(kind, "string")
    texts = " ".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return (
        f'<SimpleSetPredicate field={name} booleanOperator="{operator}">'
        f'<Array type="{kind}" n="{len(values)}">{escaped(texts)}</Array></SimpleSetPredicate>'
    )


def model_from_pmml(data: bytes, domain: Domain | None = None, tree: int | None = None) -> PublishedModel:
    """Read the tree of a PMML file, or the additive model that was written in it."""
    root = parsed_xml(data)
    if not holds_additive(root):
        return tree_of_document(root, domain, tree)
    if tree is not None:
        place_of(1, tree, "the PMML file")
    return additive_from_pmml(data, domain)


def beside_model(data: bytes, domain: Domain | None, tree: int | None) -> Iterable[OtherContent | FittedValues]:
    """Return what a PMML file holds beside its model; an additive one is read only where that is nothing."""
    return () if holds_additive(parsed_xml(data)) else beside_pmml(data, domain, tree)


FORMAT = Format(
    name="PMML",
    reads="PMML tree, or an additive model that Glassine wrote",
    tells="conditions, and class counts where it has them; scores",
    leaves_out="a guarantee, and whether counts are exact; of an additive model errors, weights, names and edits",
    extensions=(".pmml", ".xml"),
    contents=("bytes",),
    sniff=is_xml,
    read=model_from_pmml,
    read_all=forest_from_pmml,
    beside=beside_model,
    to="pmml",
    write=to_pmml,
    kinds=(DecisionTree, AdditiveModel),
)
