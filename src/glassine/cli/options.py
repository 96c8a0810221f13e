"""Arguments and options that several commands share: one name, one meaning, one sentence; and groups of them.

A group is a class whose fields are options; commands of groups are made by :mod:`glassine.cli.grouped_commands`.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeGuard,
    dataclass_transform,
    get_args,
    get_type_hints,
)

import typer

from glassine.cli.steps import option_of
from glassine.errors import InvalidParameterError
from glassine.resources import MEMORY, SECONDS, Budget

if TYPE_CHECKING:
    from glassine.attacks.disclosure import CountNoise
    from glassine.records.headers import CsvDialect

FORMATS = "HTML, JSON or text by its ending"
"""Forms of a report."""


Check: TypeAlias = Callable[[typer.CallbackParam, Any], Any]
"""What looks at the value of an option: it returns the value, or raises."""


def at_least(least: float, advice: str = "") -> Check:
    """Return the check of an option whose value has a lower limit."""
    return _check(f"at least {least:g}", lambda value: value >= least, advice)


def above(limit: float) -> Check:
    """Return the check of an option whose value must be finite and larger than a limit."""
    return _check(f"a number above {limit:g}", lambda value: limit < value < math.inf)


def _check(rule: str, kept: Callable[[Any], bool], advice: str = "") -> Check:
    def check(option: typer.CallbackParam, value: Any) -> Any:
        if value is not None and not kept(value):
            raise InvalidParameterError(f"{option.opts[0]} must be {rule}, got {value:g}. {advice}".rstrip())
        return value

    return check


REQUIRED: Any = dataclasses.MISSING
"""The value of an option that must be given."""


def option(
    metavar: str | None,
    text: str,
    value: object = None,
    *,
    names: tuple[str, ...] = (),
    shown_default: str | bool = True,
    **more: Any,
) -> Any:
    """Return a field that is an option: what stands for its value, what it does, its value where it is not given."""
    # Without names it is called as the field is; shown are words for its default. As an annotation it is shared by
    # several groups, and the value stands there.
    info = typer.Option(..., *names, metavar=metavar, help=text, show_default=shown_default, **more)
    return dataclasses.field(default=value, metadata={INFO: info})


def argument(metavar: str, text: str, value: object = REQUIRED) -> Any:
    """Return a field that is an argument: the word that stands for it, and what it is."""
    return dataclasses.field(default=value, metadata={INFO: typer.Argument(..., metavar=metavar, help=text)})


def flag(text: str) -> Any:
    """Return an option that is off unless it is named; it has no name that turns it off."""
    return option(None, text, value=False)


def output_option(text: str, value: object = None, **more: Any) -> Any:
    """Return the option of the file that a command writes."""
    return option("FILE", text, value, names=("--output", "-o"), **more)


INFO = "option"
"""What a field of an option has its description under."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """Options that travel together as one value: a frozen dataclass, and their heading in the help of a command."""

    heading: ClassVar[str] = "Options"

    def __init_subclass__(cls, heading: str = "") -> None:
        cls.heading = heading or cls.heading
        dataclass(frozen=True, kw_only=True)(cls)


def is_group(hint: object) -> TypeGuard[type[OptionGroup]]:
    """Return whether the type of a parameter is a group of options."""
    return isinstance(hint, type) and issubclass(hint, OptionGroup)


def fields_of(group: type[OptionGroup]) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    """Yield the fields of a group, each with its type and option."""
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        own = field.metadata.get(INFO)
        yield field, hints[field.name] if own is None else Annotated[hints[field.name], own]


_DOMAIN = option("FILE", "Domain, JSON or TOML: the public bounds and categories.")
_TARGET = option("COLUMN", "Column that the model predicts.", names=("--target",))

ResumeOption: TypeAlias = Annotated[
    Path | None, option("FOLDER", "Folder that keeps each result; named again, the run goes on from it.")
]
ModelArgument: TypeAlias = Annotated[
    Path,
    argument(
        "MODEL",
        "The published model: JSON, text, PMML and others; skops and ONNX need pip install 'glassine[formats]'.",
    ),
]
ModelsArgument: TypeAlias = Annotated[
    list[Path],
    argument(
        "MODEL...",
        "The published model: JSON, text, PMML and others; skops and ONNX need pip install 'glassine[formats]'. "
        "Several models are audited one by one.",
    ),
]
RecordsArgument: TypeAlias = Annotated[
    Path, argument("RECORDS", "The records, CSV with a header or Parquet: one record per row.")
]
TrainingArgument: TypeAlias = Annotated[Path | None, argument("RECORDS", "The records, CSV or Parquet.")]
# Hidden, so that the help of a fit fits a screen: --not-private names it.
WeightsOption: TypeAlias = Annotated[
    str | None, option("COLUMN", "Not private: how many records each row counts as.", hidden=True)
]
SummaryOption: TypeAlias = Annotated[Path | None, option("FILE", "In place of records: of glassine summarize.")]
ReleaseArgument: TypeAlias = Annotated[Path, argument("RELEASE", "The release of surrogate trees, signed or not.")]
LedgerArgument: TypeAlias = Annotated[Path, argument("LEDGER", "The ledger, a SQLite file.")]

DomainOption: TypeAlias = Annotated[Path | None, _DOMAIN]
StepsOption: TypeAlias = Annotated[
    Path | None,
    option("FILE", "Steps of scrubbing, JSON: scrub writes them, and they are done again to verify the copy."),
]
RequiredDomainOption: TypeAlias = Annotated[Path, _DOMAIN]
PersonColumnOption: TypeAlias = Annotated[str | None, option("COLUMN", "Column that says whose record each is.")]
TargetRangeOption: TypeAlias = Annotated[str | None, option("LO,HI", "The public range of a number to predict.")]
TargetOption: TypeAlias = Annotated[str | None, _TARGET]
RequiredTargetOption: TypeAlias = Annotated[str, _TARGET]
DataOption: TypeAlias = Annotated[Path | None, option("FILE", "Training records, CSV or Parquet.")]
HoldoutOption: TypeAlias = Annotated[
    Path | None, option("FILE", "Records of the same population that were not used for training, CSV or Parquet.")
]
ClassesOption: TypeAlias = Annotated[str | None, option("A,B", "The public classes, separated by commas.")]
ConfidenceOption: TypeAlias = Annotated[float, option("NUMBER", "Confidence of each interval.")]
LedgerOption: TypeAlias = Annotated[
    Path | None, option("FILE", "Ledger to charge, with --dataset; beside its note, --note TEXT.")
]
DatasetOption: TypeAlias = Annotated[str | None, option("NAME", "Name of the dataset in the ledger.")]
LedgerDeltaOption: TypeAlias = Annotated[float, option("NUMBER", "Delta, 0 for pure differential privacy.")]
RecordsPerPersonOption: TypeAlias = Annotated[
    int | None, option("M", "The unit is one person, with at most M records.", shown_default="one record")
]
PolicyOption: TypeAlias = Annotated[
    Path | None,
    option("NAME|FILE", "Limits: default, sacro, strict, tre, average, or a TOML file.", shown_default="default"),
]
ReportOption: TypeAlias = Annotated[Path | None, output_option(f"Write the report: {FORMATS}.")]
AuditOption: TypeAlias = Annotated[Path | None, option("FILE", f"Audit it and write the report: {FORMATS}.")]
AudienceOption: TypeAlias = Annotated[
    Literal["checker", "public"], option(None, "For the public, what is for the checker only is left out.")
]
SeedOption: TypeAlias = Annotated[
    int, option("N", "Random seed. The same seed gives the same result.", callback=at_least(0))
]
UnprotectedSeedOption: TypeAlias = Annotated[
    int | None, option("N", "Fix the random seed. Voids the guarantee.", callback=at_least(0))
]
OverwriteOption: TypeAlias = Annotated[bool, flag("Replace files that exist.")]
JsonOption: TypeAlias = Annotated[bool, option(None, "Print JSON.", names=("--json",))]
TrustOption: TypeAlias = Annotated[bool, flag("Load a pickle. A pickle is code: only from a source you trust.")]
NoiseOption: TypeAlias = Annotated[
    str | None,
    option(
        "KIND:SCALE", "How counts were blurred: geometric, laplace or gaussian and the scale, or rounded and the step."
    ),
]


class ModelFileOptions(OptionGroup, heading="Reading the model"):
    """How the file of a model is read."""

    tree: int | None = option("N", "Of a file with several trees: the one to read, from 0.", callback=at_least(0))
    trust_pickle: TrustOption = False

    @property
    def words(self) -> list[str]:
        """The options that were given, as they are typed."""
        tree = [] if self.tree is None else [f"--tree={self.tree}"]
        return [*tree, *["--trust-pickle"] * self.trust_pickle]


def _listed_texts(text: str) -> str:
    """Return a list of texts unchanged; raise if it lists none."""
    if not any(next(csv.reader([text]), [])):
        raise typer.BadParameter(f"list texts separated by commas, such as N,-9, got {text!r}.")
    return text


class LimitOptions(OptionGroup, heading="Limits"):
    """What a command may cost."""

    cpu_limit: float = option(
        "SECONDS", "Most processor seconds; what is not done by then is unknown.", SECONDS, callback=above(0)
    )
    memory_limit: float | None = option("BYTES", "Most memory.", shown_default="4e9", callback=above(0))

    @property
    def budget(self) -> Budget:
        """The limits as a budget whose time begins now."""
        return Budget(seconds=self.cpu_limit, memory=MEMORY if self.memory_limit is None else self.memory_limit)


class RecordsFileOptions(OptionGroup, heading="Reading the records"):
    """How files of records are written, where it does not follow from their header."""

    separator: str | None = option(
        "MARK",
        'What separates the columns of a CSV file: one character, or comma, semicolon, tab, bar or space; ", " if '
        "blanks after it are no part of a value.",
        shown_default="the one in the header, and blanks after it unless the domain declares them",
    )
    encoding: str | None = option(
        "NAME",
        "Encoding of a CSV file, such as windows-1250.",
        shown_default="UTF-16 if marked, else UTF-8, and windows-1252 for lines that are not UTF-8",
    )
    decimal_comma: bool = flag("Numbers of a CSV file are written as 1,5 or 1.234,5.")
    missing: list[str] | None = option(
        "A,COLUMN=B",
        "Texts that stand for a missing value, of every column or of one (Q*=9: of those that begin with Q), "
        "beside the empty one, ?, NA, NaN and nan; may be repeated.",
        parser=_listed_texts,
    )
    header: bool = flag("The first line holds names, though they look like values.")
    names: str | None = option("A,B", "Names of the columns, of a CSV file without a header.")

    @property
    def dialect(self) -> CsvDialect:
        """How files are read."""
        from glassine.records.headers import CsvDialect

        texts = [text for line in csv.reader(self.missing or [], skipinitialspace=True) for text in line]
        pairs = [(name, missing) for name, _, missing in (text.rpartition("=") for text in texts)]
        return CsvDialect(
            separator=self.separator,
            encoding=self.encoding,
            decimal_comma=self.decimal_comma,
            missing=tuple(text for name, text in pairs if not name),
            missing_in=tuple(pair for pair in pairs if pair[0]),
            header=self.header,
            names=() if self.names is None else words_of(self.names, "--names", "names"),
        )

    @property
    def words(self) -> list[str]:
        """The options that were given, as they are typed."""
        missing = [("missing", texts) for texts in self.missing or []]
        settings = [("separator", self.separator), ("encoding", self.encoding), ("names", self.names), *missing]
        flags = ["--decimal-comma"] * self.decimal_comma + ["--header"] * self.header
        return [*(f"--{name}={value}" for name, value in settings if value is not None), *flags]


ExcludeOption: TypeAlias = Annotated[
    list[str] | None, option("COLUMN", "Column to leave out, such as an identifier; repeat it for more.")
]


class ColumnOptions(OptionGroup, heading=RecordsFileOptions.heading):
    """Which columns of the records are attributes."""

    exclude: ExcludeOption = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are left out."""
        return tuple(self.exclude or ())


