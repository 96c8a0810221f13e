"""``glassine domain``: drafts of domains, and checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from glassine.cli.options import DataOption, JsonOption
from glassine.cli.reading import read_frame
from glassine.cli.writing import check_new, check_outputs, print_value

__all__ = ["check_command", "infer_command"]


def infer_command(
    data: Annotated[Path, typer.Argument(help="Records, CSV or Parquet.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the domain, JSON.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="Column to leave out, such as the target; repeat it for more.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists.")] = False,
) -> None:
    """Write a first domain read off records, each attribute marked as inferred. Replace what only the data told."""
    from glassine.domain import Domain
    from glassine.domain.inference import remarks
    from glassine.domain.serialization import to_dict
    from glassine.errors import InvalidDataError

    check_outputs([output], [data])
    check_new(output, overwrite=overwrite)
    frame = read_frame(data)
    for name in exclude or []:
        if name not in frame.columns:
            raise InvalidDataError(f"--exclude names {name!r}, which is not a column. Check its spelling.")
    kept = frame.drop(exclude or [])
    domain = Domain.infer(kept)
    for remark in remarks(kept):
        typer.echo(f"glassine: {remark} (--exclude leaves a column out.)", err=True)
    if output is None:
        print_value(to_dict(domain), True)
    else:
        domain.to_json(output)
        typer.echo(f"{output}: {len(domain)} attributes, all inferred. Replace bounds and categories by public ones.")


def check_command(
    domain: Annotated[Path, typer.Argument(help="The domain, JSON.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a domain, and records against it. Exit status: 0 fine, 1 records break it, 2 bad input."""
    from glassine.domain import Domain
    from glassine.domain.inference import violations

    known = Domain.from_json(domain)
    broken = {} if data is None else violations(known, read_frame(data, known))
    size = known.size()
    inferred = [name for name in known if known[name].inferred]
    if as_json:
        summary = {
            "attributes": len(known),
            "groups": len(known.groups),
            "possible_records": None if size is None else str(size),
            "inferred": inferred,
            "violations": broken,
        }
        print_value(summary, True)
    else:
        worlds = "uncountably many" if size is None else f"{size:,}" if size < 10**15 else f"{float(size):.3g}"
        typer.echo(f"{len(known)} attributes, {len(known.groups)} groups, {worlds} possible records.")
        if inferred:
            typer.echo(f"Inferred from data: {', '.join(inferred)}.")
        for name, count in broken.items():
            typer.echo(f"{name}: {count} records break the domain.")
        if data is not None and not broken:
            typer.echo("Every record keeps the domain.")
    raise typer.Exit(1 if broken else 0)
