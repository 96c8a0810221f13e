"""One bracketed condition of the rule-list notation, which :mod:`glassine.formats.printed.rules` describes."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from functools import lru_cache

from glassine.domain import Between, Binary, Category, Domain, Integer, Literal, OneOf, Real
from glassine.domain.attributes import Scalar
from glassine.domain.single import single as rounded
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import sides
from glassine.formats.conditions import attribute_of, binary, just_at, just_below, near, require, with_missing

OPERATORS = re.compile(r"<=|>=|!=|==|<|>|=")
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
"""A JSON-quoted string up to its last quote, or to where it ends being one."""
MAX_OPERATORS = 100
"""Most operators of a condition: each could end its name, so that all are compared."""
GAPS = re.compile(r"\s{100}")
"""More spaces than anyone writes; patterns would try each of them as the end of a name."""
LISTED = re.compile(r"(.+?)\s+(not\s+)?in\s*\{(.*)\}", re.DOTALL)
GAP = re.compile(r"(.+?)\s+is\s+(not\s+)?missing", re.DOTALL)


def plain(text: str) -> Scalar:
    """Return a bare text as the Boolean or number that it reads like, else as a string."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(NUMBER, text):
        if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            return int(text)
        value = float(text)
        return value if math.isfinite(value) else text
    return text


def word(text: str) -> str | None:
    """Return the string that a JSON-quoted text denotes, None if it is not one."""
    if not text.startswith('"'):
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def typed(text: str) -> Scalar:
    """Return what a text denotes: a string in JSON's quotes, else as it reads."""
    quoted = word(text)
    return plain(text) if quoted is None else quoted


SHORT = 200
"""Characters of a text whose quotes are looked up faster than they are kept: a long text would have to make room."""


def quoted_spans(text: str) -> dict[int, int]:
    """Return where each JSON-quoted string of a text starts, and where it ends."""
    return _spans(text) if len(text) < SHORT else _kept_spans(text)


def _spans(text: str) -> dict[int, int]:
    # A quote that starts none says the same of all that follow up to where it fails: they are escaped, or it would end
    # at them. So each character is read at most twice.
    spans: dict[int, int] = {}
    at, failed = text.find('"'), 0
    while at >= 0:
        match = STRING.match(text, at) if at >= failed else None
        if match is not None and text.startswith('"', match.end()):
            spans[at] = match.end() + 1
            at = text.find('"', match.end() + 1)
            continue
        failed = failed if match is None else match.end()
        at = text.find('"', at + 1)
    return spans


_kept_spans = lru_cache(maxsize=8)(_spans)


def _outside_quotes(text: str) -> Iterator[int]:
    """Yield the positions of a text that are not within JSON-quoted strings."""
    at, spans = 0, quoted_spans(text)
    while at < len(text):
        if at in spans:
            at = spans[at]
            continue
        yield at
        at += 1


def split_outside(text: str, mark: str) -> list[str]:
    """Return a text cut at a mark that stands outside quoted strings."""
    if '"' not in text:
        return [part.strip() for part in text.split(mark)]
    cuts = [at for at in _outside_quotes(text) if text.startswith(mark, at)]
    starts = [0, *(at + len(mark) for at in cuts)]
    return [text[a:b].strip() for a, b in zip(starts, [*cuts, len(text)], strict=True)]


def split_conditions(text: str, domain: Domain | None) -> list[str]:
    """Return the conditions that ``&&`` joins within one pair of brackets."""
    if domain is not None and text in domain:
        return [text]
    return split_outside(text, "&&")


def _cannot(text: str, why: str) -> UnsupportedModelError:
    return UnsupportedModelError(f"the condition '[{text[:60]}]' cannot be read: {why}.")


def _certain_name(text: str, domain: Domain | None) -> str | None:
    """Return the attribute that a text names for certain: quoted, or a name of the domain."""
    quoted = word(text)
    if quoted is not None:
        return quoted
    return text if domain is not None and text in domain else None


def _named(text: str, domain: Domain | None) -> str:
    """Return the attribute that a text names."""
    name = _certain_name(text, domain)
    name = text if name is None else name
    require(name, domain, "it names")
    return name


def _truth(name: str, domain: Domain | None) -> Literal:
    attribute = None if domain is None else domain[name]
    if attribute is not None and not isinstance(attribute, Binary):
        listed = isinstance(attribute, Category) and 1 in attribute.values
        if not listed:
            raise InvalidModelError(
                f"{name!r} is not binary, so its name alone is no condition.",
                remedy=f"Write a comparison such as '[{name} {'=' if isinstance(attribute, Category) else '<='} ...]'.",
            )
    return binary(name, True)


def spelled_values(text: str, name: str, attribute: Category) -> tuple[Scalar, ...]:
    """Return the values that a list holds between commas, as the domain spells them: one may hold a comma."""
    spelled = {str(value): value for value in attribute.values}
    out: list[Scalar] = []
    rest = text.strip()
    while rest:
        # The longest value first.
        longest = max((s for s in spelled if rest == s or rest.startswith(s + ",")), key=len, default=None)
        if longest is None:
            wanted = rest.split(",")[0]
            raise InvalidModelError(f"{wanted[:40]!r} is not a value of {name!r}.{near(wanted, spelled)}")
        out.append(spelled[longest])
        rest = rest[len(longest) + 1 :].lstrip()
    return tuple(out)


