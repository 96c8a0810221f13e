"""The few kinds of blocks that sections of a report are made of, as plain values.

Blocks hold every word and figure that is shown, none of how it looks. Texts may hold ``code`` between backticks; all
names are cleaned before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias, dataclass_transform

from markupsafe import Markup

from glassine.report import wording


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True)
class Block:
    """A frozen dataclass that the macro of its kind draws."""

    kind: ClassVar[str]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        cls.kind = cls.__name__.lower()
        dataclass(frozen=True, kw_only=kw_only)(cls)


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure with its name and what it means."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Status:
    """How far something got, in a word that has a symbol and a colour."""

    word: str


Cell: TypeAlias = str | Status | Markup
"""What a cell of a table holds; markup is a drawing."""


@dataclass(frozen=True, slots=True)
class Column:
    """Head of a column, whether it holds figures, and whether it stands out."""

    name: str
    numeric: bool = False
    picked: bool = False


def heads(*names: str, figures: Iterable[str] = ()) -> tuple[Column, ...]:
    """Return the heads of columns of words, then those of columns of figures."""
    return (*map(Column, names), *(Column(name, numeric=True) for name in figures))


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table."""

    name: str  # Its head
    cells: tuple[Cell, ...]  # The other columns; an empty one has nothing to say
    # group, note, meaning: what stands before the head, beside it and below it.
    group: str = ""
    note: str = ""
    meaning: str = ""
    remark: str = ""  # A sentence across the table, below the row
    flag: str = ""  # A limit that is broken
    picked: bool = False  # Whether it stands out


class Table(Block, kw_only=True):
    """A table; ``style`` is ``stack`` (rows become lists on a phone), ``bars``, ``plain`` or ``wide``."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    style: str = "stack"


class Paragraph(Block, kw_only=True):
    """A paragraph."""

    text: str  # What it says
    tone: str = ""  # ``lead``, ``note`` or ``missing`` for what is not known; empty for any other
    title: str = ""  # Words that stand out at its beginning
    status: str = ""  # A status at its end
    see: tuple[str, str] | None = None  # A section of the page, and its name


class Heading(Block):
    """A heading inside a section."""

    text: str


class Facts(Block):
    """Figures with what they mean."""

    facts: tuple[Fact, ...]


class Definitions(Block):
    """Names, each with some sentences."""

    items: tuple[tuple[str, tuple[str, ...]], ...]


class Points(Block, kw_only=True):
    """A list of sentences; ``style`` is ``advice`` for numbered steps, ``missing`` for caveats.

    Where ``plain`` has the same steps for people without a shell, a page shows those, and the code of the items below.
    """

    items: tuple[str, ...]
    plain: tuple[str, ...] = ()
    style: str = ""
    title: str = ""
    first: int = 1

    def up_to(self, n: int) -> Points:
        """Return the first of the items."""
        return replace(self, items=self.items[:n], plain=self.plain[:n])

    def after(self, n: int) -> Points | None:
        """Return the other items, without a title; None where there are no more."""
        rest = replace(self, items=self.items[n:], plain=self.plain[n:], title="", first=self.first + n)
        return rest if rest.items else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """A check in words."""

    rule: str  # Name of the rule
    label: str  # The rule in words
    limit: str
    measured: str
    status: str  # ``pass``, ``fail``, ``unknown`` or ``not applicable``
    meaning: str

    @property
    def sentence(self) -> str:
        """Figure, limit and meaning together."""
        return f"{self.measured} (limit: {self.limit}). {self.meaning}"


class Failures(Block):
    """The checks that stand against a release."""

    checks: tuple[CheckRow, ...]


class Columns(Block):
    """Blocks beside each other on a wide page, below each other on a narrow one."""

    columns: tuple[tuple[Block, ...], ...]


class Released(Block, kw_only=True):
    """The file that a verdict is on: whether it may be released, its name and digest."""

    title: str
    name: str
    sha256: str


class Command(Block):
    """A command to paste."""

    text: str


class RowNumbers(Block):
    """Records by their row number, with what is said of each."""

    rows: tuple[str, ...]


class Legend(Block):
    """What marks mean: the name of a colour, or a drawing, and words."""

    entries: tuple[tuple[str | Markup, str], ...]
    label: str = ""


class Figure(Block, kw_only=True):
    """A chart, or several of one kind."""

    drawings: tuple[Markup, ...]  # The charts
    # title, caption: what they show.
    title: str = ""
    caption: str
    legend: Legend | None = None  # What their marks mean
    narrow: tuple[Markup, ...] = ()  # The charts as a phone has room for them
    # What is said of a figure that scrolls sideways, from its right end, and is left out on a phone; empty otherwise.
    scrolls: str = ""
    zooms: bool = False  # Whether a script draws any part of it larger


class Gallery(Block):
    """Small charts side by side: name, what is said beside it, and drawing."""

    charts: tuple[tuple[str, str, Markup], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A quantity in one reading: its value, the share that is left, and amounts before and after."""

    name: str
    value: str
    left: float | None
    before: str
    after: str


