"""``glassine rebuild``: rows that meet the counts of models, and what several models reveal together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from glassine.cli.naming import as_command, in_options
from glassine.cli.options import (
    ConfidenceOption,
    DataOption,
    JsonOption,
    NoiseOption,
    OptionGroup,
    OverwriteOption,
    PolicyOption,
    RecordsFileOptions,
    RequiredDomainOption,
    SeedOption,
    TrustOption,
    above,
    argument,
    at_least,
    flag,
    noise_of,
    option,
    output_option,
)
from glassine.cli.progress import stages
from glassine.cli.reading import load_trees, of_header, read_policy, read_records, stated_domain
from glassine.cli.writing import check_ending, check_outputs, print_value
from glassine.errors import GlassineError, worded
from glassine.files import write_text
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.attacks.disclosure import CountNoise
    from glassine.attacks.outcome import Outcome
    from glassine.attacks.reconstruction.entropy import ProbabilisticDataset
    from glassine.attacks.reconstruction.joint_result import JointReconstruction, SharedGroup
    from glassine.attacks.reconstruction.row_result import RowReconstruction
    from glassine.attacks.record_matching import ErrorEstimate
    from glassine.auditing.findings import Findings
    from glassine.auditing.policy import Policy
    from glassine.auditing.several_models import SeveralModels
    from glassine.domain import Domain

NAMES = {
    "counts='data'": "--count-from-data",
    'noise=CountNoise("rounded", 10)': "--noise rounded:10",
    "the data and counts='data'": "--data and --count-from-data",
    "same_labels=False": "--other-labels",
    "smallest_group": "--smallest-group",
    "time_limit": "--time-limit",
    "max_parts": "max_parts (in Python)",
    "data": "--data",
}
SHOWN = 10
"""Groups that the text lists; JSON lists all."""
ROUNDING = 1e-9
"""What is taken for the rounding of bits."""
NOT_JUDGED = "Not judged here: the other checks of the policy. `glassine audit` judges them for each model alone."


def verdict_plain(findings: Findings) -> dict[str, Any]:
    """Return the verdict and the checks as plain values."""
    plain = findings.to_dict()
    return {"verdict": plain["verdict"], "checks": plain["checks"]}


def verdict_text(findings: Findings) -> str:
    """Return the verdict and the checks as text."""
    from glassine.report.sections.policy import checked

    checks = [f"  [{one.status}] {one.label}: {one.sentence}" for one in checked(findings)]
    steps = [f"  {number}. {as_command(remedy)}" for number, remedy in enumerate(findings.advice, start=1)]
    said = [f"Verdict on the models together: {findings.verdict}.", *checks]
    return "\n".join([*said, *(["What to do", *steps] if steps else []), NOT_JUDGED])


def joint_text(joint: JointReconstruction, *, have_data: bool) -> str:
    """Return what was left out or counted, the bits, then the groups."""
    said = [*_provisos(joint, have_data), *_guarantees(joint)]
    if joint.silence is not None:
        return "\n".join([*said, "No model publishes exact counts, so no bits and no groups were measured."])
    alone = [f"  {name}: {bits:.4f}" for name, bits in zip(joint.models, joint.bits_alone, strict=True)]
    if joint.contradiction is not None:
        said.append(
            "No dataset meets these counts: the models were not trained on the same records, or the domain excludes "
            f"some of them. {_sentence(joint.contradiction)}"
        )
        return "\n".join(["Bits about a record, of each model alone:", *alone, *said])
    whole = "by the domain's public shares" if joint.by_shares else f"of {joint.domain_bits:.2f}"
    said += [f"{joint.n_records:,} records. Bits learned about each, {whole}:", *alone]
    several = len(joint.models) > 1
    if several:
        said.append(f"  together: {joint.bits_per_record} (proved bounds, rounded)")
        said.append(f"  were the models independent: {joint.bits_if_independent:.4f}")
        if joint.bits_aligned is not None:
            said.append(f"  with the rows of all models aligned: {joint.bits_aligned:.4f}")
    elif joint.left_out:
        said.append(f"Only {joint.models[0]} is left, so there is nothing to put together.")
    else:
        said.append("That is one model, so there is nothing to put together.")
    said += _exposed(joint)
    if not joint.proved_consistent:
        said.append("No dataset that meets all counts was found in time; the bounds hold if there is one.")
    if several:
        said += _groups(
            joint.small_groups,
            f"that certainly hold 1 to {joint.smallest_group} records and that no model sets apart alone",
        )
        said += _groups(joint.certain_labels, "whose records certainly have one class, which no model reveals alone")
    return "\n".join(said)


def _provisos(joint: JointReconstruction, have_data: bool) -> list[str]:
    said = [f"Left out: {entry.name} {entry.reason}" for entry in joint.left_out]
    if any(entry.can_be_counted for entry in joint.left_out):
        needed = "" if have_data else "--data and "
        said.append(f"What an attacker learns who also knows their numbers of records: {needed}--count-from-data.")
    if joint.filled:
        said.append(
            f"Counted in the data, without classes: {', '.join(joint.filled)}. The figures are those of an attacker "
            "who also knows these numbers, and so learns more than from the models alone."
        )
    return said


def _guarantees(joint: JointReconstruction) -> list[str]:
    composed = joint.composition
    if composed is None:
        return []
    text = str(composed)
    return [text[:1].upper() + text[1:]]


def _exposed(joint: JointReconstruction) -> list[str]:
    """Return the bits about the most exposed record: proved bounds, and the estimate of the most exposed leaf."""
    bounds = joint.bits_most_exposed
    if bounds is None:
        return []
    top = f"at most {bounds.upper:.4f}" if math.isfinite(bounds.upper) else "with no bound from above"
    said = f"The most exposed record: at least {bounds.lower:.4f} bits, {top} (proved bounds, rounded)"
    if bounds.width < ROUNDING:
        said = f"The most exposed record: {bounds.lower:.4f} bits (proved, rounded)"
    if len(joint.models) > 1 and joint.exposures:
        said += f"; in the most exposed leaf, {max(entry.bits_jointly for entry in joint.exposures):.4f} (estimated)"
    return [f"{said}."]


def _sentence(text: str) -> str:
    said = worded(text, NAMES)
    return said[:1].upper() + said[1:] if said.startswith(("no ", "part ")) else said


def _groups(groups: tuple[SharedGroup, ...], what: str) -> list[str]:
    said = [f"Groups {what}: {len(groups) or 'none'}{'.' if not groups else ''}"]
    for group in groups[:SHOWN]:
        label = "" if group.label is None else f", class {group.label}"
        worlds = "" if group.worlds is None else f", {group.worlds:,} possible"
        said.append(f"  {group.size}{label}{worlds}: {group.where}")
    if len(groups) > SHOWN:
        said.append(f"  and {len(groups) - SHOWN} more; --json lists all.")
    return said


SCHEMA = "glassine.rows/1"


class PublishedOptions(OptionGroup):
    """What an attacker has."""

    models: list[Path] = argument(
        "MODEL",
        "The published model: JSON, text, skops, ONNX, PMML and others; see the formats page. "
        "Or several models of the same records.",
    )
    domain: RequiredDomainOption
    data: DataOption = None
    policy: PolicyOption = None
    trust_pickle: TrustOption = False


class CountOptions(OptionGroup, heading="Counts"):
    """How published counts are read."""

    count_from_data: bool = flag(
        "Count in the data how many records each part holds where a model does not publish it or rounds it: "
        "for an attacker who also knows that."
    )
    noise: NoiseOption = None
    confidence: ConfidenceOption = 0.99
    counts_only: bool = flag("Do not use the bootstrap seeds that a fitted forest keeps.")


class TogetherOptions(OptionGroup, heading="Several models"):
    """How several models are put together."""

    smallest_group: int = option(
        "N", "Largest number of records of a group that only several models reveal.", 5, callback=at_least(1)
    )
    other_labels: bool = flag("The models predict different things: compare sizes, not classes.")


class RowOptions(OptionGroup, heading="Rows"):
    """The rows to rebuild."""

    output: Path | None = output_option("Write the rebuilt rows, CSV.")
    rows: bool | None = option(
        None,
        "Rebuild rows, or leave it at the bits and the groups, which is quick. By default one model's rows "
        "are rebuilt, those of several models for --output only.",
    )
    time_limit: float = option("SECONDS", "Most seconds for the solver.", 60.0, callback=above(0))
    seed: SeedOption = 0
    overwrite: OverwriteOption = False


def rebuild_command(
    published: PublishedOptions,
    counting: CountOptions,
    together: TogetherOptions,
    solver: RowOptions,
    written: RecordsFileOptions,
    as_json: JsonOption = False,
) -> None:
    """Rebuild rows that meet every count of a model; of a forest, often the training records themselves.

    For several models of the same records, it shows how much an attacker learns about a record from each and from all
    together, and which small groups only all together reveal; rows are rebuilt on request. The most
    exposed record, the smallest group and the sum of epsilons are judged against the policy. Of one model with noisy or
    rounded counts, it gives intervals of the figures, and no rows: by the noise that the model states, or --noise. With
    --data it shows how close the rows come to the records, and all of it is for the checker only. The output
    names such groups with their counts: it is for the publisher, not for publication.

    Rows of forests need pip install 'glassine[solver]'.

    Exit status: 0 when it was done, and several models together are within policy; 1 outside policy; 2 bad input, no
    rows could be rebuilt, or the models contradict one another; 3 inconclusive.
    """
    from glassine.attacks import Search, reconstruct_records
    from glassine.auditing.several_models import SeveralModels

    models, output, rows = published.models, solver.output, solver.rows
    have_data = published.data is not None
    read = [*models, published.domain, published.data, published.policy]
    check_outputs([output], read, overwrite=solver.overwrite)
    check_ending(output, (".csv", ".txt"), "rows are written as CSV")
    if output is not None and rows is False:
        raise GlassineError("--output needs the rows that --no-rows leaves out.", remedy="Drop one of the two.")
    if counting.count_from_data and not have_data:
        raise GlassineError(
            "--count-from-data needs --data: the numbers are counted in the training records.", remedy="Add it."
        )
    stated = noise_of(counting.noise)
    if stated is not None and (len(models) > 1 or output is not None or rows or counting.count_from_data):
        raise GlassineError(
            "--noise gives intervals of what one model reveals.",
            remedy="Leave out -o, --rows, --count-from-data and other models.",
        )
    limits, _ = read_policy(published.policy)
    declared = stated_domain(published.domain)
    original = None
    if published.data is not None:
        original = of_header(read_records(published.data, written, Purpose.AUDIT, declared), "the comparison")
    trees = [load_trees(model, declared, published.trust_pickle) for model in models]
    if len(models) == 1 and output is None and not rows and not counting.count_from_data:
        blurred = _blurred(trees[0], declared, stated)
        if blurred is not None:
            _print_estimate(blurred, counting.confidence, as_json)
            return
    wanted = (len(models) == 1 or output is not None) if rows is None else rows
    with stages() as progress:
        joint, judged, counts = None, None, "data" if counting.count_from_data else "published"
        if len(models) > 1 or not wanted:
            several = SeveralModels(
                models=tuple(trees),
                names=tuple(_names(models)),
                counts=counts,
                same_labels=not together.other_labels,
                smallest_group=together.smallest_group,
                time_limit=solver.time_limit,
            )
            joint, judged = _together(several, declared, original, limits, progress)
        rebuilt, error = None, None
        if wanted and (joint is None or joint.contradiction is None):
            progress("rebuilding rows")
            search = Search(time_limit=solver.time_limit, progress=progress)
            if len(models) == 1:
                outcome = reconstruct_records(
                    trees[0], declared, random_state=solver.seed, use_seeds=not counting.counts_only, search=search
                )
            else:
                outcome = reconstruct_records(
                    trees,
                    declared,
                    data=original,
                    counts=counts,
                    same_labels=not together.other_labels,
                    random_state=solver.seed,
                    search=search,
                )
            rebuilt = _rows(outcome, joint, as_json, have_data)
            progress("comparing with the data")
            error = None if original is None else rebuilt.error_to(original, random_state=solver.seed)
    if output is not None and rebuilt is not None:
        _write(rebuilt, output, for_checker=counting.count_from_data)
    judged = None if joint is None or len(models) == 1 or joint.contradiction is not None else judged
    _print(joint, rebuilt, error, judged, output, as_json, have_data)
    if joint is not None and joint.contradiction is not None:
        raise typer.Exit(2)
    if judged is not None:
        raise typer.Exit(judged.exit_status)


def _blurred(published: object, domain: Domain, stated: CountNoise | None) -> ProbabilisticDataset | None:
    """Return what a tree or rule list with inexact counts reveals; None for others."""
    from glassine.attacks.reconstruction.entropy import reconstruct
    from glassine.models import DecisionTree, RuleList

    if not isinstance(published, DecisionTree | RuleList):
        return None
    exact = published.counts_are_exact or all(cell.evidence.size is None for cell in published.cells)
    return None if exact and stated is None else reconstruct(published, domain, noise=stated)


def _print_estimate(dataset: ProbabilisticDataset, confidence: float, as_json: bool) -> None:
    with in_options(NAMES | {"confidence": "--confidence"}):
        estimate = dataset.estimate(confidence=confidence, domain_aware=True)
    noise = dataset.noise
    if as_json:
        blurred = None if noise is None else {"kind": noise.kind, "scale": noise.scale}
        print_value(estimate.to_dict() | {"noise": blurred}, as_json=True)
        return
    said = ["The counts are rounded, so that each figure lies in an interval:"]
    if noise is not None and noise.kind != "rounded":
        said = [
            f"The counts carry {noise.kind} noise of scale {noise.scale:g} records. With {estimate.confidence:.4g} "
            "confidence, each figure lies in its interval:"
        ]
    said.append(f"  training records: {estimate.n_records.lower:,.0f} to {estimate.n_records.upper:,.0f}")
    named = (
        ("bits learned per record", estimate.bits_per_record),
        ("Dist", estimate.dist),
        ("Dist_G", estimate.dist_g),
    )
    said += [f"  {name}: {interval}" for name, interval in named if interval is not None]
    said.append("Rows are not rebuilt: too many numbers of records are possible.")
    print_value("\n".join(said), as_json=False)


def _names(models: list[Path]) -> list[str]:
    """Return the files' names; their paths where names are the same."""
    names = [path.name for path in models]
    return names if len(set(names)) == len(names) else [str(path) for path in models]


