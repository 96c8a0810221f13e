"""The command line."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassine import __version__
from glassine.errors import GlassineError, UnreadableFileError
from glassine.files import write_text

if TYPE_CHECKING:
    from glassine.domain import Domain
    from glassine.findings import Findings, InputFile
    from glassine.models import DecisionTree, RuleList
    from glassine.policy import Policy

__all__ = ["main"]

app = typer.Typer(
    name="glassine",
    help="The privacy of interpretable models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
domain_app = typer.Typer(
    help="Write and check domains: what is publicly known about the attributes.", no_args_is_help=True
)
app.add_typer(domain_app, name="domain")

ModelArgument = Annotated[Path, typer.Argument(help="The published model: JSON, text or skops file.")]
DomainOption = Annotated[Path | None, typer.Option("--domain", help="Domain, JSON: the public bounds and categories.")]
DataOption = Annotated[Path | None, typer.Option("--data", help="Training records, CSV or Parquet.")]
PolicyOption = Annotated[Path | None, typer.Option("--policy", help="Policy, TOML: the limits to judge by.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
TrustOption = Annotated[
    bool, typer.Option("--trust-pickle", help="Load a pickle. A pickle is code: only from a source you trust.")
]
SmallOption = Annotated[bool, typer.Option("--show-small-counts", help="Do not suppress small counts.")]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"glassine {__version__}")
        raise typer.Exit


def _read_frame(path: Path, domain: Domain | None = None) -> Any:
    """Return a CSV or Parquet file as a frame, read by content and with a clear error.

    Columns that the domain declares as categories of strings are read as strings, so that 01 stays 01.
    """
    import polars as pl

    from glassine.domain import Category
    from glassine.files import read_bytes

    head = read_bytes(path)[:4]
    if not head.strip():
        raise UnreadableFileError(f"{path} is empty. Give a CSV file with a header, or a Parquet file.", path=path)
    try:
        if head == b"PAR1":
            return pl.read_parquet(path)
        categories = {name: domain[name] for name in domain or () if domain is not None}
        listed = {v for attribute in categories.values() if isinstance(attribute, Category) for v in attribute.values}
        texts = {
            name: pl.String
            for name, attribute in categories.items()
            if isinstance(attribute, Category) and all(isinstance(value, str) for value in attribute.values)
        }
        gaps = [text for text in ("", "?", "NA", "NaN", "nan") if text not in listed]
        frame = pl.read_csv(path, infer_schema_length=None, null_values=gaps, schema_overrides=texts)
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UnreadableFileError(
            f"{path} is not a CSV or Parquet file that can be read: {first}.", path=path
        ) from None
    twice = [name for name in frame.columns if "_duplicated_" in name]
    if twice:
        name = twice[0].rsplit("_duplicated_", 1)[0]
        raise UnreadableFileError(f"{path} has two columns named {name!r}. Rename one.", path=path)
    if len(frame.columns) == 1 and any(mark in frame.columns[0] for mark in ";\t|"):
        raise UnreadableFileError(f"{path} is not separated by commas: its header is {frame.columns[0]!r}.", path=path)
    return frame


def _check_outputs(outputs: list[Path | None], inputs: list[Path | None]) -> None:
    """Raise before any work if an output is an input, another output, or lies in no folder."""
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        if path.resolve() in taken:
            raise UnreadableFileError(f"cannot write {path}: it is read or written already. Name another.", path=path)
        if not path.resolve().parent.is_dir():
            raise UnreadableFileError(f"cannot write {path}: its folder does not exist. Make it first.", path=path)
        taken.add(path.resolve())


def _domain_of(path: Path | None) -> Domain | None:
    from glassine.domain import Domain

    return None if path is None else Domain.from_json(path)


def _policy_of(path: Path | None) -> Policy:
    from glassine.policy import Policy

    return Policy() if path is None else Policy.from_toml(path)


def _load(path: Path, domain: Domain | None, trust_pickle: bool) -> DecisionTree | RuleList:
    from glassine.models.formats import load_model

    return load_model(path, domain, trust_pickle=trust_pickle)


@contextlib.contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """Show the current stage on a terminal's standard error once a second has passed."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    import time

    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    started = time.monotonic()
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=False) as progress:
        task = progress.add_task("starting", total=None, visible=False)

        def show(stage: str) -> None:
            progress.update(task, description=stage, visible=time.monotonic() - started > 0.5)

        yield show