class Readings(Block):
    """The readings of a quantity side by side."""

    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """A leaf or a rule in words."""

    number: int  # Its number, from 1
    lead: str  # ``if``, ``else if`` or ``else`` for a rule; empty for a leaf
    condition: str  # When it captures a record
    # size, classes, prediction, purity, bits, expected: the figures as text; empty where there is nothing to say.
    # Expected are records by the domain's public shares.
    size: str
    classes: str
    prediction: str
    purity: str
    bits: str
    expected: str
    count: str  # The size in a word, for a drawing
    share: float | None  # Bits learned as a share of the scale
    level: int | None  # Level of exposure; None where it is not known
    flags: tuple[str, ...]  # The limits that it breaks, in words
    # Records for drawing: the size where it is shown, one constant where it is suppressed, None where unknown.
    weight: float | None
    mix: tuple[float, ...]  # Share of each class for drawing; empty where it is not shown


class Parts(Block):
    """Leaves or rules, one below the other."""

    parts: tuple[PartRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of an outline: a subtree begins or ends, a leaf stands, or leaves are left out."""

    kind: str  # ``begin``, ``end``, ``leaf`` or ``omitted``
    condition: str = ""  # The condition under which a record comes here from the parent
    summary: str = ""  # What the subtree holds, or how much is left out
    open: bool = False  # Whether the subtree is shown unfolded at first
    part: PartRow | None = None  # The leaf


class Outline(Block):
    """A tree as a nested list, written as a flat sequence of steps, so that no depth overflows a stack or a browser."""

    steps: tuple[Step, ...]


class Fold(Block):
    """Blocks that are folded away below a summary."""

    summary: str
    blocks: tuple[Block, ...]


Piece: TypeAlias = "Block | Fact | str | Iterable[Piece] | None"
"""What blocks are made of: nothing, a block, a text, which is a paragraph, or several; figures are one list."""


def blocks_of(*pieces: Piece) -> Iterator[Block]:
    """Yield the blocks of some pieces; an empty piece has none, so that what may be missing needs no condition."""
    for piece in pieces:
        if isinstance(piece, Block):
            yield piece
        elif isinstance(piece, str):
            yield from (Paragraph(text=piece),) if piece else ()
        elif isinstance(piece, Fact):
            yield Facts((piece,))
        elif piece is not None:
            several = tuple(piece)
            figures = tuple(one for one in several if isinstance(one, Fact))
            yield from (Facts(figures),) if figures else blocks_of(*several)


def rows_of(about: str, rows: Iterable[int]) -> Piece:
    """Return a sentence and the records by row number that it is about; None without any."""
    listed = tuple(map(wording.row_name, rows))
    return (about, RowNumbers(listed)) if listed else None


def paragraph(text: str, tone: str) -> Paragraph | None:
    """Return a paragraph in a tone; None without a text."""
    return Paragraph(text=text, tone=tone) if text else None


def fold(summary: str, *pieces: Piece) -> Fold | None:
    """Return pieces that are folded away below a summary; None where they are empty."""
    blocks = tuple(blocks_of(*pieces))
    return Fold(summary, blocks) if blocks else None
