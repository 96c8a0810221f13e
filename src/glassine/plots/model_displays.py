"""Displays of models and domains: shape functions, coefficients, cut points. No record is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassine.domain import Domain, Integer, Real
from glassine.domain.grid import public_grid
from glassine.errors import InvalidParameterError, parameter
from glassine.models import AdditiveModel, NumericBins, RegressionModel
from glassine.plots.axes import COLOR, Array, OnAxes
from glassine.plots.drawing import findings_of, shapes_of
from glassine.report.forest_plot import MOST, QUANTILE


@dataclass(kw_only=True)
class ShapeDisplay(OnAxes):
    """The shape function of one term of an additive model, over one attribute.

    Attributes
    ----------
    name : str
        The attribute.
    edges : ndarray of shape (b + 1,)
        Ends of the intervals of a number; of categories their places.
    labels : tuple of str
        Names of categories; empty for a number.
    scores : ndarray of shape (b,)
        What each bin adds to the score; the bin for missing values is left out.
    low, high : ndarray of shape (b,) or None
        The noise interval of each score, where the model states its noise.
    """

    name: str
    edges: Array
    labels: tuple[str, ...]
    scores: Array
    low: Array | None
    high: Array | None

    @classmethod
    def from_model(
        cls, model: AdditiveModel, term: str, *, output: int = 0, band: bool = True, ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw a term of a model.

        Parameters
        ----------
        model : AdditiveModel
            The model; its ends are those that a report may show.
        term : str
            Name of the term, over one attribute.
        output : int, default=0
            The output, of several the index of the class.
        band : bool, default=True
            Whether the noise interval is drawn.
        ax, **line_kw
            As for :meth:`plot`.

        Raises
        ------
        InvalidParameterError
            If there is no such term or output, or the term is over two attributes.
        """
        if not isinstance(model, AdditiveModel):
            raise InvalidParameterError(f"from_model draws additive models, got {model!r:.80}.", remedy="Pass one.")
        shapes = shapes_of(model, [term])
        if not shapes:
            raise InvalidParameterError(f"{term!r} has more bins than are drawn.", remedy="Read its scores.")
        (shape,) = shapes
        if len(shape.term.bins) != 1:
            raise InvalidParameterError(f"{term!r} is over two attributes.", remedy="Draw it with draw_shapes.")
        if not 0 <= output < shape.term.n_outputs:
            raise InvalidParameterError(f"{parameter('output')} must lie in [0, {shape.term.n_outputs - 1}].")
        (bins,) = shape.term.bins
        low, high = (None if ends is None or not band else ends[:-1, output] for ends in (shape.low, shape.high))
        numeric = isinstance(bins, NumericBins)
        cuts = np.array(bins.cuts if isinstance(bins, NumericBins) else (), dtype=float)
        if isinstance(bins, NumericBins):
            room = (cuts[-1] - cuts[0] if len(cuts) > 1 else 2.0) * 0.1 if len(cuts) else 1.0
            start, end = (cuts[0] - room, cuts[-1] + room) if len(cuts) else (0.0, 1.0)
            start, end = bins.bounds or (start, end)
            edges = np.array([min(start, *cuts[:1]), *cuts, max(end, *cuts[-1:])])
        else:
            edges = np.arange(bins.n_bins, dtype=float) - 0.5
        made = cls(
            name=bins.attribute,
            edges=edges,
            labels=() if numeric else bins.labels[:-1],
            scores=shape.term.scores[:-1, output],
            low=low,
            high=high,
        )
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        ax.stairs(self.scores, self.edges, baseline=None, **{"color": COLOR, "linewidth": 2, **line_kw})
        if self.low is not None and self.high is not None:
            ax.stairs(self.high, self.edges, baseline=self.low, fill=True, color=COLOR, alpha=0.2)
        if self.labels:
            ax.set_xticks(range(len(self.labels)), self.labels, rotation=30, ha="right")
        ax.axhline(0, color="gray", linewidth=0.8)
        ax.set(xlabel=self.name, ylabel="adds to the score")


@dataclass(kw_only=True)
class CoefficientDisplay(OnAxes):
    """The coefficients of a regression with their intervals of 95 %.

    Attributes
    ----------
    names : tuple of str
        The columns, the first forty.
    values : ndarray of shape (c,)
        Their coefficients.
    errors : ndarray of shape (c,)
        Their standard errors; NaN where the model publishes none.
    """

    names: tuple[str, ...]
    values: Array
    errors: Array

    @classmethod
    def from_model(cls, model: RegressionModel, *, output: int = -1, ax: Any = None, **line_kw: Any) -> Self:
        """Draw the coefficients of an output of a regression, by default the last one.

        Raises
        ------
        InvalidParameterError
            If it is no regression.
        """
        if not isinstance(model, RegressionModel):
            raise InvalidParameterError(f"from_model draws regressions, got {model!r:.80}.", remedy="Pass one.")
        columns = findings_of(model).value("columns").columns[:MOST]
        errors = [np.nan if column.errors is None else column.errors[output] for column in columns]
        made = cls(
            names=tuple(column.name for column in columns),
            values=np.array([column.coefficients[output] for column in columns]),
            errors=np.array(errors, dtype=float),
        )
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        places = np.arange(len(self.names))[::-1]
        half = np.nan_to_num(self.errors) * QUANTILE
        ax.errorbar(self.values, places, xerr=half, **{"fmt": "o", "color": COLOR, **line_kw})
        ax.axvline(0, color="gray", linewidth=0.8)
        ax.set_yticks(places, self.names)
        ax.set(xlabel="coefficient, with its interval of 95 %")


@dataclass(kw_only=True)
class CutPointDisplay(OnAxes):
    """The range of a number and its public cut points: no record is looked at.

    Attributes
    ----------
    name : str
        The attribute.
    low, high : float
        Its range.
    cuts : ndarray of shape (k,)
        The cut points.
    """

    name: str
    low: float
    high: float
    cuts: Array

    @classmethod
    def from_domain(cls, domain: Domain, name: str, *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw an attribute of a domain.

        Raises
        ------
        InvalidParameterError
            If the domain lacks the attribute, it is no number, or its range was inferred from records: its ends are
            values of people.
        """
        attribute = {one: domain[one] for one in domain}.get(name)
        if not isinstance(attribute, Integer | Real):
            raise InvalidParameterError(f"{name!r} is no number of the domain.", remedy="Name one, or use draw_domain.")
        if attribute.inferred:
            raise InvalidParameterError(
                f"the range of {name!r} was seen in the records.", remedy="Declare a public range in the domain."
            )
        cuts = np.array(public_grid(attribute), dtype=float)
        return cls(name=name, low=float(attribute.lo), high=float(attribute.hi), cuts=cuts).plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        ax.hlines(0, self.low, self.high, color="gray")
        ax.vlines(self.cuts, -0.5, 0.5, **{"color": COLOR, **line_kw})
        ax.set(xlabel=self.name, ylim=(-2, 2), yticks=[])