def value_of(name: str, text: str, domain: Domain | None) -> Scalar:
    """Return the value of an attribute that a text denotes."""
    quoted, read, attribute = word(text), typed(text), attribute_of(name, domain)
    if isinstance(attribute, Category | Binary):
        values: tuple[Scalar, ...] = (0, 1) if isinstance(attribute, Binary) else attribute.values
        wanted = text if quoted is None else quoted
        for value in values:
            if str(value) == wanted or (value == read and isinstance(value, str) == isinstance(read, str)):
                return value
        raise InvalidModelError(f"{wanted!r} is not a value of {name!r}.{near(wanted, map(str, values))}")
    if isinstance(attribute, Integer | Real) and isinstance(read, bool | str):
        raise InvalidModelError(f"{name!r} is a number, but is compared with {text!r}.", remedy="Give a number.")
    return read


def _number(name: str, text: str, domain: Domain | None) -> float:
    value = plain(text)
    if isinstance(value, bool | str):
        error = _cannot(f"{name} ... {text}", f"{text!r} is not a finite number")
        if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text):
            error.advise(f"Write {text.replace(',', '.')}, with a decimal point.")
        raise error
    attribute = None if domain is None else domain[name]
    if isinstance(attribute, Category) and any(isinstance(v, str) for v in attribute.values):
        raise InvalidModelError(f"{name!r} is a category, so it has no order.", remedy=f"Write '[{name} in {{...}}]'.")
    return float(value)


def _compared(name: str, operator: str, text: str, domain: Domain | None, single: bool) -> Literal:
    if operator in ("=", "==", "!="):
        return OneOf(name, (value_of(name, text, domain),), negated=operator == "!=")
    bound = _number(name, text, domain)
    return sides(name, operator, rounded(bound) if single else bound, domain, single=single)[0]


def _comparison(text: str, domain: Domain | None) -> tuple[str, str, str] | None:
    """Return the name, the operator and the value of a comparison; a name that is certain is preferred."""
    outside = set(_outside_quotes(text))
    operators = [m for m in OPERATORS.finditer(text) if m.start() in outside and m.start() > 0]
    if len(operators) > MAX_OPERATORS:
        raise _cannot(text, f"it has more than {MAX_OPERATORS} operators")
    parts = [(text[: m.start()].strip(), m[0], text[m.end() :].strip()) for m in operators]
    parts = [part for part in parts if part[0] and part[2]]
    certain = [part for part in parts if _certain_name(part[0], domain) is not None]
    for part in (*reversed(certain), *reversed(parts)):
        if part[1] in ("=", "==", "!=") or not isinstance(plain(part[2]), bool | str):
            return part
    return parts[-1] if parts else None


def _range(text: str, domain: Domain | None, single: bool) -> Between | None:
    low, first, rest = text.partition("<")
    inner, second, high = rest.rpartition("<")
    left, right = ("<=" if part.startswith("=") else "<" for part in (inner, high))
    low, inner, high = low.strip(), inner.removeprefix("=").strip(), high.removeprefix("=").strip()
    if not (first and second and inner) or not re.fullmatch(NUMBER, low) or not re.fullmatch(NUMBER, high):
        return None
    name = _named(inner, domain)
    ends = (_number(name, low, domain), _number(name, high, domain))
    lo, hi = map(rounded, ends) if single else ends
    lo = (just_at if left == "<" else just_below)(name, lo, domain, single=single)
    hi = (just_at if right == "<=" else just_below)(name, hi, domain, single=single)
    return Between(name, lo, hi)


def _listed(text: str, domain: Domain | None) -> OneOf | None:
    match = LISTED.fullmatch(text) if text.endswith("}") else None
    if match is None:
        return None
    name = _named(match[1].strip(), domain)
    parts = split_outside(match[3], ",") if match[3].strip() else []
    if not all(parts):
        raise _cannot(text, "a value of the list is empty")
    return OneOf(name, tuple(value_of(name, part, domain) for part in parts), negated=bool(match[2]))


def condition(text: str, domain: Domain | None, *, single: bool = False) -> Literal:
    """Return the literal that a condition denotes; ``single`` says that it compares in single precision."""
    text = text.strip()
    if not text:
        raise _cannot(text, "it is empty")
    if GAPS.search(text):
        raise _cannot(text, "it has a hundred spaces in a row")
    name = _certain_name(text, domain)
    if name is not None:
        require(name, domain, "it names")
        return _truth(name, domain)
    if re.search(r"\sor\s+missing$", text):
        inner = re.sub(r"\s+or\s+missing$", "", text)
        if re.search(r"\sor\s+missing$", inner):
            raise _cannot(text, "one 'or missing' is enough")
        return with_missing(condition(inner, domain, single=single), True)
    gap = GAP.fullmatch(text)
    if gap:
        return OneOf(_named(gap[1].strip(), domain), (), negated=bool(gap[2]), missing=not gap[2])
    if re.match(r"not[\s(]", text):
        inner = text[3:].strip()
        if _certain_name(inner, domain) is None and inner.startswith("(") and inner.endswith(")"):
            inner = inner[1:-1].strip()
        if re.match(r"not[\s(]", inner) and _certain_name(inner, domain) is None:
            raise _cannot(text, "one 'not' is enough")
        positive = condition(inner, domain, single=single)
        if positive.missing or (isinstance(positive, OneOf) and not positive.values):
            raise _cannot(text, "'not' and 'missing' exclude each other. Say 'is not missing', or '... or missing'")
        return dataclasses.replace(positive, negated=not positive.negated)
    listed = _listed(text, domain) or _range(text, domain, single)
    if listed is not None:
        return listed
    parts = _comparison(text, domain)
    if parts is not None:
        return _compared(_named(parts[0], domain), parts[1], parts[2], domain, single)
    if OPERATORS.match(text):
        raise _cannot(text, "it names no attribute")
    return _truth(_named(text, domain), domain)
