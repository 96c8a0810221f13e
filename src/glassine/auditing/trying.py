"""Remedies tried on the bytes of a model: the copy, its verdict, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from glassine.auditing.api import audit
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.criterion import joined
from glassine.auditing.describe import describe_guarantee, relied_on
from glassine.auditing.findings import Findings
from glassine.auditing.policy import Policy
from glassine.auditing.remedy import Remedy
from glassine.data.labels import Sample
from glassine.domain import Domain
from glassine.errors import GlassineError, InvalidModelError, InvalidParameterError, parameter, plural
from glassine.exports import DisplayedToCheckers
from glassine.files import FileContent
from glassine.formats import ModelFile, load_judged
from glassine.formats.canonical import as_written, written
from glassine.formats.format import PublishedModel
from glassine.formats.registry import writer
from glassine.models import AdditiveModel, DecisionTree, RegressionModel, TreeEnsemble
from glassine.scrubbing.cost import NAMES, Measured, changed, quality
from glassine.scrubbing.scrub import ScrubResult, scrub

MERGING = ("smallest_leaf", "largest_advantage")
"""Parameters of scrubbing that count records where the model publishes no counts."""
SINGLE = {"thresholds": "threshold", "leaves": "leaf", "bins": "bin"}
"""One of what a copy changes, by the word for several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedRemedy(DisplayedToCheckers):
    """What the copy would be that a remedy makes.

    Attributes
    ----------
    remedy : Remedy
        The remedy, with every parameter that was left to the user.
    does : str
        What the copy is, in a sentence that follows from the remedy and the kind of model alone.
    file : FileContent
        The copy, as it would be written.
    findings : Findings
        Its audit, for the checker; ``findings.public()`` may leave.
    measures : mapping of str to mapping
        Each measure of quality with its value ``before`` and ``after``, and ``baseline``; empty where no records with
        the target were given. For the checker.
    measured_on : str
        Which records these are.
    changes : mapping of str to int
        Thresholds that were moved, leaves that were dropped, leaves that were merged. For the checker.
    failure : str
        Why quality was not measured though records were given; empty otherwise.
    """

    remedy: Remedy
    does: str
    file: FileContent
    findings: Findings
    measures: Measured = field(default_factory=dict)
    measured_on: str = "training records"
    changes: Mapping[str, int] = field(default_factory=dict)
    failure: str = ""

    @property
    def note(self) -> str:
        """What came out, for checkers: verdict, and figures that can follow from records."""
        said = [f"Tried: {self.findings.verdict}"]
        for name, values in self.measures.items():
            before, after = values["before"], values["after"]
            if before is not None and after is not None:
                figures = f"{_figure(name, before)} to {_figure(name, after)}"
                # An abbreviation keeps its capitals.
                said.append(f"{NAMES[name] if NAMES[name][:2].isupper() else NAMES[name].lower()} {figures}")
        for what, n in self.changes.items():
            part, _, done = what.partition(" ")
            said += [f"{plural(n, SINGLE[part])} {done}"] if n else []
        on = f" Measured on the {self.measured_on}." if self.measures else ""
        odd = next(
            (one for status in ("fail", "unknown") for one in self.findings.checks if one.status == status), None
        )
        why = "" if odd is None else f" {odd.meaning}"
        return f"{'; '.join(said)}.{on}{why}{f' {self.failure}' if self.failure else ''}"

    @property
    def reply(self) -> str:
        """What the analyst is asked for: the remedy alone, without a figure of records or the verdict on them."""
        return f"{self.does} {self.remedy.plain}"


def _figure(name: str, value: float) -> str:
    return f"{value:.1%}" if name == "accuracy" else f"{value:.4g}"


COPIED = ".json"
"""End of the name of an ensemble's copy, which is Glassine's own JSON."""


def can_be_tried(remedy: Remedy) -> bool:
    """Return whether a remedy makes a copy of the model, which needs no training and no other input.

    Examples
    --------
    >>> from glassine.auditing.remedy import remedy
    >>> can_be_tried(remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10))
    True
    >>> can_be_tried(remedy("Pass the training records: {step}.", "audit", data=None))
    False
    """
    return remedy.action == "scrub" or "clean_copy" in remedy.parameters


