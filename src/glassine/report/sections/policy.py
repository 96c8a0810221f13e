"""The policy, check by check, what to do next, what was measured, and what only a person can state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from glassine.attacks.outcome import UNCOVERED, Failed, Measured, RecordNote, ShownCount
from glassine.auditing.criterion import Limit
from glassine.auditing.findings import SCHEMA, Check, Findings, PolicyFinding
from glassine.auditing.policy import Policy
from glassine.files import PICKLES
from glassine.report import wording
from glassine.report.blocks import (
    CheckRow,
    Columns,
    Definitions,
    Failures,
    Fold,
    Paragraph,
    Points,
    Released,
    Status,
    blocks_of,
    fold,
    paragraph,
)
from glassine.report.figures import FigureReading, grid
from glassine.report.section import Page, Section, clean_inputs, measured_section, section, sections_of, sentence

ITSELF = "The file is what Glassine writes of this model, byte for byte. It may leave if the verdict allows it."
COPY = (
    "Glassine did not write this file, or it was changed: it can hold records in any place, and the verdict is on the "
    "model alone. Release only the clean copy, {written}: {format}, {n_bytes:,} bytes, SHA-256 {sha256}."
)
NO_COPY = (
    "Glassine did not write this file, or it was changed: it can hold records in any place, and the verdict is on the "
    "trees alone. Release only a clean copy, which is yet to be written."
)
UNCOPIED = (
    "Glassine did not write this file: it can hold records in any place, and the verdict is on the trees alone. "
    "{uncopied} So no clean copy can be written."
)
UNWRITTEN = "which is yet to be written"

RUNS = "A pickle runs code when it is loaded: publish a copy as JSON or skops, or ask the publisher for one."


def file_sections(findings: Findings) -> tuple[Section, ...]:
    """Return the section on the audited files; none where no file was audited."""
    name = next((file.name for file in findings.inputs if file.role == "model"), "")
    lines: list[str] = []
    for file in findings.files:
        what = f"{file.format}, {file.n_bytes:,} bytes."
        named = wording.clean(file.name or name)
        lines.append(f"{named}: {what}" if named else what)
        copy = file.clean_copy
        written = "" if copy is None else wording.clean(copy.name) or UNWRITTEN
        itself = ITSELF if file.canonical else FigureReading(file).said(UNCOPIED) if file.uncopied else NO_COPY
        lines.append(itself if copy is None else FigureReading(copy, written=written).said(COPY))
    if name.lower().endswith(PICKLES):
        lines.append(RUNS)
    return (section("file", "The file", lines, link="File", text=lines),) if lines else ()


NONE_ALLOWED = "none allowed"
BY_GUARANTEE = "by the guarantee"
FIRST_STEPS = 3
"""Steps that stand in the first view; more are folded away."""
PUBLISHED = ("model", "release")
"""Roles of files that a verdict is on."""
CAVEAT = "The verdict covers only what was measured."
PARTS = {
    "rule list": ("rule", "rules"),
    "additive model": ("bin", "bins"),
    "regression": ("column", "columns"),
    "ensemble": ("leaf of any tree", "leaves of all trees"),
    "private summary": ("bin", "bins"),
    "several models": ("intersection", "intersections"),
}

ONLY_A_PERSON = "Only a person can state this. Glassine fills in nothing."
EMPTY = "(empty)"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """A question that the audit asks, and how far it was answered."""

    # name, short: the measurement, and what it is about in a word or two.
    name: str
    short: str
    question: str  # What it answers
    state: str  # ``measured``, ``partly measured``, ``not measured`` or ``failed``
    reason: str  # Why not; empty if measured


def _label(name: str, policy: Policy, kind: str) -> str:
    """Return the label of a check: that of its criterion, or its name where the policy has no such criterion."""
    criterion = policy.criterion(name)
    if criterion is None:
        return wording.clean(name).replace("_", " ")
    part, parts = PARTS.get(kind, ("leaf", "leaves"))
    label = criterion.label.format(part=part, parts=parts) if "{part" in criterion.label else criterion.label
    return label[0].upper() + label[1:]


def limits_of(policy: Policy, kind: str = "tree") -> Iterator[tuple[str, str, str]]:
    """Yield the label of each limit of a policy, the limit in words, and what it limits, for a kind of model."""
    for criterion in policy.criteria:
        value = None if criterion.stated else getattr(policy, criterion.key)
        if value is not None:
            limit = 0 if criterion.limit.switch else value
            yield _label(criterion.name, policy, kind), _limit(limit, criterion.limit), criterion.measures


def _limit(value: float, limit: Limit[float] | None) -> str:
    if limit is None:
        return f"{value:g}"
    unit = limit.unit.name
    if unit in ("values", "occurrences", "bytes", "files") and not value:
        return NONE_ALLOWED
    figure = {
        "records": wording.people(round(value)),
        "share": f"{100 * value:g}%",
        "bits": f"{value:,g} bits",
        "bytes": f"{value:,.0f} bytes",
    }.get(unit, f"{value:,g}")
    return f"at {'least' if limit.fewest else 'most'} {figure}"


def _measured(check: Check, value: float | ShownCount, unit: str) -> str:
    if not isinstance(value, int | float):
        return wording.people(value) if unit == "records" else str(value)
    if unit == "records":
        return wording.people(round(value))
    if unit == "bits":
        return f"{wording.bits(value, beyond=check.limit)} bits"
    if unit == "share":
        # A suppressed share is rounded down and may lie at the limit that the true one exceeds.
        if check.status == "fail" and value <= check.limit:
            return f"more than {wording.percent(check.limit)}"
        return wording.percent(value, digits=0 if value in (0, 1) or round(value * 100) == value * 100 else 1)
    if unit == "bytes" and value:
        return f"{value:,.0f} bytes"
    return "none" if unit in ("values", "occurrences", "bytes", "files") and not value else f"{value:,g}"


def worded(check: Check, policy: Policy, kind: str) -> CheckRow:
    """Return a check in words, for a kind of model or a ``release``."""
    criterion = policy.criterion(check.rule)
    limit = None if criterion is None else criterion.limit
    unit = "number" if limit is None else limit.unit.name
    if check.measured is None:
        # What was judged is known, but can be the value of a person.
        missing = {"not applicable": "nothing published", "unknown": "not known"}.get(check.status, "not shown")
        measured = BY_GUARANTEE if check.basis == "guarantee" else missing
    else:
        at_most = "at most " if check.basis == "guarantee" and unit in ("bits", "number") else ""
        measured = at_most + _measured(check, check.measured, unit)
    return CheckRow(
        rule=check.rule,
        label=_label(check.rule, policy, kind),
        limit=_limit(check.limit, limit),
        measured=measured,
        status=check.status,
        meaning=wording.clean(check.meaning),
    )


def checked(findings: Findings) -> tuple[CheckRow, ...]:
    """Return the checks of findings in words, counts in the unit of the findings."""
    with wording.counting(findings.counted):
        return tuple(worded(check, findings.policy, findings.subject.kind) for check in findings.checks)


def judged_page(findings: Findings, kind: str, measures: Sequence[MeasureRow], *, title: str, claim: str = "") -> Page:
    """Return what all kinds of subject share of a page: result, checks, advice, what was measured."""
    verdict, checks, policy = findings.verdict, findings.checks, findings.policy
    # Where a check failed or is open, that is the news; what was not measured stands in its section.
    unmeasured = unmeasured_sentence(measures) if verdict == "within policy" else ""
    against = tuple(worded(c, policy, kind) for s in ("fail", "unknown") for c in checks if c.status == s)
    steps = steps_of(findings)
    more = None if steps is None else steps.after(FIRST_STEPS)
    todo = blocks_of(
        None if steps is None else steps.up_to(FIRST_STEPS),
        fold(wording.plural(len(more.items), "more step"), more) if more is not None else None,
        asked_for(findings),
    )
    columns = tuple(filter(None, (tuple(blocks_of(Failures(against) if against else None)), tuple(todo))))
    return Page(
        kind="privacy audit",
        title=wording.clean(title),
        described="",
        tone=verdict,
        headline=verdict.capitalize(),
        sentence=f"{findings.decision} {unmeasured}".rstrip(),
        details=tuple(blocks_of(Columns(columns) if columns else None, released(findings))),
        caveat=CAVEAT,
        judged=True,
        notes=tuple(map(wording.clean, findings.notes)),
        sections=(
            policy_section(checks, policy, kind, claim=claim, source=findings.policy_source, answered=True),
            *named_section(findings),
            *file_sections(findings),
            *((unanswered_section(measures),) if measures else ()),
            *sign_off_section(findings),
        ),
        terms=(),
        inputs=clean_inputs(findings.inputs),
        notice=wording.NOTICES[findings.audience],
        version=wording.clean(findings.version),
        schema=SCHEMA,
    )


CHECKS = """
Check | {label} | {meaning}
~Limit | {limit}
~Measured | {measured}
~Status | {state}
"""


def policy_section(
    checks: Sequence[Check], policy: Policy, kind: str, *, claim: str = "", source: str = "", answered: bool = False
) -> Section:
    """Return the checks in the policy's order, for a kind of model or a ``release`` and what that claims."""
    # Texts leave out the checks that failed or are open where the page's answer lists them above (`answered`).
    before = (f"Policy {source}" if source else "", claim)
    rows = [worded(check, policy, kind) for check in checks]
    caption = "Each check, its limit, what was measured, and its status"
    others = [row for row in rows if not (answered and row.status in ("fail", "unknown"))]
    text = (
        f"[{row.status}] {row.label}: {row.measured} (limit: {row.limit})"
        + (f". {row.meaning}" if row.status in ("fail", "unknown") else "")
        for row in others
    )
    nothing = "" if rows else "The policy has no check for this model."
    return section(
        "policy",
        "The policy, check by check",
        before,
        nothing or grid(CHECKS, rows, caption=caption, words=lambda row: {"state": Status(row.status)}),
        link="Policy",
        text=(*before, *text, nothing),
        text_title="Policy" if len(others) == len(rows) else "The other checks",
    )


