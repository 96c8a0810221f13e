"""Shadow models: models like the one under attack, each trained on a random part of members and non-members."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from glassine.attacks.membership.gap import gap_figure, known_sides
from glassine.attacks.membership.outputs import Answers, LabelledRecords, UnansweredError, answers, attempt, first_line
from glassine.attacks.membership.result import MembershipResult
from glassine.attacks.membership.score_thresholds import Setting, judge_scores
from glassine.attacks.outcome import NotApplicable, Outcome
from glassine.data.record_table import as_table
from glassine.errors import (
    InvalidParameterError,
    PrivacyLeakWarning,
    UnsupportedModelError,
    check_choice,
    check_whole,
    parameter,
)
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import Array, Bools

POOLED_BELOW = 64
"""Shadow models below which variances of single records are too uncertain, as in the paper."""

Mode = Literal["online", "offline"]


@dataclass(frozen=True, slots=True, eq=False)
class Shadows:
    """How the shadow models of :func:`lira` and :func:`rmia` are trained and scored.

    Attributes
    ----------
    learner : estimator
        An unfitted scikit-learn estimator like the one that trained the model; it is cloned, and seeded where it has a
        parameter ``random_state``.
    n_shadows : int, default=32
        Number of shadow models, at least 4.
    seconds : float, default=inf
        Most seconds of training and asking them; where the rest would take longer, the attacks have failed.
    mode : {"online", "offline"}, default="online"
        Whether the score takes models with the record and without it, or those without it alone.
    variance : {"auto", "per-record", "pooled"}, default="auto"
        Of :func:`lira`: whether each record has its own variances or all share two, with and without; auto pools below
        64 shadow models. No standard deviation is taken below 0.1.

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
    mode: Mode = field(default="online", kw_only=True)
    variance: Literal["auto", "per-record", "pooled"] = field(default="auto", kw_only=True)
    seconds: float = field(default=math.inf, kw_only=True)

    def __post_init__(self) -> None:
        check_whole(self.n_shadows, "n_shadows", 4)
        for name, value, choices in (
            ("mode", self.mode, ("online", "offline")),
            ("variance", self.variance, ("auto", "per-record", "pooled")),
        ):
            check_choice(value, name, choices)
        if not callable(getattr(self.learner, "fit", None)):
            raise InvalidParameterError(
                f"{parameter('learner')} must be an estimator with fit, got {type(self.learner).__name__}."
            )

    @property
    def pooled(self) -> bool:
        """Whether all records share their variances."""
        return self.variance == "pooled" or (self.variance == "auto" and self.n_shadows < POOLED_BELOW)


def shadow_learner(model: DecisionTree | RuleList, records: object) -> Any:
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
        from glassine.learners.greedy.ordinary_lists import GreedyRuleListClassifier

        return GreedyRuleListClassifier(max_rules=max(1, len(model.rules)), min_support=0.0)
    frame = as_table(records).frame
    numbers = [name for name in model.attributes if name in frame.columns and frame[name].dtype.is_numeric()]
    text = [name for name in model.attributes if name in frame.columns and name not in numbers]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = ColumnTransformer([("numbers", "passthrough", numbers), ("text", one_hot, text)])
    depth = max((len(cell.inside) for cell in model.cells), default=1)
    tree = DecisionTreeClassifier(max_depth=max(1, depth), max_leaf_nodes=max(2, len(model.cells)))
    return make_pipeline(encoder, tree)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShadowAnswers:
    """What a model and its shadow models answer on the same records, members first."""

    shadows: Shadows  # How they were trained
    sides: tuple[Answers, Answers]  # What the model under attack answers on members and on non-members
    seen: Bools  # Which shadow model saw which record; shape (n, n_shadows)
    confidences: Array  # Log odds of each record's class, by shadow model; shape (n, n_shadows)
    probabilities: Array  # Probability of each record's class, by shadow model; shape (n, n_shadows)

    def judged(self, attack: str, scores: Array, setting: Setting, notes: tuple[str, ...] = ()) -> MembershipResult:
        """Return the result of scores of all records, shape (n,)."""
        members, others = self.sides
        m = len(members.truth)
        ratio = float(self.seen.sum(axis=0).mean()) / m
        if not 0.9 <= ratio <= 1.1:
            notes += (
                f"The shadow models trained on {ratio:.2g} times as many records as there are members, so they differ "
                "from the model more than its training data do. Take more shadow models.",
            )
        return judge_scores(
            attack,
            members.mean(scores[:m]),
            others.mean(scores[m:]),
            setting,
            gap=gap_figure(members, others, setting.confidence),
            notes=notes,
        )


def shadow_answers(
    model: object,
    inside: LabelledRecords,
    outside: LabelledRecords,
    shadows: Shadows | None,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Outcome[ShadowAnswers]:
    """Train shadow models, each on about as many records as there are members; every record is in as many of them."""
    if shadows is None:
        return NotApplicable(f"shadow models need a learner like the model's: pass {parameter('shadows=')}.")

    def work() -> ShadowAnswers:
        sides = known_sides(model, inside, outside)
        own = answers(model, sides[0]), answers(model, sides[1])
        for side in own:
            side.checked_probabilities()
        # A shadow model learns from all records of a person or from none.
        number, pool = sides[0].number + sides[1].number, sides[0].join(sides[1])
        seen = _draw(number, sides[0].number / number, shadows.n_shadows, rng)[pool.whose]
        columns, start = [], time.monotonic()
        for shadow in range(shadows.n_shadows):
            spent = time.monotonic() - start
            if shadow and spent / shadow * shadows.n_shadows > shadows.seconds:
                needed = math.ceil(spent / shadow * shadows.n_shadows)
                raise UnansweredError(
                    f"{shadows.n_shadows} shadow models would take about {needed:,} seconds, more than the "
                    f"{shadows.seconds:g} that are allowed"
                )
            trained_answers = answers(_trained(shadows.learner, pool.take(np.flatnonzero(seen[:, shadow])), rng), pool)
            if trained_answers.probabilities is None:
                raise UnsupportedModelError(
                    "the learner's models give no probabilities that are numbers.",
                    remedy="Pass one with predict_proba.",
                )
            columns.append((trained_answers.confidence, trained_answers.probability))
            if progress is not None:
                progress(shadow + 1, shadows.n_shadows)
        confidences, probabilities = (np.column_stack(column) for column in zip(*columns, strict=True))
        return ShadowAnswers(
            shadows=shadows, sides=own, seen=seen, confidences=confidences, probabilities=probabilities
        )

    return attempt(work)


def _draw(n: int, share: float, n_shadows: int, rng: np.random.Generator) -> Bools:
    """Return which shadow model sees which record, shape (n, n_shadows); each is seen, and not seen, at least twice."""
    seen_by = min(max(round(share * n_shadows), 2), n_shadows - 2)
    row = np.arange(n_shadows) < seen_by
    return np.asarray(rng.permuted(np.tile(row, (n, 1)), axis=1))


def _trained(learner: object, part: LabelledRecords, rng: np.random.Generator) -> Any:
    """Return a model of some of the records."""
    try:
        estimator = clone(learner)
        names = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
        estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})
        with warnings.catch_warnings():
            # Shadow models are never released, so what they take from the data leaks nothing.
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            return estimator.fit(part.native, part.target)
    except Exception as error:
        raise UnansweredError(f"the learner could not fit a shadow model: {first_line(error)}") from error