def _together(
    several: SeveralModels, domain: Domain, data: Any, policy: Policy, progress: Callable[[str], None]
) -> tuple[JointReconstruction, Findings]:
    """Return what the models reveal together, no count suppressed, and the audit of that."""
    from glassine.auditing.audit_settings import AuditSettings
    from glassine.auditing.inputs import AuditInputs
    from glassine.auditing.several import SeveralSubject
    from glassine.auditing.subject import examine

    settings = AuditSettings(show_small_counts=True, progress=progress)
    inputs = AuditInputs(domain=domain, data=data, settings=settings, policy=policy)
    subject = SeveralSubject.of_models(several, inputs)
    with in_options(NAMES):
        joint = subject.joint
    findings = examine(subject)
    findings = replace(
        findings, checks=tuple(replace(check, meaning=worded(check.meaning, NAMES)) for check in findings.checks)
    )
    if joint.contradiction is not None:
        joint = replace(joint, contradiction=worded(joint.contradiction, NAMES))
    return joint, findings


def _rows(
    outcome: Outcome[RowReconstruction], joint: JointReconstruction | None, as_json: bool, have_data: bool
) -> RowReconstruction:
    """Return the rows; where there are none, print what is known and raise."""
    from glassine.attacks.outcome import Measured
    from glassine.report.wording import CHECKER_ONLY

    if isinstance(outcome, Measured):
        return outcome.value
    if joint is not None and not as_json:
        mark = f"{CHECKER_ONLY}\n\n" if have_data else ""
        print_value(mark + joint_text(joint, have_data=have_data), as_json=False)
    raise GlassineError(f"no rows: {worded(outcome.reason, NAMES)}")


