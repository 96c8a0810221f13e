"""``glassine reconstruct``: what models tell of the rows that they were made from, and rows that meet their counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassine.cli.estimators import load_trees
from glassine.cli.naming import as_options, in_options
from glassine.cli.options import DataOption, JsonOption, RequiredDomainOption, SeedOption, TrustOption, above, at_least
from glassine.cli.progress import stages
from glassine.cli.reading import read_frame
from glassine.cli.writing import check_ending, check_outputs, print_value
from glassine.errors import GlassineError

if TYPE_CHECKING:
    from glassine.attacks.alignment import ErrorEstimate
    from glassine.attacks.joint import JointReconstruction, SharedGroup
    from glassine.attacks.outcome import Outcome
    from glassine.attacks.rows import RowReconstruction
    from glassine.domain import Domain

__all__ = ["reconstruct_command"]

SCHEMA = "glassine.rows/1"
NAMES = {"same_labels=False": "--other-labels", "smallest_group": "--smallest-group", "time_limit": "--time-limit"}
SHOWN = 10
"""Groups that the text lists; JSON lists all."""


def reconstruct_command(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL",
            help="The published model: JSON, text, skops, ONNX, PMML and others; see the formats page. "
            "Or several models of the same records.",
        ),
    ],
    domain: RequiredDomainOption,
    data: DataOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the rebuilt rows, CSV.")
    ] = None,
    rows: Annotated[
        bool | None,
        typer.Option(
            "--rows/--no-rows",
            help="Rebuild rows, or leave it at the bits and the groups, which is quick. By default one model's rows "
            "are rebuilt, those of several models for --output only.",
        ),
    ] = None,
    smallest_group: Annotated[
        int,
        typer.Option(
            "--smallest-group",
            metavar="N",
            help="Largest number of records of a group that several models betray.",
            callback=at_least("--smallest-group", 1),
        ),
    ] = 5,
    other_labels: Annotated[
        bool, typer.Option("--other-labels", help="The models predict different things: compare sizes, not classes.")
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit", metavar="SECONDS", help="Most seconds for the solver.", callback=above("--time-limit", 0)
        ),
    ] = 60.0,
    seed: SeedOption = 0,
    counts_only: Annotated[
        bool, typer.Option("--counts-only", help="Do not use the bootstrap seeds that a fitted forest keeps.")
    ] = False,
    as_json: JsonOption = False,
    trust_pickle: TrustOption = False,
) -> None:
    """Rebuild rows that meet every count of a model; of a forest, often the training records themselves.

    Of several models of the same records, it tells how much a reader learns about a record from each and from all
    together, and which small groups they betray together though none does alone; rows are rebuilt on request. With
    --data it tells how close the rows come to the records. The output names such groups with their counts: it is for
    the publisher, not for publication.

    Exit status: 0 when it was done, 2 where no rows could be rebuilt, where the models contradict one another, or for
    bad input.
    """
    from glassine.domain import Domain

    check_outputs([output], [*models, domain, data])
    check_ending(output, (".csv", ".txt"), "rows are written as CSV")
    if output is not None and rows is False:
        raise GlassineError("--output needs the rows that --no-rows leaves out. Drop one of the two.")
    known = Domain.from_json(domain)
    original = None if data is None else read_frame(data, known)
    published = [load_trees(model, known, trust_pickle) for model in models]
    wanted = (len(models) == 1 or output is not None) if rows is None else rows
    with stages() as progress:
        joint = None
        if len(models) > 1 or not wanted:
            joint = _together(
                published, known, original, _names(models), smallest_group, not other_labels, time_limit, progress
            )
        found, error = None, None
        if wanted and (joint is None or joint.contradiction is None):
            progress("rebuilding rows")
            if len(models) == 1:
                outcome = _of_one(published[0], known, time_limit, seed, counts_only)
            else:
                outcome = _of_several(published, known, time_limit, seed, not other_labels, progress)
            found = _rows(outcome, joint, as_json)
            progress("comparing with the data")
            error = None if original is None else found.error_to(original, random_state=seed)
    if output is not None and found is not None:
        _write(found, output)
    _print(joint, found, error, output, as_json)
    if joint is not None and joint.contradiction is not None:
        raise typer.Exit(2)


def _names(models: list[Path]) -> list[str]:
    """Return the files' names; their paths where names are the same."""
    names = [path.name for path in models]
    return names if len(set(names)) == len(names) else [str(path) for path in models]


