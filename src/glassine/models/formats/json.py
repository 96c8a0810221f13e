"""Models as JSON, schema ``glassine.model/1``."""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any

from glassine.domain import Between, Literal, OneOf
from glassine.errors import InvalidModelError
from glassine.files import write_json, write_text
from glassine.models.additive import AdditiveModel
from glassine.models.evidence import Evidence
from glassine.models.formats.additive_json import KIND, additive_dict, layout, read_additive
from glassine.models.formats.json_parts import (
    finite_number,
    flag,
    guarantee_dict,
    listed,
    read_guarantee,
    scalars,
    take,
)
from glassine.models.formats.paths import not_a_model
from glassine.models.rule_list import Rule, RuleList
from glassine.models.tree import Branch, DecisionTree, Node

__all__ = ["SCHEMA", "fingerprint", "from_dict", "to_dict", "write_model"]

SCHEMA = "glassine.model/1"


def _literal(literal: Literal) -> dict[str, Any]:
    out: dict[str, Any] = {"attribute": literal.attribute}
    if isinstance(literal, OneOf):
        out["values"] = list(literal.values)
    else:
        out |= {"above": literal.lo} if literal.lo != -math.inf else {}
        out |= {"at_most": literal.hi} if literal.hi != math.inf else {}
    out |= {"negated": True} if literal.negated else {}
    out |= {"missing": True} if literal.missing else {}
    return out


def _evidence(evidence: Evidence) -> dict[str, Any]:
    named = {
        "counts": None if evidence.counts is None else list(evidence.counts),
        "total": evidence.total,
        "label": evidence.label,
        "error_rate": evidence.error_rate,
        "value": evidence.value,
    }
    out = {key: value for key, value in named.items() if value is not None}
    return {**out, "weighted": True} if evidence.weighted else out


def to_dict(model: DecisionTree | RuleList | AdditiveModel) -> dict[str, Any]:
    """Return a model as plain JSON values."""
    if isinstance(model, AdditiveModel):
        return additive_dict(model, SCHEMA)
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": "decision-tree" if isinstance(model, DecisionTree) else "rule-list",
        "attributes": list(model.attributes),
        "classes": None if model.classes is None else list(model.classes),
        "source": model.source,
        "approximate": model.approximate,
    }
    if model.guarantee is not None:
        head["guarantee"] = guarantee_dict(model.guarantee)
    if isinstance(model, DecisionTree):
        nodes = [
            {
                "branches": [{"if": _literal(b.literal), "child": b.child} for b in node.branches],
                **_evidence(node.evidence),
            }
            for node in model.nodes
        ]
        return {**head, "nodes": nodes}
    rules = [{"if": [_literal(lit) for lit in rule.antecedent], **_evidence(rule.evidence)} for rule in model.rules]
    return {**head, "rules": rules}


def _read_literal(entry: Any, what: str) -> Literal:
    keys = ("attribute", "values", "above", "at_most", "negated", "missing")
    entry = take(entry, what, keys, ("attribute",))
    name = entry["attribute"]
    if not isinstance(name, str):
        raise InvalidModelError(f"{what}: an attribute is named by a string, got {name!r}.")
    negated, missing = flag(entry, "negated", what), flag(entry, "missing", what)
    if "values" in entry:
        if "above" in entry or "at_most" in entry:
            raise InvalidModelError(f"{what} has values and bounds. Give one of them.")
        return OneOf(name, scalars(listed(entry, "values", what), what), negated=negated, missing=missing)
    if "above" not in entry and "at_most" not in entry:
        raise InvalidModelError(f"{what} has neither values nor bounds.")
    lo = finite_number(entry.get("above"), f"{what}: 'above'", -math.inf)
    hi = finite_number(entry.get("at_most"), f"{what}: 'at_most'", math.inf)
    return Between(name, lo, hi, negated=negated, missing=missing)


EVIDENCE = ("counts", "total", "label", "error_rate", "value", "weighted")


