"""What a fit had to take from its records although it should be public: caveats, and warnings of them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence

from glassine.errors import PrivacyLeakWarning

__all__ = ["CLASSES_FROM_DATA", "DOMAIN_FROM_DATA", "RANGE_FROM_DATA", "warn_of"]

DOMAIN_FROM_DATA = "domain inferred from the data: the guarantee does not cover it"
CLASSES_FROM_DATA = "classes taken from the data: the guarantee does not cover their names"
RANGE_FROM_DATA = "range of the target taken from the data: the guarantee does not cover it"

REMEDIES = {
    DOMAIN_FROM_DATA: "pass domain=, read from public knowledge",
    CLASSES_FROM_DATA: "pass classes=, or declare the target in the domain",
    RANGE_FROM_DATA: "pass target_range=, or declare the target in the domain",
}

ROOM = __name__.rpartition(".")[0] + "."


def warn_of(caveats: Sequence[str]) -> None:
    """Warn of each caveat, at the line that called the learner."""
    if not caveats:
        return
    frame, depth = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(ROOM):
        frame, depth = frame.f_back, depth + 1
    for caveat in caveats:
        warnings.warn(f"{caveat}; {REMEDIES[caveat]}.", PrivacyLeakWarning, stacklevel=depth)
