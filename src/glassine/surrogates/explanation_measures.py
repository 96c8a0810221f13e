"""Measures of explanations: fidelity and its null, accuracy, size, stability, representativeness, reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from glassine.attacks.membership.outputs import generator
from glassine.domain import Domain
from glassine.errors import check_whole
from glassine.models import DecisionTree
from glassine.models.evidence import cell_shares
from glassine.models.quality import Quality
from glassine.privacy.certificate import Certificate
from glassine.records.alignment import check_alignment
from glassine.records.arrays import AnyArray, Indices, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.answers import AnswerErrors, Answers, NumericAnswer, numbers_of
from glassine.surrogates.black_boxes import BlackBox
from glassine.surrogates.explainer_values import Measures, NodeCounts
from glassine.surrogates.goals import ExplanationChoice
from glassine.surrogates.query_input import open_records, read
from glassine.surrogates.release_fit import ReleaseRecords, check_words, label_array
from glassine.surrogates.surrogate_release import MAX_CLOSEST, SurrogateRelease, decided_by

MOST_PAIRED = 2000
"""Most records of which stability and reach are measured: pairs take a time that is quadratic."""


def choose(decided: Ints, answers: Ints, kind: Answers | None = None) -> Ints:
    """Return what the tree that is returned decides, shape (n,): the first of the row that agrees, or else the first.

    Shapes: ``decided`` (n, m); ``answers`` (n,).
    """
    return np.asarray(decided[np.arange(len(decided)), chosen_tree(decided, answers, kind)])


def chosen_tree(decided: Ints, answers: Ints, kind: Answers | None = None) -> Indices:
    """Return which tree of its row is returned, shape (n,); see :func:`choose`."""
    # Shapes: decided (n, m); answers (n,).
    agrees = decided == answers[:, None] if kind is None else kind.agree(decided, answers[:, None])
    return np.asarray(agrees.argmax(axis=1))


def agreement(release: SurrogateRelease, records: ConformedColumns, answers: Ints, n_closest: int) -> float:
    """Return the share of records on which the returned tree decides as the black box; 1 closest is Protocol 1."""
    decided = release.decisions(records, release.closest(records, n_closest))
    return float(release.answers.agree(choose(decided, answers, release.answers), answers).mean())


def _null_choices(
    release: SurrogateRelease,
    records: ConformedColumns,
    answers: Ints,
    *,
    n_closest: int,
    n_draws: int,
    rng: np.random.Generator,
) -> list[Ints]:
    """Return what Protocol 2 would return with different groups drawn at random, shape (n,) for each draw."""
    m = min(n_closest, release.n_groups)
    drawn = (_different(release.n_groups, len(answers), m, rng) for _ in range(n_draws))
    return [choose(release.decisions(records, groups), answers, release.answers) for groups in drawn]


def _errors(answer: NumericAnswer, answered: AnyArray, first: Ints, guided: Ints, null: list[Ints]) -> AnswerErrors:
    """Return how far means are from the black box's own answers, to three digits."""
    # An exact figure would give the answer on one record to who knows all others.
    # In units of the range: squares of the largest numbers would overflow.
    unit = float(answer.hi) - float(answer.lo)
    truth = numbers_of(answered) / unit - float(answer.lo) / unit

    def rmse(places: AnyArray) -> float:
        return unit * float(np.sqrt(np.mean((places / answer.n_steps - truth) ** 2)))

    closest, sought, baseline = rmse(first), rmse(guided), unit * float(truth.std())
    return AnswerErrors(
        rmse=_rough(closest),
        rmse_guided=_rough(sought),
        rmse_null=_rough(unit * float(np.sqrt(np.mean([(rmse(one) / unit) ** 2 for one in null])))),
        rmse_baseline=_rough(baseline),
        r2=round(1 - (closest / baseline) ** 2, 3) if baseline > 0 else None,
        r2_guided=round(1 - (sought / baseline) ** 2, 3) if baseline > 0 else None,
    )


def _rough(value: float) -> float:
    return float(f"{value:.3g}")


def _different(n_groups: int, n: int, m: int, rng: np.random.Generator) -> Indices:
    """Return rows of different groups, drawn at random, shape (n, m)."""
    if 4 * m > n_groups:
        return np.asarray(rng.random((n, n_groups)).argsort(axis=1)[:, :m], dtype=np.intp)
    groups = rng.integers(n_groups, size=(n, m))
    for j in range(1, m):
        again = (groups[:, :j] == groups[:, j : j + 1]).any(axis=1)
        while again.any():
            groups[again, j] = rng.integers(n_groups, size=int(again.sum()))
            again = (groups[:, :j] == groups[:, j : j + 1]).any(axis=1)
    return groups