def _read_evidence(entry: dict[str, Any], what: str) -> Evidence:
    counts = tuple(listed(entry, "counts", what)) if entry.get("counts") is not None else None
    for key in ("error_rate", "value"):
        if entry.get(key) is not None:
            finite_number(entry[key], f"{what}: {key!r}", 0)
    if isinstance(entry.get("label"), bool):
        raise InvalidModelError(f"{what}: a label must be the index of a class, got {entry['label']!r}.")
    try:
        rest = {key: entry.get(key) for key in EVIDENCE[1:-1]}
        return Evidence(counts=counts, **rest, weighted=flag(entry, "weighted", what))
    except InvalidModelError as error:
        raise InvalidModelError(f"{what}: {error}") from None


def from_dict(data: Any) -> DecisionTree | RuleList | AdditiveModel:
    """Return the model that plain JSON values describe.

    Raises
    ------
    InvalidModelError
        If a key is missing, unknown or of the wrong kind, the schema version is another, or the model contradicts
        itself.
    """
    head = ("schema", "kind", "attributes", "classes", "source", "approximate", "guarantee")
    if not isinstance(data, dict) or "schema" not in data:
        raise InvalidModelError(f'a model must be a JSON object with "schema": "{SCHEMA}".')
    if data["schema"] != SCHEMA:
        raise InvalidModelError(f"this version reads models of schema {SCHEMA!r}, got {data['schema']!r}.")
    kind = data.get("kind")
    if kind == KIND:
        return read_additive(data)
    if kind not in ("decision-tree", "rule-list"):
        raise InvalidModelError(f"a model's kind must be 'decision-tree', 'rule-list' or {KIND!r}, got {kind!r}.")
    parts = "nodes" if kind == "decision-tree" else "rules"
    take(data, "the model", (*head, parts), ("attributes", parts))
    names = listed(data, "attributes", "the model")
    if not all(isinstance(name, str) for name in names):
        raise InvalidModelError("the model's attributes must be strings.")
    if not isinstance(data.get("source", ""), str):
        raise InvalidModelError(f"the model's source must be a string, got {data['source']!r}.")
    classes = None
    if data.get("classes") is not None:
        classes = scalars(listed(data, "classes", "the model"), "the model's classes")
    common: dict[str, Any] = {
        "attributes": tuple(names),
        "classes": classes,
        "source": data.get("source", ""),
        "approximate": flag(data, "approximate", "the model"),
        "guarantee": read_guarantee(data.get("guarantee")),
    }
    entries = listed(data, parts, "the model")
    if kind == "rule-list":
        return RuleList(tuple(_read_rule(e, f"rule {i}") for i, e in enumerate(entries, start=1)), **common)
    return DecisionTree(tuple(_read_node(e, f"node {i}") for i, e in enumerate(entries)), **common)


def _read_rule(entry: Any, what: str) -> Rule:
    entry = take(entry, what, ("if", *EVIDENCE), ("if",))
    antecedent = tuple(
        _read_literal(lit, f"{what}, condition {i}") for i, lit in enumerate(listed(entry, "if", what), 1)
    )
    return Rule(antecedent=antecedent, evidence=_read_evidence(entry, what))


def _read_node(entry: Any, what: str) -> Node:
    entry = take(entry, what, ("branches", *EVIDENCE))
    branches = []
    for i, branch in enumerate(listed(entry, "branches", what), start=1):
        where = f"{what}, branch {i}"
        branch = take(branch, where, ("if", "child"), ("if", "child"))
        if isinstance(branch["child"], bool):
            raise InvalidModelError(f"{where}: a child must be the index of a node, got {branch['child']!r}.")
        branches.append(Branch(_read_literal(branch["if"], where), branch["child"]))
    return Node(branches=tuple(branches), evidence=_read_evidence(entry, what))


def fingerprint(model: DecisionTree | RuleList | AdditiveModel) -> str:
    """Return the SHA-256 of a model's JSON, in hexadecimal, whatever the layout of the file that holds it."""
    text = json.dumps(to_dict(model), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_model(model: DecisionTree | RuleList | AdditiveModel, path: str | os.PathLike[str]) -> None:
    """Write a model to a JSON file, whole or not at all.

    Raises
    ------
    UnsupportedModelError
        If it is not a model: of a learner of this package it is ``model_``, and other fitted estimators become one by
        :func:`glassine.as_model`.
    """
    given: object = model
    if not isinstance(given, DecisionTree | RuleList | AdditiveModel):
        raise not_a_model(given)
    if isinstance(model, AdditiveModel):
        write_text(layout(to_dict(model)) + "\n", path)
    else:
        write_json(to_dict(model), path)
