"""Disclosure of the sensitive attribute in words, as a section of the audit's report."""

from __future__ import annotations

from dataclasses import dataclass

from glassine.attacks.outcome import Count
from glassine.findings import SensitiveFinding
from glassine.findings.disclosure import ReaderFinding
from glassine.report import wording
from glassine.report.statements import Fact

__all__ = ["ReaderLine", "SensitiveView", "sensitive_view"]

MOST_NAMES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLine:
    """One reader in words; empty where the truth is not known."""

    name: str
    entropy: str
    certain: str
    d_overall: str
    guess_rate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveView:
    """Disclosure of the sensitive attribute in words.

    Attributes
    ----------
    name, sentence : str
        The attribute, and what is learned of it.
    readers : tuple of ReaderLine
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
    readers: tuple[ReaderLine, ...]
    facts: tuple[Fact, ...]
    rows: tuple[int, ...]
    notes: tuple[str, ...]


def sensitive_view(found: SensitiveFinding) -> SensitiveView:
    """Return what a reader learns of the sensitive attribute, in words."""
    return SensitiveView(
        name=wording.clean(found.sensitive),
        sentence=_sentence(found),
        readers=tuple(_line(reader) for reader in found.readers),
        facts=(_known(found), _internal(found), _estimate(found)),
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
        told += f" Of {_people(best.certain)} the value is as good as certain."
    return told


def _line(reader: ReaderFinding) -> ReaderLine:
    known = reader.d_overall is not None and reader.guess_rate is not None
    return ReaderLine(
        name=reader.reader[:1].upper() + reader.reader[1:],
        entropy=f"{reader.entropy:.3g} nats",
        certain=_people(reader.certain),
        d_overall=f"{reader.d_overall:.3g} nats" if known else "",
        guess_rate=wording.percent(reader.guess_rate or 0.0) if known else "",
    )


def _known(found: SensitiveFinding) -> Fact:
    names = [wording.shorten(wording.clean(name), 40) for name in found.quasi_identifiers[:MOST_NAMES]]
    more = len(found.quasi_identifiers) - len(names)
    listed = ", ".join(names) + (f" and {more:,} more" if more else "")
    return Fact(
        name="What the reader knows of everybody",
        value=wording.plural(len(found.quasi_identifiers), "attribute"),
        meaning=f"{listed}: {_amount(found.n_quasi_identifiers)} different combinations among "
        f"{_people(found.n_people)}. Of the tree: {wording.clean(found.knowledge)}.",
    )


def _internal(found: SensitiveFinding) -> Fact:
    name = "What the choice of splits adds"
    if found.unused:
        reason = wording.clean(found.unused)
        return Fact(name=name, value="not used", meaning=reason[:1].upper() + reason[1:])
    if len(found.readers) < 3:
        return Fact(name=name, value="not used", meaning="The reader looks at the leaves alone.")
    more = max(found.readers[1].entropy - found.readers[2].entropy, 0.0)
    shaping = "none shapes" if not found.n_active else f"{found.n_active:,} shape"
    return Fact(
        name=name,
        value=f"{more:.2g} nats" if more else "next to nothing",
        meaning="A learner takes the best split of each node; records under which another would have been better are "
        f"excluded. Of {wording.plural(found.n_internal, 'such constraint')} {shaping} the estimate.",
    )


def _estimate(found: SensitiveFinding) -> Fact:
    if found.optimum == "local":
        value = "a local optimum"
        meaning = f"Without class counts a better estimate may leave up to {found.gap:.2g} nats a person more open."
    else:
        value = "the global optimum"
        meaning = "No estimate that agrees with the tree leaves more open."
    meaning += " It takes fractions of people: whole people can be told apart where fractions cannot."
    return Fact(name="The estimate of maximum entropy", value=value, meaning=meaning)


def _amount(count: Count) -> str:
    return count if isinstance(count, str) else f"{count:,}"


def _people(count: Count) -> str:
    if isinstance(count, str):
        return f"{count} people"
    return "nobody" if count == 0 else "1 person" if count == 1 else f"{count:,} people"
