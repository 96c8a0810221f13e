"""``glassine attack``: tell the training records of a published model from others."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassine.cli.estimators import load_published
from glassine.cli.naming import in_options, listed
from glassine.cli.options import (
    ConfidenceOption,
    DomainOption,
    JsonOption,
    ModelArgument,
    ReportOption,
    RequiredDataOption,
    RequiredHoldoutOption,
    RequiredTargetOption,
    SeedOption,
    TreeOption,
    TrustOption,
    at_least,
)
from glassine.cli.progress import progress as shown_progress
from glassine.cli.reading import input_files, opened, read_domain
from glassine.cli.writing import check_outputs, check_report, print_value, tell
from glassine.errors import GlassineError
from glassine.files import read_once

if TYPE_CHECKING:
    from glassine.attacks.membership.suite import MembershipAttacks
    from glassine.auditing.findings import InputFile, MembershipFinding

__all__ = ["attack_command"]

SCHEMA = "glassine.attack/2"

OPTIONS = {
    "n_shadows": "--shadows",
    "random_state": "--seed",
    "confidence": "--confidence",
    "largest_advantage": "--max-advantage",
}


def attack_command(
    model: ModelArgument,
    data: RequiredDataOption,
    holdout: RequiredHoldoutOption,
    target: RequiredTargetOption,
    domain: DomainOption = None,
    shadows: Annotated[
        int,
        typer.Option(
            "--shadows",
            metavar="N",
            help="Shadow models of the likelihood-ratio attack; 0 leaves it out.",
            callback=at_least("--shadows", 0, "16 or more give steady figures."),
        ),
    ] = 0,
    max_advantage: Annotated[
        float | None,
        typer.Option(
            "--max-advantage",
            metavar="NUMBER",
            help="Exit with 1 where an attack is better than this, 3 where that is open.",
        ),
    ] = None,
    confidence: ConfidenceOption = 0.99,
    seed: SeedOption = 0,
    output: ReportOption = None,
    as_json: JsonOption = False,
    tree: TreeOption = None,
    trust_pickle: TrustOption = False,
    show_small_counts: Annotated[
        bool,
        typer.Option(
            "--show-small-counts", help="Do not suppress small counts; JSON has all details, row numbers too."
        ),
    ] = False,
) -> None:
    """Attack a published model: tell its training records from others.

    Exit status: 0 when the attacks were made; with --max-advantage 1 where one is better than it, 3 where that is
    open; 2 for bad input.
    """
    from glassine.attacks.membership.suite import attack_membership
    from glassine.auditing.describe_membership import describe_membership
    from glassine.auditing.evidence import Evidence
    from glassine.auditing.judging import decide, judge
    from glassine.auditing.policy import Policy
    from glassine.auditing.suppression import Suppression

    check_outputs([output], [model, domain, data, holdout])
    check_report(output)
    # A wrong limit must be told before the attacks are made.
    with in_options(OPTIONS):
        policy = Policy(largest_advantage=max_advantage)
    model_file, domain_file = read_once(model), opened(domain)
    known = read_domain(domain_file)
    read = load_published(model_file, known, trust_pickle, tree)
    if getattr(read, "classes", getattr(read, "classes_", None)) is None:
        raise GlassineError("membership attacks are made on classifiers; this model predicts a number.")
    if target in (_attributes(read) or ()):
        raise GlassineError(f"--target {target!r} is an attribute of the model. Name the column that it predicts.")
    with shown_progress(quiet=as_json) as display, in_options(OPTIONS):
        display.stage("reading the records")
        members, others = (_sides(path, known, _attributes(read), target) for path in (data, holdout))
        display.stage("attacking")
        found = attack_membership(
            read,
            members,
            target,
            others,
            target,
            learner=_learner(read, members) if shadows else None,
            n_shadows=shadows or 16,
            confidence=confidence,
            random_state=seed,
            progress=display,
        )
    finding = describe_membership(found, Suppression(0 if show_small_counts else policy.suppress_below))
    inputs = input_files(model=model_file, domain=domain_file, data=data, holdout=holdout)
    details = found if show_small_counts else None
    _write(finding, details, inputs, output, as_json, model.name)
    if max_advantage is not None:
        from glassine.attacks.outcome import Measured
        from glassine.auditing.findings import EXIT_STATUS

        checks = judge(policy, Evidence(kind="tree", membership=Measured(finding)), Suppression(policy.suppress_below))
        tell(f"Limit {max_advantage:g}: {checks[0].status}. {checks[0].meaning}")
        raise typer.Exit(EXIT_STATUS[decide(checks)])


def _attributes(model: Any) -> tuple[str, ...] | None:
    """Return the columns that a model knows; None for a fitted estimator that kept no names."""
    named = getattr(model, "attributes", getattr(model, "feature_names_in_", None))
    return None if named is None else tuple(named)


def _learner(model: Any, records: Any) -> Any:
    """Return what shadow models are learnt with: the estimator's own kind, or one of the model's size."""
    from sklearn.base import BaseEstimator, clone

    from glassine.attacks.membership.lira import shadow_learner

    return clone(model) if isinstance(model, BaseEstimator) else shadow_learner(model, records)


def _sides(path: Path, domain: Any, attributes: tuple[str, ...] | None, target: str) -> Any:
    """Return the columns that the model knows, and the target: identifiers say nothing of membership."""
    from glassine.data.sources import read_frame

    frame = read_frame(path, domain)
    if target not in frame.columns:
        raise GlassineError(f"{path} has no column {target!r} for --target.{listed(target, frame.columns)}")
    return frame.select([name for name in frame.columns if attributes is None or name in (*attributes, target)])


def _write(
    finding: MembershipFinding,
    details: MembershipAttacks | None,
    inputs: tuple[InputFile, ...],
    output: Path | None,
    as_json: bool,
    name: str,
) -> None:
    from glassine import __version__
    from glassine.attacks.membership.result import plain as plain_values
    from glassine.files import write_json, write_text
    from glassine.report import attack_page, render_html, render_text

    files = [asdict(file) for file in inputs]
    plain = {"schema": SCHEMA, "version": __version__, "inputs": files, "holder_only": True, **plain_values(finding)}
    if details is not None:
        plain["details"] = details.to_dict()
    page = attack_page(finding, title=f"Membership attacks on {name}", inputs=inputs)
    text = render_text(page)
    if output is not None and output.suffix == ".json":
        write_json(plain, output)
    elif output is not None and output.suffix == ".txt":
        write_text(text, output)
    elif output is not None:
        write_text(render_html(page), output)
    print_value(plain if as_json else text + (f"\nReport: {output}\n" if output else ""), as_json)
