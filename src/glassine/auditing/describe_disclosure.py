"""Disclosure of a sensitive attribute as a finding, and under assumptions about the attacker that a caller states."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.disclosure import Adversary, Disclosure, identified_disclosure, infer_sensitive
from glassine.attacks.disclosure.adversary import NOT_STATED, read_hints, shown_by_leaves
from glassine.attacks.disclosure.anonymity import anonymity
from glassine.attacks.disclosure.predictions import OTHER_CLASSES, not_predicted
from glassine.attacks.disclosure.remedies import Remedies, class_tables, measure_remedies
from glassine.attacks.membership.outputs import generator
from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.attacks.remedy_table import DisclosureRemedy, RemedyTable, figures_of
from glassine.auditing.audit_settings import DisclosureSettings
from glassine.auditing.disclosure import UNSTATED, Inferred, SensitiveQuestion, column_of
from glassine.auditing.findings.disclosure import (
    CertainFinding,
    DisclosureDetails,
    DisclosureFinding,
    ExposedPerson,
    IdentifiedFinding,
    ReaderFinding,
    SampleFinding,
    SubgroupFinding,
    TruthFinding,
)
from glassine.auditing.inputs import AuditInputs
from glassine.auditing.suppression import Suppression
from glassine.data.labels import subgroups
from glassine.data.record_table import RecordTable, as_table
from glassine.data.record_table import columns as read_columns
from glassine.domain import Category
from glassine.domain.literals import is_missing
from glassine.errors import InvalidDataError, Text, marked
from glassine.models import DecisionTree
from glassine.records.arrays import AnyArray, Array, Indices

if TYPE_CHECKING:
    from glassine.attacks.disclosure import Adversary

MOST_EXPOSED = 10
DISCLOSED = 0.1
"""D_individual, in bits, below which a person's class counts as disclosed."""
SHOWN_ACTIVE = 5
SHOWN_SUBGROUPS = 10
CERTAIN = 0.99
"""Probability from which a class counts as practically certain, as where attackers are compared."""

IDENTIFIED = (CERTAIN, 0.9, 0.5)
"""Probabilities of which findings say for how many people every table reaches them."""


def describe_disclosure(inferred: Inferred, suppression: Suppression) -> DisclosureFinding:
    """Return what can be inferred as findings may hold it; subgroups are those of columns that the tree was given."""
    disclosure, table = inferred.estimate, inferred.table
    n, gained = table.number, _gained(disclosure)
    return DisclosureFinding(
        sensitive=inferred.sensitive,
        quasi_identifiers=inferred.quasi_identifiers,
        number=suppression.count(n),
        n_quasi_identifiers=suppression.count(len(disclosure.people.sizes)),
        n_classes=len(disclosure.classes),
        knowledge=disclosure.adversary.describe(),
        optimum="global" if disclosure.status == "optimal" else "local",
        gap=0.0 if disclosure.status == "local" else disclosure.gap / math.log(2),
        learned_mean=suppression.bits(float(table.weights @ gained[disclosure.people.person]) / n),
        learned_most=suppression.bits(float(gained.max())),
        readers=tuple(
            ReaderFinding(
                reader=reader.reader,
                entropy=suppression.bits(reader.entropy),
                certain=suppression.rough(reader.certain),
                d_overall=None if reader.d_overall is None else suppression.bits(reader.d_overall),
                guess_rate=None if reader.guess_rate is None else suppression.proportion(reader.guess_rate, n),
            )
            for reader in disclosure.compare(inferred.truth, table)
        ),
        exposed=tuple(sorted(row for row, _ in disclosure.most_exposed(MOST_EXPOSED, table))),
        n_internal=disclosure.counts.internal,
        n_active=disclosure.counts.active,
        unused=inferred.unused,
        notes=disclosure.notes,
        certain=_certain(inferred, suppression),
        identified=_identified(inferred, suppression),
        details=_details(inferred, suppression) if inferred.detailed else None,
    )


