"""What a file holds beside the model that was read from it: places, kinds and sizes, never a value."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Category, Domain
from glassine.formats.conditions import attribute_of
from glassine.models.additive import AdditiveModel
from glassine.models.bins import CategoryBins
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree

LONGEST_NAME = 200
"""Most characters of a name or another text of a model; what is longer is counted as other content."""
MOST_OF_CAVEATS = 1_500
"""Most characters of all caveats of a guarantee together. A search over all published greedy lists, chosen again by
scores and then merged, has 1,250, of which 200 are for the name of a dataset."""
MOST_OF_NAMES = 3_000
"""Most characters together of names that a model holds and does not use, such as those of a table's other columns: 200
of fifteen characters."""
UNUSED = "unused names of attributes"
"""Where they stand, as a report lists them."""
MOST_PLACES = 20
"""Places that are listed one by one, the largest; what more there is stands in one sum."""
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,39}")
WIDEST_NUMBER = 25
"""Most characters of a number: seventeen digits identify a double, with a sign, a point and an exponent of four."""
WIDEST_MARGIN = 200

Statistic: TypeAlias = Literal["extremes", "categories", "averages", "spreads", "bin edges", "scores"]


@dataclass(frozen=True, slots=True)
class OtherContent:
    """Something in a file that the model does not need.

    Attributes
    ----------
    where : str
        The place. Names that could hold data themselves are not quoted.
    kind : str
        What stands there: an attribute, a field, metadata, a comment, an array, spacing, or bytes behind the end.
    n_bytes : int
        Its size as it stands in the file, or of its values in memory.
    """

    where: str
    kind: str
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedValues:
    """Values of the training data that a part of a pipeline holds.

    Attributes
    ----------
    part : str
        The part: its class and its place.
    attribute : str
        The column.
    statistic : str
        ``extremes``, ``categories``, ``averages`` (means, medians, most frequent values), ``spreads``, ``bin edges`` or
        ``scores``.
    n_values : int
        How many.
    n_private : int or None
        How many the domain does not declare; None where no domain says so.
    """

    part: str
    attribute: str
    statistic: Statistic
    n_values: int
    n_private: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileContents:
    """Everything in a file: the model that was read, and what else there is.

    Attributes
    ----------
    form : str
        The format.
    n_bytes : int
        Size of the file.
    others : tuple of OtherContent
        What the model does not need, the largest first.
    fitted : tuple of FittedValues
        What parts of a pipeline hold of the training data beside the tree.
    """

    form: str
    n_bytes: int
    others: tuple[OtherContent, ...] = ()
    fitted: tuple[FittedValues, ...] = ()

    @property
    def n_other(self) -> int:
        """Bytes of what the model does not need."""
        return sum(other.n_bytes for other in self.others)


def all_contents(files: Sequence[tuple[str, FileContents]]) -> FileContents:
    """Return the contents of several files as one, each place with the name of its file, the largest first."""
    others = [replace(o, where=f"{name}, {o.where}") for name, file in files for o in file.others]
    return FileContents(
        form=", ".join(dict.fromkeys(file.form for _, file in files)),
        n_bytes=sum(file.n_bytes for _, file in files),
        others=tuple(sorted(others, key=lambda other: -other.n_bytes)),
        fitted=tuple(replace(e, part=f"{name}, {e.part}") for name, file in files for e in file.fitted),
    )


def merged(others: Iterable[OtherContent]) -> tuple[OtherContent, ...]:
    """Return contents with those of one place and kind added up, the largest first; of many places the rest in one."""
    sizes: dict[tuple[str, str], int] = {}
    for other in others:
        if other.n_bytes > 0:
            sizes[other.where, other.kind] = sizes.get((other.where, other.kind), 0) + other.n_bytes
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    out = [OtherContent(where, kind, n) for (where, kind), n in ordered[:MOST_PLACES]]
    rest = ordered[MOST_PLACES:]
    if rest:
        out.append(OtherContent(f"{len(rest):,} more places", "other", sum(n for _, n in rest)))
    return tuple(out)


def merged_values(fitted: Iterable[FittedValues]) -> tuple[FittedValues, ...]:
    """Return fitted values with those of one part, column and statistic added up."""
    sums: dict[tuple[str, str, Statistic], FittedValues] = {}
    for entry in fitted:
        key = (entry.part, entry.attribute, entry.statistic)
        if key in sums:
            both = (sums[key].n_private, entry.n_private)
            private = None if both[0] is None or both[1] is None else both[0] + both[1]
            entry = replace(entry, n_values=sums[key].n_values + entry.n_values, n_private=private)
        sums[key] = entry
    return tuple(sums.values())


def fitted_categories(
    part: str, attribute: str, values: Sequence[str], domain: Domain | None
) -> Iterator[FittedValues]:
    """Yield the categories of an attribute that a part lists, and how many of them no public domain declares."""
    if values:
        declared = attribute_of(attribute, domain)
        public = set(map(str, declared.values)) if isinstance(declared, Category) and not declared.inferred else set()
        yield FittedValues(
            part=part,
            attribute=attribute[:LONGEST_NAME],
            statistic="categories",
            n_values=len(values),
            n_private=None if domain is None else sum(value not in public for value in values),
        )


def shown_name(name: object) -> str:
    """Return a name as a report may quote it: one that could hold data itself is described.

    Examples
    --------
    >>> shown_name("notes_"), shown_name("Ada, 36, ill")
    ('notes_', 'a name of 12 characters')
    """
    text = str(name)
    return text if PLAIN_NAME.fullmatch(text) else f"a name of {len(text):,} characters"


def size_of(value: object) -> int:
    """Return the bytes that a value takes without the marks around it: letters, numbers, arrays, and what they hold."""
    n, stack, seen = 0, [value], set[int]()
    while stack:
        part = stack.pop()
        if part is None or isinstance(part, type):
            continue
        if isinstance(part, str | bytes | bytearray):
            n += len(part.encode(errors="replace") if isinstance(part, str) else part)
            continue
        if isinstance(part, bool | int | float | complex | np.generic):
            n += 8
            continue
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, np.ndarray):
            n += part.nbytes
            stack += part.ravel().tolist() if part.dtype == object else ()
        elif isinstance(part, Mapping):
            stack += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            stack += list(part)
        else:
            n += 1 if hasattr(part, "__dict__") else sys.getsizeof(part)
            stack += list(getattr(part, "__dict__", {}).values())
    return n


def padding(nodes: npt.NDArray[Any]) -> int:
    """Return the bytes between the fields of a structured array that are not zero."""
    size = nodes.dtype.itemsize
    used = np.zeros(size, dtype=bool)
    for name in nodes.dtype.names or ():
        kind, start = nodes.dtype.fields[name][:2] if nodes.dtype.fields else (nodes.dtype, 0)
        used[start : start + kind.itemsize] = True
    raw = np.frombuffer(np.ascontiguousarray(nodes).tobytes(), dtype=np.uint8).reshape(len(nodes), size)
    return int((raw[:, ~used] != 0).sum())


# What of JSON values a reader asked for.


class Tracked(dict[str, Any]):
    """An object of JSON that notes which of its keys were asked for."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: object = None) -> Any:
        """Return the value of a key, and note the key."""
        self.asked.add(key)
        return super().get(key, default)

    def pop(self, key: str, *default: Any) -> Any:
        """Remove a key and return its value, and note the key."""
        self.asked.add(key)
        return super().pop(key, *default)

    # Without these, Python copies the entries of a dictionary past __getitem__.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def items(self) -> Any:
        """Return all entries, and note their keys."""
        self.asked.update(self.keys())
        return super().items()

    def values(self) -> Any:
        """Return all values, and note their keys."""
        self.asked.update(self.keys())
        return super().values()


