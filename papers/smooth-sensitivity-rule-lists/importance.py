"""Feature importance by permutation, and how far one model keeps that of another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glassine.attacks.membership.outputs import Answers, LabelledRecords, answers, attempt, generator
from glassine.attacks.outcome import Outcome
from glassine.data.labels import Sample
from glassine.errors import InvalidParameterError, check_whole, parameter
from glassine.records.arrays import Array, Bools, Indices


@dataclass(frozen=True, slots=True, kw_only=True)
class Importances:
    """Loss of accuracy when one attribute's values are shuffled among the records.

    Attributes
    ----------
    attributes : tuple of str
        The attributes, in the order of the records' columns.
    means, sds : tuple of float
        Mean loss of accuracy over the repeats, and its standard deviation over them; 0 with one repeat.
    accuracy : float
        Accuracy on the records as they are.
    n_records, n_repeats : int
        Numbers of records and of shuffles of each attribute.
    """

    attributes: tuple[str, ...]
    means: tuple[float, ...]
    sds: tuple[float, ...]
    accuracy: float
    n_records: int
    n_repeats: int

    def top(self, k: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the attributes certainly among the top k, and those tied for what places are left."""
        inside, tied, _ = _top(np.array(self.means), k)
        names = np.array(self.attributes, dtype=object)
        return tuple(names[inside]), tuple(names[tied])


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportancePreservation:
    """How many of the k most important attributes of one model are among those of another.

    Attributes
    ----------
    k : int
        Number of attributes compared.
    value : float
        I_k, ties for the last places broken at random and independently: the expected share in common.
    low, high : float
        I_k with ties broken so that as few, and as many, attributes as possible are in common.
    in_column_order : float
        I_k with ties broken by the order of the columns in both models, as sorting does; it counts attributes that
        neither model uses as kept.
    chance : float
        Expected I_k of two unrelated orders: k over the number of attributes.
    n_tied : tuple of int
        Numbers of attributes tied for the last places, in the reference and in the other model; 0 where none is.
    reference, other : Importances
        The importances.
    """

    k: int
    value: float
    low: float
    high: float
    in_column_order: float
    chance: float
    n_tied: tuple[int, int]
    reference: Importances
    other: Importances

    @property
    def verdict(self) -> str:
        """What the figures say, in a sentence."""
        ties = "" if self.low == self.high else f", between {self.low:.3f} and {self.high:.3f} as ties are broken"
        return f"I_{self.k} is {self.value:.3f}{ties}; unrelated models would have {self.chance:.3f}."


def permutation_importance(
    model: object, X: object, y: object, *, n_repeats: int = 10, random_state: int | np.random.Generator | None = None
) -> Outcome[Importances]:
    r"""Return how much accuracy a model loses when an attribute's values are shuffled among the records.

    Parameters
    ----------
    model : fitted classifier, DecisionTree or RuleList
        The model.
    X : data frame or array-like, shape (n, d)
        Records, at best not used for training.
    y : array-like of shape (n,), or str
        Their classes, or the name of the column that holds them.
    n_repeats : int, default=10
        Number of shuffles of each attribute.
    random_state : int, numpy.random.Generator or None, default=None
        Makes shuffles repeatable. The same seed shuffles every model in the same way.

    Returns
    -------
    Measured of Importances, NotApplicable or Failed
        Not applicable to a regression.

    Raises
    ------
    InvalidDataError
        If the data cannot be read.
    InvalidParameterError
        If ``n_repeats`` is not a whole number of at least 1.

    References
    ----------
    Breiman: Random forests, 2001; Fisher, Rudin, Dominici, 2019.
    """
    check_whole(n_repeats, "n_repeats", 1)
    rng = generator(random_state)
    records = LabelledRecords.read(Sample(X, y), "records")
    return attempt(lambda: _importances(model, records, n_repeats, rng))


def importance_preservation(
    reference: object,
    other: object,
    X: object,
    y: object,
    *,
    k: int,
    n_repeats: int = 10,
    random_state: int | np.random.Generator | None = None,
) -> Outcome[ImportancePreservation]:
    """Return I_k: the share of a reference model's k most important attributes that another model has among its own.

    Parameters
    ----------
    reference, other : fitted classifier, DecisionTree or RuleList
        The models, for example one trained without and one with differential privacy.
    k : int
        Number of attributes, from 1 to d.
    X, y, n_repeats, random_state
        As for :func:`permutation_importance`; both models see the same shuffles.

    Returns
    -------
    Measured of ImportancePreservation, NotApplicable or Failed
        Not applicable to a regression.

    Raises
    ------
    InvalidDataError
        If the data cannot be read.
    InvalidParameterError
        If ``k`` or ``n_repeats`` lies outside its range.

    Notes
    -----
    A short rule list uses few attributes; all others have the importance 0. Where k exceeds the number used, most of
    the top k are ties, and I_k depends on how they are broken: ``low`` and ``high`` reveal how much.

    References
    ----------
    Ly et al.: Smooth sensitivity for learning differentially-private yet accurate rule lists, 2024, section V-F.
    """
    check_whole(n_repeats, "n_repeats", 1)
    check_whole(k, "k", 1)
    rng = generator(random_state)
    records = LabelledRecords.read(Sample(X, y), "records")
    if k > records.width:
        raise InvalidParameterError(
            f"{parameter('k')} must be at most the number of attributes, {records.width}, got {k}."
        )
    seed = int(rng.integers(2**63))

    def work() -> ImportancePreservation:
        result = [_importances(model, records, n_repeats, np.random.default_rng(seed)) for model in (reference, other)]
        return _compare(result[0], result[1], k)

    return attempt(work)


