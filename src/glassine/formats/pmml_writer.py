"""Models as PMML: trees with what they publish; additive models as a regression on one derived field a term."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from glassine.domain import Between, Category, Domain, Integer, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.formats.builder import place_of
from glassine.formats.conditions import as_written, check_conditions, check_model, compared_values, fresh_name
from glassine.formats.format import Format, PublishedModel
from glassine.formats.json import without_counts
from glassine.formats.pmml import ensemble_from_pmml, forest_from_pmml, is_xml, tree_of_document
from glassine.formats.pmml_documents import (
    TARGET,
    Element,
    escaped,
    field_type,
    head_of,
    parsed_xml,
    quoted,
    stated_guarantee,
    text_of,
)
from glassine.formats.pmml_regression import MODELS as REGRESSIONS
from glassine.formats.pmml_regression import regression_of_document
from glassine.formats.pmml_rules import rules_of_document, scorecard_of_document
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.evidence import Evidence
from glassine.models.terms import Term
from glassine.models.tree import Branch, DecisionTree

Array = npt.NDArray[np.float64]


def additive_to_pmml(model: AdditiveModel) -> str:
    """Return an additive model as PMML 4.4, see :func:`glassine.formats.to_pmml`."""
    if model.link == "log":
        raise UnsupportedModelError(
            "the PMML that is written has no logarithm of a mean.", remedy="Write it as JSON, SQL or Python."
        )
    target = fresh_name(TARGET, model.tested)
    names = [target, *model.tested]
    prefix = "term"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    link = "" if model.classes is None else ' normalizationMethod="softmax"'
    limits = []
    if model.target_bounds is not None:
        low, high = model.target_bounds
        ends = f'      <Target field={quoted(target)} min="{low!r}" max="{high!r}"/>'
        limits = ["    <Targets>", ends, "    </Targets>"]
    return head_of(without_counts(model.guarantee)) + _body(
        _data_fields(target, model),
        f'RegressionModel modelName="additive"{JOINT * model.joint} functionName="{_purpose(model)}"{link}',
        (model.tested, target),
        [*limits, *_derived(prefix, model), *_tables(prefix, model)],
    )


def _purpose(model: AdditiveModel | DecisionTree) -> str:
    return "regression" if model.classes is None else "classification"


def _body(fields: Sequence[str], opening: str, schema: tuple[Iterable[str], str], lines: Sequence[str]) -> str:
    """Return a document behind its head, given the element of the model as it opens, its inputs and its target."""
    names, target = schema
    return "\n".join(
        [
            f'  <DataDictionary numberOfFields="{len(fields)}">',
            *fields,
            "  </DataDictionary>",
            f"  <{opening}>",
            "    <MiningSchema>",
            *(f'      <MiningField name={quoted(name)} invalidValueTreatment="asIs"/>' for name in names),
            f'      <MiningField name={quoted(target)} usageType="target"/>',
            "    </MiningSchema>",
            *lines,
            f"  </{opening.partition(' ')[0]}>",
            "</PMML>",
            "",
        ]
    )


def _data_fields(target: str, model: AdditiveModel) -> list[str]:
    """Return the fields of the attributes and of the target."""
    lines = []
    for name in model.tested:
        values = [v for term in model.terms for bins in term.bins if bins.attribute == name for v in _values(bins)]
        kind = field_type(values, f"the values of {name!r} are") if values else "double"
        lines.append(_data_field(name, "categorical" if values else "continuous", kind))
    if model.classes is None:
        return [*lines, _data_field(target, "continuous", "double")]
    kind = field_type(model.classes, "the classes are")
    return [*lines, _data_field(target, "categorical", kind, [_spelled(label, kind) for label in model.classes])]


def _data_field(name: str, optype: str, kind: str, values: Iterable[str] | None = None) -> str:
    head = f'    <DataField name={quoted(name)} optype="{optype}" dataType="{kind}"'
    if values is None:
        return f"{head}/>"
    return f"{head}>{''.join(f'<Value value={quoted(value)}/>' for value in values)}</DataField>"


def _spelled(value: Scalar, kind: str) -> str:
    return repr(float(value)) if kind == "double" else text_of(value)


def _constant(text: str, kind: str) -> str:
    return f'<Constant dataType="{kind}">{escaped(text)}</Constant>'


def _values(bins: Bins) -> tuple[Scalar, ...]:
    return bins.values if isinstance(bins, CategoryBins) else ()


def _derived(prefix: str, model: AdditiveModel) -> list[str]:
    """Return a field for each term and output."""
    if not model.terms:
        return []
    lines = ["    <LocalTransformations>"]
    for k, term in enumerate(model.terms):
        kinds = {bins.attribute: field_type(_values(bins), "the values are") for bins in term.bins if _values(bins)}
        for output in range(model.n_outputs):
            lines.append(f'      <DerivedField name="{prefix}_{k}_{output}" optype="continuous" dataType="double">')
            lines.append("        " + _cells(term.bins, kinds, term.scores[..., output]))
            lines.append("      </DerivedField>")
    return [*lines, "    </LocalTransformations>"]


def _cells(bins: Sequence[Bins], kinds: dict[str, str], scores: Array) -> str:
    """Return the expression whose value is the score of a record's cell."""
    if not bins:
        return _constant(repr(float(scores)), "double")
    first, field = bins[0], f"<FieldRef field={quoted(bins[0].attribute)}/>"

    def below(place: int) -> str:
        return _cells(bins[1:], kinds, scores[place])

    if isinstance(first, NumericBins):
        gap, rest = first.n_bins - 1, _between(first, field, below, 0, len(first.cuts))
    else:
        kind = kinds[first.attribute]
        gap, rest = first.missing, below(first.n_bins - 1)
        for place in reversed(range(len(first.groups))):
            values = [value for value in first.groups[place] if value is not None]
            listed = "".join(_constant(_spelled(value, kind), kind) for value in values)
            if values:
                rest = _either(_apply("isIn", field + listed), below(place), rest)
    return _either(_apply("isMissing", field), below(gap), rest)