def _details(inferred: Inferred, suppression: Suppression) -> DisclosureDetails:
    """Return what only the holder of the data is to see."""
    disclosure, table, remedies = inferred.estimate, inferred.table, inferred.remedies
    n, worst = table.number, anonymity(disclosure).worst()
    return DisclosureDetails(
        n_leaves=len(disclosure.people.leaf_nodes),
        truth=None if inferred.truth is None else _truth(disclosure, inferred.truth, suppression, table),
        exposed=tuple(
            ExposedPerson(row=row, probability=_certainty(probability, suppression))
            for row, probability in disclosure.most_exposed(MOST_EXPOSED, table)
        ),
        k=suppression.count(int(worst["k"])),
        distinct_l=worst["distinct_l"],
        entropy_l=suppression.figure(worst["entropy_l"]),
        alpha=_certainty(worst["alpha"], suppression),
        t=suppression.proportion(worst["t"], n),
        # A candidate names a threshold between two records.
        active=() if suppression.below else tuple(map(str, disclosure.active[:SHOWN_ACTIVE])),
        remedies=()
        if remedies is None
        else tuple(_remedy(row, n, remedies.n_holdout or n, suppression) for row in remedies.rows),
        baseline=None if remedies is None else _baseline(remedies, n, suppression),
        subgroups=() if inferred.frame is None else _subgroups(inferred, suppression),
        sample=None if disclosure.sample is None else _sample(disclosure, suppression),
    )


def _certain(inferred: Inferred, suppression: Suppression) -> tuple[CertainFinding, ...]:
    """Return of whom the value is practically certain: by class, then in the subgroups where most are."""
    disclosure, table = inferred.estimate, inferred.table
    estimate = disclosure.quasi_probabilities[disclosure.people.person]
    outcome = np.where(estimate.max(axis=1) >= CERTAIN, estimate.argmax(axis=1), -1)

    def counted(rows: Indices, code: int) -> int:
        """Return the people, or records, of some rows of whom a class is certain."""
        return len(np.unique(table.whose[rows[outcome[rows] == code]]))

    def certain_at(rows: Indices, attribute: str = "", value: str = "") -> list[tuple[int, CertainFinding]]:
        number, out = len(np.unique(table.whose[rows])), []
        if attribute and not max(suppression.below, 2) <= number < table.number:
            return []
        for code, name in enumerate(disclosure.classes):
            n = counted(rows, code)
            finding = CertainFinding(
                outcome=str(name),
                certain=suppression.rough(n),
                base_rate=suppression.proportion(float(disclosure.marginal[code]), table.number),
                number=suppression.rough(number),
                attribute=attribute,
                value=value,
            )
            out.append((n, finding))
        return out

    every = certain_at(np.arange(len(outcome)))
    named = [name for name in disclosure.people.columns if name in table.names] if any(n for n, _ in every) else []
    groups = [
        one
        for name in named
        for value, rows in subgroups(table.arrays[name]).items()
        for one in certain_at(rows, str(name), value)
        if one[0]
    ]
    groups.sort(key=lambda one: -one[0])
    return tuple(finding for _, finding in (*every, *groups[:SHOWN_SUBGROUPS]))


def _identified(inferred: Inferred, suppression: Suppression) -> tuple[IdentifiedFinding, ...]:
    """Return of how many people the leaves alone prove a value to be so probable, the surest first."""
    disclosure, table = inferred.estimate, inferred.table
    leaves = disclosure.leaves
    if disclosure.sample is not None or (leaves.exact_counts is None and leaves.counts is not None):
        return ()  # Noisy counts prove nothing
    # Exact bounds take a search, and can only be higher.
    bounds = identified_disclosure(disclosure, search=False)
    out = []
    for probability in IDENTIFIED:
        rows = np.flatnonzero(bounds.certain_of(probability)[disclosure.people.person])
        out.append(
            IdentifiedFinding(probability=probability, people=suppression.rough(len(np.unique(table.whose[rows]))))
        )
    return tuple(out)


def _subgroups(inferred: Inferred, suppression: Suppression) -> tuple[SubgroupFinding, ...]:
    """Return the most exposed subgroups and the least exposed one, those too small to be shown left out."""
    disclosure = inferred.estimate
    groups = [
        group
        for group in disclosure.by_subgroup(inferred.frame, list(disclosure.people.columns), inferred.truth)
        if group.size >= max(suppression.below, 2) and group.size < disclosure.people.n_people
    ]
    picked = groups if len(groups) <= SHOWN_SUBGROUPS else [*groups[: SHOWN_SUBGROUPS - 1], groups[-1]]
    return tuple(
        SubgroupFinding(
            attribute=group.attribute,
            value=group.value,
            size=suppression.rough(group.size),
            entropy=suppression.bits(group.entropy),
            d_overall=None if group.d_overall is None else suppression.bits(group.d_overall),
        )
        for group in picked
    )


def _sample(disclosure: Disclosure, suppression: Suppression) -> SampleFinding:
    members = disclosure.membership
    return SampleFinding(
        fraction=suppression.proportion(float(members.mean()), len(members)),
        lowest=_certainty(float(members.min()), suppression),
        highest=_certainty(float(members.max()), suppression),
        certain=suppression.rough(int((members > 1 - 1e-9).sum())),
    )


