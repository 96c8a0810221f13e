"""What can be inferred of the sensitive attribute under stated assumptions about the attacker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.outputs import generator
from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.auditing.disclosure import UNSTATED, Inferred, Question, column_of
from glassine.auditing.inputs import AuditInputs, DisclosureSettings
from glassine.data.inference import columns as read_columns
from glassine.data.table import as_table
from glassine.domain import Category
from glassine.domain.literals import attributes_of, is_missing
from glassine.errors import InvalidDataError, Text, marked
from glassine.models import DecisionTree

if TYPE_CHECKING:
    from glassine.attacks.disclosure import Adversary

WEAKER = "the attacker was assumed to use less than the tree publishes."


def assume(question: Question, inputs: AuditInputs, settings: DisclosureSettings) -> Outcome[Inferred]:
    """Return what an attacker infers under stated assumptions, at any cost."""
    from glassine.attacks.disclosure import infer_sensitive
    from glassine.attacks.disclosure.adversary import NOT_STATED, read_hints
    from glassine.attacks.disclosure.predictions import OTHER_CLASSES
    from glassine.attacks.disclosure.remedies import Remedies, class_tables, measure_remedies

    tree, sensitive = question.model, question.settings.sensitive
    if not isinstance(tree, DecisionTree):
        return NotApplicable("disclosure of the sensitive attribute is measured for decision trees, got a rule list.")
    if tree.classes is None:
        return NotApplicable("the tree predicts a number, so that it discloses no class.")
    if sensitive is None or inputs.data is None:
        return NotApplicable("an attack on the sensitive attribute needs its name and the people's records.")
    frame, truth = _people(inputs.data, tree, sensitive, needed=settings.truth is True or settings.remedies)
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
                domain=question.domain,
                time_limit=settings.time_limit,
                random_state=_seed(inputs.settings.random_state),
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


def _people(data: Any, tree: DecisionTree, sensitive: str, *, needed: bool, noun: str = "the data") -> tuple[Any, Any]:
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


def _attacker(question: Question, tree: DecisionTree, settings: DisclosureSettings) -> Adversary:
    """Return the attacker that is assumed, as far as the model states nothing of its learning algorithm."""
    from glassine.attacks.disclosure import Adversary

    criterion: Any = "gini" if question.settings.criterion in (None, "none") else question.settings.criterion
    domain = question.domain
    codes = [name for name in tree.attributes if domain is not None and name in domain]
    return Adversary(
        settings.leaves,
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
    question: Question,
    tree: DecisionTree,
    settings: DisclosureSettings,
    columns: Mapping[str, npt.NDArray[Any]],
    truth: npt.NDArray[Any] | None,
) -> str:
    """Return why the tree is not known to predict the sensitive attribute; empty if it is."""
    from glassine.attacks.disclosure.predictions import not_predicted

    whole, values = None, truth
    if truth is not None:
        gaps = is_missing(truth)
        exact = settings.training == "known" and settings.noise is None
        whole = columns if exact and not gaps.any() and set(attributes_of(tree.literals)) <= set(columns) else None
        values = truth[np.flatnonzero(~gaps)]
    return not_predicted(
        tree,
        question.settings.sensitive or "",
        target=question.target,
        domain=question.domain,
        columns=whole,
        truth=values,
    )


def _is_weaker(question: Question, tree: DecisionTree, settings: DisclosureSettings) -> bool:
    """Return whether an attacker of the published tree may use more than is assumed."""
    if settings.training == "sample" or (not settings.internal_nodes and question.settings.criterion != "none"):
        return True
    published = [cell.evidence for cell in tree.cells if cell.evidence.size != 0]
    counted = all(evidence.counts is not None for evidence in published)
    rated = all(evidence.counts is not None or evidence.error_rate is not None for evidence in published)
    return (settings.leaves != "leaf_counts" and counted) or (settings.leaves == "labels_only" and rated)
