"""Decision trees as PMML, with what they publish."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import check_domain, check_model, compared_values
from glassine.formats.pmml import forest_from_pmml, is_xml, tree_from_pmml
from glassine.formats.pmml_contents import beside_pmml
from glassine.formats.registry import Format
from glassine.models.evidence import Evidence
from glassine.models.rule_list import RuleList
from glassine.models.tree import Branch, DecisionTree

__all__ = ["FORMAT", "to_pmml"]

HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header><Application name="glassine"/></Header>
"""
TARGET = "prediction"


def to_pmml(model: DecisionTree | RuleList, domain: Domain | None = None) -> str:
    """Return a decision tree as PMML 4.4.

    Parameters
    ----------
    model : DecisionTree
        The tree; a rule list is refused.
    domain : Domain, optional
        The public domain, which states types and values of the fields.

    Returns
    -------
    str
        One ``TreeModel``. Counts stand in ``recordCount`` and ``ScoreDistribution`` as the model has them; noisy ones
        are not marked, and the file carries no guarantee. A record that satisfies no branch has no prediction.

    Raises
    ------
    UnsupportedModelError
        If it is not a decision tree, a text cannot stand in XML, or an attribute or the classes mix texts and numbers.
    InvalidModelError
        If the domain lacks an attribute or a value.

    Examples
    --------
    >>> from glassine.models import Node
    >>> tree = DecisionTree((Node(evidence=Evidence(counts=(3, 1))),), ("age",), ("ill", "well"))
    >>> print(to_pmml(tree).splitlines()[-6].strip())
    <Node id="0" recordCount="4" score="ill"><True/>
    """
    check_model(model)
    if not isinstance(model, DecisionTree):
        raise UnsupportedModelError(
            "PMML is written of decision trees, got a rule list.", remedy="Write SQL or Python instead."
        )
    check_domain(model, domain)
    target = TARGET
    while target in model.attributes:
        target += "_"
    kind = "regression" if model.classes is None else "classification"
    fields = [_field(name, model, domain) for name in model.attributes]
    outcome = "double" if model.classes is None else _type(model.classes, "the classes are")
    optype = "continuous" if model.classes is None else "categorical"
    listed = "".join(f"<Value value={_quoted(_text(label))}/>" for label in model.classes or ())
    fields.append(f'    <DataField name={_quoted(target)} optype="{optype}" dataType="{outcome}">{listed}</DataField>')
    schema = [f"      <MiningField name={_quoted(name)}/>" for name in model.attributes]
    lines = [
        f'  <DataDictionary numberOfFields="{len(fields)}">',
        *fields,
        "  </DataDictionary>",
        f'  <TreeModel functionName="{kind}" splitCharacteristic="multiSplit" missingValueStrategy="none"'
        ' noTrueChildStrategy="returnNullPrediction">',
        "    <MiningSchema>",
        *schema,
        f'      <MiningField name={_quoted(target)} usageType="target"/>',
        "    </MiningSchema>",
        *_nodes(model),
        "  </TreeModel>",
        "</PMML>",
    ]
    return HEAD + "\n".join(lines) + "\n"


def _text(value: Scalar) -> str:
    """Return a value as PMML spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    odd = next(
        (c for c in text if (c < " " and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff"), None
    )
    if odd is not None:
        raise UnsupportedModelError(
            f"the text {text!r:.60} holds the character {odd!r}, which XML has not.", remedy="Rename it."
        )
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _type(values: Sequence[Scalar], what: str) -> str:
    kinds = {
        bool if isinstance(v, bool) else str if isinstance(v, str) else int if isinstance(v, int) else float
        for v in values
    }
    if kinds <= {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds <= {int, float}:
        return "integer" if kinds == {int} else "double"
    raise UnsupportedModelError(f"{what} of several types, which a field of PMML is not.", remedy="Recode them.")


def _field(name: str, model: DecisionTree, domain: Domain | None) -> str:
    attribute = None if domain is None else domain[name]
    compared = compared_values(model).get(name, ())
    bounded = any(isinstance(lit, Between) for lit in model.literals if lit.attribute == name)
    if isinstance(attribute, Category):
        listed = "".join(f"<Value value={_quoted(_text(value))}/>" for value in attribute.values)
        kind = _type(attribute.values, f"the values of {name!r} are")
        return f'    <DataField name={_quoted(name)} optype="categorical" dataType="{kind}">{listed}</DataField>'
    kind = "integer" if isinstance(attribute, Integer) else "double"
    optype = "continuous"
    if attribute is None and compared and not bounded:
        kind, optype = _type(compared, f"the values of {name!r} are"), "categorical"
    elif attribute is None and not bounded:
        optype = "categorical"
        kind = "string"
    return f'    <DataField name={_quoted(name)} optype="{optype}" dataType="{kind}"/>'


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
        score = None if label is None else _text(model.classes[label])
    return size + ("" if score is None else f" score={_quoted(score)}")


def _distribution(model: DecisionTree, evidence: Evidence, margin: str) -> list[str]:
    if evidence.counts is None or model.classes is None:
        return []
    shares = [""] * len(model.classes)
    if evidence.probabilities is not None:
        shares = [f' probability="{share!r}"' for share in evidence.probabilities]
    return [
        f'{margin}  <ScoreDistribution value={_quoted(_text(label))} recordCount="{count}"{share}/>'
        for label, count, share in zip(model.classes, evidence.counts, shares, strict=True)
    ]


def _predicate(branch: Branch) -> str:
    """Return the predicate that is true exactly where a literal holds; what is unknown counts as false."""
    literal = branch.literal
    name = _quoted(literal.attribute)
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
    values = [_text(value) for value in literal.values]
    if not values:
        return None
    if len(values) == 1:
        operator = "notEqual" if literal.negated else "equal"
        return f'<SimplePredicate field={name} operator="{operator}" value={_quoted(values[0])}/>'
    operator, kind = ("isNotIn" if literal.negated else "isIn"), _type(literal.values, f"the values of {name} are")
    kind = {"integer": "int", "double": "real"}.get(kind, "string")
    texts = " ".join('"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values)
    return (
        f'<SimpleSetPredicate field={name} booleanOperator="{operator}">'
        f'<Array type="{kind}" n="{len(values)}">{_escaped(texts)}</Array></SimpleSetPredicate>'
    )


def _escaped(text: str) -> str:
    _quoted(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


FORMAT = Format(
    name="PMML",
    reads="PMML tree",
    tells="conditions, and class counts where it has them",
    leaves_out="a guarantee, and whether counts are exact",
    extensions=(".pmml", ".xml"),
    contents=("bytes",),
    sniff=is_xml,
    read=tree_from_pmml,
    read_all=forest_from_pmml,
    beside=beside_pmml,
    to="pmml",
    write=to_pmml,
    kinds=(DecisionTree,),
)
