"""Models as JSON, schema ``glassine.model/1``."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

from glassine.domain import Between, Domain, Literal, OneOf
from glassine.domain.attributes import LARGEST, is_scalar
from glassine.errors import InvalidModelError
from glassine.formats.registry import BY_START, LAST, Format, PublishedModel
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.edits import LARGEST_SCORE, Edit
from glassine.models.evidence import Evidence
from glassine.models.guarantee import Guarantee
from glassine.models.rule_list import Rule, RuleList
from glassine.models.terms import Term
from glassine.models.tree import Branch, DecisionTree, Node

__all__ = [
    "FORMATS",
    "KIND",
    "SCHEMA",
    "additive_dict",
    "fingerprint",
    "finite_number",
    "flag",
    "from_dict",
    "guarantee_dict",
    "layout",
    "listed",
    "read_additive",
    "read_guarantee",
    "scalars",
    "take",
    "text",
    "to_dict",
]

# Parts of JSON that every kind of model shares, and the checks of their readers.


def take(entry: Any, what: str, allowed: tuple[str, ...], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an object after checking its keys."""
    if not isinstance(entry, dict):
        raise InvalidModelError(f"{what} must be an object, got {type(entry).__name__}.")
    for key in entry:
        if key not in allowed:
            raise InvalidModelError(f"{what} has an unknown key {key!r}. Known: {', '.join(allowed)}.")
    for key in required:
        if key not in entry:
            raise InvalidModelError(f"{what} lacks the key {key!r}.")
    return entry


def finite_number(value: Any, what: str, default: float) -> float:
    """Return a finite number, or the default for None."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        shown = repr(value) if isinstance(value, str | bool | float) else "one beyond 1e300"
        raise InvalidModelError(f"{what} must be a finite number, got {shown}.")
    return float(value)


def flag(entry: dict[str, Any], key: str, what: str) -> bool:
    """Return a Boolean of an object, false where it is absent."""
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise InvalidModelError(f"{what}: {key!r} must be true or false, got {value!r}.")
    return value


def listed(entry: dict[str, Any], key: str, what: str) -> list[Any]:
    """Return a list of an object, empty where it is absent."""
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise InvalidModelError(f"{what}: {key!r} must be a list, got {value!r}.")
    return value


def text(entry: dict[str, Any], key: str, what: str) -> str:
    """Return a text of an object, empty where it is absent."""
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise InvalidModelError(f"{what}: {key!r} must be a text, got {value!r}.")
    return value


def scalars(values: list[Any], what: str) -> tuple[Any, ...]:
    """Return a list of categories or classes as a tuple."""
    for value in values:
        if not is_scalar(value):
            raise InvalidModelError(f"{what} must hold strings, finite numbers or Booleans, got {value!r}.")
    return tuple(values)


def guarantee_dict(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain JSON values."""
    most = guarantee.records_per_person
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "neighboring": guarantee.neighboring,
        **({} if most is None else {"records_per_person": most}),
        "count_scale": guarantee.count_scale,
        "caveats": list(guarantee.caveats),
    }


def read_guarantee(entry: Any) -> Guarantee | None:
    """Return the guarantee that plain JSON values describe; None for null."""
    if entry is None:
        return None
    what = "the model's guarantee"
    keys = ("epsilon", "delta", "neighboring", "records_per_person", "count_scale", "caveats")
    # A neighboring relation that goes without saying is how guarantees are misread.
    entry = take(entry, what, keys, ("epsilon", "neighboring"))
    if "delta" in entry and entry["delta"] is None:
        raise InvalidModelError(f"{what}: 'delta' must be a number, got null. Leave it out for 0.")
    return Guarantee(
        epsilon=entry["epsilon"],
        delta=entry.get("delta", 0.0),
        neighboring=entry["neighboring"],
        records_per_person=entry.get("records_per_person"),
        count_scale=entry.get("count_scale"),
        caveats=tuple(listed(entry, "caveats", what)),
    )


# Additive models as JSON, kind ``additive`` of schema ``glassine.model/1``.


KIND = "additive"
HEAD = ("schema", "kind", "attributes", "classes", "link", "target", "target_bounds", "source", "guarantee")


