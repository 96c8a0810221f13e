"""The paper's form and the restricted form side by side, on the same groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from glassine.attacks.membership.outputs import generator
from glassine.attacks.outcome import Measured, ShownCount
from glassine.auditing.api import audit
from glassine.auditing.findings import Findings, FormFinding, FormsFinding
from glassine.auditing.group_privacy import leak_all
from glassine.auditing.inputs import AuditSettings
from glassine.auditing.policy import Policy
from glassine.auditing.release_attacks import gaps_of, midpoints_of, together_of
from glassine.auditing.release_inputs import DECISIONS, TRUE, ReleaseInputs, inputs_of_fit
from glassine.auditing.suppression import Suppression
from glassine.data.labels import as_sample
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.surrogates.explainer import SurrogateExplainer
from glassine.surrogates.values import Measures

SMALL = 10
"""Fewest people of a leaf that is not small, where the policy says nothing."""


def compare_forms(
    explainer: SurrogateExplainer,
    data: object,
    target: object = None,
    *,
    holdout: object = None,
    policy: Policy | None = None,
    settings: AuditSettings | None = None,
) -> Findings:
    """Audit an explainer, and put the paper's form and the restricted form beside each other.

    Both forms are fitted on the same groups. The findings are those of the explainer itself.

    Parameters
    ----------
    explainer : SurrogateExplainer
        The explainer, fitted on training records.
    data : data frame or array-like of shape (n, d)
        The training records, as for ``fit``.
    target : array-like of shape (n,), optional
        Their true labels, on which the paper trains its trees; without them it is given the black box's decisions.
    holdout : data frame, array-like of shape (m, d) or Sample, optional
        Other records, with their true labels if they are known: fidelity and accuracy are measured on them, and on the
        training records without them.
    policy, settings
        As for :func:`glassine.audit`. A policy whose ``suppress_below`` is 0 shows small counts.

    Raises
    ------
    InvalidDataError
        If the data are not the records on which the explainer was fitted.
    InvalidParameterError
        If the explainer was made of queries, so that there are no training records.
    """
    release = explainer.release()
    if release.provenance.records == "queries":
        raise InvalidParameterError(
            f"{parameter('forms')} are compared on training records, and a third party has none.",
            remedy="Fit the explainer on records.",
        )
    settings = settings or AuditSettings()
    # What is drawn after the audit is drawn independently of it.
    rng = generator(settings.random_state)
    settings = replace(settings, random_state=rng)
    findings = audit(explainer, target=target, holdout=holdout, policy=policy, settings=settings)
    # All of it is measured on records, so that of a private release it is the holder's part.
    findings = findings.holder or findings
    others = as_sample(holdout)
    measured_on = (data, target) if holdout is None else (others.data, others.target)
    rows = []
    for form in ("paper", "restricted"):
        own = explainer if release.provenance.form == form else _fitted(explainer, form, data, target)
        # Forms are comparable on the same groups only; other records, or another order, would give other groups.
        if not np.array_equal(own.training_.groups, explainer.training_.groups):
            raise InvalidDataError(
                f"{parameter('data')} are not the records on which the explainer was fitted.",
                remedy="Pass those, in order.",
            )
        inputs = inputs_of_fit(own, target, others)
        rows.append(_row(inputs, own.measures(*measured_on, n_draws=3), findings.policy, rng))
    where = "the training records" if holdout is None else "the holdout"
    forms = Measured(FormsFinding(forms=tuple(rows), measured_on=where))
    return replace(findings, measured=findings.measured.beside({"forms": forms}))


def _fitted(explainer: SurrogateExplainer, form: str, X: object, y: object) -> SurrogateExplainer:
    """Return the explainer in another form, on the same groups, with that form's own settings."""
    other: SurrogateExplainer = clone(explainer)
    labels = "black-box" if y is None else None
    settings = {"form": form, "labels": labels, "max_depth": "auto", "min_samples_leaf": "auto"}
    settings |= dict.fromkeys(("epsilon", "ledger", "dataset"))
    if "leaf_counts" in other.get_params():
        settings["leaf_counts"] = None
    other.set_params(**settings)
    return other.fit(X, y)


def _row(inputs: ReleaseInputs, measured: Measures, policy: Policy, rng: np.random.Generator) -> FormFinding:
    suppression, leaves, values = Suppression(policy.suppress_below), inputs.leaves(), leak_all(inputs)
    sizes = np.ones(1, dtype=np.int64) if leaves is None else leaves.sizes[leaves.sizes > 0]
    n = int(sizes.sum())
    small = policy.smallest_group or SMALL
    together = together_of(inputs, leaves)
    gaps = {gap.labels: gap.advantage for gap in gaps_of(inputs)}
    accused, wrongly, share = _accused(inputs, suppression, rng)
    return FormFinding(
        form=inputs.release.provenance.form,
        labels=inputs.kind,
        fidelity=measured.fidelity,
        fidelity_guided=measured.fidelity_guided,
        fidelity_null=measured.fidelity_null,
        accuracy=measured.accuracy,
        accuracy_guided=measured.accuracy_guided,
        quality=measured.quality,
        quality_guided=measured.quality_guided,
        quality_baseline=measured.quality_baseline,
        nodes_median=measured.nodes.median,
        nodes_mean=measured.nodes.mean,
        smallest_leaf=suppression.count(int(sizes.min())),
        share_alone=suppression.proportion(float((sizes == 1).sum() / n), n),
        share_small=suppression.proportion(float(sizes[sizes < small].sum() / n), n),
        small=small,
        share_constant=measured.nodes.constant_share,
        off_grid=values.n_off_grid or 0,
        n_thresholds=values.n_thresholds,
        bits_mean=together.value.bits_mean if isinstance(together, Measured) else None,
        gap_true=gaps[TRUE],
        gap_decisions=gaps[DECISIONS],
        accused=accused,
        accused_wrongly=wrongly,
        share_accused=share,
    )


def _accused(
    inputs: ReleaseInputs, suppression: Suppression, rng: np.random.Generator
) -> tuple[ShownCount | None, ShownCount | None, float | None]:
    """Return the members and the others whom the midpoint attack names, and the share of the members."""
    if inputs.people is None:
        return None, None, None
    if not any(tree.literals for tree in inputs.release.trees):
        return 0, 0, 0.0
    outcome = midpoints_of(inputs, random_state=rng)
    if not isinstance(outcome, Measured):
        return None, None, None
    n, accused = inputs.people.columns.n_records, np.array(outcome.value.accused, dtype=np.intp)
    right = int((accused < n).sum())
    return suppression.count(right), suppression.count(len(accused) - right), suppression.proportion(right / n, n)
