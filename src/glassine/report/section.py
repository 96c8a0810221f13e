"""What a report says, as plain values: pages, their sections, and the few kinds of blocks that sections are made of.

Sections hold every word and figure that is shown, none of how it looks: :mod:`glassine.report.page` lays them out as
HTML, :mod:`glassine.report.text` as text. Texts may hold ``code`` between backticks; all names are cleaned before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

from markupsafe import Markup

from glassine.attacks.audience import Audience
from glassine.auditing.findings import InputFile
from glassine.report import wording

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Columns",
    "Command",
    "Definitions",
    "Fact",
    "Facts",
    "Failure",
    "Failures",
    "Figure",
    "Fold",
    "Gallery",
    "Heading",
    "Legend",
    "Outline",
    "Page",
    "Paragraph",
    "PartRow",
    "Parts",
    "Points",
    "Reading",
    "Readings",
    "Released",
    "Row",
    "RowNumbers",
    "Section",
    "Status",
    "Step",
    "Table",
    "clean_inputs",
    "facts_of",
    "facts_section",
    "sentence",
]


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
    """A row of a table.

    Attributes
    ----------
    name : str
        Its head.
    cells : tuple of Cell
        The other columns; an empty one has nothing to say.
    group, note, meaning : str
        What stands before the head, beside it and below it.
    remark : str
        A sentence across the table, below the row.
    flag : str
        A limit that is broken.
    picked : bool
        Whether it stands out.
    """

    name: str
    cells: tuple[Cell, ...]
    group: str = ""
    note: str = ""
    meaning: str = ""
    remark: str = ""
    flag: str = ""
    picked: bool = False


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
    """A paragraph.

    Attributes
    ----------
    text : str
        What it says.
    tone : str
        ``lead``, ``note`` or ``missing`` for what is not known; empty for any other.
    title : str
        Words that stand out at its beginning.
    status : str
        A status at its end.
    see : (str, str) or None
        A section of the page, and its name.
    """

    kind: ClassVar[str] = "paragraph"
    text: str
    tone: str = ""
    title: str = ""
    status: str = ""
    see: tuple[str, str] | None = None


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
    blocks: tuple[Block, ...]


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
    """A chart, or several of one kind.

    Attributes
    ----------
    drawings : tuple of Markup
        The charts.
    title, caption : str
        What they show.
    legend : Legend or None
        What their marks mean.
    scrolls : str
        What is said of a figure that is wider than a phone and scrolls sideways; empty where it shrinks instead.
    from_right : bool
        Whether a figure that scrolls begins at its right end.
    """

    kind: ClassVar[str] = "figure"
    drawings: tuple[Markup, ...]
    title: str = ""
    caption: str
    legend: Legend | None = None
    scrolls: str = ""
    from_right: bool = False


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
    """A leaf or a rule in words.

    Attributes
    ----------
    number : int
        Its number, from 1.
    lead : str
        ``if``, ``else if`` or ``else`` for a rule; empty for a leaf.
    condition : str
        When it captures a record.
    size, classes, prediction, purity, bits : str
        The figures as text; empty where there is nothing to say.
    share : float or None
        Bits learned as a share of the scale.
    level : int or None
        Level of exposure; None where it is not known.
    flags : tuple of str
        The limits that it breaks, in words.
    weight : float or None
        Records for drawing: the size where it is shown, one constant where it is suppressed, None where unknown.
    """

    number: int
    lead: str
    condition: str
    size: str
    classes: str
    prediction: str
    purity: str
    bits: str
    share: float | None
    level: int | None
    flags: tuple[str, ...]
    weight: float | None


@dataclass(frozen=True, slots=True)
class Parts:
    """Leaves or rules, one below the other."""

    kind: ClassVar[str] = "parts"
    parts: tuple[PartRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of an outline: a subtree begins or ends, a leaf stands, or leaves are left out.

    Attributes
    ----------
    kind : str
        ``begin``, ``end``, ``leaf`` or ``omitted``.
    condition : str
        The condition under which a record comes here from the parent.
    summary : str
        What the subtree holds, or how much is left out.
    open : bool
        Whether the subtree is shown unfolded at first.
    part : PartRow or None
        The leaf.
    """

    kind: str
    condition: str = ""
    summary: str = ""
    open: bool = False
    part: PartRow | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One finding, or one part of it.

    Attributes
    ----------
    id, title : str
        Its name in links, and its heading.
    about : str
        A name of the data at the end of the heading.
    link : str
        Its name in the contents; the title otherwise.
    blocks : tuple of Block
        What the page shows.
    folded : str
        What is said where the section is folded away; empty where it is open.
    text : tuple of str or of tuple of str
        What the text shows: sentences, or rows of a table whose columns are lined up.
    text_title : str
        The heading of that; neighbours of the same one share it. The title otherwise.
    audience : str
        ``checker`` where it holds figures of records, which is marked; else ``public``.
    """

    id: str
    title: str
    about: str = ""
    link: str = ""
    blocks: tuple[Block, ...]
    folded: str = ""
    text: tuple[str | tuple[str, ...], ...] = ()
    text_title: str = ""
    audience: Audience = "public"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A report.

    Attributes
    ----------
    kind, title, described : str
        What sort of report it is, of what, and a line on that.
    tone : str
        A verdict, ``finding`` where nothing was judged, or ``recommended``.
    headline, sentence, caveat : str
        The result in a few words, why, and what it does not cover.
    judged : bool
        Whether the headline is a verdict on a policy.
    details : tuple of Block
        What stands with the result.
    notes : tuple of str
        What must be known beside it.
    notes_title : str
        Their heading; ``Notes`` otherwise.
    figures : tuple of Fact
        The few figures that matter most.
    sections : tuple of Section
        The findings.
    terms : tuple of str
        Terms that are defined at the end.
    inputs : tuple of InputFile
        The files that were read.
    tied : bool
        Whether the text names them, too, so that its verdict is tied to them.
    notice : str
        For whom it is, in the first line.
    scripted : bool
        Whether the HTML has a script, which folds and unfolds.
    version, schema : str
        Of Glassine, and of the findings if they have one.
    """

    kind: str
    title: str
    described: str
    tone: str
    headline: str
    sentence: str
    caveat: str = ""
    judged: bool = False
    details: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    notes_title: str = ""
    figures: tuple[Fact, ...] = ()
    sections: tuple[Section, ...]
    terms: tuple[str, ...]
    inputs: tuple[InputFile, ...] = ()
    tied: bool = False
    notice: str
    scripted: bool = False
    version: str
    schema: str = ""

    def section(self, name: str) -> Section:
        """Return a section by its name in links."""
        return next(section for section in self.sections if section.id == name)


def sentence(text: str) -> str:
    """Return a text of others as a sentence: cleaned, its first letter a capital."""
    text = wording.clean(text)
    return text[:1].upper() + text[1:]


def facts_of(facts: tuple[Fact, ...]) -> tuple[str, ...]:
    """Return figures as sentences of the text."""
    return tuple(f"{fact.name}: {fact.value}. {fact.meaning}".rstrip() for fact in facts)


def facts_section(id: str, title: str, link: str, facts: tuple[Fact, ...], *, text_title: str = "") -> Section:
    """Return a section of figures alone; the text has them where it has a title for them."""
    text = facts_of(facts) if text_title else ()
    return Section(id=id, title=title, link=link, blocks=(Facts(facts),), text=text, text_title=text_title)


def clean_inputs(files: Sequence[InputFile]) -> tuple[InputFile, ...]:
    """Return the files with harmless names."""
    return tuple(
        replace(
            file,
            role=wording.clean(file.role),
            name=wording.clean(file.name),
            sha256=None if file.sha256 is None else wording.clean(file.sha256),
        )
        for file in files
    )