class PublicOptions(OptionGroup, heading="Privacy"):
    """What is publicly known about the records, or owned up to be taken from them."""

    domain: DomainOption = None
    classes: ClassesOption = None
    infer_domain: bool = flag("Take the domain from the data. Voids the guarantee.")
    infer_classes: bool = flag("Take the classes from the data. Voids the guarantee.")


class BlackBoxOptions(OptionGroup, heading="The black box"):
    """What decides."""

    black_box: str | None = option(
        "FILE|MODULE:FUNCTION",
        "What decides: an ONNX or skops file (pip install 'glassine[formats]'), or a Python function that "
        "maps records to labels. A module is code that runs.",
    )
    takes: Literal["array", "pandas", "polars"] = option(
        None, "What the black box takes: a data frame, or a NumPy array without names.", "polars"
    )


def words_of(text: str, name: str, what: str) -> tuple[str, ...]:
    """Return the words that an option lists, separated by commas; one with a comma stands in double quotes."""
    words = tuple(next(csv.reader([text], skipinitialspace=True), []))
    if not words or not all(words) or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidParameterError(
            f"{name} must list {what} separated by commas, got {text!r}.",
            remedy="Put a name with a comma in double quotes.",
        )
    return words


@contextlib.contextmanager
def numeric(problem: str, remedy: str) -> Iterator[None]:
    """Raise InvalidParameterError where what an option says is no number meanwhile."""
    try:
        yield
    except ValueError:
        raise InvalidParameterError(problem, remedy=remedy) from None