@app.command("audit")
def audit_command(
    model: ModelArgument,
    domain: DomainOption = None,
    data: DataOption = None,
    sensitive: Annotated[str | None, typer.Option("--sensitive", help="Attribute to look at more closely.")] = None,
    policy: PolicyOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report: HTML, or JSON or text by its ending.")
    ] = None,
    as_json: JsonOption = False,
    trust_pickle: TrustOption = False,
    show_small_counts: SmallOption = False,
    max_steps: Annotated[int, typer.Option("--max-steps", help="Steps that exact counts may take.")] = 300_000,
) -> None:
    """Audit a published model. Exit status: 0 within policy, 1 outside it, 2 could not tell or bad input."""
    from glassine.auditing import audit

    _check_outputs([output], [model, domain, data, policy])
    limits = _policy_of(policy)
    known = _domain_of(domain)
    frame = None if data is None else _read_frame(data, known)
    read = _load(model, known, trust_pickle)
    with _stages() as progress:
        findings = audit(
            read,
            domain=known,
            data=frame,
            sensitive=sensitive,
            policy=limits,
            show_small_counts=show_small_counts,
            max_steps=max_steps,
            progress=progress,
        )
    findings = replace(findings, inputs=_inputs(model=model, domain=domain, data=data, policy=policy))
    if output is not None:
        _write_report(findings, output, title=model.name)
    _print(findings.to_dict() if as_json else _text(findings, output), as_json)
    raise typer.Exit(findings.exit_status)


def _inputs(**paths: Path | None) -> tuple[InputFile, ...]:
    from glassine.files import read_bytes
    from glassine.findings import InputFile

    return tuple(
        InputFile(role=role, name=path.name, sha256=hashlib.sha256(read_bytes(path)).hexdigest())
        for role, path in paths.items()
        if path is not None
    )


def _write_report(findings: Findings, output: Path, *, title: str) -> None:
    from glassine.report import render_html

    if output.suffix == ".json":
        findings.to_json(output)
    elif output.suffix == ".txt":
        write_text(_text(findings), output)
    else:
        write_text(render_html(findings, title=title), output)


def _text(findings: Findings, output: Path | None = None) -> str:
    from glassine.report import render_text

    text = render_text(findings)
    return text if output is None else f"{text.rstrip()}\n\nReport: {output}\n"


def _print(value: Any, as_json: bool) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) if as_json else str(value).rstrip())


@app.command("scrub")
def scrub_command(
    model: ModelArgument,
    domain: Annotated[Path, typer.Option("--domain", help="Domain, JSON: its cut points are the public ones.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the scrubbed model, JSON.")],
    counts: Annotated[
        Literal["coarsen", "remove", "keep"], typer.Option("--counts", help="What to do with counts.")
    ] = "coarsen",
    base: Annotated[int, typer.Option("--base", help="Coarsened counts are multiples of this.")] = 10,
    smallest_leaf: Annotated[int, typer.Option("--smallest-leaf", help="Merge leaves of fewer records.")] = 0,
    data: DataOption = None,
    target: Annotated[str | None, typer.Option("--target", help="Column to predict: what does scrubbing cost?")] = None,
    policy: PolicyOption = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write the report on the scrubbed model, HTML.")
    ] = None,
    as_json: JsonOption = False,
    trust_pickle: TrustOption = False,
) -> None:
    """Write a copy with thresholds on the public grid and counts coarsened, and audit it again.

    Exit status: that of the audit of the copy.
    """
    from glassine.auditing import audit
    from glassine.domain import Domain
    from glassine.models.formats import write_model
    from glassine.scrubbing import accuracy, scrub

    _check_outputs([output, report], [model, domain, data, policy])
    limits, known = _policy_of(policy), Domain.from_json(domain)
    frame = None if data is None else _read_frame(data, known)
    if target is not None and frame is None:
        raise GlassineError("--target needs --data: accuracy is measured on given records.")
    before = _load(model, known, trust_pickle)
    with _stages() as progress:
        progress("scrubbing")
        result = scrub(before, known, counts=counts, base=base, smallest_leaf=smallest_leaf, data=frame)
        cost = None
        if target is not None:
            cost = {"before": accuracy(before, frame, target), "after": accuracy(result.model, frame, target)}
        first = audit(before, domain=known, data=frame, policy=limits, progress=progress)
        second = audit(result.model, domain=known, data=frame, policy=limits, progress=progress)
    write_model(result.model, output)
    first = replace(first, inputs=_inputs(model=model, domain=domain, data=data, policy=policy))
    second = replace(second, inputs=_inputs(model=output, domain=domain, data=data, policy=policy))
    if report is not None:
        _write_report(second, report, title=output.name)
    changes = {"rounded": result.n_rounded, "dropped": result.n_dropped, "merged": result.n_merged}
    if as_json:
        _print({"changes": changes, "accuracy": cost, "before": first.to_dict(), "after": second.to_dict()}, True)
    else:
        lines = [
            f"Thresholds rounded: {result.n_rounded}, dropped: {result.n_dropped}; leaves merged: {result.n_merged}.",
            f"Verdict before: {first.verdict}; after: {second.verdict}.",
        ]
        if cost is not None:
            lines.append(f"Accuracy on the data before: {cost['before']:.4f}; after: {cost['after']:.4f}.")
        typer.echo("\n".join([*lines, f"Model: {output}", "", _text(second, report).rstrip()]))
    raise typer.Exit(second.exit_status)


