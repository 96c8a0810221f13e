"""Edits of an additive model: each returns a new model with a log that can undo it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidModelError, InvalidParameterError, check_choice, parameter
from glassine.models.additive import AdditiveModel, released_terms
from glassine.models.bins import NumericBins
from glassine.models.terms import Edit, Parameter, Term, isotonic, smoothed, weighted_mean
from glassine.records.arrays import Array

__all__ = [
    "edit",
    "flatten",
    "monotone",
    "redo",
    "revert",
    "set_score",
    "shift",
    "smooth",
    "undo",
    "verify",
    "zero",
]

Bin = int | str

DIRECTIONS = ("increasing", "decreasing")
LARGEST_PASSES = 100
CLOSE = 1e-9
"""Relative difference up to which an edit that is done again counts as the same."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    "set": ("first", "last", "value"),
    "shift": ("first", "last", "by"),
    "smooth": ("first", "last", "strength", "passes"),
    "flatten": ("first", "last"),
    "monotone": ("first", "last", "direction"),
    "zero": (),
}
"""Parameters of each action on the bins of one attribute; on a pair, a row and a column instead of a range."""


def set_score(
    model: AdditiveModel,
    term: str,
    bins: Bin | tuple[Bin, Bin],
    value: float,
    *,
    output: int | None = None,
    reason: str = "",
) -> AdditiveModel:
    """Return the model with the score of one bin, or of a range of bins, set to a value.

    Parameters
    ----------
    model : AdditiveModel
        The model.
    term : str
        Name of the term.
    bins : int, str or a pair of them
        The bin, by index or by label; of one attribute a pair is the first and the last bin of a range, of two
        attributes the bin of each.
    value : float
        The score.
    output : int, optional
        The output, of several the index of the class; all by default.
    reason : str, default=""
        Reason, recorded in the log.

    Examples
    --------
    >>> age = Term(bins=(NumericBins("age", (30, 50)),), scores=np.array([-0.5, 0.7, 0.4, 0.0]))
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.0,), link="identity")
    >>> changed = set_score(model, "age", "missing", 0.1, reason="as the mean")
    >>> changed.term("age").scores[:, 0].tolist(), str(changed.edits[0])
    ([-0.5, 0.7, 0.4, 0.1], '1. set age, first 3, last 3, value 0.1: 1 score (as the mean)')
    """
    where = _where(model.term(term), bins)
    return edit(model, "set", term, {**where, "value": value}, output=output, reason=reason)


def shift(
    model: AdditiveModel,
    term: str,
    bins: Bin | tuple[Bin, Bin],
    by: float,
    *,
    output: int | None = None,
    reason: str = "",
) -> AdditiveModel:
    """Return the model with a number added to the scores of a bin or of a range; as :func:`set_score` otherwise."""
    return edit(model, "shift", term, {**_where(model.term(term), bins), "by": by}, output=output, reason=reason)


def smooth(
    model: AdditiveModel,
    term: str,
    bins: tuple[Bin, Bin] | None = None,
    *,
    strength: float = 0.5,
    passes: int = 1,
    output: int | None = None,
    reason: str = "",
) -> AdditiveModel:
    """Return the model with each score of a range moved towards the mean of itself and its neighbours in the range.

    Means are weighted by the noisy bin counts, of which each counts as at least one record.
    """
    parameters = {**_where(model.term(term), bins), "strength": strength, "passes": passes}
    return edit(model, "smooth", term, parameters, output=output, reason=reason)


def flatten(
    model: AdditiveModel, term: str, bins: tuple[Bin, Bin] | None = None, *, output: int | None = None, reason: str = ""
) -> AdditiveModel:
    """Return the model with the scores of a range replaced by their mean, weighted by the noisy bin counts.

    Parameters and errors are as for :func:`smooth`, but the bins may be those of a category.
    """
    return edit(model, "flatten", term, _where(model.term(term), bins), output=output, reason=reason)


def monotone(
    model: AdditiveModel,
    term: str,
    direction: str = "increasing",
    bins: tuple[Bin, Bin] | None = None,
    *,
    output: int | None = None,
    reason: str = "",
) -> AdditiveModel:
    """Return the model with the nearest scores, in squares weighted by the noisy bin counts, that are in order.

    Each count weighs as at least one record, so that noise that made it zero or negative does no harm. Scores that
    are in order already do not change.

    Parameters
    ----------
    model, term, bins, output, reason
        As for :func:`smooth`.
    direction : {"increasing", "decreasing"}, default="increasing"
        The order.

    Raises
    ------
    InvalidModelError
        If there is no such term.
    InvalidParameterError
        If bins have no order, or a parameter is out of its range.

    Examples
    --------
    >>> age = Term(bins=(NumericBins("age", (30, 50)),), scores=np.array([-0.5, 0.7, 0.4, 0.0]))
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.0,), link="identity")
    >>> monotone(model, "age").term("age").scores[:, 0].round(3).tolist()
    [-0.5, 0.55, 0.55, 0.0]
    """
    parameters = {**_where(model.term(term), bins), "direction": direction}
    return edit(model, "monotone", term, parameters, output=output, reason=reason)


