"""The readers of a tree in words: what each concludes of a sensitive attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings.disclosure import ReaderFinding
from glassine.report import wording
from glassine.report.statements import Fact

__all__ = ["ReaderRow", "estimate_fact", "internal_fact", "people", "reader_row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderRow:
    """One reader in words; empty where the truth is not known."""

    name: str
    entropy: str
    certain: str
    d_overall: str
    guess_rate: str


def reader_row(reader: ReaderFinding) -> ReaderRow:
    """Return a reader in words."""
    known = reader.d_overall is not None and reader.guess_rate is not None
    return ReaderRow(
        name=reader.reader[:1].upper() + reader.reader[1:],
        entropy=f"{reader.entropy:.3g} nats",
        certain=people(reader.certain),
        d_overall=f"{reader.d_overall:.3g} nats" if known else "",
        guess_rate=wording.percent(reader.guess_rate or 0.0) if known else "",
    )


def internal_fact(
    readers: Sequence[ReaderFinding], n_internal: int, n_active: int, *, unused: str = "", named: Sequence[str] = ()
) -> Fact:
    """Return what the internal nodes add to the leaves; ``unused`` is why they were not used, ``named`` which do."""
    name = "What the choice of splits adds"
    if unused:
        reason = wording.clean(unused)
        return Fact(name=name, value="not used", meaning=reason[:1].upper() + reason[1:])
    if len(readers) < 3:
        return Fact(name=name, value="not used", meaning="The reader looks at the leaves alone.")
    more = max(readers[1].entropy - readers[2].entropy, 0.0)
    shaping = "none shapes" if not n_active else f"{n_active:,} shape"
    among = f" Among them: {'; '.join(map(wording.clean, named))}." if named else ""
    return Fact(
        name=name,
        value=f"{more:.2g} nats" if more else "next to nothing",
        meaning="A learner takes the best split of each node; records under which another would have been better are "
        f"excluded. Of {wording.plural(n_internal, 'such constraint')} {shaping} the estimate.{among}",
    )


def estimate_fact(optimum: str, gap: float, *, known: str = "") -> Fact:
    """Return whether the estimate is the best one, and from what it was made."""
    if optimum == "local":
        value = "a local optimum"
        meaning = f"Without class counts a better estimate may leave up to {gap:.2g} nats a person more open."
    else:
        value = "the global optimum"
        slack = f", up to a certified gap of {gap:.1g} nats a person" if gap > 0 else ""
        meaning = f"No estimate that agrees with the tree leaves more open{slack}."
    meaning += " It takes fractions of people: whole people can be told apart where fractions cannot."
    meaning += f" Known: {wording.clean(known)}." if known else ""
    return Fact(name="The estimate of maximum entropy", value=value, meaning=meaning)


def people(count: ShownCount) -> str:
    """Return a number of people, which may be rounded or hidden."""
    if not isinstance(count, int):
        return f"{count} people"
    return "nobody" if count == 0 else "1 person" if count == 1 else f"{count:,} people"