def _print(
    joint: JointReconstruction | None,
    rows: RowReconstruction | None,
    error: ErrorEstimate | None,
    findings: Findings | None,
    output: Path | None,
    as_json: bool,
    have_data: bool,
) -> None:
    from glassine.report.wording import CHECKER_ONLY

    if as_json:
        plain = None if rows is None else _plain(rows, error)
        judged = {} if findings is None else verdict_plain(findings)
        whole = plain or {} if joint is None else joint.to_dict() | judged | {"rows": plain}
        print_value({"audience": "checker" if have_data else "public"} | whole, as_json=True)
        return
    said = [CHECKER_ONLY] if have_data else []
    said += [] if joint is None else [joint_text(joint, have_data=have_data)]
    said += [] if findings is None else [verdict_text(findings)]
    said += [] if rows is None else [_text(rows, error, output, joint is not None and len(joint.models) > 1)]
    print_value("\n\n".join(said), as_json=False)


def _write(rows: RowReconstruction, output: Path, *, for_checker: bool) -> None:
    """Write the rows; those that follow from counts in the data say in a column of their own whose they are."""
    import polars as pl

    columns: dict[str, Any] = {name: values.tolist() for name, values in rows.rows.items()}
    for name, values in (("class", rows.labels), ("certain", rows.certain)):
        if values is not None:
            columns[name if name not in columns else f"{name} of the row"] = values.tolist()
    frame = pl.DataFrame(columns, strict=False)
    if for_checker:
        name = "audience" if "audience" not in columns else "audience of the row"
        frame = frame.with_columns(pl.lit("checker").alias(name))
    write_text(frame.write_csv(), output)