def remedies_to_try(advice: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return the remedies that make a copy, one for each different copy: remedies that scrub share theirs."""
    distinct: dict[tuple[Any, ...], Remedy] = {}
    for one in advice:
        if can_be_tried(one):
            distinct.setdefault((one.action, *sorted(one.parameters.items())), one)
    return tuple(distinct.values())


def try_remedy(
    file: FileContent,
    remedy: Remedy,
    *,
    domain: Domain | None = None,
    members: Sample | None = None,
    holdout: Sample | None = None,
    policy: Policy | None = None,
    settings: AuditSettings | None = None,
    chosen: Mapping[str, float | str] | None = None,
) -> TriedRemedy:
    r"""Make the copy that a remedy advises, and audit it: nothing is written, and no code of the file runs.

    The copy of a private model whose guarantee the policy accepts does not depend on the records.

    **Guarantee**: none; the result is for the checker, ``does`` and ``reply`` aside, which name the remedy only.

    Parameters
    ----------
    file : FileContent
        The model, as it was audited; see :func:`glassine.files.read_once`.
    remedy : Remedy
        One of ``Findings.advice`` that :func:`can_be_tried`.
    domain : Domain, optional
        The public domain, which a copy with other thresholds needs.
    members, holdout : Sample, optional
        The training records and held-out ones, with the target and the persons that the audit was given. Quality is
        measured on held-out records where there are any, if the target is a column.
    policy, settings
        As for :func:`glassine.audit`.
    chosen : mapping, optional
        Values of the parameters that the remedy leaves to the user.

    Returns
    -------
    TriedRemedy

    Raises
    ------
    InvalidParameterError
        If the remedy makes no copy, has a parameter without a value, or needs a domain that is not given.
    GlassineError
        If the model cannot be read or the copy not be made; see :func:`glassine.scrub`.

    Examples
    --------
    >>> from glassine.domain import Integer
    >>> text = b"classes: [a] [b]\nif [age <= 40] then [a] ([30 ; 0] examples)\nelse [b] ([10 ; 20] examples)"
    >>> file, ages = FileContent(path=Path("rules.txt"), data=text), Domain({"age": Integer(0, 99)})
    >>> limits = Policy(purest_leaf=0.7)
    >>> before = audit(load_judged(file, ages), domain=ages, policy=limits)
    >>> (one,) = (r for r in remedies_to_try(before.advice) if r.action == "scrub")
    >>> tried = try_remedy(file, one, domain=ages, policy=limits)
    >>> tried.does
    'A copy with thresholds at public cut points, without counts.'
    """
    if not can_be_tried(remedy):
        raise InvalidParameterError(
            f"no copy can be tried of this remedy: {remedy.plain}",
            remedy="Ask the publisher, or train the model again.",
        )
    parameters = {**remedy.parameters, **(chosen or {})}
    members, holdout = members or Sample(), holdout or Sample()
    whole = load_judged(file, domain)
    model: Any = whole.model if isinstance(whole, ModelFile) else as_written(whole.model, domain)
    if remedy.action != "scrub":
        ending = (
            "" if whole.form.canonical else COPIED if whole.form.clean_copy is None else whole.form.clean_copy.extension
        )
        done, copy = None, FileContent(path=Path(f"clean{ending}" if ending else file.path.name), data=whole.copy)
    else:
        open_ = [name for name, value in parameters.items() if value is None]
        if open_:
            raise InvalidParameterError(f"{parameter(open_[0])} is for the user to choose.", remedy="Choose a number.")
        if domain is None:
            raise InvalidParameterError(
                "a copy has its thresholds at public cut points, and no domain says which these are.",
                parameter="domain",
                remedy=f"Describe what is public, and pass it as {parameter('domain=')}.",
            )
        one = isinstance(whole, ModelFile)
        private = one and relied_on(describe_guarantee(model, policy or Policy()))
        done = _scrubbed(model, domain, parameters, Sample() if private else members, private=private)
        copy = FileContent(path=Path("scrubbed.json"), data=written(done.model, writer("json", done.model)))
    again = load_judged(copy, domain)
    records = {"holdout": None if holdout.data is None else holdout, "persons": members.persons}
    options: dict[str, Any] = {"domain": domain, "policy": policy, "settings": settings, **records}
    findings = audit(again, members.data, members.target, **options)
    remedy = replace(remedy, parameters=parameters)
    tried = TriedRemedy(remedy=remedy, does=_described(model, remedy, findings.counted), file=copy, findings=findings)
    if done is not None:
        parts = "bins" if isinstance(model, AdditiveModel) else "leaves"
        counted = (done.n_rounded, done.n_dropped, done.n_merged)
        names = ("thresholds moved", f"{parts} dropped", f"{parts} merged")
        tried = replace(tried, changes=dict(zip(names, counted, strict=True)))
    on, which = (holdout.completed(members), "held-out records") if holdout.data is not None else (members, "")
    if on.data is None or not isinstance(on.target, str):
        return tried
    try:
        before, after = (quality(model, on.data, on.target) for model in (model, again.model))
    except GlassineError as error:
        return replace(tried, failure=f"What the copy costs could not be measured: {error}")
    return replace(tried, measures=changed(before, after), measured_on=which or tried.measured_on)


def _scrubbed(
    model: PublishedModel, domain: Domain, parameters: Mapping[str, Any], members: Sample, *, private: bool
) -> ScrubResult:
    """Return the copy; the records are counted unless the model has a guarantee, which that would void."""
    merging = any(parameters.get(name) for name in MERGING)
    if private and merging and isinstance(model, DecisionTree) and None in [c.evidence.size for c in model.cells]:
        raise InvalidModelError(
            "this private model publishes no counts to merge leaves by, and those of the data would void its "
            "guarantee.",
            remedy="Publish it without this step, or train it again with a smaller budget.",
        )
    counted = merging and members.data is not None
    return scrub(model, domain, data=members.data, persons=members.persons if counted else None, **parameters)


def _described(model: PublishedModel | TreeEnsemble, remedy: Remedy, counted: str) -> str:
    """Return what a copy is, in a sentence."""
    if remedy.action != "scrub":
        return "A copy that holds the model and nothing else."
    if isinstance(model, RegressionModel):
        return "A copy with rounded coefficients, and without the rows of a baseline."
    parameters = remedy.parameters
    if isinstance(model, TreeEnsemble):
        return "A copy with thresholds at public cut points, rounded leaves, and without their numbers of records."
    additive, counts = isinstance(model, AdditiveModel), parameters.get("counts", "coarsen")
    having, part = [f"{'cuts' if additive else 'thresholds'} at public cut points"], "bins" if additive else "leaves"
    if parameters.get("smallest_leaf"):
        having.append(f"{part} of at least {parameters['smallest_leaf']:g} {counted}")
    if parameters.get("largest_advantage"):
        having.append(f"leaves merged to a membership advantage of at most {parameters['largest_advantage']:g}")
    if not additive and counts == "coarsen":
        having.append(f"counts rounded to multiples of {parameters.get('base', 10)}")
    left_out = "the sizes of bins" if additive else "counts"
    ending = f", without {left_out}" if counts == "remove" or (additive and counts != "keep") else ""
    return f"A copy with {joined(having)}{ending}."
