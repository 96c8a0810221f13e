"""Additive models as standard SQL: a sum of ``CASE`` expressions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from glassine.errors import InvalidModelError
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.formats.sql_parts import ALIAS, number, one_type, quoted, scalar, selected

__all__ = ["additive_sql"]

Array = npt.NDArray[np.float64]
INNER = "t"


def additive_sql(model: AdditiveModel, table: Sequence[str] | None, prediction: str, probabilities: bool) -> str:
    """Return an additive model as SQL; the parameters are those of :func:`glassine.models.formats.to_sql`."""
    _check(model)
    if table is None:
        if model.link == "softmax":
            raise InvalidModelError(
                "the largest of several scores cannot be told in one expression. Give the table, for a query."
            )
        return _prediction(model, [_score(model, 0, "", "")])
    names = [f"{prediction}_score{f'_{label}' if model.n_outputs > 1 else ''}" for label in _outputs(model)]
    scores = ",\n  ".join(f"{_score(model, k, INNER + '.', '  ')} AS {quoted(names[k])}" for k in range(len(names)))
    inner = f"SELECT\n  {INNER}.*,\n  {scores}\nFROM {'.'.join(map(quoted, table))} AS {INNER}"
    found = [f"{ALIAS}.{quoted(column)}" for column in names]
    columns = [f"{ALIAS}.*", f"{_prediction(model, found)} AS {quoted(prediction)}"]
    if probabilities:
        columns += [
            f"{text} AS {quoted(f'probability_{label}')}"
            for label, text in zip(model.classes or (), _shares(model, found), strict=True)
        ]
    return f"SELECT\n  {(',' + chr(10) + '  ').join(columns)}\nFROM (\n{inner}\n) AS {ALIAS}"


def _check(model: AdditiveModel) -> None:
    one_type(model.classes or (), "the classes")
    for attribute in model.tested:
        found = [bins for term in model.terms for bins in term.bins if bins.attribute == attribute]
        values = chain.from_iterable(bins.values for bins in found if isinstance(bins, CategoryBins))
        one_type(list(values), f"the values of {attribute!r}")


def _outputs(model: AdditiveModel) -> Sequence[object]:
    return (model.classes or ()) if model.link == "softmax" else (None,)


def _score(model: AdditiveModel, output: int, prefix: str, margin: str) -> str:
    """Return the sum of an output's intercept and terms; SQL adds from the left, as the model does."""
    parts = [selected(model.intercept[output])]
    parts += [_lookup(term.bins, term.scores[..., output], prefix, margin + "    ") for term in model.terms]
    return f"(\n{margin}  " + f"\n{margin}  + ".join(parts) + f"\n{margin})"


def _lookup(bins: tuple[Bins, ...], scores: Array, prefix: str, margin: str) -> str:
    first, rest = bins[0], bins[1:]
    column = prefix + quoted(first.attribute)

    def cell(i: int) -> str:
        return _lookup(rest, scores[i], prefix, margin + "  ") if rest else selected(float(scores[i]))

    last = first.n_bins - 1
    gap = last if isinstance(first, NumericBins) else first.missing
    lines = [f"WHEN {column} IS NULL THEN {cell(gap)}"]
    if isinstance(first, NumericBins):
        sign = "<=" if first.closed == "right" else "<"
        lines += [f"WHEN {column} {sign} {number(cut)} THEN {cell(i)}" for i, cut in enumerate(first.cuts)]
        lines.append(f"ELSE {cell(last - 1)}")
    else:
        for i, group in enumerate(first.groups):
            listed = ", ".join(scalar(value) for value in group if value is not None)
            if listed:
                lines.append(f"WHEN {column} IN ({listed}) THEN {cell(i)}")
        lines.append(f"ELSE {cell(last)}")
    return "CASE\n" + "".join(f"{margin}{line}\n" for line in lines) + f"{margin}END"


def _prediction(model: AdditiveModel, scores: Sequence[str]) -> str:
    score = scores[0]
    if model.classes is None:
        if model.target_bounds is None:
            return score
        low, high = map(selected, model.target_bounds)
        return f"CASE WHEN {score} < {low} THEN {low} WHEN {score} > {high} THEN {high} ELSE {score} END"
    labels = [scalar(label) for label in model.classes]
    if model.link == "logit":
        return f"CASE WHEN {score} > 0 THEN {labels[1]} ELSE {labels[0]} END"
    lines = [
        f"WHEN {' AND '.join(f'{scores[i]} >= {other}' for other in scores[i + 1 :])} THEN {labels[i]}"
        for i in range(len(scores) - 1)
    ]
    return f"CASE {' '.join(lines)} ELSE {labels[-1]} END" if lines else labels[0]


def _shares(model: AdditiveModel, scores: Sequence[str]) -> list[str]:
    if model.classes is None:
        raise InvalidModelError("a regression has no probabilities of classes. Use its predictions.")
    if model.link == "logit":
        return [f"1e0 / (1e0 + EXP({scores[0]}))", f"1e0 / (1e0 + EXP(-{scores[0]}))"]
    if len(scores) == 1:
        return ["1e0"]
    return [f"1e0 / ({' + '.join(f'EXP({other} - {own})' for other in scores)})" for own in scores]
