"""``glassine disclose``: what the reader of a tree learns of everybody's sensitive attribute."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassine.cli.naming import nearest
from glassine.cli.options import (
    CriterionOption,
    DomainOption,
    HoldoutOption,
    JsonOption,
    ModelArgument,
    NoiseOption,
    ReportOption,
    SeedOption,
    SmallOption,
    SplitsOption,
    TargetOption,
    TreeOption,
    TrustOption,
    noise_of,
)
from glassine.cli.progress import progress as shown_progress
from glassine.cli.reading import input_files, load, opened, read_domain
from glassine.cli.writing import check_outputs, check_report, print_value
from glassine.errors import InvalidDataError, InvalidParameterError, UndefinedMeasureError, UnsupportedModelError
from glassine.files import FileContent, read_once

if TYPE_CHECKING:
    from glassine.attacks.disclosure import Adversary
    from glassine.auditing.findings import InputFile
    from glassine.auditing.findings.disclosure import DisclosureFinding
    from glassine.domain import Domain
    from glassine.models import DecisionTree

__all__ = ["disclose_command", "stored_estimator"]

SCHEMA = "glassine.disclose/2"

HOW_TO_STATE = "Name the criterion with --criterion, and how categories were split with --splits."

LEAVES = {"counts": "leaf_counts", "error-rates": "error_rates", "labels": "labels_only"}


def disclose_command(
    model: ModelArgument,
    people: Annotated[
        Path,
        typer.Option(
            "--people",
            metavar="FILE",
            help="The people whose quasi-identifiers the reader knows, CSV or Parquet: one row a person.",
        ),
    ],
    sensitive: Annotated[
        str, typer.Option("--sensitive", metavar="COLUMN", help="The attribute that the tree predicts.")
    ],
    domain: DomainOption = None,
    leaves: Annotated[
        Literal["counts", "error-rates", "labels"], typer.Option("--leaves", help="What the leaves tell.")
    ] = "counts",
    target: TargetOption = None,
    criterion: CriterionOption = None,
    splits: SplitsOption = "auto",
    internal_nodes: Annotated[
        bool,
        typer.Option("--internal-nodes/--no-internal-nodes", help="Whether the reader uses that splits were the best."),
    ] = True,
    same_attribute: Annotated[
        bool, typer.Option("--same-attribute", help="Splits were the best of their attribute only.")
    ] = False,
    min_samples_leaf: Annotated[
        int | None,
        typer.Option("--min-samples-leaf", metavar="N", help="Fewest records of a branch that the learner allowed."),
    ] = None,
    training: Annotated[
        Literal["known", "sample"],
        typer.Option("--training", help="known: the people are the training records; sample: more than these."),
    ] = "known",
    sampling_fraction: Annotated[
        float | None,
        typer.Option(
            "--sampling-fraction", metavar="SHARE", help="Of a sample: its share of the people, if it is known."
        ),
    ] = None,
    noise: NoiseOption = None,
    truth: Annotated[
        bool | None,
        typer.Option(
            "--truth/--no-truth",
            help="Compare with the sensitive column of the people.",
            show_default="if there is one",
        ),
    ] = None,
    remedies: Annotated[
        bool,
        typer.Option(
            "--remedies", help="Try what can be done against it; needs the sensitive column, here and in --holdout."
        ),
    ] = False,
    holdout: HoldoutOption = None,
    seed: SeedOption = 0,
    output: ReportOption = None,
    as_json: JsonOption = False,
    one: TreeOption = None,
    trust_pickle: TrustOption = False,
    show_small_counts: SmallOption = False,
) -> None:
    """Tell what a tree discloses of a sensitive attribute to a reader who knows everybody's quasi-identifiers.

    Exit status: 0 when it was measured, 2 for bad input or assumptions that contradict the tree.
    """
    from glassine.attacks.disclosure import infer_sensitive
    from glassine.attacks.disclosure.adversary import NOT_STATED, read_hints
    from glassine.auditing.describe_disclosure import describe_disclosure
    from glassine.auditing.policy import Policy
    from glassine.auditing.suppression import Suppression

    check_outputs([output], [model, domain, people, holdout])
    check_report(output)
    if holdout is not None and not remedies:
        raise InvalidParameterError("--holdout is for --remedies. Add it, or leave the held-out records out.")
    if training == "sample" and remedies:
        raise InvalidParameterError("--remedies are measured on the training records. Take --training known.")
    model_file, domain_file = read_once(model), opened(domain)
    known = read_domain(domain_file)
    # What is wrong with the options is told before anything is read.
    assumed = {
        "training": training,
        "sampling_fraction": sampling_fraction,
        "noise": noise_of(noise),
        "splits": splits,
    }
    used = internal_nodes and criterion != "none"
    reader = _adversary(leaves, criterion, used, same_attribute, min_samples_leaf, known, assumed)
    tree = _tree(model_file, known, trust_pickle, one)
    stated = read_hints(None if one is not None else stored_estimator(model, trust_pickle), known)
    reader = replace(reader, categories=tuple(name for name in reader.categories if name in tree.attributes))
    unused = ""
    if stated.criterion is not None:
        reader = replace(reader, criterion=reader.criterion if criterion else stated.criterion, stated=stated)
    elif used and criterion is None:
        reader, unused = replace(reader, internal_nodes=False), f"{NOT_STATED} {HOW_TO_STATE}"
    with shown_progress(quiet=as_json) as display:
        display.stage("reading the records")
        persons = _people(people, tree, sensitive, known, truth is True or remedies, truth is not False)
        other = _predicts_other(tree, sensitive, target, known, persons, exact=training == "known" and noise is None)
        display.stage("reading the tree")
        found = infer_sensitive(
            tree,
            persons.frame,
            sensitive,
            reader,
            random_state=seed,
            truth=None if training == "sample" else persons.truth,
            progress=lambda stage: display.stage(stage),
        )
        if other:
            raise InvalidDataError(other)
        found = replace(found, unused=found.unused or unused)
        if persons.truth is not None and training == "sample":
            from glassine.attacks.disclosure.remedies import class_tables

            class_tables(found, persons.truth)
        table = None
        if remedies:
            from glassine.attacks.disclosure.remedies import Remedies, measure_remedies

            table = measure_remedies(
                tree,
                persons.frame,
                persons.truth,
                adversary=reader,
                remedies=Remedies(domain=known, random_state=seed),
                evaluation=_held_out(holdout, tree, sensitive, known),
                progress=lambda stage: display.stage(stage),
            )
    shown = Suppression(0 if show_small_counts else Policy().suppress_below)
    compared = None if truth is False else persons.truth
    finding = describe_disclosure(found, sensitive, shown, truth=compared, remedies=table, frame=persons.frame)
    inputs = input_files(model=model_file, domain=domain_file, people=people, holdout=holdout)
    _write(finding, inputs, output, as_json, model.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _People:
    """The people's quasi-identifiers, their column of the sensitive attribute, and the truth if it is to be used.

    ``meant`` names a column that is spelled alike where there is none.
    """

    frame: Any
    column: Any
    truth: Any
    meant: str = ""


def _adversary(
    leaves: str,
    criterion: str | None,
    internal: bool,
    same: bool,
    smallest: int | None,
    domain: Domain | None,
    assumed: dict[str, Any],
) -> Adversary:
    from glassine.attacks.disclosure import Adversary
    from glassine.domain import Category

    attributes = {} if domain is None else {name: domain[name] for name in domain}
    told: Any = {
        "leaves": LEAVES[leaves],
        "criterion": "gini" if criterion in (None, "none") else criterion.replace("-", "_"),
    }
    return Adversary(
        **told,
        internal_nodes=internal,
        candidates="same_attribute" if same else "all_attributes",
        categories=tuple(name for name, attribute in attributes.items() if isinstance(attribute, Category)),
        min_samples_leaf=smallest,
        **assumed,
    )


def stored_estimator(path: str | PathLike[str], trust_pickle: bool) -> Any:
    """Return the fitted estimator of a file, which states how its splits were selected; None for a plain model."""
    from glassine.formats.loading import load_estimator

    try:
        return load_estimator(path, trust_pickle=trust_pickle)
    except UnsupportedModelError:
        return None


def _predicts_other(
    tree: DecisionTree, sensitive: str, target: str | None, domain: Domain | None, persons: _People, *, exact: bool
) -> str:
    """Return what is wrong if the leaves count other classes; raise if the tree is not known to predict the attribute.

    The first is for after the attack, which says more where these are other people.
    """
    import numpy as np

    from glassine.attacks.disclosure.predictions import OTHER_CLASSES, not_predicted
    from glassine.data.inference import columns
    from glassine.domain.literals import is_missing

    seen, data = persons.column, None
    if seen is not None:
        gaps = is_missing(seen)
        data = columns(persons.frame) if exact and not gaps.any() else None
        seen = seen[np.flatnonzero(~gaps)]
    reason = not_predicted(tree, sensitive, target=target, domain=domain, columns=data, truth=seen)
    if reason == OTHER_CLASSES:
        return (
            f"the people have other class counts of {sensitive!r} than the tree publishes. Give the training records, "
            "and name the attribute that the tree predicts."
        )
    if reason:
        raise InvalidDataError(
            f"{reason} --sensitive must name what the tree predicts. If it does, say --target {sensitive}, or add the "
            f"column to --people: it is compared with the leaves, and the attacker does not see it.{persons.meant}"
        )
    return ""


def _held_out(path: Path | None, tree: DecisionTree, sensitive: str, domain: Domain | None) -> tuple[Any, Any] | None:
    """Return held-out records and their classes."""
    if path is None:
        return None
    held = _people(path, tree, sensitive, domain, True, True)
    return held.frame, held.truth


def _tree(path: FileContent, domain: Domain | None, trust_pickle: bool, one: int | None) -> DecisionTree:
    from glassine.models import DecisionTree

    read = load(path, domain, trust_pickle, one)
    if not isinstance(read, DecisionTree):
        raise UnsupportedModelError("disclosure is measured for decision trees, got a rule list. Give a tree.")
    if read.classes is None:
        raise UndefinedMeasureError("the tree predicts a number, so that it discloses no class. Give a classifier.")
    return read


def _people(
    path: Path, tree: DecisionTree, sensitive: str, domain: Domain | None, needed: bool, wanted: bool
) -> _People:
    """Return the quasi-identifiers without the sensitive column, and that column in the classes' own type."""
    from glassine.data.sources import read_frame
    from glassine.domain import Category, OneOf

    texts: dict[str, list[str]] = {}
    for literal in tree.literals:
        if isinstance(literal, OneOf) and literal.values and all(isinstance(value, str) for value in literal.values):
            texts.setdefault(literal.attribute, []).extend(str(value) for value in literal.values)
    written = [name for name in tree.classes or () if isinstance(name, str)]
    if written:
        texts[sensitive] = written
    attributes = {name: Category(tuple(dict.fromkeys(values))) for name, values in texts.items()}
    frame = read_frame(path, domain, attributes=attributes)
    if not len(frame):
        raise InvalidDataError(f"{path} has no rows. Give the training records' quasi-identifiers, one row a person.")
    if sensitive not in frame.columns:
        if needed:
            raise InvalidDataError(
                f"{path} lacks the sensitive column {sensitive!r}. Add it, or leave the truth and --remedies out."
                f"{nearest(sensitive, frame.columns)}"
            )
        return _People(frame=frame, column=None, truth=None, meant=nearest(sensitive, frame.columns))
    values = frame[sensitive].to_list()
    if written:
        values = [None if value is None else str(value) for value in values]
    column = _column(values)
    return _People(frame=frame.drop(sensitive), column=column, truth=column if wanted or needed else None)


def _column(values: list[Any]) -> Any:
    """Return values as an array that keeps their types."""
    import numpy as np

    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _write(
    finding: DisclosureFinding, inputs: tuple[InputFile, ...], output: Path | None, as_json: bool, name: str
) -> None:
    from glassine import __version__
    from glassine.files import write_json, write_text
    from glassine.report import disclosure_page, render_html, render_text

    files = [asdict(file) for file in inputs]
    plain = {"schema": SCHEMA, "version": __version__, "inputs": files, "holder_only": True, **asdict(finding)}
    page = disclosure_page(finding, title=f"What {name} discloses of {finding.sensitive}", inputs=inputs)
    text = render_text(page)
    if output is not None and output.suffix == ".json":
        write_json(plain, output)
    elif output is not None and output.suffix == ".txt":
        write_text(text, output)
    elif output is not None:
        write_text(render_html(page), output)
    print_value(plain if as_json else text + (f"\nReport: {output}\n" if output else ""), as_json)
