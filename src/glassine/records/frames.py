"""Polars, imported when something of it is first used: reading a model needs none of it, and it takes 20 MB."""

from __future__ import annotations

from typing import Any

TYPES = {"Boolean", "Categorical", "Enum", "Float64", "Int8", "Int64", "Int128", "Null", "Object", "String"}
TYPES |= {"UInt32", "UInt128", "DataFrame", "DataType", "Series", "Expr"}
FUNCTIONS = {"all", "concat", "exceptions", "first", "from_arrow", "int_range"}
FUNCTIONS |= {"read_csv", "read_parquet", "read_parquet_schema", "when"}
"""What the rooms of records use. A library that looks for another name in every loaded module imports nothing here."""


def __getattr__(name: str) -> Any:
    if name not in TYPES and name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import polars

    value = globals()[name] = getattr(polars, name)
    return value