def node_counts(trees: Sequence[DecisionTree]) -> NodeCounts:
    """Return how large trees are."""
    sizes = np.array([len(tree.nodes) for tree in trees])
    low, middle, high = (float(v) for v in np.quantile(sizes, (0.25, 0.5, 0.75)))
    return NodeCounts(
        smallest=float(sizes.min()),
        lower_quartile=low,
        median=middle,
        upper_quartile=high,
        largest=float(sizes.max()),
        mean=float(sizes.mean()),
        constant_share=float((sizes == 1).mean()),
        deepest=max(tree.depth for tree in trees),
        total=int(sizes.sum()),
    )


def stability(release: SurrogateRelease, records: ConformedColumns) -> tuple[float, float, float] | None:
    """Return the shares of records that get the same group, tree and leaf conditions as the record nearest to them."""
    some = records.take(_sample(records))
    if some.n_records < 2:
        return None
    points = release.metric.embed(some)
    two = release.metric.closest(points, points, 2, release.domain)
    itself = np.arange(len(points))
    other = np.where(two[:, 0] == itself, two[:, 1], two[:, 0])
    groups = release.closest(some, 1)[:, 0]
    leaves = np.empty(some.n_records, dtype=np.intp)
    for group in np.unique(groups).tolist():
        rows = np.flatnonzero(groups == group)
        leaves[rows] = release.trees[group].apply(some.take(rows))
    number: dict[object, int] = {}
    same = np.array([number.setdefault((tree.nodes, tree.classes), len(number)) for tree in release.trees])
    trees = same[groups]
    return (
        float((groups == groups[other]).mean()),
        float((trees == trees[other]).mean()),
        float(((trees == trees[other]) & (leaves == leaves[other])).mean()),
    )


def _sample(records: ConformedColumns) -> Indices:
    """Return the rows of at most so many records, evenly spaced, so that a measure is repeatable."""
    n = records.n_records
    return np.arange(n) if n <= MOST_PAIRED else np.linspace(0, n - 1, MOST_PAIRED).astype(np.intp)


def representativeness(release: SurrogateRelease, training: ReleaseRecords) -> float:
    """Return the share of the training records on which their own group's tree decides as the black box."""
    decided = release.decisions(training.columns, training.groups[:, None].astype(np.intp))[:, 0]
    return float(release.answers.agree(decided, training.answers).mean())


def reach(release: SurrogateRelease, records: ConformedColumns, answers: Ints) -> float:
    """Return the mean over the trees of the share of all records on which a tree decides as the black box."""
    at = _sample(records)
    some, kind = records.take(at), release.answers
    return float(np.mean([kind.agree(decided_by(tree, some, kind), answers[at]).mean() for tree in release.trees]))


# What every fitted explainer measures of itself.