def named_section(findings: Findings) -> tuple[Section, ...]:
    """Return which named policies the subject meets, one line for each; nothing where they were not judged."""
    advised = findings.verdict != "within policy"
    lines, plain = (
        tuple(_against(entry, advised=advised, plain=bare) for entry in findings.policies) for bare in (False, True)
    )
    title, short = "Named policies: where this may be released", "Named policies"
    points = Points(items=lines, plain=plain)
    return (section("named-policies", title, points, link=short, text=lines, text_title=short),) if lines else ()


def _against(entry: PolicyFinding, *, advised: bool, plain: bool) -> str:
    """Return whether a named policy is met, else what keeps the subject from it and what helps first."""
    # Where the audit advises already, that comes first.
    if entry.verdict == "within policy":
        return f"Meets {entry.name}."
    more = f" And {wording.plural(len(entry.against) - 1, 'other check')}." if len(entry.against) > 1 else ""
    why = entry.against[0] if entry.against else "It has no check for it."
    remedy = None if advised else entry.remedy
    helps = "" if remedy is None else f" {remedy.plain if plain else remedy.text}"
    words = "Does not meet" if entry.verdict == "outside policy" else "Not known to meet"
    return wording.clean(f"{words} {entry.name}: {why}{more}{helps}")


def steps_of(findings: Findings) -> Points | None:
    """Return what to do or to ask for, the most useful first; None where there is nothing."""
    items = tuple(wording.clean(remedy.text) for remedy in findings.advice)
    plain = tuple(wording.clean(remedy.plain) for remedy in findings.advice)
    return Points(items=items, plain=plain, style="advice", title="What to do") if items else None


