"""The policy, check by check, what to do next, and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from glassine.attacks.outcome import Failed, Measured, Outcome, ShownCount
from glassine.auditing.findings import Check
from glassine.report import wording
from glassine.report.section import Column, Paragraph, Points, Row, Section, Status, Table, sentence

__all__ = [
    "CAVEAT",
    "MeasureRow",
    "measure_rows",
    "measured_section",
    "next_section",
    "outcomes_of",
    "passed_sentence",
    "policy_section",
    "sections_of",
    "status_of",
    "unmeasured_sentence",
    "verdict_sentence",
    "worded",
]

NOTHING = "not applicable"
NONE_ALLOWED = "none allowed"
BY_GUARANTEE = "by the guarantee"
CAVEAT = "A verdict covers what was measured, and no more."
PARTS = {"rule list": ("rule", "rules"), "additive model": ("bin", "bins")}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """A check as the report words it: its name in two or three words and in full, limit, figure, status, meaning."""

    short: str
    name: str
    limit: str
    measured: str
    status: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """A question that the audit asks, and how far it was answered.

    Attributes
    ----------
    name, short : str
        The measurement, and what it is about in a word or two.
    question : str
        What it answers.
    state : str
        ``measured``, ``partly measured``, ``not measured`` or ``failed``.
    reason : str
        Why not; empty if measured.
    """

    name: str
    short: str
    question: str
    state: str
    reason: str


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


RELEASE = {
    "declared_k": "Fewest people behind a representative, as the release declares",
    "smallest_group": "Fewest people behind a representative",
    "smallest_leaf": "Fewest people behind a leaf",
    "purest_leaf": "Largest share of one true label in a leaf",
    "largest_bits_per_record": "Bits learned about the attributes of any person",
    "thresholds_off_grid": "Thresholds that are no public cut points",
    "midpoints": "Thresholds half way between two training values",
    "most_certain": "People of whose sensitive value a reader is certain",
}
"""Names of the checks of a release, whose trees have no leaves of records but of people."""
OF_PEOPLE = ("declared_k", "smallest_group", "smallest_leaf")


def _words(name: str) -> _Words:
    plain = wording.clean(name).replace("_", " ")
    return WORDS.get(name, _Words(plain, plain, plain, lambda limit: f"{limit:g}", _plain))


def _named(template: str, kind: str) -> str:
    part, parts = PARTS.get(kind, ("leaf", "leaves"))
    return template.format(part=part, parts=parts) if "{part" in template else template


def status_of(check: Check) -> str:
    """Return the status in words; where the model publishes nothing of the kind, there is nothing to judge."""
    return NOTHING if _nothing_published(check) else check.status


def worded(check: Check, kind: str) -> CheckRow:
    """Return a check in words, for a kind of model or a ``release``."""
    words = _words(check.rule)
    value = check.measured
    if value is None:
        missing = "not known" if check.status == "unknown" else "not published"
        measured = BY_GUARANTEE if check.basis == "guarantee" else missing
    elif kind == "release" and check.rule in OF_PEOPLE:
        measured = wording.people(round(value) if isinstance(value, float) else value)
    else:
        bounded = check.basis == "guarantee" and check.rule == "largest_bits_per_record"
        measured = ("at most " if bounded else "") + words.measured(value, check)
    of_people = kind == "release" and check.rule in OF_PEOPLE
    name = RELEASE.get(check.rule) if kind == "release" else None
    return CheckRow(
        short=name or _named(words.short, kind),
        name=name or _named(words.rule, kind),
        limit=f"at least {wording.people(round(check.limit))}" if of_people else words.limit(check.limit),
        measured=measured,
        status=status_of(check),
        meaning=wording.clean(check.meaning),
    )


def policy_section(checks: Sequence[Check], kind: str, *, claim: str = "") -> Section:
    """Return the checks in the policy's order, for a kind of model or a ``release`` and what that claims."""
    rows = [worded(check, kind) for check in checks]
    table = Table(
        caption="Each limit of the policy, what was measured, and its status",
        columns=(Column("Rule"), Column("Limit"), Column("Measured"), Column("Status")),
        rows=tuple(
            Row(name=row.name, meaning=row.meaning, cells=(row.limit, row.measured, Status(row.status))) for row in rows
        ),
    )
    text = tuple(f"[{row.status}] {row.short}: {row.measured} (limit: {row.limit})" for row in rows)
    nothing = "The policy holds no rule that could be judged."
    return Section(
        id="policy",
        title="The policy, limit by limit",
        link="Policy",
        blocks=(*((Paragraph(text=claim),) if claim else ()), table if rows else Paragraph(text=nothing)),
        text=(*((claim,) if claim else ()), *(text or (nothing,))),
        text_title="Policy",
    )


