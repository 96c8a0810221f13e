"""Greedy rule lists as imodels prints them."""

from __future__ import annotations

import math
import re

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.assembling import refuse_gaps, sides
from glassine.models.formats.conditions import require
from glassine.models.formats.rule_conditions import plain
from glassine.models.rule_list import Rule, RuleList

__all__ = ["is_imodels_text", "rules_from_imodels_text"]

TITLE = re.compile(r"^[ \t]*[0-9]+ rules? \+ else\b", re.MULTILINE)
CLASSES = re.compile(r"\bclasses: ([^\n\r·]+)")
NUMBER = r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
RULE = re.compile(
    rf"(?:(?P<kind>IF|ELSE IF) +(?P<name>\S.*?) (?P<operator><|≤|>|≥) (?P<bound>{NUMBER})|ELSE) +→ +"
    r"(?P<label>\S.*?) +\((?P<share>[0-9]{1,3})%\)(?: +(?P<size>[0-9][0-9,]*))?"
)
OPERATORS = {"<": "<", "≤": "<=", ">": ">", "≥": ">="}
HALF = 0.5 + 1e-9


def is_imodels_text(text: str) -> bool:
    """Return whether a text holds the headline of a printed rule list of imodels."""
    return TITLE.search(text) is not None


def rules_from_imodels_text(text: str, domain: Domain | None = None) -> RuleList:
    """Read a rule list that imodels printed.

    Parameters
    ----------
    text : str
        What ``print(model)`` printed of a greedy rule list or a list on one feature.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    RuleList
        Each rule tells its number of records, and class counts where the share, which prints in whole percents, leaves
        one number. Thresholds are as printed, which is rounded.

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read, or there are not two classes.
    InvalidModelError
        If the default rule is missing, or an attribute can be missing: the text does not say where gaps go.
    """
    found = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        rule = RULE.fullmatch(line)
        if rule is not None:
            found.append(rule)
        elif re.match(r"(ELSE|IF)\b", line):
            raise UnsupportedModelError(f"line {number} of the imodels list cannot be read: {line[:60]!r}.")
    if not found or found[-1]["kind"] or any(not rule["kind"] for rule in found[:-1]):
        raise InvalidModelError("a printed list of imodels ends with its one ELSE. Give all of it.")
    classes = _classes(text, [plain(rule["label"]) for rule in found])
    rules = []
    for rule in found:
        antecedent: tuple[Literal, ...] = ()
        if rule["kind"]:
            name, bound = rule["name"], float(rule["bound"].replace(",", ""))
            require(name, domain, "the imodels list tests")
            refuse_gaps(name, domain, "a printed list of imodels")
            if not math.isfinite(bound):
                raise InvalidModelError(f"{rule['bound'][:40]!r} is not a finite number. Print the list anew.")
            antecedent = (sides(name, OPERATORS[rule["operator"]], bound, domain)[0],)
        rules.append(Rule(antecedent=antecedent, evidence=_evidence(rule, classes)))
    used = dict.fromkeys(literal.attribute for entry in rules for literal in entry.antecedent)
    return RuleList(tuple(rules), tuple(used) if domain is None else domain.names, classes, source="imodels text")


def _classes(text: str, labels: list[Scalar]) -> tuple[Scalar, ...]:
    """Return the two classes that the head of the text names, else those of the rules."""
    head = CLASSES.search(text)
    named = [plain(part.strip()) for part in head[1].split(",")] if head is not None else []
    seen = set(labels)
    classes = tuple(dict.fromkeys(named)) if seen <= set(named) else tuple(sorted(seen, key=str))
    if len(classes) != 2:
        raise UnsupportedModelError(f"a printed list of imodels has two classes without commas, got {len(classes)}.")
    return classes


def _evidence(rule: re.Match[str], classes: tuple[Scalar, ...]) -> Evidence:
    label = classes.index(plain(rule["label"]))
    if rule["size"] is None:
        return Evidence(label=label)
    size, share = int(rule["size"].replace(",", "")[:18]), int(rule["share"])
    low = max(0, math.ceil(size * (share - HALF) / 100))
    high = min(size, math.floor(size * (share + HALF) / 100))
    if not size or low != high:
        return Evidence(total=size, label=label)
    return Evidence(counts=(low, size - low) if label == 0 else (size - low, low), label=label)