def _importances(model: object, records: LabelledRecords, n_repeats: int, rng: np.random.Generator) -> Importances:
    n = len(records.target)
    whole = _accuracy(answers(model, records))
    names = records.names or tuple(f"x{i}" for i in range(records.width))
    losses = np.empty((len(names), n_repeats))
    for column in range(len(names)):
        for repeat in range(n_repeats):
            losses[column, repeat] = whole - _accuracy(answers(model, _shuffled(records, column, rng.permutation(n))))
    return Importances(
        attributes=names,
        means=tuple(losses.mean(axis=1).tolist()),
        sds=tuple(losses.std(axis=1, ddof=1).tolist()) if n_repeats > 1 else (0.0,) * len(names),
        accuracy=whole,
        n_records=n,
        n_repeats=n_repeats,
    )


def _accuracy(told: Answers) -> float:
    return float(told.correct.mean())


def _shuffled(records: LabelledRecords, column: int, order: Indices) -> LabelledRecords:
    """Return the records with the values of one column in another order."""
    if isinstance(records.native, np.ndarray):
        matrix = records.native.copy()
        matrix[:, column] = matrix[order, column]
        return LabelledRecords(matrix, records.target)
    import narwhals as nw

    frame = nw.from_native(records.native, eager_only=True)
    name = frame.columns[column]
    moved = records.take(order)
    values = nw.from_native(moved.native, eager_only=True)[name]
    if frame.implementation.is_pandas():
        native = records.native.copy()
        native[name] = values.to_native().array
        return LabelledRecords(native, records.target)
    return LabelledRecords(frame.with_columns(values.alias(name)).to_native(), records.target)


def _top(means: Array, k: int) -> tuple[Bools, Bools, int]:
    """Return which attributes are surely in the top k, which are tied for the rest, and how many places that is."""
    last = np.sort(means)[::-1][k - 1]
    # Means over repeats of equal losses may differ in the last bit.
    above, at = means > last + 1e-12, np.abs(means - last) <= 1e-12
    places = k - int(above.sum())
    return (above | at, np.zeros(len(means), dtype=bool), 0) if at.sum() == places else (above, at, places)


def _compare(reference: Importances, other: Importances, k: int) -> ImportancePreservation:
    first, second = _top(np.array(reference.means), k), _top(np.array(other.means), k)
    weights = [inside + tied * (places / max(int(tied.sum()), 1)) for inside, tied, places in (first, second)]
    ordered = []
    for inside, tied, places in (first, second):
        chosen = inside.copy()
        chosen[np.flatnonzero(tied)[:places]] = True
        ordered.append(chosen)
    return ImportancePreservation(
        k=k,
        value=float(weights[0] @ weights[1]) / k,
        low=_common(first, second, most=False) / k,
        high=_common(first, second, most=True) / k,
        in_column_order=int((ordered[0] & ordered[1]).sum()) / k,
        chance=k / len(reference.means),
        n_tied=(int(first[1].sum()), int(second[1].sum())),
        reference=reference,
        other=other,
    )


def _common(first: tuple[Bools, Bools, int], second: tuple[Bools, Bools, int], *, most: bool) -> int:
    """Return how many attributes two top sets have in common at most, or at least, as ties are broken."""
    (inside, tied, places), (other_inside, other_tied, other_places) = first, second
    both = int((tied & other_tied).sum())
    matched = int((inside & other_inside).sum())
    # Ties of one model that are certain in the other, and those that the other lacks.
    hits = int((tied & other_inside).sum()), int((other_tied & inside).sum())
    free = int(tied.sum()) - both - hits[0], int(other_tied.sum()) - both - hits[1]
    wanted = (places, other_places)
    if most:
        used = [min(w, h) for w, h in zip(wanted, hits, strict=True)]
        return matched + sum(used) + min(both, wanted[0] - used[0], wanted[1] - used[1])
    left = [max(0, w - f) for w, f in zip(wanted, free, strict=True)]
    shared = [min(one, both) for one in left]
    forced = sum(one - share for one, share in zip(left, shared, strict=True))
    return matched + forced + max(0, sum(shared) - both)
