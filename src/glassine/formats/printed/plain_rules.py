"""Rules without brackets, as papers print them, in the notation of rule lists."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from glassine.errors import UnsupportedModelError
from glassine.formats.printed.rule_conditions import quoted_spans

MARKS = re.compile(r'["\[\]]')
VALUE = re.compile(r"value\s+([0-9.eE+-]+)\s*", re.IGNORECASE)
PLAIN = re.compile(
    r"\s*(?:[-*]\s+|rule\s*#?[0-9]{1,6}\s*[:.)]?\s*|r?[0-9]{1,6}\s*[:.)]\s*)?"
    r"(?P<word>else\s*if|elif|if|else|otherwise|default)\b\s*[:,]?\s*(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
THEN_PLAIN = re.compile(r"(?P<tests>.+?)[\s,]+then\b\s*:?\s*(?P<outcome>.+)", re.IGNORECASE | re.DOTALL)
RULE = re.compile(
    r"(?:rule\s*#?[0-9]{1,6}\s*[:.)]?\s*|r?[0-9]{1,6}\s*[:.)]\s*)?(if|else|elif)(?=[\s\[])", re.IGNORECASE
)
"""How a rule begins, with or without its number."""
PERCENTAGE = re.compile(r"(?P<outcome>(?:\S.*?\s+)?)(?P<share>[0-9]{1,3}(?:\.[0-9]{1,20})?)\s*%", re.DOTALL)
"""The risk of an outcome as papers print it, ``stroke risk 58.9%``; an interval may follow in parentheses."""
INTERVAL = re.compile(r"\(\s*[0-9.]+\s*%?\s*[-\u2013,;]\s*[0-9.]+\s*%\s*\)")
OTHER_SHARE = re.compile(r"[0-9],[0-9]+\s*%$|[0-9]\s*(?:percent|per cent|pct\.?)$", re.IGNORECASE)
"""A share with the comma of other countries, or in words."""
LONGEST_PLAIN = 10_000
"""Most characters of a rule without brackets."""
JOINED = re.compile(r"\s+(?:and|&&?|\u2227)\s+", re.IGNORECASE)
WORDS = re.compile(r"^NOT\b|\s(NOT IN|IN)(?= \{)|\sIS( NOT)? MISSING$|\sOR MISSING$")
"""Words of the notation, which people write in capitals."""
OUTCOME = re.compile(
    r"(?:(?:predict|class|label)\s+(?!=))?(?:(?P<of>[^=:()\"]{1,200}?)\s*(?:==?|:)\s*)?(?P<label>[^()]+?)\s*[.;,]?\s*"
    r"(?P<facts>\(.*\))?[.;]?",
    re.IGNORECASE | re.DOTALL,
)
SIGNS = str.maketrans({"\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\u201c": '"', "\u201d": '"', "'": '"'})


class Unread(Exception):
    """Text that the notation does not have; carries the reason."""


def code_of(line: str) -> str:
    """Return a line without its comment."""
    at = 0
    while at < len(line):
        if line[at] == "#":
            return line[:at].strip()
        if line[at] == "[":
            end = closing(line, at)
            at = len(line) if end is None else end
        at += 1
    return line.strip()


def closing(text: str, at: int) -> int | None:
    """Return the position of the bracket that closes the one at a position; quoted strings are skipped."""
    end = text.find("]", at)
    # Most brackets hold neither brackets nor quotes, and a rule may have many thousands.
    if end < 0 or (text.find("[", at + 1, end) < 0 and text.find('"', at, end) < 0):
        return None if end < 0 else end
    depth, spans = 0, quoted_spans(text)
    for mark in MARKS.finditer(text, at):
        if mark.start() < at:
            continue
        at = spans.get(mark.start(), mark.start())
        depth += {"[": 1, "]": -1}.get(mark[0], 0)
        if depth == 0:
            return at
    return None


def in_brackets(lines: Sequence[str]) -> list[str]:
    """Return lines with rules as papers print them, ``IF a > 3 AND b = x THEN c``, in the notation of rule lists.

    A rule may go over several lines; those that it goes on over become empty, so that lines keep their numbers.
    """
    out: list[str] = []
    opened: dict[int, str] = {}
    last: int | None = None
    for at, raw in enumerate(lines):
        code = code_of(raw) if len(raw) <= LONGEST_PLAIN else ""
        start = PLAIN.fullmatch(code)
        if start is not None and "[" not in code and not VALUE.match(start["rest"]):
            last, opened[at] = at, code
        elif last is not None and _goes_on(opened[last], code):
            opened[last] += f" {code}"
        else:
            last = None if code else last
            out.append(raw)
            continue
        out.append("")
    outcomes: list[str] = []
    for at, code in opened.items():
        try:
            out[at] = _in_brackets(code, outcomes)
            if outcomes[1:] and outcomes[-1] != outcomes[0]:
                raise Unread(f"it gives a share of {outcomes[-1]!r}, and the rules above of {outcomes[0]!r}")
        except Unread as error:
            raise UnsupportedModelError(f"line {at + 1} of the rule list cannot be read: {error}.") from None
    return out


def _goes_on(rule: str, code: str) -> bool:
    """Return whether a line belongs to a rule that was begun before."""
    joins = re.match(r"(and|&|then)\b", code, re.IGNORECASE) is not None
    begun = re.match(r"(else|otherwise|default)\b(?!\s*if)", rule, re.IGNORECASE) is None
    ended = re.search(r"\bthen\b", rule, re.IGNORECASE) is not None
    return "[" not in code and len(rule) + len(code) < LONGEST_PLAIN and bool(code) and (joins or (begun and not ended))


def _in_brackets(code: str, outcomes: list[str]) -> str:
    """Return one rule in brackets; unchanged where it is no such rule, so that its line is named as one not read."""
    # outcomes: gets the outcome of which the rule gives a share.
    start = PLAIN.fullmatch(code.translate(SIGNS))
    if start is None:
        return code
    keyword = re.sub(r"\s+", " ", start["word"].lower())
    keyword = {"otherwise": "else", "default": "else", "elif": "else if", "elseif": "else if"}.get(keyword, keyword)
    parts = None if keyword == "else" else THEN_PLAIN.fullmatch(start["rest"])
    outcome = OUTCOME.fullmatch(start["rest"] if parts is None else parts["outcome"])
    if outcome is None or (parts is None and keyword != "else"):
        return code
    label = outcome["label"].strip()
    consequent = f"[{label}] {outcome['facts'] or ''}".strip()
    risk = PERCENTAGE.fullmatch(label)
    if risk is not None and (outcome["facts"] is None or INTERVAL.fullmatch(outcome["facts"])):
        # The share is what the rule predicts: with its name it would be a class that no other rule has.
        share = Decimal(risk["share"]) / 100
        if share > 1:
            raise Unread(f"{label[-40:]!r} is more than all")
        outcomes.append(" ".join(f"{outcome['of'] or ''} {risk['outcome']}".lower().split()))
        consequent = f"value {share}"
    elif OTHER_SHARE.search(label):
        raise Unread(f"{label[-40:]!r} is no class; write a share as 58.9%")
    if parts is None:
        return f"else {consequent}"
    tests = [_bare(test) for test in JOINED.split(parts["tests"])]
    return f"{keyword} {' and '.join(f'[{test}]' for test in tests)} then {consequent}"


def _bare(test: str) -> str:
    """Return a condition without the parentheses around it."""
    test = test.strip()
    while test.startswith("(") and test.endswith(")") and test.count("(") == test.count(")") == 1:
        test = test[1:-1].strip()
    if re.search(r"\s(or|\u2228)\s(?!missing$)", test, re.IGNORECASE):
        raise Unread(f"{test[:40]!r} joins conditions by 'or'; write a rule for each")
    if re.search(r"\sbetween\s+[0-9.eE+-]+$", test, re.IGNORECASE):
        raise Unread(f"{test[:40]!r} does not say whether its ends belong to it; write 40 <= age <= 60, or with <")
    return WORDS.sub(lambda word: word[0].lower(), test)