def zero(model: AdditiveModel, term: str, *, output: int | None = None, reason: str = "") -> AdditiveModel:
    """Return the model with all scores of a term set to zero, so that it adds nothing; as :func:`set_score`."""
    return edit(model, "zero", term, {}, output=output, reason=reason)


def edit(
    model: AdditiveModel,
    action: str,
    term: str,
    parameters: Mapping[str, Parameter],
    *,
    output: int | None = None,
    reason: str = "",
) -> AdditiveModel:
    """Return the model after one edit, which stands at the end of its log.

    Guarantee
    ---------
    An edit reads the published model alone. It is post-processing: no budget is spent, and every guarantee of the model
    holds for the edited one, as long as the person who edits decides without looking at the records again. See
    `md`.
    """
    target = model.term(term)
    checked = _checked(target, action, {**parameters, **({} if output is None else {"output": output})})
    if not isinstance(reason, str):
        raise InvalidParameterError(f"a reason must be a text, got {reason!r}.")
    old = target.scores.reshape(-1)
    new = _applied(target, action, checked).reshape(-1)
    if not np.isfinite(new).all():
        raise InvalidModelError(
            f"{action} of {term!r} leads to scores that are not finite.", remedy="Scale them down first."
        )
    cells = np.flatnonzero(new != old).tolist()
    record = Edit(
        number=len(model.edits) + 1,
        action=action,
        term=term,
        parameters=tuple(checked.items()),
        cells=tuple(cells),
        before=tuple(old[cells].tolist()),
        after=tuple(new[cells].tolist()),
        reason=reason,
    )
    return model.with_term(replace(target, scores=new.reshape(target.scores.shape)), (*model.edits, record))


def undo(model: AdditiveModel, n: int = 1) -> AdditiveModel:
    """Return the model without its last ``n`` edits: their scores are put back, and they leave the log."""
    if not is_whole(n) or not 0 <= n <= len(model.edits):
        raise InvalidParameterError(f"undo must take back 0 to {len(model.edits)} edits, got {n!r}.")
    keep = len(model.edits) - int(n)
    return replace(model, terms=released_terms(model, keep), edits=model.edits[:keep])


def revert(model: AdditiveModel) -> AdditiveModel:
    """Return the model as it was released, without any edit."""
    return undo(model, len(model.edits))


def redo(model: AdditiveModel, undone: Edit) -> AdditiveModel:
    """Return the model with an edit that was taken back made again, to the last digit."""
    target = model.term(undone.term)
    scores = target.scores.copy().reshape(-1)
    cells = list(undone.cells)
    if undone.number != len(model.edits) + 1 or (cells and not cells[-1] < len(scores)):
        raise InvalidModelError(
            f"edit {undone.number} does not follow {len(model.edits)} edits of this model.",
            remedy="Redo edits in the order in which they were taken back.",
        )
    if scores[cells].tolist() != list(undone.before):
        raise InvalidModelError(
            f"edit {undone.number} was made on other scores of {undone.term!r} than these.",
            remedy="Redo it on the model that it was taken from.",
        )
    scores[cells] = undone.after
    return model.with_term(replace(target, scores=scores.reshape(target.scores.shape)), (*model.edits, undone))


def verify(model: AdditiveModel) -> None:
    """Raise InvalidModelError unless each edit of the log did what its action and parameters say.

    The constructor of a model has checked that the edits lead to its scores; this does each of them again and compares
    up to a relative difference of 1e-9, which software that adds in another order may cause.
    """
    states = {term.name: term for term in released_terms(model)}
    for record in model.edits:
        term = states[record.term]
        try:
            expected = _applied(term, record.action, _checked(term, record.action, dict(record.parameters)))
        except InvalidParameterError as error:
            raise InvalidModelError(f"edit {record.number} cannot be done: {error}") from None
        scores = term.scores.copy()
        scores.reshape(-1)[list(record.cells)] = record.after
        if not np.allclose(scores, expected, rtol=CLOSE, atol=CLOSE * float(np.abs(expected).max(initial=0.0))):
            raise InvalidModelError(
                f"edit {record.number} says {record.text!r}, but changed the scores in another way.",
                remedy="Undo it, or take the file from where the model was edited.",
            )
        states[record.term] = replace(term, scores=scores)


