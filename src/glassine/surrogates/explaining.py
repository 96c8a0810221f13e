"""Explanations that ask the black box: only changes that it confirms are contrasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from glassine.errors import check_whole
from glassine.surrogates.explainer_values import UNCONSTRAINED, Contrast, ContrastConstraints, Explanation
from glassine.surrogates.protocols import CHECKED_MARGINS
from glassine.surrogates.query_input import Record
from glassine.surrogates.surrogate_release import SurrogateRelease

Ask: TypeAlias = Callable[[Sequence[Record]], Sequence[Any]]
"""Returns the black box's decisions on records."""


def changed(record: Record, contrast: Contrast) -> Record:
    """Return a record after the changes of a contrast."""
    return {**record, **{change.attribute: change.after for change in contrast.changes}}


def confirms(release: SurrogateRelease, contrast: Contrast, answer: Any, constraints: ContrastConstraints) -> bool:
    """Return whether the black box's answer on a changed record is that of a contrast, or one that is sought."""
    if constraints.seeks:
        return constraints.sought(answer)
    both = release.answers.places(np.array([answer, contrast.decision], dtype=object))
    return bool(release.answers.agree(both[:1], both[1:])[0])


def explain_checked(
    release: SurrogateRelease, record: Record, decision: object, ask: Ask, n_contrasts: int = 3, **how: Any
) -> Explanation:
    """Return an explanation whose contrasts the black box confirms.

    The black box is asked once, on every change of the returned tree: just beyond its thresholds, and a few public cut
    points further. Of each leaf the nearest change that it confirms is a contrast; of a leaf without one, the nearest
    change is a candidate that it refutes.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    record : mapping
        The query, as the release reads it.
    decision : scalar
        What the black box decided on it.
    ask : callable
        Returns the black box's decisions on records.
    n_contrasts : int, default=3
        Largest number of contrasts, and of candidates.
    **how
        ``guided``, ``n_closest`` and ``constraints`` as in :meth:`~.SurrogateRelease.explain`.
    """
    most = check_whole(n_contrasts, "n_contrasts", 0, 100)
    constraints: ContrastConstraints = how.get("constraints", UNCONSTRAINED)
    # Constraints that seek a number say whether it can be reached, which follows from the candidates.
    bare = release.explain(record, decision, n_contrasts=0, **how)
    if not most:
        return bare
    changes = release.changes(record, bare.group, constraints, CHECKED_MARGINS)
    if not changes:
        return bare
    answers = ask([changed(record, one) for one in changes])
    leaves: dict[tuple[Any, ...], list[Contrast]] = {}
    for one, answer in zip(changes, answers, strict=True):
        leaf = (one.decision, *((change.attribute, change.condition) for change in one.changes))
        said = replace(one, confirmed=confirms(release, one, answer, constraints))
        leaves.setdefault(leaf, []).append(said)
    nearest = [next((one for one in same if one.confirmed), same[0]) for same in leaves.values()]
    return replace(
        bare,
        contrasts=tuple(one for one in nearest if one.confirmed)[:most],
        candidates=tuple(one for one in nearest if not one.confirmed)[:most],
    )