def released(findings: Findings) -> tuple[Released, ...]:
    """Return the file that the verdict is on, with its digest; nothing without a file."""
    title = {
        "within policy": "Only this file may be released",
        "outside policy": "Not to be released",
        "inconclusive": "Not to be released before the open checks are answered",
    }[findings.verdict]
    forms = {file.name or "model": file for file in findings.files}
    out = []
    for file in findings.inputs:
        if file.role not in PUBLISHED or file.sha256 is None:
            continue
        form = forms.get(file.name, forms.get(file.role))
        copy = None if form is None else form.clean_copy
        name, digest, own = wording.clean(file.name), wording.clean(file.sha256), title
        if copy is not None and findings.verdict == "within policy":
            name, digest = wording.clean(copy.name) or f"the clean copy of {name}", copy.sha256
            own = "Release only the clean copy"
        elif findings.verdict == "within policy" and form is not None and not (form.canonical or form.uncopied):
            own = "Release only a clean copy of this file"  # as of an ensemble, whose copy is made where it is written
        out.append(Released(title=own, name=name, sha256=digest))
    return tuple(out)


def asked_for(findings: Findings) -> Fold | None:
    """Return what to ask the publisher for, as sentences to paste into a message; nothing where nothing is missing."""
    purpose = "To decide on the release of this model"
    if findings.verdict == "within policy":
        purpose = "The audit of this model counts records. To count people"
    opening = f"{purpose}, please state of its training data:"
    points = Points(items=tuple(map(wording.clean, findings.requests)), style="advice")
    return fold("What to ask the publisher for", (opening, points) if findings.requests else None)


def measure_rows(findings: Findings) -> tuple[MeasureRow, ...]:
    """Return for each question of an audit whether it was answered, and the reason if not."""
    rows = []
    for asked in findings.measured.questions:
        outcome = findings.measured[asked.name]
        if isinstance(outcome, Measured):
            own = measured_section(asked.name)
            reason = "" if own is None else own.lacking(outcome.value, findings)
            state = "partly measured" if reason else "measured"
        else:
            state, reason = "failed" if isinstance(outcome, Failed) else "not measured", outcome.reason
        rows.append(
            MeasureRow(
                name=asked.title,
                short=asked.short or asked.title.lower(),
                question=asked.question,
                state=state,
                reason=sentence(reason),
            )
        )
    return tuple(rows)