def tracked(value: object) -> Any:
    """Return JSON values whose objects note what is asked of them; a list without objects is asked for as a whole."""
    root: list[Any] = [value]
    stack: list[Any] = [root]
    while stack:
        part = stack.pop()
        places = range(len(part)) if isinstance(part, list) else list(dict.keys(part))
        for place in places:
            child = dict.__getitem__(part, place) if isinstance(part, dict) else part[place]
            if isinstance(child, dict):
                child = Tracked(child)
            elif isinstance(child, list):
                if not any(isinstance(entry, dict | list) for entry in child):
                    continue
                child = list(child)
            else:
                continue
            if isinstance(part, dict):
                dict.__setitem__(part, place, child)
            else:
                part[place] = child
            stack.append(child)
    return root[0]


Bookkeeping: TypeAlias = Callable[[str, Any, Mapping[str, Any]], bool]
"""Given a place, what stands there and the object that holds it, whether it can hold nothing but what the format
itself says of the model."""


def unread(value: object, bookkeeping: Bookkeeping | None = None) -> Iterator[OtherContent]:
    """Yield the tracked values never read, by place; objects in a list share one."""
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, list):
            stack += [(f"{where}[]", child) for child in part if isinstance(child, dict | list)]
        if not isinstance(part, Tracked):
            continue
        for key in dict.keys(part):
            place, child = f"{where}.{shown_name(key)}".lstrip("."), dict.__getitem__(part, key)
            if key in part.asked:
                stack.append((place, child))
                continue
            n = size_of(child)
            if bookkeeping is not None and bookkeeping(place, child, dict(dict.items(part))):
                continue
            if n or not PLAIN_NAME.fullmatch(key):
                yield OtherContent(place, "field", n + len(key.encode(errors="replace")))


