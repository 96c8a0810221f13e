"""Conditions, evidence and nodes of trees as JSON: as objects, or many of them as columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from glassine.codec import FLOAT, LARGEST, LIST, OBJECT, SCALAR, Codec, Field, Refused, choice, listed, record
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


def _rows(plain: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of which columns hold the values."""
    for key, column in plain.items():
        if len(LIST.decode(column)) != number:
            raise Refused(f"must hold {number:,} values, one for each, got {len(column):,}").within(f".{key}")
        if not any(value is not None for value in column):
            raise Refused("must hold a value of something").within(f".{key}")
    keys = tuple(plain)
    for values in zip(*plain.values(), strict=True) if keys else repeat((), number):
        yield {key: value for key, value in zip(keys, values, strict=False) if value is not None}


def _made_once(codec: Codec[Any]) -> Callable[[dict[str, Any]], Any]:
    """Return the decoder of a codec that makes each value once: of thousands of leaves, many say the same."""
    made: dict[str, Any] = {}

    def decode(plain: dict[str, Any]) -> Any:
        key = repr(plain)
        if key not in made:
            if len(made) >= MOST_MADE:
                made.clear()
            made[key] = codec.decode(plain)
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


def _literal(plain: dict[str, Any]) -> Literal:
    """Return the condition of an object as :data:`LITERAL` has it."""
    if len(plain) == 2 and type(name := plain.get("attribute")) is str:
        lo, hi = plain.get("above"), plain.get("at_most")
        if type(lo) is float and abs(lo) <= LARGEST:
            return Between(name, lo)
        if type(hi) is float and abs(hi) <= LARGEST:
            return Between(name, hi=hi)
    literal: Literal = LITERAL.decode(plain)
    return literal


def read_nodes(plain: Any) -> tuple[Node, ...]:
    """Return the nodes of a list of objects, or of columns."""
    if not isinstance(plain, dict):
        return ROWS.decode(plain)
    columns = {key: LIST.decode(plain.get(key, [])) for key in ("branches", "child")}
    if not all(type(count) is int and 0 <= count <= len(columns["child"]) for count in columns["branches"]):
        raise Refused("must hold how many branches each node has").within(".branches")
    if sum(columns["branches"]) != len(columns["child"]):
        raise Refused(f"must hold {sum(columns['branches']):,} places, one for each branch").within(".child")
    conditions = _rows(OBJECT.decode(plain.get("if", {})), len(columns["child"]))
    children = iter(columns["child"])
    own_columns = {key: column for key, column in plain.items() if key not in ("branches", "if", "child")}
    rows, evidence_of = _rows(own_columns, len(columns["branches"])), _made_once(EVIDENCE)
    leaves: dict[int, Node] = {}  # by the evidence, which the leaf keeps
    out = []
    for number, (count, row) in enumerate(zip(columns["branches"], rows, strict=True)):
        place = ""
        try:
            branches = []
            for at in range(count):
                place = f".branches[{at}]"
                branches.append(_branch(next(conditions), next(children)))
            place = ""
            evidence = evidence_of(row)
            if branches:
                out.append(Node(branches=tuple(branches), evidence=evidence))
            else:
                out.append(leaves.setdefault(id(evidence), Node(evidence=evidence)))
        except Refused as refused:
            raise refused.within(f"[{number}]{place}") from None
    return tuple(out)


def _branch(condition: dict[str, Any], child: Any) -> Branch:
    """Return a branch as :data:`BRANCH` has it."""
    if type(child) is not int:
        branch: Branch = BRANCH.decode({"if": condition, "child": child})
        return branch
    try:
        return Branch(_literal(condition), child)
    except Refused as refused:
        raise refused.within(".if") from None
