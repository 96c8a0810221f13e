"""Derived fields of PMML that are computed of one field, piece by piece: bins, codes, thresholds, filled gaps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from glassine.domain.attributes import Scalar
from glassine.domain.single import single
from glassine.errors import UnsupportedModelError
from glassine.formats.pmml_documents import Element
from glassine.formats.sklearn.encodings import FORWARD, Number, Step
from glassine.formats.value_sets import NOTHING, Region

Part: TypeAlias = Scalar | tuple[Step, ...] | None
"""What a field is for some values of another: a constant, an increasing function of the number, or missing."""
TOLERANCE = 1e-8
"""What JPMML adds to a number, beside a share of it, before it looks for its bin."""
STEPS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "max": "at least", "min": "at most"}
MOST_PIECES, DEEPEST = 10_000, 50
NUMBERS = ("integer", "float", "double")


@dataclass(frozen=True, slots=True)
class Pieces:
    """A field as a function of the values of another.

    Attributes
    ----------
    source : str or None
        The other field, of the data dictionary; None of a constant.
    parts : tuple of (Region, part)
        What it is for the present values in each of some sets, which do not meet; missing for all others.
    gap : scalar or None
        What it is where the other is missing.
    """

    source: str | None
    parts: tuple[tuple[Region, Part], ...]
    gap: Scalar | None = None

    def where(self, holds: Callable[[Scalar], bool], cuts: Iterable[tuple[float, bool]]) -> Region:
        """Return the present values for which a condition holds.

        ``cuts`` are the numbers at which it turns, and whether each belongs to what is above it.
        """
        turns, out = list(cuts), NOTHING
        for region, part in self.parts:
            for inside, value in _runs(part, turns) if isinstance(part, tuple) else [(~NOTHING, part)]:
                if value is not None and holds(value):
                    out = out | (region & inside)
        return out

    @property
    def missing(self) -> Region:
        """The present values for which it is missing."""
        return (~NOTHING) - NOTHING.union(region for region, part in self.parts if part is not None)


def _runs(steps: tuple[Step, ...], turns: list[tuple[float, bool]]) -> Iterable[tuple[Region, float]]:
    """Yield sets of numbers between the places where a function of them crosses cuts, and a value of each."""
    last = -math.inf
    for cut, above in sorted(set(turns), key=lambda turn: (turn[0], not turn[1])):
        back = Number("", steps).pulled_back(cut, rounded=False, below=above)
        # A value just below a cut that belongs to what is above, or the cut itself, stands for the run.
        yield Region(((last, back),)) if last < back else NOTHING, math.nextafter(cut, -math.inf) if above else cut
        last = max(last, back)
    beyond = max((cut for cut, _ in turns), default=0.0)
    yield Region(((last, math.inf),)), math.nextafter(beyond, math.inf)


def _unknown(element: Element) -> UnsupportedModelError:
    what = element.attributes.get("function") or element.tag
    return UnsupportedModelError(f"a derived field is computed by {what!r:.40}, which is not read.")


class DerivedFields:
    """The derived fields of a model, each a function of one field of the data dictionary."""

    def __init__(
        self,
        derived: Mapping[str, Element],
        functions: Mapping[str, Element],
        types: Mapping[str, str],
        typed: Callable[[str, str], Scalar],
    ) -> None:
        # derived: the DerivedField of each name; functions: the DefineFunction of each.
        # types: the data types of the fields of the data dictionary; typed: reads a text as a value of a type.
        self.derived, self.functions, self.types, self.typed = derived, functions, types, typed

    def field(self, name: str, depth: int = 0) -> Pieces:
        """Return a field; raise UnsupportedModelError where it is computed in another way."""
        if name in self.types:
            rounded: tuple[Step, ...] = (("single", 0.0),) if self.types[name] == "float" else ()
            return Pieces(name, ((~NOTHING, rounded),))
        inner = (
            [child for child in self.derived[name].children if child.tag != "Extension"] if name in self.derived else []
        )
        if len(inner) != 1 or depth > DEEPEST:
            raise UnsupportedModelError(f"the derived field {name!r:.60} is not read.")
        kind = self.derived[name].attributes.get("dataType", "")
        return self._cast(self._of(inner[0], depth + 1), kind)

    def _cast(self, pieces: Pieces, kind: str) -> Pieces:
        """Return a field of another data type; raise UnsupportedModelError where that rounds or reads a text."""
        own = self.types.get(pieces.source or "", "")
        plain = kind == own or (own in NUMBERS and kind in ("float", "double"))
        if any(isinstance(part, tuple) for _, part in pieces.parts) and not plain:
            raise UnsupportedModelError(f"{pieces.source!r:.60} is taken for a {kind[:20]}, which is not read.")

        def cast(part: Part) -> Part:
            if isinstance(part, tuple):
                return (*part, ("single", 0.0)) if kind == "float" else part
            if part is None or isinstance(part, str) == (kind == "string"):
                return single(float(part)) if kind == "float" and part is not None else part
            return self.typed(str(part).lower() if isinstance(part, bool) else str(part), kind)

        gap = cast(pieces.gap)
        return Pieces(
            pieces.source, tuple((r, cast(p)) for r, p in pieces.parts), None if isinstance(gap, tuple) else gap
        )

    def _of(self, element: Element, depth: int) -> Pieces:
        said = element.attributes
        if element.tag == "Constant":
            value = self.typed(element.text, said.get("dataType", "double"))
            return Pieces(None, ((~NOTHING, value),), value)
        if element.tag == "FieldRef":
            entered = self.field(said.get("field", ""), depth)
            return self._filled(entered, element, entered)
        if element.tag == "NormDiscrete":
            entered = self.field(said.get("field", ""), depth)
            return self._filled(self._mapped(entered, {said.get("value", ""): 1.0}, 0.0), element, entered)
        if element.tag == "MapValues":
            return self._table(element, depth)
        if element.tag == "Discretize":
            return self._bins(element, depth)
        inner = [child for child in element.children if child.tag != "Extension"]
        if element.tag != "Apply" or set(said) - {"function"} or depth > DEEPEST:
            raise _unknown(element)
        name = said.get("function", "")
        if name == "if" and len(inner) in (2, 3):
            return self._choice(*(self._of(child, depth + 1) for child in inner))
        if name in ("isMissing", "isNotMissing") and len(inner) == 1:
            own, wanted = self._of(inner[0], depth + 1), name == "isMissing"
            present = (~NOTHING) - own.missing
            return Pieces(own.source, ((own.missing, wanted), (present, not wanted)), (own.gap is None) == wanted)
        if name in self.functions and len(inner) == 1:
            return self._applied(self._of(inner[0], depth + 1), ("tolerance", self._share(self.functions[name])))
        if len(inner) != 2 or inner[1].tag != "Constant":
            raise _unknown(element)
        own, constant = self._of(inner[0], depth + 1), self._of(inner[1], depth + 1).gap
        if name == "equal" and constant is not None:
            return self._mapped(own, {constant: True}, False)
        if name == "threshold" and isinstance(constant, float | int):
            return self._compared(own, float(constant))
        step = STEPS.get(name)
        if step is None or not isinstance(constant, float | int) or (step in ("mul", "div") and not constant > 0):
            raise _unknown(element)
        if inner[1].attributes.get("dataType") != "double":  # Whole constants would divide whole numbers otherwise.
            raise _unknown(element)
        return self._applied(own, (step, float(constant)))

    def _filled(self, own: Pieces, element: Element, entered: Pieces) -> Pieces:
        """Return a field that is replaced where its input ``entered`` is missing, if an element says so.

        A present value of the input that is in no bin or row stays missing.
        """
        text = element.attributes.get("mapMissingTo")
        if text is None:
            return own
        fill = self.typed(
            text, "double" if element.tag == "NormDiscrete" else element.attributes.get("dataType", "string")
        )
        return Pieces(own.source, (*own.parts, (entered.missing, fill)), fill if entered.gap is None else own.gap)

    def _applied(self, own: Pieces, step: Step) -> Pieces:
        """Return an increasing function of a number."""
        if self.types.get(own.source or "", "double") not in NUMBERS and any(p == () for _, p in own.parts):
            raise UnsupportedModelError(f"{own.source!r:.60} is computed with, and is no number.")

        def apply(part: Part) -> Part:
            if isinstance(part, str):
                raise UnsupportedModelError(f"{own.source!r:.60} is computed with, and is no number.")
            if part is None or isinstance(part, tuple):
                return None if part is None else (*part, step)
            return float(FORWARD[step[0]](float(part), step[1]))

        gap = apply(own.gap)
        return Pieces(own.source, tuple((r, apply(p)) for r, p in own.parts), None if isinstance(gap, tuple) else gap)

    def _share(self, function: Element) -> float:
        """Return which share of a number a function adds to it, beside :data:`TOLERANCE`, as JPMML does before bins."""
        numbers = [float(self.typed(part.text, "double")) for part in _all(function) if part.tag == "Constant"]
        bodies = [part for part in function.children if part.tag == "Apply"]
        if len(bodies) == 1 and len(numbers) == 2 and numbers[0] == TOLERANCE and 0 <= numbers[1] < 1:
            fields = [part.attributes.get("name") for part in function.children if part.tag == "ParameterField"]
            wanted = (lambda x: x + TOLERANCE + numbers[1] * abs(x)) if len(fields) == 1 else None
            # A piecewise polynomial of so few operations is what it is at these numbers.
            tried = (-2.5, -1.0, 0.0, 1.0, 3.75, 128.0)
            if wanted is not None and all(
                math.isclose(self._value(bodies[0], fields[0], x), wanted(x), rel_tol=1e-12) for x in tried
            ):
                return numbers[1]
        raise UnsupportedModelError(f"the function {function.attributes.get('name')!r:.40} is not read.")

    def _value(self, element: Element, field: str | None, x: float) -> float:
        """Return the value of an expression in one number; NaN where it is another one."""
        if element.tag == "Constant":
            return float(self.typed(element.text, "double"))
        if element.tag == "FieldRef":
            return x if element.attributes.get("field") == field else math.nan
        operands = [self._value(child, field, x) for child in element.children if child.tag != "Extension"]
        name = element.attributes.get("function")
        if element.tag == "Apply" and len(operands) == 1 and name == "abs":
            return abs(operands[0])
        if element.tag == "Apply" and len(operands) == 2 and name in ("+", "*"):
            return operands[0] + operands[1] if name == "+" else operands[0] * operands[1]
        return math.nan

    def _compared(self, own: Pieces, bound: float) -> Pieces:
        """Return 1 for numbers above a bound, 0 for others."""
        above = own.where(lambda value: float(value) > bound, [(bound, False)])
        gap = None if own.gap is None else float(float(own.gap) > bound)
        return Pieces(own.source, ((above, 1.0), ((~NOTHING) - above - own.missing, 0.0)), gap)

    def _mapped(self, own: Pieces, table: Mapping[Scalar, Part], other: Part) -> Pieces:
        """Return what a table says of the values of a field."""
        kind, parts, rest = self.types.get(own.source or "", "string"), [], ~NOTHING
        for region, part in own.parts:
            for value, to in table.items():
                at = region
                if isinstance(part, tuple):
                    own_value = self.typed(str(value), kind)
                    at = region & Region.of([own_value])
                    if part and not isinstance(own_value, str):
                        ends = [(float(own_value), True), (float(own_value), False)]
                        at = Pieces(None, ((region, part),)).where(partial(same, own_value), ends)
                elif part is None or not same(part, value):
                    continue
                parts.append((at, to))
                rest = rest - at
        gap = own.gap
        if gap is not None:
            named = [to for value, to in table.items() if same(value, gap)]
            row = named[0] if named else other
            gap = None if isinstance(row, tuple) else row
        if len(parts) > MOST_PIECES:
            raise UnsupportedModelError(f"a derived field has more than {MOST_PIECES:,} values.")
        return Pieces(own.source, (*parts, (rest - own.missing, other)), gap)

    def _table(self, element: Element, depth: int) -> Pieces:
        pairs, table = element.below("FieldColumnPair"), element.first("InlineTable")
        if len(pairs) != 1 or table is None:
            raise _unknown(element)
        column, said = pairs[0].attributes.get("column", ""), element.attributes.get("outputColumn", "")
        kind = element.attributes.get("dataType", "string")
        to: dict[Scalar, Part] = {}
        for row in table.below("row"):
            texts = {cell.tag: cell.text for cell in row.children}
            source, out = (texts.get(name.rpartition(":")[2]) for name in (column, said))
            if source is None or out is None:
                raise _unknown(element)
            to[source] = self.typed(out, kind)
        default = element.attributes.get("defaultValue")
        other = None if default is None else self.typed(default, kind)
        entered = self.field(pairs[0].attributes.get("field", ""), depth)
        return self._filled(self._mapped(entered, to, other), element, entered)

    def _bins(self, element: Element, depth: int) -> Pieces:
        own, kind = self.field(element.attributes.get("field", ""), depth), element.attributes.get("dataType", "string")
        parts: list[tuple[Region, Part]] = []
        rest, gap = (~NOTHING) - own.missing, None
        for entry in element.below("DiscretizeBin"):
            interval = entry.first("Interval")
            if interval is None:
                raise _unknown(element)
            margins = (interval.attributes.get(key) for key in ("leftMargin", "rightMargin"))
            lo, hi = (None if text is None else float(self.typed(text, "double")) for text in margins)
            closure = interval.attributes.get("closure", "")
            first, last = closure.startswith("closed"), closure.endswith("Closed")

            def inside(
                value: Scalar, lo: float | None = lo, hi: float | None = hi, first: bool = first, last: bool = last
            ) -> bool:
                number = float(value)
                above = lo is None or number > lo or (first and number == lo)
                return above and (hi is None or number < hi or (last and number == hi))

            cuts = [(end, up) for end, up in ((lo, first), (hi, not last)) if end is not None]
            region, to = own.where(inside, cuts) & rest, self.typed(entry.attributes.get("binValue", ""), kind)
            parts.append((region, to))
            rest = rest - region
            gap = to if gap is None and own.gap is not None and inside(own.gap) else gap
        default = element.attributes.get("defaultValue")
        if default is not None:
            other = self.typed(default, kind)
            parts.append((rest, other))
            gap = other if gap is None and own.gap is not None else gap
        return self._filled(Pieces(own.source, tuple(parts), gap), element, own)

    def _choice(self, condition: Pieces, yes: Pieces, no: Pieces | None = None) -> Pieces:
        """Return one field where a condition holds, and another, or nothing, where it does not."""
        sources = {own.source for own in (condition, yes, no) if own is not None and own.source is not None}
        if len(sources) > 1:
            raise UnsupportedModelError("a derived field is computed of several fields.")
        parts, gap = [], None
        for wanted, own in ((True, yes), (False, no)):
            region = NOTHING.union(region for region, part in condition.parts if part is wanted)
            parts += [(region & inside, part) for inside, part in own.parts] if own is not None else []
            if condition.gap is wanted and own is not None:
                gap = own.gap
        return Pieces(next(iter(sources), None), tuple((r, p) for r, p in parts if not r.empty), gap)


def _all(element: Element) -> Iterable[Element]:
    for child in element.children:
        yield child
        yield from _all(child)


def same(value: Scalar, other: Scalar) -> bool:
    """Return whether two values are the same as PMML spells them: 1 and 1.0, true and "true"."""
    a, b = (str(own).lower() if isinstance(own, bool) else own for own in (value, other))
    return a == b or str(a) == str(b)