def additive_dict(model: AdditiveModel, schema: str) -> dict[str, Any]:
    """Return an additive model as plain JSON values; the last axis of scores is left out where there is one output."""
    out: dict[str, Any] = {
        "schema": schema,
        "kind": KIND,
        "attributes": list(model.attributes),
        "classes": None if model.classes is None else list(model.classes),
        "link": model.link,
        "target": model.target,
        "target_bounds": None if model.target_bounds is None else list(model.target_bounds),
        "source": model.source,
    }
    if model.guarantee is not None:
        out["guarantee"] = guarantee_dict(model.guarantee)
    return {
        **out,
        "intercept": list(model.intercept),
        "terms": [_term(term) for term in model.terms],
        "edits": [_edit(edit) for edit in model.edits],
    }


def _term(term: Term) -> dict[str, Any]:
    out: dict[str, Any] = {"name": term.name, "bins": [_bins(bins) for bins in term.bins]}
    for key in ("scores", "errors"):
        array = getattr(term, key)
        if array is not None:
            out[key] = (array[..., 0] if term.n_outputs == 1 else array).tolist()
    if term.weights is not None:
        out["weights"] = term.weights.tolist()
    return out


def _bins(bins: Bins) -> dict[str, Any]:
    if isinstance(bins, CategoryBins):
        return {"attribute": bins.attribute, "groups": [list(group) for group in bins.groups]}
    out = {"attribute": bins.attribute, "cuts": list(bins.cuts), "closed": bins.closed}
    return out if bins.bounds is None else {**out, "bounds": list(bins.bounds)}


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "number": edit.number,
        "action": edit.action,
        "term": edit.term,
        "parameters": dict(edit.parameters),
        "cells": list(edit.cells),
        "before": list(edit.before),
        "after": list(edit.after),
        "reason": edit.reason,
    }


def read_additive(data: dict[str, Any]) -> AdditiveModel:
    """Return the additive model that plain JSON values describe; schema and kind are checked already.

    Raises
    ------
    InvalidModelError
        If a key is missing, unknown or of the wrong kind, or the model contradicts itself.
    """
    what = "the model"
    take(data, what, (*HEAD, "intercept", "terms", "edits"), ("attributes", "link", "intercept", "terms"))
    names = listed(data, "attributes", what)
    if not all(isinstance(name, str) for name in names):
        raise InvalidModelError("the model's attributes must be strings.")
    classes = None
    if data.get("classes") is not None:
        classes = scalars(listed(data, "classes", what), "the model's classes")
    bounds = None
    if data.get("target_bounds") is not None:
        bounds = tuple(_numbers(data["target_bounds"], "the model's target_bounds", 1))
    return AdditiveModel(
        attributes=tuple(names),
        terms=tuple(_read_term(entry, f"term {i}") for i, entry in enumerate(listed(data, "terms", what), start=1)),
        intercept=tuple(_numbers(data["intercept"], "the model's intercept", 1)),
        link=text(data, "link", what),
        classes=classes,
        target=text(data, "target", what),
        target_bounds=bounds,
        source=text(data, "source", what),
        guarantee=read_guarantee(data.get("guarantee")),
        edits=tuple(_read_edit(entry, f"edit {i}") for i, entry in enumerate(listed(data, "edits", what), start=1)),
    )


def _read_term(entry: Any, what: str) -> Term:
    entry = take(entry, what, ("name", "bins", "scores", "errors", "weights"), ("bins", "scores"))
    bins = tuple(_read_bins(part, f"{what}, bins {i}") for i, part in enumerate(listed(entry, "bins", what), start=1))
    depth = len(bins)
    arrays: dict[str, Any] = {"scores": None}
    for key, extra in (("scores", 1), ("errors", 1), ("weights", 0)):
        if entry.get(key) is not None:
            arrays[key] = _numbers(entry[key], f"the {key} of {what}", depth + extra)
    try:
        return Term(bins=bins, name=text(entry, "name", what), **arrays)
    except InvalidModelError as error:
        raise InvalidModelError(f"{what}: {error}") from None


def _read_bins(entry: Any, what: str) -> Bins:
    entry = take(entry, what, ("attribute", "cuts", "closed", "bounds", "groups"), ("attribute",))
    if ("cuts" in entry) == ("groups" in entry):
        raise InvalidModelError(f"{what} must have either cuts or groups.")
    try:
        if "cuts" in entry:
            cuts = tuple(_numbers(entry["cuts"], "cuts", 1))
            bounds = None if entry.get("bounds") is None else tuple(_numbers(entry["bounds"], "bounds", 1))
            # What goes without saying, which side is closed, would be read either way.
            take(entry, what, ("attribute", "cuts", "closed", "bounds"), ("closed",))
            return NumericBins(entry["attribute"], cuts, entry["closed"], bounds)
        take(entry, what, ("attribute", "groups"))
        groups = listed(entry, "groups", what)
        if not all(isinstance(group, list) for group in groups):
            raise InvalidModelError("groups must be lists of values.")
        # Null stands for missing values; CategoryBins checks the others.
        return CategoryBins(entry["attribute"], tuple(map(tuple, groups)))
    except InvalidModelError as error:
        raise InvalidModelError(f"{what}: {error}") from None


