"""The policy's checks in plain words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import Check, Findings
from glassine.report import wording

__all__ = ["CheckRow", "check_rows", "kept_sentence", "limit_and_measured", "status_of", "verdict_sentence"]

STATUS = {"pass": "pass", "fail": "fail", "unknown": "unknown"}
NOTHING = "not applicable"
NONE_ALLOWED = "none allowed"
BY_GUARANTEE = "by the guarantee"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """A check as the report words it.

    Attributes
    ----------
    key : str
        Name of the rule in the policy.
    short : str
        The rule in two or three words.
    rule, limit, measured, meaning : str
        The check in words.
    status : str
        ``pass``, ``fail``, ``unknown``, or ``not applicable`` where the model publishes nothing of the kind.
    """

    key: str
    short: str
    rule: str
    limit: str
    measured: str
    status: str
    meaning: str


@dataclass(frozen=True, slots=True)
class _Words:
    short: str
    rule: str
    fault: str
    limit: Callable[[float], str]
    measured: Callable[[float | ShownCount, Check], str]


def _records(value: float | ShownCount, check: Check) -> str:
    return wording.plural(round(value), "record") if isinstance(value, int | float) else f"{value} records"


def _share(value: float | ShownCount, check: Check) -> str:
    if not isinstance(value, int | float):
        return str(value)
    if check.status == "fail" and value <= check.limit:
        return f"more than {wording.percent(check.limit)}"
    return wording.percent(value, digits=0 if value in (0, 1) or round(value * 100) == value * 100 else 1)


def _bits(value: float | ShownCount, check: Check) -> str:
    return f"{wording.bits(value, beyond=check.limit)} bits" if isinstance(value, int | float) else str(value)


def _plain(value: float | ShownCount, check: Check) -> str:
    return (f"{value:g}" if value else "none") if isinstance(value, int | float) else str(value)


def _plain_number(value: float | ShownCount, check: Check) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _at_most(limit: float) -> str:
    return f"at most {limit:g}" if limit else NONE_ALLOWED


WORDS = {
    "smallest_leaf": _Words(
        "Smallest {part}",
        "Every {part} is made from enough people",
        "{parts} made from too few people",
        lambda limit: f"at least {wording.plural(round(limit), 'record')}",
        _records,
    ),
    "purest_leaf": _Words(
        "Purest {part}",
        "No {part} gives away its people's outcome",
        "{parts} that give away an outcome",
        lambda limit: f"at most {wording.percent(limit)} one outcome",
        _share,
    ),
    "largest_bits_per_record": _Words(
        "Bits learned about a record",
        "Nobody's record is narrowed down too far",
        "records narrowed down too far",
        lambda limit: f"at most {limit:g} bits",
        _bits,
    ),
    "largest_advantage": _Words(
        "Advantage of a membership attack",
        "Nobody is told to have been in the data",
        "members that an attack tells from others",
        lambda limit: f"at most {limit:g}",
        _plain_number,
    ),
    "most_certain": _Words(
        "People whose sensitive value is certain",
        "A reader is certain of few people's sensitive value, if of any",
        "people whose sensitive value a reader is certain of",
        _at_most,
        _plain,
    ),
    "max_epsilon": _Words(
        "Epsilon of the guarantee",
        "The guarantee is strong enough",
        "a guarantee that is too weak",
        lambda limit: f"at most {limit:g}",
        _plain_number,
    ),
    "max_delta": _Words(
        "Delta of the guarantee",
        "The guarantee fails for next to nobody",
        "a guarantee that may fail too often",
        lambda limit: f"at most {limit:g}",
        _plain_number,
    ),
    "thresholds_off_grid": _Words(
        "Thresholds off the public grid",
        "Thresholds are public cut points",
        "thresholds taken from training values",
        lambda limit: f"at most {limit:g} others" if limit else NONE_ALLOWED,
        _plain,
    ),
    "midpoints": _Words(
        "Thresholds at a midpoint",
        "No threshold gives away two training values",
        "thresholds that give away training values",
        _at_most,
        _plain,
    ),
}


def _words(name: str) -> _Words:
    plain = wording.clean(name).replace("_", " ")
    return WORDS.get(name, _Words(plain, plain, plain, lambda limit: f"{limit:g}", _plain))


PARTS = {"rule list": ("rule", "rules"), "additive model": ("bin", "bins")}


def _named(template: str, kind: str) -> str:
    part, parts = PARTS.get(kind, ("leaf", "leaves"))
    return template.format(part=part, parts=parts) if "{part" in template else template


def status_of(check: Check) -> str:
    """Return the status in words; where the model publishes nothing of the kind, there is nothing to judge."""
    return NOTHING if _nothing_published(check) else STATUS[check.status]


def limit_and_measured(check: Check, unit: str | None = None) -> tuple[str, str]:
    """Return the limit and the figure with their units; a ``unit`` is that of a smallest number."""
    words = _words(check.rule)
    missing = "not known" if check.status == "unknown" else "not published"
    missing = BY_GUARANTEE if check.basis == "guarantee" else missing
    bounded = check.basis == "guarantee" and check.rule == "largest_bits_per_record"
    at_most = "at most " if bounded and check.measured is not None else ""
    if unit is not None:
        value = check.measured
        shown = (
            missing if value is None else f"{value:,g} {unit}" if isinstance(value, int | float) else f"{value} {unit}"
        )
        return f"at least {check.limit:g} {unit}", shown
    return words.limit(check.limit), at_most + (
        missing if check.measured is None else words.measured(check.measured, check)
    )


def check_rows(findings: Findings) -> tuple[CheckRow, ...]:
    """Return the checks in words, in the policy's order."""
    kind = findings.model.kind
    rows = []
    for check in findings.checks:
        words = _words(check.rule)
        limit, measured = limit_and_measured(check)
        rows.append(
            CheckRow(
                key=check.rule,
                short=_named(words.short, kind),
                rule=_named(words.rule, kind),
                limit=limit,
                measured=measured,
                status=status_of(check),
                meaning=wording.clean(check.meaning),
            )
        )
    return tuple(rows)