def _between(bins: NumericBins, field: str, below: Callable[[int], str], start: int, end: int) -> str:
    """Return the expression over some intervals, halved again and again."""
    if start == end:
        return below(start)
    middle = (start + end) // 2
    test = _apply(
        "lessOrEqual" if bins.closed == "right" else "lessThan", field + _constant(repr(bins.cuts[middle]), "double")
    )
    return _either(test, _between(bins, field, below, start, middle), _between(bins, field, below, middle + 1, end))


def _apply(function: str, inside: str) -> str:
    return f'<Apply function="{function}">{inside}</Apply>'


def _either(test: str, yes: str, no: str) -> str:
    return _apply("if", test + yes + no)


def _tables(prefix: str, model: AdditiveModel) -> list[str]:
    """Return the regression of each class; of two classes the first has the score 0."""
    outputs: list[int | None] = [None, 0] if model.link == "logit" else list(range(model.n_outputs))
    labels: list[Scalar | None] = [None] if model.classes is None else list(model.classes)
    kind = "" if model.classes is None else field_type(model.classes, "the classes are")
    lines = []
    for output, label in zip(outputs, labels, strict=True):
        category = "" if label is None else f" targetCategory={quoted(_spelled(label, kind))}"
        intercept = 0.0 if output is None else model.intercept[output]
        lines.append(f'    <RegressionTable intercept="{intercept!r}"{category}>')
        if output is not None:
            lines += [
                f'      <NumericPredictor name="{prefix}_{k}_{output}" coefficient="1"/>'
                for k in range(len(model.terms))
            ]
        lines.append("    </RegressionTable>")
    return lines


JOINT = ' algorithmName="regression"'
"""What a file says of an additive model whose scores were fitted together."""


def holds_additive(root: Element) -> bool:
    """Return whether a document is a regression that an additive model was written as."""
    model = root.first("RegressionModel")
    return model is not None and model.attributes.get("modelName") == "additive"


def additive_from_pmml(data: bytes, domain: Domain | None = None) -> AdditiveModel:
    """Read an additive model from a PMML file that Glassine wrote."""
    # Every byte is accounted for: the model is written again, and a file that differs is refused.
    root = parsed_xml(data)
    return as_written(
        data,
        domain,
        form="PMML",
        read=lambda: _parsed(root),
        write=lambda model: additive_to_pmml(model).encode(),
        # An element or attribute is not where it stands in every such file.
        refused=(GlassineError, AttributeError, KeyError, IndexError, ValueError, RecursionError),
    )


