"""Regression trees: the private and the optimal tree whose leaves hold numbers; see ``losses.md``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from glassine.learners.exhaustive.families import Numbers, Trees
from glassine.learners.exhaustive.losses import Loss
from glassine.learners.exhaustive.optimal import Optimal
from glassine.learners.exhaustive.private import PrivateTree

FINE_STEPS = 64
"""Steps of the values between which optimal trees choose: a tree costs at most (range / 128)^2 more than the best."""


@dataclass(eq=False, repr=False)
class PrivateTreeRegressor(Numbers, PrivateTree):
    """A differentially private regression tree, drawn exactly from all trees of a depth over public literals.

    A tree is drawn as by :class:`~glassine.PrivateTreeClassifier`. The cost is the squared error of leaf values at nine
    points of the public range of the target, from a tenth to nine tenths of it; one record counts at most one. A last
    release, noisy numbers of records and sums of targets in the leaves, makes their values sharper.

    Parameters
    ----------
    max_depth : int, default=3
        Largest number of splits on a path, in [1, 8].
    epsilon : float, default=0.1
        Privacy budget of one fit, at least 1e-5.
    domain : Domain, optional
        What is publicly known about the attributes. A number's ``thresholds`` are its literals. It may declare the
        target, as a ``Real`` or ``Integer`` of the name of ``y``.
    literals
        As for :class:`~glassine.PrivateTreeClassifier`.
    target_range : (float, float), optional
        The public range of the target, where the domain does not declare it. Targets outside are clipped to it, and
        predictions lie within it. Noise grows with the range: choose it as narrow as public knowledge allows.
    leaf_counts_share : float, optional
        Share of epsilon for the leaves, in [0, 1); 0.1 by default. With 0 they have the drawn values, and no numbers of
        records.
    quantile_share, n_quantiles, split_weight, ledger, dataset, records_per_person, person_weights
        As for :class:`~glassine.PrivateTreeClassifier`.
    memory_limit, time_limit, progress, random_state
        As for :class:`~glassine.PrivateTreeClassifier`.

    Attributes
    ----------
    model_ : DecisionTree
        The published tree: its leaves have values and noisy numbers of records. Released.
    certificate_, domain_, n_features_in_, feature_names_in_
        As for :class:`~glassine.PrivateTreeClassifier`.

    Notes
    -----
    Guarantee: ``epsilon``-differential privacy (pure) for adding or removing one record, or with ``persons`` all
    records of one person, of everything that is kept: the structure, the values, the numbers of records. See
    ``private.md``, ``losses.md``, ``publishing.md`` and :attr:`certificate_`.

    Assumptions: As for :class:`~glassine.PrivateTreeClassifier`, the range of the target in the place of the classes.

    Edge cases: Targets are rounded to 255 steps of the range. A record whose target is no number is left out. A table
    of counts is not supported.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine import Domain
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 2, (2000, 4))
    >>> y = 100.0 + 40 * X[:, 0] + 20 * X[:, 1]
    >>> domain = Domain.binary(["a", "b", "c", "d"])
    >>> tree = PrivateTreeRegressor(2, epsilon=1.0, domain=domain, target_range=(90, 170), random_state=0)
    >>> tree.fit(X, y).score(X, y) > 0.99, tree.certificate_.epsilon
    (True, 1.0)
    """


@dataclass(eq=False, repr=False)
class OptimalTreeRegressor(Numbers, Optimal, Trees):
    """A regression tree of least squared error among all trees of a depth over given literals.

    The cost is the squared error on the training records, plus ``penalty`` times the number of records for each split.
    The same recursion as that of :class:`~glassine.PrivateTreeRegressor`, with sums replaced by minima.

    Parameters
    ----------
    max_depth, domain, literals
        As for :class:`~glassine.OptimalTreeClassifier`.
    target_range : (float, float), optional
        The range of the target; that of the domain or of the data by default. Targets outside are clipped to it.
    penalty : float, default=0.0
        Cost of a split as a share of the records times the squared range, in [0, 1].
    min_samples_leaf
        As for :class:`~glassine.OptimalTreeClassifier`.
    n_quantiles, memory_limit, time_limit, progress
        As for :class:`~glassine.OptimalTreeClassifier`.

    Attributes
    ----------
    model_ : DecisionTree
        The tree, with the exact means and numbers of records of its leaves.
    objective_ : float
        Its mean squared error over the squared range, plus ``penalty`` times its splits.
    certificate_, domain_, n_features_in_, feature_names_in_
        As for :class:`~glassine.OptimalTreeClassifier`.

    Notes
    -----
    Guarantee: none: the tree, its means and numbers of records are those of the records. Audit it before it is
    published.

    Edge cases: Trees are compared with targets rounded to 255 steps of the range, and with leaf values at 65 points of
    it: of trees that differ by less than (range / 128)^2 any may be taken. The published means are exact. Of trees of
    equal cost the one is taken that has a leaf rather than a split, then the first literal, at every node.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> tree = OptimalTreeRegressor(max_depth=2).fit(X, 10.0 * X[:, 0] + 5 * X[:, 0] * X[:, 1])
    >>> tree.objective_, str(tree.model_)
    (0.0, 'regression tree with 3 leaves, depth 2')
    """

    _: KW_ONLY
    n_quantiles: int = 15

    def _public_loss(self, n_classes: int, steps: int) -> Loss:
        return Loss.squares(FINE_STEPS, ends=True)
