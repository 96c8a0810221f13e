"""Disclosure of the sensitive attribute in words, as a section of the audit's report."""

from __future__ import annotations

from dataclasses import dataclass

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings import SensitiveFinding
from glassine.report import wording
from glassine.report.readers import ReaderRow, estimate_fact, internal_fact, people, reader_row
from glassine.report.statements import Fact

__all__ = ["SensitiveView", "sensitive_view"]

MOST_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveView:
    """Disclosure of the sensitive attribute in words.

    Attributes
    ----------
    name, sentence : str
        The attribute, and what is learned of it.
    readers : tuple of ReaderRow
        The readers, the one who knows least first.
    facts : tuple of Fact
        What the reader knows, the internal nodes, the estimate.
    rows : tuple of int
        The most exposed people by row number.
    notes : tuple of str
        What was left out.
    """

    name: str
    sentence: str
    readers: tuple[ReaderRow, ...]
    facts: tuple[Fact, ...]
    rows: tuple[int, ...]
    notes: tuple[str, ...]


def sensitive_view(found: SensitiveFinding) -> SensitiveView:
    """Return what a reader learns of the sensitive attribute, in words."""
    return SensitiveView(
        name=wording.clean(found.sensitive),
        sentence=_sentence(found),
        readers=tuple(map(reader_row, found.readers)),
        facts=(
            _known(found),
            internal_fact(found.readers, found.n_internal, found.n_active, unused=found.unused),
            estimate_fact(found.optimum, found.gap),
        ),
        rows=found.exposed,
        notes=tuple(map(wording.clean, found.notes)),
    )


def _sentence(found: SensitiveFinding) -> str:
    least, best = found.readers[0], found.readers[-1]
    told = (
        f"A reader who knows everybody's quasi-identifiers learns {found.learned_mean:.3g} nats a person about "
        f"{wording.clean(found.sensitive)} beyond the class distribution, {found.learned_most:.3g} of the most exposed "
        f"one; {best.entropy:.3g} of {least.entropy:.3g} are left."
    )
    if best.certain:
        told += f" Of {people(best.certain)} the value is as good as certain."
    return told


def _known(found: SensitiveFinding) -> Fact:
    names = [wording.shorten(wording.clean(name), 40) for name in found.quasi_identifiers[:MOST_NAMES]]
    more = len(found.quasi_identifiers) - len(names)
    listed = ", ".join(names) + (f" and {more:,} more" if more else "")
    return Fact(
        name="What the reader knows of everybody",
        value=wording.plural(len(found.quasi_identifiers), "attribute"),
        meaning=f"{listed}: {_amount(found.n_quasi_identifiers)} different combinations among "
        f"{people(found.n_people)}. Of the tree: {wording.clean(found.knowledge)}.",
    )


def _amount(count: ShownCount) -> str:
    return f"{count:,}" if isinstance(count, int) else str(count)
