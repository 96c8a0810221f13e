"""Domains: size, JSON, inference, checks of data."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassine import Binary, Category, Domain, Integer, Real
from glassine.data import infer_domain
from glassine.data.outside import violations
from glassine.data.record_table import columns
from glassine.domain import ExactlyOne, Implies, Intervals
from glassine.domain.domain import from_dict, schema, to_dict
from glassine.domain.grid import on_grid, public_grid
from glassine.errors import GlassineError, InvalidDataError, InvalidDomainError, UnreadableFileError
from tests.oracles import strategies
from tests.oracles.worlds import records


@pytest.mark.slow
@given(st.data())
def test_size_and_json_round_trip(data: st.DataObject) -> None:
    domain = data.draw(strategies.domains())
    for domain_aware in (False, True):
        assert domain.size(domain_aware=domain_aware) == sum(1 for _ in records(domain, domain_aware=domain_aware))
    plain = json.loads(json.dumps(to_dict(domain)))
    jsonschema.validate(plain, schema())
    assert from_dict(plain) == domain


def test_file_round_trip(tmp_path: Path) -> None:
    domain = Domain(
        {
            "age": Integer(0, 120, thresholds=(18, 65.5), missing=True),
            "dose": Real(0.0, 2.5),
            "colour": Category(("red", "grün", 3)),
            "18-20": Binary(),
            ">=40": Binary(),
            "x": Binary(),
        },
        groups=[Intervals(18, 99, {"18-20": (18, 20), ">=40": (40, None)}), Implies(("x", ">=40"))],
    )
    domain.to_json(tmp_path / "d.json")
    assert Domain.read(tmp_path / "d.json") == domain
    assert hash(Domain.read(tmp_path / "d.json")) == hash(domain)
    assert [p.name for p in tmp_path.iterdir()] == ["d.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "d.json"
    with pytest.raises(UnreadableFileError, match="cannot write"):
        Domain.binary(["a"]).to_json(target)


def frames() -> list[Any]:
    data: dict[str, list[Any]] = {
        "n": [3, 1, 2],
        "r": [0.25, 1.5, 0.5],
        "w": [1.0, 4.0, None],
        "s": ["b", "a", None],
        "z": [0, 1, 1],
        "t": [True, False, True],
    }
    return [pd.DataFrame(data), pl.DataFrame(data), pl.LazyFrame(data), pa.table(data)]


@pytest.mark.parametrize("frame", frames(), ids=["pandas", "polars", "polars lazy", "arrow"])
def test_inference_is_the_same_from_every_library(frame: Any) -> None:
    domain = infer_domain(frame)
    assert domain == Domain(
        {
            "n": Integer(1, 3, inferred=True),
            "r": Real(0.25, 1.5, 0.01, inferred=True),
            "w": Integer(1, 4, missing=True, inferred=True),
            "s": Category(("a", "b"), missing=True, inferred=True),
            "z": Binary(inferred=True),
            "t": Binary(inferred=True),
        }
    )
    assert domain.inferred
    assert violations(domain, frame) == {}


def test_inference_leaves_a_resolution_out_where_none_is_seen() -> None:
    values = np.random.default_rng(0).normal(size=20)
    attribute = infer_domain(pd.DataFrame({"x": values}))["x"]
    assert isinstance(attribute, Real)
    assert attribute.resolution is None


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": []}), "at least one record"),
        (pd.DataFrame({"a": [None, None]}, dtype=object), "no value at all"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "infinite"),
        (pd.DataFrame({"a": [[1], [2]]}), "neither numbers"),
        ([1, 2], "must be a data frame"),
    ],
)
def test_data_without_a_domain_are_refused(frame: Any, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        infer_domain(frame)


def test_violations_are_counted_by_attribute_and_block() -> None:
    domain = Domain(
        {"n": Integer(0, 9), "r": Real(0.0, 1.0, 0.1), "c": Category(("x",)), "a": Binary(), "b": Binary()},
        groups=[ExactlyOne(("a", "b"))],
    )
    frame = pd.DataFrame(
        {"n": [0, 10, -1], "r": [0.3, 0.35, 0.7], "c": ["x", "y", None], "a": [1, 1, 0], "b": [0, 1, 0]}
    )
    assert violations(domain, frame) == {"n": 2, "r": 1, "c": 2, "a + b": 2}
    with pytest.raises(InvalidDataError, match="lack the column 'n'"):
        violations(domain, frame[["r"]])


def test_columns_turn_gaps_into_nan_and_none() -> None:
    data = columns(pl.DataFrame({"n": [1, None], "s": ["a", None], "b": [True, False]}))
    assert np.isnan(data["n"][1])
    assert data["s"].tolist() == ["a", None]
    assert data["b"].tolist() == [1, 0]


BROKEN: list[tuple[Any, str]] = [
    ([], "must be a JSON object"),
    ({"attributes": []}, "must be a JSON object"),
    ({"schema": "glassine.domain/9", "attributes": []}, "schema"),
    ({"schema": "glassine.domain/1", "attributes": []}, "at least one attribute"),
    ({"schema": "glassine.domain/1", "attributes": {}}, "attributes, must be a list, got an object"),
    ({"schema": "glassine.domain/1", "attributes": [], "extra": 1}, "unknown key 'extra'"),
    ({"schema": "glassine.domain/1", "attributes": [{"type": "binary"}]}, "needs a name"),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "tensor"}]}, "type 'tensor'"),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": ["x"]}]}, "type"),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "integer", "lo": 0}]}, "lacks the key 'hi'"),
    (
        {"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "integer", "lo": 0, "hi": "9"}]},
        r"attributes\[a\].hi, must be a whole number, got a text",
    ),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "binary", "colour": 1}]}, "unknown key"),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "binary", "missing": 1}]}, "true or false"),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "category", "values": "ab"}]}, "a list"),
    ({"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "binary"}] * 2}, "declared twice"),
    (
        {
            "schema": "glassine.domain/1",
            "attributes": [{"name": "a", "type": "binary"}, {"name": "b", "type": "integer", "lo": 0, "hi": 1}],
            "groups": [{"type": "exactly-one", "attributes": ["a", "b"]}],
        },
        "ties binary attributes",
    ),
    (
        {
            "schema": "glassine.domain/1",
            "attributes": [{"name": "a", "type": "binary"}],
            "groups": [{"type": "implies", "attributes": ["a", "nowhere"]}],
        },
        "not an attribute",
    ),
]


@pytest.mark.parametrize(("plain", "message"), BROKEN)
def test_malformed_domains_are_refused(plain: Any, message: str) -> None:
    with pytest.raises(InvalidDomainError, match=message):
        from_dict(plain)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"schema": "glassine.domain/1", "attri', "not valid JSON"),
        (b'{"schema": NaN}', "not JSON"),
        (b'{"a": 1, "a": 2}', "stands twice"),
        (b"\xff\xfe\x00\x01", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_unreadable_domain_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=message) as caught:
        Domain.read(path)
    assert caught.value.path == str(path)


@given(st.integers(-50, 50), st.integers(1, 500), st.integers(2, 30))
def test_the_public_grid_follows_from_the_bounds(lo: int, span: int, size: int) -> None:
    for attribute in (Integer(lo, lo + span), Real(float(lo), float(lo + span), 1.0)):
        grid = public_grid(attribute, size=size)
        assert len(grid) <= max(size, 1)
        assert all(attribute.lo < point < attribute.hi for point in grid)
        assert all(on_grid(attribute, point) for point in public_grid(attribute))
        steps = {round(b - a, 9) for a, b in pairwise(grid)}
        assert len(steps) <= 1
    assert public_grid(Integer(0, 99, thresholds=(18, 65))) == (18, 65)


def test_restriction_projects_ties() -> None:
    domain = Domain.binary(["a", "b", "c", "d"], groups=[ExactlyOne(("a", "b", "c"))])
    part = domain.restrict(["d", "b", "a"])
    assert part.names == ("d", "b", "a")
    assert part.size() == 2 * 3


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.array(["a", None, "b"], dtype="string"), Category(("a", "b"), missing=True, inferred=True)),
        (pd.array([True, None, False], dtype="boolean"), Binary(missing=True, inferred=True)),
        (pd.array([1, None, 5], dtype="Int64"), Integer(1, 5, missing=True, inferred=True)),
        (np.array(["a", pd.NA, "b"], dtype=object), Category(("a", "b"), missing=True, inferred=True)),
        (pd.Categorical(["a", None, "b"]), Category(("a", "b"), missing=True, inferred=True)),
        (np.array([0.2, 0.3, 0.2]), Real(0.2, 0.3, 0.1, inferred=True)),
        (np.array([2**53 + 1, 5, 7]), Integer(5, 2**53 + 1, inferred=True)),
        (np.array([2**63 + 5, 5, 7], dtype=np.uint64), Integer(5, 2**63 + 5, inferred=True)),
    ],
)
def test_columns_of_every_kind_hold_their_own_data(column: Any, expected: Any) -> None:
    frame = pd.DataFrame({"x": column})
    domain = infer_domain(frame)
    assert domain["x"] == expected
    assert violations(domain, frame) == {}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({0: [1, 2]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pl.DataFrame({"a": [[1], [2]]}),
        pd.DataFrame({"a": [10**400, "x"]}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
    ],
)
def test_frames_that_cannot_be_read_are_refused(frame: Any) -> None:
    with pytest.raises(InvalidDataError):
        infer_domain(frame)


@pytest.mark.parametrize(
    "text",
    [
        '{"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "real", "lo": 0, "hi": 1%s}]}'
        % ("0" * 400),
        '{"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "integer", "lo": 0, "hi": 1%s}]}'
        % ("0" * 400),
        '{"schema": "glassine.domain/1", "attributes": [{"name": "a", "type": "category", "values": [1e999]}]}',
        '{"schema": "glassine.domain/1", "attributes": [{"name": "a\\ud800", "type": "binary"}]}',
    ],
)
def test_numbers_and_texts_beyond_all_bounds_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.json").write_text(text)
    with pytest.raises(GlassineError):
        Domain.read(tmp_path / "d.json")


def test_whole_numbers_have_one_cut_between_neighbours() -> None:
    assert on_grid(Integer(0, 3), 2)
    assert on_grid(Integer(0, 3), 2.3)
    assert on_grid(Integer(0, 1000), 2.3), "2 is a round amount"
    assert not on_grid(Integer(0, 1000), 7.3)


def test_a_single_group_and_wrong_kinds() -> None:
    assert Domain.binary(["a", "b"], groups=ExactlyOne(("a", "b"))).size() == 2
    wrong: Any = [("a", "b")]
    with pytest.raises(InvalidDomainError, match="groups must be"):
        Domain.binary(["a", "b"], groups=wrong)
    names: Any = ["a", "b"]
    with pytest.raises(InvalidDomainError, match="must map names to attributes"):
        Domain(names)
