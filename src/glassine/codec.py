"""Dataclasses as plain JSON values, and back: one description of a type writes, checks and reads it.

A :class:`Codec` is a pair of functions. :func:`record` makes that of a dataclass from its annotations; what a file
spells otherwise is said field by field. Reading trusts nothing: unknown keys, missing keys, values of a wrong type and
lists that are too long are refused with the path of the field, and no value is quoted. Keys that stand twice are
refused when the text is parsed, by :func:`glassine.files.parse_json`.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from glassine.errors import GlassineError

T = TypeVar("T")

LARGEST = 1e300
"""Largest size of a number: beyond it, conversions to floating point fail."""
KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
_KEPT: Any = object()


class Refused(Exception):
    """What is wrong with a value and where it stands; :func:`decoded` makes an error of the caller's kind of it."""

    def __init__(self, reason: str, *, sentence: bool = False) -> None:
        # reason: what is wrong: what follows the name of the place, such as "must be a list"; or a sentence.
        # sentence: whether it is a whole sentence.
        # path: where the value stands, such as "terms[0].bins[1]".
        super().__init__(reason)
        self.reason, self.sentence, self.path = reason, sentence, ""

    def within(self, place: str) -> Refused:
        """Return it with a place before its path."""
        self.path = place + self.path
        return self


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """How values of a type are written as plain JSON values, and read from them."""

    encode: Callable[[T], Any]  # Returns plain values; callable
    decode: Callable[[Any], T]  # Returns the value that plain values describe, or raises :class:`Refused`; callable
    keys: tuple[str, ...] = ()  # The keys of an object, where it is one whose keys are known


def decoded(codec: Codec[T], plain: object, what: str, error: type[GlassineError]) -> T:
    """Return the value that plain JSON values describe.

    Examples
    --------
    >>> decoded(listed(WHOLE), [1, "2"], "the list", GlassineError)
    Traceback (most recent call last):
    glassine.errors.GlassineError: the list, [1], must be a whole number, got a text.
    """
    try:
        return codec.decode(plain)
    except Refused as refused:
        path, reason = refused.path.removeprefix("."), refused.reason
        if refused.sentence:
            raise error(f"{what}, {path}: {reason}" if path else reason) from None
        raise error(f"{what}{f', {path},' if path else ''} {reason}.") from None
    except RecursionError:
        raise error(f"{what} is nested too deeply.") from None


def kind_of(plain: object) -> str:
    """Return what a plain value is, without quoting it."""
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        return "a number" if abs(plain) <= LARGEST else "one beyond 1e300" if plain == plain else "NaN"
    return KINDS.get(type(plain), f"a {type(plain).__name__}")


def _plain(expected: str, fits: Callable[[Any], bool]) -> Codec[Any]:
    """Return the codec of values that JSON has itself."""

    def decode(plain: Any) -> Any:
        if not fits(plain):
            raise Refused(f"must be {expected}, got {kind_of(plain)}")
        return plain

    return Codec(lambda value: value, decode)


def _is_number(plain: object) -> bool:
    # NaN fails the comparison, too.
    return isinstance(plain, int | float) and not isinstance(plain, bool) and abs(plain) <= LARGEST


def one_of(*values: object) -> Codec[Any]:
    """Return the codec of values that are listed."""
    return _plain(f"one of {', '.join(map(str, values))}", lambda plain: plain in values)


ANYTHING: Codec[Any] = _plain("anything", lambda plain: True)
TEXT: Codec[str] = _plain("a text", lambda plain: isinstance(plain, str))
FLAG: Codec[bool] = _plain("true or false", lambda plain: isinstance(plain, bool))
WHOLE: Codec[int] = _plain("a whole number", lambda plain: isinstance(plain, int) and _is_number(plain))
NUMBER: Codec[float] = _plain("a finite number", _is_number)
"""A number in the form in which it is written, whole or not."""
FLOAT: Codec[float] = Codec(float, lambda plain: float(NUMBER.decode(plain)))
SCALAR: Codec[Any] = _plain(
    "a text, a finite number or a Boolean", lambda plain: isinstance(plain, str | bool) or _is_number(plain)
)
OBJECT: Codec[dict[str, Any]] = _plain("an object", lambda plain: isinstance(plain, dict))
LIST: Codec[list[Any]] = _plain("a list", lambda plain: isinstance(plain, list))


def optional(inner: Codec[T]) -> Codec[T | None]:
    """Return the codec of values that can be None, which is null."""
    return Codec(
        lambda value: None if value is None else inner.encode(value),
        lambda plain: None if plain is None else inner.decode(plain),
    )