def _parsed(root: Element) -> AdditiveModel:
    """Return the model of a document; what it holds beside it is not looked at."""
    dictionary, regression = root.children[1], root.children[2]
    *fields, target = dictionary.children
    kinds = {
        field.attributes["name"]: field.attributes["dataType"] if field.attributes["optype"] == "categorical" else ""
        for field in fields
    }
    classes = tuple(_value(value.attributes["value"], target.attributes["dataType"]) for value in target.children)
    tables = [child for child in regression.children if child.tag == "RegressionTable"]
    logit = len(classes) == 2 and not tables[0].children and tables[0].attributes["intercept"] == "0.0"
    logit = logit and (bool(tables[1].children) or regression.first("LocalTransformations") is None)
    own = tables[1:] if logit else tables
    derived = regression.first("LocalTransformations")
    expressions = [field.children[0] for field in derived.children] if derived is not None else []
    terms = [_term(expressions[k : k + len(own)], kinds) for k in range(0, len(expressions), len(own))]
    limits = regression.first("Targets")
    stated = None if limits is None else limits.children[0].attributes
    return AdditiveModel(
        attributes=tuple(kinds),
        terms=tuple(terms),
        intercept=tuple(float(table.attributes["intercept"]) for table in own),
        link="identity" if not classes else "logit" if logit else "softmax",
        classes=classes or None,
        target_bounds=None if stated is None else (float(stated["min"]), float(stated["max"])),
        source="PMML",
        guarantee=stated_guarantee(root),
        joint="algorithmName" in regression.attributes,
    )


def _term(expressions: Sequence[Element], kinds: dict[str, str]) -> Term:
    """Return the term of the expressions of its outputs."""
    bins: list[Bins] = []
    columns: list[list[float]] = []
    for expression in expressions:
        bins, below = [], [expression]
        while below[0].tag == "Apply":
            parts = [_axis(part, kinds) for part in below]
            bins.append(parts[0][0])
            below = list(chain.from_iterable(part[1] for part in parts))
        columns.append([float(leaf.text) for leaf in below])
    shape = tuple(entry.n_bins for entry in bins)
    return Term(bins=tuple(bins), scores=np.array(columns).T.reshape(*shape, len(expressions)))


def _axis(expression: Element, kinds: dict[str, str]) -> tuple[Bins, list[Element]]:
    """Return the bins of the first attribute of an expression, and the expressions of its bins in order."""
    test, gap, rest = expression.children
    name = test.children[0].attributes["field"]
    tests: list[Element] = []
    leaves: list[Element] = []
    stack = [rest]
    # In order: a test stands between what is below it on either side.
    while stack:
        top = stack.pop()
        inner = top.children[0] if top.tag == "Apply" and top.attributes["function"] == "if" else None
        ours = inner is not None and inner.children[0].attributes.get("field") == name
        if inner is not None and ours and inner.attributes["function"] != "isMissing":
            stack += [top.children[2], inner, top.children[1]]
        elif top.tag == "Apply" and top.attributes["function"] != "if":
            tests.append(top)
        else:
            leaves.append(top)
    if not kinds[name]:
        closed = "left" if tests and tests[0].attributes["function"] == "lessThan" else "right"
        cuts = tuple(float(entry.children[1].text) for entry in tests)
        return NumericBins(name, cuts, closed=closed), [*leaves, gap]
    groups = [tuple(_value(value.text, kinds[name]) for value in entry.children[1:]) for entry in tests]
    return CategoryBins(name, (*groups, (None,))), [*leaves[:-1], gap, leaves[-1]]


