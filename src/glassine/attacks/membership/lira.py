"""The likelihood ratio attack: a record's confidence beside that of models that saw it, and that did not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.gap import gap_figure, known_sides, read_sides, setting_of
from glassine.attacks.membership.outputs import Records, UnansweredError, answers, attempt, check_count, first_line
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.scoring import judge_scores
from glassine.attacks.outcome import NotApplicable, Outcome
from glassine.data.labels import Sample
from glassine.data.table import as_table
from glassine.errors import InvalidParameterError, PrivacyLeakWarning, UnsupportedModelError, parameter
from glassine.models import DecisionTree, RuleList

# The learner that an attacker would guess: what shadow models of a published model are learnt with.


def shadow_learner(model: DecisionTree | RuleList, records: Any) -> Any:
    r"""Return an unfitted learner of models of the same size: CART for trees, greedy Gini lists for rule lists.

    Examples
    --------
    >>> import polars as pl
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from glassine import as_model
    >>> records = pl.DataFrame({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
    >>> tree = DecisionTreeClassifier(random_state=0).fit(records.select("a").to_pandas(), records["y"].to_numpy())
    >>> shadow_learner(as_model(tree), records)[-1].max_leaf_nodes
    3
    """
    if isinstance(model, RuleList):
        from glassine.learners.greedy.rule_list import GreedyRuleListClassifier

        return GreedyRuleListClassifier(max_rules=max(1, len(model.rules)), min_support=0.0)
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    frame = as_table(records).frame
    numbers = [name for name in model.attributes if name in frame.columns and frame[name].dtype.is_numeric()]
    text = [name for name in model.attributes if name in frame.columns and name not in numbers]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("numbers", "passthrough", numbers), ("text", one_hot, text)])
    depth = max((len(cell.inside) for cell in model.cells), default=1)
    tree = DecisionTreeClassifier(max_depth=max(1, depth), max_leaf_nodes=max(2, len(model.cells)))
    return make_pipeline(encoder, tree)


MIN_SD = 0.1
"""Smallest standard deviation of a confidence on the logit scale: models that agree still leave some doubt."""

POOLED_BELOW = 64
"""Shadow models below which variances of single records are too uncertain, as in the paper."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shadows:
    """How the shadow models of the likelihood ratio attack are trained and scored.

    Attributes
    ----------
    learner : estimator
        An unfitted scikit-learn estimator like the one that trained the model; it is cloned, and seeded where it has a
        parameter ``random_state``.
    n_shadows : int, default=32
        Number of shadow models, at least 4.
    mode : {"online", "offline"}, default="online"
        Which score.
    variance : {"auto", "per-record", "pooled"}, default="auto"
        Whether each record has its own variances or all share two, with and without; auto pools below 64 shadow
        models. No standard deviation is taken below 0.1.

    Raises
    ------
    InvalidParameterError
        If the learner has no ``fit``, or a value lies outside its range.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> Shadows(DecisionTreeClassifier(), 16).pooled
    True
    """

    learner: Any
    n_shadows: int = 32
    mode: Literal["online", "offline"] = field(default="online", kw_only=True)
    variance: Literal["auto", "per-record", "pooled"] = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        check_count("n_shadows", self.n_shadows, 4)
        for name, value, choices in (
            ("mode", self.mode, ("online", "offline")),
            ("variance", self.variance, ("auto", "per-record", "pooled")),
        ):
            if value not in choices:
                raise InvalidParameterError(f"{parameter(name)} must be one of {', '.join(choices)}, got {value!r}.")
        if not callable(getattr(self.learner, "fit", None)):
            raise InvalidParameterError(
                f"{parameter('learner')} must be an estimator with fit, got {type(self.learner).__name__}."
            )

    @property
    def pooled(self) -> bool:
        """Whether all records share their variances."""
        return self.variance == "pooled" or (self.variance == "auto" and self.n_shadows < POOLED_BELOW)


def lira(
    model: Any,
    members: Sample | Records,
    nonmembers: Sample | Records,
    shadows: Shadows | None,
    *,
    confidence: float = 0.95,
    random_state: Any = None,
    shift: Shift | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome[MembershipResult]:
    """Compare each record's confidence with that of shadow models trained with it and without it.

    Each shadow model learns from a random part of all records, members and non-members, of about the size of the
    training set; every record is in the same number of them. The confidence of a record is the logarithm of the odds
    that a model gives its class. Online, the score is the log ratio of two normal densities, fitted to the confidences
    of the shadow models with and without the record; offline, it is the chance that a model without the record is less
    confident than the one under attack.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``, DecisionTree or RuleList
        The model under attack.
    members, nonmembers : Sample
        All training records, and records that were not used for training, with their classes.
    shadows : Shadows or None
        How shadow models are trained, and which score is taken. Without it the attack does not apply.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes the shadow models and folds repeatable.
    shift : Shift, optional
        Of :func:`~glassine.attacks.holdout_shift`, for the verdict.
    progress : callable, optional
        Called with the number of shadow models done and of all.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable without shadow models or without probabilities; failed where the learner raises an error.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        If data or a parameter cannot be used.

    Notes
    -----
    A tree answers with probabilities of 0 and 1. They are held within [1e-6, 1 - 1e-6], so that confidences lie between
    -13.8 and 13.8, and the verdict says how many of the model's answers were.

    References
    ----------
    Carlini et al.: Membership inference attacks from first principles, 2022.
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)
    if shadows is None:
        return NotApplicable(f"shadow models need a learner like the model's: pass {parameter('shadows=')}.")

    def work() -> MembershipResult:
        sides = known_sides(model, inside, outside)
        told, others = answers(model, sides[0]), answers(model, sides[1])
        m = len(told.truth)
        observed = np.concatenate([told.confidence, others.confidence])
        pool = sides[0].join(sides[1])
        # A shadow model learns from all records of a person or from none.
        share = sides[0].number / (sides[0].number + sides[1].number)
        seen = _draw(sides[0].number + sides[1].number, share, shadows.n_shadows, setting.rng)[pool.whose]
        confidences = _shadow_confidences(shadows.learner, pool, seen, setting.rng, progress)
        fits = _fit(confidences, seen, pooled=shadows.pooled)
        scores = fits.ratio(observed) if shadows.mode == "online" else fits.surprise(observed)
        held = float(np.mean(np.abs(observed) > 13.8))
        notes = (
            [f"{held:.0%} of the model's probabilities are 0 or 1 and were held within 1e-6 of them."] if held else []
        )
        ratio = float(seen.sum(axis=0).mean()) / m
        if not 0.9 <= ratio <= 1.1:
            notes.append(
                f"The shadow models trained on {ratio:.2g} times as many records as there are members, so they differ "
                "from the model more than its training data do. Take more shadow models."
            )
        return judge_scores(
            f"{shadows.mode} likelihood ratio attack",
            told.mean(scores[:m]),
            others.mean(scores[m:]),
            setting,
            gap=gap_figure(told, others, setting.confidence),
            notes=tuple(notes),
        )

    return attempt(work)


def _draw(n: int, share: float, n_shadows: int, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return which shadow model sees which record, shape (n, n_shadows); each is seen, and not seen, at least twice."""
    seen_by = min(max(round(share * n_shadows), 2), n_shadows - 2)
    row = np.arange(n_shadows) < seen_by
    return np.asarray(rng.permuted(np.tile(row, (n, 1)), axis=1))


def _shadow_confidences(
    learner: Any,
    pool: Records,
    seen: npt.NDArray[np.bool_],
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None,
) -> Floats:
    """Return the confidence of each shadow model on each record, shape (n, n_shadows)."""
    from sklearn.base import clone

    columns = []
    for shadow in range(seen.shape[1]):
        part = pool.take(np.flatnonzero(seen[:, shadow]))
        try:
            estimator = clone(learner)
            names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
            estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})
            with warnings.catch_warnings():
                # Shadow models are never released, so what they take from the data leaks nothing.
                warnings.simplefilter("ignore", PrivacyLeakWarning)
                estimator.fit(part.native, part.target)
        except Exception as error:
            raise UnansweredError(f"the learner could not fit a shadow model: {first_line(error)}") from error
        told = answers(estimator, pool)
        if told.probabilities is None:
            raise UnsupportedModelError(
                "the learner's models give no probabilities that are numbers.", remedy="Pass one with predict_proba."
            )
        columns.append(told.confidence)
        if progress is not None:
            progress(shadow + 1, seen.shape[1])
    return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class _Fits:
    """Normal laws of each record's confidence, with and without it in the training set."""

    mean_in: Floats
    sd_in: Floats
    mean_out: Floats
    sd_out: Floats

    def ratio(self, observed: Floats) -> Floats:
        """Return the log of the likelihood ratio of membership."""
        return _log_density(observed, self.mean_in, self.sd_in) - _log_density(observed, self.mean_out, self.sd_out)

    def surprise(self, observed: Floats) -> Floats:
        """Return how far, in standard deviations, a confidence lies above that of models without the record.

        It orders records as the chance of a lower confidence does, and does not round to 1.
        """
        return np.asarray((observed - self.mean_out) / self.sd_out)


def _log_density(x: Floats, mean: Floats, sd: Floats) -> Floats:
    return np.asarray(-(((x - mean) / sd) ** 2) / 2 - np.log(sd) - math.log(2 * math.pi) / 2)


def _fit(shadows: Floats, seen: npt.NDArray[np.bool_], *, pooled: bool) -> _Fits:
    laws = []
    for mask in (seen, ~seen):
        count = mask.sum(axis=1)
        mean = np.where(mask, shadows, 0.0).sum(axis=1) / count
        squares = np.where(mask, (shadows - mean[:, None]) ** 2, 0.0).sum(axis=1)
        spread = squares / (count - 1)
        if pooled:
            spread = np.full(len(spread), squares.sum() / (count - 1).sum())
        laws += [mean, np.maximum(np.sqrt(spread), MIN_SD)]
    return _Fits(*laws)
