"""Editing published additive models: post-processing that spends no budget, logged and reversible."""

from glassine.editing.applying import (
    edit,
    flatten,
    monotone,
    redo,
    revert,
    set_score,
    shift,
    smooth,
    undo,
    verify,
    zero,
)
from glassine.editing.editor import Editor

__all__ = [
    "Editor",
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
