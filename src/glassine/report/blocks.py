"""The few kinds of blocks that sections of a report are made of, as plain values.

Blocks hold every word and figure that is shown, none of how it looks. Texts may hold ``code`` between backticks; all
names are cleaned before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from markupsafe import Markup


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; ``style`` is ``stack`` (rows become lists on a phone), ``bars``, ``plain`` or ``wide``."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    style: str = "stack"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph."""

    kind: ClassVar[str] = "paragraph"
    text: str  # What it says
    tone: str = ""  # ``lead``, ``note`` or ``missing`` for what is not known; empty for any other
    title: str = ""  # Words that stand out at its beginning
    status: str = ""  # A status at its end
    see: tuple[str, str] | None = None  # A section of the page, and its name


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading inside a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Figures with what they mean."""

    kind: ClassVar[str] = "facts"
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Definitions:
    """Names, each with some sentences."""

    kind: ClassVar[str] = "definitions"
    items: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A list of sentences; ``style`` is ``advice`` for numbered steps, ``missing`` for caveats."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]
    style: str = ""
    title: str = ""
    first: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A check that failed or could not run: number, limit and consequence in words."""

    name: str
    status: str
    measured: str
    limit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Failures:
    """The checks that stand against a release."""

    kind: ClassVar[str] = "failures"
    checks: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Blocks beside each other on a wide page, below each other on a narrow one."""

    kind: ClassVar[str] = "columns"
    columns: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The file that a verdict is on: whether it may be released, its name, digest and what else it holds."""

    kind: ClassVar[str] = "released"
    title: str
    name: str
    sha256: str
    holds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A command to paste."""

    kind: ClassVar[str] = "command"
    text: str


@dataclass(frozen=True, slots=True)
class RowNumbers:
    """Records by their row number, with what is said of each."""

    kind: ClassVar[str] = "rows"
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Legend:
    """What marks mean: the name of a colour, or a drawing, and words."""

    kind: ClassVar[str] = "legend"
    entries: tuple[tuple[str | Markup, str], ...]
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart, or several of one kind."""

    kind: ClassVar[str] = "figure"
    drawings: tuple[Markup, ...]  # The charts
    # title, caption: what they show.
    title: str = ""
    caption: str
    legend: Legend | None = None  # What their marks mean
    narrow: tuple[Markup, ...] = ()  # The charts as a phone has room for them
    # What is said of a figure that scrolls sideways, from its right end, and is left out on a phone; empty otherwise.
    scrolls: str = ""
    zooms: bool = False  # Whether a script draws any part of it larger


@dataclass(frozen=True, slots=True)
class Gallery:
    """Small charts side by side: name, what is said beside it, and drawing."""

    kind: ClassVar[str] = "gallery"
    charts: tuple[tuple[str, str, Markup], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A quantity in one reading: its value, the share that is left, and amounts before and after."""

    name: str
    value: str
    left: float | None
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Readings:
    """The readings of a quantity side by side."""

    kind: ClassVar[str] = "readings"
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


@dataclass(frozen=True, slots=True)
class Parts:
    """Leaves or rules, one below the other."""

    kind: ClassVar[str] = "parts"
    parts: tuple[PartRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of an outline: a subtree begins or ends, a leaf stands, or leaves are left out."""

    kind: str  # ``begin``, ``end``, ``leaf`` or ``omitted``
    condition: str = ""  # The condition under which a record comes here from the parent
    summary: str = ""  # What the subtree holds, or how much is left out
    open: bool = False  # Whether the subtree is shown unfolded at first
    part: PartRow | None = None  # The leaf


@dataclass(frozen=True, slots=True)
class Outline:
    """A tree as a nested list, written as a flat sequence of steps, so that no depth overflows a stack or a browser."""

    kind: ClassVar[str] = "outline"
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are folded away below a summary."""

    kind: ClassVar[str] = "fold"
    summary: str
    blocks: tuple[Block, ...]


Block: TypeAlias = (
    Columns
    | Command
    | Definitions
    | Facts
    | Failures
    | Figure
    | Fold
    | Gallery
    | Heading
    | Legend
    | Outline
    | Paragraph
    | Parts
    | Points
    | Readings
    | Released
    | RowNumbers
    | Table
)