# How JSON is written.

TOKEN = re.compile(r'([ \t\r\n]+)|"((?:[^"\\]|\\.)*)"|([^\s"]+)')
USUAL_SPACE = re.compile(r" |\r?\n *|\r?\n\t*")
ESCAPED = re.compile(r"\\u00[2-7][0-9a-fA-F]")
LAYOUTS: tuple[dict[str, Any], ...] = ({"indent": 2}, {}, {"separators": (",", ":")}, {"indent": 4}, {"indent": 1})


def beside_json(text: str, value: object) -> Iterator[OtherContent]:
    """Yield how a JSON text is longer than it needs to be: spacing, digits and escapes that change no value."""
    stripped = text.strip()
    margin = len(text) - len(stripped)
    if margin > 2:
        yield OtherContent("around the JSON text", "spacing", margin)
    written = (json.dumps(value, ensure_ascii=letters, **form) for form in LAYOUTS for letters in (False, True))
    if stripped in written:
        return
    spacing = digits = escapes = 0
    for token in TOKEN.finditer(stripped):
        space, quoted, bare = token.groups()
        if space is not None:
            if len(space) > WIDEST_MARGIN or not USUAL_SPACE.fullmatch(space):
                spacing += len(space)
        elif quoted is not None:
            if "\\u00" in quoted:
                escapes += 5 * len(ESCAPED.findall(quoted))
        else:
            digits += sum(max(0, len(part) - WIDEST_NUMBER) for part in re.split(r"[\[\]{},:]", bare))
    yield OtherContent("between the values", "spacing", spacing)
    yield OtherContent("in numbers", "digits beyond double precision", digits)
    yield OtherContent("in texts", "escapes that no letter needs", escapes)


# Texts, line by line.

LONG_NUMBER = re.compile(r"[0-9][0-9.]{25,}")
WIDEST_GAP = 60
WIDE_RUN = re.compile(r"[ \t]{61,}")
"""Printers line up columns by blanks, but not by so many."""


def beside_lines(text: str, needed: Callable[[int, str], str | None]) -> Iterator[OtherContent]:
    """Yield the lines of a text that a model does not need."""
    blank = 0
    for number, raw in enumerate(text.splitlines()):
        line = raw.rstrip()
        trailing = len(raw) - len(line)
        if trailing > 4:  # R and Weka end lines with a blank or two
            yield OtherContent("at the ends of lines", "spacing", trailing)
        blank = blank + 1 if not line else 0
        if not line:
            if blank > 2:
                yield OtherContent("between lines", "spacing", 1 + trailing)
            continue
        digits = sum(max(0, len(part) - WIDEST_NUMBER) for part in LONG_NUMBER.findall(line))
        yield OtherContent("in numbers", "digits beyond double precision", digits)
        runs = sum(len(run) - WIDEST_GAP for run in WIDE_RUN.findall(line.lstrip()))
        yield OtherContent("within lines", "spacing", runs)
        kept = needed(number, line)
        if kept is None:
            kind = "comment" if line.lstrip().startswith(("#", "//", ">")) else "line"
            yield OtherContent("lines that the model does not need", kind, len(line.encode()))
        elif len(kept) < len(line):
            n = len(line.encode()) - len(kept.encode())
            yield OtherContent("in lines of the model", "text", n)


# Texts of the model itself.

CAVEATS = "caveats of the guarantee"