def listed(inner: Codec[T], *, most: float = math.inf, noun: str = "entries", label: str = "") -> Codec[tuple[T, ...]]:
    """Return the codec of tuples, which are lists."""

    def decode(plain: Any) -> tuple[T, ...]:
        if len(LIST.decode(plain)) > most:
            raise Refused(f"must hold at most {most} {noun}, got {len(plain)}")
        out = []
        for number, entry in enumerate(plain):
            try:
                out.append(inner.decode(entry))
            except Refused as refused:
                name = entry.get(label) if label and isinstance(entry, dict) else None
                raise refused.within(f"[{name if isinstance(name, str) else number!r:.60}]") from None
        return tuple(out)

    return Codec(lambda values: [inner.encode(value) for value in values], decode)


def _fixed(inners: tuple[Codec[Any], ...]) -> Codec[tuple[Any, ...]]:
    """Return the codec of tuples whose entries each have a type of their own."""

    def decode(plain: Any) -> tuple[Any, ...]:
        if len(LIST.decode(plain)) != len(inners):
            raise Refused(f"must hold {len(inners)} values, got {len(plain)}")
        entries = zip(inners, plain, strict=True)
        return tuple(_within(f"[{i}]", inner, entry) for i, (inner, entry) in enumerate(entries))

    return Codec(lambda values: [c.encode(value) for c, value in zip(inners, values, strict=True)], decode)


def mapped(inner: Codec[T]) -> Codec[dict[str, T]]:
    """Return the codec of mappings from texts, which are objects with any keys."""
    return Codec(
        lambda values: {key: inner.encode(value) for key, value in values.items()},
        lambda plain: {key: _within(f".{key:.60}", inner, entry) for key, entry in OBJECT.decode(plain).items()},
    )


def named(inner: Codec[T], key: str = "name") -> Codec[dict[str, T]]:
    """Return the codec of mappings from texts whose order counts: a list of objects, each with its name first."""

    def decode(plain: Any) -> dict[str, T]:
        out: dict[str, T] = {}
        for number, entry in enumerate(LIST.decode(plain)):
            name = _within(f"[{number}]", OBJECT, entry).get(key)
            if not isinstance(name, str):
                raise Refused(f"needs a {key}, a text, got {kind_of(name)}").within(f"[{number}]")
            if name in out:
                raise Refused("is declared twice").within(f"[{name:.60}]")
            out[name] = _within(f"[{name:.60}]", inner, {k: value for k, value in entry.items() if k != key})
        return out

    return Codec(lambda values: [{key: name, **inner.encode(value)} for name, value in values.items()], decode)


def _within(place: str, inner: Codec[T], plain: object) -> T:
    try:
        return inner.decode(plain)
    except Refused as refused:
        raise refused.within(place) from None


def checked(encode: Callable[[T], Any], decode: Callable[[Any], T]) -> Codec[T]:
    """Return the codec of two functions that raise errors of this package."""

    def read(plain: object) -> T:
        try:
            return decode(plain)
        except GlassineError as error:
            raise Refused(str(error), sentence=True) from None

    return Codec(encode, read)


def lazily(inner: Callable[[], Codec[T]]) -> Codec[T]:
    """Return a codec that is looked up at use, for types that hold themselves."""
    return Codec(lambda value: inner().encode(value), lambda plain: inner().decode(plain))


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a file says otherwise than the annotation of a field does."""

    codec: Codec[Any] | None = None  # Of its values; that of the annotation by default; Codec, optional
    key: str = ""  # Its key; its name by default
    omit: object = _KEPT  # A value that is left out when it is written
    required: bool | None = None  # Whether the key must be there; by default where the dataclass has no default
    # Returns from the object what is written; its attribute by default; callable, optional.
    get: Callable[[Any], Any] | None = None
    flat: bool = False  # Whether the keys of an inner object stand among those of this one


def record(
    make: Callable[..., T],
    fields: Mapping[str, Field] | None = None,
    *,
    head: Mapping[str, str] | None = None,
    order: Iterable[str] = (),
    omit_defaults: bool = False,
) -> Codec[T]:
    """Return the codec of a dataclass, which is an object."""
    said, head = fields or {}, head or {}
    own_fields = _fields_of(make, omit_defaults) if dataclasses.is_dataclass(make) else {}
    names = tuple(order) or (*own_fields, *(name for name in said if name not in own_fields))
    entries = [_entry(name, own_fields.get(name), said.get(name, Field())) for name in names]
    keys = (*head, *(key for one in entries for key in (one.codec.keys if one.flat else (one.key,))))
    required = (*head, *(one.key for one in entries if one.required and not one.flat))

    def encode(value: T) -> dict[str, Any]:
        out: dict[str, Any] = dict(head)
        for one in entries:
            part = one.get(value)
            if one.flat:
                out |= one.codec.encode(part)
            elif one.omit is _KEPT or not _same(part, one.omit):
                out[one.key] = one.codec.encode(part)
        return out

    def decode(plain: Any) -> T:
        members = OBJECT.decode(plain)
        odd = next((key for key in members if key not in keys), None)
        if odd is not None:
            raise Refused(f"has an unknown key {odd!r:.60}. Known: {', '.join(keys)}")
        lacking = next((key for key in required if key not in members), None)
        if lacking is not None:
            raise Refused(f"lacks the key {lacking!r}")
        for key, text in head.items():
            if members[key] != text:
                said_here = f"{members[key]!r:.60}" if isinstance(members[key], str) else kind_of(members[key])
                raise Refused(f"must be {text!r}, got {said_here}").within(f".{key}")
        values = {}
        for one in entries:
            if one.flat:
                values[one.name] = one.codec.decode({key: members[key] for key in one.codec.keys if key in members})
            elif one.key in members:
                values[one.name] = _within(f".{one.key}", one.codec, members[one.key])
        try:
            return make(**values)
        except GlassineError as error:
            raise Refused(str(error), sentence=True) from None

    return Codec(encode, decode, keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A field with nothing left open; see :class:`Field`."""

    name: str
    key: str
    codec: Codec[Any]
    omit: object
    required: bool
    get: Callable[[Any], Any]
    flat: bool


