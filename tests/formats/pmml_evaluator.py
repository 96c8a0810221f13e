"""A second reading of PMML trees: each record is scored as the specification words it, without sets or splits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

NO_PREDICTION = None
COMPARE = {
    "equal": lambda a, b: a == b,
    "notEqual": lambda a, b: a != b,
    "lessThan": lambda a, b: a < b,
    "lessOrEqual": lambda a, b: a <= b,
    "greaterThan": lambda a, b: a > b,
    "greaterOrEqual": lambda a, b: a >= b,
}


class Invalid(Exception):
    """The record has a value for which the model gives no prediction."""


class Disputed(Exception):
    """Evaluators differ on what the file says."""


def _is_gap(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


class Document:
    """A PMML document of one model."""

    def __init__(self, text: str) -> None:
        self.root = ET.fromstring(text)
        for element in self.root.iter():
            element.tag = element.tag.rpartition("}")[2]
        self.fields = {field.get("name"): field for field in self.root.iter("DataField")}
        self.schema = {field.get("name"): field for field in self.root.iter("MiningField")}

    def typed(self, name: str, text: str) -> Any:
        return float(text) if self.fields[name].get("dataType") in ("double", "integer") else text.strip()

    def prepared(self, name: str, value: Any) -> Any:
        """Return a value as the mining schema passes it on; None where it is missing."""
        field, use = self.fields[name], self.schema[name]
        listed: dict[str, list[Any]] = {"valid": [], "invalid": [], "missing": []}
        for entry in field.iter("Value"):
            listed[entry.get("property", "valid")].append(self.typed(name, entry.get("value", "")))
        intervals = [self._inside(entry, value) for entry in field.iter("Interval") if not _is_gap(value)]
        if _is_gap(value) or value in listed["missing"]:
            return self._filled(name)
        valid = value in listed["valid"] or any(intervals) or not (listed["valid"] or field.findall("Interval"))
        if value in listed["invalid"] or not valid:
            treatment = use.get("invalidValueTreatment", "returnInvalid")
            if treatment == "returnInvalid":
                raise Invalid
            if treatment == "asMissing":
                return self._filled(name)
            return self.typed(name, use.get("invalidValueReplacement", "")) if treatment == "asValue" else value
        outliers = use.get("outliers", "asIs")
        if outliers != "asIs":
            low, high = float(use.get("lowValue", "nan")), float(use.get("highValue", "nan"))
            if value < low or value > high:
                return self._filled(name) if outliers == "asMissingValues" else min(max(value, low), high)
        return value

    def _filled(self, name: str) -> Any:
        if self.schema[name].get("missingValueTreatment") == "returnInvalid":
            raise Invalid
        text = self.schema[name].get("missingValueReplacement")
        return None if text is None else self.typed(name, text)

    @staticmethod
    def _inside(interval: ET.Element, value: float) -> bool:
        left, right = interval.get("leftMargin", "-inf"), interval.get("rightMargin", "inf")
        closure = interval.get("closure", "")
        above = value >= float(left) if closure.startswith("closed") else value > float(left)
        return above and (value <= float(right) if closure.endswith("Closed") else value < float(right))

    def holds(self, predicate: ET.Element, record: Mapping[str, Any], *, gaps_are_false: bool) -> bool | None:
        """Return the truth of a predicate, None where it is unknown."""
        if predicate.tag in ("True", "False"):
            return predicate.tag == "True"
        if predicate.tag == "CompoundPredicate":
            operator = predicate.get("booleanOperator")
            parts = [self.holds(part, record, gaps_are_false=gaps_are_false) for part in predicate]
            if operator in ("xor", "surrogate"):
                known = [part for part in parts if part is not None]
                if operator == "surrogate":
                    return known[0] if known else None
                return None if None in parts else sum(map(bool, parts)) % 2 == 1
            if operator == "and":
                return False if False in parts else None if None in parts else True
            return True if True in parts else None if None in parts else False
        name = predicate.get("field", "")
        value = record[name]
        operator = predicate.get("operator", predicate.get("booleanOperator", ""))
        if operator in ("isMissing", "isNotMissing"):
            return (value is None) == (operator == "isMissing")
        if value is None:
            return False if gaps_are_false else None
        if predicate.tag == "SimpleSetPredicate":
            texts = predicate.findtext("Array", "").split()
            return (value in [self.typed(name, text) for text in texts]) == (operator == "isIn")
        return bool(COMPARE[operator](value, self.typed(name, predicate.get("value", ""))))

    def score(self, record: Mapping[str, Any]) -> str | None:
        """Return the score of a record's node, None where there is no prediction."""
        model = next(self.root.iter("TreeModel"))
        strategy = model.get("missingValueStrategy", "none")
        keeps = model.get("noTrueChildStrategy") == "returnLastPrediction"
        node = model.find("Node")
        try:
            given = {name: self.prepared(name, value) for name, value in record.items()}
        except Invalid:
            return NO_PREDICTION
        while node is not None and node.findall("Node"):
            below, chosen = node.findall("Node"), None
            for child in below:
                truth = self.holds(child[0], given, gaps_are_false=False)
                if strategy == "none" and (self.holds(child[0], given, gaps_are_false=True) is True) != (truth is True):
                    raise Disputed
                if truth:
                    chosen = child
                    break
                if truth is None and strategy != "none":
                    if strategy != "defaultChild":
                        return node.get("score") if strategy == "lastPrediction" else NO_PREDICTION
                    chosen = next(child for child in below if child.get("id") == node.get("defaultChild"))
                    break
            if chosen is None:
                return node.get("score") if keeps else NO_PREDICTION
            node = chosen
        return None if node is None else node.get("score")
