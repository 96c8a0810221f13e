"""``glassine domain``: drafts of domains, and checks."""

from __future__ import annotations

import csv
import io
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from glassine.cli.naming import listed
from glassine.cli.options import (
    DataOption,
    ExcludeOption,
    JsonOption,
    LimitOptions,
    ModelFileOptions,
    OptionGroup,
    OverwriteOption,
    RecordsArgument,
    RecordsFileOptions,
    argument,
    option,
    output_option,
)
from glassine.cli.process import concluding
from glassine.cli.progress import stages
from glassine.cli.reading import load_judged, of_header, read_records, stated_domain
from glassine.cli.writing import check_ending, check_outputs, print_value, say, tell
from glassine.domain import Between, Category, OneOf
from glassine.domain.domain import from_dict, to_dict, to_text
from glassine.domain.forms import form_of_literals, read_codebook, to_toml, toml_of
from glassine.domain.toml import FILL_IN, SCHEMA
from glassine.errors import InvalidDataError, InvalidParameterError, UnreadableFileError, worded
from glassine.files import write_text
from glassine.records.columns import values_of
from glassine.records.headers import RecordsFile, open_text
from glassine.records.purpose import Purpose
from glassine.records.scalars import written_twice

if TYPE_CHECKING:
    from glassine.data.record_table import RecordTable
    from glassine.domain import Domain, Literal
    from glassine.formats import PublishedModel
    from glassine.models import TreeEnsemble

DraftOption = Annotated[Path | None, output_option("Write the domain, JSON or TOML.", shown_default="standard output")]
ENDINGS = (".json", ".toml")
"""Names that a file of a domain may end in."""


Broken: TypeAlias = dict[str, dict[str, list[int]]]
"""Rows by reason, by attribute."""

LAST_PART = re.compile(r"([0-9]+|(?<=[ _.-])[^ _.-]+)$")
"""The part in which the names of columns of one kind differ, such as code_a and code_b."""
SHOWN = 10
"""Most rows or columns that a line names."""

OF_REMARKS = {"decimal_comma=True": "--decimal-comma", "missing": "--missing", "missing_in": "--missing"}
"""Options by the parameters that remarks mark."""

PERSONAL = ("identifier?", "dates", "free text")
"""What a remark says of columns whose values can name people."""


TestedOption: TypeAlias = Annotated[
    Path | None, option("FILE", "Take the attributes that this model tests, and no others.")
]


class DraftOptions(OptionGroup, heading="The draft"):
    """What a draft holds."""

    exclude: ExcludeOption = None
    include: list[str] | None = option(
        "COLUMN", "Column to keep though it looks like an identifier, dates or free text; repeat it for more."
    )
    model: list[Path] | None = option("FILE", "Take the attributes that this model tests, and no others.")
    code: list[str] | None = option(
        "COLUMN=CODE:LABEL", "Special code of a number, such as income=-9:refused; repeat it for more."
    )
    reading: ModelFileOptions


