"""The loss attack: whoever has a small loss is called a member."""

from __future__ import annotations

from typing import Any

from glassine.attacks.membership.gap import answered, gap_figure, read_sides, setting_of
from glassine.attacks.membership.outputs import attempt
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.scoring import judge_scores
from glassine.attacks.outcome import Outcome
from glassine.errors import UnsupportedModelError

__all__ = ["loss_attack"]


def loss_attack(
    model: Any,
    X_in: Any,
    y_in: Any,
    X_out: Any,
    y_out: Any,
    *,
    confidence: float = 0.95,
    random_state: Any = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member if the model's loss on it lies below a threshold.

    The literature chooses the threshold on the records on which the attack is judged: that is ``best``, an upper bound
    on what a threshold can reach. The figures and their intervals are those of a cross-fitted threshold, which an
    attacker who knows the membership of some records has. Cross-entropy and probability of the class order the records
    alike, so one attack stands for both.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, DecisionTree or RuleList
        The model under attack.
    X_in, X_out : data frame or array-like, shapes (m, d) and (n, d)
        Training records, and records that were not used for training.
    y_in, y_out : array-like of shapes (m,) and (n,), or str
        Their classes, or the name of the column that holds them.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes folds and permutations repeatable.
    shift : Shift, optional
        Of :func:`~glassine.attacks.holdout_shift`, for the verdict.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable where the model gives no probabilities.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As for :func:`~glassine.attacks.gap_attack`.

    References
    ----------
    Yeom et al., 2018; Carlini et al.: Membership inference attacks from first principles, 2022.
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(X_in, y_in, X_out, y_out)

    def work() -> MembershipResult:
        members, nonmembers = answered(model, inside, outside)
        for side in (members, nonmembers):
            if side.probabilities is None:
                raise UnsupportedModelError(f"{side.lacking}, so it has no loss. Use the gap attack.")
        return judge_scores(
            "best-loss threshold",
            members.confidence,
            nonmembers.confidence,
            setting,
            gap=gap_figure(members, nonmembers, setting.confidence),
        )

    return attempt(work)
