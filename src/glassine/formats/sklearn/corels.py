"""CORELS rule lists: the objects of the Python package, their saved fields, and their printed text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from glassine.domain import Binary, Category, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import attribute_of, binary, list_of, not_fitted, require
from glassine.formats.format import BEFORE_JSON, BY_START, Format, first_line, of_text
from glassine.formats.printed.rule_conditions import condition, split_conditions
from glassine.models.evidence import Evidence
from glassine.models.rule_list import Rule, RuleList

# Rule lists as the program of CORELS prints them and writes them to its model file: rules in braces.

LINE = re.compile(r"(?:(?:else )?if \(\{(?P<rule>[^{}]+)\}\) then|else) \(\{(?P<label>[^{}]+)\}\)")
FILED = re.compile(r"(?:\{(?P<rule>[^{}~;]+)\}|default)~(?P<label>[01])")
START = re.compile(r"\s*(\{[^{}~\"]+\}|default)~[01]\s*(;|$)")
PRINTED = re.compile(r"^[ \t]*(if|else) \(\{[^{}\n]+\}\)", re.MULTILINE)
TRUTH = {"1": True, "0": False}


def rules_from_corels_program(text: str, domain: Domain | None = None) -> RuleList:
    """Read a rule list of the program of CORELS, which has no counts.

    The text is what it prints, ``if ({sex:Male,priors:>3}) then ({label=1})`` and so on, with or without the lines
    around; or its model file, ``{sex:Male,priors:>3}~1;default~0``. With a domain each name in braces is a binary
    attribute, or a category such as ``sex:Male``. The classes are (False, True) where labels are 1 and 0, else the
    labels as printed.

    Examples
    --------
    >>> rules = rules_from_corels_program("{a,b}~1;{c}~0;default~1")
    >>> [str(cell) for cell in rules.cells], rules.classes
    (['a and b', 'c', 'otherwise'], (False, True))
    """
    read = _rules_in(text)
    if not read or read[-1][0] is not None or any(rule is None for rule, _ in read[:-1]):
        raise InvalidModelError("a CORELS list ends with a default rule, 'else ({label=0})'.", remedy="Give all of it.")
    labels = [_label(label) for _, label in read]
    classes: tuple[Scalar, ...] = (False, True)
    if not all(isinstance(label, bool) for label in labels):
        classes = tuple(sorted({str(label) for label in labels}))
        labels = [str(label) for label in labels]
    rules = []
    for (names, _), label in zip(read, labels, strict=True):
        parts = [] if names is None else [name.strip() for name in names.split(",")]
        if any(not part for part in parts):
            raise UnsupportedModelError(f"the CORELS rule {{{(names or '')[:60]}}} holds an empty name.")
        antecedent = tuple(_literal(part, domain) for part in parts)
        rules.append(Rule(antecedent=antecedent, evidence=Evidence(label=classes.index(label))))
    return list_of(rules, classes, SOURCE, domain)


def _rules_in(text: str) -> list[tuple[str | None, str]]:
    """Return the names and the label of each rule; no names for the default."""
    if re.match(r"\s*(\{|default~)", text):
        parts = [part.strip() for part in text.strip().removesuffix(";").split(";")]
        read = [FILED.fullmatch(part) for part in parts]
        for part, one in zip(parts, read, strict=True):
            if one is None:
                raise UnsupportedModelError(f"{part[:60]!r} is no rule of a CORELS model file, such as '{{a,b}}~1'.")
        return [(one["rule"], one["label"]) for one in read if one is not None]
    out: list[tuple[str | None, str]] = []
    started = False
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        one = LINE.fullmatch(line)
        if one is not None:
            started = True
            out.append((one["rule"], one["label"]))
        elif started and out[-1][0] is not None and line:
            raise UnsupportedModelError(f"line {number} of the CORELS list cannot be read: {line[:60]!r}.")
    return out


def _label(text: str) -> bool | str:
    """Return a label such as ``label=1`` as a truth value, another unchanged."""
    value = text.rpartition("=")[2].strip()
    return TRUTH[value] if value in TRUTH else text.strip()


def _literal(name: str, domain: Domain | None) -> Literal:
    """Return the condition that a name in braces stands for."""
    if domain is None or name in domain:
        if domain is not None and not isinstance(domain[name], Binary):
            raise InvalidModelError(
                f"{name!r:.60} is a rule of CORELS, but the domain has it as another kind.", remedy="Use Binary."
            )
        return binary(name, True)
    attribute, _, value = name.partition(":")
    declared = attribute_of(attribute, domain)
    for listed in declared.values if isinstance(declared, Category) else ():
        if str(listed) == value:
            return OneOf(attribute, (listed,))
    require(name, domain, "the CORELS list tests")
    return binary(name, True)


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


def _whole(value: object) -> int | None:
    if isinstance(value, int | np.integer | np.bool_):
        return int(value)
    return None


def _rule(entry: object, number: int, last: bool, names: list[str], domain: Domain | None) -> Rule:
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
    labels, counts = entry.get("train_labels"), None
    if labels is not None:
        sizes = [_whole(value) for value in labels] if isinstance(labels, list | tuple | np.ndarray) else []
        counts = tuple(value for value in sizes if value is not None and value >= 0)
        if not len(sizes) == len(counts) == 2:
            raise InvalidModelError(f"the labels of rule {number} of the CORELS list must be two counts, got {labels}.")
    return Rule(antecedent=tuple(literals), evidence=Evidence(counts=counts, label=label))


def rules_from_corels(obj: object, domain: Domain | None = None) -> RuleList:
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
    fields = _fields(obj)
    if fields is None:
        raise not_fitted(obj, "rule list 'rl_'")
    if getattr(obj, "discretizer", None) is not None:
        raise UnsupportedModelError(
            f"{type(obj).__name__} cut its numeric features into its own bins.",
            remedy="Bin them before fit, and declare the bins as binary attributes.",
        )
    rules, features = fields
    if not isinstance(features, list | tuple | np.ndarray) or not all(isinstance(name, str) for name in features):
        raise InvalidModelError("the features of a CORELS list must be a list of names.")
    names = [str(name) for name in features]
    if not isinstance(rules, list | tuple) or not rules:
        raise InvalidModelError("a CORELS list needs at least its default rule, got none.")
    listed = tuple(_rule(entry, i, i == len(rules), names, domain) for i, entry in enumerate(rules, start=1))
    return RuleList(listed, tuple(names), (False, True), source=SOURCE)


def rules_from_corels_text(text: str, domain: Domain | None = None) -> RuleList:
    r"""Read a rule list as CORELS prints it, without counts.

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
            raise UnsupportedModelError(f"line {number} of the list follows the default rule.", remedy="Remove it.")
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
    return list_of(rules, (False, True), SOURCE, domain)


FORMATS = (
    Format(
        name="CORELS",
        again="the rl_ of the fitted CorelsClassifier as JSON",
        reads="CORELS rule list, or its fields as JSON",
        reveals="conditions and class counts",
        extensions=(".json",),
        contents=("object", "values"),
        sniff=lambda content: is_corels(content) and not (isinstance(content, dict) and "schema" in content),
        read=rules_from_corels,
    ),
    of_text(
        name="the text of CORELS",
        again="print(model.rl()) of the fitted CorelsClassifier",
        reads="what CORELS prints",
        reveals="conditions",
        leaves_out="counts",
        sniff=lambda text: first_line(text).upper() == "RULELIST:",
        rank=BY_START,
        read=rules_from_corels_text,
    ),
    of_text(
        name="the program of CORELS",
        again="the option -o of the corels program",
        reads="what the program of CORELS prints, or its model file",
        reveals="conditions",
        leaves_out="counts",
        sniff=lambda text: START.match(text) is not None or PRINTED.search(text) is not None,
        rank=BEFORE_JSON,
        read=rules_from_corels_program,
    ),
)
