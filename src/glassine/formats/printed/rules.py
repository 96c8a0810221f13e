r"""Rule lists as plain text, one rule a line, as the papers print them.

::

    # A comment.
    if [a] and [not b] then [true] ([0 ; 2] examples)
    else if [18 < age <= 25] and [colour in {red, green}] then [false] ([3 ; 1] examples)
    else [true] ([1 ; 4] examples)

**Grammar.** Blank lines, and what follows a ``#`` outside brackets, are ignored; a first line
``# glassine.guarantee {...}`` states a guarantee. Keywords may be upper case; commas
and semicolons between counts are the same. ::

    list       = { header } rule { rule } default
    header     = "classes:" label { label }         names the classes, in the order of the counts
               | "attributes:" name { name }        names all attributes, in order
               | "counts: rounded"                  counts are not exact: they were rounded, or are noisy
    rule       = ( "if" | "else if" | "elif" ) conditions "then" consequent
    default    = "else" consequent
    conditions = "[" condition { "&&" condition } "]" { ( "and" | "&&" ) conditions }
    consequent = ( "[" label "]" | "value" number ) [ "(" fact { "," fact } ")" ]
    fact       = "[" count { ";" count } "]" "examples"  records of each class
               | count "examples"                        all records; "example" means the same
               | "error" ( share | percent "%" )         share of the records that are not of the predicted class
    condition  = test [ "or missing" ]
    test       = name                                    a binary attribute is 1
               | "not" test | "not (" test ")"
               | name ( "<=" | "<" | ">" | ">=" ) number
               | number ( "<" | "<=" ) name ( "<" | "<=" ) number
               | name ( "=" | "!=" ) value
               | name [ "not" ] "in" "{" [ value { "," value } ] "}"
               | name "is" [ "not" ] "missing"

**Names and values** are bare or quoted like JSON strings: ``["a <= b"]`` is an attribute whose name holds an operator.
A bare text that equals the name of an attribute of the domain is that name, so that ``[Age>=30]`` is a dummy if the
domain has ``Age>=30``, and a condition on ``Age`` if not. Without a domain the last operator of the text counts. A bare
value is a number or a Boolean if it reads like one; with a domain it is the category that prints like it.

**Missing values** satisfy a condition only if it says so: neither ``[a]`` nor ``[not a]`` holds for them.

**Strict bounds.** ``value < 40`` is kept as ``value <= b``: on an ``Integer`` b is the largest whole number below 40,
elsewhere the largest floating-point number below it. ``>=`` follows suit. With the header ``precision: single``,
records and thresholds are rounded to single precision before they are compared.

**Classes.** Lists that predict only ``true`` and ``false`` have the classes (False, True), those that predict only
``0`` and ``1`` the classes (0, 1): the papers' counts are
``[negatives ; positives]``. Other labels need a ``classes:`` header if counts are given. ``[?]`` predicts nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from glassine.domain import Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError
from glassine.formats.conditions import PRECISION, check_model, conformed, float_of, in_single_precision, near, written
from glassine.formats.format import BY_LEAF, first_line, of_text
from glassine.formats.json import commented, opening_claim
from glassine.formats.printed.plain_rules import RULE, VALUE, Unread, closing, code_of, in_brackets
from glassine.formats.printed.rule_conditions import condition, plain, split_conditions, typed, word
from glassine.models.evidence import Evidence
from glassine.models.rule_list import MAX_RULES, Rule, RuleList

__all__ = ["FORMAT", "format_rules", "parse_rules"]

SOURCE = "rule list in text"
MAX_TEXT = 4_000_000
"""Most characters of a rule list, which is read character by character."""
MAX_FACTS = 10
COUNTS = re.compile(r"\[([^\]]*)\]\s*examples?", re.IGNORECASE)
TOTAL = re.compile(r"([0-9]+)\s+examples?", re.IGNORECASE)
ERROR = re.compile(r"error\s+([0-9.eE+-]+)\s*(%?)", re.IGNORECASE)
HEADER = re.compile(r"(classes|attributes|counts|precision)\s*:\s*(.*)", re.IGNORECASE)
KEYWORD = re.compile(r"(else\s+if|elif|if|else)(?=[\s\[])\s*", re.IGNORECASE)
SPACES = re.compile(r"\s*")
THEN = re.compile(r"then(?=[\s\[])\s*", re.IGNORECASE)
AND = re.compile(r"(and(?=[\s\[])|&&)\s*", re.IGNORECASE)


@dataclass
class _Statement:
    """One line: its number, its antecedent and what stands after ``then``."""

    line: int
    antecedent: tuple[Literal, ...]
    label: Scalar | None = None
    counts: tuple[int, ...] | None = None
    total: int | None = None
    error: float | None = None
    value: float | None = None


def _bracketed(text: str, at: int) -> tuple[str, int]:
    """Return the content of the brackets that open at a position, and where the text goes on."""
    if not text.startswith("[", at):
        raise Unread(f"a bracket '[' is expected at {text[at : at + 30]!r}")
    end = closing(text, at)
    if end is None:
        raise Unread(f"the bracket of {text[at : at + 30]!r} is not closed")
    inner = text[at + 1 : end].strip()
    if not inner:
        raise Unread("a pair of brackets is empty")
    return inner, _next(text, end + 1)


def _next(text: str, at: int) -> int:
    """Return the position of the next character that is no space."""
    space = SPACES.match(text, at)
    return at if space is None else space.end()


def _brackets(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        inner, at = _bracketed(text, at)
        yield inner


def _label(text: str) -> Scalar | None:
    return None if text == "?" else typed(text)


def _facts(text: str, statement: _Statement) -> None:
    """Read what stands in parentheses after a consequent."""
    if not (text.startswith("(") and text.endswith(")")):
        raise Unread(f"{text[:40]!r} is not of the form '([0 ; 2] examples)'")
    rest = text[1:-1].strip()
    n = 0
    while rest:
        n += 1
        if n > MAX_FACTS:
            raise Unread(f"a consequent has more than {MAX_FACTS} facts")
        counts, total, error = COUNTS.match(rest), TOTAL.match(rest), ERROR.match(rest)
        match = counts or total or error
        seen = [counts and statement.counts, total and statement.total, error and statement.error]
        if any(fact is not None and fact is not False for fact in seen):
            raise Unread(f"{rest[:40]!r} gives a fact twice")
        if match is None:
            raise Unread(f"{rest[:40]!r} is neither '[0 ; 2] examples', '2 examples' nor 'error 12.5%'")
        if counts:
            parts = [part.strip() for part in re.split(r"[;,]", counts[1])]
            if not all(part.isdecimal() and len(part) < 19 for part in parts):
                raise Unread(f"counts must be whole numbers of at most 18 digits, got '[{counts[1][:60]}]'")
            statement.counts = tuple(int(part) for part in parts)
        elif total:
            if len(total[1]) > 18:
                raise Unread(f"the number of examples has {len(total[1])} digits")
            statement.total = int(total[1])
        elif error:
            share = _number(error[1]) / (100 if error[2] else 1)
            if not 0 <= share <= 1:
                raise Unread(f"an error must lie between 0 and 1, or 0% and 100%, got {error[0]!r}")
            statement.error = share
        rest = rest[match.end() :].strip()
        if rest.startswith(","):
            rest = rest[1:].strip()
        elif rest:
            raise Unread(f"a comma is expected before {rest[:40]!r}")


def _number(text: str) -> float:
    value = float_of(text)
    if not math.isfinite(value):
        raise Unread(f"{text!r} is not a finite number")
    return value


def listed_classes(text: str) -> tuple[Scalar, ...]:
    """Return the classes that a header lists."""
    labels = [_label(entry) for entry in _brackets(text)]
    classes = tuple(label for label in labels if label is not None)
    if not labels or len(classes) < len(labels):
        raise Unread("the header 'classes:' lists every class in brackets, as in 'classes: [no] [yes]'")
    return classes


def classes_line(classes: Sequence[Scalar]) -> str:
    """Return the header that lists classes."""
    return f"classes: {' '.join(f'[{_value(label)}]' for label in classes)}"


def _header(text: re.Match[str], headers: dict[str, tuple[Any, ...]]) -> None:
    key = text[1].lower()
    if key in headers:
        raise Unread(f"the header '{key}:' stands twice")
    if key == "counts":
        if text[2].strip().lower() != "rounded":
            raise Unread(f"the header 'counts:' can only say 'rounded', got {text[2]!r}")
        headers[key] = ()
    elif key == "precision":
        if text[2].strip().lower() != "single":
            raise Unread(f"the header 'precision:' can only say 'single', got {text[2]!r}")
        headers[key] = ()
    elif key == "classes":
        headers[key] = listed_classes(text[2])
    else:
        headers[key] = tuple(entry if (name := word(entry)) is None else name for entry in _brackets(text[2]))


def _statement(text: str, line: int, domain: Domain | None, single: bool) -> tuple[_Statement, bool]:
    """Read one rule; the flag states whether it is a default rule."""
    start = KEYWORD.match(text)
    if start is None:
        raise Unread(f"{text[:40]!r} starts with neither 'if', 'else if' nor 'else'")
    at, default = start.end(), start[1].lower() == "else"
    literals: list[Literal] = []
    while not default:
        inner, at = _bracketed(text, at)
        literals += [condition(part, domain, single=single) for part in split_conditions(inner, domain)]
        joined, then = AND.match(text, at), THEN.match(text, at)
        if then:
            at = then.end()
            break
        if not joined:
            raise Unread(f"'and' or 'then' is expected {f'at {text[at : at + 30]!r}' if text[at:] else 'at the end'}")
        at = joined.end()
    statement = _Statement(line, tuple(literals))
    regression = VALUE.match(text, at)
    if regression:
        statement.value = _number(regression[1])
        at = regression.end()
    else:
        inner, at = _bracketed(text, at)
        statement.label = _label(inner)
    if at < len(text):
        _facts(text[at:], statement)
    return statement, default


def _classes(statements: list[_Statement], stated: tuple[Scalar, ...] | None) -> tuple[Scalar, ...] | None:
    """Return the classes of a list, from its header or its labels."""
    labels = list(dict.fromkeys(s.label for s in statements if s.label is not None))
    counted = [s for s in statements if s.counts is not None]
    if any(s.value is not None for s in statements):
        if labels or counted or stated is not None:
            raise InvalidModelError("a rule list predicts classes or values, not both.", remedy="Mend the consequents.")
        return None
    if stated is not None:
        allowed, names = set(stated), ", ".join(map(repr, stated))
        for label in labels:
            if label not in allowed:
                raise InvalidModelError(f"the label {label!r} is not in the header 'classes:', which lists {names}.")
        return stated
    if all(isinstance(label, bool) for label in labels):
        return (False, True)
    if set(labels) <= {0, 1} and not any(isinstance(label, bool) for label in labels):
        return (0, 1)
    if counted:
        raise InvalidModelError(
            f"line {counted[0].line} gives counts, but the order of the classes is not known.",
            remedy="Add a first line such as 'classes: [no] [yes]'.",
        )
    return tuple(labels)


def _evidence(statement: _Statement, classes: tuple[Scalar, ...] | None) -> Evidence:
    label = None
    if classes is not None and statement.label is not None:
        label = classes.index(statement.label)
    if classes is not None and statement.counts is not None and len(statement.counts) != len(classes):
        raise InvalidModelError(
            f"line {statement.line} gives {len(statement.counts)} counts, but the list has {len(classes)} classes, "
            f"{', '.join(repr(name) for name in classes)}.",
            remedy="Give one count a class.",
        )
    try:
        return Evidence(
            counts=statement.counts,
            total=statement.total,
            label=label,
            error_rate=statement.error,
            value=statement.value,
        )
    except InvalidModelError as error:
        raise InvalidModelError(f"line {statement.line}: {error}") from None


def parse_rules(text: str, domain: Domain | None = None) -> RuleList:
    r"""Read a rule list from its text notation, which the module describes.

    Parameters
    ----------
    text : str
        The rule list.
    domain : Domain, optional
        The public domain. With it, conditions must name its attributes and values, and the list's ``attributes`` are
        all of the domain's; without it, a bare name is a binary attribute, and the ``attributes`` are those that the
        text names.

    Returns
    -------
    RuleList

    Raises
    ------
    UnsupportedModelError
        If a line cannot be read; the message gives its number. Or if the text has more than 4,000,000 characters.
    InvalidModelError
        If a condition names an attribute or a value that the domain lacks, the list contradicts itself, or has more
        than 5,000 rules.

    Examples
    --------
    >>> rules = parse_rules("if [age < 40] then [true] ([0 ; 2] examples)\nelse [false] ([3 ; 1] examples)")
    >>> rules.classes, [rule.evidence.counts for rule in rules.rules]
    ((False, True), [(0, 2), (3, 1)])
    """
    if len(text) > MAX_TEXT:
        raise UnsupportedModelError(f"a rule list has at most {MAX_TEXT:,} characters, got {len(text):,}.")
    headers: dict[str, tuple[Any, ...]] = {}
    statements: list[_Statement] = []
    ended = False
    for line, raw in enumerate(in_brackets(text.splitlines()), start=1):
        code = code_of(raw)
        if not code:
            continue
        try:
            match = HEADER.match(code)
            if match and not statements:
                _header(match, headers)
                continue
            if ended:
                raise Unread("nothing may follow the default rule")
            if code.lower().startswith(("else if", "elif")) and not statements:
                raise Unread("the first rule starts with 'if'")
            statement, ended = _statement(code, line, domain, "precision" in headers)
        except Unread as error:
            raise UnsupportedModelError(f"line {line} of the rule list cannot be read: {error}.") from None
        except GlassineError as error:
            raise error.within(f"line {line} of the rule list") from None
        statements.append(statement)
        if len(statements) > MAX_RULES:
            raise InvalidModelError(f"a rule list has at most {MAX_RULES:,} rules, and line {line} holds one more.")
    if not ended:
        raise UnsupportedModelError("a rule list ends with a default rule, as in 'else [false]'.", remedy="Add one.")
    classes = _classes(statements, headers.get("classes"))
    used = tuple(dict.fromkeys(literal.attribute for s in statements for literal in s.antecedent))
    attributes = domain.names if domain is not None else headers.get("attributes", used)
    listed = set(attributes)
    for name in used:
        if name not in listed:
            raise InvalidModelError(f"a rule tests {name!r}, which 'attributes:' lacks.{near(name, attributes)}")
    rules = tuple(Rule(antecedent=s.antecedent, evidence=_evidence(s, classes)) for s in statements)
    claim = opening_claim(text)
    rounded = "counts" in headers
    return RuleList(rules, attributes, classes, source=SOURCE, approximate=rounded, guarantee=claim, sizes="stated")


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.lower() != "not" else json.dumps(name)


def _value(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) and plain(value) == value else json.dumps(value)
    return repr(value)


def _test(literal: Literal, single: bool) -> str:
    name = _name(literal.attribute)
    if isinstance(literal, OneOf):
        if not literal.values:
            if literal.negated == literal.missing:
                return f"{name} {'not in' if literal.negated else 'in'} {{}}"
            return f"{name} is {'not ' if literal.negated else ''}missing"
        if literal.binary and literal.values == (1,):
            return f"not {name}" if literal.negated else name
        if len(literal.values) == 1:
            return f"{name} {'!=' if literal.negated else '='} {_value(literal.values[0])}"
        return f"{name} {'not in' if literal.negated else 'in'} {{{', '.join(_value(v) for v in literal.values)}}}"
    if literal.lo == -math.inf and literal.hi == math.inf:
        return f"{name} in {{}}" if literal.negated else f"{name} not in {{}}"
    plain_bounds = replace(literal, attribute=name, negated=False, missing=False)
    text = written(plain_bounds, single=single)
    return f"not ({text})" if literal.negated else text


def condition_text(literal: Literal, *, single: bool = False) -> str:
    """Return a condition in the notation of rule lists, its thresholds in single precision or with every digit."""
    test = _test(literal, single)
    says_gap = isinstance(literal, OneOf) and not literal.values and literal.negated != literal.missing
    return f"{test} or missing" if literal.missing and not says_gap else test


def label_text(label: Scalar) -> str:
    """Return a class as a leaf names it: quoted only where it would be read as something else."""
    if not isinstance(label, str):
        return _value(label)
    odd = plain(label) != label or label[:1] in ("", '"', "?") or label != label.strip() or not label.isprintable()
    return json.dumps(label) if odd else label


def _facts_text(evidence: Evidence) -> str:
    facts = []
    if evidence.counts is not None:
        facts.append(f"[{' ; '.join(str(count) for count in evidence.counts)}] examples")
    elif evidence.total is not None:
        facts.append(f"{evidence.total} examples")
    if evidence.error_rate is not None:
        facts.append(f"error {evidence.error_rate!r}")
    return f" ({', '.join(facts)})" if facts else ""


def format_rules(model: RuleList, domain: Domain | None = None) -> str:
    r"""Return a rule list in the text notation; :func:`parse_rules` reads it back.

    Parameters
    ----------
    model : RuleList
        The rule list. Its ``source`` is not written; noisy counts are marked like rounded ones.
    domain : Domain, optional
        The public domain, which says which attributes are binary, as in ``[a]``; without it, the model itself says so.

    Examples
    --------
    >>> print(format_rules(parse_rules("if [a && not b] then [true] (3 examples)\nelse [false]")))
    attributes: [a] [b]
    classes: [false] [true]
    if [a] and [not b] then [true] (3 examples)
    else [false]
    """
    check_model(model)
    model = conformed(model, domain)
    lines = [f"{commented(model)}attributes: {' '.join(f'[{_name(name)}]' for name in model.attributes)}"]
    if model.classes is not None:
        lines.append(classes_line(model.classes))
    if not model.counts_are_exact:
        lines.append("counts: rounded")
    if single := in_single_precision(model):
        lines.append(PRECISION)
    for i, rule in enumerate(model.rules):
        tests = []
        for literal in rule.antecedent:
            tests.append(f"[{condition_text(literal, single=single)}]")
        evidence = rule.evidence
        if model.classes is None:
            label = "[?]" if evidence.value is None else f"value {evidence.value!r}"
        else:
            label = "[?]" if evidence.label is None else f"[{_value(model.classes[evidence.label])}]"
        head = "else " if not rule.antecedent else f"{'else ' if i else ''}if {' and '.join(tests)} then "
        lines.append(f"{head}{label}{_facts_text(evidence)}")
    return "\n".join(lines) + "\n"


START = re.compile(rf"{RULE.pattern}|(classes|attributes|counts|precision)\s*:", re.IGNORECASE)

FORMAT = of_text(
    name="a rule list",
    again="one rule per line, such as 'if [a] then [b]', and 'else [c]' last",
    reads="rule list in text, such as 'if [a] then [true]' and 'else [false]' on two lines",
    reveals="what it says",
    sniff=lambda text: START.match(first_line(text)) is not None,
    rank=BY_LEAF + 1,
    read=parse_rules,
)