def next_section(advice: Sequence[str], verdict: str) -> Section:
    """Return what to do next."""
    steps = tuple(map(wording.clean, advice))
    nothing = "There is no advice beyond the table of limits."
    if verdict == "within policy":
        nothing = "Nothing that the policy asks for. Keep this report with the release."
    return Section(
        id="next",
        title="What to do next",
        blocks=(Points(items=steps, style="advice") if steps else Paragraph(text=nothing),),
        text=tuple(f"{number}. {step}" for number, step in enumerate(steps, start=1)),
    )


F = TypeVar("F")


def outcomes_of(found: object, questions: Mapping[str, object]) -> dict[str, Outcome[object]]:
    """Return the outcomes of the measurements that there are questions for, by their names."""
    return {name: getattr(found, name) for name in questions}


def sections_of(
    outcomes: Mapping[str, Outcome[object]], functions: Mapping[str, Callable[[Any, F], Section]], findings: F
) -> Iterator[Section]:
    """Yield a section for each measurement that was made."""
    for name, function in functions.items():
        outcome = outcomes[name]
        if isinstance(outcome, Measured):
            yield function(outcome.value, findings)


def measure_rows(
    outcomes: Mapping[str, Outcome[object]],
    questions: Mapping[str, tuple[str, str]],
    lacking: Callable[[str, object], str],
    short: Mapping[str, str],
) -> tuple[MeasureRow, ...]:
    """Return for each measurement whether it was made, and the reason if not.

    Parameters
    ----------
    outcomes : mapping of str to Outcome
        The measurements.
    questions : mapping of str to (str, str)
        Name and question of each.
    lacking : callable
        What a measured one still lacks, of its key and value; empty if nothing.
    short : mapping of str to str
        What some are about in a word or two; the name of the others.
    """
    rows = []
    for key, (name, question) in questions.items():
        outcome = outcomes[key]
        if isinstance(outcome, Measured):
            reason = lacking(key, outcome.value)
            state = "partly measured" if reason else "measured"
        else:
            state, reason = "failed" if isinstance(outcome, Failed) else "not measured", outcome.reason
        rows.append(
            MeasureRow(
                name=name,
                short=short.get(key, name.lower()),
                question=question,
                state=state,
                reason=sentence(reason),
            )
        )
    return tuple(rows)


def measured_section(rows: Sequence[MeasureRow]) -> Section:
    """Return the questions of the audit, and whether they were answered; folded away where all were."""
    missing = [row for row in rows if row.state != "measured"]
    table = Table(
        caption="The questions of the audit, and whether they were answered",
        columns=(Column("Question"), Column("Status")),
        rows=tuple(
            Row(name=row.name, meaning=row.question, cells=(Status(row.state),), remark=row.reason) for row in rows
        ),
    )
    warning = Paragraph(text="What was not measured is unknown. It is not to be read as safe.")
    return Section(
        id="measured",
        title="What was measured, and what was not" if missing else "What was measured",
        link="Measured",
        folded="" if missing else f"all {len(rows)} questions of the audit were answered",
        blocks=(warning, table) if missing else (table,),
        text=tuple(f"{row.name} ({row.state}): {row.reason}" for row in missing),
        text_title="What was not measured",
    )


def unmeasured_sentence(rows: Sequence[MeasureRow]) -> str:
    """Return what was not measured, or only in part; empty if everything was."""
    missing = [row.short for row in rows if row.state in ("not measured", "failed")]
    partly = [row.short for row in rows if row.state == "partly measured"]
    told = [f"Not measured: {', '.join(missing)}."] if missing else []
    told += [f"Measured in part: {', '.join(partly)}."] if partly else []
    return " ".join(told)


def verdict_sentence(checks: Sequence[Check], kind: str, *, named: bool = True) -> str:
    """Return why the verdict is what it is, in one sentence, with or without the names of the limits."""
    if not checks:
        return "The policy holds no rule that could be judged, so nothing can be said."
    faults = [_fault(c, kind) for c in checks if c.status == "fail"]
    unknown = sum(c.status == "unknown" for c in checks)
    aside = f"; {unknown} more could not be judged" if unknown else ""
    if faults:
        verb = "is" if len(faults) == 1 else "are"
        return f"{len(faults)} of {len(checks)} limits {verb} broken{f': {_listing(faults)}' if named else ''}{aside}."
    if unknown:
        what = _listing([worded(c, kind).name.lower() for c in checks if c.status == "unknown"])
        which = f": {what}" if named else ""
        return f"No limit is known to be broken, but {unknown} of {len(checks)} could not be judged{which}."
    return passed_sentence(checks)


def _fault(check: Check, kind: str) -> str:
    return worded(check, kind).name.lower() if kind == "release" else _named(_words(check.rule).fault, kind)


def passed_sentence(checks: Sequence[Check]) -> str:
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
