"""CORELS rule lists: the objects of the Python package, their saved fields, and their printed text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.conditions import binary, require
from glassine.models.formats.rule_conditions import condition, split_conditions
from glassine.models.rule_list import Rule, RuleList

__all__ = ["is_corels", "rules_from_corels", "rules_from_corels_text"]

FIELDS = (("rules", "features", "prediction_name"), ("r", "f", "p"))
SOURCE = "CORELS"


def _fields(obj: object) -> tuple[Any, Any] | None:
    """Return the rules and the features of an object, its rule list, or the fields that it saves."""
    inner = getattr(obj, "rl_", obj)
    for names in FIELDS:
        if isinstance(inner, Mapping):
            if set(names[:2]) <= set(inner):
                return inner[names[0]], inner[names[1]]
        elif all(hasattr(inner, name) for name in names):
            return getattr(inner, names[0]), getattr(inner, names[1])
    return None


def is_corels(obj: object) -> bool:
    """Return whether an object looks like a CORELS classifier, fitted or not, its rule list, or its saved fields."""
    names = {cls.__name__ for cls in type(obj).__mro__}
    return not isinstance(obj, type) and (_fields(obj) is not None or "CorelsClassifier" in names)


def _whole(value: Any) -> int | None:
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    return None


def _rule(entry: Any, number: int, last: bool, names: list[str], domain: Domain | None) -> Rule:
    if not isinstance(entry, Mapping) or not {"antecedents", "prediction"} <= set(entry):
        raise InvalidModelError(f"rule {number} of the CORELS list lacks 'antecedents' or 'prediction'.")
    label = _whole(entry["prediction"])
    if label not in (0, 1):
        raise InvalidModelError(f"rule {number} of the CORELS list predicts {entry['prediction']!r}, not a Boolean.")
    listed = entry["antecedents"]
    if not isinstance(listed, list | tuple | np.ndarray):
        raise InvalidModelError(f"the antecedents of rule {number} of the CORELS list are not a list, got {listed!r}.")
    numbers = [_whole(value) for value in listed]
    literals = []
    if last:
        if numbers not in ([0], []):
            raise InvalidModelError(f"the last rule of the CORELS list must be the default rule [0], got {numbers}.")
    else:
        for value in numbers:
            if value is None or not 1 <= abs(value) <= len(names):
                raise InvalidModelError(
                    f"rule {number} of the CORELS list names feature {value!r}; features are 1 to {len(names)}, "
                    "negative if they must be 0."
                )
            name = names[abs(value) - 1]
            require(name, domain, f"rule {number} of the CORELS list tests")
            literals.append(binary(name, value > 0))
    counts = None
    if entry.get("train_labels") is not None:
        given = entry["train_labels"]
        if not isinstance(given, list | tuple | np.ndarray):
            raise InvalidModelError(
                f"the labels of rule {number} of the CORELS list must be two counts, got {given!r}."
            )
        found = [_whole(value) for value in given]
        if len(found) != 2 or any(value is None or value < 0 for value in found):
            raise InvalidModelError(f"the labels of rule {number} of the CORELS list must be two counts, got {found}.")
        counts = tuple(value for value in found if value is not None)
    return Rule(antecedent=tuple(literals), evidence=Evidence(counts=counts, label=label))


def rules_from_corels(obj: Any, domain: Domain | None = None) -> RuleList:
    """Return a CORELS rule list as a plain value.

    Parameters
    ----------
    obj : CorelsClassifier, its ``rl_``, or a mapping
        The object; a mapping holds ``rules``, ``features`` and ``prediction_name``, or ``r``, ``f`` and ``p`` as
        CORELS saves them. A rule is a mapping of ``antecedents`` (numbers of features from 1, negative where the
        feature must be 0), ``prediction``, and where known ``train_labels``, the negatives and positives it captured.
    domain : Domain, optional
        The public domain; it must hold every feature that a rule tests.

    Returns
    -------
    RuleList
        Its classes are (False, True).

    Raises
    ------
    InvalidModelError
        If the object is not fitted, contradicts itself, or tests a feature that the domain lacks.
    UnsupportedModelError
        If the features are bins that imodels made of numbers.
    """
    found = _fields(obj)
    if found is None:
        raise InvalidModelError(f"{type(obj).__name__} is not fitted: it has no rule list 'rl_'. Call fit first.")
    if getattr(obj, "discretizer", None) is not None:
        raise UnsupportedModelError(
            f"{type(obj).__name__} cut its numeric features into bins of its own. Bin them before fit, and declare the "
            "bins as binary attributes."
        )
    rules, features = found
    if not isinstance(features, list | tuple | np.ndarray) or not all(isinstance(name, str) for name in features):
        raise InvalidModelError("the features of a CORELS list must be a list of names.")
    names = [str(name) for name in features]
    if not isinstance(rules, list | tuple) or not rules:
        raise InvalidModelError("a CORELS list needs at least its default rule, got none.")
    listed = tuple(_rule(entry, i, i == len(rules), names, domain) for i, entry in enumerate(rules, start=1))
    return RuleList(listed, tuple(names), (False, True), source=SOURCE)


def rules_from_corels_text(text: str, domain: Domain | None = None) -> RuleList:
    r"""Read a rule list as CORELS prints it, which tells no counts.

    Parameters
    ----------
    text : str
        The text, from ``RULELIST:`` on.
    domain : Domain, optional
        The public domain; a name of its attributes wins over reading an operator in the name.

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read; the message gives its number.

    Examples
    --------
    >>> text = "RULELIST:\nif [a && not b]:\n  label = True\nelse \n  label = False"
    >>> [str(cell) for cell in rules_from_corels_text(text).cells]
    ['a and not b', 'otherwise']
    """
    lines = [(i, line.strip()) for i, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not lines or lines[0][1].upper() != "RULELIST:":
        raise UnsupportedModelError("a printed CORELS list starts with 'RULELIST:'.")
    rules: list[Rule] = []
    antecedent: tuple[Any, ...] | None = () if len(lines) == 2 else None
    for number, line in lines[1:]:
        head = re.fullmatch(r"(?:else )?if \[(.+)\]:", line)
        tail = re.fullmatch(r".* = (True|False|0|1)", line)
        if rules and not rules[-1].antecedent:
            raise UnsupportedModelError(f"line {number} of the CORELS list follows the default rule. Remove it.")
        if head and antecedent is None:
            antecedent = tuple(condition(part, domain) for part in split_conditions(head[1], domain))
        elif line == "else" and antecedent is None:
            antecedent = ()
        elif tail and antecedent is not None:
            evidence = Evidence(label=int(tail[1] in ("True", "1")))
            rules.append(Rule(antecedent=antecedent, evidence=evidence))
            antecedent = None
        else:
            raise UnsupportedModelError(f"line {number} of the CORELS list cannot be read: {line[:60]!r}.")
    used = dict.fromkeys(literal.attribute for rule in rules for literal in rule.antecedent)
    return RuleList(tuple(rules), tuple(used) if domain is None else domain.names, (False, True), source=SOURCE)