def infer_command(
    data: RecordsArgument,
    wish: DraftOptions,
    written: RecordsFileOptions,
    limits: LimitOptions,
    output: DraftOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Draft a domain from records, each attribute marked as inferred.

    Replace each inferred range and category with a public one.

    Columns that look like identifiers, dates or free text are left out, as a draft lists their values; remarks on
    standard error name them, and stand as comments in a draft in TOML.

    Exit status: 0 when the draft was made, with or without remarks, 2 if not.
    """
    from glassine.data.identifiers import repeats
    from glassine.data.inference import draft
    from glassine.data.remarks import header_values, remarks
    from glassine.data.sources import NESTED

    models, reading, exclude, include = wish.model or [], wish.reading, wish.exclude, wish.include
    check_outputs([output], [data, *models], overwrite=overwrite)
    check_ending(output, ENDINGS, "domains are written as JSON or TOML")
    loaded = [load_judged(one, None, reading.trust_pickle, reading.tree).model for one in models]
    tested = {literal.attribute for one in loaded for literal in tested_literals(one)} if models else None
    with stages() as progress:
        progress("reading the records")
        table = of_header(read_records(data, written, Purpose.AUDIT), "the draft")
        nested = () if table.source is None else table.source.nested
        values = 0 if written.header else header_values(table)
        if 2 * values >= len(table.names):
            raise UnreadableFileError(
                f"{data} seems to have no header: {values} of the {len(table.names)} names in its first line are "
                "also values of their columns.",
                remedy="Add a line with the names of the columns, or give --header if these are names.",
                path=data,
            )
        for option, names in (("--exclude", exclude), ("--include", include)):
            for name in names or []:
                if name not in (*table.names, *nested):
                    raise InvalidDataError(
                        f"{option} names {name!r}, which is not a column.{listed(name, table.names)}"
                    )
        progress("looking at the columns")
        wanted = [
            name
            for name in (*table.names, *nested)
            if name not in (exclude or []) and (tested is None or name in tested)
        ]
        left = [name for name in wanted if name not in nested]
        if not left:
            raise InvalidDataError(
                f"{' and '.join(map(str, models))} {'test' if len(models) > 1 else 'tests'} none of the columns.",
                remedy=f"Check their names.{listed('', table.names)}",
            )
        domain, undeclared = draft(table.restrict(left), _special(wish.code or [], left))
        remarked = remarks(table.restrict(domain.names))
    lists = {name: f"column {name!r} {NESTED}. Write each part as a column." for name in wanted if name in nested}
    for name, reason in {**undeclared, **lists}.items():
        tell(f"glassine: {name}: left out: {reason}")
    _tell_of_gaps(data, written, domain, table)
    # Of free text, the remark says enough; of another column whose values recur, the line below says so.
    repeated = {one.column: one for one in repeats(table) if "free text" not in remarked.get(one.column, "")}
    first = {name: text for name, text in remarked.items() if name not in repeated or "identifier?" not in text}
    for text, names in _alike(first).items():
        tell(f"glassine: {_listed(names)}: {text}")
    if stated := _codes(first, table.names):
        tell(f"glassine: To state these codes as missing: {stated}")
        tell("glassine: To keep them apart, as special codes: --code=COLUMN=CODE:LABEL for each")
    for repeat in repeated.values():
        tell(f"glassine: {repeat}")
    if repeated:
        tell(
            "glassine: If such a column identifies people, a guarantee for one record does not cover all records of a "
            "person. Then give it to audits as --person, and to fits with --records-per-person as well."
        )
    kept = set(include or [])
    # What the model tests is needed, whatever it looks like.
    personal = [
        name for name, remark in remarked.items() if tested is None and any(word in remark for word in PERSONAL)
    ]
    dropped = dict.fromkeys(name for name in personal if name not in kept)
    if len(dropped) == len(domain):
        raise InvalidDataError(
            "every column looks as if it names people.",
            remedy=f"Give --include for those to keep, such as --include={shlex.quote(personal[0])}.",
        )
    domain = domain.restrict([name for name in domain if name not in dropped])
    if dropped:
        tell(f"glassine: Left out of the draft. To keep them: {shlex.join(f'--include={name}' for name in dropped)}")
    doubtful = [name for name, remark in remarked.items() if "Leave it out" in remark and name not in dropped]
    if doubtful:
        tell(f"glassine: To leave them out: {shlex.join(f'--exclude={name}' for name in doubtful)}")
    _write(domain, output, {name: [str(worded(remark, OF_REMARKS))] for name, remark in remarked.items()})
    if output is not None:
        from glassine.report.wording import plural

        count = plural(len(domain), "attribute")
        said = f"{output}: {count}, all inferred. Replace bounds and categories by public ones."
        if written.words:
            read = shlex.join([str(data), *written.words])
            said += f"\nNext, with these options in every command: glassine domain check {output} --data {read}"
        with concluding():
            say(said)


def _special(stated: Sequence[str], names: Sequence[str]) -> dict[str, dict[float, str]]:
    """Return the special codes of each column, and their labels."""
    out: dict[str, dict[float, str]] = {}
    for text in stated:
        column, _, rest = text.rpartition("=")
        number, _, label = rest.partition(":")
        try:
            value = int(number) if re.fullmatch(r"-?[0-9]{1,300}", number) else float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or not label:
            raise InvalidParameterError(
                f"--code is {text!r}, which is not COLUMN=CODE:LABEL.", remedy="Write income=-9:refused."
            )
        if column not in names:
            raise InvalidDataError(f"--code names {column!r}, which is not a column.{listed(column, names)}")
        if value in out.get(column, {}):
            raise InvalidParameterError(f"--code gives {column}={number} twice.", remedy="Drop one.")
        out.setdefault(column, {})[value] = label
    return out


def _alike(remarks: Mapping[str, str]) -> dict[str, list[str]]:
    """Return remarks with options in place of parameters, and the columns of each."""
    alike: dict[str, list[str]] = {}
    for name, remark in remarks.items():
        alike.setdefault(worded(remark, OF_REMARKS), []).append(name)
    return alike


def _codes(remarks: Mapping[str, str], names: Sequence[str]) -> str:
    """Return the option that states the codes of remarks as missing, as typed; empty without any."""
    # Columns with one beginning, such as q1 and q2, are named together where no other column has it.
    pairs = [(name, code) for name, remark in remarks.items() for code in re.findall(r"COLUMN=(-?\d+)", remark)]
    stated: dict[str, None] = {}
    for name, code in pairs:
        start = LAST_PART.sub("", name)
        alike = [column for column in names if column.startswith(start)]
        together = len(alike) > 1 and start != "" and all((column, code) in pairs for column in alike)
        stated[f"{start}*={code}" if together else f"{name}={code}"] = None
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(stated)
    return shlex.quote(f"--missing={line.getvalue()}") if stated else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _write(domain: Domain, output: Path | None, comments: Mapping[str, list[str]]) -> None:
    """Write a domain as JSON, or as TOML with comments; print it if there is no file."""
    if output is not None and output.suffix.lower() == ".toml":
        write_text(to_toml(domain, comments) + "\n", output)
    elif output is not None:
        domain.to_json(output)
    else:
        with concluding():
            say(to_text(domain).rstrip())


def tested_literals(model: PublishedModel | TreeEnsemble) -> list[Literal]:
    """Return the conditions of a model, thresholds and groups of an additive one among them."""
    from glassine.models import AdditiveModel, NumericBins, RegressionModel, TreeEnsemble

    if isinstance(model, TreeEnsemble):
        listed = () if model.scoring is None else model.scoring.forest.literals
        ends = [Between(name, hi=float(own[k])) for name, own in model.thresholds.items() for k in (0, -1)]
        return [*ends, *(literal for literal in listed if isinstance(literal, OneOf))]
    if isinstance(model, RegressionModel):
        read = model.recipe
        return [OneOf(n, a.values) if isinstance(a, Category) else Between(n) for n, a in read.items()]
    if not isinstance(model, AdditiveModel):
        return list(model.literals)
    literals: list[Literal] = []
    for bins in (bins for term in model.terms for bins in term.bins):
        if isinstance(bins, NumericBins):
            # A number of one bin is read all the same, as it can be missing.
            literals += [Between(bins.attribute, hi=cut) for cut in bins.cuts] or [Between(bins.attribute)]
        else:
            values = tuple(value for group in bins.groups for value in group if value is not None)
            literals.append(OneOf(bins.attribute, values))
    return literals


def new_command(
    reading: ModelFileOptions,
    model: TestedOption = None,
    codebook: Annotated[
        Path | None, option("FILE", "Take types and values from a code book: CSV of name, type, values.")
    ] = None,
    output: DraftOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write a domain without any record: from a code book, or a form to fill in from what a model tests.

    With both, what the code book lacks is left open. A form is TOML: "?" stands for what is to be filled in.

    Exit status: 0 when it was written, 2 if not.
    """
    if model is None and codebook is None:
        raise InvalidParameterError("a domain needs a source.", remedy="Give --model, --codebook or both.")
    check_outputs([output], [model, codebook], overwrite=overwrite)
    check_ending(output, ENDINGS, "domains are written as JSON or TOML")
    entries = [] if codebook is None else to_dict(read_codebook(codebook))["attributes"]
    declared = {entry["name"]: entry for entry in entries}
    comments: dict[str, list[str]] = {}
    if model is not None:
        published = load_judged(model, None, reading.trust_pickle, reading.tree).model
        form, comments = form_of_literals(tested_literals(published))
        entries = [declared.get(entry["name"], entry) for entry in form]
        comments = {name: lines for name, lines in comments.items() if name not in declared}
    if not entries:
        raise InvalidDataError(
            f"{model} tests no attribute, so that it needs no domain.", remedy="Audit it without one."
        )
    open_ones = sum(FILL_IN in entry.values() for entry in entries)
    if not open_ones:
        _write(from_dict({"schema": SCHEMA, "attributes": entries}), output, comments)
    elif output is None or output.suffix.lower() == ".toml":
        text = toml_of(entries, (), comments)
        if output is not None:
            write_text(text + "\n", output)
        else:
            with concluding():
                say(text)
    else:
        raise InvalidParameterError(
            f"{open_ones} of {len(entries)} attributes have bounds to fill in, which JSON has no room for.",
            remedy="Let the name of the output end in .toml.",
        )
    if output is not None:
        from glassine.report.wording import plural

        left = f' Fill in the bounds of {open_ones}: replace each "{FILL_IN}".' if open_ones else ""
        with concluding():
            say(f"{output}: {plural(len(entries), 'attribute')}.{left}")


def check_command(
    domain: Annotated[Path, argument("DOMAIN", "The domain, JSON or TOML.")],
    written: RecordsFileOptions,
    limits: LimitOptions,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a domain, and records against it. Rows are numbered as in a spreadsheet; in JSON, records count from 0.

    Exit status: 0 fine, 1 records are outside the domain, 2 bad input.
    """
    from glassine.data.outside import broken_rules
    from glassine.data.remarks import remarks

    declared = stated_domain(domain)
    broken: Broken = {}
    n_records = None
    with stages() as progress:
        progress("reading the records")
        if data is not None:
            table = read_records(data, written, Purpose.AUDIT, declared)
            n_records, broken = len(table), broken_rules(declared, table)
            _tell_of_lines(data, written, declared, table)
            outside = [name for name in broken if name in table.names]
            for text, names in _alike(remarks(table.restrict(outside)) if outside else {}).items():
                if "--" in text:
                    tell(f"glassine: {_listed(names)}: {text}")
    _tell_of_spellings(declared)
    size = declared.size()
    inferred = [name for name in declared if declared[name].inferred]
    if as_json:
        summary = {
            "attributes": len(declared),
            "groups": len(declared.groups),
            "possible_records": None if size is None else str(size),
            "inferred": inferred,
            "violations": {name: _number(reasons) for name, reasons in broken.items()},
            "rows": broken,
        }
        print_value(summary, True)
    else:
        print_value("\n".join(_lines(declared, size, inferred, broken, n_records)), False)
    raise typer.Exit(1 if broken else 0)


def _tell_of_spellings(declared: Domain) -> None:
    """Say which declared texts write one number: a column of numbers can hold one of them alone."""
    for name in declared:
        attribute = declared[name]
        for texts in written_twice(values_of(attribute)) if isinstance(attribute, Category) else ():
            listed = " and ".join(f"`{text}`" for text in texts)
            tell(f"glassine: {name}: {listed} write one number. Where the column holds numbers, they are one value.")


def _tell_of_lines(data: Path, written: RecordsFileOptions, declared: Domain, table: RecordTable) -> None:
    """Say how many records a private fit would read otherwise, which takes each line for one."""
    from glassine.data.sources import differing

    if table.source is None or table.source.typed:
        return
    file = RecordsFile(path=data, dialect=written.dialect)
    try:
        n = differing(file, data.read_bytes(), {name: declared[name] for name in declared})
    except UnreadableFileError as error:
        tell(f"glassine: a private fit refuses this file: {error}")
        return
    if n:
        from glassine.report.wording import plural

        tell(
            f"glassine: a private fit, which reads each line alone, reads {plural(n, 'record')} of {data} otherwise: "
            "with a line break within quotes, a quote that is not closed, or a carriage return within a line. Write "
            "the records as Parquet for it."
        )


def _tell_of_gaps(data: Path, written: RecordsFileOptions, drafted: Domain, table: RecordTable) -> None:
    """Say which texts of a file were read as missing values without having been stated as such."""
    from glassine.data.csv_records import gap_texts

    names = [name for name in drafted if drafted[name].missing]
    if table.source is None or table.source.typed or not names or not data.is_file():
        return
    text = open_text(RecordsFile(path=data, dialect=written.dialect), data.read_bytes(), {}, purpose=Purpose.AUDIT)
    columns: dict[tuple[str, ...], list[str]] = {}
    for name, texts in gap_texts(text, names).items():
        if own := tuple(gap for gap in texts if gap not in written.dialect.stated(name)):
            columns.setdefault(own, []).append(name)
    for own, alike in columns.items():
        said = " and ".join(f"`{gap}`" for gap in own)
        tell(
            f"glassine: {_listed(alike)}: {said} {'is' if len(own) == 1 else 'are'} read as missing. To keep "
            f"{'it' if len(own) == 1 else 'one'} as a value of a category, list it among the values."
        )


def _number(reasons: dict[str, list[int]]) -> int:
    """Return how many records break a rule for one of some reasons; each has one."""
    return sum(map(len, reasons.values()))


def _lines(domain: Domain, size: int | None, inferred: list[str], broken: Broken, n_records: int | None) -> list[str]:
    from glassine.data.deviations import bounds, sentence
    from glassine.report.wording import plural, row_name

    worlds = "uncountably many" if size is None else f"{size:,}" if size < 10**15 else f"{float(size):.3g}"
    possible = "possible record" if size == 1 else "possible records"
    lines = [f"{plural(len(domain), 'attribute')}, {plural(len(domain.groups), 'constraint')}, {worlds} {possible}."]
    if inferred:
        lines.append(f"Inferred from data: {_listed(inferred)}.")
    alike: dict[tuple[str, str], list[str]] = {}
    for name, reasons in broken.items():
        alike.setdefault((bounds(name, domain), repr(reasons)), []).append(name)
    for (whole, _), names in alike.items():
        reasons = broken[names[0]]
        lines.append(sentence(_listed(names), _number(reasons), whole))
        for why, rows in reasons.items():
            some = ", ".join(row_name(row).removeprefix("row ") for row in rows[:SHOWN])
            more = " and others" if len(rows) > SHOWN else ""
            lines.append(f"  {why}: {len(rows):,} ({'row' if len(rows) == 1 else 'rows'} {some}{more})")
    if n_records is not None and not broken:
        lines.append("The record fits the domain." if n_records == 1 else f"All {n_records:,} records fit the domain.")
    return lines