def _value(text: str, kind: str) -> Scalar:
    """Return a value as it was spelled."""
    if kind == "boolean":
        return text == "true"
    if kind == "integer":
        return int(text)
    return float(text) if kind == "double" else text


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
        One ``TreeModel``. Counts are in ``recordCount`` and ``ScoreDistribution`` as the model has them; rounded
        ones are not marked. An extension of the header states a guarantee. A record that satisfies no branch has no
        prediction. Of an additive model one ``RegressionModel`` on a derived field for each term, with every digit of
        its scores.

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
    check_conditions(model, domain)
    target = fresh_name(TARGET, model.attributes)
    # Of an attribute that is not tested the model knows no type, and no engine needs its field.
    tested = {literal.attribute for literal in model.literals}
    names = [name for name in model.attributes if domain is not None or name in tested]
    fields = [_field(name, model, domain) for name in names]
    outcome = "double" if model.classes is None else field_type(model.classes, "the classes are")
    optype = "continuous" if model.classes is None else "categorical"
    fields.append(_data_field(target, optype, outcome, map(text_of, model.classes or ())))
    opening = (
        f'TreeModel functionName="{_purpose(model)}" splitCharacteristic="multiSplit" missingValueStrategy="none"'
        ' noTrueChildStrategy="returnNullPrediction"'
    )
    return head_of(model.guarantee, model.sizes) + _body(fields, opening, (names, target), _nodes(model))


def _field(name: str, model: DecisionTree, domain: Domain | None) -> str:
    attribute = None if domain is None else domain[name]
    compared = compared_values(model).get(name, ())
    bounded = any(isinstance(lit, Between) for lit in model.literals if lit.attribute == name)
    if isinstance(attribute, Category):
        kind = field_type(attribute.values, f"the values of {name!r} are")
        return _data_field(name, "categorical", kind, map(text_of, attribute.values))
    if attribute is None and not bounded:
        return _data_field(name, "categorical", field_type(compared, f"the values of {name!r} are"))
    return _data_field(name, "continuous", "integer" if isinstance(attribute, Integer) else "double")


def _nodes(model: DecisionTree) -> list[str]:
    """Return the lines of the nodes, depth first."""
    # Numbered in this order, as a reader numbers them.
    lines: list[str] = []
    number = itertools.count()
    stack: list[tuple[int, str, int] | str] = [(0, "<True/>", 2)]
    while stack:
        entry = stack.pop()
        if isinstance(entry, str):
            lines.append(entry)
            continue
        index, predicate, depth = entry
        node, margin = model.nodes[index], "  " * min(depth, 40)
        lines.append(f'{margin}<Node id="{next(number)}"{_published(model, node.evidence)}>{predicate}')
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
    presence = _presence(literal, name)
    if presence is None:  # it speaks of missing values alone
        holds = not literal.negated if isinstance(literal, Between) else literal.negated
        presence = present if holds else "<False/>"
        if literal.missing:
            return "<True/>" if holds else gap
        return presence
    return (
        f'<CompoundPredicate booleanOperator="or">{presence}{gap}</CompoundPredicate>' if literal.missing else presence
    )


def _presence(literal: Literal, name: str) -> str | None:
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
    """Read the tree, rule set, scorecard or regression of a PMML file, or the additive model that was written in it."""
    root = parsed_xml(data)
    # An additive model of Glassine is a regression of derived fields there.
    alone = ("RuleSetModel", "Scorecard", *(() if holds_additive(root) else REGRESSIONS))
    single = next((child for child in root.children if child.tag in alone), None)
    if single is None and not holds_additive(root):
        return tree_of_document(root, domain, tree)
    place_of(1, tree, "the PMML file")
    if single is None:
        return additive_from_pmml(data, domain)
    readers: dict[str, Callable[[Element, Element, Domain | None], PublishedModel]] = {
        "RuleSetModel": rules_of_document,
        "Scorecard": scorecard_of_document,
    }
    return readers.get(single.tag, regression_of_document)(root, single, domain)


FORMAT = Format(
    name="PMML",
    again="the program that exported it",
    reads="PMML tree, rule set (`firstHit`), scorecard, `RegressionModel` or `GeneralRegressionModel`, or an additive "
    "model that Glassine wrote",
    reveals="conditions, and class counts where it has them; scores",
    leaves_out="whether counts are rounded",
    leaves_out_of_additive="errors, weights, names and edits",
    extensions=(".pmml", ".xml"),
    contents=("bytes",),
    sniff=is_xml,
    read=model_from_pmml,
    read_all=forest_from_pmml,
    read_ensemble=ensemble_from_pmml,
    to="pmml",
    write=to_pmml,
    kinds=(DecisionTree, AdditiveModel),
)
