"""Read what a page says from its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from glassine.report.blocks import Block, Fact, Facts, Fold, Outline, PartRow, Parts, Row, Status, Table
from glassine.report.section import Page, Section

B = TypeVar("B", bound=Block)


def all_of(section: Section, kind: type[B]) -> list[B]:
    """Return the blocks of a kind, those that are folded away among them."""

    def walk(blocks: tuple[Block, ...]) -> Iterator[Block]:
        for block in blocks:
            yield block
            if isinstance(block, Fold):
                yield from walk(block.blocks)

    return [block for block in walk(section.blocks) if isinstance(block, kind)]


def one_of(section: Section, kind: type[B]) -> B:
    """Return the first block of a kind."""
    return all_of(section, kind)[0]


def rows_of(section: Section) -> dict[str, Row]:
    """Return the rows of all tables by their names."""
    return {row.name: row for table in all_of(section, Table) for row in table.rows}


def facts(section: Section) -> dict[str, Fact]:
    """Return the figures by their names."""
    return {fact.name: fact for block in all_of(section, Facts) for fact in block.facts}


def told(section: Section) -> str:
    """Return what the text says of a section."""
    return " ".join(text for text in section.text if isinstance(text, str))


def states(section: Section) -> dict[str, str]:
    """Return the statuses of the rows of a section by their names."""
    found: dict[str, str] = {}
    for name, row in rows_of(section).items():
        found.update((name, cell.word) for cell in row.cells if isinstance(cell, Status))
    return found


def parts_of(page: Page) -> list[PartRow]:
    """Return the leaves or rules that a page lists, in its order."""
    section = page.section("model")
    listed = [part for block in all_of(section, Parts) for part in block.parts]
    steps = [step for block in all_of(section, Outline) for step in block.steps]
    return [step.part for step in steps if step.part is not None] or listed
