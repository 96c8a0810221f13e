"""What a fitted estimator tells of how it was built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Hints", "read_hints"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """How splits were selected.

    Attributes
    ----------
    criterion : object
        The measure that is named, ``log_loss`` as ``entropy``; None where none is.
    best : bool
        Whether the best split was always taken, as far as is known: not with random splits or class weights.
    candidates : {"all_attributes", "same_attribute"}
        Among which splits it was the best: with ``max_features`` among those of its attribute.
    """

    criterion: Any
    best: bool
    candidates: Literal["all_attributes", "same_attribute"]


def read_hints(model: Any) -> Hints:
    """Return what an estimator, or the last step of a pipeline, tells; nothing if it is a plain value."""
    final = model.steps[-1][1] if getattr(model, "steps", None) else model
    named = getattr(final, "criterion", None)
    some = getattr(final, "max_features", None) is not None
    return Hints(
        criterion="entropy" if named == "log_loss" else named,
        best=getattr(final, "splitter", "best") == "best" and getattr(final, "class_weight", None) is None,
        candidates="same_attribute" if some else "all_attributes",
    )
