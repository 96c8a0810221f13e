"""``glassine export``: a model in a form that other software runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from glassine.cli.naming import in_options
from glassine.cli.options import (
    REQUIRED,
    DomainOption,
    JsonOption,
    ModelArgument,
    ModelFileOptions,
    OptionGroup,
    OverwriteOption,
    flag,
    option,
    output_option,
)
from glassine.cli.process import concluding
from glassine.cli.reading import load_judged, load_kind, read_domain
from glassine.cli.writing import check_outputs, print_value, say, tell
from glassine.errors import GlassineError
from glassine.files import write_bytes, write_text

CARD = "card"
"""A scorecard as a page to print: for people, and no format that other software runs."""


TABLE = "csv"
"""A table of leaves, rules or bins, which is for people as well."""


def form_of(name: str) -> str:
    """Return the name of a form; they are looked up here, as that imports every reader."""
    from glassine.formats import formats

    names = [*(one.to for one in formats() if one.to), CARD, TABLE]
    if name not in names:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
    return name


class SqlOptions(OptionGroup, heading="SQL"):
    """The query that is written as SQL."""

    table: str | None = option("NAME", "SQL: write a query on this table.")
    prediction: str | None = option("NAME", "SQL: name of the predicted column of the query.")
    dialect: str | None = option(
        "ENGINE",
        "SQL: the engine, such as duckdb, sqlite or spark; another word lists them all.",
        shown_default="standard SQL without backslashes",
    )
    probabilities: bool = flag("SQL: add a column with the share of each class to the query.")


def _card(model: object) -> str:
    """Return a scorecard as a page to print."""
    from glassine.models import AdditiveModel
    from glassine.report.card_page import render_card

    if not isinstance(model, AdditiveModel) or model.scorecard is None:
        raise GlassineError("only a scorecard is written as a card.", remedy="Train one with 'glassine fit scorecard'.")
    return render_card(model)


def for_people(model: Any) -> Iterator[tuple[str, str]]:
    """Yield what is written of a model for people alone, as files hold it: a name and a text."""
    from glassine.models.table import to_csv

    writers: dict[str, Callable[[], str]] = {
        "a table": lambda: to_csv(model),
        "a table for the public": lambda: to_csv(model, audience="public"),
        "a card": lambda: _card(model),
    }
    for name, text in writers.items():
        try:
            yield name, text()
        except GlassineError:  # it is not written of such a model
            continue


def _export_for_people(model: object, files: ExportFiles) -> None:
    """Write a card or a table."""
    from glassine.models.table import to_csv

    output = files.output
    text = _card(model) if files.to == CARD else to_csv(model, audience="public" if files.public else "checker")
    if output is not None:
        write_text(text, output)
    if files.as_json:
        print_value({"to": files.to, "file": None if output is None else str(output), "text": text}, True)
        return
    with concluding():
        prints = " It prints on one page." if files.to == CARD else ""
        say(text.rstrip() if output is None else f"Written: {output}.{prints}")


class ExportFiles(OptionGroup):
    """Where the exported model goes."""

    to: str = option("FORM", "The form to write, such as sql; another word lists them all.", REQUIRED, parser=form_of)
    output: Path | None = output_option("Write the exported model.", shown_default="standard output")
    public: bool = flag("CSV: hide small counts, as a public report does.")
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def export_command(
    model: ModelArgument,
    sql: SqlOptions,
    reading: ModelFileOptions,
    files: ExportFiles,
    domain: DomainOption = None,
) -> None:
    """Write a model as SQL, Python, text, ONNX, PMML or a scikit-learn pipeline. A pipeline carries no guarantee.

    --to card writes a scorecard as one page of HTML to print, --to csv a table of leaves, rules or bins.

    ONNX and the skops file of a pipeline need pip install 'glassine[formats]'.

    Exit status: 0 when it was written, 2 if not.
    """
    from glassine.formats import ModelFile
    from glassine.formats.canonical import as_written
    from glassine.formats.loading import check_written
    from glassine.formats.registry import formats, writer
    from glassine.models import TreeEnsemble

    to, output, as_json = files.to, files.output, files.as_json
    check_outputs([output], [model, domain], overwrite=files.overwrite)
    query = sql.prediction is not None or sql.probabilities
    if to != "sql" and (sql.table is not None or query or sql.dialect is not None):
        raise GlassineError(
            f"--table, --prediction, --dialect and --probabilities are for SQL, not for {to}.", remedy="Leave them out."
        )
    if to == "sql" and sql.table is None and query:
        raise GlassineError("--prediction and --probabilities name columns of a query.", remedy="Give its --table.")
    options = {
        "table": sql.table,
        "prediction": sql.prediction,
        "probabilities": sql.probabilities or None,
        "dialect": sql.dialect,
    }
    if files.public and to != TABLE:
        raise GlassineError(f"--public is for CSV, not for {to}.", remedy="Leave it out, or scrub the model first.")
    if to == "sklearn" and output is not None:
        options = {"extension": output.suffix}
    declared = read_domain(domain)
    read: Any = None
    if TreeEnsemble in next((one.kinds for one in formats() if one.to == to), ()):
        whole = load_judged(model, declared, reading.trust_pickle, reading.tree)
        read = whole.model if isinstance(whole, ModelFile) else as_written(whole.model, declared)
    else:
        read = load_kind(model, declared, reading.trust_pickle, reading.tree)
    if to in (CARD, TABLE):
        _export_for_people(read, files)
        return
    form = writer(to, read)
    if form.binary and output is None:
        raise GlassineError(
            f"{form.name} is written to a file.", remedy=f"Give -o with a name in {' or '.join(form.extensions)}."
        )
    assert form.write is not None  # noqa: S101 - what has a name to be written under has a writer
    with in_options({"dialect": "--dialect"}):
        written = form.write(read, declared, **{key: value for key, value in options.items() if value is not None})
    if output is not None:
        data = written if isinstance(written, bytes) else (str(written).rstrip("\n") + "\n").encode()
        check_written(data, output, form, read, declared)
    summary: dict[str, Any] = {"to": to, "file": None if output is None else str(output)}
    left_out = form.left_out(read)
    if left_out:
        summary["leaves_out"] = left_out
    if output is not None and isinstance(written, bytes):
        write_bytes(written, output)
    elif output is not None:
        write_text(str(written).rstrip("\n") + "\n", output)
    if as_json:
        print_value(summary if isinstance(written, bytes) else {**summary, "text": written}, True)
        return
    with concluding():
        say(str(written).rstrip() if output is None else f"Written: {output}")
    if left_out:
        tell(f"glassine: {form.name} cannot record {left_out}.")
