"""The one walk of a tree, against following one record at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine import DecisionTree
from glassine.domain import Between, Literal, OneOf
from glassine.errors import GlassineError, InvalidDataError
from glassine.models import Branch, Evidence, Node

TREE = DecisionTree(
    nodes=(
        Node(branches=(Branch(OneOf("job", ("clerk",)), 1), Branch(OneOf("job", ("baker", "clerk")), 2))),
        Node(branches=(Branch(Between("age", hi=40), 3), Branch(Between("age", lo=40, hi=60), 4))),
        Node(evidence=Evidence(label=0)),
        Node(evidence=Evidence(label=1)),
        Node(evidence=Evidence(label=0)),
    ),
    attributes=("job", "age"),
    classes=("no", "yes"),
)
"""Both splits leave values out: other jobs, and ages above 60."""

RECORDS = st.lists(
    st.tuples(st.sampled_from(["clerk", "baker", "pope"]), st.sampled_from([20.0, 50.0, 70.0])), max_size=12
)


def columns_of(records: list[tuple[str, float]]) -> dict[str, npt.NDArray[Any]]:
    return {"job": np.array([job for job, _ in records], dtype=object), "age": np.array([age for _, age in records])}


def by_hand(record: tuple[str, float], *, last: bool) -> list[int]:
    """Return the nodes that one record reaches."""
    columns, path = columns_of([record]), [0]
    while branches := TREE.nodes[path[-1]].branches:
        taken = [b for b in branches if b.literal.holds(columns[b.literal.attribute])[0]] or [branches[-1]] * last
        if not taken:
            break
        path.append(taken[0].child)
    return path


def walked(records: list[tuple[str, float]], unmatched: Any) -> list[list[int]]:
    columns = columns_of(records)

    def holds(literal: Literal, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        return literal.holds(columns[literal.attribute][rows])

    paths: list[list[int]] = [[] for _ in records]
    for visit in TREE.walk(len(records), holds, unmatched):
        for row in visit.rows.tolist():
            paths[row].append(visit.node)
    return paths


@given(records=RECORDS)
def test_the_walk_is_that_of_each_record_alone(records: list[tuple[str, float]]) -> None:
    assert walked(records, "last branch") == [by_hand(record, last=True) for record in records]
    assert walked(records, "left out") == [by_hand(record, last=False) for record in records]


@given(records=RECORDS)
def test_a_record_without_a_leaf_is_an_error_if_the_caller_says_so(records: list[tuple[str, float]]) -> None:
    def astray(node: int, row: int) -> GlassineError:
        return InvalidDataError(f"{node} {row}")

    ends = [by_hand(record, last=False)[-1] for record in records]
    lost = {f"{end} {row}" for row, end in enumerate(ends) if TREE.nodes[end].branches}
    if not lost:
        assert walked(records, astray) == walked(records, "left out")
        return
    with pytest.raises(InvalidDataError) as caught:
        walked(records, astray)
    assert str(caught.value) in lost
    with pytest.raises(InvalidDataError, match=r"satisf(y|ies) no branch"):
        TREE.apply(columns_of(records))
