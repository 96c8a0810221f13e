"""``glassine explain make``: a release of small trees that explain a black box."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from glassine.cli.charging import Charge, NoteOption, ledger_files
from glassine.cli.naming import in_options, nearest, options_of
from glassine.cli.options import (
    REQUIRED,
    AudienceOption,
    AuditOption,
    BlackBoxOptions,
    ClassesOption,
    DatasetOption,
    DomainOption,
    JsonOption,
    LedgerOption,
    OptionGroup,
    OverwriteOption,
    PersonColumnOption,
    RecordsFileOptions,
    UnprotectedSeedOption,
    argument,
    filled_in,
    option,
    output_option,
)
from glassine.cli.progress import stages
from glassine.cli.reading import (
    check_person,
    check_target,
    identifiers,
    read_domain,
    read_records,
    records_file,
    tell_repeats,
    with_inputs,
)
from glassine.cli.releases import ArrayBox, PandasBox, black_box_of, given_as, takes_of
from glassine.cli.summary import charged
from glassine.cli.training import class_names
from glassine.cli.writing import check_outputs, check_report, check_room, print_value, write_report
from glassine.domain import Binary, Category
from glassine.errors import GlassineError, InvalidDataError, InvalidDomainError, InvalidParameterError
from glassine.files import json_text, read_once
from glassine.records.purpose import Purpose

if TYPE_CHECKING:
    from glassine.domain import Attribute, Domain
    from glassine.surrogates import ExplanationGoal, NumericAnswer, SurrogateExplainer

OPTIONS = options_of(
    *("answer", "classes", "form", "labels", "gamma", "epsilon", "partition", "k", "strata", "min_samples_leaf"),
    y="--target",
)
"""Options by the parameters that errors of a fit name."""
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
"""Classes that are whole numbers; longer ones stay texts."""
TITLE = "Privacy of a release of surrogate trees"


class ExplainRecords(OptionGroup):
    """What the groups are made of: records, or queries of a public domain."""

    data: Path | None = argument(
        "RECORDS",
        "The records that the black box was trained on, CSV with a header or Parquet; none with --queries.",
        None,
    )
    queries: int | None = option("N", "Explain from so many queries of the public domain; no records are needed.")
    domain: DomainOption = None
    target: str | None = option("COLUMN", "Column of the true labels: left out, or used by --labels true.")
    classes: ClassesOption = None
    answer: str | None = option(
        "LO,HI,STEP",
        "Public range of a black box that answers with numbers, and the step to which means are rounded; a "
        "fourth number is the tolerance of agreement.",
        shown_default="answers are classes; tolerance a twentieth of the range",
    )
    person: PersonColumnOption = None
    written: RecordsFileOptions


class GroupOptions(OptionGroup, heading="Groups and trees"):
    """How records are grouped, and what is released of a group."""

    k: int = option(
        "N", "Smallest number of records, or people, of a group; a goal may choose more.", 100, names=("--k", "-k")
    )
    with_condition: float | None = option(
        "SHARE",
        "Goal: explanations that have a condition. k, depth and protocol are chosen for the goals; 0 for both states "
        "none.",
        shown_default="0.95; with --epsilon or of the paper's form none",
    )
    confirmed: float | None = option(
        "SHARE",
        "Goal: proposed changes that the black box confirms.",
        shown_default="0.8; with --epsilon or paper none",
    )
    partition: Literal["microaggregation", "public"] = option(
        None, "How groups are made; public: cells fixed without the records.", "microaggregation"
    )
    gamma: float | None = option(
        "NUMBER",
        "Let the sizes of groups vary, by V-MDAV: 0.2 for scattered records, about 1.1 for clustered ones.",
        shown_default="groups of one size, by MDAV",
    )
    strata: str | None = option("COLUMN", "Attribute that all records of a group share; each value has groups alone.")
    distance: Literal["auto", "euclidean", "gower"] = option(
        None, "Distance of records; auto: gower where there are categories, else euclidean.", "auto"
    )
    scaling: Literal["standard", "none"] = option(None, "How numbers are scaled before.", "standard")
    form: Literal["restricted", "paper"] = option(
        None, "What is released; paper is as published, and leaks.", "restricted"
    )
    labels: Literal["black-box", "true"] | None = option(
        None, "What trees learn.", shown_default="black-box; of the paper's form, true"
    )
    max_depth: int | None = option("N", "Trees: maximum depth.", shown_default="by the form")
    min_samples_leaf: int | None = option("N", "Fewest records, or people, of a leaf.", shown_default="by the form")
    n_closest: int = option("N", "Closest representatives that are tried.", 3)


class PrivacyOptions(OptionGroup, heading="Privacy"):
    """What private trees spend."""

    epsilon: float | None = option("NUMBER", "Privacy budget of private trees, such as 0.1; needs public classes.")
    ledger: LedgerOption = None
    dataset: DatasetOption = None
    note: NoteOption = None
    seed: UnprotectedSeedOption = None


class ExplainFiles(OptionGroup, heading="Files"):
    """What is written."""

    output: Path = output_option("Write the release, JSON.", REQUIRED)
    report: AuditOption = None
    audience: AudienceOption = "checker"
    overwrite: OverwriteOption = False
    as_json: JsonOption = False


def make_command(
    records: ExplainRecords, box: BlackBoxOptions, groups: GroupOptions, privacy: PrivacyOptions, files: ExplainFiles
) -> None:
    """Make a release of the small trees of microaggregated groups, which explain a black box.

    It is made from RECORDS, or from --queries of the domain. With --epsilon nothing that is measured on the records
    is printed; the report has it, for the checker only.

    Exit status: 0 when it was done, for any verdict of --report, 2 if not.
    """
    data, output, report = records.data, files.output, files.report
    if box.black_box is None:
        raise GlassineError("nothing decides.", remedy="Give --black-box, a file or MODULE:FUNCTION.")
    if (data is None) == (records.queries is None):
        raise GlassineError(
            "give either a file of records, or --queries and --domain.",
            remedy="With neither, there is nothing to explain.",
        )
    from glassine.surrogates.explainer_parameters import check_public

    charge = Charge(privacy.ledger, privacy.dataset, note=privacy.note)
    read = [data, records.domain, *ledger_files(privacy.ledger)]
    spent = output.with_name(f"{output.stem}.certificate.json")
    check_outputs([output, report, None if charge.book is None else spent], read, overwrite=files.overwrite)
    check_report(report)
    check_room(output)
    attributes, declared = _without_target(read_domain(records.domain), records.target, records.classes)
    answer = None if records.answer is None else _answer(records.answer)
    with in_options(OPTIONS):
        check_public(privacy.epsilon, declared, answer)
    decides = black_box_of(box.black_box)
    settings: dict[str, Any] = {
        "classes": declared,
        "answer": answer,
        "labels": None,
        "goal": _goal_of(groups),
        **filled_in(groups, "k", "with_condition", "confirmed"),
        "epsilon": privacy.epsilon,
        "ledger": charge.book,
        "dataset": privacy.dataset,
        "random_state": privacy.seed,
    }
    with in_options(OPTIONS), stages() as progress, given_as(box.takes), charge.admitted(spent):
        progress("explaining")
        if data is None:
            explainer = _from_queries(decides, attributes, groups.k, records.queries, takes_of(box.takes), settings)
            measured, truth = None, None
        else:
            explainer, measured, truth = _from_records(decides, attributes, groups.k, records, box.takes, settings)
        charge.release(json_text(explainer.release().to_dict()), output)
        progress("auditing the release")
        verdict = None if report is None else _report(explainer, truth, files)
    plain = {
        "file": str(output),
        "n_groups": explainer.release().n_groups,
        "goal": None if explainer.choice_ is None else explainer.choice_.to_dict(),
        "measures": measured,
        "charge": charge.to_dict(),
    }
    if report is not None:
        plain |= {"report": str(report), "verdict": verdict}
    text = _said(explainer, output, measured) + ("" if privacy.epsilon is None else f"\n{charged(charge.to_dict())}")
    text += "" if report is None else f"\nReport: {report} ({verdict})"
    print_value(plain if files.as_json else text, files.as_json)


def _goal_of(groups: GroupOptions) -> ExplanationGoal | str | None:
    """Return the goal that options state; "auto" where they state none."""
    from glassine.surrogates import ExplanationGoal

    shares = {"conditions": groups.with_condition, "confirmed": groups.confirmed}
    stated = {name: share for name, share in shares.items() if share is not None}
    if not stated:
        return "auto"
    with in_options(dict.fromkeys(("conditions", "confirmed"), "--with-condition or --confirmed")):
        goal = ExplanationGoal(**stated)
    return goal if goal.conditions or goal.confirmed else None


def _answer(text: str) -> NumericAnswer:
    """Return the range, step and tolerance that an option lists."""
    from glassine.surrogates import NumericAnswer

    try:
        numbers = [int(part) if WHOLE.fullmatch(part.strip()) else float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (3, 4):
        raise InvalidParameterError(
            f"--answer must be three numbers, such as 0,500000,5000, or four, got {text!r}.",
            remedy="Give the smallest answer, the largest, the step, and the tolerance if it is to be another.",
        )
    with in_options(dict.fromkeys(("step", "tolerance", "lo", "hi"), "--answer")):
        return NumericAnswer(**dict(zip(("lo", "hi", "step", "tolerance"), numbers, strict=False)))


def _report(explainer: SurrogateExplainer, truth: Any, files: ExplainFiles) -> str:
    """Audit the release as a whole, write what was found, and return the verdict; of private trees without records."""
    from glassine.auditing.api import audit, unmeasured

    private = explainer.epsilon is not None
    findings = audit(explainer.release()) if private else audit(explainer, target=truth)
    if private and files.audience == "checker":
        # The policy need not accept the guarantee: all that the records add is for the checker.
        try:
            whole = audit(explainer, target=truth() if callable(truth) else truth)
            findings = replace(findings, holder=whole.holder or whole)
        except GlassineError as error:
            # The exit status must not depend on one record, nor may what is printed.
            findings = replace(findings, holder=unmeasured(findings, error))
    findings = with_inputs(findings, {"release": read_once(files.output)}, {})
    write_report(findings.public() if files.audience == "public" else findings, files.report or Path(), title=TITLE)
    return findings.verdict


def _without_target(
    domain: Domain | None, target: str | None, classes: str | None
) -> tuple[Domain | None, tuple[Any, ...] | None]:
    """Return the domain of the attributes, and the classes: those listed, or those that the domain declares."""
    names = None if classes is None else _named(classes)
    if domain is None or target is None or target not in domain:
        return domain, names
    if names is not None:
        raise InvalidParameterError(
            f"the domain declares the target {target!r} and so its classes.", remedy="Leave --classes out."
        )
    declared = domain[target]
    if isinstance(declared, Binary | Category):
        names = declared.values if isinstance(declared, Category) else (0, 1)
    rest = [name for name in domain if name != target]
    if not rest:
        raise InvalidDomainError(
            f"the domain declares the target {target!r} alone.", remedy="Also declare the attributes."
        )
    return domain.restrict(rest), names


def _named(classes: str) -> tuple[Any, ...]:
    """Return listed classes: whole numbers or Booleans if all of them are such, else texts."""
    names = class_names(classes)
    for kinds in ({"true": True, "false": False}, {name: int(name) for name in names if WHOLE.fullmatch(name)}):
        if all(name.lower() in kinds for name in names):
            return tuple(kinds[name.lower()] for name in names)
    return names


def _from_queries(
    box: Any, domain: Domain | None, k: int, queries: int | None, frame: str | None, settings: dict[str, Any]
) -> SurrogateExplainer:
    from glassine.surrogates import SurrogateExplainer

    if domain is None:
        raise GlassineError("queries are drawn from a public domain.", remedy="Give --domain.")
    if settings["epsilon"] is not None or settings["partition"] != "microaggregation" or settings["dataset"]:
        raise InvalidParameterError(
            "--epsilon, --partition, --ledger and --dataset protect training records, and queries are none.",
            remedy="Leave these options out.",
        )
    left_out = ("random_state", "epsilon", "partition", "ledger", "dataset")
    passed = {name: value for name, value in settings.items() if name not in left_out}
    return SurrogateExplainer.from_queries(
        box,
        domain,
        k,
        n_queries=10_000 if queries is None else queries,
        takes=frame or "array",
        random_state=settings["random_state"],
        **passed,
    )


def _from_records(
    box: Any, domain: Domain | None, k: int, source: ExplainRecords, takes: str, settings: dict[str, Any]
) -> tuple[SurrogateExplainer, dict[str, Any] | None, Any]:
    from glassine.surrogates import SurrogateExplainer

    data, target, person = source.data, source.target, source.person
    if data is None:
        raise GlassineError("no records given.", remedy="Name a CSV or Parquet file, or add --queries and --domain.")
    names = settings["classes"]
    private = settings["epsilon"] is not None and domain is not None
    # Classes that are words are read as they are written, so that 01 stays 01; of a private fit all are, one by one.
    exactly = private or all(isinstance(name, str) for name in names or ())
    meant: dict[str, Attribute] = {target: Category(names)} if target is not None and names and exactly else {}
    meant |= identifiers(person)
    purpose = Purpose.PRIVATE if private else Purpose.ORDINARY
    if private and settings["partition"] == "public" and domain is not None:
        return _from_unopened(box, domain, source, takes, settings, meant)
    table = read_records(data, source.written, purpose, domain, attributes=meant)
    records: Any = table.frame.to_native()
    check_person(person, {data: table.names})
    if not private:
        tell_repeats(table, person)
    persons, truth = None, None
    if person is not None:
        persons, records = records[person].to_list(), records.drop(person)
        domain = None if domain is None else domain.restrict([name for name in domain if name != person])
    if target is not None:
        check_target(target, data, records.columns)
        truth = records[target].to_numpy()
        records = records.drop(target)
    if domain is not None:
        absent = [name for name in domain if name not in records.columns]
        if absent:
            raise InvalidDataError(
                f"{data} lacks the attribute {absent[0]!r} of the domain.",
                remedy=f"Add it or drop it there.{nearest(absent[0], records.columns)}",
            )
        records = records.select(domain.names)
    frame = records.to_pandas() if takes == "pandas" else records
    box = ArrayBox(box) if takes == "array" else box
    explainer = SurrogateExplainer(box, k, domain=domain, **settings).fit(frame, truth, persons=persons)
    # Of private trees, figures on the records would be one more release.
    measured = explainer.measures(frame, truth).to_dict() if settings["epsilon"] is None else None
    return explainer, measured, truth


def _from_unopened(
    box: Any,
    domain: Domain,
    source: ExplainRecords,
    takes: str,
    settings: dict[str, Any],
    meant: dict[str, Attribute],
) -> tuple[SurrogateExplainer, None, Any]:
    """Explain from records that are opened after the charge; nothing that is said before follows from them."""
    from glassine.surrogates import SurrogateExplainer

    data, target, person = source.data or Path(), source.target, source.person
    file, schema = records_file(data, source.written, domain, meant)
    names = schema.names or ()
    check_person(person, {data: names})
    if target is not None:
        check_target(target, data, names)
    absent = [name for name in domain if name not in names]
    if absent:
        raise InvalidDataError(
            f"{data} lacks the attribute {absent[0]!r} of the domain.",
            remedy=f"Add it or drop it there.{nearest(absent[0], names)}",
        )
    asked = box if takes == "polars" else ArrayBox(box) if takes == "array" else PandasBox(box)
    learned = target if settings["labels"] == "true" else None
    explainer = SurrogateExplainer(asked, domain=domain, **settings).fit(file, learned, persons=person)
    return explainer, None, None if target is None else lambda: _labels(data, source, domain, meant)


def _labels(data: Path, source: ExplainRecords, domain: Domain, meant: dict[str, Attribute]) -> Any:
    """Return the true labels of records that were explained, for the checker's report."""
    table = read_records(data, source.written, Purpose.PRIVATE, domain, attributes=meant)
    return table.frame[source.target or ""].to_numpy()


