"""What ``glassine fit`` prints about the model it trained."""

from __future__ import annotations

import shlex
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from glassine.cli.fitting import ADDED, ADDITIVE, GREEDY, RULE_LIST, SCORECARD, TREE, FitRequest, Outcome
from glassine.cli.ledger import sentence
from glassine.cli.writing import one_line
from glassine.domain import Between, Category, Domain
from glassine.errors import first_of
from glassine.models.quality import LOPSIDED, Quality
from glassine.scrubbing.cost import sentences

if TYPE_CHECKING:
    from glassine.auditing.findings import Findings
    from glassine.cli.fitting import FileOptions
    from glassine.domain import Domain, Literal
    from glassine.domain.attributes import Scalar
    from glassine.models import AdditiveModel, DecisionTree, Evidence, RuleList
    from glassine.models.bins import Bins
    from glassine.records.arrays import Ints

RARE = "judge and compare models by AUROC and log loss, and rank by the probabilities."
"""What a rare outcome needs."""

UNDECLARED = "not declared by the domain"
"""Why columns of a fit are left out."""

WIDTH = 100
MOST_LINES = 60


def to_dict(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome of a fit as plain JSON values: model and certificate in full, and where they were written."""
    from glassine.formats.json import to_dict as model_dict

    files = outcome.request.shared.files
    return {
        "model": model_dict(outcome.estimator.model_),
        "certificate": outcome.estimator.certificate_.to_dict(),
        "files": {
            "model": str(files.output),
            "certificate": str(files.certified),
            "report": None if files.report is None else str(files.report),
        },
        "charge": outcome.charge,
        # Settings in words, as the certificate has them.
        "search": outcome.estimator.certificate_.public.get("search"),
        "left_out": [{"name": name, "reason": UNDECLARED} for name in outcome.left_out],
        "verdict": None if outcome.report is None else outcome.report.verdict,
        # Errors of a private model would be a release of their own.
        "error_rate": None if outcome.request.private or outcome.errors else _error_rate(outcome),
        "training": None if outcome.request.private else _training_figures(outcome),
    }


def to_text(outcome: Outcome) -> str:
    """Return the outcome of a fit for a person."""
    files = outcome.request.shared.files
    parts, checks = [_headline(outcome), "", *_model_lines(outcome), ""], []
    sentences = [*_privacy(outcome), *_accuracy(outcome), *_hardly_any(outcome)]
    if outcome.request.private and (domain := outcome.request.shared.public.domain) is not None:
        sentences.append(
            "Values outside the domain were clipped, or count as missing. How many is not shown, as it follows from "
            "the records. The check below counts them for you alone."
        )
        checks = [f"Check: glassine domain check {domain} --data {_records_of(outcome.request)}"]
    if outcome.left_out:
        sentences.append(f"Columns left out, as they are {UNDECLARED}: {_names(outcome.left_out)}.")
        sentences += _left_out(outcome)
    for said in sentences:
        parts += textwrap.wrap(said, WIDTH, break_on_hyphens=False, break_long_words=False)
    parts += ["", f"Model: {files.output}", f"Certificate: {files.certified}"]
    return "\n".join([*parts, *reported(files, outcome.report), *checks, *_next(outcome)])


def reported(files: FileOptions, report: Findings | None) -> list[str]:
    """Return the verdict of a report, and what to do if it does not allow the release."""
    if report is None:
        return []
    steps = [f"  {number}. {remedy}" for number, remedy in enumerate(report.advice, start=1)]
    lines = [f"Report: {files.report} ({report.verdict})"]
    return [*lines, "What to do", *steps] if steps and report.verdict != "within policy" else lines


def _left_out(outcome: Outcome) -> list[str]:
    """Return what a column named like an identifier asks for though it is not used: people can repeat all the same."""
    from glassine.data.identifiers import is_identifier_name

    named = next(filter(is_identifier_name, outcome.left_out), None)
    if named is None or not outcome.request.private or outcome.request.shared.budget.person is not None:
        return []
    return [
        f"{named} is named like an identifier. If a person can have several records, the guarantee for one record does "
        f"not cover the person: train with --person {shlex.quote(named)} and --records-per-person M, a public bound."
    ]


def _headline(outcome: Outcome) -> str:
    model = outcome.estimator.model_
    if outcome.request.options.get("accounting") == "published":
        epsilon = outcome.estimator.certificate_.epsilon
        return f"{str(model).capitalize()}, grown as published at a stated epsilon {epsilon:g}, which does not hold."
    if outcome.request.private:
        return f"Private {model}, trained with epsilon {outcome.estimator.certificate_.epsilon:g}."
    if outcome.request.model == SCORECARD:
        return f"{str(model).capitalize()}, of little {'log loss' if model.classes else 'squared error'}: not private."
    if outcome.request.model == ADDITIVE:
        return f"{str(model).capitalize()}, fitted without noise: not private."
    how = "grown greedily" if outcome.request.model == GREEDY else "of fewest errors"
    if getattr(outcome.estimator, "accuracy_share", 1.0) < 1 and outcome.request.model != GREEDY:
        how = "of least loss"
    if outcome.errors is not None:
        how = "of least squared error"
    return f"{str(model).capitalize()}, {how}: not private."


def _model_lines(outcome: Outcome) -> list[str]:
    from glassine.formats import to_text as model_text
    from glassine.formats.json import COMMENT
    from glassine.report.wording import plural

    if outcome.request.model == ADDITIVE:
        additive: Any = _shortened(outcome.estimator.model_)
        return _term_lines(additive)
    text = model_text(_shortened(outcome.estimator.model_), _with_stars(outcome.estimator.domain_))
    lines = text.rstrip("\n").split("\n")
    if lines[0].startswith(COMMENT):  # the guarantee follows in words
        del lines[0]
    if outcome.request.model in (RULE_LIST, GREEDY):  # of what a reader of the file needs, the classes stand below
        lines = [line for line in lines if not line.startswith(("attributes: ", "classes: ", "counts: "))]
    classes = outcome.estimator.model_.classes
    legend = (
        [] if classes is None or outcome.request.model == SCORECARD else ["", f"Counts are of {first_of(classes, 6)}."]
    )
    if len(lines) > MOST_LINES:
        more = f"... and {plural(len(lines) - MOST_LINES, 'line')} more: glassine export --to text"
        lines = [*lines[:MOST_LINES], more]
    return lines + legend


def _shortened(model: DecisionTree | RuleList | AdditiveModel) -> DecisionTree | RuleList | AdditiveModel:
    """Return a model to read: cut points without the last digits of arithmetic, values to six digits."""
    from glassine.models import AdditiveModel, NumericBins
    from glassine.models.transform import rewritten

    def literal(one: Literal) -> Literal:
        if isinstance(one, Between):
            return replace(one, lo=_digits(one.lo, 12), hi=_digits(one.hi, 12))
        # A prefix stands with its star, as in the domain.
        return replace(one, values=_starred(one.values))

    def bins(one: Bins) -> Bins:
        return replace(one, cuts=tuple(_digits(cut, 12) for cut in one.cuts)) if isinstance(one, NumericBins) else one

    def evidence(place: int, one: Evidence) -> Evidence:
        return one if one.value is None else replace(one, value=_digits(one.value, 6))

    if isinstance(model, AdditiveModel):
        return replace(model, terms=tuple(replace(term, bins=tuple(map(bins, term.bins))) for term in model.terms))
    return rewritten(model, literals={one: literal(one) for one in model.literals}, evidence=evidence)


def _with_stars(domain: Domain) -> Domain:
    """Return a domain in which prefixes are texts, as in the model that is shown."""
    attributes = {name: domain[name] for name in domain}
    for name, one in attributes.items():
        if isinstance(one, Category):
            attributes[name] = Category(tuple(dict.fromkeys(_starred(one.values))), missing=one.missing)
    return Domain(attributes)


def _starred(values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    return tuple("".join(value) if isinstance(value, str) else value for value in values)


def _digits(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _score(score: float) -> str:
    return f"{score:+,.0f}" if 1e3 <= abs(score) < 1e15 else f"{score:+.3g}"


def _term_lines(model: AdditiveModel) -> list[str]:
    """Return a line a term: how many bins it has, and where its scores are lowest and highest."""
    from glassine.report.wording import plural

    rows = [("term", "bins", "lowest score", "highest score")]
    for term in model.terms[: MOST_LINES - 1]:
        labels, scores = term.labels, term.scores.reshape(-1, term.n_outputs)
        low, high = scores.min(axis=1), scores.max(axis=1)
        ends = (f"{_score(low.min())} at {labels[low.argmin()]}", f"{_score(high.max())} at {labels[high.argmax()]}")
        rows.append((one_line(term.name), f"{len(labels)}", one_line(ends[0]), one_line(ends[1])))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    rest = len(model.terms) - len(lines) + 1
    return [*lines, f"... and {plural(rest, 'term')} more: glassine export --to text"] if rest else lines


def _privacy(outcome: Outcome) -> list[str]:
    certificate, model = outcome.estimator.certificate_, outcome.estimator.model_
    if not outcome.request.private:
        said = [
            "No guarantee: the model and its counts are those of the records. Audit the model before it is published."
        ]
        if (weights := outcome.request.shared.weights) is not None:
            said.append(f"Counts are sums of {weights}. What follows on quality counts each row once.")
        return said
    said = []
    if certificate.holds:
        said.append(
            f"Guarantee: epsilon {certificate.epsilon:g}, delta {certificate.delta:g}, {certificate.neighboring}. "
            f"Privacy unit: {certificate.unit}."
        )
    else:
        said.append(f"The guarantee does not hold: {'; '.join(certificate.caveats)}.")
    if outcome.request.model == SCORECARD:
        said.append(
            "The intervals of the risks take the noise into account."
            if model.classes
            else "What a point adds follows from noisy sums."
        )
    elif outcome.request.model == ADDITIVE:
        said.append("Scores carry noise. The report shows how much of it comes from the sums of each term.")
    elif model.guarantee is not None and model.guarantee.count_scale is not None and model.classes is None:
        scale = _records(model.guarantee.count_scale)
        said.append(
            f"The numbers of records carry noise of scale {scale}, and the values noise that shrinks with them."
        )
    elif model.guarantee is not None and model.guarantee.count_scale is not None:
        classes = (
            "The classes follow from the noisy counts."
            if outcome.request.model == GREEDY
            else "Predicted classes used most of the budget. Where a noisy count disagrees, the class is more reliable."
        )
        scale = _records(model.guarantee.count_scale)
        said.append(f"Counts include noise (scale {scale}). Negative counts are shown as 0. {classes}")
    if certificate.unit.is_person and outcome.request.model not in ADDED:
        weights = certificate.public["records of each person"]
        said.append(f"Counts are neither people nor rows of the file, but records of each person: {weights}.")
    if (search := certificate.public.get("search")) is not None:
        said.append(
            f"A search chose {search['chosen']} from {len(search['settings'])} settings: "
            f"{'; '.join(search['settings'])}. Epsilon covers the search and the model; each fit had epsilon "
            f"{search['epsilon of each fit']:g}."
        )
    if isinstance(outcome.request.options.get("max_depth"), str):
        said.append(f"The largest depth, {outcome.estimator.max_depth}, follows from public figures and costs nothing.")
    quantiles = [event for event in certificate.events if event.name.startswith("quantiles")]
    if quantiles:
        said.append("Part of epsilon paid for private thresholds of the numbers for which the domain declares none.")
    return [*said, charged(outcome.charge)]


def charged(charge: dict[str, Any] | None) -> str:
    """Return in a sentence what a ledger was charged, and what is left."""
    if charge is None:
        return "No ledger: the budget that this run used was not recorded. To track it, add --ledger and --dataset."
    left = f" {sentence(charge)}" if "epsilon" in charge else ""
    return f"Charged to {charge['ledger']}, entry {charge['entry']}.{left}"


def _accuracy(outcome: Outcome) -> list[str]:
    """Return what is known of the quality, beside that of the commonest class alone."""
    model = outcome.estimator.model_
    if outcome.request.private and model.classes is None:
        said = ["The RMSE is not given: measured on private records, it would be one more release."]
        sizes = [] if outcome.request.model in ADDED else [cell.evidence.size or 0 for cell in model.cells]
        if not sum(sizes):
            return said
        values = [cell.evidence.value for cell in model.cells]
        mean = sum(size * value for size, value in zip(sizes, values, strict=True)) / sum(sizes)
        return [
            *said,
            f"By the noisy leaves, the mean is {mean:,.6g}: a model that always predicts it is the baseline.",
        ]
    if outcome.errors is not None:
        error, baseline = outcome.errors
        return [f"RMSE on the training records: {error:.4g}; their mean alone: {baseline:.4g}."]
    if outcome.request.private:
        said = [
            "Accuracy, AUROC and log loss are not shown. Measuring them on the training records would reveal more "
            "about them."
        ]
        counts = [] if outcome.request.model in ADDED else [cell.evidence.counts for cell in model.cells]
        if not counts or None in counts:
            return [*said, f"If an outcome is rare, {RARE}"]
        return [*said, *_baseline(outcome, _table(model), "By the noisy counts")]
    if outcome.quality is not None:
        return sentences(outcome.quality, "training records")
    figures = _training_figures(outcome)
    area = "" if figures["auroc"] is None else f" AUROC {figures['auroc']:.3f},"
    said = [
        f"Errors on the training records: {100 * _error_rate(outcome):.3g}%.{area} log loss {figures['log_loss']:.3f}; "
        f"the base rates alone: {figures['baseline_log_loss']:.3f}."
    ]
    return [*said, *_baseline(outcome, _table(model), "Of the records")]


def _hardly_any(outcome: Outcome) -> list[str]:
    """Return what a private model without records in it may be due to, by what is published of it."""
    # A private fit refuses no target, because that would reveal that no record has it: a misspelled class is no error.
    model, target = outcome.estimator.model_, outcome.request.shared.target
    if not outcome.request.private:
        return []
    if outcome.request.model in ADDED:
        seen, noise = len(model.terms), 1.0
    else:
        numbers = [n for cell in model.cells for n in (cell.evidence.counts or (cell.evidence.size or 0,))]
        scale = 0.0 if model.guarantee is None else model.guarantee.count_scale or 0.0
        # Laplace noise cut off at 0 has the mean s / 2 and the variance 3 s^2 / 4.
        seen, noise = sum(numbers), scale * (len(numbers) / 2 + 3 * (0.75 * len(numbers)) ** 0.5)
    if seen >= noise:
        return []
    named = f"one of the classes {first_of(model.classes, 6)}" if model.classes else "a number"
    sentence = f"hardly any record may have {named} in {target!r}"
    said = (
        f"The model has no terms: {sentence}, or no attribute may predict it."
        if outcome.request.model in ADDED
        else f"What is published may be noise alone: {sentence}."
    )
    return [f"{said} Look at how values are written. If they are right, the records are few for this epsilon."]


def _baseline(outcome: Outcome, counts: Ints, source: str) -> list[str]:
    """Return what the commonest class alone would give, and what a rare outcome needs."""
    by_class = counts.sum(axis=0)
    if not by_class.sum():
        return []
    common = int(by_class.argmax())
    share = by_class[common] / by_class.sum()
    name = _names((str(outcome.estimator.model_.classes[common]),))
    said = [f"{source}, {100 * share:.3g}% are {name}: a model that always says {name} has that accuracy."]
    if share < LOPSIDED:
        return said
    rare = f"With an outcome so rare, {RARE}"
    if getattr(outcome.estimator, "accuracy_share", 1.0) == 1:
        rare += " Errors alone were the loss."
        if outcome.request.model in (TREE, RULE_LIST):
            rare += " A lower --accuracy-share ranks better."
    return [*said, rare]


def _training_figures(outcome: Outcome) -> dict[str, float | None]:
    """Return how good a model is on the training records, and how good it is to know no attribute."""
    # Of classes AUROC and log loss on the records that exact counts stand for; of numbers the root mean squared error.
    if outcome.errors is not None:
        return dict(zip(("rmse", "baseline_rmse"), outcome.errors, strict=True))
    if (quality := outcome.quality) is not None:
        values = {name: quality[name]["value"] for name in ("auroc", "log_loss")}
        return {**values, "baseline_log_loss": quality["log_loss"]["baseline"]}

    from glassine.learners.publishing import probabilities

    model = outcome.estimator.model_
    counts = _table(model)
    cells, truth = (np.repeat(axis.ravel(), counts.ravel()) for axis in np.indices(counts.shape))
    # Right or wrong is not asked here.
    own = Quality.measured(truth, truth, probabilities(model)[cells])
    base = Quality.baseline(truth, counts.shape[1])
    return {"auroc": own.auroc, "log_loss": own.log_loss, "baseline_log_loss": base.log_loss}


def _table(model: Any) -> Ints:
    """Return the class counts of the leaves or rules, shape (k, c)."""
    return np.array([cell.evidence.counts for cell in model.cells], dtype=np.int64)


def _error_rate(outcome: Outcome) -> float:
    """Return the share of records that exact counts, or the predictions, leave wrong."""
    if outcome.quality is not None:
        return 1 - (outcome.quality["accuracy"]["value"] or 0.0)
    counts = [cell.evidence.counts for cell in outcome.estimator.model_.cells]
    wrong, total = sum(sum(row) - max(row) for row in counts), sum(map(sum, counts))
    return float(wrong / max(1, total))


def _records(scale: float) -> str:
    return "1 record" if scale == 1 else f"{float(f'{scale:.3g}'):,g} records"


def _names(names: tuple[str, ...]) -> str:
    from glassine.report.wording import clean

    return clean(", ".join(names))


def _records_of(request: FitRequest) -> str:
    """Return the file of a fit and how it is written, as they are typed."""
    return " ".join(map(shlex.quote, (str(request.shared.data), *request.shared.written.words)))


def _next(outcome: Outcome) -> list[str]:
    """Return the next command; nothing where the report of this run says what to do."""
    request, files = outcome.request, outcome.request.shared.files
    if outcome.report is not None:
        pair = shlex.join(map(str, (files.output, files.certified)))
        verified = request.private and outcome.report.verdict == "within policy"
        return [f"Next: glassine certificate verify {pair}"] if verified else []
    domain = request.shared.public.domain
    audit = shlex.join(["glassine", "audit", str(files.output), *([] if domain is None else ["--domain", str(domain)])])
    if not request.private:
        target = shlex.quote(request.shared.target)
        return [f"Next: {audit} --data {_records_of(request)} --target {target} -o report.html"]
    if not outcome.estimator.certificate_.holds:
        return [f"Next: {audit}"]
    return ["Next: echo 'accept_guarantee = true' > accept.toml", f"      {audit} --policy accept.toml"]
