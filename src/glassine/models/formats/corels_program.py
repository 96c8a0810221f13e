"""Rule lists as the program of CORELS prints them and writes them to its model file: rules in braces."""

from __future__ import annotations

import re

from glassine.domain import Binary, Category, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.models.evidence import Evidence
from glassine.models.formats.conditions import binary, require
from glassine.models.rule_list import Rule, RuleList

__all__ = ["is_corels_program", "rules_from_corels_program"]

LINE = re.compile(r"(?:(?:else )?if \(\{(?P<rule>[^{}]+)\}\) then|else) \(\{(?P<label>[^{}]+)\}\)")
FILED = re.compile(r"(?:\{(?P<rule>[^{}~;]+)\}|default)~(?P<label>[01])")
TRUTH = {"1": True, "0": False}


def is_corels_program(text: str) -> bool:
    """Return whether a text holds a list of rules in braces, as printed or as in a model file."""
    filed = re.match(r"\s*(\{[^{}~\"]+\}|default)~[01]\s*(;|$)", text)
    printed = re.search(r"^[ \t]*(if|else) \(\{[^{}\n]+\}\)", text, re.MULTILINE)
    return filed is not None or printed is not None


def rules_from_corels_program(text: str, domain: Domain | None = None) -> RuleList:
    """Read a rule list of the program of CORELS, which tells no counts.

    Parameters
    ----------
    text : str
        What it prints, ``if ({sex:Male,priors:>3}) then ({label=1})`` and so on, with or without the lines around; or
        its model file, ``{sex:Male,priors:>3}~1;default~0``.
    domain : Domain, optional
        The public domain. Each name in braces is a binary attribute, or a category such as ``sex:Male``.

    Returns
    -------
    RuleList
        Its classes are (False, True) where labels are 1 and 0, else the labels as printed.

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read.
    InvalidModelError
        If the list does not end with its default rule, or the domain lacks a name.

    Examples
    --------
    >>> rules = rules_from_corels_program("{a,b}~1;{c}~0;default~1")
    >>> [str(cell) for cell in rules.cells], rules.classes
    (['a and b', 'c', 'otherwise'], (False, True))
    """
    found = _found(text)
    if not found or found[-1][0] is not None or any(rule is None for rule, _ in found[:-1]):
        raise InvalidModelError("a CORELS list ends with its one default rule, 'else ({label=0})'. Give all of it.")
    labels = [_label(label) for _, label in found]
    classes: tuple[Scalar, ...] = (False, True)
    if not all(isinstance(label, bool) for label in labels):
        classes = tuple(sorted({str(label) for label in labels}))
        labels = [str(label) for label in labels]
    rules = []
    for (names, _), label in zip(found, labels, strict=True):
        parts = [] if names is None else [name.strip() for name in names.split(",")]
        if any(not part for part in parts):
            raise UnsupportedModelError(f"the CORELS rule {{{(names or '')[:60]}}} holds an empty name.")
        antecedent = tuple(_literal(part, domain) for part in parts)
        rules.append(Rule(antecedent=antecedent, evidence=Evidence(label=classes.index(label))))
    used = dict.fromkeys(literal.attribute for rule in rules for literal in rule.antecedent)
    return RuleList(tuple(rules), tuple(used) if domain is None else domain.names, classes, source="CORELS")


def _found(text: str) -> list[tuple[str | None, str]]:
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
    """Return a label such as ``label=1`` as a truth value, another as it is."""
    value = text.rpartition("=")[2].strip()
    return TRUTH[value] if value in TRUTH else text.strip()


def _literal(name: str, domain: Domain | None) -> Literal:
    """Return the condition that a name in braces stands for."""
    if domain is None or name in domain:
        if domain is not None and not isinstance(domain[name], Binary):
            raise InvalidModelError(
                f"{name!r:.60} is a rule of CORELS, but the domain has it as another kind. Use Binary."
            )
        return binary(name, True)
    attribute, _, value = name.partition(":")
    if attribute in domain and isinstance(domain[attribute], Category):
        known = domain[attribute]
        for listed in known.values if isinstance(known, Category) else ():
            if str(listed) == value:
                return OneOf(attribute, (listed,))
    require(name, domain, "the CORELS list tests")
    return binary(name, True)