def _plain(rows: RowReconstruction, error: ErrorEstimate | None) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": rows.status,
        "meaning": rows.meaning,
        "records": rows.n_records,
        "certain": rows.n_certain,
        "whole": rows.n_whole,
        "share_certain": rows.share_certain,
        "ordered": rows.ordered,
        "reproduced": rows.reproduced,
        "error": None if error is None else error.error,
        "error_of_random_records": None if error is None else error.baseline,
    }


def _text(rows: RowReconstruction, error: ErrorEstimate | None, output: Path | None, several: bool) -> str:
    whose = "the models" if several else "the model"
    said = [f"Rebuilt {rows.n_records:,} rows that meet every count of {whose}. {rows.meaning}"]
    if rows.n_certain is not None and rows.share_certain is not None:
        whole = f"{rows.n_whole:,} rows are" if rows.n_whole else "No row is"
        said.append(f"The counts fix {100 * rows.share_certain:.1f}% of all values. {whole} fixed in every attribute.")
    if rows.ordered:
        said.append("The rows are in the order of the training records.")
    if rows.reproduced:
        said.append("The forest, trained again on these rows with its own seeds, comes out the same.")
    if error is not None:
        said.append(
            f"From the training records the rows lie {error.error:.4f} away, random records {error.baseline:.4f} "
            "(0 is equal, 1 as far as can be)."
        )
        if error.error >= error.baseline:
            said.append("That is no closer than random records: the rows reveal no more than the counts do.")
    said.append("Add -o FILE to write the rows." if output is None else f"\nRows: {output}")
    return "\n".join(said)
