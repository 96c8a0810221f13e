"""What an additive model says of records: bins, scores, predictions and what each term adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from glassine.domain import Category
from glassine.domain.attributes import Attribute, Scalar
from glassine.errors import InvalidModelError
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.evidence import class_array
from glassine.models.records import n_records, named
from glassine.models.shapes import COLD, LINE
from glassine.models.svg import element, plain, short
from glassine.models.terms import Term
from glassine.records.arrays import AnyArray, Array, Indices
from glassine.records.cells import NUMBER
from glassine.records.columns import ConformedColumns, values_of
from glassine.records.flags import settled
from glassine.records.reading import read
from glassine.records.undeclared import read_checked

MOST_LOGARITHM = 700.0
"""Larger logarithms of a mean are taken as this: the exponential of more is no number."""


def read_records(model: ScoringModel, data: object, *, lenient: bool = False) -> ConformedColumns | None:
    """Return the attributes that a model reads as columns; None where it reads none."""
    # data: the records: as for the door; an array has all of the model's attributes in order. Missing and NaN are
    # missing, infinite numbers are very large ones, an undeclared category is in the last bin. Columns are taken as
    # they are. A lenient reading takes what is no number as missing.
    # Raises InvalidDataError if a column is absent; if not lenient, also if its type cannot hold values of its
    # attribute, or a value is no number.
    if isinstance(data, ConformedColumns):
        return data
    if not model.tested:
        return None
    records, recipe = named(data, model.attributes), recipe_of(model)
    if lenient:
        return settled(*read(records, recipe), keep_undeclared=True)
    return read_checked(records, recipe, keep_undeclared=True)


def recipe_of(model: ScoringModel) -> dict[str, Attribute]:
    """Return what bins imply about the attributes that a model reads."""
    return {name: _attribute(model, name) for name in model.tested}


def _attribute(model: ScoringModel, name: str) -> Attribute:
    """Return what the bins of an attribute imply about it: any number, or one of the listed values."""
    bins_of_name = [bins for term in model.terms for bins in term.bins if bins.attribute == name]
    values = dict.fromkeys(chain.from_iterable(bins.values for bins in bins_of_name if isinstance(bins, CategoryBins)))
    return Category(tuple(values), missing=True) if values else NUMBER


def _bins_of(bins: Bins, columns: ConformedColumns) -> Indices:
    if isinstance(bins, NumericBins):
        return bins.index(columns.numbers[bins.attribute])
    declared = columns.attributes[bins.attribute]
    values = values_of(declared)
    codes: Indices = bins.lookup(values)[columns.codes[bins.attribute]]
    return codes


def _indices(model: ScoringModel, data: object, *, lenient: bool = False) -> tuple[int, Iterator[Indices]]:
    """Return the number of records and, term by term, the flat index of each record's bin or cell."""
    columns = read_records(model, data, lenient=lenient)
    if columns is None:
        return n_records(data), iter(())
    return columns.n_records, _walk(model, columns)


def _walk(model: ScoringModel, columns: ConformedColumns) -> Iterator[Indices]:
    pairs = Counter(bins for term in model.terms for bins in term.bins)
    indices: dict[Bins, Indices] = {}
    for term in model.terms:
        parts = []
        for bins in term.bins:
            parts.append(indices[bins] if bins in indices else _bins_of(bins, columns))
            if pairs[bins] > 1:
                indices[bins] = parts[-1]
        yield parts[0] if len(parts) == 1 else parts[0] * term.shape[1] + parts[1]


def bin_indices(model: ScoringModel, data: object, *, lenient: bool = False) -> tuple[Indices, ...]:
    """Return for each term the bin of each record, shape (n,); of a pair, its cell in row-major order.

    A lenient reading refuses no record: what is no number is missing.

    Examples
    --------
    >>> from glassine.models import AdditiveModel, Term
    >>> age = Term(bins=(NumericBins("age", (40,)),), scores=[-0.5, 0.5, 0.0])
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.1,), link="logit", classes=(0, 1))
    >>> bin_indices(model, {"age": np.array([40, 41, np.nan])})[0].tolist()
    [0, 1, 2]
    """
    return tuple(_indices(model, data, lenient=lenient)[1])


