"""``glassine domain``: drafts of domains, and checks."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from glassine.cli.naming import listed
from glassine.cli.options import DataOption, JsonOption, OverwriteOption, RecordsArgument, RecordsFileOptions
from glassine.cli.progress import stages
from glassine.cli.reading import read_records
from glassine.cli.writing import check_outputs, print_value, say, tell
from glassine.errors import InvalidDataError, UnreadableFileError, worded

if TYPE_CHECKING:
    from glassine.domain import Domain

__all__ = ["check_command", "infer_command"]


Broken: TypeAlias = dict[str, dict[str, list[int]]]
"""Rows by reason, by attribute."""

SHOWN = 10
"""Most rows that a line names."""

OF_REMARKS = {"decimal_comma=True": "--decimal-comma"}
"""Options by the parameters that remarks mark."""

PERSONAL = ("identifier?", "dates", "free text")
"""What a remark says of columns whose values can name people."""


def infer_command(
    data: RecordsArgument,
    written: RecordsFileOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the domain, JSON.", show_default="standard output"),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="COLUMN", help="Column to leave out, such as an identifier; repeat it for more."
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="COLUMN",
            help="Column to keep though it looks like an identifier, dates or free text; repeat it for more.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Draft a domain from records, each attribute marked as inferred. Replace what only the data told.

    Columns that look like identifiers, dates or free text are left out, as a draft lists their values; remarks on
    standard error name them.

    Exit status: 0 when the draft was made, whatever the remarks, 2 if not.
    """
    from glassine.data.inference import draft, header_values, remarks, repeats
    from glassine.domain.domain import to_dict

    check_outputs([output], [data], overwrite=overwrite)
    with stages() as progress:
        progress("reading the records")
        table = read_records(data, written)
        values = 0 if written.header else header_values(table)
        if 2 * values >= len(table.names):
            raise UnreadableFileError(
                f"{data} seems to have no header: {values} of the {len(table.names)} names in its first line are "
                "values of their columns, too.",
                remedy="Add a line with the names of the columns, or give --header if these are names.",
                path=data,
            )
        for option, names in (("--exclude", exclude), ("--include", include)):
            for name in names or []:
                if name not in table.names:
                    raise InvalidDataError(
                        f"{option} names {name!r}, which is not a column.{listed(name, table.names)}"
                    )
        progress("looking at the columns")
        domain, undeclared = draft(table.restrict(name for name in table.names if name not in (exclude or [])))
        found = remarks(table.restrict(domain.names))
    for name, reason in undeclared.items():
        tell(f"glassine: {name}: left out: {reason}")
    for name, remark in found.items():
        tell(f"glassine: {name}: {worded(remark, OF_REMARKS)}")
    for repeat in repeats(table):
        tell(f"glassine: {repeat}")
    kept = set(include or [])
    personal = [name for name, remark in found.items() if any(word in remark for word in PERSONAL)]
    dropped = dict.fromkeys(name for name in personal if name not in kept)
    if len(dropped) == len(domain):
        raise InvalidDataError(
            "every column looks as if it names people.",
            remedy=f"Give --include for those to keep, such as --include={shlex.quote(personal[0])}.",
        )
    domain = domain.restrict([name for name in domain if name not in dropped])
    if dropped:
        tell(f"glassine: left out of the draft; to keep them: {shlex.join(f'--include={name}' for name in dropped)}")
    doubtful = [name for name, remark in found.items() if "Leave it out" in remark and name not in dropped]
    if doubtful:
        tell(f"glassine: to leave them out: {shlex.join(f'--exclude={name}' for name in doubtful)}")
    if output is None:
        print_value(to_dict(domain), True)
    else:
        domain.to_json(output)
        from glassine.report.wording import plural

        count = plural(len(domain), "attribute")
        say(f"{output}: {count}, all inferred. Replace bounds and categories by public ones.")


def check_command(
    domain: Annotated[Path, typer.Argument(metavar="DOMAIN", help="The domain, JSON.")],
    written: RecordsFileOptions,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a domain, and records against it. Rows are counted from 0, without the header.

    Exit status: 0 fine, 1 records break the domain, 2 bad input.
    """
    from glassine.data.inference import broken_rules
    from glassine.domain import Domain

    known = Domain.from_json(domain)
    with stages() as progress:
        progress("reading the records")
        broken = {} if data is None else broken_rules(known, read_records(data, written, known))
    size = known.size()
    inferred = [name for name in known if known[name].inferred]
    if as_json:
        summary = {
            "attributes": len(known),
            "groups": len(known.groups),
            "possible_records": None if size is None else str(size),
            "inferred": inferred,
            "violations": {name: _number(reasons) for name, reasons in broken.items()},
            "rows": broken,
        }
        print_value(summary, True)
    else:
        print_value("\n".join(_lines(known, size, inferred, broken, checked=data is not None)), False)
    raise typer.Exit(1 if broken else 0)


def _number(reasons: dict[str, list[int]]) -> int:
    """Return how many records break a rule for one of some reasons; each has one."""
    return sum(map(len, reasons.values()))


def _lines(domain: Domain, size: int | None, inferred: list[str], broken: Broken, *, checked: bool) -> list[str]:
    from glassine.report.wording import plural

    worlds = "uncountably many" if size is None else f"{size:,}" if size < 10**15 else f"{float(size):.3g}"
    possible = "possible record" if size == 1 else "possible records"
    lines = [f"{plural(len(domain), 'attribute')}, {plural(len(domain.groups), 'group')}, {worlds} {possible}."]
    if inferred:
        lines.append(f"Inferred from data: {', '.join(inferred)}.")
    for name, reasons in broken.items():
        count = _number(reasons)
        lines.append(f"{name}: {plural(count, 'record')} {'breaks' if count == 1 else 'break'} the domain.")
        for why, rows in reasons.items():
            some = ", ".join(f"{row:,}" for row in rows[:SHOWN]) + (" and others" if len(rows) > SHOWN else "")
            lines.append(f"  {why}: {len(rows):,} ({'row' if len(rows) == 1 else 'rows'} {some})")
    if checked and not broken:
        lines.append("Every record keeps the domain.")
    return lines
