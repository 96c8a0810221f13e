"""A fit from files to files: everything is checked before the ledger is charged, and nothing is lost after it."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import shlex
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.charging import Charge, NoteOption, ledger_files
from glassine.cli.deferring import BEHIND_ESTIMATORS, BEHIND_KERNELS, deferred
from glassine.cli.naming import in_own_command
from glassine.cli.options import (
    REQUIRED,
    AuditOption,
    ColumnOptions,
    DatasetOption,
    JsonOption,
    LedgerOption,
    OptionGroup,
    OverwriteOption,
    PersonColumnOption,
    PolicyOption,
    PublicOptions,
    RecordsFileOptions,
    RecordsPerPersonOption,
    SummaryOption,
    TargetOption,
    TrainingArgument,
    UnprotectedSeedOption,
    WeightsOption,
    option,
    output_option,
)
from glassine.cli.process import uninterrupted
from glassine.cli.progress import Display
from glassine.cli.reading import input_files, opened, read_domain, read_policy, with_inputs
from glassine.cli.searching import check_search, depth_of
from glassine.cli.steps import OF_ANOTHER, WRITTEN, option_of
from glassine.cli.training import (
    TrainingFile,
    check_public,
    check_unit,
    check_weights,
    errors_of,
    predicts_number,
    public_parameters,
    read_training,
    usable_domain,
)
from glassine.cli.writing import check_ending, check_outputs, check_report, check_room, say, tell, write_report
from glassine.errors import (
    ClassTooLargeError,
    GlassineError,
    InvalidParameterError,
    PrivacyLeakWarning,
    UnreadableFileError,
)
from glassine.files import FileContent, read_once, write_text
from glassine.records.purpose import Purpose
from glassine.resources import human_bytes
from glassine.scrubbing.cost import Measured, quality

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings
    from glassine.auditing.policy import Policy
    from glassine.domain import Domain

OF_THE_SEARCH = ("epsilon", "delta", "ledger", "dataset", "random_state")
"""Parameters that a search takes in place of its estimator."""

TREE, RULE_LIST, GREEDY, ADDITIVE, SCORECARD = "tree", "rule-list", "greedy-rule-list", "additive", "scorecard"
"""Names of the models, as ``glassine fit`` and ``glassine compare`` have them."""

ADDED = (ADDITIVE, SCORECARD)
"""Models without leaves or rules, so that no counts of them are shown."""


class BudgetOptions(OptionGroup, heading="Privacy"):
    """What a fit spends, and on whose behalf."""

    epsilon: float | None = option("NUMBER", "Privacy budget of the fit, such as 0.1.")
    search: list[str] | None = option("NAME=A,B|default", "Choose an option privately, within epsilon; repeat it.")
    ledger: LedgerOption = None
    dataset: DatasetOption = None
    note: NoteOption = None
    person: PersonColumnOption = None
    records_per_person: RecordsPerPersonOption = None
    seed: UnprotectedSeedOption = None


class FileOptions(OptionGroup, heading="Files"):
    """The files that a fit writes."""

    output: Path = output_option("Write the model, JSON.", REQUIRED)
    certificate: Path | None = option("FILE", "Write the certificate, JSON.", shown_default="beside the model")
    report: AuditOption = None
    policy: PolicyOption = None
    overwrite: OverwriteOption = False
    as_json: JsonOption = False

    @property
    def certified(self) -> Path:
        """Where the certificate goes: if nothing is said, that of m.json to m.certificate.json."""
        if self.certificate is not None:
            return self.certificate
        if not self.output.name:
            return self.output / "certificate.json"
        stem = self.output.stem if self.output.suffix.lower() == ".json" else self.output.name
        return self.output.with_name(f"{stem}.certificate.json")

    def check(self, inputs: list[Path | None]) -> None:
        """Raise if one of them cannot be written, or exists and must not be replaced."""
        outputs = [path for path in (self.output, self.certified, self.report) if path is not None]
        check_outputs(outputs, inputs, overwrite=self.overwrite)
        check_report(self.report)
        check_ending(self.output, (".json",), "models are written as JSON, and glassine export writes other forms")
        for path in outputs:
            check_room(path)


class FitOptions(OptionGroup):
    """What all fits have in common."""

    path: TrainingArgument = None
    column: TargetOption = None
    weights: WeightsOption = None
    summary: SummaryOption = None
    public: PublicOptions
    budget: BudgetOptions
    files: FileOptions
    written: RecordsFileOptions
    columns: ColumnOptions

    @property
    def data(self) -> Path:
        """The records, which a fit without a summary has."""
        return self.path or Path()

    @property
    def target(self) -> str:
        """The column to predict, which a fit without a summary has."""
        return self.column or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """What is to be trained."""

    model: str  # The kind of model
    private: bool  # Whether a guarantee is asked for
    shared: FitOptions  # From what, and where it goes
    # Parameters of the learner that only this kind of model has, None where they are not given.
    options: Mapping[str, Any]
    grid: Mapping[str, list[Any]] | None = None  # Values of the parameters of which a private search chooses
    infer_range: bool = False  # Whether the range of a number to predict is taken from the data

    @property
    def kind(self) -> str:
        """What is trained, in words."""
        name = {GREEDY: "a greedy rule list", ADDITIVE: "an additive model", SCORECARD: "a scorecard"}.get(self.model)
        if name is not None:
            return f"{name} {'with' if self.private else 'without'} privacy"
        return f"{'a private' if self.private else 'an optimal'} {'tree' if self.model == TREE else 'rule list'}"

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the learner, None where they are not given."""
        budget = self.shared.budget
        return {
            **self.options,
            "epsilon": budget.epsilon,
            "ledger": budget.ledger,
            "dataset": budget.dataset,
            "records_per_person": budget.records_per_person,
            "random_state": budget.seed,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was trained."""

    request: FitRequest  # What was asked for
    estimator: Any  # The fitted learner
    left_out: tuple[str, ...]  # Columns that the domain does not declare
    charge: dict[str, Any] | None  # The charge to the ledger and what is left
    report: Findings | None  # What the report shows, if one was asked for
    # Root mean squared error on the training records, and that of their mean alone; None of a private model, and of
    # classes.
    errors: tuple[float, float] | None = None
    # Of an additive model or card of classes without privacy, and of all with weights: its measures on the rows, and
    # those of the base rates.
    quality: Measured | None = None


def run(request: FitRequest, display: Display) -> Outcome:
    """Learn a model and write it with its certificate and report."""
    # Raises GlassineError if the request, its files, the data or the budget are wrong. Nothing was charged
    # or written then, but for files that can no longer be written after the fit: model and certificate then go to
    # standard output.
    shared = request.shared
    public, budget = shared.public, shared.budget
    # Criteria take longer to import than the limits that are not given.
    policy, policy_file = (None, None) if shared.files.policy is None else read_policy(shared.files.policy)
    files = {"domain": opened(public.domain), "policy": policy_file}
    exclude, weights = shared.columns.names, shared.weights
    check_weights(weights, (shared.target, *exclude), kind=request.kind, private=request.private)
    domain = usable_domain(read_domain(files["domain"]), exclude, shared.target, budget.person, weights)
    ranged = request.options.get("target_range") is not None
    number = request.model in (ADDITIVE, SCORECARD, TREE) and predicts_number(
        domain, shared.target, public, ranged=ranged, infer_range=request.infer_range, private=request.private
    )
    with deferred(*BEHIND_ESTIMATORS):
        learner = _learner(request, number)
    check_search(request.kind, request.grid, request.options, private=request.private, number=number)
    options = _options(request, learner, number)
    _check_persons(request, domain)
    shared.files.check([shared.data, public.domain, shared.files.policy, *ledger_files(budget.ledger)])
    if not number:
        check_public(domain, shared.target, public, private=request.private)
    charge = Charge(budget.ledger, budget.dataset, budget.records_per_person, budget.note)
    if charge.book is not None:
        options["ledger"] = charge.book
    display.stage("reading the records")
    training = read_training(
        TrainingFile(path=shared.data, written=shared.written, person=budget.person, exclude=exclude, weights=weights),
        Purpose.PRIVATE if request.private else Purpose.ORDINARY,
        shared.target,
        domain,
        public.classes,
        number=number,
        ranged=ranged,
    )
    whose: dict[str, Any] = {} if budget.person is None else {"persons": budget.person}
    whose |= {} if training.weights is None else {"sample_weight": training.weights}
    declared: dict[str, Any] = {"domain": domain} if number else {"domain": domain, "classes": training.classes}
    declarations = public_parameters(domain, shared.target, budget.person, declared)
    if isinstance(rule := options.get("max_depth"), str):
        options["max_depth"] = depth_of(rule, learner, declarations, options)
    with charge.admitted(shared.files.certified):
        display.stage("preparing", *_stages(request, learner, declarations, options))
        estimator = _estimator(request, learner, declared, options, display)
        with warnings.catch_warnings():
            # The certificate says the same, and so does the summary.
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            try:
                with deferred(*BEHIND_KERNELS):
                    estimator.fit(training.frame, shared.target, **whose)
            except ClassTooLargeError as error:
                _advise(error, estimator, declarations)
                raise
        # The chosen fit, whose model and certificate state what the whole search spent.
        estimator = estimator if request.grid is None else estimator.best_estimator_
        with uninterrupted():
            charge.settled = True
            write_fitted(estimator, shared.files)
        report = None
        if shared.files.report is not None:
            display.stage("auditing the model")
            report = report_on(request, estimator, None if request.private else training.frame, policy, files)
    return Outcome(
        request=request,
        estimator=estimator,
        left_out=training.left_out,
        charge=charge.to_dict(),
        report=report,
        errors=None
        if request.private or not number
        else errors_of(estimator, training.frame, shared.target, request.options.get("exposure")),
        quality=None
        if request.private or number or (request.model not in ADDED and weights is None)
        else quality(estimator.model_, training.frame, shared.target),
    )


def _advise(error: ClassTooLargeError, estimator: Any, public: Mapping[str, Any]) -> None:
    """Say how columns are left out here, where that makes a tree or a list small enough."""
    from glassine.learners.exhaustive.families import ClassLearner
    from glassine.learners.exhaustive.sizes import smaller

    domain, classes = public["domain"], public.get("classes")
    n_classes = estimator._n_classes() if classes is None else len(classes)
    sized = isinstance(estimator, ClassLearner) and domain is not None and n_classes is not None
    if sized and (ways := smaller(estimator, domain, n_classes)):
        error.advise(ways.text(lambda names: f"with {shlex.join(f'--exclude={name}' for name in names)}"))


def _estimator(
    request: FitRequest, learner: Any, declared: Mapping[str, Any], options: Mapping[str, Any], display: Display
) -> Any:
    """Return the estimator, or the search over its settings, which takes what is spent and shows no progress."""
    if request.grid is None:
        return learner(**declared, progress=display, **options)
    from glassine.learners.search import PrivateSearchCV

    spending = {name: options[name] for name in OF_THE_SEARCH if name in options}
    own = {name: value for name, value in options.items() if name not in OF_THE_SEARCH or name == "delta"}
    return PrivateSearchCV(learner(**declared, **own), request.grid, **spending)


def _check_persons(request: FitRequest, domain: Domain | None) -> None:
    """Refuse half of what a guarantee for persons needs; without it, remark on attributes named like identifiers."""
    from glassine.data.identifiers import identifying

    budget = request.shared.budget
    if budget.person is not None and not request.private:
        raise InvalidParameterError(
            f"--person does not apply to {request.kind}.",
            remedy="Leave it out. To count people in the model, add it to `glassine audit`.",
        )
    check_unit(budget.person, budget.records_per_person)
    named = () if domain is None or not request.private else identifying(domain)
    for name in named:
        if name != budget.person:
            tell(
                f"glassine: {name} is named like an identifier. If a person can have several records, the guarantee "
                "for one record does not cover the person: give --person and --records-per-person M, a public bound, "
                "or leave it out."
            )


def _stages(request: FitRequest, learner: Any, public: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    """Return what follows the preparation, in words."""
    if request.grid is not None:
        return []
    if request.model in (ADDITIVE, SCORECARD):
        return ["releasing sums" if request.private else "fitting scores"]
    if request.model == GREEDY:
        return ["counting the records", "choosing rules"]
    return ["counting the records", "summing all models" + _tables(request, learner, public, options)]


def _tables(request: FitRequest, learner: Any, public: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return in words how much memory the tables of a fit take, where it is known beforehand."""
    if public["domain"] is None or request.grid is not None:
        return ""
    options = {name: value for name, value in options.items() if name not in ("ledger", "dataset")}
    with contextlib.suppress(GlassineError):  # what is wrong, the fit says
        return f" ({human_bytes(learner(**public, **options).memory_needed())} of tables)"
    return ""


def _learner(request: FitRequest, number: bool) -> Any:
    # Each family is imported alone: all of them take longer than a small fit.
    if request.model == SCORECARD:
        from glassine.learners.additive import number_cards, scorecards

        if number:
            return number_cards.PrivateScorecardRegressor if request.private else number_cards.ScorecardRegressor
        return scorecards.PrivateScorecardClassifier if request.private else scorecards.ScorecardClassifier
    if request.model == ADDITIVE:
        from glassine.learners.additive import estimators, ordinary

        if request.private:
            return estimators.PrivateEBMRegressor if number else estimators.PrivateEBMClassifier
        return ordinary.EBMRegressor if number else ordinary.EBMClassifier
    if request.model == GREEDY:
        from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier
        from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier

        return PrivateGreedyRuleListClassifier if request.private else GreedyRuleListClassifier
    from glassine.learners.exhaustive import optimal, private

    if request.model == TREE and number:
        return private.PrivateTreeRegressor if request.private else optimal.OptimalTreeRegressor
    if request.private:
        return private.PrivateTreeClassifier if request.model == TREE else private.PrivateRuleListClassifier
    return optimal.OptimalTreeClassifier if request.model == TREE else optimal.OptimalRuleListClassifier


def _options(request: FitRequest, learner: Any, number: bool) -> dict[str, Any]:
    """Return the options that were given, each a parameter of the learner."""
    set_by_user = {name: value for name, value in request.parameters.items() if value is not None}
    parameters = inspect.signature(learner).parameters
    for name in set_by_user:
        if name not in parameters:
            kind = f"{request.kind} of numbers" if number else request.kind
            raise InvalidParameterError(f"{option_of(name)} does not apply to {kind}.", remedy="Leave it out.")
    for name in ("memory_limit", "time_limit"):
        if not 0 < set_by_user.get(name, 1) < math.inf:
            raise InvalidParameterError(
                f"{option_of(name)} must be a positive number, got {set_by_user[name]!r}.", remedy="Leave it out."
            )
    if request.private and "epsilon" not in set_by_user:
        raise InvalidParameterError(
            "--epsilon is needed: the privacy budget that the fit uses.", remedy="Typical values are 0.1 to 1."
        )
    return set_by_user


def write_fitted(estimator: Any, files: FileOptions) -> None:
    """Write model and certificate; should that fail, print them, so that what was paid for is not lost."""
    from glassine.formats import write_model
    from glassine.formats.json import to_dict

    try:
        write_model(estimator.model_, files.output, overwrite=True)
        if (certificate := estimator.certificate_).model is not None:
            # A model that claims nothing has no certificate to tie to its file.
            estimator.certificate_ = replace(certificate, file=read_once(files.output).sha256)
        write_text(estimator.certificate_.to_json() + "\n", files.certified)
    except BaseException as error:
        saved = {"model": to_dict(estimator.model_), "certificate": estimator.certificate_.to_dict()}
        say(json.dumps(saved, indent=2))
        if isinstance(error, Exception):
            reason = str(error) if isinstance(error, GlassineError) else f"cannot write {files.output}: {error}."
            raise UnreadableFileError(
                f"{reason} Model and certificate stand on standard output instead: save them.", path=files.output
            ) from None
        raise


def report_on(
    request: FitRequest, estimator: Any, data: Any, policy: Policy | None, files: Mapping[str, FileContent | None]
) -> Findings:
    """Audit the written model, write the report, and return it. Of a private model it never sees the data."""
    from glassine.auditing.api import audit
    from glassine.auditing.audit_settings import AuditSettings
    from glassine.auditing.policy import Policy
    from glassine.formats import load_file

    shared = request.shared
    # This run trained the model, so its guarantee is not in doubt.
    limits = policy if policy is not None else Policy(accept_guarantee=True)
    try:
        written = read_once(shared.files.output)
        # The file is judged, with all that it holds.
        model, settings = load_file(written, estimator.domain_), AuditSettings(retrainable=True)
        findings = audit(model, domain=estimator.domain_, data=data, policy=limits, settings=settings)
        records = {} if data is None else {"data": shared.data}
        options = {"target": shared.target, WRITTEN: shlex.join(shared.written.words), OF_ANOTHER: "yes"}
        named = with_inputs(findings, {"model": written, **files}, records, options=options)
        own_options = () if shared.summary is not None else request.parameters
        own = [in_own_command(one, sys.argv[1:], own_options) for one in named.advice]
        if any(one.retraining is not None and not one.retraining.parameters for one in named.advice):
            # What makes the guarantee void is mended first, and the domain with it.
            own = [one for one in own if one.action != "domain"]
        findings = replace(named, advice=tuple(own), inputs=input_files(model=written, **files))
        write_report(findings, shared.files.report or Path(), title=shared.files.output.name)
    except GlassineError as error:
        raise GlassineError(f"{error} The model is written; only the report is missing.") from None
    return findings