def _where(term: Term, bins: Bin | tuple[Bin, Bin] | None) -> dict[str, Parameter]:
    """Return a range of one attribute's bins, or a cell of two attributes, as parameters."""
    if len(term.bins) == 2:
        if not isinstance(bins, tuple) or len(bins) != 2:
            raise InvalidParameterError(
                f"{term.name!r} is of two attributes: give the bin of each, got {bins!r}.", remedy="Pass a pair."
            )
        return {"row": _bin(term, 0, bins[0]), "column": _bin(term, 1, bins[1])}
    if bins is None:
        return {"first": 0, "last": term.shape[0] - 2}
    if isinstance(bins, tuple) and len(bins) != 2:
        raise InvalidParameterError(
            f"a range of bins has a first and a last one, got {bins!r}.", remedy="Pass a pair, or one bin."
        )
    first, last = bins if isinstance(bins, tuple) else (bins, bins)
    return {"first": _bin(term, 0, first), "last": _bin(term, 0, last)}


def _bin(term: Term, axis: int, place: Bin) -> int:
    labels = term.bins[axis].labels
    if isinstance(place, str):
        if place in labels:
            return labels.index(place)
        near = ", ".join(repr(label) for label in labels[:8])
        raise InvalidParameterError(f"{term.name!r} has no bin {place!r}. It has {near}{', ...' * (len(labels) > 8)}.")
    return place