def verdict_sentence(findings: Findings, *, named: bool = True) -> str:
    """Return why the verdict is what it is, in one sentence, with or without the names of the limits."""
    checks, kind = findings.checks, findings.model.kind
    if not checks:
        return "The policy holds no rule that could be judged, so nothing can be said."
    faults = [_named(_words(c.rule).fault, kind) for c in checks if c.status == "fail"]
    unknown = sum(c.status == "unknown" for c in checks)
    aside = f"; {unknown} more could not be judged" if unknown else ""
    if faults:
        verb = "is" if len(faults) == 1 else "are"
        return f"{len(faults)} of {len(checks)} limits {verb} broken{f': {_listing(faults)}' if named else ''}{aside}."
    if unknown:
        what = _listing([_named(_words(c.rule).rule, kind).lower() for c in checks if c.status == "unknown"])
        which = f": {what}" if named else ""
        return f"No limit is known to be broken, but {unknown} of {len(checks)} could not be judged{which}."
    return kept_sentence(checks)


def kept_sentence(checks: Sequence[Check]) -> str:
    """Return how many limits are kept, and for how many there is nothing to judge."""
    empty = sum(map(_nothing_published, checks))
    every = "the one limit" if len(checks) == 1 else f"all {len(checks)} limits"
    if empty == len(checks):
        return f"For {every} of the policy the model publishes nothing to judge."
    if empty:
        kept = len(checks) - empty
        verb = "is" if kept == 1 else "are"
        return f"{wording.plural(kept, 'limit')} {verb} kept; for {empty} the model publishes nothing to judge."
    return f"{every.capitalize()} of the policy {'is' if len(checks) == 1 else 'are'} kept."


def _nothing_published(check: Check) -> bool:
    return check.status == "pass" and check.measured is None and check.basis == "measurement"


def _listing(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
