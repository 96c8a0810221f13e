"""``glassine evidence``: what authorities and checkers ask of a published model, answered from reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glassine.cli.certificate import read_certificate
from glassine.cli.options import JsonOption, OverwriteOption
from glassine.cli.writing import check_ending, check_outputs, print_value
from glassine.errors import GlassineError, InvalidParameterError, UnreadableFileError
from glassine.files import read_json, write_json, write_text


def evidence_command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="REPORT|CERTIFICATE...", help="A report as JSON, a certificate, or one of each."),
    ],
    which: Annotated[
        Literal["tre", "tehdas", "edpb", "nist", "iso27559", "hipaa"],
        typer.Option("--for", help="Who asks: each item of their list is answered."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the answers: Markdown, JSON or text by its ending."),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Answer what authorities and checkers ask of a published model, item by item.

    Each item has a figure with its method, a reason why it was not measured, or an empty field for what only a person
    can state.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.report.evidence import evidence

    check_outputs([output], list(files), overwrite=overwrite)
    check_ending(output, (".md", ".json", ".txt"), "evidence is written as Markdown, JSON or text")
    given: dict[str, Any] = {}
    for path in files:
        kind, value = _read(path)
        if kind in given:
            raise InvalidParameterError(f"{path} is a second {kind}.", remedy="Give one report and one certificate.")
        given[kind] = value
    try:
        document = evidence(which, findings=given.get("report"), certificate=given.get("certificate"))
    except GlassineError as error:
        raise error.word({"findings": "the report"}) from None
    if output is not None:
        if output.suffix == ".json":
            write_json(document.to_dict(), output)
        else:
            write_text(document.text() if output.suffix == ".txt" else document.markdown(), output)
    if as_json or output is None:
        print_value(json.loads(json.dumps(document.to_dict())) if as_json else document.text(), as_json)
    else:
        print_value(f"Evidence: {output}", False)


def _read(path: Path) -> tuple[str, Any]:
    """Return what a file holds, by its schema: a report or a certificate."""
    try:
        values = read_json(path)
    except UnreadableFileError:
        if not path.is_file():
            raise
        values = None
    schema = values.get("schema") if isinstance(values, dict) else None
    if isinstance(schema, str) and schema.startswith("glassine.findings/"):
        return "report", values
    if isinstance(schema, str) and schema.startswith(("glassine.certificate/", "glassine.signed-certificate/")):
        return "certificate", read_certificate(path)[0]
    raise InvalidParameterError(
        f"{path} is neither the JSON report of an audit nor a certificate.",
        remedy="Give the JSON report, which glassine audit MODEL --output report.json writes, or the certificate.",
    )
