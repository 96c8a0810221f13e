"""Groups: logical ties between binary attributes, such as the dummies of one category.

A group says which combinations of its attributes are possible. Attributes that share a group, directly or through
others, form a *block*; :func:`patterns` lists the possible combinations of a block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from glassine.domain.attributes import is_name, is_whole
from glassine.errors import InvalidDomainError, parameter

MAX_PATTERNS = 1 << 16

Pattern: TypeAlias = tuple[int, ...]


class Group(ABC):
    """A tie between binary attributes.

    Attributes
    ----------
    attributes : tuple of str
        The attributes that it ties.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def attributes(self) -> tuple[str, ...]:
            """The attributes that it ties."""
            ...

    @abstractmethod
    def patterns(self) -> list[Pattern]:
        """Return the possible combinations, one 0/1 tuple each."""


def _checked_names(names: Iterable[str], kind: str, at_least: int = 2) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InvalidDomainError(
            f"{kind} needs a list of attributes, got the string {names!r}.", remedy="Put it in a tuple."
        )
    checked = tuple(names)
    if len(checked) < at_least:
        raise InvalidDomainError(
            f"{kind} needs at least {at_least} attributes, got {checked!r}.", remedy="Drop the group."
        )
    if not all(is_name(name) for name in checked):
        raise InvalidDomainError(f"{kind} needs attribute names, got {checked!r}.", remedy="Give strings.")
    if len(set(checked)) < len(checked):
        raise InvalidDomainError(f"{kind} names an attribute twice: {checked!r}.", remedy="Name each once.")
    return checked


@dataclass(frozen=True, slots=True)
class ExactlyOne(Group):
    """Exactly one of the attributes is 1: the dummies of a category.

    Examples
    --------
    >>> ExactlyOne(("red", "green", "blue")).patterns()
    [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    """

    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _checked_names(self.attributes, "ExactlyOne"))

    def patterns(self) -> list[Pattern]:
        """Return the possible combinations, one 0/1 tuple each."""
        width = len(self.attributes)
        return [tuple(int(i == j) for j in range(width)) for i in range(width)]


@dataclass(frozen=True, slots=True)
class AtMostOne(Group):
    """At most one of the attributes is 1: the dummies of a category whose first value has none.

    Examples
    --------
    >>> AtMostOne(("green", "blue")).patterns()
    [(0, 0), (1, 0), (0, 1)]
    """

    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _checked_names(self.attributes, "AtMostOne"))

    def patterns(self) -> list[Pattern]:
        """Return the possible combinations, one 0/1 tuple each."""
        width = len(self.attributes)
        return [(0,) * width, *(tuple(int(i == j) for j in range(width)) for i in range(width))]


@dataclass(frozen=True, slots=True)
class Implies(Group):
    """Each attribute implies the next: the dummies of nested conditions, the narrowest first.

    Examples
    --------
    >>> Implies(("age<=20", "age<=22", "age<=25")).patterns()
    [(0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1)]
    """

    attributes: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _checked_names(self.attributes, "Implies"))

    def patterns(self) -> list[Pattern]:
        """Return the possible combinations, one 0/1 tuple each."""
        width = len(self.attributes)
        return [tuple(int(j >= width - ones) for j in range(width)) for ones in range(width + 1)]