class ScoringModel:
    """What predicts by a score: an intercept, to which each term adds the score of the record's bin.

    Methods take the records as :func:`read_records` does: a data frame, arrays by name, an array of shape (n, d), a
    table.
    """

    attributes: tuple[str, ...]  # Names of the attributes that the model was given, in order
    terms: tuple[Term, ...]  # The terms, in the order in which their scores are added
    intercept: tuple[float, ...]  # Score of every record before any term, one per output
    link: str  # What scores stand for
    classes: tuple[Scalar, ...] | None  # Names of the classes; None for a regression
    target_bounds: tuple[float, float] | None  # Range to which predictions of a regression are clipped

    @property
    def n_outputs(self) -> int:
        """Scores per record: one, or with ``"softmax"`` one per class."""
        return len(self.intercept)

    @property
    def tested(self) -> tuple[str, ...]:
        """The attributes that some term reads, in order of the model's attributes."""
        read = {name for term in self.terms for name in term.attributes}
        return tuple(name for name in self.attributes if name in read)

    def scores(self, data: object) -> Array:
        """Return the score of each record, shape (n, outputs): the intercept, then the terms' scores added in order.

        The additions are done in this order in double precision, here as in every export, so that all agree to the last
        digit.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            The records; columns that no term reads are ignored.

        Raises
        ------
        InvalidDataError
            If a column is absent, or its type cannot hold values of its attribute.
        """
        n, indices = _indices(self, data)
        out: Array = np.tile(np.array(self.intercept), (n, 1))
        for term, index in zip(self.terms, indices, strict=True):
            out += term.scores.reshape(-1, self.n_outputs)[index]
        return out

    def predict(self, data: object) -> AnyArray:
        """Return the predicted class or value of each record, shape (n,).

        Of two classes the second is predicted where its log-odds are positive; of more, the first of the largest
        scores. A regression's score, or with the link "log" its exponential, is clipped to its ``target_bounds``.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            As for :meth:`scores`.
        """
        scores = self.scores(data)
        if self.classes is None:
            numbers = np.exp(np.minimum(scores[:, 0], MOST_LOGARITHM)) if self.link == "log" else scores[:, 0]
            return numbers if self.target_bounds is None else np.clip(numbers, *self.target_bounds)
        chosen = (scores[:, 0] > 0).astype(np.intp) if self.link == "logit" else scores.argmax(axis=1)
        return np.asarray(class_array(self.classes)[chosen])

    def predict_proba(self, data: object) -> Array:
        """Return the probability of each class for each record, shape (n, classes).

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            As for :meth:`scores`.
        """
        if self.classes is None:
            raise InvalidModelError("a regression has no probabilities of classes.", remedy="Use its predictions.")
        scores = self.scores(data)
        if self.link == "logit":
            shrunk = np.exp(-np.abs(scores[:, 0]))
            rare, common = shrunk / (1 + shrunk), 1 / (1 + shrunk)
            second = np.where(scores[:, 0] > 0, common, rare)
            return np.column_stack([np.where(scores[:, 0] > 0, rare, common), second])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def contributions(self, data: object) -> Contributions:
        """Return what each term adds to the score of each record.

        Nothing is spent: it follows from the published model.

        Parameters
        ----------
        data : data frame, mapping of str to ndarray of shape (n,), Table, or ndarray of shape (n, d)
            As for :meth:`scores`.

        Examples
        --------
        >>> from glassine.models import AdditiveModel, NumericBins, Term
        >>> age = Term(bins=(NumericBins("age", (40,)),), scores=[-0.5, 0.5, 0.0])
        >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.125,), link="logit", classes=(0, 1))
        >>> local = model.contributions({"age": np.array([40, 41])})
        >>> local.record(0), float(local.scores[0, 0])
        ((('age', '<= 40', -0.5),), -0.375)
        """
        n, indices = _indices(self, data)
        bins = np.zeros((n, len(self.terms)), dtype=np.intp)
        added = np.zeros((n, len(self.terms), self.n_outputs))
        total: Array = np.tile(np.array(self.intercept), (n, 1))
        for k, (term, index) in enumerate(zip(self.terms, indices, strict=True)):
            bins[:, k] = index
            added[:, k] = term.scores.reshape(-1, self.n_outputs)[bins[:, k]]
            total += added[:, k]
        return Contributions(
            terms=tuple(term.name for term in self.terms),
            intercept=np.array(self.intercept),
            added=added,
            scores=total,
            bins=bins,
            labels=tuple(term.labels for term in self.terms),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Contributions:
    """What each term adds to the score of each record.

    Attributes
    ----------
    terms : tuple of str
        Names of the terms, in the model's order.
    intercept : ndarray, shape (outputs,)
        Score before any term.
    added : ndarray, shape (n, terms, outputs)
        What each term adds.
    scores : ndarray, shape (n, outputs)
        The scores: the intercept and what the terms add, in order.
    bins : ndarray of int, shape (n, terms)
        The bin or cell of each record in each term.
    labels : tuple of tuple of str
        Text for each bin of each term.
    """

    terms: tuple[str, ...]
    intercept: Array
    added: Array
    scores: Array
    bins: Indices
    labels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.scores)

    def record(self, row: int, output: int = 0) -> tuple[tuple[str, str, float], ...]:
        """Return what the terms add for one record, the largest first: name, text of the bin, contribution."""
        added = self.added[row, :, output]
        order = np.argsort(-np.abs(added), kind="stable").tolist()
        return tuple((self.terms[k], self.labels[k][self.bins[row, k]], float(added[k])) for k in order)

    def __repr__(self) -> str:
        return f"<contributions of {len(self.terms)} terms to {len(self)} records>"

    def _repr_html_(self) -> str:
        return contributions_html(self)


