"""Rule lists of the imodels package."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from glassine.domain import Domain, Literal
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.conditions import at_least, require, scalar
from glassine.models.rule_list import Rule, RuleList

__all__ = ["is_imodels_list", "rules_from_imodels"]

LISTS = ("GreedyRuleListClassifier", "OneRClassifier")


def is_imodels_list(obj: object) -> bool:
    """Return whether an object is a greedy rule list of imodels, fitted or not."""
    names = {cls.__name__ for cls in type(obj).__mro__ if cls.__module__.split(".")[0] == "imodels"}
    if names & set(LISTS):
        return True
    rules = getattr(obj, "rules_", None)
    return isinstance(rules, list) and bool(rules) and all(isinstance(r, Mapping) and "val" in r for r in rules)


def _size(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not value >= 0:
        raise InvalidModelError(f"{what} must be a whole number of at least 0, got {value!r}.")
    return int(value)


def _evidence(share: Any, size: int, what: str) -> Evidence:
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
            raise InvalidModelError(f"{what} lacks {key!r}. Read lists of imodels 1.3 or later.")
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
        raise InvalidModelError(f"{type(obj).__name__} is not fitted: it has no 'rules_'. Call fit first.")
    rules = []
    left: int | None = None
    for i, entry in enumerate(stored, start=1):
        what = f"rule {i} of the imodels list"
        if left is not None and _size(entry.get("num_pts", left), what) != left:
            raise InvalidModelError(f"{what} is given {entry['num_pts']} records, but {left} are left. Fit it again.")
        if i < len(stored):
            literal, evidence = _split(entry, what, domain)
            left = _size(entry["num_pts"], what) - (evidence.size or 0)
            rules.append(Rule(antecedent=(literal,), evidence=evidence))
        elif "col" in entry or "num_pts" not in entry:
            # A list that ends with a split has lost its default rule; imodels then predicts the split's own share.
            rules.append(Rule(evidence=Evidence(total=left)))
        else:
            rules.append(Rule(evidence=_evidence(entry.get("val"), _size(entry["num_pts"], what), what)))
    classes: tuple[Scalar, ...] = (0, 1)
    if getattr(obj, "classes_", None) is not None:
        classes = tuple(scalar(name, "a class") for name in np.ravel(obj.classes_))
    if len(classes) != 2:
        raise InvalidModelError(f"a rule list of imodels has two classes, got {len(classes)}.")
    names = getattr(obj, "feature_names_", None)
    used = tuple(dict.fromkeys(rule.antecedent[0].attribute for rule in rules[:-1]))
    attributes = used if names is None else tuple(str(name) for name in names)
    return RuleList(tuple(rules), attributes, classes, source=f"imodels {type(obj).__name__}")
