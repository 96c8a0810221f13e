"""The domain: the set of all records that are possible by public knowledge."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeVar

from glassine.codec import SCALAR, TEXT, Codec, Field, Refused, decoded, listed, named, record, tagged
from glassine.domain.attributes import Attribute, Binary, Category, Integer, Real, Scalar, is_name
from glassine.domain.groups import (
    AtMostOne,
    Combinations,
    ExactlyOne,
    Group,
    Implies,
    Intervals,
    Pattern,
    blocks,
    patterns,
)
from glassine.domain.prefixes import Prefix
from glassine.domain.shares import Shares
from glassine.domain.special_codes import SPECIAL
from glassine.domain.toml import SCHEMA, toml_values
from glassine.errors import InvalidDomainError, first_of, parameter
from glassine.exports import Displayed
from glassine.files import read_json, write_text

Number = TypeVar("Number", int, int | Fraction)


class Domain(Displayed):
    """What is publicly known about each attribute, and about how attributes hang together.

    Parameters
    ----------
    attributes : mapping of str to Integer, Real, Category or Binary
        The attributes, in order.
    groups : group or sequence of groups, optional
        Ties between binary attributes: :class:`ExactlyOne`, :class:`AtMostOne`, :class:`Implies`,
        :class:`Intervals`, :class:`Combinations`.
    shares : mapping of str to Shares, optional
        How often values of some attributes occur in the population, by a public source; the others are taken for
        uniform. An attribute that a group ties has none.

    Raises
    ------
    InvalidDomainError
        If there is no attribute, a group names an unknown or a non-binary attribute, groups contradict each other, or
        shares do not fit their attribute.

    Examples
    --------
    >>> domain = Domain({"age": Integer(18, 99), "smoker": Binary()})
    >>> domain.size()
    164
    """

    def __init__(
        self,
        attributes: Mapping[str, Attribute],
        *,
        groups: Group | Iterable[Group] = (),
        shares: Mapping[str, Shares] | None = None,
    ) -> None:
        try:
            self._attributes = dict(attributes)
        except (TypeError, ValueError):
            raise InvalidDomainError(
                f"{parameter('attributes')} must map names to attributes, got {type(attributes).__name__}.",
                remedy="Use a dictionary.",
            ) from None
        self._groups = (groups,) if isinstance(groups, Group) else tuple(groups)
        if not self._attributes:
            raise InvalidDomainError(
                "a domain needs at least one attribute, got none.", remedy="Name the columns of the records."
            )
        for name, attribute in self._attributes.items():
            if not is_name(name):
                raise InvalidDomainError(f"an attribute's name must be a non-empty string, got {name!r}.")
            if not isinstance(attribute, Integer | Real | Category | Binary):
                raise InvalidDomainError(
                    f"attribute {name!r} must be Integer, Real, Category or Binary, got {type(attribute).__name__}."
                )
        for group in self._groups:
            one: object = group
            if not isinstance(one, Group):
                raise InvalidDomainError(
                    f"{parameter('groups')} must be ExactlyOne, Implies and so on, got {type(one).__name__}."
                )
            for name in group.attributes:
                member = self._attributes.get(name)
                if member is None:
                    raise InvalidDomainError(
                        f"a group names {name!r}, which is not an attribute of the domain.",
                        remedy="Declare it or drop it.",
                    )
                if not isinstance(member, Binary) or member.missing:
                    raise InvalidDomainError(
                        f"a group ties binary attributes without missing values, but {name!r} is {member!r}.",
                        remedy="Leave it out of the group, or declare it binary.",
                    )
        _ = self.blocks  # contradictory groups fail here, not at first use
        self._shares = dict(shares or {})
        tied = {name for group in self._groups for name in group.attributes}
        for name, one in self._shares.items():
            if name not in self._attributes or name in tied:
                why = "a group ties it" if name in tied else "the domain lacks it"
                raise InvalidDomainError(f"shares of {name!r} cannot be stated: {why}.", remedy="Leave them out.")
            if not isinstance(one, Shares):
                raise InvalidDomainError(f"the shares of {name!r} must be Shares, got {type(one).__name__}.")
            one.check(name, self._attributes[name])

    @classmethod
    def binary(cls, names: Iterable[str], *, groups: Group | Iterable[Group] = ()) -> Domain:
        """Return a domain of binary attributes.

        Parameters
        ----------
        names : iterable of str
            The attributes, in order, each once.
        groups : sequence of groups, optional
            As for :class:`Domain`.

        Examples
        --------
        >>> Domain.binary(["a", "b", "c"]).size()
        8
        """
        listed = [names] if isinstance(names, str) else list(names)
        if len(set(listed)) < len(listed):
            twice = next(n for i, n in enumerate(listed) if n in listed[:i])
            raise InvalidDomainError(
                f"{parameter('attribute')} names must differ, got {twice!r} twice.", remedy="Rename one."
            )
        return cls({name: Binary() for name in listed}, groups=groups)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Domain:
        """Read a domain from a file: TOML if its name ends with ``.toml``, else JSON; see :meth:`to_json`.

        Raises
        ------
        UnreadableFileError
            If the file is missing or is not of that format.
        InvalidDomainError
            If it is not a domain of this schema version.
        """
        toml = os.fspath(path).lower().endswith(".toml")
        return from_dict(toml_values(path) if toml else read_json(path))

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the domain to a JSON file, whole or not at all. The schema is ``glassine.domain/1``."""
        write_text(to_text(self), path)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes' names, in order."""
        return tuple(self._attributes)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The declared groups."""
        return self._groups

    @property
    def shares(self) -> Mapping[str, Shares]:
        """The declared shares, by attribute; those of other attributes are uniform."""
        return self._shares

    @property
    def inferred(self) -> bool:
        """Whether any attribute was inferred from data."""
        return any(attribute.inferred for attribute in self._attributes.values())

    @cached_property
    def blocks(self) -> list[tuple[tuple[str, ...], list[Pattern]]]:
        """The attributes tied by groups, block by block, with the possible combinations of each."""
        return [(block, patterns(block, groups)) for block, groups in blocks(self.names, self._groups)]

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except KeyError:
            raise InvalidDomainError(
                f"{name!r} is not an attribute of the domain, which has {first_of(map(repr, self.names), 8)}.",
                remedy="Declare it or rename it.",
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        same = list(self._attributes.items()) == list(other._attributes.items()) and self._groups == other._groups
        return same and self._shares == other._shares

    def __hash__(self) -> int:
        return hash((tuple(self._attributes.items()), self._groups))

    def __repr__(self) -> str:
        if len(self) > 6:
            return (
                f"<Domain of {len(self)} attributes ({first_of(map(repr, self.names))}) and {len(self._groups)} groups>"
            )
        inner = ", ".join(f"{name!r}: {attribute!r}" for name, attribute in self._attributes.items())
        return f"Domain({{{inner}}}, groups={self._groups!r})" if self._groups else f"Domain({{{inner}}})"

    def size(self, *, domain_aware: bool = True) -> int | None:
        """Return the number of possible records, or None when an attribute is a continuum.

        Parameters
        ----------
        domain_aware : bool, default=True
            Whether to leave out the records that the groups make impossible.
        """
        blocks = self.blocks if domain_aware else []
        tied = {name for block, _ in blocks for name in block}
        sizes = [len(possible) for _, possible in blocks]
        for name, attribute in self._attributes.items():
            if name in tied:
                continue
            size = attribute.size
            if size is None:
                return None
            sizes.append(size)
        return product(sizes)

    def share(self, name: str, lo: float, hi: float) -> Fraction:
        """Return the share of the values v of a number with ``lo < v <= hi``: as declared, else of all possible ones.

        Parameters
        ----------
        name : str
            An :class:`Integer` or :class:`Real` attribute.
        lo, hi : float
            Ends of the interval, infinite where it has none.

        Examples
        --------
        >>> Domain({"age": Integer(0, 99)}).share("age", 17, 65)
        Fraction(12, 25)
        """
        attribute = self[name]
        if not isinstance(attribute, Integer | Real):
            raise InvalidDomainError(f"{name!r} is not a number.", remedy="Ask for the share of a category.")
        if name in self._shares:
            return self._shares[name].between(attribute, lo, hi)
        # A missing value of a continuum counts as much as all numbers together: see the space of possible records.
        whole = Fraction(attribute.measure(-math.inf, math.inf))
        gap = (whole if attribute.size is None else Fraction(1)) if attribute.missing else Fraction(0)
        return Fraction(attribute.measure(lo, hi)) / (whole + gap)

    def restrict(self, names: Sequence[str]) -> Domain:
        """Return the domain of some of the attributes, in the given order; ties are projected onto them."""
        kept = {name: self[name] for name in names}
        groups: list[Group] = []
        for block, possible in self.blocks:
            inside = tuple(name for name in block if name in kept)
            if inside:
                at = [block.index(name) for name in inside]
                rows = tuple(dict.fromkeys(tuple(row[i] for i in at) for row in possible))
                if len(rows) < 2 ** len(inside):
                    groups.append(Combinations(inside, rows))
        return Domain(kept, groups=groups, shares={name: self._shares[name] for name in kept if name in self._shares})


def product(factors: Sequence[Number]) -> Number:
    """Return the product of exact numbers: by halves, as one after the other is quadratic in how many there are."""
    if len(factors) <= 8:
        return math.prod(factors)
    middle = len(factors) // 2
    return product(factors[:middle]) * product(factors[middle:])


# Domains as JSON, schema ``glassine.domain/1``.


WIDTH = 120
"""Characters of a line of a file, if its values allow it."""
ATTRIBUTES: Mapping[str, type[Attribute]] = {"integer": Integer, "real": Real, "category": Category, "binary": Binary}
GROUPS: Mapping[str, type[Group]] = {
    "exactly-one": ExactlyOne,
    "at-most-one": AtMostOne,
    "implies": Implies,
    "intervals": Intervals,
    "combinations": Combinations,
}


def _value_to_plain(value: Scalar, *, exceptions: bool) -> Any:
    if not isinstance(value, Prefix):
        return value
    but = [_value_to_plain(one, exceptions=False) for one in value.but] if exceptions else []
    return {"prefix": value.start, **({"except": but} if but else {})}


def _value_of_plain(plain: object, *, exceptions: bool) -> Scalar:
    if not isinstance(plain, dict):
        value: Scalar = SCALAR.decode(plain)
        return value
    if "prefix" not in plain or not set(plain) <= {"prefix", *(["except"] if exceptions else [])}:
        raise Refused(f"must have the key prefix{' and perhaps except' if exceptions else ''} alone")
    start, but = TEXT.decode(plain["prefix"]), VALUES.decode(plain.get("except", []))
    try:
        return Prefix(start, but)
    except InvalidDomainError as error:
        raise Refused(str(error), sentence=True) from None


VALUE: Codec[Scalar] = Codec(
    lambda value: _value_to_plain(value, exceptions=False), lambda plain: _value_of_plain(plain, exceptions=False)
)
"""A value of a category: a scalar, or an object with a prefix, whose exceptions are the other values."""
VALUES: Codec[Any] = listed(VALUE)
COMPARED: Codec[Scalar] = Codec(
    lambda value: _value_to_plain(value, exceptions=True), lambda plain: _value_of_plain(plain, exceptions=True)
)
"""A value that a condition names: as :data:`VALUE`, the exceptions of a prefix with it."""


LISTS = {"values": Field(codec=VALUES), "hierarchy": Field(codec=listed(VALUES))}
RECORDS: Mapping[type[Attribute], Codec[Any]] = {
    Category: record(Category, LISTS, omit_defaults=True),
    Integer: record(Integer, {"codes": Field(codec=SPECIAL)}, omit_defaults=True),
    Real: record(Real, {"codes": Field(codec=SPECIAL)}, omit_defaults=True),
}
DOMAIN: Codec[Domain] = record(
    Domain,
    {
        "attributes": Field(
            codec=named(
                tagged(
                    "type",
                    {
                        name: (cls, RECORDS.get(cls) or record(cls, omit_defaults=True))
                        for name, cls in ATTRIBUTES.items()
                    },
                )
            ),
            get=lambda domain: {name: domain[name] for name in domain},
        ),
        "groups": Field(
            codec=listed(tagged("type", {name: (cls, record(cls)) for name, cls in GROUPS.items()})), required=False
        ),
        "shares": Field(codec=named(record(Shares, omit_defaults=True)), required=False, omit={}),
    },
    head={"schema": SCHEMA},
)


def to_dict(domain: Domain) -> dict[str, Any]:
    """Return a domain as plain JSON values."""
    out: dict[str, Any] = DOMAIN.encode(domain)
    return out


def from_dict(data: object) -> Domain:
    """Return the domain that plain JSON values describe."""
    if not isinstance(data, dict) or "schema" not in data:
        raise InvalidDomainError(f'a domain must be a JSON object with "schema": "{SCHEMA}".')
    if data["schema"] != SCHEMA:
        raise InvalidDomainError(
            f"this version reads domains of schema {SCHEMA!r}, got {data['schema']!r:.80}.",
            remedy="Write the domain again with this version."
            if str(data["schema"]).startswith(SCHEMA.partition("/")[0])
            else "Give the file of a domain.",
        )
    return decoded(DOMAIN, data, "the domain", InvalidDomainError)


def to_text(domain: Domain) -> str:
    """Return a domain as JSON text that a person can edit: a line for each attribute, values side by side."""
    plain = to_dict(domain)
    attributes = ",\n".join(_line(entry) for entry in plain["attributes"])
    groups, shares = (",\n".join(_line(entry) for entry in plain.get(key, ())) for key in ("groups", "shares"))
    parts = [f'  "schema": {json.dumps(SCHEMA)}', f'  "attributes": [\n{attributes}\n  ]']
    if groups:
        parts.append(f'  "groups": [\n{groups}\n  ]')
    if shares:
        parts.append(f'  "shares": [\n{shares}\n  ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(entry: dict[str, Any]) -> str:
    """Return an attribute or a group on a line; values that do not fit stand on lines of their own, filled."""
    text = json.dumps(entry, ensure_ascii=False, allow_nan=False)
    if len(text) <= WIDTH - 4 or not isinstance(entry.get("values"), list):
        return f"    {text}"
    lines = filled(json.dumps(value, ensure_ascii=False, allow_nan=False) for value in entry["values"])
    values = "".join(f"\n     {line}" for line in lines).removesuffix(",")
    mark = "\x00"
    whole = json.dumps({**entry, "values": mark}, ensure_ascii=False, allow_nan=False)
    return "    " + whole.replace(json.dumps(mark), f"[{values}\n    ]")


def filled(parts: Iterable[str]) -> list[str]:
    """Return the entries of a list, each before a comma, on as few lines as they fit on."""
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH - 10:
            lines.append("")
        lines[-1] += f" {part},"
    return lines


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``glassine.domain/1``."""

    def array(items: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"type": "array", "items": items, **more}

    number, flag, whole = {"type": "number"}, {"type": "boolean"}, {"type": "integer"}
    numbers, names = array(number), array({"type": "string"})
    common = {"missing": flag, "inferred": flag}

    def entry(kind: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {"type": {"const": kind}, **properties},
            "required": ["type", *required],
            "additionalProperties": False,
        }

    name = {"name": {"type": "string", "minLength": 1}}
    prefix = {
        "type": "object",
        "properties": {"prefix": {"type": "string"}},
        "required": ["prefix"],
        "additionalProperties": False,
    }
    value = {"oneOf": [{"type": ["string", "number", "boolean"]}, prefix]}
    values, hierarchy = array(value, minItems=1, uniqueItems=True), array(array(value, minItems=2, uniqueItems=True))
    bound = {"type": ["integer", "null"]}
    step = {"type": ["number", "null"]}
    codes = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
    numeric = {"thresholds": numbers, "codes": codes, **common}
    real = {**name, "lo": number, "hi": number, "resolution": step, **numeric}
    attributes = [
        entry("integer", {**name, "lo": whole, "hi": whole, **numeric}, ["name", "lo", "hi"]),
        entry("real", real, ["name", "lo", "hi"]),
        entry("category", {**name, "values": values, **common, "hierarchy": hierarchy}, ["name", "values"]),
        entry("binary", {**name, **common}, ["name"]),
    ]
    spans = {"type": "object", "additionalProperties": array(bound, minItems=2, maxItems=2)}
    rows = array(array({"enum": [0, 1]}))
    groups = [
        *(entry(kind, {"attributes": names}, ["attributes"]) for kind in ("exactly-one", "at-most-one", "implies")),
        entry("intervals", {"lo": whole, "hi": whole, "intervals": spans}, ["lo", "hi", "intervals"]),
        entry("combinations", {"attributes": names, "rows": rows}, ["attributes", "rows"]),
    ]
    shares = {
        "type": "object",
        "properties": {
            **name,
            "weights": array({"type": "number", "exclusiveMinimum": 0}),
            "source": {"type": "string", "minLength": 1},
            "edges": numbers,
            "from_training_data": flag,
        },
        "required": ["name", "weights", "source"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "attributes": array({"oneOf": attributes}, minItems=1),
            "groups": array({"oneOf": groups}),
            "shares": array(shares),
        },
        "required": ["schema", "attributes"],
        "additionalProperties": False,
    }


def check_domain(domain: object, *, optional: bool = False) -> None:
    """Raise InvalidDomainError if a value is no domain; where one is optional, None may stand for it."""
    if not isinstance(domain, Domain) and not (optional and domain is None):
        raise InvalidDomainError(
            f"{parameter('domain')} must be a Domain{' or None' if optional else ''}, got {type(domain).__name__}.",
            remedy="Read one with Domain.read.",
        )
