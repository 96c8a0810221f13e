"""Columns that identify people: tested ones, and those by which people could be counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glassine.attacks.outcome import RecordNote
from glassine.auditing.inputs import MOST_HINTS, AuditInputs
from glassine.data.identifiers import identifies, is_identifier_name, repeats
from glassine.errors import first_of, parameter
from glassine.records.containers import is_lazy


def people_hint(inputs: AuditInputs) -> list[RecordNote]:
    """Return which columns look like identifiers that recur, where records are counted; no figure of them is given."""
    if inputs.counts_people or inputs.data is None or is_lazy(inputs.data) or inputs.table is None:
        return []
    # A public declaration says what a column is; the name of an identifier says more.
    public = {name for name in inputs.domain or () if not inputs.domain[name].inferred} if inputs.domain else set()
    names = [name for name in inputs.table.names if name not in public or is_identifier_name(name)]
    names = [identifier.column for identifier in repeats(inputs.table.restrict(names))] if names else []
    if not names:
        return []
    looks = "looks like an identifier, and its" if len(names) == 1 else "look like identifiers, and their"
    return [
        RecordNote(
            f"{first_of(names, MOST_HINTS)} {looks} values recur: one person may have several records. Records are "
            f"counted here. Pass `{parameter('persons', names[0])}` to count people."
        )
    ]


def identifiers_of(inputs: AuditInputs, tested: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tested attributes that identify people, and those that look so by name or values alone."""
    if inputs.data is None or is_lazy(inputs.data) or inputs.table is None:
        return (), tuple(filter(is_identifier_name, tested))
    surely, perhaps, arrays = list[str](), list[str](), inputs.table.arrays
    present = [name for name in tested if name in arrays]
    recurring = {identifier.column for identifier in repeats(inputs.table.restrict(present))} if present else set()
    for name in tested:
        if name == inputs.person or (name in arrays and identifies(name, arrays[name])):
            surely.append(name)
        elif name in recurring:
            perhaps.append(name)
    return tuple(surely), tuple(perhaps)


def identifier_hint(names: Sequence[str]) -> list[RecordNote]:
    """Return a note on tested attributes that look like identifiers by their name alone, or by their values alone."""
    if not names:
        return []
    looks = "looks like an identifier" if len(names) == 1 else "look like identifiers"
    return [RecordNote(f"The model tests {first_of(names, MOST_HINTS)}, which {looks}. Retrain without, if so.")]