@domain_app.command("infer")
def infer_command(
    data: Annotated[Path, typer.Argument(help="Records, CSV or Parquet.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the domain, JSON.")] = None,
    exclude: Annotated[
        list[str] | None, typer.Option("--exclude", help="Column to leave out, such as the target; repeat it for more.")
    ] = None,
) -> None:
    """Write a first domain read off records, each attribute marked as inferred. Replace what only the data told."""
    from glassine.domain import Domain
    from glassine.domain.inference import remarks
    from glassine.domain.serialization import to_dict
    from glassine.errors import InvalidDataError

    _check_outputs([output], [data])
    frame = _read_frame(data)
    for name in exclude or []:
        if name not in frame.columns:
            raise InvalidDataError(f"--exclude names {name!r}, which is not a column. Check its spelling.")
    kept = frame.drop(exclude or [])
    domain = Domain.infer(kept)
    for remark in remarks(kept):
        typer.echo(f"glassine: {remark} (--exclude leaves a column out.)", err=True)
    if output is None:
        _print(to_dict(domain), True)
    else:
        domain.to_json(output)
        typer.echo(f"{output}: {len(domain)} attributes, all inferred. Replace bounds and categories by public ones.")


@domain_app.command("check")
def check_command(
    domain: Annotated[Path, typer.Argument(help="The domain, JSON.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a domain, and records against it. Exit status: 0 fine, 1 records break it, 2 bad input."""
    from glassine.domain import Domain
    from glassine.domain.inference import violations

    known = Domain.from_json(domain)
    broken = {} if data is None else violations(known, _read_frame(data, known))
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
        _print(summary, True)
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


@app.command("demo")
def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")] = Path("glassine-demo"),
    as_json: JsonOption = False,
) -> None:
    """Train a tree and a rule list on scikit-learn's breast-cancer records, audit both, write reports."""
    from glassine.demo import run_demo

    with _stages() as progress:
        result = run_demo(output, progress=progress)
    _print(result.to_dict() if as_json else result.to_text(), as_json)


def main() -> None:
    """Run the command line; known errors become one line on standard error and exit status 2."""
    warnings.showwarning = _show_warning
    # The parser would end an interrupted run with 1, which means "outside policy".
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    try:
        app()
    except GlassineError as error:
        typer.echo(f"glassine: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(2)
    except Exception:
        # Status 1 means "outside policy": a defect of our own must not look like a verdict.
        traceback.print_exc()
        typer.echo("glassine: internal error, please report it with the lines above.", err=True)
        sys.exit(2)


def _show_warning(message: Warning | str, *args: Any, **kwargs: Any) -> None:
    typer.echo(f"glassine: warning: {message}", err=True)
