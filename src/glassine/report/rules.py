"""The policy's checks in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.attacks.outcome import ShownCount
from glassine.auditing.criterion import Limit
from glassine.auditing.findings import Check, Findings
from glassine.auditing.policy import Policy
from glassine.report import wording

__all__ = [
    "CheckRow",
    "check_rows",
    "kept_sentence",
    "label_of",
    "limit_and_measured",
    "parts_of",
    "status_of",
    "verdict_sentence",
]

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
    label, limit, measured, meaning : str
        The check in words.
    status : str
        ``pass``, ``fail``, ``unknown``, or ``not applicable`` where the model publishes nothing of the kind.
    """

    key: str
    label: str
    limit: str
    measured: str
    status: str
    meaning: str


PARTS = {"rule list": ("rule", "rules"), "additive model": ("bin", "bins")}


def parts_of(kind: str) -> tuple[str, str]:
    """Return what one part and several parts of a kind of model are called."""
    return PARTS.get(kind, ("leaf", "leaves"))


def label_of(name: str, policy: Policy, parts: tuple[str, str]) -> str:
    """Return the label of a check: that of its criterion, or its name where the policy has no such criterion."""
    criterion = policy.criterion(name)
    label = wording.clean(name).replace("_", " ") if criterion is None else criterion.words.label
    return label.format(part=parts[0], parts=parts[1]) if "{part" in label else label


def _limit(check: Check, limit: Limit[float] | None) -> str:
    if limit is None:
        return f"{check.limit:g}"
    unit = limit.unit.name
    if unit in ("values", "people") and not check.limit:
        return NONE_ALLOWED
    figure = {
        "records": wording.plural(round(check.limit), "record"),
        "share": f"{100 * check.limit:g}%",
        "bits": f"{check.limit:g} bits",
    }.get(unit, f"{check.limit:g}")
    return f"at {'least' if limit.fewest else 'most'} {figure}"


def _measured(check: Check, value: float | ShownCount, unit: str) -> str:
    if not isinstance(value, int | float):
        return f"{value} records" if unit == "records" else str(value)
    if unit == "records":
        return wording.plural(round(value), "record")
    if unit == "bits":
        return f"{wording.bits(value, beyond=check.limit)} bits"
    if unit == "share":
        if check.status == "fail" and value <= check.limit:
            return f"more than {wording.percent(check.limit)}"
        return wording.percent(value, digits=0 if value in (0, 1) or round(value * 100) == value * 100 else 1)
    return "none" if unit in ("values", "people") and not value else f"{value:g}"


def status_of(check: Check) -> str:
    """Return the status in words; where the model publishes nothing of the kind, there is nothing to judge."""
    return NOTHING if _nothing_published(check) else STATUS[check.status]


def limit_and_measured(check: Check, policy: Policy) -> tuple[str, str]:
    """Return the limit and the figure of a check with their units."""
    criterion = policy.criterion(check.rule)
    limit = None if criterion is None else criterion.limit
    unit = "number" if limit is None else limit.unit.name
    if check.measured is None:
        missing = "not known" if check.status == "unknown" else "not published"
        return _limit(check, limit), BY_GUARANTEE if check.basis == "guarantee" else missing
    at_most = "at most " if check.basis == "guarantee" and unit in ("bits", "number") else ""
    return _limit(check, limit), at_most + _measured(check, check.measured, unit)


def check_rows(checks: Sequence[Check], policy: Policy, parts: tuple[str, str]) -> tuple[CheckRow, ...]:
    """Return the checks in words, in the policy's order; ``parts`` says what one part and several are called."""
    rows = []
    for check in checks:
        limit, measured = limit_and_measured(check, policy)
        rows.append(
            CheckRow(
                key=check.rule,
                label=label_of(check.rule, policy, parts),
                limit=limit,
                measured=measured,
                status=status_of(check),
                meaning=wording.clean(check.meaning),
            )
        )
    return tuple(rows)


def verdict_sentence(findings: Findings, *, named: bool = True) -> str:
    """Return why the verdict is what it is, in one sentence, with or without the names of the limits."""
    checks = findings.checks
    if not checks:
        return "The policy holds no rule that could be judged, so nothing can be said."
    faults = _labels(findings, "fail")
    unknown = sum(c.status == "unknown" for c in checks)
    aside = f"; {unknown} more could not be judged" if unknown else ""
    if faults:
        verb = "is" if len(faults) == 1 else "are"
        return f"{len(faults)} of {len(checks)} limits {verb} broken{f': {_listing(faults)}' if named else ''}{aside}."
    if unknown:
        which = f": {_listing(_labels(findings, 'unknown'))}" if named else ""
        return f"No limit is known to be broken, but {unknown} of {len(checks)} could not be judged{which}."
    return kept_sentence(checks)


def _labels(findings: Findings, status: str) -> list[str]:
    """Return the labels of the checks of a status, as they stand within a sentence."""
    parts = parts_of(findings.model.kind)
    labels = [label_of(check.rule, findings.policy, parts) for check in findings.checks if check.status == status]
    return [label[:1].lower() + label[1:] for label in labels]


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