def _together(
    published: list[Any],
    known: Domain,
    original: Any,
    names: list[str],
    smallest_group: int,
    same_labels: bool,
    time_limit: float,
    progress: Callable[[str], None],
) -> JointReconstruction:
    from glassine.attacks.joint import reconstruct_jointly

    with in_options(NAMES):
        found = reconstruct_jointly(
            published,
            known,
            data=original,
            names=names,
            same_labels=same_labels,
            smallest_group=smallest_group,
            time_limit=time_limit,
            progress=progress,
        )
    if found.contradiction is None:
        return found
    return replace(found, contradiction=as_options(found.contradiction, NAMES))


def _of_one(
    published: Any, known: Domain, time_limit: float, seed: int, counts_only: bool
) -> Outcome[RowReconstruction]:
    from glassine.attacks import reconstruct_rows

    return reconstruct_rows(published, known, time_limit=time_limit, random_state=seed, use_seeds=not counts_only)


def _of_several(
    published: list[Any],
    known: Domain,
    time_limit: float,
    seed: int,
    same_labels: bool,
    progress: Callable[[str], None],
) -> Outcome[RowReconstruction]:
    from glassine.attacks.joint import reconstruct_rows_jointly

    return reconstruct_rows_jointly(
        published, known, same_labels=same_labels, time_limit=time_limit, random_state=seed, progress=progress
    )


def _rows(outcome: Outcome[RowReconstruction], joint: JointReconstruction | None, as_json: bool) -> RowReconstruction:
    """Return the rows; where there are none, print what is known and raise."""
    from glassine.attacks.outcome import Measured

    if isinstance(outcome, Measured):
        return outcome.value
    if joint is not None and not as_json:
        print_value(_joint_text(joint), as_json=False)
    raise GlassineError(f"no rows: {outcome.reason}")


def _print(
    joint: JointReconstruction | None,
    found: RowReconstruction | None,
    error: ErrorEstimate | None,
    output: Path | None,
    as_json: bool,
) -> None:
    if as_json:
        plain = None if found is None else _plain(found, error)
        print_value(plain if joint is None else joint.to_dict() | {"rows": plain}, as_json=True)
        return
    said = [] if joint is None else [_joint_text(joint)]
    said += [] if found is None else [_text(found, error, output, joint is not None and len(joint.models) > 1)]
    print_value("\n\n".join(said), as_json=False)


def _joint_text(joint: JointReconstruction) -> str:
    """Return the bits, then the groups."""
    said = [f"Left out: {entry.name} {entry.reason}" for entry in joint.left_out]
    alone = [
        f"  {name}: {bits:.4f}" for name, bits in zip(joint.models, joint.bits_alone, strict=True)
    ]  # fmt: skip
    if joint.contradiction is not None:
        said.append(
            "No data set meets these counts: the models were not learnt from the same records, or the domain excludes "
            f"some of them. {_sentence(joint.contradiction)}"
        )
        return "\n".join(["Bits about a record, of each model alone:", *alone, *said])
    bits = joint.bits_per_record
    said += [f"{joint.n_records:,} records. Bits learned about each, of {joint.domain_bits:.2f}:", *alone]
    said.append(f"  together: {bits} (proved bounds, rounded)")
    said.append(f"  were the models independent: {joint.bits_if_independent:.4f}")
    if joint.bits_aligned is not None:
        said.append(f"  with the rows of all models aligned: {joint.bits_aligned:.4f}")
    if not joint.proved_consistent:
        said.append("No data set that meets all counts was found in time; the bounds hold if there is one.")
    if len(joint.models) > 1:
        said += _groups(
            joint.small_groups,
            f"that certainly hold 1 to {joint.smallest_group} records and that no model sets apart alone",
        )
        said += _groups(joint.certain_labels, "whose records certainly have one class, which no model tells alone")
    return "\n".join(said)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith(("no ", "part ")) else text


def _groups(groups: tuple[SharedGroup, ...], what: str) -> list[str]:
    said = [f"Groups {what}: {len(groups) or 'none'}{'.' if not groups else ''}"]
    for group in groups[:SHOWN]:
        label = "" if group.label is None else f", class {group.label}"
        worlds = "" if group.worlds is None else f", {group.worlds:,} possible"
        said.append(f"  {group.size}{label}{worlds}: {group.where}")
    if len(groups) > SHOWN:
        said.append(f"  and {len(groups) - SHOWN} more; --json lists all.")
    return said


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


def _text(found: RowReconstruction, error: ErrorEstimate | None, output: Path | None, several: bool) -> str:
    whose = "the models" if several else "the model"
    said = [f"{found.n_records} rows that meet every count of {whose}: {found.status}. {found.meaning}"]
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