SHOWN_RECORDS = 3


def contributions_html(local: Contributions) -> str:
    """Return the first records, by their first output, as tables of HTML for a notebook."""
    out = []
    for row in range(min(SHOWN_RECORDS, len(local))):
        parts = local.record(row, 0)
        most = max((abs(value) for _, _, value in parts), default=0.0) or 1.0
        lines = "".join(
            f"<tr><td>{plain(short(name, 40))}</td><td>{plain(short(label, 40))}</td>"
            f'<td style="text-align:right">{_signed(value)}</td><td>{_bar(value / most)}</td></tr>'
            for name, label, value in parts
        )
        total = local.scores[row, 0]
        out.append(
            f'<table><caption style="text-align:left;white-space:nowrap">Record {row}: intercept '
            f"{_signed(local.intercept[0])}, score {_signed(total)}</caption>"
            f"<thead><tr><th>term</th><th>bin</th><th>adds</th><th></th></tr></thead><tbody>{lines}</tbody></table>"
        )
    left = len(local) - SHOWN_RECORDS
    return "".join(out) + (f"<p>{left} more records.</p>" if left > 0 else "")


def _signed(value: float) -> str:
    """Return a score with its sign; what rounds to 0 has none."""
    return f"{value:+.4f}" if abs(value) >= 5e-5 else "0"


def _bar(share: float) -> str:
    length = abs(share) * 50
    bar = {"x": 50.0 if share > 0 else 50.0 - length, "width": length, "fill": LINE if share > 0 else COLD}
    return element(
        "svg",
        element("rect", **bar, height=10),
        element("line", x1=50, x2=50, y1=0, y2=10, stroke="currentColor", stroke_opacity=0.5),
        width=120,
        height=12,
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