def _said(explainer: SurrogateExplainer, output: Path, measured: dict[str, Any] | None) -> str:
    from glassine.report.wording import plural
    from glassine.surrogates.release_statements import reveals

    release = explainer.release()
    made = plural(release.n_groups, "group")
    if explainer.epsilon is None:
        # Each record is a query, so that of private trees their number would be that of the records.
        queries = explainer.black_box_.n_queries
        made += f", {'1 query' if queries == 1 else f'{queries:,} queries'}"
    lines = [f"Release: {output}", f"{made}."]
    errors = None if measured is None else measured["errors"]
    if measured is not None and errors is not None:
        r2 = "" if errors["r2"] is None else f" (R² {errors['r2']:.3f})"
        lines += [
            f"On the training records, the root mean squared error of the closest tree is {errors['rmse']:,.5g}{r2},",
            f"of one of the {release.n_closest} closest {errors['rmse_guided']:,.5g}; of as many random groups, "
            f"{errors['rmse_null']:,.5g}; of the mean of all answers, {errors['rmse_baseline']:,.5g}.",
        ]
    elif measured is not None:
        lines += [
            "Fidelity on the training records: the closest tree agrees with the black box for "
            f"{measured['fidelity']:.1%},",
            f"one of the {release.n_closest} closest for {measured['fidelity_guided']:.1%}; "
            f"of as many random groups, one for {measured['fidelity_null']:.1%}.",
        ]
    if explainer.choice_ is not None:
        lines.append(str(explainer.choice_))
    if measured is not None:
        nodes = measured["nodes"]
        lines.append(f"Nodes of a tree: {nodes['median']:g} in the median, {nodes['largest']:g} at most.")
    return "\n".join([*lines, *reveals(release)])
