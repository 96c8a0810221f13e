"""Conditions, evidence and nodes of trees as JSON: as objects, or many of them as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from glassine.codec import FLOAT, LARGEST, LIST, OBJECT, SCALAR, WHOLE, Codec, Field, Refused, choice, listed, record
from glassine.domain import Between, Literal, OneOf
from glassine.domain.domain import COMPARED
from glassine.models.evidence import Evidence
from glassine.models.tree import Branch, Node

SCALARS: Codec[Any] = listed(SCALAR)
LITERAL: Codec[Any] = choice(
    {
        # Whether an attribute is binary is the domain's to say, not the model's.
        OneOf: record(
            OneOf,
            {"values": Field(codec=listed(COMPARED))},
            order=("attribute", "values", "negated", "missing"),
            omit_defaults=True,
        ),
        Between: record(
            Between,
            {"lo": Field(codec=FLOAT, key="above"), "hi": Field(codec=FLOAT, key="at_most")},
            omit_defaults=True,
        ),
    },
    # Without a bound, the condition on a number is that it is there, or with "negated" and "missing" that it is not.
    lambda plain: OneOf if "values" in plain else Between,
)
EVIDENCE: Codec[Evidence] = record(Evidence, omit_defaults=True)
BRANCH: Codec[Branch] = record(Branch, {"literal": Field(codec=LITERAL, key="if")})
NODE: Codec[Node] = record(
    Node, {"branches": Field(codec=listed(BRANCH)), "evidence": Field(codec=EVIDENCE, flat=True)}
)
ROWS: Codec[tuple[Node, ...]] = listed(NODE)
MOST_ROWS = 10_000
"""Nodes up to which each is an object; more are columns, which take a sixth of the bytes and the memory."""

MOST_MADE = 65_536
"""Values that are kept so that each is made once."""


def _by_key(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return flat objects as a list for each key, null where an object lacks it; keys in order of their first use."""
    keys = dict.fromkeys(chain.from_iterable(rows))
    return {key: [row.get(key) for row in rows] for key in keys}


def _rows(plain: Mapping[str, Any], number: int) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each row of columns, null where a row lacks one."""
    for key, column in plain.items():
        if len(LIST.decode(column)) != number:
            raise Refused(f"must hold {number:,} values, one for each, got {len(column):,}").within(f".{key}")
        if not any(value is not None for value in column):
            raise Refused("must hold a value of something").within(f".{key}")
    yield from zip(*plain.values(), strict=True) if plain else repeat((), number)


def _object(keys: Iterable[str], values: tuple[Any, ...]) -> dict[str, Any]:
    """Return the object of a row."""
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}


def _made_once(codec: Codec[Any], keys: Iterable[str]) -> Callable[[tuple[Any, ...]], Any]:
    """Return the decoder of rows that makes each value once: of thousands of leaves, many say the same."""
    made: dict[str, Any] = {}

    def decode(values: tuple[Any, ...]) -> Any:
        key = repr(values)
        if key not in made:
            if len(made) >= MOST_MADE:
                made.clear()
            made[key] = codec.decode(_object(keys, values))
        return made[key]

    return decode


def written_nodes(nodes: tuple[Node, ...]) -> Any:
    """Return nodes as a list, or many as columns."""
    return ROWS.encode(nodes) if len(nodes) <= MOST_ROWS else in_columns(nodes)


def in_columns(nodes: tuple[Node, ...]) -> Any:
    """Return nodes as columns: branches of each node, then conditions and children of all."""
    # Of thousands of leaves, many say the same.
    evidence = {id(node.evidence): node.evidence for node in nodes}
    encoded = {key: EVIDENCE.encode(own) for key, own in evidence.items()}
    branches = [branch for node in nodes for branch in node.branches]
    return {
        "branches": [len(node.branches) for node in nodes],
        "if": _by_key([_condition(branch.literal) for branch in branches]),
        "child": [branch.child for branch in branches],
        **_by_key([encoded[id(node.evidence)] for node in nodes]),
    }


def _condition(literal: Literal) -> dict[str, Any]:
    """Return a condition as :data:`LITERAL` has it, of which most are one bound of a number."""
    if type(literal) is not Between or literal.negated or literal.missing:
        plain: dict[str, Any] = LITERAL.encode(literal)
        return plain
    out: dict[str, Any] = {"attribute": literal.attribute}
    if literal.lo != -math.inf:
        out["above"] = float(literal.lo)
    if literal.hi != math.inf:
        out["at_most"] = float(literal.hi)
    return out


def _literals(plain: Mapping[str, Any], number: int) -> Iterator[Literal]:
    """Yield the condition of each row of columns as :data:`LITERAL` has it, of which most are one bound of a number."""
    keys = [key for key in ("attribute", "above", "at_most") if key in plain]
    keys += [key for key in plain if key not in keys]
    ordered, bounds = {key: plain[key] for key in keys}, keys[:3] == ["attribute", "above", "at_most"]
    nothing = (None,) * (len(keys) - 3)
    for row in _rows(ordered, number):
        if bounds and row[3:] == nothing and type(row[0]) is str:
            name, lo, hi = row[:3]
            if hi is None and type(lo) is float and abs(lo) <= LARGEST:
                yield Between(name, lo)
                continue
            if lo is None and type(hi) is float and abs(hi) <= LARGEST:
                yield Between(name, hi=hi)
                continue
        literal: Literal = LITERAL.decode(_object(keys, row))
        yield literal


def read_nodes(plain: Any) -> tuple[Node, ...]:
    """Return the nodes of a list of objects, or of columns."""
    if not isinstance(plain, dict):
        return ROWS.decode(plain)
    columns = {key: LIST.decode(plain.get(key, [])) for key in ("branches", "child")}
    if not all(type(count) is int and 0 <= count <= len(columns["child"]) for count in columns["branches"]):
        raise Refused("must hold how many branches each node has").within(".branches")
    if sum(columns["branches"]) != len(columns["child"]):
        raise Refused(f"must hold {sum(columns['branches']):,} places, one for each branch").within(".child")
    conditions = _literals(OBJECT.decode(plain.get("if", {})), len(columns["child"]))
    children = iter(columns["child"])
    own_columns = {key: column for key, column in plain.items() if key not in ("branches", "if", "child")}
    rows, evidence_of = _rows(own_columns, len(columns["branches"])), _made_once(EVIDENCE, own_columns)
    leaves: dict[int, Node] = {}  # by the evidence, which the leaf keeps
    out = []
    for number, (count, row) in enumerate(zip(columns["branches"], rows, strict=True)):
        branches: list[Branch] = []
        part = ""
        try:
            for _ in range(count):
                part = ".if"
                literal, child = next(conditions), next(children)
                part = ".child"
                branches.append(Branch(literal, child if type(child) is int else WHOLE.decode(child)))
            part = ""
            evidence = evidence_of(row)
        except Refused as refused:
            at = f"[{number}]" + (f".branches[{len(branches)}]{part}" if part else "")
            raise refused.within(at) from None
        if branches:
            out.append(Node(branches=tuple(branches), evidence=evidence))
        else:
            out.append(leaves.setdefault(id(evidence), Node(evidence=evidence)))
    return tuple(out)
