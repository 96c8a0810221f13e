"""Arguments and options that several commands share: one name, one meaning, one sentence; and groups of them.

A group is a class whose fields are options. :func:`command` makes a command of a function that takes groups, and
:class:`GroupedCommand` prints its help with a heading for each.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import gc
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
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
from typer.core import TyperCommand

from glassine.cli.naming import OF_AUDITS, in_options, options_of
from glassine.cli.steps import option_of
from glassine.errors import InvalidParameterError, spoken_by
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


YOUNG = 5_000_000
"""Objects more than before from which a command with limits, which ends soon, looks for garbage in cycles."""

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


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function of single options, as the parser reads them, for one whose parameters may be groups."""
    hints = get_type_hints(function, include_extras=True)
    parameters = inspect.signature(function).parameters.values()

    def run(**values: Any) -> None:
        with (
            spoken_by(of_audits),
            in_options(options_of("memory_limit", "cpu_limit")),
            contextlib.ExitStack() as limited,
        ):
            gathered = {one.name: _gathered(one.name, hints[one.name], values) for one in parameters}
            for group in gathered.values():
                limits = group if isinstance(group, LimitOptions) else getattr(group, "limits", None)
                if isinstance(limits, LimitOptions):
                    limited.enter_context(limits.budget.applied())
                    # Models of thousands of nodes hold no cycles: looking for them takes a tenth of their audit.
                    gc.set_threshold(YOUNG)
            function(**gathered)

    flat = [one for each in parameters for one in _options(each.name, hints[each.name], each.default, None)]
    own = {option_of(one.name) for one in flat} | {word for one in flat for word in _declared(one)}
    # What another command prints of an audit says whose option it is.
    of_audits = {
        name: said if said in own or not said.startswith("--") else f"glassine audit ... {said}"
        for name, said in OF_AUDITS.items()
    }
    run.__doc__ = function.__doc__
    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]  # inspect reads it, typeshed lacks it
    run.__annotations__ = {one.name: one.annotation for one in flat}
    return run


def _declared(parameter: inspect.Parameter) -> tuple[str, ...]:
    """Return the names of an option, where they are not that of its parameter."""
    return tuple(get_args(parameter.annotation)[1].param_decls or ())


def _options(name: str, hint: object, default: object, heading: str | None) -> Iterator[inspect.Parameter]:
    """Yield the options of a parameter: itself, or those of its group and of the groups in it."""
    if _is_group(hint):
        for field, kind in _fields(hint):
            yield from _options(field.name, kind, field.default, hint.heading)
        return
    kind, info = get_args(hint)
    info = copy(info.metadata[INFO] if isinstance(info, dataclasses.Field) else info)
    info.rich_help_panel = heading
    default = inspect.Parameter.empty if default is dataclasses.MISSING else default
    if kind is bool and default is False and not info.param_decls:
        info.param_decls = (option_of(name),)
    annotation: Any = Annotated[kind, info]
    # By name alone, so that what is required may follow what is not.
    yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _is_group(hint: object) -> TypeGuard[type[OptionGroup]]:
    return isinstance(hint, type) and issubclass(hint, OptionGroup)


def _fields(group: type[OptionGroup]) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    """Yield the fields of a group, each with its type and option."""
    hints = get_type_hints(group, include_extras=True)
    for field in dataclasses.fields(group):
        own = field.metadata.get(INFO)
        yield field, hints[field.name] if own is None else Annotated[hints[field.name], own]


def _gathered(name: str, hint: object, values: dict[str, Any]) -> Any:
    """Return the value of a parameter, a group made of its options."""
    if not _is_group(hint):
        return values[name]
    return hint(**{field.name: _gathered(field.name, kind, values) for field, kind in _fields(hint)})


WIDEST = 38
"""Most characters of an option and its values that share a line with what they mean."""


class Unconverted:
    """Converts the value of an option where that takes more than its type: validators take the parser time to build."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value in the option's type."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if value is param.default:
            return value
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if info.parser is None and kind in (str, Path):
            return kind(value)
        if info.parser is None and kind in (list[str], list[Path]):
            return list(map(get_args(kind)[0], value))
        if info.parser is not None and isinstance(value, str):
            with contextlib.suppress(ValueError, typer.BadParameter):
                return info.parser(value)
        if kind in (int, float) and (info.min, info.max, info.parser) == (None,) * 3 and value.isascii():
            with contextlib.suppress(ValueError):  # the parser words it
                return kind(value)
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def without_validators(params: list[Any]) -> list[Any]:
    """Return options that build no validator which their values can do without."""
    for param in params:
        # Other versions of the parser have no such validators.
        if getattr(param, "_runtime_param", ...) is None:
            param._runtime_param = Unconverted()
    return params


def names_one_file(param: Any) -> bool:
    """Return whether the value of an option is one file or folder, or the form of what is written."""
    words = (param.metavar or "").replace("|", " ").split()
    named = not {"FILE", "FOLDER", "PATH"}.isdisjoint(words) or not {"--ci", "--to"}.isdisjoint(param.opts)
    return param.param_type_name == "option" and not param.multiple and named


class GroupedCommand(TyperCommand):
    """A command whose help has a heading for each group of options, defaults in brackets."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, that of the help among them."""
        return without_validators(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option of one file or form is an error if it is given twice, as one would be lost."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        for name, times in Counter(max(param.opts, key=len) for param in order if names_one_file(param)).items():
            if times > 1:
                raise InvalidParameterError(
                    f"{name} is given {times} times, and takes one value.", remedy="Give it once a run."
                )
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the options without a heading of their own, then the groups."""
        params = sorted(self.get_params(ctx), key=lambda param: param.param_type_name != "argument")
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        folded = False
        for param in params:
            heading = getattr(param, "rich_help_panel", None) or "Options"
            if heading == RecordsFileOptions.heading and "glassine domain" not in ctx.command_path:
                folded = True
                continue
            if (record := param.get_help_record(ctx)) is not None:
                name, text = record[0].split(" <")[0] if param.param_type_name == "argument" else record[0], record[1]
                default = text.replace("[default: (", "[").replace("[default: ", "[").replace(")]", "]")
                sections.setdefault(heading, []).append((name, default))
        if folded:
            # The same in every command that reads records: in full, they would fill a third of a screen.
            help_text = "Show this message and exit; --separator and more: glassine domain infer -h."
            sections["Options"] = [
                (names, help_text if "--help" in names else text) for names, text in sections["Options"]
            ]
        formatter.write_paragraph()
        for heading, records in sections.items():
            formatter.write_heading(heading)
            with formatter.indentation():
                formatter.write_dl(records, col_max=_column(records, formatter))


def _column(records: list[tuple[str, str]], formatter: Any) -> int:
    """Return the width of the options with which a group takes the fewest lines: wider ones stand on their own."""

    def lines(width: int) -> int:
        written = type(formatter)(width=formatter.width)
        written.current_indent = formatter.current_indent
        written.write_dl(records, col_max=width)
        return str(written.getvalue()).count("\n")

    # Of equal ones the widest, where most stand beside their meaning.
    return min(sorted({min(len(name), WIDEST) for name, _ in records}, reverse=True), key=lines)


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
LedgerOption: TypeAlias = Annotated[Path | None, option("FILE", "Ledger to charge, with --dataset.")]
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
        for field, hint in _fields(group):
            if _is_group(hint):
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
