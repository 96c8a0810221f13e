"""``glassine audit`` and ``glassine scrub``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from glassine.cli.disclose import stored_estimator
from glassine.cli.naming import listed
from glassine.cli.options import (
    AuditOption,
    CriterionOption,
    DataOption,
    DomainOption,
    HolderOption,
    HoldoutOption,
    JsonOption,
    ModelArgument,
    PolicyOption,
    ReportOption,
    RequiredDomainOption,
    SmallOption,
    SplitsOption,
    TargetOption,
    TreeOption,
    TrustOption,
)
from glassine.cli.progress import stages
from glassine.cli.reading import load_extras, load_kind, opened, policy_of, read_domain, read_frame, with_inputs
from glassine.cli.release_audit import audit_release_file, is_release
from glassine.cli.writing import (
    check_holder_report,
    check_outputs,
    check_report,
    print_value,
    say,
    tell,
    text_of,
    write_holder_report,
    write_report,
)
from glassine.errors import GlassineError, InvalidDataError, InvalidParameterError
from glassine.files import read_once

__all__ = ["audit_command", "scrub_command"]


def audit_command(
    model: ModelArgument,
    domain: DomainOption = None,
    data: DataOption = None,
    target: TargetOption = None,
    holdout: HoldoutOption = None,
    sensitive: Annotated[
        str | None, typer.Option("--sensitive", metavar="COLUMN", help="Attribute to look at more closely.")
    ] = None,
    quasi: Annotated[
        list[str] | None,
        typer.Option(
            "--quasi",
            metavar="COLUMN",
            help="A column that readers know of everybody; repeat it for more.",
            show_default="all of the tree",
        ),
    ] = None,
    criterion: CriterionOption = None,
    splits: SplitsOption = "auto",
    policy: PolicyOption = None,
    output: ReportOption = None,
    holder_report: HolderOption = None,
    as_json: JsonOption = False,
    tree: TreeOption = None,
    trust_pickle: TrustOption = False,
    show_small_counts: SmallOption = False,
    max_steps: Annotated[
        int, typer.Option("--max-steps", metavar="N", help="Steps that exact counts may take.")
    ] = 300_000,
) -> None:
    """Audit a published model, or a release of surrogate trees.

    Where the policy accepts the guarantee of a private model, the report and the exit status are the same whatever
    --data and --holdout are; --holder-report says what these add.

    Exit status: 0 within policy, 1 outside policy, 2 bad input, 3 inconclusive.
    """
    from glassine.auditing.api import audit
    from glassine.models import AdditiveModel

    check_outputs([output, holder_report], [model, domain, data, holdout, policy])
    check_report(output)
    check_holder_report(holder_report, [data, holdout])
    if holdout is not None and (data is None or target is None):
        raise GlassineError("--holdout needs --data and --target: members are told from others by their class.")
    model_file, domain_file, policy_file = read_once(model), opened(domain), opened(policy)
    if is_release(model_file):
        status = audit_release_file(
            model_file,
            domain=domain,
            data=data,
            target=target,
            holdout=holdout,
            sensitive=sensitive,
            policy=policy_file,
            output=output,
            holder_report=holder_report,
            as_json=as_json,
            show_small_counts=show_small_counts,
        )
        raise typer.Exit(status)
    limits = policy_of(policy_file)
    known = read_domain(domain_file)
    read = load_kind(model_file, known, trust_pickle, tree)
    with stages() as progress:
        progress("reading the records")
        frame, others = (None if path is None else read_frame(path, known) for path in (data, holdout))
        _tell_repeats(frame)
        _check_target(target, data, frame)
        names = [*(known or ()), *(() if frame is None else frame.columns)]
        _check_names("--sensitive", () if sensitive is None else (sensitive,), names)
        _check_names("--quasi", quasi or (), names)
        # An estimator states how its splits were selected, which the plain model does not.
        plain = isinstance(read, AdditiveModel) or sensitive is None or tree is not None
        stated = None if plain else stored_estimator(model, trust_pickle)
        findings = audit(
            read if stated is None else stated,
            domain=known,
            data=frame,
            target=target,
            holdout=others,
            sensitive=sensitive,
            quasi=quasi or None,
            criterion=None if criterion is None else criterion.replace("-", "_"),
            splits=splits,
            extras=load_extras(model_file) if isinstance(read, AdditiveModel) else None,
            policy=limits,
            show_small_counts=show_small_counts,
            max_steps=max_steps,
            progress=progress,
        )
    files = {"model": model_file, "domain": domain_file, "policy": policy_file}
    findings = with_inputs(findings, files, {"data": data, "holdout": holdout})
    write = partial(write_report, title=model.name)
    write_holder_report(findings.holder, holder_report, write=write)
    if output is not None:
        write(findings, output)
    print_value(findings.to_dict() if as_json else text_of(findings, output), as_json)
    raise typer.Exit(findings.exit_status)


def scrub_command(
    model: ModelArgument,
    domain: RequiredDomainOption,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Write the scrubbed model, JSON.")],
    counts: Annotated[
        Literal["coarsen", "remove", "keep"], typer.Option("--counts", help="What to do with counts.")
    ] = "coarsen",
    base: Annotated[int, typer.Option("--base", metavar="N", help="Coarsened counts are multiples of this.")] = 10,
    smallest_leaf: Annotated[
        int, typer.Option("--smallest-leaf", metavar="N", help="Merge leaves or bins of fewer records.")
    ] = 0,
    data: DataOption = None,
    target: TargetOption = None,
    policy: PolicyOption = None,
    report: AuditOption = None,
    holder_report: HolderOption = None,
    as_json: JsonOption = False,
    tree: TreeOption = None,
    trust_pickle: TrustOption = False,
) -> None:
    """Write a copy with thresholds on the domain's public grid and counts coarsened, and audit it again.

    With --data and --target it tells what the copy costs in accuracy. A domain that declares the target is taken
    without it, as by audit. Of a private model whose guarantee the policy accepts, the copy and all that is printed
    are the same whatever --data is; --holder-report has the accuracy.

    Exit status: that of the audit of the copy: 0 within policy, 1 outside policy, 2 bad input, 3 inconclusive.
    """
    from glassine.auditing.api import audit
    from glassine.auditing.describe import describe_guarantee, relied_on
    from glassine.domain import Domain
    from glassine.formats import write_model
    from glassine.models import AdditiveModel, DecisionTree
    from glassine.scrubbing.scrub import accuracy, scrub

    check_outputs([output, report, holder_report], [model, domain, data, policy])
    check_report(report)
    check_holder_report(holder_report, [data])
    model_file, domain_file, policy_file = read_once(model), read_once(domain), opened(policy)
    limits, known = policy_of(policy_file), Domain.from_json(domain_file)
    if target is not None and data is None:
        raise GlassineError("--target needs --data: accuracy is measured on given records. Add it.")
    before = load_kind(model_file, known, trust_pickle, tree)
    private = relied_on(describe_guarantee(before, limits))
    if (
        private
        and smallest_leaf
        and isinstance(before, DecisionTree)
        and None in [c.evidence.size for c in before.cells]
    ):
        raise InvalidParameterError(
            "this private model publishes no counts to merge leaves by, and those of the data would void its "
            "guarantee. Leave --smallest-leaf out."
        )
    with stages() as progress:
        progress("reading the records")
        frame = None if data is None else read_frame(data, known)
        _check_target(target, data, frame)
        progress("scrubbing")
        # A copy of a private model that is counted in its data would be no longer covered.
        counted = None if private else frame
        result = scrub(before, known, counts=counts, base=base, smallest_leaf=smallest_leaf, data=counted)
        cost = None
        if target is not None:
            cost = {"before": accuracy(before, frame, target), "after": accuracy(result.model, frame, target)}
        first = audit(before, domain=known, data=frame, target=target, policy=limits, progress=progress)
        second = audit(result.model, domain=known, data=frame, target=target, policy=limits, progress=progress)
    if private and cost is not None and second.holder is not None:
        told = f"Accuracy on the data before: {cost['before']:.4f}; after: {cost['after']:.4f}."
        second = replace(second, holder=replace(second.holder, notes=(*second.holder.notes, told)))
        cost = None
    write_model(result.model, output)
    files = {"domain": domain_file, "policy": policy_file}
    first = with_inputs(first, {"model": model_file, **files}, {"data": data})
    second = with_inputs(second, {"model": read_once(output), **files}, {"data": data})
    write = partial(write_report, title=output.name)
    write_holder_report(second.holder, holder_report, write=write)
    if report is not None:
        write(second, report)
    changes = {"rounded": result.n_rounded, "dropped": result.n_dropped, "merged": result.n_merged}
    if as_json:
        print_value({"changes": changes, "accuracy": cost, "before": first.to_dict(), "after": second.to_dict()}, True)
    else:
        parts = "bins" if isinstance(before, AdditiveModel) else "leaves"
        lines = [
            f"Thresholds rounded: {result.n_rounded}, dropped: {result.n_dropped}; {parts} merged: {result.n_merged}.",
            f"Verdict before: {first.verdict}; after: {second.verdict}.",
        ]
        if cost is not None:
            lines.append(f"Accuracy on the data before: {cost['before']:.4f}; after: {cost['after']:.4f}.")
        say("\n".join([*lines, f"Model: {output}", "", text_of(second, report).rstrip()]))
    raise typer.Exit(second.exit_status)


def _tell_repeats(frame: Any) -> None:
    """Tell whoever holds the records of columns that look like identifiers and repeat; no output has it."""
    from glassine.data.inference import repeats

    if frame is not None and len(frame):
        for repeat in repeats(frame):
            tell(f"glassine: for the holder of the data alone: {repeat}")


def _check_target(target: str | None, data: Path | None, frame: Any) -> None:
    """Raise if the target is no column of the records."""
    if target is not None and frame is not None and target not in frame.columns:
        raise InvalidDataError(f"{data} has no column {target!r} for --target.{listed(target, frame.columns)}")


def _check_names(option: str, given: Sequence[str], names: Sequence[str]) -> None:
    """Raise if an option names what is neither in the domain nor a column of the data, where one of them is given."""
    for name in given:
        if names and name not in names:
            raise InvalidDataError(
                f"{option} names {name!r}, which is neither in the domain nor a column of the data."
                f"{listed(name, dict.fromkeys(names))}"
            )
