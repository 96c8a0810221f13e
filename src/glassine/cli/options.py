"""Arguments and options that several commands share: one name, one meaning, one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from glassine.errors import InvalidParameterError

if TYPE_CHECKING:
    from glassine.attacks.disclosure import CountNoise

__all__ = [
    "FORMATS",
    "AuditOption",
    "BlackBoxOption",
    "ClassesOption",
    "ConfidenceOption",
    "CriterionOption",
    "DataOption",
    "DatasetOption",
    "DomainOption",
    "GrownDepthOption",
    "HolderOption",
    "HoldoutOption",
    "InferClassesOption",
    "InferDomainOption",
    "JsonOption",
    "LedgerArgument",
    "LedgerDeltaOption",
    "LedgerOption",
    "ModelArgument",
    "NoiseOption",
    "OverwriteOption",
    "PolicyOption",
    "RecordsArgument",
    "ReleaseArgument",
    "ReportOption",
    "RequiredDataOption",
    "RequiredDomainOption",
    "RequiredHoldoutOption",
    "RequiredTargetOption",
    "SeedOption",
    "SmallOption",
    "SplitsOption",
    "TakesOption",
    "TargetOption",
    "TreeOption",
    "TrustOption",
    "UnprotectedSeedOption",
    "above",
    "at_least",
    "noise_of",
]

FORMATS = "HTML, or JSON or text by its ending"
"""Forms of a report."""


def at_least(option: str, least: float, advice: str = "") -> Callable[[Any], Any]:
    """Return the check of an option whose value has a lower limit."""
    return _check(option, f"at least {least:g}", lambda value: value >= least, advice)


def above(option: str, limit: float, advice: str = "") -> Callable[[Any], Any]:
    """Return the check of an option whose value must be finite and larger than a limit."""
    return _check(option, f"a number above {limit:g}", lambda value: limit < value < math.inf, advice)


def _check(option: str, rule: str, kept: Callable[[Any], bool], advice: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value is not None and not kept(value):
            raise InvalidParameterError(f"{option} must be {rule}, got {value:g}. {advice}".rstrip())
        return value

    return check


_DOMAIN = typer.Option("--domain", metavar="FILE", help="Domain, JSON: the public bounds and categories.")
_DATA = typer.Option("--data", metavar="FILE", help="Training records, CSV or Parquet.")
_HOLDOUT = typer.Option(
    "--holdout",
    metavar="FILE",
    help="Records of the same population that were not used for training, CSV or Parquet.",
)
_TARGET = typer.Option("--target", metavar="COLUMN", help="Column that the model predicts.")

ModelArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="The published model: JSON, text, PMML and others; skops and ONNX need pip install 'glassine[formats]'.",
    ),
]
RecordsArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="RECORDS", help="The records, CSV with a header or Parquet: one row a person.")
]
ReleaseArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="The release of surrogate trees, signed or not.")
]
LedgerArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, a SQLite file.")]

DomainOption: TypeAlias = Annotated[Path | None, _DOMAIN]
RequiredDomainOption: TypeAlias = Annotated[Path, _DOMAIN]
DataOption: TypeAlias = Annotated[Path | None, _DATA]
RequiredDataOption: TypeAlias = Annotated[Path, _DATA]
HoldoutOption: TypeAlias = Annotated[Path | None, _HOLDOUT]
RequiredHoldoutOption: TypeAlias = Annotated[Path, _HOLDOUT]
TargetOption: TypeAlias = Annotated[str | None, _TARGET]
RequiredTargetOption: TypeAlias = Annotated[str, _TARGET]

CriterionOption: TypeAlias = Annotated[
    Literal["gini", "entropy", "gain-ratio", "misclassification", "none"] | None,
    typer.Option(
        "--criterion",
        help="How splits were selected; none if not by their quality.",
        show_default="as the model states",
    ),
]
SplitsOption: TypeAlias = Annotated[
    Literal["auto", "multiway", "binary"],
    typer.Option(
        "--splits", help="Categories split into all values, or one against the rest; auto: as the model states."
    ),
]
BlackBoxOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--black-box",
        metavar="FILE|MODULE:FUNCTION",
        help="What decides: an ONNX or skops file (pip install 'glassine[formats]'), or a Python function that maps "
        "records to labels. A module is code that runs.",
    ),
]
TakesOption: TypeAlias = Annotated[
    Literal["array", "pandas", "polars"],
    typer.Option("--takes", help="What the black box takes: a data frame, or a NumPy array without names."),
]
ClassesOption: TypeAlias = Annotated[
    str | None, typer.Option("--classes", metavar="A,B", help="The public classes, separated by commas.")
]
ConfidenceOption: TypeAlias = Annotated[
    float, typer.Option("--confidence", metavar="NUMBER", help="Confidence of each interval.")
]
InferDomainOption: TypeAlias = Annotated[
    bool, typer.Option("--infer-domain", help="Take the domain from the data: the guarantee does not hold.")
]
InferClassesOption: TypeAlias = Annotated[
    bool, typer.Option("--infer-classes", help="Take the classes from the data: the guarantee does not hold.")
]
GrownDepthOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-depth", metavar="N", help="Trees: most splits on a path.", show_default="3"),
]
LedgerOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help="Ledger to charge, with --dataset; see glassine ledger."),
]
DatasetOption: TypeAlias = Annotated[
    str | None, typer.Option("--dataset", metavar="NAME", help="Name of the data set in the ledger.")
]
LedgerDeltaOption: TypeAlias = Annotated[
    float, typer.Option("--delta", metavar="NUMBER", help="Delta, 0 for pure differential privacy.")
]
PolicyOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="Policy, TOML: the limits to judge by.", show_default="built in"),
]
ReportOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help=f"Write the report: {FORMATS}."),
]
AuditOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help=f"Audit what is written, and write the report: {FORMATS}."),
]
HolderOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--holder-report",
        metavar="FILE",
        help=f"Of a private model: write what the data add, for their holder only: {FORMATS}.",
    ),
]
SeedOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="Seed of what is drawn at random: the same seed, the same result.",
        callback=at_least("--seed", 0),
    ),
]
UnprotectedSeedOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Make the result repeatable: differential privacy does not hold then.",
        callback=at_least("--seed", 0),
    ),
]
OverwriteOption: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TrustOption: TypeAlias = Annotated[
    bool, typer.Option("--trust-pickle", help="Load a pickle. A pickle is code: only from a source you trust.")
]
TreeOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--tree",
        metavar="N",
        help="Of a file with several trees: the one to read, from 0.",
        callback=at_least("--tree", 0),
    ),
]
SmallOption: TypeAlias = Annotated[bool, typer.Option("--show-small-counts", help="Do not suppress small counts.")]
NoiseOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--noise",
        metavar="KIND:SCALE",
        help="How counts were blurred: geometric, laplace or gaussian and the scale, or rounded and the step.",
    ),
]


def noise_of(text: str | None) -> CountNoise | None:
    """Return noise that is written as kind and scale.

    Raises
    ------
    InvalidParameterError
        If it is written otherwise, the kind is unknown or the scale is out of its range.
    """
    if text is None:
        return None
    from glassine.attacks.disclosure import CountNoise

    kind, _, scale = text.partition(":")
    try:
        number = float(scale)
    except ValueError:
        raise InvalidParameterError(
            f"--noise must be a kind and a scale, as in geometric:20 or rounded:5, got {text!r}."
        ) from None
    stated: Any = kind
    return CountNoise(stated, number)
