"""Rule lists of the imodels package."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import refuse_gaps, sides
from glassine.formats.conditions import at_least, class_names, kinds_of, list_of, not_fitted, require
from glassine.formats.format import of_object, of_text
from glassine.formats.printed.rule_conditions import plain
from glassine.models.evidence import Evidence
from glassine.models.rule_list import Rule, RuleList

# Greedy rule lists as imodels prints them.

TITLE = re.compile(r"^[ \t]*[0-9]+ rules? \+ else\b", re.MULTILINE)
CLASSES = re.compile(r"\bclasses: ([^\n\r·]+)")
NUMBER = r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?"
RULE = re.compile(
    rf"(?:(?P<kind>IF|ELSE IF) +(?P<name>\S.*?) (?P<operator><|≤|>|≥) (?P<bound>{NUMBER})|ELSE) +→ +"
    r"(?P<label>\S.*?) +\((?P<share>[0-9]{1,3})%\)(?: +(?P<size>[0-9][0-9,]*))?"
)
OPERATORS = {"<": "<", "≤": "<=", ">": ">", "≥": ">="}
HALF = 0.5 + 1e-9


def rules_from_imodels_text(text: str, domain: Domain | None = None) -> RuleList:
    """Read what ``print(model)`` printed of a greedy rule list of imodels, or of a list on one feature.

    Each rule has its number of records, and class counts where the share, which prints in whole percents, leaves one
    number. Thresholds are as printed, which is rounded. The text does not say where missing values go.
    """
    read = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        rule = RULE.fullmatch(line)
        if rule is not None:
            read.append(rule)
        elif re.match(r"(ELSE|IF)\b", line):
            raise UnsupportedModelError(f"line {number} of the imodels list cannot be read: {line[:60]!r}.")
    if not read or read[-1]["kind"] or any(not rule["kind"] for rule in read[:-1]):
        raise InvalidModelError("a printed list of imodels ends with its one ELSE.", remedy="Give all of it.")
    classes = _classes(text, [plain(rule["label"]) for rule in read])
    rules = []
    for rule in read:
        antecedent: tuple[Literal, ...] = ()
        if rule["kind"]:
            name, bound = rule["name"], float(rule["bound"].replace(",", ""))
            require(name, domain, "the imodels list tests")
            refuse_gaps(name, domain, "a printed list of imodels")
            if not math.isfinite(bound):
                raise InvalidModelError(f"{rule['bound'][:40]!r} is no finite number.", remedy="Print the list again.")
            antecedent = (sides(name, OPERATORS[rule["operator"]], bound, domain)[0],)
        rules.append(Rule(antecedent=antecedent, evidence=_printed_evidence(rule, classes)))
    return list_of(rules, classes, "imodels text", domain)


def _classes(text: str, labels: list[Scalar]) -> tuple[Scalar, ...]:
    """Return the two classes that the head of the text names, else those of the rules."""
    head = CLASSES.search(text)
    named = [plain(part.strip()) for part in head[1].split(",")] if head is not None else []
    seen = set(labels)
    classes = tuple(dict.fromkeys(named)) if seen <= set(named) else tuple(sorted(seen, key=str))
    if len(classes) != 2:
        raise UnsupportedModelError(f"a printed list of imodels has two classes without commas, got {len(classes)}.")
    return classes


def _printed_evidence(rule: re.Match[str], classes: tuple[Scalar, ...]) -> Evidence:
    label = classes.index(plain(rule["label"]))
    if rule["size"] is None:
        return Evidence(label=label)
    size, share = int(rule["size"].replace(",", "")[:18]), int(rule["share"])
    low = max(0, math.ceil(size * (share - HALF) / 100))
    high = min(size, math.floor(size * (share + HALF) / 100))
    if not size or low != high:
        return Evidence(total=size, label=label)
    return Evidence(counts=(low, size - low) if label == 0 else (size - low, low), label=label)


LISTS = ("GreedyRuleListClassifier", "OneRClassifier")


def is_imodels_list(obj: object) -> bool:
    """Return whether an object is a greedy rule list of imodels, fitted or not."""
    if set(kinds_of(obj, "imodels")) & set(LISTS):
        return True
    rules = getattr(obj, "rules_", None)
    return isinstance(rules, list) and bool(rules) and all(isinstance(r, Mapping) and "val" in r for r in rules)


def _size(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not value >= 0:
        raise InvalidModelError(f"{what} must be a whole number of at least 0, got {value!r}.")
    return int(value)


def _evidence(share: object, size: int, what: str) -> Evidence:
    """Return the evidence of a rule that captured records of which a share is of the second class."""
    if not isinstance(share, int | float | np.number):
        raise InvalidModelError(f"{what} predicts {share!r}, which is not a number.")
    value = float(share)
    if math.isnan(value):
        return Evidence(total=size)
    if not 0 <= value <= 1:
        raise InvalidModelError(f"{what} predicts {value}, which is not a share of records in [0, 1].")
    positive = round(value * size)
    label = int(value > 0.5)
    if abs(positive - value * size) > 1e-6 * max(1, size):
        return Evidence(total=size, label=label)
    return Evidence(counts=(size - positive, positive), label=label)


def _split(entry: Mapping[str, Any], what: str, domain: Domain | None) -> tuple[Literal, Evidence]:
    for key in ("col", "cutoff", "val_right", "num_pts_right", "num_pts"):
        if key not in entry:
            raise InvalidModelError(f"{what} lacks {key!r}.", remedy="Read lists of imodels 1.3 or later.")
    name, cutoff = str(entry["col"]), entry["cutoff"]
    require(name, domain, f"{what} tests")
    if not isinstance(cutoff, int | float | np.number) or not math.isfinite(cutoff):
        raise InvalidModelError(f"{what} has the cutoff {cutoff!r}, which is not a finite number.")
    above, below = at_least(name, float(cutoff), domain)
    size = _size(entry["num_pts_right"], f"{what}: the number of records")
    return below if entry.get("flip") else above, _evidence(entry["val_right"], size, what)


def rules_from_imodels(obj: Any, domain: Domain | None = None) -> RuleList:
    """Return a greedy rule list of imodels as a plain value.

    Parameters
    ----------
    obj : GreedyRuleListClassifier or OneRClassifier
        The fitted list.
    domain : Domain, optional
        The public domain; it must hold every feature that a rule tests.

    Returns
    -------
    RuleList
        A rule captures the records at or above its cutoff, or below it where imodels flipped it. Class counts come from
        the share of the second class, and the number of records, that the list stores for each rule.

    Raises
    ------
    InvalidModelError
        If the list is not fitted, contradicts itself, or tests a feature that the domain lacks.
    """
    stored = getattr(obj, "rules_", None)
    if not isinstance(stored, list) or not stored or not all(isinstance(entry, Mapping) for entry in stored):
        raise not_fitted(obj, "'rules_'")
    rules = []
    left: int | None = None
    for i, entry in enumerate(stored, start=1):
        what = f"rule {i} of the imodels list"
        if left is not None and _size(entry.get("num_pts", left), what) != left:
            raise InvalidModelError(
                f"{what} is given {entry['num_pts']} records, but {left} are left.", remedy="Fit it again."
            )
        if i < len(stored):
            literal, evidence = _split(entry, what, domain)
            left = _size(entry["num_pts"], what) - (evidence.size or 0)
            rules.append(Rule(antecedent=(literal,), evidence=evidence))
        elif "col" in entry or "num_pts" not in entry:
            # A list that ends with a split has lost its default rule; imodels then predicts the split's own share.
            rules.append(Rule(evidence=Evidence(total=left)))
        else:
            rules.append(Rule(evidence=_evidence(entry.get("val"), _size(entry["num_pts"], what), what)))
    classes = class_names(obj) or (0, 1)
    if len(classes) != 2:
        raise InvalidModelError(f"a rule list of imodels has two classes, got {len(classes)}.")
    names = getattr(obj, "feature_names_", None)
    used = tuple(dict.fromkeys(rule.antecedent[0].attribute for rule in rules[:-1]))
    attributes = used if names is None else tuple(str(name) for name in names)
    return RuleList(tuple(rules), attributes, classes, source=f"imodels {type(obj).__name__}")


FORMATS = (
    of_object(
        name="imodels",
        again="str(model), or pass the fitted estimator in Python",
        reads="greedy rule list of imodels",
        reveals="conditions and class counts",
        sniff=is_imodels_list,
        read=rules_from_imodels,
    ),
    of_text(
        name="the text of imodels",
        again="print(model) of the fitted list",
        reads="what imodels prints of a greedy rule list",
        reveals="conditions as printed, numbers of records, class counts of small rules",
        leaves_out="further digits of thresholds; class counts of large rules; where missing values go",
        sniff=lambda text: TITLE.search(text) is not None,
        read=rules_from_imodels_text,
    ),
)