@dataclass(frozen=True, slots=True)
class Intervals(Group):
    """Dummies of one hidden whole number in ``[lo, hi]``; each is 1 where the number lies in its interval.

    Parameters
    ----------
    lo, hi : int
        Bounds of the hidden number, both included.
    intervals : mapping of str to (int or None, int or None)
        For each attribute the smallest and the largest number at which it is 1; None where there is no such bound.

    Examples
    --------
    >>> Intervals(18, 99, {"18-20": (18, 20), "18-22": (18, 22), ">=40": (40, None)}).patterns()
    [(1, 1, 0), (0, 1, 0), (0, 0, 0), (0, 0, 1)]
    """

    lo: int
    hi: int
    intervals: Mapping[str, tuple[int | None, int | None]]

    def __post_init__(self) -> None:
        for bound in (self.lo, self.hi):
            if not is_whole(bound):
                raise InvalidDomainError(f"Intervals needs whole bounds, got {bound!r}.", remedy="Round them.")
        if not self.lo <= self.hi:
            raise InvalidDomainError(
                f"Intervals needs lo <= hi, got {parameter('lo=')}{self.lo} and {parameter('hi=')}{self.hi}.",
                remedy="Swap the bounds.",
            )
        _checked_names(tuple(self.intervals), "Intervals", at_least=1)
        for name, bounds in self.intervals.items():
            if not isinstance(bounds, tuple | list):
                raise InvalidDomainError(f"the interval of {name!r} must be two whole numbers or None, got {bounds!r}.")
            whole = [b for b in bounds if b is not None]
            if len(list(bounds)) != 2 or not all(is_whole(b) for b in whole):
                raise InvalidDomainError(f"the interval of {name!r} must be two whole numbers or None, got {bounds!r}.")
            if len(whole) == 2 and not whole[0] <= whole[1]:
                raise InvalidDomainError(f"the interval of {name!r} is empty: {bounds!r}.", remedy="Swap its bounds.")
        object.__setattr__(self, "intervals", dict(self.intervals))

    def __hash__(self) -> int:
        return hash((self.lo, self.hi, tuple(self.intervals.items())))

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes, in the order of their intervals."""
        return tuple(self.intervals)

    def patterns(self) -> list[Pattern]:
        """Return the possible combinations, one 0/1 tuple each."""
        spans = [(self.lo if a is None else a, self.hi if b is None else b) for a, b in self.intervals.values()]
        starts = {self.lo, *(a for a, _ in spans), *(b + 1 for _, b in spans)}
        numbers = sorted(n for n in starts if self.lo <= n <= self.hi)
        return list(dict.fromkeys(tuple(int(a <= n <= b) for a, b in spans) for n in numbers))


@dataclass(frozen=True, slots=True)
class Combinations(Group):
    """The possible combinations are listed.

    Examples
    --------
    >>> Combinations(("a", "b"), ((0, 0), (1, 1))).patterns()
    [(0, 0), (1, 1)]
    """

    attributes: tuple[str, ...]
    rows: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", _checked_names(self.attributes, "Combinations", at_least=1))
        rows = tuple(tuple(row) for row in self.rows)
        for row in rows:
            if len(row) != len(self.attributes) or any(v not in (0, 1) for v in row):
                raise InvalidDomainError(
                    f"a combination of {len(self.attributes)} binary attributes must be as many zeros and ones, "
                    f"got {row!r}."
                )
        object.__setattr__(self, "rows", tuple(tuple(int(v) for v in row) for row in dict.fromkeys(rows)))

    def patterns(self) -> list[Pattern]:
        """Return the possible combinations, one 0/1 tuple each."""
        return list(self.rows)


def blocks(names: Sequence[str], groups: Sequence[Group]) -> list[tuple[tuple[str, ...], list[Group]]]:
    """Return the blocks of attributes tied by groups, each in the order of ``names``, with their groups."""
    root = {name: name for name in names}

    def find(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for group in groups:
        first = find(group.attributes[0])
        for other in group.attributes[1:]:
            root[find(other)] = first
    tied = {name for group in groups for name in group.attributes}
    members: dict[str, list[str]] = {}
    for name in names:
        if name in tied:
            members.setdefault(find(name), []).append(name)
    return [(tuple(block), [g for g in groups if find(g.attributes[0]) == key]) for key, block in members.items()]


def patterns(block: Sequence[str], groups: Sequence[Group]) -> list[Pattern]:
    """Return every combination of a block's attributes that all of its groups allow."""
    joined_names: list[str] = []
    rows: set[Pattern] = {()}
    for group in sorted(groups, key=lambda g: len(g.attributes)):
        shared = [name for name in group.attributes if name in joined_names]
        fresh = [name for name in group.attributes if name not in joined_names]
        at = {name: i for i, name in enumerate(group.attributes)}
        extensions: dict[Pattern, list[Pattern]] = {}
        for pattern in group.patterns():
            key = tuple(pattern[at[name]] for name in shared)
            extensions.setdefault(key, []).append(tuple(pattern[at[name]] for name in fresh))
        where = [joined_names.index(name) for name in shared]
        joined: set[Pattern] = set()
        for row in rows:
            joined.update(row + more for more in extensions.get(tuple(row[i] for i in where), ()))
            if len(joined) > MAX_PATTERNS:
                raise InvalidDomainError(
                    f"the groups over {', '.join(block)} allow more than {MAX_PATTERNS:,} combinations.",
                    remedy="Declare fewer ties between these attributes, or list their possible values as one "
                    "category.",
                )
        rows, joined_names = joined, joined_names + fresh
    if not rows:
        raise InvalidDomainError(
            f"the groups over {', '.join(block)} contradict each other: no combination is possible.",
            remedy="Drop or mend one.",
        )
    order = [joined_names.index(name) for name in block]
    return sorted(tuple(row[i] for i in order) for row in rows)
