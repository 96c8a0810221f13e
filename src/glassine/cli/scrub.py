"""``glassine scrub``."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import typer

from glassine.cli.naming import options_of
from glassine.cli.options import (
    REQUIRED,
    AudienceOption,
    AuditOption,
    DataOption,
    JsonOption,
    LimitOptions,
    ModelArgument,
    ModelFileOptions,
    OptionGroup,
    OverwriteOption,
    PersonColumnOption,
    PolicyOption,
    RecordsFileOptions,
    RequiredDomainOption,
    StepsOption,
    TargetOption,
    number_of,
    option,
    output_option,
    words_of,
)
from glassine.cli.progress import stages
from glassine.cli.reading import (
    check_person,
    identifiers,
    load_judged,
    read_policy,
    stated_domain,
    unopened,
    with_inputs,
)
from glassine.cli.steps import OF_ANOTHER, WRITTEN
from glassine.cli.writing import check_outputs, check_report, print_value, text_of, write_report
from glassine.errors import CostLimitError, GlassineError, InvalidParameterError, Text, worded
from glassine.files import FileContent, read_once
from glassine.scrubbing.cost import changed, quality, sentences

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings


class CopyOptions(OptionGroup, heading="The copy"):
    """What is taken from the copy."""

    output: Path = output_option("Write the scrubbed model, JSON.", REQUIRED)
    counts: Literal["coarsen", "remove", "keep"] = option(None, "What to do with counts.", "coarsen")
    base: int = option("N", "Coarsened counts are multiples of this.", 10)
    smallest_leaf: int = option("N", "Merge leaves or bins of fewer records, or people.", 0)
    largest_advantage: float | None = option(
        "NUMBER",
        "Merge a tree's smallest leaves until its counts imply at most this membership advantage.",
        shown_default="leaves stay",
    )
    times: str | None = option(
        "A,B",
        "Of a Cox regression: times, chosen without the records, at which its baseline hazard stays.",
        shown_default="none of it",
    )
    steps: StepsOption = None

    @property
    def grid(self) -> tuple[float, ...]:
        """The times at which a baseline hazard stays."""
        words = () if self.times is None else words_of(self.times, "--times", "numbers")
        return tuple(number_of(word, f"--times lists {word!r}, no number.", "Leave it out.") for word in words)


class CopyReportOptions(OptionGroup, heading="The audit of the copy"):
    """Where what is found of the copy goes."""

    data: DataOption = None
    target: TargetOption = None
    person: PersonColumnOption = None
    policy: PolicyOption = None
    report: AuditOption = None
    audience: AudienceOption = "checker"
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def scrub_command(
    model: ModelArgument,
    domain: RequiredDomainOption,
    copy: CopyOptions,
    audited: CopyReportOptions,
    reading: ModelFileOptions,
    written: RecordsFileOptions,
    limits: LimitOptions,
) -> None:
    """Write a copy with thresholds on the domain's public grid and counts coarsened, and audit it again.

    With --data and --target it shows what the copy costs in accuracy, AUROC and log loss. A domain that declares the
    target is taken without it, as by audit. If the policy accepts the guarantee of a private model, the copy does not
    depend on --data; with --audience public neither does the output. A file that cannot be read is bad input.

    Exit status: that of the audit of the copy: 0 within policy, 1 outside policy, 2 bad input, 3 inconclusive, also
    where --cpu-limit allows no copy.
    """
    from glassine.attacks.outcome import RecordNote
    from glassine.auditing.api import audit, verdict_of
    from glassine.auditing.audit_settings import AuditSettings
    from glassine.auditing.describe import describe_guarantee, relied_on
    from glassine.formats import ModelFile, write_model
    from glassine.formats.canonical import as_written
    from glassine.formats.judged import just_written
    from glassine.models import AdditiveModel, DecisionTree, RegressionModel, RuleList
    from glassine.scrubbing.log import ScrubLog
    from glassine.scrubbing.regression import scrub_regression
    from glassine.scrubbing.scrub import scrub

    data, target, output, smallest_leaf = audited.data, audited.target, copy.output, copy.smallest_leaf
    report = audited.report
    read = [model, domain, data, audited.policy]
    check_outputs([output, report, copy.steps], read, overwrite=audited.overwrite)
    check_report(report)
    model_file, domain_file, (policy, policy_file) = read_once(model), read_once(domain), read_policy(audited.policy)
    declared = stated_domain(domain_file)
    if target is not None and data is None:
        raise GlassineError("--target needs --data: accuracy is measured on given records.", remedy="Add it.")
    whole = load_judged(model_file, declared, reading.trust_pickle, reading.tree)
    # Of several trees the copy is one of plain trees, whose quality is measured as that of the copy.
    before: Any = whole.model if isinstance(whole, ModelFile) else as_written(whole.model, declared)
    private = isinstance(whole, ModelFile) and relied_on(describe_guarantee(before, policy))
    merging, grid = bool(smallest_leaf or copy.largest_advantage), copy.grid
    if grid and not (isinstance(before, RegressionModel) and before.fit.baseline):
        raise InvalidParameterError("--times is for a Cox regression with a baseline hazard.", remedy="Leave it out.")
    if private and merging and isinstance(before, DecisionTree) and None in [c.evidence.size for c in before.cells]:
        raise InvalidParameterError(
            "this private model publishes no counts to merge leaves by, and those of the data would void its "
            "guarantee.",
            remedy="Leave --smallest-leaf and --largest-advantage out.",
        )
    with stages() as progress:
        progress("reading the records")
        person = audited.person
        check_person(person, {data: None})
        columns = {"person": person, "target": target}
        quiet = audited.audience == "public"
        sealed = unopened(data, written, declared, identifiers(person), columns=columns, hints=True, quiet=quiet)
        # A copy of a private model that is counted in its data would be no longer covered: they stay closed.
        counted = None if private or sealed is None else sealed.open()
        records = sealed if private else counted
        progress("scrubbing")
        files = {"domain": domain_file, "policy": policy_file}
        options = {"target": target, "person": person, WRITTEN: shlex.join(written.words), OF_ANOTHER: "yes"}

        def read_from(findings: Findings, file: FileContent) -> Findings:
            inputs = {"model": file, **files}
            return with_inputs(findings, inputs, {"data": data}, policy=audited.policy, options=options)

        sources: dict[str, Any] = {"domain": declared, "persons": person, "policy": policy}
        sources["settings"] = AuditSettings(progress=progress)
        try:
            result = scrub(
                before,
                declared,
                counts=copy.counts,
                base=copy.base,
                smallest_leaf=smallest_leaf,
                largest_advantage=copy.largest_advantage,
                data=counted,
                persons=person if merging and counted is not None else None,
            )
            if grid:
                own = scrub_regression(before, data=counted, times=grid)
                result = replace(result, model=own.model, n_dropped=own.n_dropped)
        except CostLimitError as error:
            _end(read_from(audit(whole, records, target, **sources), model_file), error, audited)
        if copy.steps is not None:
            if not isinstance(whole, ModelFile):
                raise InvalidParameterError(
                    "--steps is for a copy of one model with a certificate, and this is an ensemble of trees.",
                    remedy="Leave it out.",
                )
            if counted is not None:
                raise InvalidParameterError(
                    "--steps shows that a copy follows from the model alone, and this one is counted in --data.",
                    remedy="Leave one of them out.",
                )
            done: dict[str, Any] = {"counts": copy.counts, "base": copy.base, "smallest_leaf": smallest_leaf}
            done["largest_advantage"] = copy.largest_advantage
            ScrubLog.of(before, result.model, declared, **done).to_json(copy.steps)
        # The files are judged, as by an audit of them: the copy is what is handed out.
        wrote = write_model(result.model, output, overwrite=True)
        copied = read_once(output)
        # In words, no more than the verdict on the model is said beside that on the copy.
        first = audit(whole, records, target, **sources) if audited.as_json else None
        verdict = verdict_of(whole, records, target, **sources) if first is None else first.verdict
        copied_model = (
            just_written(result.model, copied, wrote, declared)
            if isinstance(result.model, DecisionTree | RuleList)
            else load_judged(copied, declared, trust_pickle=False)
        )
        second = audit(copied_model, records, target, **sources)
        cost, said = None, list[str]()
        if target is not None and not (private and quiet):
            try:
                table = sealed.open() if private and sealed is not None else counted
                cost = changed(quality(before, table, target), quality(result.model, table, target))
                said = sentences(cost)
            except GlassineError as error:
                # The copy is written, and audits refuse no record: what cannot be measured is said.
                said = [f"What the copy costs could not be measured: {error}"]
    if private and second.holder is not None:
        second = replace(second, holder=replace(second.holder, notes=(*second.holder.notes, *map(RecordNote, said))))
        cost, said = None, []
    second = read_from(second, copied)
    if audited.audience == "public":
        second, cost, said = second.public(), None, []
    if report is not None:
        write_report(second, report, title=output.name)
    changes = {"rounded": result.n_rounded, "dropped": result.n_dropped, "merged": result.n_merged}
    n_values = _new_values(before, result.model)
    if n_values is not None:
        changes["values"] = n_values
    if first is not None:
        before_it = read_from(first, model_file)
        before_it = before_it.public() if audited.audience == "public" else before_it
        print_value(
            {"changes": changes, "quality": cost, "before": before_it.to_dict(), "after": second.to_dict()}, True
        )
    else:
        parts = "bins" if isinstance(before, AdditiveModel) else "leaves"
        summed = (
            f"Thresholds rounded: {result.n_rounded}, dropped: {result.n_dropped}; {parts} merged: {result.n_merged}."
        )
        if isinstance(before, RegressionModel):
            summed = f"Coefficients rounded: {result.n_rounded}; rows of a baseline dropped: {result.n_dropped}."
        if n_values:
            summed += f" Predicted values rounded or merged: {n_values}."
        lines = [
            summed,
            f"Verdict before: {verdict}; after: {second.verdict}.",
        ]
        print_value("\n".join([*lines, *said, f"Model: {output}", "", text_of(second, report)]), False)
    raise typer.Exit(second.exit_status)


def _new_values(before: object, after: object) -> int | None:
    """Return how many leaves or rules of a copy predict a number that no part of the model does; None of classes."""
    from glassine.models import DecisionTree, RuleList

    if not isinstance(before, DecisionTree | RuleList) or not isinstance(after, DecisionTree | RuleList):
        return None
    if before.classes is not None:
        return None
    old = {cell.evidence.value for cell in before.cells}
    return sum(cell.evidence.value not in old for cell in after.cells)


def _end(findings: Findings, error: CostLimitError, audited: CopyReportOptions) -> NoReturn:
    """Show what is found of a model of which the budget allowed no copy, in the report that was asked for, and end."""
    public = findings.public() if audited.audience == "public" else findings
    why = worded(Text(f"No copy was written: {error.text}"), options_of("cpu_limit", "memory_limit"))
    report = audited.report
    if report is not None:
        write_report(public, report, title=None)
    if audited.as_json:
        print_value({"changes": None, "quality": None, "before": public.to_dict(), "after": None, "why": why}, True)
    else:
        said = [why, *([f"The report is on the model: {report}"] if report is not None else [])]
        print_value("\n".join([*said, "", text_of(public, report)]), False)
    raise typer.Exit(findings.exit_status or 3)