def _same(part: object, omitted: object) -> bool:
    return part is omitted or (type(part) is type(omitted) and part == omitted)


def _fields_of(make: Any, omit_defaults: bool) -> dict[str, tuple[Any, dataclasses.Field[Any], object]]:
    """Return the annotation of each field of a dataclass, the field, and which value of it is left out."""
    hints, missing = get_type_hints(make), dataclasses.MISSING
    return {
        field.name: (
            hints[field.name],
            field,
            field.default if omit_defaults and field.default is not missing else _KEPT,
        )
        for field in dataclasses.fields(make)
        if field.init
    }


def _entry(name: str, declared: tuple[Any, dataclasses.Field[Any], object] | None, said: Field) -> _Entry:
    hint, field, omit = declared or (None, None, _KEPT)
    bare = field is None or (field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING)
    return _Entry(
        name=name,
        key=said.key or name,
        codec=said.codec or _of_annotation(hint),
        omit=omit if said.omit is _KEPT else said.omit,
        required=bare if said.required is None else said.required,
        get=said.get or attrgetter(name),
        flat=said.flat,
    )


def _of_annotation(hint: object) -> Codec[Any]:
    """Return the codec of a type."""
    simple: dict[Any, Codec[Any]] = {str: TEXT, bool: FLAG, int: WHOLE, float: NUMBER, Any: ANYTHING}
    if hint in simple:
        return simple[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        rest = set(inner) - {type(None)}
        one = SCALAR if rest == {str, int, float, bool} else _of_annotation(rest.pop()) if len(rest) == 1 else None
        if one is not None:
            return optional(one) if type(None) in inner else one
    if origin is Literal:
        return one_of(*inner)
    if origin is Mapping and inner[0] is str:
        return mapped(_of_annotation(inner[1]))
    if origin is tuple and inner[-1:] == (Ellipsis,):
        return listed(_of_annotation(inner[0]))
    if origin is tuple:
        return _fixed(tuple(map(_of_annotation, inner)))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return record(hint)
    raise TypeError(f"no codec follows from {hint}. Give the field one.")


def tagged(key: str, kinds: Mapping[str, tuple[type[Any], Codec[Any]]]) -> Codec[Any]:
    """Return the codec of several types, whose name has a key, the first."""

    def encode(value: object) -> dict[str, Any]:
        tag = next(name for name, (kind, _) in kinds.items() if type(value) is kind)
        return {key: tag, **kinds[tag][1].encode(value)}

    def decode(plain: Any) -> Any:
        entry = dict(OBJECT.decode(plain))
        tag = entry.pop(key, None)
        if not isinstance(tag, str) or tag not in kinds:
            said = f"{tag!r:.40}" if isinstance(tag, str) else kind_of(tag)
            raise Refused(f"has the {key} {said}. Use one of {', '.join(kinds)}")
        return kinds[tag][1].decode(entry)

    return Codec(encode, decode)


def choice(codecs: Mapping[type[Any], Codec[Any]], pick: Callable[[dict[str, Any]], type[Any]]) -> Codec[Any]:
    """Return the codec of several types that their keys distinguish."""
    return Codec(
        lambda value: codecs[type(value)].encode(value), lambda plain: codecs[pick(OBJECT.decode(plain))].decode(plain)
    )
