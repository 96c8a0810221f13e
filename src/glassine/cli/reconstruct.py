"""``glassine reconstruct``: rebuild the rows that a tree, a rule list or a forest was made from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassine.cli.estimators import load_published
from glassine.cli.options import JsonOption, ModelArgument, TrustOption
from glassine.cli.progress import stages
from glassine.cli.reading import read_frame
from glassine.cli.writing import check_ending, check_outputs, print_value
from glassine.errors import GlassineError

if TYPE_CHECKING:
    from glassine.attacks.alignment import ErrorEstimate
    from glassine.attacks.rows import RowReconstruction

__all__ = ["reconstruct_command"]

SCHEMA = "glassine.rows/1"


def reconstruct_command(
    model: ModelArgument,
    domain: Annotated[Path, typer.Option("--domain", help="Domain, JSON: the public bounds and categories.")],
    data: Annotated[
        Path | None, typer.Option("--data", help="The training records: how close do the rebuilt rows come?")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the rebuilt rows, CSV.")] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for the solver.")] = 60.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the values that are drawn within their regions.")] = 0,
    counts_only: Annotated[
        bool, typer.Option("--counts-only", help="Do not use the bootstrap seeds that a fitted forest keeps.")
    ] = False,
    as_json: JsonOption = False,
    trust_pickle: TrustOption = False,
) -> None:
    """Rebuild rows that meet every count of a model; of a forest, often the training records themselves.

    Exit status: 0 with rows, 2 where none could be rebuilt or for bad input.
    """
    from glassine.attacks import reconstruct_rows
    from glassine.attacks.outcome import Measured
    from glassine.domain import Domain

    check_outputs([output], [model, domain, data])
    check_ending(output, (".csv", ".txt"), "rows are written as CSV")
    if seed < 0:
        raise GlassineError(f"--seed must be at least 0, got {seed}.")
    known = Domain.from_json(domain)
    original = None if data is None else read_frame(data, known)
    published = load_published(model, known, trust_pickle)
    with stages() as progress:
        progress("rebuilding rows")
        outcome = reconstruct_rows(
            published, known, time_limit=time_limit, random_state=seed, use_seeds=not counts_only
        )
        found = outcome.value if isinstance(outcome, Measured) else None
        if found is None:
            raise GlassineError(f"no rows: {getattr(outcome, 'reason', '')}")
        progress("comparing with the data")
        error = None if original is None else found.error_to(original, random_state=seed)
    if output is not None:
        _write(found, output)
    print_value(_plain(found, error) if as_json else _text(found, error, output), as_json)


def _write(found: RowReconstruction, output: Path) -> None:
    import polars as pl

    from glassine.files import write_text

    columns: dict[str, Any] = {name: values.tolist() for name, values in found.rows.items()}
    for name, values in (("class", found.labels), ("certain", found.certain)):
        if values is not None:
            columns[name if name not in columns else f"{name} of the row"] = values.tolist()
    write_text(pl.DataFrame(columns, strict=False).write_csv(), output)


def _plain(found: RowReconstruction, error: ErrorEstimate | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": found.status,
        "meaning": found.meaning,
        "records": found.n_records,
        "certain": found.n_certain,
        "whole": found.n_whole,
        "share_certain": found.share_certain,
        "ordered": found.ordered,
        "reproduced": found.reproduced,
        "error": None if error is None else error.error,
        "error_of_random_records": None if error is None else error.baseline,
    }


def _text(found: RowReconstruction, error: ErrorEstimate | None, output: Path | None) -> str:
    said = [f"{found.n_records} rows that meet every count of the model: {found.status}. {found.meaning}"]
    if found.n_certain is not None and found.share_certain is not None:
        said.append(
            f"Certain in every data set that meets the counts: {found.n_certain} rows, {found.n_whole} of them in "
            f"every attribute; {100 * found.share_certain:.1f}% of all values."
        )
    if found.ordered:
        said.append("The rows stand in the order of the training records.")
    if found.reproduced:
        said.append("The forest, trained again on these rows with its own seeds, comes out the same.")
    if error is not None:
        said.append(
            f"From the training records the rows lie {error.error:.4f} away, random records {error.baseline:.4f} "
            "(0 is equal, 1 as far as can be)."
        )
        if error.error >= error.baseline:
            said.append("That is no closer than random records: the rows tell no more than the counts do.")
    if output is not None:
        said.append(f"\nRows: {output}")
    return "\n".join(said)
