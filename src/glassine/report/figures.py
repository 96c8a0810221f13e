"""A finding as a table of figures, declared once: name, value with its unit, sentence.

A table is a text with one figure a line: ``name | value | sentence | sentence where the value is not known``. Its
texts are templates that the finding fills in. ``{purest:percent}`` is a field with its unit, ``{n_cuts:many cut}`` a
number with its noun, and ``{units}`` what is counted. A line that begins ``[flag]`` stands only where the flag is true,
which is a field of the finding or one of the words that a section adds. A value of which a field is None is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from glassine.report import wording
from glassine.report.blocks import Cell, Column, Fact, Row, Status, Table

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings

UNKNOWN = "not known"

UNITS: dict[str, Callable[[Any], str]] = {
    "about": lambda value: f"about {wording.percent(min(max(value, 0.0), 1.0))}",
    "bits": wording.bits,
    "clean": wording.clean,
    "count": lambda value: f"{value:,}" if isinstance(value, int) else str(value),
    "fine": wording.fine_bits,
    "least": lambda share: "100%" if share == 1 else f"at least {wording.percent(share)}",
    "number": wording.number,
    "people": wording.people,
    "percent": wording.percent,
    "permille": lambda share: wording.percent(share, digits=1),
    "sentence": lambda text: wording.clean(text)[:1].upper() + wording.clean(text)[1:],
}
"""How a field reads, by the unit that a template names; any other is a format of Python."""

WORDS: dict[str, Callable[[], str]] = {
    "unit": wording.unit,
    "units": wording.units,
    "Units": lambda: wording.units().capitalize(),
}
"""What every template may name."""


class UnknownFigureError(LookupError):
    """A field that a template names has no value."""


class FigureReading(Formatter):
    """A finding as templates read it: its fields, words that are added to them, and what is counted."""

    def __init__(self, finding: object, findings: Findings | None = None, **words: object) -> None:
        self.finding, self.added = finding, words
        if findings is not None:
            self.added = {"part": "rule" if findings.subject.kind == "rule list" else "leaf", **words}

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what a template names."""
        name = str(key)
        if name in self.added:
            return self.added[name]
        if name in WORDS:
            return WORDS[name]()
        return self.finding.get(name) if isinstance(self.finding, Mapping) else getattr(self.finding, name)

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what a dotted name stands for, in JSON values as in findings; None below what has no value."""
        name, *inner = field_name.split(".")
        value = self.get_value(name, args, kwargs)
        for key in inner:
            value = None if value is None else FigureReading(value).get_value(key, args, kwargs)
        return value, name

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a field in its unit; raise where it has no value."""
        if value is None:
            raise UnknownFigureError
        if format_spec.startswith("many "):
            return wording.plural(value, format_spec.removeprefix("many "))
        return UNITS[format_spec](value) if format_spec in UNITS else format(value, format_spec)

    def said(self, template: str, missing: str = UNKNOWN) -> str:
        """Return a template filled in; what stands in its place where a field has no value."""
        try:
            return self.vformat(template, (), {})
        except UnknownFigureError:
            return missing

    def cell(self, template: str) -> Cell:
        """Return a cell of a table: a template filled in, or the drawing or status that is all it names."""
        name = template[1:-1]
        value = self.get_value(name, (), {}) if template == f"{{{name}}}" and name.isidentifier() else None
        return value if isinstance(value, Status | Markup) else self.said(template)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One line of a table, as templates."""

    name: str
    value: str
    sentence: str
    missing: str = ""  # The sentence where the value is not known
    flag: str = ""  # What must be true for it to stand; empty where it always does


def table(text: str) -> tuple[FigureRow, ...]:
    """Return the figures of a text, one a line.

    Examples
    --------
    >>> small = table("Small leaves | {n_small:number} of {n} | They hold few {units}. | It needs the data.")
    >>> facts(small, {"n_small": 0, "n": 12})
    (Fact(name='Small leaves', value='none of 12', meaning='They hold few records.'),)
    >>> facts(small, {"n_small": None, "n": 12})
    (Fact(name='Small leaves', value='not known', meaning='It needs the data.'),)
    """
    out = []
    for line in text.strip().splitlines():
        name, *rest = map(str.strip, line.split("|"))
        flag, _, after = name.partition("] ") if name.startswith("[") else ("", "", name)
        value, sentence, missing = (*rest, "", "")[:3]
        out.append(FigureRow(after, value, sentence, missing, flag.removeprefix("[")))
    return tuple(out)


def facts(
    figures: Sequence[FigureRow], finding: object, findings: Findings | None = None, **words: object
) -> tuple[Fact, ...]:
    """Return the figures of a finding in words; ``words`` are what its table names beside its fields."""
    reading = FigureReading(finding, findings, **words)
    out = []
    for figure in figures:
        if figure.flag and not reading.get_field(figure.flag, (), {})[0]:
            continue
        value = reading.said(figure.value, "")
        sentence = figure.sentence if value else figure.missing or figure.sentence
        out.append(Fact(reading.said(figure.name), value or UNKNOWN, reading.said(sentence, "").strip()))
    return tuple(out)


def grid(
    text: str,
    items: Iterable[Any],
    *,
    caption: str,
    words: Callable[[Any], Mapping[str, object]] = lambda item: {},
    style: str = "stack",
    **shared: object,
) -> Table:
    r"""Return a table of one row an item, whose columns are lines of a text: ``head | cell | sentence below it``.

    The first line names the rows; a word ``flag`` of an item flags its row. Of the other lines those are columns of
    words whose head begins with ``~``, and a line that begins ``[flag]`` stands only where that word of ``shared`` is
    true.

    Examples
    --------
    >>> sizes = grid(
    ...     "Leaf | {name:clean}\nRecords | {size:count}", [{"name": "age < 4", "size": None}], caption="Sizes"
    ... )
    >>> sizes.rows[0].name, sizes.rows[0].cells, sizes.columns[1].numeric
    ('age < 4', ('not known',), True)
    """
    first, *others = (line for line in table(text) if not line.flag or shared[line.flag])
    rows = []
    for item in items:
        reading = FigureReading(item, None, **shared, **words(item))
        cells = tuple(reading.cell(line.value) for line in others)
        meaning, flag = reading.said(first.sentence, ""), str(reading.added.get("flag", ""))
        rows.append(Row(name=reading.said(first.value), meaning=meaning, cells=cells, flag=flag))
    said = FigureReading(None, None, **shared)
    columns = tuple(Column(said.said(line.name).lstrip("~"), numeric=line.name[:1] != "~") for line in others)
    return Table(caption=caption, columns=(Column(said.said(first.name)), *columns), rows=tuple(rows), style=style)
