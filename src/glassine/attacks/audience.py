"""For whom a figure is: the checker, who may see what was measured on records, or the public.

Each measurement, each field of a finding and each note states its own audience, so that no report decides it. Before
anything is written, :func:`for_public` leaves out what is for the checker only.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from glassine.attacks.outcome import Measured

__all__ = ["UNCOVERED", "Audience", "Publishable", "RecordNote", "for_checker", "for_public"]

Audience: TypeAlias = Literal["checker", "public"]

PUBLIC = "public"
"""Key in the metadata of a field: what stands in its place in a public report."""


class RecordNote(str):
    """A note on records: for the checker only."""

    __slots__ = ()


UNCOVERED = RecordNote("The guarantee covers what is published, not these figures: they were measured on the records.")
"""What every figure of records beside a claimed guarantee needs to be read with."""


@runtime_checkable
class Publishable(Protocol):
    """A finding that is for the checker under a condition, which it knows."""

    def public(self) -> object | None:
        """Return it as a public report may hold it; None where all of it is for the checker only."""


def for_checker(*, public: object = None) -> dict[str, object]:
    """Return the metadata of a field that is for the checker only, and what stands in its place for the public."""
    return {PUBLIC: public}


def for_public(value: Any) -> Any:
    """Return a finding without the fields that are for the checker only; None where nothing is left."""
    if isinstance(value, Measured):
        inner = for_public(value.value)
        return None if inner is None and value.value is not None else Measured(inner)
    if isinstance(value, tuple):
        return tuple(for_public(item) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if isinstance(value, Publishable):
        return value.public()
    kept = {entry.name: entry.metadata.get(PUBLIC, for_public(getattr(value, entry.name))) for entry in fields(value)}
    return replace(value, **kept)
