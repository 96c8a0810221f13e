"""What a report says, as plain values: pages and their sections.

:mod:`glassine.report.page` lays them out as HTML, :mod:`glassine.report.rendering` as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from glassine.attacks.outcome import Audience
from glassine.auditing.findings import InputFile
from glassine.report import wording
from glassine.report.blocks import Block, Fact, Facts


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
