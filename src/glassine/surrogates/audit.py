"""The audit of a release as a whole, from the explainer that made it or from its file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glassine import __version__
from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.describe import relied_on
from glassine.auditing.findings import (
    OF_THE_MODEL,
    DiversityFinding,
    ReleaseSummary,
    SurrogateFindings,
    ThresholdsFinding,
)
from glassine.auditing.judging import advise, decide, judge
from glassine.auditing.policy import Policy
from glassine.auditing.suppression import Suppression
from glassine.errors import InvalidParameterError
from glassine.surrogates.evidence import DECISIONS, TRUE, Evidence, MeasuredExplainer, evidence_of_data, evidence_of_fit
from glassine.surrogates.group_privacy import coded, diversity_of, groups_of, leak_all, leaves_of, representatives_told
from glassine.surrogates.reader import gaps_of, guesses_of, membership_of, midpoints_of, together_of
from glassine.surrogates.release import SurrogateRelease
from glassine.surrogates.release_facts import claimed, evidence_of_release, guarantee_of
from glassine.surrogates.settings import generator

__all__ = ["audit_evidence", "audit_explainer", "audit_release", "thresholds_finding"]

KNOWN_GROUP = (
    "Bits, and guesses with the group known, take each person's group as known; the share of the people whose group "
    "the closest representative gives is measured beside them."
)
NOT_COUNTED = (
    "Not measured: what the choice of splits at inner nodes tells, what the places of the representatives tell beyond "
    "distance, and what the black box's own decisions tell of those it learnt from."
)
BESIDE = "The guarantee covers the release, not these findings: they were measured on the records behind it."
BLACK_BOX = "What the black box's decisions tell of the records that it learnt from was not measured."


def audit_explainer(
    explainer: MeasuredExplainer,
    *,
    y: Any = None,
    holdout: Any = None,
    holdout_y: Any = None,
    sensitive: str | None = None,
    policy: Policy | None = None,
    show_small_counts: bool = False,
    random_state: Any = None,
) -> SurrogateFindings:
    """Audit the release of a fitted explainer; parameters as for :meth:`SurrogateExplainer.audit`."""
    known = evidence_of_fit(explainer, y=y, holdout=holdout, holdout_y=holdout_y)
    return audit_evidence(
        known, sensitive=sensitive, policy=policy, show_small_counts=show_small_counts, random_state=random_state
    )


def audit_release(
    release: SurrogateRelease,
    data: Any = None,
    *,
    y: Any = None,
    holdout: Any = None,
    holdout_y: Any = None,
    sensitive: str | None = None,
    policy: Policy | None = None,
    show_small_counts: bool = False,
    random_state: Any = None,
) -> SurrogateFindings:
    """Audit a release from its file: what a reader sees of it, or more where the records are given.

    With the training records, in the order and the kind of table in which the explainer had them, their groups are
    found by the same microaggregation. They count only if they give the representatives that the release holds.

    **Guarantee**: none. The findings hold aggregates, small counts suppressed, and row numbers.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    data : data frame or array-like of shape (n, d), optional
        The training records.
    y : array-like of shape (n,), optional
        Their true labels.
    holdout, holdout_y : data frame or array-like of shape (m, d), and array-like of shape (m,), optional
        Records of the same population that are not behind the release, and their true labels.
    sensitive, policy, show_small_counts, random_state
        As for :meth:`SurrogateExplainer.audit`.

    Raises
    ------
    InvalidDataError
        If records or labels do not fit the release.
    InvalidParameterError
        If the sensitive attribute is none of the release's.
    """
    known = evidence_of_data(release, data, y=y, holdout=holdout, holdout_y=holdout_y)
    return audit_evidence(
        known, sensitive=sensitive, policy=policy, show_small_counts=show_small_counts, random_state=random_state
    )


def audit_evidence(
    known: Evidence,
    *,
    sensitive: str | None = None,
    policy: Policy | None = None,
    show_small_counts: bool = False,
    random_state: Any = None,
) -> SurrogateFindings:
    """Audit a release with what is known beside it.

    Where the policy accepts the guarantee of the release, the findings follow from the release alone, and what records
    add stands in their ``holder``.
    """
    rules = Policy() if policy is None else policy
    if not isinstance(rules, Policy):
        raise InvalidParameterError(f"policy must be a Policy or None, got {type(rules).__name__}. Read one.")
    if sensitive is not None and sensitive not in known.release.domain.names:
        raise InvalidParameterError(
            f"sensitive must name an attribute of the release, got {sensitive!r}. They are: "
            f"{', '.join(known.release.domain.names[:20])}."
        )
    shown = Suppression(0 if show_small_counts else rules.suppress_below)
    rng = generator(random_state)
    if not relied_on(guarantee_of(known, rules)):
        return _measured(known, rules, shown, sensitive=sensitive, rng=rng)
    alone = Evidence(release=known.release, lacking=OF_THE_MODEL)
    public = _measured(alone, rules, shown, sensitive=sensitive, rng=generator(0))
    if not known.beside:
        return public
    measured = _measured(known, rules, shown, sensitive=sensitive, rng=rng)
    return replace(public, holder=replace(measured, notes=(*measured.notes, BESIDE), holder_only=True))


def _measured(
    known: Evidence, rules: Policy, shown: Suppression, *, sensitive: str | None, rng: np.random.Generator
) -> SurrogateFindings:
    leaves, values = known.leaves(), leak_all(known)
    together = together_of(known, leaves)
    membership = membership_of(known, midpoints_of(known, random_state=rng), shown, random_state=rng)
    guarantee = guarantee_of(known, rules)
    evidence = evidence_of_release(
        known,
        leaves,
        rules,
        values=values,
        together=together,
        membership=membership,
        guarantee=guarantee,
        codes=_codes(known, sensitive),
    )
    checks = judge(rules, evidence, shown)
    return SurrogateFindings(
        verdict=decide(checks),
        checks=checks,
        policy=replace(rules, suppress_below=shown.below),
        release=_summary(known),
        representatives=representatives_told(known, shown),
        thresholds=thresholds_finding(values),
        groups=groups_of(known, leaves, shown),
        diversity=_diversity(known, sensitive, shown),
        leaves=leaves_of(known, leaves, rules.smallest_leaf, shown),
        together=together,
        guesses=guesses_of(known, sensitive, shown),
        membership=membership,
        gaps=gaps_of(known),
        guarantee=guarantee,
        comparison=(),
        compared_on="",
        sensitive=sensitive,
        notes=(BLACK_BOX,) if known.nobody else (KNOWN_GROUP, NOT_COUNTED),
        advice=advise(rules, evidence, checks),
        version=__version__,
    )


def thresholds_finding(values: ValueLeakage) -> ThresholdsFinding:
    """Return what thresholds tell as a finding."""
    return ThresholdsFinding(
        n_thresholds=values.n_thresholds, n_off_grid=values.n_off_grid or 0, n_midpoints=values.n_midpoints
    )


def _codes(known: Evidence, sensitive: str | None) -> Any:
    return None if sensitive is None or known.people is None else coded(known.people.columns, sensitive)


def _summary(known: Evidence) -> ReleaseSummary:
    release, made = known.release, known.release.provenance
    return ReleaseSummary(
        form=made.form,
        labels=made.labels,
        records=made.records,
        partition=made.partition,
        method=made.method,
        scaling=made.scaling,
        n_groups=release.n_groups,
        n_attributes=len(release.domain),
        n_nodes=sum(len(tree.nodes) for tree in release.trees),
        n_leaves=sum(len(tree.cells) for tree in release.trees),
        deepest=max(tree.depth for tree in release.trees),
        k=release.k,
        classes=tuple(str(value) for value in release.classes),
        counts=any(node.evidence.size is not None for tree in release.trees for node in tree.nodes),
        inferred=tuple(name for name in release.domain if release.domain[name].inferred),
        notes=made.notes,
        claim=claimed(known),
    )


def _diversity(known: Evidence, sensitive: str | None, shown: Suppression) -> Outcome[tuple[DiversityFinding, ...]]:
    if known.people is None or known.groups is None:
        return NotApplicable(known.lacking)
    out = []
    for kind in (TRUE, DECISIONS):
        labels = known.people.labels(kind)
        if labels is not None:
            codes = np.unique(np.array([repr(value) for value in labels.tolist()]), return_inverse=True)[1]
            out.append(diversity_of(kind, known.groups, codes, shown))
    if sensitive is not None:
        out.append(diversity_of(sensitive, known.groups, _codes(known, sensitive), shown))
    if not out:
        return NotApplicable("neither labels nor a sensitive attribute are given (`--target`, `--sensitive`).")
    return Measured(tuple(out))