def _gained(disclosure: Disclosure) -> Array:
    """Return what the reader learns of each quasi-identifier: the divergence of estimate from class distribution."""
    estimate, marginal = disclosure.quasi_probabilities, disclosure.marginal
    positive = estimate > 0
    ratio = np.where(positive, estimate, 1.0) / np.where(positive, marginal, 1.0)
    return np.asarray(np.maximum((estimate * np.log(ratio)).sum(axis=1), 0.0))


def _truth(disclosure: Disclosure, truth: npt.ArrayLike, suppression: Suppression, table: RecordTable) -> TruthFinding:
    distances = disclosure.d_individual(truth)
    lower, median, upper = (suppression.bits(float(value)) for value in np.quantile(distances, (0.25, 0.5, 0.75)))
    return TruthFinding(
        mean=suppression.bits(float(distances.mean())),
        lower=lower,
        median=median,
        upper=upper,
        disclosed=suppression.rough(len(np.unique(table.whose[distances < DISCLOSED * math.log(2)]))),
    )


def _remedy(row: DisclosureRemedy, n: int, n_holdout: int, suppression: Suppression) -> DisclosureRemedy:
    """Return a remedy as a report shows it: in bits, and shares by steps that no single record moves."""

    def coarse(value: float | None, records: int) -> float | None:
        return None if value is None else suppression.mean(value, records)

    return replace(
        row,
        entropy=None if row.entropy is None else suppression.bits(row.entropy),
        d_overall=None if row.d_overall is None else suppression.bits(row.d_overall),
        accuracy=coarse(row.accuracy, n),
        auroc=coarse(row.auroc, n),
        log_loss=coarse(row.log_loss, n),
        holdout_accuracy=coarse(row.holdout_accuracy, n_holdout),
        holdout_auroc=coarse(row.holdout_auroc, n_holdout),
        holdout_log_loss=coarse(row.holdout_log_loss, n_holdout),
    )


def _baseline(remedies: RemedyTable, n: int, suppression: Suppression) -> DisclosureRemedy | None:
    if remedies.baseline is None:
        return None
    figures = figures_of(remedies.baseline, remedies.holdout_baseline)
    row = DisclosureRemedy(name="without the model", kind="none", status="measured", **figures)
    return _remedy(row, n, remedies.n_holdout or n, suppression)


def _certainty(probability: float, suppression: Suppression) -> float:
    """Return a probability down to a twentieth; 1, up to the precision of the solver, stays 1."""
    return suppression.share(1.0 if probability > 1 - 1e-9 else probability)


WEAKER = "the attacker was assumed to use less than the tree publishes."


def infer_as_assumed(
    question: SensitiveQuestion, inputs: AuditInputs, settings: DisclosureSettings
) -> Outcome[Inferred]:
    """Return what an attacker infers under stated assumptions, at any cost."""
    tree, sensitive = question.model, question.settings.sensitive
    if not isinstance(tree, DecisionTree):
        return NotApplicable("disclosure of the sensitive attribute is measured for decision trees, got a rule list.")
    if tree.classes is None:
        return NotApplicable("the tree predicts a number, so that it discloses no class.")
    records = inputs.data if inputs.population is None else inputs.population
    if sensitive is None or records is None:
        return NotApplicable("an attack on the sensitive attribute needs its name and the people's records.")
    frame, truth = _people(records, tree, sensitive, needed=settings.truth is True or settings.remedies)
    frame = frame if question.settings.quasi is None else as_table(frame).restrict(question.settings.quasi)
    reason = _not_predicted(question, tree, settings, read_columns(frame), truth)
    if reason not in ("", OTHER_CLASSES):
        raise InvalidDataError(
            f"{reason} Name what the tree predicts as the sensitive attribute, and as the target if the data lack it."
        )
    stated = read_hints(question.artefact, question.domain)
    attacker, unused = _attacker(question, tree, settings), ""
    if stated.criterion is not None:
        attacker = replace(attacker, criterion=attacker.criterion if question.settings.criterion else stated.criterion)
        attacker = replace(attacker, stated=stated)
    elif attacker.internal_nodes and question.settings.criterion is None:
        attacker, unused = replace(attacker, internal_nodes=False), Text(NOT_STATED[:-1] + marked(UNSTATED))
    compared = None if settings.truth is False else truth
    estimate = infer_sensitive(
        tree,
        frame,
        sensitive,
        attacker,
        random_state=inputs.settings.random_state,
        truth=None if settings.training == "sample" else compared,
        progress=inputs.progress,
    )
    if reason:
        raise InvalidDataError(
            f"the people have other class counts of {sensitive!r} than the tree publishes.",
            remedy="Give the training records, and name the attribute that the tree predicts.",
        )
    estimate = replace(estimate, unused=estimate.unused or unused)
    if compared is not None and settings.training == "sample":
        # It raises where the people cannot hold the training records.
        class_tables(estimate, compared)
    table = None
    if settings.remedies and truth is not None:
        table = measure_remedies(
            tree,
            frame,
            truth,
            adversary=attacker,
            remedies=Remedies(
                domain=question.domain, time_limit=settings.time_limit, random_state=_seed(inputs.settings.random_state)
            ),
            evaluation=None
            if inputs.holdout is None
            else _people(inputs.holdout, tree, sensitive, needed=True, noun="the held-out records"),
            progress=inputs.progress,
            folder=settings.folder,
        )
    return Measured(
        Inferred(
            estimate=estimate,
            sensitive=sensitive,
            quasi_identifiers=tuple(estimate.people.columns),
            truth=compared,
            unused=estimate.unused,
            doubt=estimate.unused or (WEAKER if _is_weaker(question, tree, settings) else ""),
            remedies=table,
            frame=frame,
            detailed=True,
            table=as_table(frame),
        )
    )


