"""Drafts of domains: what is inferred from columns, and what it costs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pytest

from glassine import Category, Domain, Integer
from glassine.data.inference import draft
from glassine.data.record_table import columns
from glassine.errors import GlassineError, InvalidDataError


@pytest.mark.parametrize("n_columns", [5, 50])
def test_a_draft_looks_no_column_up_by_its_name(monkeypatch: pytest.MonkeyPatch, n_columns: int) -> None:
    """A frame of Polars finds a column by a walk over all of them: one look-up for each is quadratic."""
    frame = pl.DataFrame({f"c{i}": [i, i + 2, None] for i in range(n_columns)})
    looked_up = []
    for name in ("select", "get_column", "__getitem__", "get_column_index"):
        own = getattr(pl.DataFrame, name)

        def counted(*args: Any, own: Any = own, name: str = name, **options: Any) -> Any:
            looked_up.append(name)
            return own(*args, **options)

        monkeypatch.setattr(pl.DataFrame, name, counted)
    drafted, undeclared = draft(frame)
    assert looked_up == []
    assert (len(drafted), undeclared) == (n_columns, {})
    assert drafted["c3"] == Integer(3, 5, missing=True, inferred=True)


def test_a_draft_says_which_columns_cannot_be_declared() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [[1], [2]], "c": ["x", None]})
    drafted, undeclared = draft(frame)
    assert drafted == Domain({"a": Integer(1, 2, inferred=True), "c": Category(("x",), missing=True, inferred=True)})
    assert list(undeclared) == ["b"]
    assert "neither numbers" in undeclared["b"]
    with pytest.raises(InvalidDataError, match="no column can be declared"):
        draft(frame.select("b"))
    with pytest.raises(GlassineError, match="at least one record"):
        draft(frame.clear())
    with pytest.raises(GlassineError, match="at least one"):
        draft(pl.DataFrame())


def test_gaps_of_every_kind_are_read_alike() -> None:
    """Lists of equal length stay values, and None, NaN and NA are gaps."""
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", None], "c": ["x", float("nan")], "d": pd.array([1, pd.NA])})
    read = columns(frame)
    assert [str(value) for value in read["a"]] == ["1.5", "nan"]
    assert read["b"].tolist() == read["c"].tolist() == ["x", None]
    assert str(read["d"].tolist()) == "[1.0, nan]"
    nested = columns(pl.DataFrame({"a": [[1, 2], [3, 4], None]}))["a"]
    assert nested.tolist() == [[1, 2], [3, 4], None]
