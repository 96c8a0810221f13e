"""The data that an audit is given: what they say of the model, and what is noted about them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.auditing.suppression import Suppression
from glassine.data.inference import eager, infer_domain, violations
from glassine.domain import Domain
from glassine.domain.literals import attributes_of, is_missing
from glassine.errors import InvalidDataError, PrivacyLeakWarning
from glassine.models import DecisionTree, RuleList

__all__ = ["check_sensitive", "compare_with_data", "inferred_domain", "on_shared"]


def inferred_domain(
    model: DecisionTree | RuleList, columns: Mapping[str, npt.NDArray[Any]], notes: list[str]
) -> Domain | None:
    """Return the domain of the model's attributes as the data show it, with a warning; None if they show none."""
    import polars as pl

    used = [name for name in model.attributes if name in columns]
    if not used:
        return None
    frame = {
        name: [
            None if gap else value for value, gap in zip(columns[name].tolist(), is_missing(columns[name]), strict=True)
        ]
        for name in used
    }
    text = "No domain was given: it was inferred from the data, which understates what a reader learns."
    notes.append(text)
    warnings.warn(text, PrivacyLeakWarning, stacklevel=4)
    return infer_domain(pl.DataFrame(frame, strict=False))


def check_sensitive(name: str, domain: Domain | None, columns: Mapping[str, npt.NDArray[Any]] | None) -> None:
    """Raise InvalidDataError if a sensitive attribute is neither in the domain nor a column of the data."""
    if (domain is None or name not in domain) and (columns is None or name not in columns):
        raise InvalidDataError(
            f"the sensitive attribute {name!r} is neither in the domain nor a column of the data. Check its name."
        )


def compare_with_data(
    model: DecisionTree | RuleList,
    frame: Any,
    columns: Mapping[str, npt.NDArray[Any]],
    rows: npt.NDArray[np.intp],
    domain: Domain | None,
    shown: Suppression,
    notes: list[str],
) -> bool:
    """Note records outside the domain; return whether the data are not the training records."""
    outside = False
    present = [name for name in domain or () if name in columns]
    if domain is not None and present:
        for name, count in violations(domain.restrict(present), frame).items():
            lie = "record of the data lies" if shown.count(count) == 1 else "records of the data lie"
            notes.append(f"{name}: {shown.count(count)} {lie} outside the domain.")
            tested = set(attributes_of(model.literals))
            outside = outside or bool(tested & {name, *name.split(" + ")})
    if not model.counts_are_exact:
        return outside
    counted = np.bincount(rows, minlength=len(model.cells))
    published = [cell.evidence.size for cell in model.cells]
    differ = sum(size is not None and size != counted[i] for i, size in enumerate(published))
    if differ:
        notes.append(
            f"The data are not the training records: {differ} of {len(published)} parts capture another number "
            "of them than the model says."
        )
    return outside or bool(differ)


def on_shared(data: Any, holdout: Any, names: Sequence[str]) -> tuple[Any, Any]:
    """Return both frames with those of the named columns that both have: identifiers say nothing of membership."""
    frames = [eager(frame) for frame in (data, holdout)]
    kept = [name for name in names if all(name in frame.columns for frame in frames)]
    if names[-1] not in kept:
        raise InvalidDataError(f"the target {names[-1]!r} must be a column of the data and of the holdout. Add it.")
    members, others = (frame.select(kept).to_native() for frame in frames)
    return members, others