def _people(
    data: object, tree: DecisionTree, sensitive: str, *, needed: bool, noun: str = "the data"
) -> tuple[Any, Any]:
    """Return the people without the sensitive column, and that column in the type of the tree's classes."""
    table = as_table(data)
    if not len(table):
        raise InvalidDataError(f"{noun} have no rows.", remedy="Give the quasi-identifiers of the training records.")
    if sensitive not in table.names:
        if needed:
            raise InvalidDataError(
                f"{noun} lack the sensitive column {sensitive!r}, which the truth and remedies need.", remedy="Add it."
            )
        return table, None
    truth = column_of(tree, read_columns(table)[sensitive])
    return table.restrict([name for name in table.names if name != sensitive]), truth


def _seed(random_state: int | np.random.Generator | None) -> int:
    """Return a seed: each private tree is drawn from its own, so that more of them change none."""
    return random_state if isinstance(random_state, int) else int(generator(random_state).integers(2**31))


def _attacker(question: SensitiveQuestion, tree: DecisionTree, settings: DisclosureSettings) -> Adversary:
    """Return the attacker that is assumed, as far as the model states nothing of its learning algorithm."""
    criterion: Any = "gini" if question.settings.criterion in (None, "none") else question.settings.criterion
    domain = question.domain
    codes = [name for name in tree.attributes if domain is not None and name in domain]
    return Adversary(
        settings.leaves or shown_by_leaves(tree),
        internal_nodes=settings.internal_nodes and question.settings.criterion != "none",
        criterion=criterion,
        splits=question.settings.splits,
        candidates=settings.candidates,
        categories=tuple(name for name in codes if domain is not None and isinstance(domain[name], Category)),
        min_samples_leaf=settings.min_samples_leaf,
        training=settings.training,
        sampling_fraction=settings.sampling_fraction,
        noise=settings.noise,
    )


def _not_predicted(
    question: SensitiveQuestion,
    tree: DecisionTree,
    settings: DisclosureSettings,
    columns: Mapping[str, AnyArray],
    truth: AnyArray | None,
) -> str:
    """Return why the tree is not known to predict the sensitive attribute; empty if it is."""
    whole, values = None, truth
    if truth is not None:
        gaps = is_missing(truth)
        exact = settings.training == "known" and settings.noise is None
        whole = columns if exact and not gaps.any() and set(tree.tested) <= set(columns) else None
        values = truth[np.flatnonzero(~gaps)]
    return not_predicted(
        tree,
        question.settings.sensitive or "",
        target=question.target,
        domain=question.domain,
        columns=whole,
        truth=values,
    )


def _is_weaker(question: SensitiveQuestion, tree: DecisionTree, settings: DisclosureSettings) -> bool:
    """Return whether an attacker of the published tree may use more than is assumed."""
    if settings.training == "sample" or (not settings.internal_nodes and question.settings.criterion != "none"):
        return True
    revealed = shown_by_leaves(tree)
    less = settings.leaves not in (None, "leaf_counts") and revealed == "leaf_counts"
    return less or (settings.leaves == "labels_only" and revealed == "error_rates")
