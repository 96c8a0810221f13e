"""Explanations of a black box by the small trees of microaggregated groups, and what is published of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glassine.surrogates.black_boxes import BlackBox, load_black_box
from glassine.surrogates.explainer import SurrogateExplainer
from glassine.surrogates.release import Provenance, SurrogateRelease
from glassine.surrogates.values import Change, Contrast, Explanation, Measures, NodeCounts

if TYPE_CHECKING:
    from glassine.surrogates.audit import audit_release
    from glassine.surrogates.comparing import compare_forms

# These are imported at first use: who answers queries needs no attack.
_HOME = {"audit_release": "audit", "compare_forms": "comparing"}

__all__ = [
    "BlackBox",
    "Change",
    "Contrast",
    "Explanation",
    "Measures",
    "NodeCounts",
    "Provenance",
    "SurrogateExplainer",
    "SurrogateRelease",
    "audit_release",
    "compare_forms",
    "load_black_box",
]


def __getattr__(name: str) -> Any:
    """Import a public name at first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'glassine.surrogates' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"glassine.surrogates.{_HOME[name]}"), name)
    globals()[name] = value
    return value
