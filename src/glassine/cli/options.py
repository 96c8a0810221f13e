"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "DataOption",
    "DomainOption",
    "HoldoutOption",
    "JsonOption",
    "LedgerArgument",
    "ModelArgument",
    "PolicyOption",
    "SmallOption",
    "TrustOption",
]

ModelArgument: TypeAlias = Annotated[
    Path, typer.Argument(help="The published model: JSON, text, skops, ONNX, PMML and others; see the formats page.")
]
LedgerArgument: TypeAlias = Annotated[Path, typer.Argument(help="The ledger, a SQLite file.")]
DomainOption: TypeAlias = Annotated[
    Path | None, typer.Option("--domain", help="Domain, JSON: the public bounds and categories.")
]
DataOption: TypeAlias = Annotated[Path | None, typer.Option("--data", help="Training records, CSV or Parquet.")]
HoldoutOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--holdout", help="Records of the same population that were not used for training, CSV or Parquet."),
]
PolicyOption: TypeAlias = Annotated[Path | None, typer.Option("--policy", help="Policy, TOML: the limits to judge by.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TrustOption: TypeAlias = Annotated[
    bool, typer.Option("--trust-pickle", help="Load a pickle. A pickle is code: only from a source you trust.")
]
SmallOption: TypeAlias = Annotated[bool, typer.Option("--show-small-counts", help="Do not suppress small counts.")]
