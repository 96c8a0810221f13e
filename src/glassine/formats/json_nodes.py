"""Conditions, evidence and nodes of trees as JSON: as objects, or many of them as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from glassine.codec import FLOAT, LIST, OBJECT, SCALAR, Codec, Field, Refused, choice, listed, record
from glassine.domain import Between, OneOf
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


class _Columns:
    """Flat objects by key: a list for each key, null where an object lacks it."""

    def __init__(self) -> None:
        self.plain: dict[str, list[Any]] = {}
        self._number = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Add an object."""
        for key in row.keys() - self.plain.keys():
            self.plain[key] = [None] * self._number
        for key, column in self.plain.items():
            column.append(row.get(key))
        self._number += 1


def _rows(plain: Mapping[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of which columns hold the values."""
    for key, column in plain.items():
        if len(LIST.decode(column)) != number:
            raise Refused(f"must hold {number:,} values, one for each, got {len(column):,}").within(f".{key}")
    for i in range(number):
        yield {key: column[i] for key, column in plain.items() if column[i] is not None}


def written_nodes(nodes: tuple[Node, ...]) -> Any:
    """Return nodes as a list, or many as columns."""
    return ROWS.encode(nodes) if len(nodes) <= MOST_ROWS else in_columns(nodes)


def in_columns(nodes: tuple[Node, ...]) -> Any:
    """Return nodes as columns: branches of each node, then conditions and children of all."""
    literals, evidence = _Columns(), _Columns()
    for node in nodes:
        evidence.add(EVIDENCE.encode(node.evidence))
        for branch in node.branches:
            literals.add(LITERAL.encode(branch.literal))
    children = [branch.child for node in nodes for branch in node.branches]
    return {
        "branches": [len(node.branches) for node in nodes],
        "if": literals.plain,
        "child": children,
        **evidence.plain,
    }


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
    branches = ({"if": literal, "child": child} for literal, child in zip(conditions, columns["child"], strict=True))
    own_columns = {key: column for key, column in plain.items() if key not in ("branches", "if", "child")}
    out = []
    for number, (count, evidence) in enumerate(
        zip(columns["branches"], _rows(own_columns, len(columns["branches"])), strict=True)
    ):
        try:
            out.append(NODE.decode({"branches": list(islice(branches, count)), **evidence}))
        except Refused as refused:
            raise refused.within(f"[{number}]") from None
    return tuple(out)
