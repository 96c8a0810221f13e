"""Copies of ensembles of trees: thresholds at public cut points, rounded leaves, no numbers of records in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from glassine.domain import Domain
from glassine.domain.literals import Literal
from glassine.errors import InvalidModelError
from glassine.exports import Displayed
from glassine.formats.canonical import as_written
from glassine.formats.ensembles import together
from glassine.models.ensemble import TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.transform import moved_tree, rewritten
from glassine.models.tree import DecisionTree

DIGITS = 2
"""Decimals of a share of a class in a copy, and of the largest score those behind its first digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleScrub(Displayed):
    """A scrubbed ensemble and what was done.

    Attributes
    ----------
    model : TreeEnsemble
        The copy.
    n_rounded : int
        Distinct thresholds that were moved to a public cut point.
    n_dropped : int
        Leaves that were dropped, because after rounding no possible record reaches them.
    """

    model: TreeEnsemble
    n_rounded: int
    n_dropped: int


def scrub_ensemble(
    ensemble: TreeEnsemble,
    domain: Domain,
    move: Callable[[Literal], Literal | None],
    *,
    keep_sizes: bool = False,
) -> EnsembleScrub:
    """Return a copy of an ensemble that says less of its training records, which trains nothing again.

    Thresholds move to public cut points, leaves lose their numbers of records, shares are rounded to two decimals and
    stay within 0.01 and 0.99, so that no leaf calls an outcome certain. Scores are rounded to three digits of the
    largest one. What else the file gave away, such as covers, is not in the copy. The number of all training records
    stays, by which its audit judges it.

    Guarantee
    ---------
    None. Trees keep their leaves, and with them the membership advantage that follows from their number.

    Parameters
    ----------
    ensemble : TreeEnsemble
        The ensemble.
    domain : Domain
        The public domain.
    move : callable
        Returns a condition on the public grid, None where no value can satisfy it any more.
    keep_sizes : bool, default=False
        Whether leaves keep their numbers of records, and their shares and scores all digits.

    Raises
    ------
    UnsupportedModelError
        If it is not known how the trees predict together.
    InvalidModelError
        If it tests an attribute that the domain lacks.
    """
    plain = as_written(ensemble, domain)
    scoring = plain.scoring
    if scoring is None:
        raise InvalidModelError("the ensemble holds no trees that can be written.")
    moves = {literal: move(literal) for literal in scoring.forest.literals}
    unit = 0.0 if keep_sizes else _unit(scoring.forest.trees, scoring.base)
    trees, n_dropped = [], 0
    for tree in scoring.forest.trees:
        moved = moved_tree(tree, {literal: moves[literal] for literal in tree.literals}, domain)
        n_dropped += len(tree.cells) - len(moved.cells)
        if not keep_sizes:
            moved = rewritten(moved, evidence=lambda place, own: _rounded(own, unit))
        elif len(moved.cells) < len(tree.cells):
            # Records of a dropped leaf are in no other: nodes above no longer hold what is below them.
            nodes = (node if not node.branches else replace(node, evidence=Evidence()) for node in moved.nodes)
            moved = replace(moved, nodes=tuple(nodes))
        trees.append(replace(moved, approximate=False))
    base = tuple(_to(unit, score) for score in scoring.base)
    forest = replace(scoring.forest, trees=tuple(trees))
    rate = plain.base_rate
    copy = together(
        forest,
        replace(scoring, forest=forest, base=base),
        combined=plain.combined,
        learner=plain.learner,
        classes=plain.classes,
        placed="unknown",
        outputs=plain.outputs,
        rate=plain.rate,
        n_records=plain.n_records,
        whole=plain.whole,
        base_rate=rate if rate is None or keep_sizes else round(rate, DIGITS),
        special=plain.special,
    )
    old, new = ({(name, x) for name, own in one.thresholds.items() for x in own.tolist()} for one in (plain, copy))
    return EnsembleScrub(model=copy, n_rounded=len(old - new), n_dropped=n_dropped)


def _unit(trees: tuple[DecisionTree, ...], base: tuple[float, ...]) -> float:
    """Return the step of scores: a hundredth of the first digit of the largest one; 0 without scores."""
    scores = [abs(cell.evidence.value) for tree in trees for cell in tree.cells if cell.evidence.value is not None]
    largest = max((*scores, 0.0)) or max(map(abs, base), default=0.0)
    return 10.0 ** (math.floor(math.log10(largest)) - DIGITS) if largest > 0 else 0.0


def _to(unit: float, score: float) -> float:
    return float(f"{round(score / unit) * unit:.12g}") + 0.0 if unit else score


def _rounded(own: Evidence, unit: float) -> Evidence:
    """Return what a leaf still says."""
    shares = own.probabilities or (None if own.counts is None else tuple(n / sum(own.counts) for n in own.counts))
    if shares is None:
        value = None if own.value is None else _to(unit, own.value)
        rate = None if own.error_rate is None else min(0.99, max(0.01, round(own.error_rate, DIGITS)))
        return Evidence(label=own.label, value=value, error_rate=rate)
    # In hundredths, at least one for each class; what rounding leaves over goes to the largest.
    whole = np.maximum(1, np.round(np.array(shares) * 10**DIGITS)).astype(int)
    whole[int(np.argmax(whole))] += 10**DIGITS - int(whole.sum())
    return Evidence(label=int(np.argmax(whole)), probabilities=tuple((whole / 10**DIGITS).tolist()))