def texts_of(model: DecisionTree | RuleList | AdditiveModel) -> Iterator[tuple[str, str]]:
    """Yield every text of a model with the place where it stands."""
    yield "the source", model.source or ""
    for name in model.attributes:
        yield "names of attributes", name
    for label in model.classes or ():
        yield "names of classes", str(label)
    if model.guarantee is not None:
        for caveat in model.guarantee.caveats:
            yield CAVEATS, caveat
    if isinstance(model, AdditiveModel):
        yield "the name of the target", model.target or ""
        for edit in model.edits:
            yield "reasons of edits", edit.reason
            for parameter in (part for pair in edit.parameters for part in pair):
                yield "parameters of edits", str(parameter)
        for term in model.terms:
            yield "names of terms", term.name
            for bins in term.bins:
                for value in bins.values if isinstance(bins, CategoryBins) else ():
                    yield "categories", str(value)
        return
    for literal in model.literals:
        yield "names of attributes", literal.attribute
        for value in getattr(literal, "values", ()):
            yield "categories", str(value)


def named_values(model: DecisionTree | RuleList) -> dict[str, set[str]]:
    """Return the values that the conditions of a model name, by attribute, as texts."""
    named: dict[str, set[str]] = {}
    for literal in model.literals:
        named.setdefault(literal.attribute, set()).update(map(str, getattr(literal, "values", ())))
    return named


def long_texts(model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None) -> Iterator[OtherContent]:
    """Yield names and other texts of a model that are too long for what they are, or too many for what it uses."""
    caveats = "" if model.guarantee is None else "".join(model.guarantee.caveats)
    if len(caveats) > MOST_OF_CAVEATS:
        kind = f"more than {MOST_OF_CAVEATS:,} characters together"
        yield OtherContent(CAVEATS, kind, len(caveats.encode()))
    for where, text in dict.fromkeys(texts_of(model)):
        if len(text) > LONGEST_NAME:
            yield OtherContent(where, f"text of more than {LONGEST_NAME} characters", len(text.encode()))
    for where, names in _unused(model, () if domain is None else domain.names).items():
        if len("".join(names)) > MOST_OF_NAMES:
            kind = f"more than {MOST_OF_NAMES:,} characters together"
            yield OtherContent(where, kind, len("".join(names).encode()))


def without_unused(
    model: DecisionTree | RuleList | AdditiveModel, domain: Domain | None
) -> DecisionTree | RuleList | AdditiveModel:
    """Return a model without the attributes that it does not use, where their names are too many; else the model."""
    names = set(_unused(model, () if domain is None else domain.names)[UNUSED])
    if len("".join(names)) <= MOST_OF_NAMES:
        return model
    return replace(model, attributes=tuple(name for name in model.attributes if name not in names))


def _unused(model: DecisionTree | RuleList | AdditiveModel, declared: Sequence[str]) -> dict[str, list[str]]:
    """Return the attributes that nothing reads and no domain declares, and the classes that no part has or predicts."""
    numbered = (re.fullmatch(r"[A-Za-z_]{0,12}([0-9]{1,9})", name) for name in model.attributes)
    # Programs number columns without names from 0 or 1: such a name says nothing but its place.
    read = {*declared, *(name[0] for i, name in enumerate(numbered) if name is not None and int(name[1]) in (i, i + 1))}
    if isinstance(model, AdditiveModel):
        return {UNUSED: sorted(set(model.attributes) - {*model.tested, *read})}
    had = set[int | None]()
    for own in (cell.evidence for cell in model.cells):
        had |= {own.prediction, *(i for i, count in enumerate(own.counts or ()) if count)}
    read |= {literal.attribute for literal in model.literals}
    return {
        UNUSED: [name for name in model.attributes if name not in read],
        "unused names of classes": [str(name) for i, name in enumerate(model.classes or ()) if i not in had],
    }


Needed = Callable[[str, Domain | None], Callable[[int, str], str | None]]


def only(needed: Needed) -> Callable[[str, Domain | None, int | None], Iterator[OtherContent]]:
    """Return how a text is accounted for, given what of each line the model needs."""

    def beside(text: str, domain: Domain | None, tree: int | None) -> Iterator[OtherContent]:
        return beside_lines(text, needed(text, domain))

    return beside


def beside_all(text: str, domain: Domain | None, tree: int | None) -> Iterator[OtherContent]:
    """Yield what a text holds whose reader takes every line that is not blank."""
    return beside_lines(text, lambda number, line: line)


def without(line: str, *parts: str | None) -> str:
    """Return a line without some of its parts, each of which stands in it.

    Examples
    --------
    >>> without("a (b) [c]", "[c]", None)
    'a (b) '
    """
    for part in parts:
        if part:
            line = line.replace(part, "", 1)
    return line


def usual(*patterns: str) -> re.Pattern[str]:
    """Return a pattern of lines that printers of trees write around them, and that can hold nothing else."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