def _checked(term: Term, action: str, parameters: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the parameters of an action in their order, or raise InvalidParameterError."""
    if action not in NEEDED:
        raise InvalidParameterError(f"an edit must be one of {', '.join(NEEDED)}, got {action!r}.")
    names = NEEDED[action]
    if len(term.bins) == 2:
        if action not in ("set", "shift", "zero"):
            raise InvalidParameterError(f"{term.name!r} is of two attributes; its cells can be set, shifted or zeroed.")
        names = tuple({"first": "row", "last": "column"}.get(name, name) for name in names)
    elif action in ("smooth", "monotone") and not isinstance(term.bins[0], NumericBins):
        raise InvalidParameterError(
            f"the groups of {term.name!r} have no order.", remedy="Set or flatten them instead."
        )
    allowed = (*names, "output") if term.n_outputs > 1 else names
    for name in parameters:
        if name not in allowed:
            raise InvalidParameterError(f"{action} of {term.name!r} has no parameter {name!r}. It has {allowed}.")
    for name in names:
        if name not in parameters:
            raise InvalidParameterError(f"{action} of {term.name!r} lacks the parameter {name!r}.", remedy="Add it.")
    for name, value in parameters.items():
        _check_parameter(term, action, name, value)
    if "first" in parameters and not parameters["first"] <= parameters["last"]:
        raise InvalidParameterError(
            f"a range of bins must be in order, got {parameters['first']} to {parameters['last']}."
        )
    return {name: _plain(parameters[name]) for name in allowed if name in parameters}


def _check_parameter(term: Term, action: str, name: str, value: Any) -> None:
    limits = {
        "first": term.shape[0] - 1,
        # The bin for missing values has no neighbours.
        "last": term.shape[0] - (2 if action in ("smooth", "monotone") else 1),
        "row": term.shape[0] - 1,
        "column": term.shape[-1] - 1,
        "output": term.n_outputs - 1,
        "passes": LARGEST_PASSES,
    }
    if name in limits:
        least = 1 if name == "passes" else 0
        if not is_whole(value) or not least <= value <= limits[name]:
            raise InvalidParameterError(
                f"{parameter(name)} of {action} of {term.name!r} must be a whole number from {least} to "
                f"{limits[name]}, "
                f"got {value!r}."
            )
    elif name == "direction":
        check_choice(value, "direction", DIRECTIONS)
    elif isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise InvalidParameterError(
            f"{parameter(name)} of {action} of {term.name!r} must be a finite number, got {value!r}."
        )
    elif name == "strength" and not 0 < value <= 1:
        raise InvalidParameterError(f"{parameter('strength')} must lie in (0, 1], got {value!r}.")


def _plain(value: Any) -> Parameter:
    if isinstance(value, str):
        return str(value)
    return int(value) if is_whole(value) else float(value)


def _applied(term: Term, action: str, parameters: Mapping[str, Any]) -> Array:
    """Return the scores of a term after an action with checked parameters."""
    scores = term.scores.copy()
    outputs = [parameters["output"]] if "output" in parameters else range(term.n_outputs)
    if action == "zero":
        scores[..., list(outputs)] = 0.0
        return scores
    cells: tuple[Any, ...]
    cells = (
        (parameters["row"], parameters["column"])
        if "row" in parameters
        else (_in_range(term, action, parameters["first"], parameters["last"]),)
    )
    weights = (np.ones(term.shape) if term.weights is None else term.weights)[cells].reshape(-1).tolist()
    for k in outputs:
        part = scores[(*cells, k)]
        if action == "set":
            scores[(*cells, k)] = parameters["value"]
        elif action == "shift":
            scores[(*cells, k)] = part + parameters["by"]
        else:
            scores[(*cells, k)] = _row(action, part.tolist(), weights, parameters)
    # Adding zero turns -0.0, which JSON keeps and a browser does not, into 0.0.
    return scores + 0.0


def _in_range(term: Term, action: str, first: int, last: int) -> list[int]:
    """Return the bins of a range that an action changes: special codes have no place in an order."""
    coded = getattr(term.bins[0], "coded", ()) if action in ("smooth", "monotone") else ()
    return [place for place in range(first, last + 1) if place not in coded]


def _row(action: str, scores: list[float], weights: list[float], parameters: Mapping[str, Any]) -> list[float]:
    if action == "flatten":
        return [weighted_mean(scores, weights)] * len(scores)
    if action == "monotone":
        return isotonic(scores, weights, increasing=parameters["direction"] == "increasing")
    for _ in range(parameters["passes"]):
        scores = smoothed(scores, weights, parameters["strength"])
    return scores


class Editor:
    """A model under edit. Each method returns the editor, so that calls can be chained; ``model`` is the result.

    Nothing is spent: see :func:`glassine.models.editing.edit`.

    Parameters
    ----------
    model : AdditiveModel
        The model to start from; it is not changed.

    Attributes
    ----------
    model : AdditiveModel
        The model after the edits so far, its log included.
    undone : tuple of Edit
        Edits that were taken back and can be made again, the next one last.

    Examples
    --------
    >>> import numpy as np
    >>> from glassine.models import AdditiveModel, NumericBins, Term
    >>> age = Term(bins=(NumericBins("age", (30, 50)),), scores=np.array([-0.5, 0.75, 0.25, 0.0]))
    >>> model = AdditiveModel(attributes=("age",), terms=(age,), intercept=(0.0,), link="identity")
    >>> editor = Editor(model).monotone("age", reason="medical opinion").set("age", "missing", 0.2).undo()
    >>> editor.model.term("age").scores[:, 0].tolist(), len(editor.model.edits), len(editor.undone)
    ([-0.5, 0.5, 0.5, 0.0], 1, 1)
    """

    def __init__(self, model: AdditiveModel) -> None:
        self.model = model
        self.undone: tuple[Edit, ...] = ()

    def set(self, term: str, bins: object, value: float, **options: Any) -> Editor:
        """Set scores; see :func:`glassine.models.editing.set_score`."""
        return self._do(set_score, term, bins, value, **options)

    def shift(self, term: str, bins: object, by: float, **options: Any) -> Editor:
        """Add to scores; see :func:`glassine.models.editing.shift`."""
        return self._do(shift, term, bins, by, **options)

    def smooth(self, term: str, bins: object = None, **options: Any) -> Editor:
        """Smooth scores; see :func:`glassine.models.editing.smooth`."""
        return self._do(smooth, term, bins, **options)

    def flatten(self, term: str, bins: object = None, **options: Any) -> Editor:
        """Replace scores by their mean; see :func:`glassine.models.editing.flatten`."""
        return self._do(flatten, term, bins, **options)

    def monotone(self, term: str, direction: str = "increasing", bins: object = None, **options: Any) -> Editor:
        """Put scores in order; see :func:`glassine.models.editing.monotone`."""
        return self._do(monotone, term, direction, bins, **options)

    def zero(self, term: str, **options: Any) -> Editor:
        """Set a term to zero; see :func:`glassine.models.editing.zero`."""
        return self._do(zero, term, **options)

    def undo(self, n: int = 1) -> Editor:
        """Take back the last ``n`` edits."""
        before = undo(self.model, n)
        self.undone += tuple(reversed(self.model.edits[len(before.edits) :]))
        self.model = before
        return self

    def redo(self, n: int = 1) -> Editor:
        """Make the last ``n`` edits that were taken back again."""
        if not 0 <= n <= len(self.undone):
            raise InvalidParameterError(f"redo must make 0 to {len(self.undone)} edits again, got {n!r}.")
        for _ in range(n):
            self.model = redo(self.model, self.undone[-1])
            self.undone = self.undone[:-1]
        return self

    def revert(self) -> Editor:
        """Take back every edit, also those of the model that the editor started from."""
        return self.undo(len(self.model.edits))

    def _do(self, action: Callable[..., AdditiveModel], *arguments: Any, **named: Any) -> Editor:
        self.model = action(self.model, *arguments, **named)
        self.undone = ()
        return self

    def __repr__(self) -> str:
        return f"<editor of an {self.model}>"
