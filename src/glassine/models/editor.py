"""Edits of an additive model one after another, with undo and redo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassine.errors import InvalidParameterError
from glassine.models import editing as applying
from glassine.models.additive import AdditiveModel
from glassine.models.terms import Edit


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
        return self._do(applying.set_score, term, bins, value, **options)

    def shift(self, term: str, bins: object, by: float, **options: Any) -> Editor:
        """Add to scores; see :func:`glassine.models.editing.shift`."""
        return self._do(applying.shift, term, bins, by, **options)

    def smooth(self, term: str, bins: object = None, **options: Any) -> Editor:
        """Smooth scores; see :func:`glassine.models.editing.smooth`."""
        return self._do(applying.smooth, term, bins, **options)

    def flatten(self, term: str, bins: object = None, **options: Any) -> Editor:
        """Replace scores by their mean; see :func:`glassine.models.editing.flatten`."""
        return self._do(applying.flatten, term, bins, **options)

    def monotone(self, term: str, direction: str = "increasing", bins: object = None, **options: Any) -> Editor:
        """Put scores in order; see :func:`glassine.models.editing.monotone`."""
        return self._do(applying.monotone, term, direction, bins, **options)

    def zero(self, term: str, **options: Any) -> Editor:
        """Set a term to zero; see :func:`glassine.models.editing.zero`."""
        return self._do(applying.zero, term, **options)

    def undo(self, n: int = 1) -> Editor:
        """Take back the last ``n`` edits."""
        before = applying.undo(self.model, n)
        self.undone += tuple(reversed(self.model.edits[len(before.edits) :]))
        self.model = before
        return self

    def redo(self, n: int = 1) -> Editor:
        """Make the last ``n`` edits that were taken back again."""
        if not 0 <= n <= len(self.undone):
            raise InvalidParameterError(f"redo must make 0 to {len(self.undone)} edits again, got {n!r}.")
        for _ in range(n):
            self.model = applying.redo(self.model, self.undone[-1])
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