class MeasuredExplainer(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """An explainer that has a release, the records behind it, and query access to the black box."""

    # As in :class:`~.SurrogateExplainer`.
    release_: SurrogateRelease
    certificate_: Certificate
    domain_: Domain
    training_: ReleaseRecords
    black_box_: BlackBox
    choice_: ExplanationChoice | None
    information_loss_: float | None

    def release(self) -> SurrogateRelease:
        """Return what may be published: representatives, trees and public values, no training record."""
        check_is_fitted(self, "release_")
        return self.release_

    def _measured(self, X: object) -> tuple[ConformedColumns, AnyArray, Ints]:
        """Return records, what the black box says of them, and the place of that, -1 for no answer of the release."""
        release = self.release()
        _, native, data = open_records(X, release.domain)
        columns = read(data, release.domain, refuse_outside=False)
        answered = self.black_box_.ask_once(native, columns.n_records)
        return columns, answered, release.answers.places(answered)

    def _truth(self, y: object, answered: AnyArray) -> AnyArray:
        truth = label_array(y, len(answered))
        if self.release_.answer is None:
            check_words(truth, [*self.release_.classes, *answered.tolist()])
        return truth

    def _right(self, decided: Ints, truth: AnyArray) -> float:
        """Return the share of records on which what is decided is the truth."""
        return float(self.release_.answers.agree(decided, self.release_.answers.places(truth)).mean())

    def fidelity(self, X: object, guided: bool = True, n_closest: int | None = None) -> float:
        """Return the share of records on which the returned tree decides as the black box.

        Shapes: ``X`` (n, d).
        """
        columns, _, answers = self._measured(X)
        return agreement(self.release_, columns, answers, self._closest(guided, n_closest))

    def fidelity_null(
        self,
        X: object,
        n_closest: int | None = None,
        n_draws: int = 10,
        random_state: int | np.random.Generator | None = 0,
    ) -> float:
        """Return the guided fidelity with groups drawn at random instead of the closest: what choosing alone gives.

        Shapes: ``X`` (n, d).
        """
        columns, _, answers = self._measured(X)
        closest, draws = self._closest(True, n_closest), check_whole(n_draws, "n_draws", 1, 100_000)
        rng = generator(random_state)
        null = _null_choices(self.release_, columns, answers, n_closest=closest, n_draws=draws, rng=rng)
        return float(np.mean([self.release_.answers.agree(one, answers).mean() for one in null]))

    def accuracy(self, X: object, y: object, guided: bool = True, n_closest: int | None = None) -> float:
        """Return the share of records on which the returned tree gives the true label.

        Shapes: ``X`` (n, d); ``y`` (n,).
        """
        check_alignment(X, y=y)
        columns, answered, answers = self._measured(X)
        truth = self._truth(y, answered)
        decided = self._decided(columns, self._closest(guided, n_closest))
        return self._right(choose(decided, answers, self.release_.answers), truth)

    def _quality(
        self, columns: ConformedColumns, decided: Ints, groups: Indices, truth: AnyArray | None
    ) -> Quality | None:
        """Return how well the trees of these groups predict the truth; None without it."""
        # Shapes: columns (n,); decided, groups, truth (n,).
        if truth is None:
            return None
        release = self.release_
        classes = release.answers.tree_classes
        if classes is None:
            return Quality(accuracy=self._right(decided, truth))
        foretold = np.full((len(groups), len(classes)), np.nan)
        for group in np.unique(groups).tolist():
            tree, rows = release.trees[group], np.flatnonzero(groups == group)
            foretold[rows] = cell_shares(tree)[tree.apply(columns.take(rows))]
        return Quality.measured(decided, release.answers.places(truth), foretold)

    def _baseline(self, truth: AnyArray | None) -> Quality | None:
        """Return how well classes are predicted without any attribute; None of numbers, and without the truth."""
        classes = self.release_.answers.tree_classes
        if truth is None or classes is None:
            return None
        return Quality.baseline(self.release_.answers.places(truth), len(classes))

    def _decided(self, columns: ConformedColumns, n_closest: int) -> Ints:
        return self.release_.decisions(columns, self.release_.closest(columns, n_closest))

    def _closest(self, guided: bool, n_closest: int | None) -> int:
        if not guided:
            return 1
        return self.release().n_closest if n_closest is None else check_whole(n_closest, "n_closest", 1, MAX_CLOSEST)

    def measures(
        self,
        X: object,
        y: object = None,
        n_closest: int | None = None,
        *,
        n_draws: int = 10,
        random_state: int | np.random.Generator | None = 0,
    ) -> Measures:
        """Return every measure at once.

        Shapes: ``X`` (n, d); ``y`` (n,), optional.
        """
        check_alignment(X, y=y)
        columns, answered, answers = self._measured(X)
        release, training = self.release_, self.training_
        closest = self._closest(True, n_closest)
        draws, rng = check_whole(n_draws, "n_draws", 1, 100_000), generator(random_state)
        truth = None if y is None else self._truth(y, answered)
        groups = release.closest(columns, closest)
        decided = release.decisions(columns, groups)
        chosen = chosen_tree(decided, answers, release.answers)
        every = np.arange(len(decided))
        first, guided = decided[:, 0], decided[every, chosen]
        own = self._quality(columns, first, groups[:, 0], truth)
        sought = self._quality(columns, guided, groups[every, chosen], truth)
        stable = stability(release, columns) or (None, None, None)
        null = _null_choices(release, columns, answers, n_closest=closest, n_draws=draws, rng=rng)
        agree = release.answers.agree
        return Measures(
            n_records=columns.n_records,
            n_groups=release.n_groups,
            k=release.k,
            n_closest=closest,
            fidelity=float(agree(first, answers).mean()),
            fidelity_guided=float(agree(guided, answers).mean()),
            fidelity_null=float(np.mean([agree(one, answers).mean() for one in null])),
            accuracy=None if own is None else own.accuracy,
            accuracy_guided=None if sought is None else sought.accuracy,
            quality=own,
            quality_guided=sought,
            quality_baseline=self._baseline(truth),
            # A label that the release does not hold may be right.
            black_box_accuracy=None
            if truth is None
            else float(((answered == truth) | agree(answers, release.answers.places(truth))).mean()),
            nodes=node_counts(release.trees),
            comprehensibility=float(np.mean([1 / len(tree.nodes) for tree in release.trees])),
            stability_group=stable[0],
            stability_tree=stable[1],
            stability_path=stable[2],
            representativeness=representativeness(release, training),
            reach=reach(release, columns, answers),
            information_loss=self.information_loss_,
            errors=None if release.answer is None else _errors(release.answer, answered, first, guided, null),
        )