def filled_in(group: OptionGroup, *left_out: str) -> dict[str, Any]:
    """Return the options of a group that have a value, by the names of their fields, which are those of parameters."""
    names = [field.name for field in dataclasses.fields(group) if field.name not in left_out]
    return {name: value for name in names if (value := getattr(group, name)) is not None}


def options_in(*groups: type[OptionGroup]) -> dict[str, str]:
    """Return the options of groups, and of the groups in them, by the names of their fields."""
    out: dict[str, str] = {}
    for group in groups:
        for field, hint in fields_of(group):
            if is_group(hint):
                out |= options_in(hint)
            else:
                info = get_args(hint)[1]
                info = info.metadata[INFO] if isinstance(info, dataclasses.Field) else info
                out[field.name] = (*info.param_decls, option_of(field.name))[0]
    return out


def number_of(text: str, problem: str, remedy: str) -> float:
    """Return the number that an option states."""
    with numeric(problem, remedy):
        return float(text)


def noise_of(text: str | None) -> CountNoise | None:
    """Return noise that is written as kind and scale."""
    if text is None:
        return None
    from glassine.attacks.disclosure import CountNoise

    kind, _, scale = text.partition(":")
    with numeric(
        f"--noise must be a kind and a scale, as in geometric:20 or rounded:5, got {text!r}.",
        "Ask the publisher for both.",
    ):
        number = float(scale)
    stated: Any = kind
    return CountNoise(stated, number)
