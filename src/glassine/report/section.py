"""What a report says, as plain values: pages and their sections.

:mod:`glassine.report.page` lays them out as HTML, :mod:`glassine.report.rendering` as text.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar

from glassine.attacks.outcome import Audience, Measured
from glassine.auditing.findings import Findings, InputFile
from glassine.report import wording
from glassine.report.blocks import Block, Fact, Piece, blocks_of
from glassine.report.figures import FigureReading, FigureRow, facts, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One finding, or one part of it."""

    # id, title: its name in links, and its heading.
    id: str
    title: str
    about: str = ""  # A name of the data at the end of the heading
    link: str = ""  # Its name in the contents; the title otherwise
    blocks: tuple[Block, ...]  # What the page shows
    folded: str = ""  # What is said where the section is folded away; empty where it is open
    # What the text shows: sentences, or rows of a table whose columns are lined up.
    text: tuple[str | tuple[str, ...], ...] = ()
    text_title: str = ""  # The heading of that; neighbours of the same one share it. The title otherwise.
    audience: Audience = "public"  # ``checker`` where it holds figures of records, which is marked; else ``public``


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

    def opening(self) -> str:
        """Return the first line: for whom it is, and what marked parts are where there are any."""
        marked = any(section.audience == "checker" for section in self.sections)
        return f"{self.notice} {wording.MARKED}" if marked else self.notice

    def section(self, name: str) -> Section:
        """Return a section by its name in links."""
        return next(section for section in self.sections if section.id == name)


Text: TypeAlias = "Iterable[str | tuple[str, ...]]"
"""What a text shows: sentences, or rows of a table; an empty one is left out."""


def section(
    id: str, title: str, *pieces: Piece, link: str = "", text: Text = (), text_title: str = "", **more: Any
) -> Section:
    """Return a section of what it shows, of which empty pieces are left out."""
    said = tuple(line for line in text if line)
    blocks = tuple(blocks_of(*pieces))
    return Section(id=id, title=title, link=link, blocks=blocks, text=said, text_title=text_title, **more)


def figures_section(id: str, title: str, link: str, figures: tuple[Fact, ...], text_title: str = "") -> Section:
    """Return a section that is a list of figures, which the text says as sentences."""
    return section(id, title, figures, link=link, text=facts_of(figures), text_title=text_title)


def sentence(text: str) -> str:
    """Return a text of others as a sentence: cleaned, its first letter a capital."""
    text = wording.clean(text)
    return text[:1].upper() + text[1:]


def facts_of(facts: tuple[Fact, ...]) -> tuple[str, ...]:
    """Return figures as sentences of the text."""
    return tuple(f"{fact.name}: {fact.value}. {fact.meaning}".rstrip() for fact in facts)


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


# Sections of what was measured: one of ``report/sections`` for each measurement, which shows() declares.

F = TypeVar("F")

MODEL, LAST = 20, 99
"""Ranks: where a report shows the model itself; that of a section that states no place."""

Body: TypeAlias = "tuple[Piece, Text] | tuple[Piece, Text, Mapping[str, object]] | Mapping[str, object]"
"""What a section shows, on the page and as text, and words that its titles name; or those that its figures do."""

LEARNED = "What an attacker learns"
"""The heading of what several sections say in a text."""


def _nothing(finding: object, findings: Findings) -> str:
    return ""


@dataclass(frozen=True, kw_only=True)
class MeasuredSection(Generic[F]):
    """How reports show one measurement; its texts are templates, as in :mod:`glassine.report.figures`."""

    measurement: str  # The name of the measurement
    # id, title, link, about, text_title: of its section.
    id: str
    title: str
    link: str = ""
    about: str = ""
    text_title: str = ""
    figures: tuple[FigureRow, ...] = ()  # The table of its figures, where it is one
    sentence: str = ""  # What the text says in place of the figures; they themselves where there is a title for them
    body: Callable[[F, Findings], Body] = lambda finding, findings: {}  # What is shown of a finding
    # Returns what the measurement still lacks, in a sentence; empty where it is whole.
    lacking: Callable[[F, Findings], str] = _nothing
    rank: int = LAST  # Its place: sections stand in the order of their ranks

    def __call__(self, body: Callable[[F, Findings], Body]) -> MeasuredSection[F]:
        """Return the same with the function that says what is shown, which this decorates."""
        return replace(self, body=body)

    def section(self, finding: F, findings: Findings) -> Section:
        """Return the section of a finding."""
        body = self.body(finding, findings)
        words: Mapping[str, object] = body if isinstance(body, Mapping) else dict(*body[2:])
        reading = FigureReading(finding, findings, **words)
        if isinstance(body, Mapping):
            section_facts = facts(self.figures, finding, findings, **words)
            said = (
                (reading.said(self.sentence),) if self.sentence else facts_of(section_facts) if self.text_title else ()
            )
            body = section_facts, said
        title, about, text_title = map(reading.said, (self.title, self.about, self.text_title))
        return section(self.id, title, body[0], link=self.link, about=about, text=body[1], text_title=text_title)


def shows(
    measurement: str, id: str, title: str, link: str = "", figures: str = "", **more: Any
) -> MeasuredSection[Any]:
    """Declare how reports show a measurement; as a decorator it marks the function that says what is shown."""
    return MeasuredSection(measurement=measurement, id=id, title=title, link=link, figures=table(figures), **more)


HOMES = {
    **dict.fromkeys(("reconstruction", "alignment", "subgroups", "exposed_rows"), "reconstruction"),
    **dict.fromkeys(("labels", "values"), "outcomes"),
    **{name: name for name in ("capacity", "disclosure", "membership")},
    "columns": "regression",
    "differences": "differences",
    "ensemble": "ensemble",
    "stability": "capacity",
    "released": "guarantee",
    **dict.fromkeys(("parts", "terms", "rows", "joint"), ""),
}
"""Modules of common measurements, so that an audit imports no others; empty for those that the page itself shows."""


@cache
def measured_section(measurement: str) -> MeasuredSection[Any] | None:
    """Return the section of a measurement; None if it has none."""
    package = importlib.import_module("glassine.report.sections")
    names = [one.name for one in pkgutil.iter_modules(package.__path__)]
    if (home := HOMES.get(measurement)) is not None:
        names = [home] if home else []
    for name in names:
        for one in vars(importlib.import_module(f"{package.__name__}.{name}")).values():
            if isinstance(one, MeasuredSection) and one.measurement == measurement:
                return one
    return None


def sections_of(findings: Findings, *, least: int = 0, below: int = LAST + 1) -> Iterator[Section]:
    """Yield the sections of what was measured, those of a range of ranks, in the order of a report."""
    made = {name: outcome for name, outcome in findings.measured.items() if isinstance(outcome, Measured)}
    sections = [one for one in map(measured_section, made) if one is not None and least <= one.rank < below]
    for one in sorted(sections, key=lambda one: one.rank):
        section = one.section(made[one.measurement].value, findings)
        for_checker = one.measurement in findings.measured.for_checker
        yield replace(section, audience="checker") if for_checker else section
