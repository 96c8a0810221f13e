"""``glassine summarize``: one private summary of records; and models from its file, which spend nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.charging import Charge, NoteOption, ledger_files
from glassine.cli.fitting import ADDITIVE, RULE_LIST, SCORECARD, TREE, FitRequest, report_on, write_fitted
from glassine.cli.naming import in_options, options_of
from glassine.cli.options import (
    REQUIRED,
    DatasetOption,
    JsonOption,
    LedgerOption,
    OptionGroup,
    OverwriteOption,
    PersonColumnOption,
    PublicOptions,
    RecordsArgument,
    RecordsFileOptions,
    RecordsPerPersonOption,
    ReportOption,
    RequiredTargetOption,
    UnprotectedSeedOption,
    numeric,
    option,
    output_option,
)
from glassine.cli.progress import progress
from glassine.cli.reading import input_files, of_header, opened, read_domain, read_policy, read_records
from glassine.cli.steps import option_of
from glassine.cli.summary import reported
from glassine.cli.training import (
    NumberOptions,
    TrainingFile,
    check_public,
    check_unit,
    predicts_number,
    range_of,
    read_training,
)
from glassine.cli.writing import check_ending, check_outputs, check_report, check_room, print_value, write_by_ending
from glassine.domain import Category, Domain
from glassine.errors import InvalidParameterError, first_of
from glassine.files import json_text, read_once
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.comparison.from_summary import SummaryRow
    from glassine.domain import Domain
    from glassine.learners.summaries.private_summary import PrivateSummary
    from glassine.learners.summaries.reserve import Reserve
    from glassine.models import AdditiveModel, DecisionTree, RuleList
    from glassine.privacy.certificate import Certificate

SCHEMA = "glassine.summary-comparison/1"

FLATTERS = (
    "These are the summary's own estimates, of the distribution that models are fitted to. They flatter the models. "
    "Choose by them, and do not publish them as accuracy."
)

DELTA = 1e-6
"""Delta of a summary where none is stated."""

SLACK = 0.01
"""Slack of near-optimal trees where none is stated, as the summary has it."""

SEEN = 3.0
"""Standard deviations of noise from which a count is of records: noise alone has more in one of 700 counts."""

OF_A_SUMMARY = {
    TREE: ("max_depth", "measure"),
    RULE_LIST: ("max_rules", "measure"),
    ADDITIVE: ("monotone",),
    SCORECARD: ("max_items", "max_points", "monotone"),
}
"""Options of each model that a summary takes."""


class SpendingOptions(NumberOptions, heading="Privacy"):
    """What the summary spends, on whose behalf, and the range of a number."""

    epsilon: float = option("NUMBER", "Privacy budget, such as 1.", REQUIRED)
    delta: float = option("NUMBER", "Delta.", DELTA)
    ledger: LedgerOption = None
    dataset: DatasetOption = None
    note: NoteOption = None
    person: PersonColumnOption = None
    records_per_person: RecordsPerPersonOption = None
    seed: UnprotectedSeedOption = None


class ReleasedOptions(OptionGroup):
    """What is released, and where it goes."""

    output: Path = output_option("Write the summary, or the measurement, JSON.", REQUIRED)
    measure: Path | None = option("MODEL", "With --summary: release how right that model is instead.")
    summary: Path | None = option("FILE", "With --measure: the summary of the model.")
    figures: list[str] | None = option(
        "NAME",
        "What is measured: accuracy, log-loss or auroc; repeat it for more.",
        names=("--figure",),
        shown_default="accuracy, of classes",
    )
    follows: Path | None = option(
        "FILE", "A released summary whose bins and pairs are taken over, so that 'glassine merge' can add the tables."
    )
    sites: int = option("N", "How many sites will share its bins and pairs, by --follows.", 1)
    reserve: float | None = option("SHARE", "Share of epsilon that measures the model of --reserve-for.")
    reserve_for: str | None = option(
        "MODEL[,SIZE]",
        "Model to measure: tree, rule-list, additive or scorecard, and its depth, rules or items.",
        shown_default="additive",
    )
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def summarize_command(
    data: RecordsArgument,
    target: RequiredTargetOption,
    public: PublicOptions,
    budget: SpendingOptions,
    released: ReleasedOptions,
    written: RecordsFileOptions,
) -> None:
    """Release one differentially private summary, from which trees, lists, additive models and cards follow.

    Models are trained by glassine fit with --summary, as many as you like: they spend nothing. With --measure and
    --summary, how right one of them is on the records is released instead, at a charge of that release
    alone. Keep records aside for it: those of the summary flatter its models.

    Exit status: 0 if the summary, or the measurement, was written, 2 if not.
    """
    from glassine.learners.summaries.private_summary import PrivateSummary

    if (released.measure is None) != (released.summary is None):
        raise InvalidParameterError("--measure and --summary go together.", remedy="Give both, or neither.")
    if released.reserve_for is not None and released.reserve is None:
        raise InvalidParameterError("--reserve-for needs --reserve.", remedy="Add a share of epsilon, such as 0.1.")
    if released.figures is not None and (released.measure is None) == (released.reserve is None):
        raise InvalidParameterError("--figure is for --measure or --reserve.", remedy="Give one of them.")
    domain_file = opened(public.domain)
    check_outputs(
        [released.output],
        [data, public.domain, released.measure, released.summary, released.follows, *ledger_files(budget.ledger)],
        overwrite=released.overwrite,
    )
    check_room(released.output)
    check_unit(budget.person, budget.records_per_person)
    file = TrainingFile(path=data, written=written, person=budget.person)
    if released.measure is not None and released.summary is not None:
        if public != PublicOptions() or budget.target_range is not None or budget.delta != DELTA:
            raise InvalidParameterError(
                "a summary says what is public, and a measurement has no delta.",
                remedy="Leave --domain, --classes, --target-range, --infer-* and --delta out.",
            )
        for name, default in (("reserve", None), ("follows", None), ("sites", 1)):
            if getattr(released, name) != default:
                raise InvalidParameterError(f"--{name} is for a summary that is made.", remedy="Leave it out.")
        _measure(PrivateSummary.read(released.summary), released.measure, file, target, budget, released)
        return
    domain = read_domain(domain_file)
    bounds = range_of(budget.target_range)
    numeric = predicts_number(domain, target, public, ranged=bounds is not None, infer_range=False)
    if not numeric:
        check_public(domain, target, public, private=True)
    charge = Charge(budget.ledger, budget.dataset, budget.records_per_person, budget.note)
    reserve = None if released.reserve is None else _reserve(released.reserve, released)
    plan = None if released.follows is None else PrivateSummary.read(released.follows).plan_
    names = options_of(
        *("domain", "classes", "target_range", "random_state", "reserve", "follows", "sites"),
        share="--reserve",
        model="--reserve-for",
        size="the size of --reserve-for",
        figures="--figure",
    )
    with progress(quiet=released.as_json) as display, in_options(names):
        display.stage("reading the records")
        ranged = bounds is not None
        training = read_training(file, Purpose.PRIVATE, target, domain, public.classes, number=numeric, ranged=ranged)
        summary = PrivateSummary(
            epsilon=budget.epsilon,
            delta=budget.delta,
            domain=domain,
            classes=training.classes,
            target_range=bounds,
            reserve=reserve,
            follows=plan,
            sites=released.sites,
            ledger=charge.book,
            dataset=budget.dataset,
            records_per_person=budget.records_per_person,
            random_state=budget.seed,
        )
        with charge.admitted(released.output.with_suffix(".certificate.json")):
            display.stage("releasing tables")
            summary.fit(training.frame, target, persons=budget.person)
            charge.release(summary._text, released.output)
    certificate, measurement = summary.certificate_, getattr(summary, "measurement_", None)
    plain = {"summary": str(released.output), "certificate": certificate.to_dict(), "charge": charge.to_dict()}
    text = "\n".join([*_rare_values(summary), _text(certificate, released.output)])
    if measurement is not None:
        plain["measurement"] = measurement.to_dict()
        text = f"Of the {reserve} on these records, which flatter it: {measurement}.\n{text}"
    print_value(plain if released.as_json else text, released.as_json)


def _reserve(share: float, released: ReleasedOptions) -> Reserve:
    """Return what of epsilon is kept, and for which model."""
    from glassine.learners.summaries.reserve import Reserve

    name, comma, size = (released.reserve_for or "additive").partition(",")
    if comma and not size.strip().isdecimal():
        raise InvalidParameterError(
            f"the size of --reserve-for must be a whole number, got {size!r}.",
            remedy="For example: --reserve-for tree,3.",
        )
    figures: Any = _figures(released)
    model: Any = name.strip().replace("-", "_")
    return Reserve(share=share, model=model, size=int(size) if comma else None, figures=figures)


def _figures(released: ReleasedOptions) -> list[str] | None:
    """Return what is measured, as the library calls it."""
    return None if released.figures is None else [name.replace("-", "_") for name in released.figures]


def _measure(
    summary: PrivateSummary,
    path: Path,
    file: TrainingFile,
    target: str,
    budget: SpendingOptions,
    released: ReleasedOptions,
) -> None:
    """Write how right a model is on the records, with its certificate."""
    from glassine.formats import load_model

    of_unit = summary.records_per_person
    if budget.records_per_person not in (None, of_unit) or (budget.person is None) != (of_unit is None):
        raise InvalidParameterError(
            f"the summary is of {'single records' if of_unit is None else f'{of_unit} records per person'}, and its "
            "measurements are of the same.",
            remedy="Leave --person out." if of_unit is None else "Name the persons with --person.",
        )
    model: Any = load_model(path)
    figures: Any = _figures(released)
    charge = Charge(budget.ledger, budget.dataset, budget.records_per_person, budget.note)
    summary.set_params(random_state=budget.seed)
    with (
        progress(quiet=released.as_json) as display,
        in_options(options_of("epsilon", "random_state", figures="--figure")),
    ):
        display.stage("reading the records")
        number = summary.target_range is not None
        attributes = {name: summary.domain_[name] for name in summary.domain_}
        classes = {} if number else {target: Category(tuple(summary.classes_.tolist()))}
        domain = Domain({**attributes, **classes})
        training = read_training(file, Purpose.PRIVATE, target, domain, None, number=number, ranged=number)
        with charge.admitted(released.output.with_suffix(".certificate.json")):
            display.stage("measuring")
            measurement = summary.set_params(ledger=charge.book).measure(
                model,
                training.frame,
                target,
                epsilon=budget.epsilon,
                figures=figures,
                persons=budget.person,
                dataset=budget.dataset,
            )
            charge.release(json_text(measurement.to_dict()), released.output)
    certificate = measurement.certificate
    holds = "" if certificate.holds else f"The guarantee does not hold: {'; '.join(certificate.caveats)}.\n"
    text = (
        f"{measurement}.\n{holds}Measured at epsilon {certificate.epsilon:g}, per {certificate.unit}, beside what the "
        f"summary spent.\nMeasurement: {released.output}"
    )
    plain = {"measurement": str(released.output), **measurement.to_dict(), "charge": charge.to_dict()}
    print_value(plain if released.as_json else text, released.as_json)


def _text(certificate: Certificate, output: Path) -> str:
    holds = "" if certificate.holds else f"The guarantee does not hold: {'; '.join(certificate.caveats)}.\n"
    return (
        f"Private summary at epsilon {certificate.epsilon:g}, delta {certificate.delta:g}, per {certificate.unit}.\n"
        f"{holds}Summary: {output}\nNext: glassine fit tree --summary {output} -o tree.json"
    )


def _rare_values(summary: PrivateSummary) -> list[str]:
    """Return which declared classes and values records hardly have by the noisy tables, as no spelling is an error."""
    released, target = summary.released_, summary.target_
    precision = sum(1 / len(table) for table in released.tables)
    totals = sum(table.sum(axis=0) / len(table) for table in released.tables) / precision
    spread = SEEN * released.deviations[0] / precision**0.5
    if (classes := getattr(summary, "classes_", None)) is not None:
        rare = [repr(one) for one, total in zip(classes.tolist(), totals, strict=True) if total < spread]
        lacking = f"the class {first_of(rare, 6)}" if rare else ""
    else:
        lacking = "a number" if totals.sum() < spread * len(totals) ** 0.5 else ""
    said = [f"By the noisy counts, hardly any record may have {lacking} in {target!r}."] * bool(lacking)
    for axis in released.axes:
        last = int(axis.bin_of[-1])
        if axis.grid.cuts is None and last not in axis.bin_of[:-1]:
            count = float(axis.counts[last])
            if count > SEEN * float(axis.variances[last]) ** 0.5:
                what = f"a value in {axis.grid.attribute!r} that the domain does not declare"
                said.append(f"By the noisy counts, about {count:,.0f} records have {what}.")
    return [*said, "Look at how values are written."] if said else []


@dataclass(slots=True, kw_only=True)
class _Fitted:
    """A model of a summary with its certificate, as a fitted estimator has them."""

    model_: DecisionTree | RuleList | AdditiveModel
    certificate_: Certificate
    domain_: Domain


def fit_from_summary(request: FitRequest, path: Path) -> None:
    """Write a model of a summary with its certificate; nothing is read but the summary, and nothing is spent."""
    from glassine.formats.json import to_dict
    from glassine.learners.summaries.private_summary import PrivateSummary

    files = request.shared.files
    parameters = {name: value for name, value in request.parameters.items() if value is not None}
    shared = request.shared
    if shared.path or shared.weights or shared.public != PublicOptions() or shared.columns.exclude:
        raise InvalidParameterError(
            "a summary has its records, domain and classes behind it.",
            remedy="Leave RECORDS, --weights, --exclude and what is public out.",
        )
    for name in parameters if request.private else ("not_private",):
        by_rule = name == "max_depth" and isinstance(parameters[name], str)
        if by_rule or name not in OF_A_SUMMARY.get(request.model, ()):
            raise InvalidParameterError(
                f"{option_of(name)} does not apply to {request.kind} from a summary.", remedy="Leave it out."
            )
    if request.model not in OF_A_SUMMARY or request.grid is not None:
        raise InvalidParameterError(
            "a summary gives trees, rule lists, additive models and scorecards.",
            remedy="Use fit tree, rule-list, additive or scorecard.",
        )
    policy, policy_file = read_policy(files.policy)
    files.check([path, files.policy])
    summary = PrivateSummary.read(path)
    if "measure" in parameters:
        if summary.target_range is not None:
            raise InvalidParameterError(
                "--measure is of classes; this summary's target is a number.", remedy="Leave it out."
            )
        parameters["measure"] = parameters["measure"].replace("-", "_")
    makes: dict[str, Any] = {
        TREE: summary.tree,
        RULE_LIST: summary.rule_list,
        ADDITIVE: summary.additive,
        SCORECARD: summary.scorecard,
    }
    model = makes[request.model](**parameters)
    fitted = _Fitted(model_=model, certificate_=summary.certify(model), domain_=summary.domain_)
    write_fitted(fitted, files)
    report = None
    if files.report is not None:
        limits = None if files.policy is None else policy
        report = report_on(request, fitted, None, limits, {"policy": policy_file})
    verdict = None if report is None else report.verdict
    plain = {"model": to_dict(model), "certificate": fitted.certificate_.to_dict(), "verdict": verdict}
    epsilon = summary.certificate_.epsilon
    text = f"{str(model).capitalize()} from a summary at epsilon {epsilon:g}; nothing more is spent."
    lines = [text, *_rare_values(summary), f"Model: {files.output}", f"Certificate: {files.certified}"]
    lines += reported(files, report)
    print_value(plain if files.as_json else "\n".join(lines), files.as_json)


class ComparedOptions(OptionGroup):
    """Where a comparison goes."""

    output: ReportOption = None
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def compare_from_summary(
    path: Path, models: list[str] | None, *, max_depth: int, max_rules: int, report: ComparedOptions
) -> None:
    """Print models of a summary by its own estimates; nothing is read but the summary, and nothing is spent."""
    from glassine.comparison.from_summary import OF_A_SUMMARY, compare_models
    from glassine.learners.summaries.private_summary import PrivateSummary

    check_outputs([report.output], [path], overwrite=report.overwrite)
    check_ending(report.output, (".json", ".txt"), "comparisons of a summary's models are written as JSON or text")
    summary = PrivateSummary.read(path)
    with in_options(options_of("models", "max_depth", "max_rules")):
        rows = compare_models(summary, models or OF_A_SUMMARY, max_depth=max_depth, max_rules=max_rules)
    certificate = summary.certificate_
    estimates = [row.estimate for row in rows if row.estimate is not None]
    plain = {
        "schema": SCHEMA,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "summary": certificate.model,
        "records": estimates[0].n_records,
        "note": FLATTERS,
        "models": [row.to_dict() for row in rows],
    }
    lines = [f"Models of a summary at epsilon {certificate.epsilon:g}; nothing more is spent.", FLATTERS, ""]
    lines += [f"{f'{row.model} {_options(row)}':<28}{_expected(row)}" for row in rows]
    best = rows[0]
    lines += ["", f"Next: glassine fit {best.model} --summary {path} {_options(best)}".rstrip() + " -o model.json"]
    text = "\n".join(lines)
    write_by_ending(report.output, plain, text + "\n")
    print_value(plain if report.as_json else text, report.as_json)


def _expected(row: SummaryRow) -> str:
    """Return the figures of a row, or why there are none."""
    one = row.estimate
    if one is None:
        return f"no estimate: {row.refusal}"
    if one.error == one.error:
        return f"expected error {one.error:.4g} (spread {one.error_spread:.2g})"
    auc = "" if one.auc != one.auc else f"AUC {one.auc:.3f} (spread {one.auc_spread:.3f}), "
    return f"{auc}expected correct {one.accuracy:.1%} (spread {one.accuracy_spread:.1%})"


def near_optimal_from_summary(
    path: Path, asked: str, ask: Path | None, written: RecordsFileOptions, report: ComparedOptions
) -> None:
    """Print the report on a summary's near-optimal trees; no training record is read, and nothing is spent."""
    from glassine.learners.summaries.private_summary import PrivateSummary
    from glassine.report import near_optimal_page, render_html, render_text

    check_outputs([report.output], [path, ask], overwrite=report.overwrite)
    check_report(report.output)
    depth, comma, slack = asked.partition(",")
    with numeric(
        f"--near-optimal must be a depth, or a depth and a slack such as 3,0.01, got {asked!r}.",
        "The slack is the share of errors that trees may be above the best.",
    ):
        max_depth, share = int(depth), float(slack) if comma else SLACK
    file = read_once(path)
    summary = PrivateSummary.read(file)
    names = {"max_depth": "the depth of --near-optimal", "slack": "the slack of --near-optimal"}
    with progress(quiet=report.as_json) as display, in_options(names):
        display.stage("searching all trees")
        trees = summary.near_optimal(max_depth, share)
        records = None
        if ask is not None:
            records = of_header(read_records(ask, written, Purpose.AUDIT, summary.domain_), "the records to decide")
        display.stage("comparing what they decide")
        multiplicity = trees.multiplicity(records)
    inputs = input_files(summary=file, **{"records to decide": ask})
    page = near_optimal_page(multiplicity, inputs=inputs)
    plain = {**multiplicity.to_dict(), "summary": summary.certificate_.model, "inputs": [asdict(one) for one in inputs]}
    text = render_text(page)
    write_by_ending(report.output, plain, text, lambda: render_html(page))
    reported = "" if report.output is None else f"\n\nReport: {report.output}"
    print_value(plain if report.as_json else f"{text.rstrip()}{reported}", report.as_json)


def _options(row: SummaryRow) -> str:
    return " ".join(f"{option_of(name)} {value}" for name, value in row.parameters.items())