MISSED = """
Question | {name} | {question} {reason}
~Status | {status}
"""


def unanswered_section(rows: Sequence[MeasureRow]) -> Section:
    """Return what was not measured and what it needs, in one list that is folded away; then what was measured."""
    missing = [row for row in rows if row.state != "measured"]
    made = [row.short for row in rows if row.state == "measured"]
    caption = "Each question that was not answered, or only in part, and what it needs"
    table = grid(MISSED, missing, caption=caption, words=lambda row: {"status": Status(row.state)})
    partly = [row.short for row in missing if row.state == "partly measured"]
    folded = ", ".join(row.short for row in missing if row.short not in partly)
    folded += f"{'; ' if folded else ''}in part {', '.join(partly)}" if partly else ""
    every = "the only question" if len(rows) == 1 else f"all {len(rows):,} questions"
    return section(
        "measured",
        "What was not measured" if missing else "What was measured",
        (table, "\u201cNot measured\u201d does not mean that nothing is revealed.") if missing else None,
        f"Measured: {', '.join(made)}." if made else "Nothing was measured.",
        link="Not measured" if missing else "Measured",
        folded=f"{len(missing)} of {len(rows)} questions: {folded}" if missing else every,
        text=_by_reason(missing),
        text_title="What was not measured",
    )


def _by_reason(missing: Sequence[MeasureRow]) -> tuple[str, ...]:
    """Return a line for each reason, with all questions that it leaves open."""
    named: dict[tuple[str, str], list[str]] = {}
    for row in missing:
        names = named.setdefault((row.state, row.reason), [])
        names.append(row.short if names else row.name)
    return tuple(f"{', '.join(names)} ({state}): {reason}" for (state, reason), names in named.items())


def unmeasured_sentence(rows: Sequence[MeasureRow]) -> str:
    """Return what was not measured, or only in part; empty if everything was."""
    missing = [row.short for row in rows if row.state in ("not measured", "failed")]
    partly = [row.short for row in rows if row.state == "partly measured"]
    sentences = [f"Not measured: {', '.join(missing)}."] if missing else []
    sentences += [f"Measured in part: {', '.join(partly)}."] if partly else []
    return " ".join(sentences)


def sign_off_section(findings: Findings) -> tuple[Section, ...]:
    """Return what a person stated of the release; for the checker with the fields that are empty."""
    stated = findings.sign_off
    filled = {name: wording.clean(getattr(stated, name)) for name in stated.names() if name not in stated.empty}
    names = tuple(filled) if findings.audience == "public" else stated.names()
    labels = {name: name.replace("_", " ").capitalize() for name in names}
    empty = ", ".join(labels[name].lower() for name in names if name not in filled)
    fields = section(
        "sign-off",
        "Sign-off",
        paragraph(ONLY_A_PERSON, "note"),
        Definitions(tuple((labels[name], (filled.get(name, EMPTY),)) for name in names)),
        folded="" if filled else f"empty: {empty}",
        text=(
            *(f"{labels[name]}: {text}" for name, text in filled.items()),
            f"Empty, as only a person can state it: {empty}." if empty else "",
        ),
    )
    return (fields,) if names else ()


SAME = "The records change none of the checks."


def record_sections(findings: Findings, kind: str) -> Iterator[Section]:
    """Yield what the records add, for a kind of subject; nothing where none were measured apart from it."""
    # What follows from the subject alone is shown in its own sections, and not again.
    records = findings.holder
    if records is None:
        return
    # Checks that the records leave as they are stand in the policy's own section.
    changed = [check for check in records.checks if check not in findings.checks]
    judged = policy_section(changed, records.policy, kind)
    verdict = f"Judged with the records: {records.verdict}. {records.decision}"
    notes = tuple(wording.clean(note) for note in records.notes if isinstance(note, RecordNote) and note != UNCOVERED)
    public = {one.id: one for one in sections_of(findings)}
    new = [one for one in sections_of(records) if one != public.get(one.id)]
    # Drawings of the same name stand on the page once.
    again = (
        Paragraph(text=text, title=f"{one.title}:")
        for one in new
        for text in one.text
        if one.id in public and isinstance(text, str)
    )
    yield section(
        "data",
        "What the records add",
        paragraph(UNCOVERED, "lead"),
        verdict,
        Points(items=notes) if notes else None,
        again,
        judged.blocks if changed else SAME,
        link="Records",
        text=(UNCOVERED, verdict, *notes, *(judged.text if changed else (SAME,))),
        audience="checker",
    )
    for one in new:
        if one.id not in public:
            yield replace(one, audience="checker")
