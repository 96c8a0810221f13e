"""``glassine compare``: private learners and ordinary ones on the same records, and which to fit."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from glassine.cli.naming import in_options, listed, options_of
from glassine.cli.options import (
    ColumnOptions,
    OptionGroup,
    PersonColumnOption,
    PublicOptions,
    RecordsFileOptions,
    RecordsPerPersonOption,
    ResumeOption,
    SeedOption,
    SummaryOption,
    TargetOption,
    TargetRangeOption,
    TrainingArgument,
    filled_in,
    numeric,
    option,
)
from glassine.cli.progress import progress as shown_progress
from glassine.cli.reading import input_files, opened, read_domain
from glassine.cli.steps import option_of
from glassine.cli.summarize import ComparedOptions, compare_from_summary, near_optimal_from_summary
from glassine.cli.training import TrainingFile, check_public, predicts_number, range_of, read_training, usable_domain
from glassine.cli.twin import TwinOptions, compare_with_twin
from glassine.cli.writing import check_ending, check_outputs, check_report, print_value, write_by_ending
from glassine.domain import Integer, Real
from glassine.errors import InvalidParameterError
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.auditing.findings import InputFile
    from glassine.comparison import Comparison, Row, Task
    from glassine.comparison.comparison_results import Measure
    from glassine.domain import Domain

SCHEMA = "glassine.comparison/3"

MODELS = (
    "tree",
    "rule-list",
    "greedy-rule-list",
    "additive",
    "scorecard",
    "optimal-tree",
    "optimal-rule-list",
    "plain-greedy-rule-list",
    "plain-additive",
    "plain-scorecard",
    "multiway-tree",
    "cart",
    "deep-cart",
    "logistic",
    "linear",
    "boosting",
    "constant",
)
"""Names of the learners, as the comparison has them: its own list is slow to import."""

OPTIONS = options_of(
    *("models", "test_share", "seed", "delta", "max_depth", "max_rules", "time_limit", "measure"),
    *("records_per_person", "persons", "target_range", "classes"),
    epsilons="--epsilon",
    n_splits="--splits",
)


class ModelOptions(OptionGroup, heading="The models"):
    """What is compared."""

    epsilon: str | None = option(
        "A,B", "Privacy budgets of the private learners, such as 0.1,1; needed where there are any."
    )
    models: str | None = option(
        "A,B", f"Learners, separated by commas: {', '.join(MODELS)}.", shown_default="all that predict such a target"
    )
    target_range: TargetRangeOption = None
    max_depth: int | None = option("N", "Trees: maximum depth.", shown_default="3")
    max_rules: int = option("N", "Rule lists: maximum number of rules.", 3)
    delta: float = option("NUMBER", "Additive models: delta.", 1e-6)
    time_limit: float = option("SECONDS", "Trees and lists: most seconds of a fit.", 60.0)
    summary: SummaryOption = None
    near_optimal: str | None = option(
        "DEPTH[,SLACK]", "Of a summary: all trees up to that depth within a slack of the best, such as 3,0.01."
    )
    ask: Path | None = option("FILE", "Records outside the training data, for near-optimal trees to decide.")


class MeasureOptions(OptionGroup, heading="The comparison"):
    """How they are compared."""

    n_splits: int = option("N", "Random splits into training and test records.", 5, names=("--splits",))
    test_share: float = option("SHARE", "Share of the records that test.", 0.3)
    measure: Literal["accuracy", "auroc", "log-loss", "rmse", "mae", "r2"] | None = option(
        None,
        "Figure that ranks the models.",
        shown_default="accuracy; auroc if a class has 80% of the records or more; rmse of numbers",
    )
    person: PersonColumnOption = None
    records_per_person: RecordsPerPersonOption = None
    seed: SeedOption = 0
    resume: ResumeOption = None


class TrainingOptions(OptionGroup):
    """The records, and what is predicted."""

    data: TrainingArgument = None
    target: TargetOption = None
    columns: ColumnOptions


def compare_command(
    public: PublicOptions,
    models: ModelOptions,
    comparison: MeasureOptions,
    written: RecordsFileOptions,
    report: ComparedOptions,
    twin: TwinOptions,
    records: TrainingOptions,
) -> None:
    """Compare private learners with ordinary ones: errors against epsilon, bits learned and vulnerability.

    With --twin, one private model is compared with its twin without privacy on its training records and a holdout. No
    ledger is charged and what is printed is not private: it is for the checker, and for people who may see the records.

    With --summary, models of a private summary are compared by the summary's own estimates. No record is read, no
    ledger is charged, and the guarantee of the summary covers what is printed. With --near-optimal, the report is on
    all trees about as good as the best: what they rely on, and where they decide differently.

    Exit status: 0 when the comparison was made, 2 for bad input; with --twin 1 if an attack contradicts the guarantee,
    3 if there is none that holds, or members and holdout differ without the model.
    """
    from glassine.comparison import CANDIDATES, Task, compare, recommend
    from glassine.comparison.comparison_results import CLASS_MEASURES, NUMBER_MEASURES

    output, as_json = report.output, report.as_json
    data, target, exclude = records.data, records.target, records.columns.names
    stated = replace(models, summary=None, near_optimal=None, ask=None)
    if models.summary is not None:
        _refuse_beside_summary(
            (data is not None or target is not None, "RECORDS and --target"),
            (public != PublicOptions(), "What is public"),
            (
                (written != RecordsFileOptions() and models.ask is None)
                or exclude != ()
                or comparison != MeasureOptions(),
                "What is for records and splits",
            ),
            (twin != TwinOptions(), "--twin"),
            (replace(stated, models=None, max_depth=None, max_rules=3) != ModelOptions(), "A budget"),
        )
        if models.near_optimal is not None:
            if stated != ModelOptions():
                raise InvalidParameterError(
                    "--near-optimal covers all trees.", remedy="Leave --models, --max-depth and --max-rules out."
                )
            near_optimal_from_summary(models.summary, models.near_optimal, models.ask, written, report)
            return
        if models.ask is not None:
            raise InvalidParameterError("--ask is for --near-optimal.", remedy="Add it, or leave the records out.")
        compare_from_summary(
            models.summary,
            None if models.models is None else [name.strip() for name in models.models.split(",")],
            max_depth=3 if models.max_depth is None else models.max_depth,
            max_rules=models.max_rules,
            report=report,
        )
        return
    if stated != models:
        raise InvalidParameterError(
            "--near-optimal and --ask are for a private summary.", remedy="Add --summary, or leave them out."
        )
    if data is None or target is None:
        needed = "--target" if target is None and data is not None else "RECORDS, or --summary"
        raise InvalidParameterError(f"compare needs {needed}.", remedy="See glassine compare --help.")
    if twin.twin is not None:
        check_outputs([output], [data, public.domain, *twin.files], overwrite=report.overwrite)
        check_ending(output, (".json", ".txt"), "comparisons with a twin are written as JSON or text")
        file = TrainingFile(path=data, written=written, person=comparison.person, exclude=exclude)
        done = compare_with_twin(file, target, public.domain, twin)
        done.write(output, as_json=as_json)
        raise typer.Exit(done.exit_status)
    twin.refuse_alone()
    check_outputs([output], [data, public.domain], overwrite=report.overwrite)
    check_report(output)
    named = None if models.models is None else _names(models.models)
    if models.epsilon is None and any(CANDIDATES[name].private for name in named or MODELS):
        raise InvalidParameterError(
            "--epsilon is needed: the privacy budgets of the private learners.",
            remedy="Give some, such as --epsilon 0.1,1, or name ordinary learners alone with --models.",
        )
    budgets: dict[str, Any] = {} if models.epsilon is None else {"epsilons": _numbers(models.epsilon)}
    with in_options(OPTIONS):
        task = Task(
            **budgets,
            models=named,
            **filled_in(models, "epsilon", "models", "target_range", "summary", "near_optimal", "ask"),
            **filled_in(comparison, "measure", "person", "resume"),
        )
    domain_file = opened(public.domain)
    attributes = usable_domain(read_domain(domain_file), exclude, target, comparison.person)
    ranked: Measure | None = "log_loss" if comparison.measure == "log-loss" else comparison.measure
    limits = range_of(models.target_range)
    number = _predicts_number(attributes, target, public, models, task)
    if ranked not in (None, *(NUMBER_MEASURES if number else CLASS_MEASURES)):
        raise InvalidParameterError(
            f"--measure {comparison.measure} is for {'classes' if number else 'numbers'}, and the target {target!r} is "
            f"{'a number' if number else 'of classes'}.",
            remedy="Leave it out, or declare the target otherwise.",
        )
    file = TrainingFile(path=data, written=written, person=comparison.person, exclude=exclude)
    with shown_progress(quiet=as_json) as display, in_options(OPTIONS):
        display.stage("reading the records")
        training = read_training(
            file,
            Purpose.ORDINARY,
            target,
            attributes,
            public.classes,
            number=number,
            ranged=limits is not None,
            counts=True,
        )
        display.stage("fitting and measuring")
        compared = compare(
            training.frame,
            target,
            domain=attributes,
            classes=training.classes,
            persons=comparison.person,
            task=replace(task, target_range=limits),
            folder=comparison.resume,
            progress=display,
        )
    chosen = recommend(compared, ranked).chosen
    if comparison.records_per_person is None:
        file = replace(file, person=None)
    command = ""
    if chosen is not None:
        command = fit_command_line(
            chosen, task, file=file, target=target, public=public, target_range=models.target_range
        )
    inputs = input_files(data=data, domain=domain_file)
    _write(compared, ranked, command, inputs, report, data.name)


def _refuse_beside_summary(*asked: tuple[bool, str]) -> None:
    for present, what in asked:
        if present:
            raise InvalidParameterError(f"{what} cannot be combined with --summary.", remedy="Leave it out.")


def fit_command_line(
    row: Row, task: Task, *, file: TrainingFile, target: str, public: PublicOptions, target_range: str | None = None
) -> str:
    """Return the command line that fits a private model, of the parameters with which it was compared."""
    from glassine.comparison import CANDIDATES

    words = ["glassine", "fit", row.model, str(file.path), f"--target={target}", "--epsilon", repr(row.epsilon)]
    words += [*file.written.words, *(f"--exclude={name}" for name in file.exclude)]
    size = CANDIDATES[row.model].size
    if size:
        words += [option_of(size), str(getattr(task, size))]
    if file.person is not None:
        words += [f"--person={file.person}", "--records-per-person", str(task.records_per_person)]
    if row.model in ("additive", "scorecard"):
        words += ["--delta", repr(task.delta)]
    if public.domain is not None:
        words += ["--domain", str(public.domain)]
    if public.classes is not None:
        words += [f"--classes={public.classes}"]
    if target_range is not None:
        words += [f"--target-range={target_range}"]
    words += ["--infer-domain"] * public.infer_domain + ["--infer-classes"] * public.infer_classes
    return shlex.join([*words, "--output", f"private-{row.model}.json"])


def _numbers(text: str) -> tuple[float, ...]:
    problem = f"--epsilon must be numbers separated by commas, such as 0.1,1, got {text!r}."
    with numeric(problem, "Typical values are 0.1 to 1."):
        return tuple(map(float, text.split(",")))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in MODELS:
            raise InvalidParameterError(f"--models names {name!r}, which is not a model type.{listed(name, MODELS)}")
    return names


def _predicts_number(
    domain: Domain | None, target: str, public: PublicOptions, models: ModelOptions, task: Task
) -> bool:
    """Return whether the domain or the options say that the target is a number; raise if they contradict each other."""
    from glassine.comparison import CANDIDATES

    declared = domain is not None and target in domain and isinstance(domain[target], Integer | Real)
    number, ranged = declared or models.target_range is not None, models.target_range is not None
    with in_options(OPTIONS):
        chosen = task.of_kind("number" if number else "classes").models or ()
    private = any(CANDIDATES[name].private for name in chosen)
    if number:
        return predicts_number(domain, target, public, ranged=ranged, infer_range=False, private=private)
    check_public(domain, target, public, private=private)
    return False


def _write(
    comparison: Comparison,
    measure: Measure | None,
    command: str,
    inputs: Sequence[InputFile],
    report: ComparedOptions,
    name: str,
) -> None:
    from glassine.report import render_html, render_text
    from glassine.report.advice import advice_of
    from glassine.report.sections.comparison import comparison_page

    advice = advice_of(comparison, measure)
    chosen: dict[str, Any] | None = None
    if (row := advice.recommendation.chosen) is not None:
        chosen = {"model": row.model, "epsilon": row.epsilon, "command": command}
    plain = {
        "schema": SCHEMA,
        "inputs": [asdict(file) for file in inputs],
        "private": False,
        "audience": "checker",
        "measure": advice.recommendation.measure,
        "recommendation": {
            "headline": advice.headline,
            "ranked_by": advice.ranked_by,
            "why": advice.why,
            "rule": advice.rule,
            "chosen": chosen,
        },
        "notes": list(advice.notes),
        **comparison.to_dict(),
    }
    title = f"Learners compared on {name}"
    page = comparison_page(comparison, title=title, measure=measure, command=command, inputs=inputs)
    text = render_text(page)
    write_by_ending(report.output, plain, text, lambda: render_html(page))
    text += f"\nPage: {report.output}\n" if report.output else ""
    print_value(plain if report.as_json else text, report.as_json)