def _read_edit(entry: Any, what: str) -> Edit:
    keys = ("number", "action", "term", "parameters", "cells", "before", "after", "reason")
    entry = take(entry, what, keys, keys[:-1])
    if not isinstance(entry["parameters"], dict):
        raise InvalidModelError(f"{what}: 'parameters' must be an object, got {entry['parameters']!r}.")
    return Edit(
        number=entry["number"],
        action=entry["action"],
        term=entry["term"],
        parameters=tuple(entry["parameters"].items()),
        cells=tuple(listed(entry, "cells", what)),
        before=tuple(_numbers(entry["before"], f"{what}: 'before'", 1)),
        after=tuple(_numbers(entry["after"], f"{what}: 'after'", 1)),
        reason=text(entry, "reason", what),
    )


def _numbers(value: Any, what: str, depth: int) -> Any:
    """Return a list of finite numbers, nested at most ``depth`` deep."""
    if not isinstance(value, list):
        raise InvalidModelError(f"{what} must be a list of numbers, got {type(value).__name__}.")
    for entry in value:
        if isinstance(entry, list) and depth > 1:
            _numbers(entry, what, depth - 1)
        elif isinstance(entry, bool) or not isinstance(entry, int | float) or not abs(entry) <= LARGEST_SCORE:
            shown = "one beyond 1e300" if type(entry) in (int, float) else repr(entry)[:80]
            raise InvalidModelError(f"{what} must be finite numbers in lists, got {shown}.")
    return value


def layout(value: Any, margin: str = "") -> str:
    """Return plain values as JSON to read: what holds only numbers and texts stands on one line."""
    inner = margin + "  "
    if isinstance(value, dict) and value and any(isinstance(entry, dict | list) for entry in value.values()):
        lines = [f"{inner}{_plain(key)}: {layout(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and any(isinstance(entry, dict | list) for entry in value):
        return "[\n" + ",\n".join(f"{inner}{layout(entry, inner)}" for entry in value) + f"\n{margin}]"
    return _plain(value)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


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
    other = data["schema"] if isinstance(data["schema"], str) else ""
    if re.fullmatch(r"glassine\.(?!model/)[a-z-]+/.*", other, re.DOTALL):
        hint = " Give it as the domain." if other.startswith("glassine.domain/") else ""
        raise InvalidModelError(f"this is no model, but of schema {other!r}; a model's is {SCHEMA!r}.{hint}")
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


def write_json_model(model: PublishedModel, domain: Domain | None = None) -> str:
    """Return a model as the text of its JSON file; the scores of an additive model stand on lines of their own."""
    if isinstance(model, AdditiveModel):
        return layout(to_dict(model)) + "\n"
    return json.dumps(to_dict(model), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _is_own_estimator(obj: object) -> bool:
    """Return whether an object is an estimator of this package, or carries one of its models as they do."""
    if isinstance(obj, type):
        return False
    released = getattr(obj, "model_", None)
    return isinstance(released, PublishedModel) or type(obj).__module__.startswith("glassine.learners.")


def _of_estimator(obj: object, domain: Domain | None = None) -> PublishedModel:
    """Return the model that a fitted estimator has released."""
    released = getattr(obj, "model_", None)
    if not isinstance(released, PublishedModel):
        raise InvalidModelError(f"{type(obj).__name__} is not fitted: it has no 'model_'. Call fit first.")
    return released


FORMATS = (
    Format(
        name="Glassine",
        reads="Glassine's JSON, schema `glassine.model/1`: trees, rule lists and additive models",
        tells="everything",
        extensions=(".json",),
        contents=("values",),
        # What no other format claims is taken for ours, so that its errors say what is wrong with it.
        sniff=lambda values: True,
        rank=LAST,
        read=lambda values, domain: from_dict(values),
        to="json",
        write=write_json_model,
    ),
    Format(
        name="a Glassine estimator",
        reads="fitted estimator of Glassine",
        tells="the model that it released, its guarantee included",
        contents=("object",),
        sniff=_is_own_estimator,
        rank=BY_START,
        read=_of_estimator,
    ),
)
