"""What ``glassine fit --model additive`` adds: its learners, and the options that only they know."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassine.cli.naming import nearest
from glassine.errors import InvalidParameterError, UnreadableFileError

if TYPE_CHECKING:
    from glassine.domain import Domain

__all__ = [
    "ADDITIVE",
    "additive_learner",
    "check_range",
    "predicts_number",
    "read_bins",
    "read_directions",
    "read_interactions",
    "read_range",
]

ADDITIVE = "additive"


def additive_learner(*, number: bool, private: bool) -> Any:
    """Return the estimator for a target.

    Raises
    ------
    InvalidParameterError
        If no guarantee is asked for: additive models are learnt with one.
    """
    from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor

    if not private:
        raise InvalidParameterError(
            "--not-private is for trees and rule lists. Leave it out; or learn an additive model with interpret, whose "
            "JSON every command reads."
        )
    return PrivateEBMRegressor if number else PrivateEBMClassifier


def predicts_number(domain: Domain | None, target: str, *, ranged: bool, classed: bool) -> bool:
    """Return whether the target is a number, as far as the domain or the options say.

    Raises
    ------
    InvalidParameterError
        If they contradict each other, or say nothing.
    """
    from glassine.domain import Integer, Real

    if ranged and classed:
        raise InvalidParameterError(
            "--classes and --infer-classes are for a target of classes, --target-range and --infer-range for one of "
            "numbers. Leave one of them out."
        )
    if domain is None or target not in domain:
        if not ranged and not classed:
            raise InvalidParameterError(
                f"what the target {target!r} may be must be public.{nearest(target, domain or ())} Check its spelling; "
                "declare it in the domain; or give --classes a,b for classes, or --target-range LO,HI for a number. "
                "With --infer-classes or --infer-range the guarantee does not hold."
            )
        return ranged
    declared = isinstance(domain[target], Integer | Real)
    if ranged:
        raise InvalidParameterError(
            f"the domain declares the target {target!r}{' and so its range' if declared else ', which is no number'}. "
            "Leave --target-range and --infer-range out."
        )
    if declared and classed:
        raise InvalidParameterError(
            f"the domain declares the target {target!r} as a number. Leave --classes and --infer-classes out, or "
            "declare it as a category."
        )
    return declared


def check_range(*, given: bool, infer_range: bool) -> None:
    """Raise if the range is given and to be taken from the data."""
    if given and infer_range:
        raise InvalidParameterError("--target-range and --infer-range contradict each other. Leave one out.")


def read_range(text: str | None) -> tuple[float, float] | None:
    """Return the range that ``--target-range LO,HI`` gives."""
    if text is None:
        return None
    try:
        lo, hi = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameterError(
            f"--target-range must be two numbers with a comma between, such as 0,100, got {text!r}."
        ) from None
    if not lo < hi:
        raise InvalidParameterError(f"--target-range must be LO,HI with LO below HI, got {text!r}.")
    return lo, hi


def read_directions(texts: Sequence[str]) -> dict[str, str] | None:
    """Return what ``--monotone NAME:increasing``, perhaps repeated, asks for."""
    out: dict[str, str] = {}
    for text in texts:
        name, found, direction = text.rpartition(":")
        if not found or not name or direction not in ("increasing", "decreasing"):
            raise InvalidParameterError(f"--monotone must be NAME:increasing or NAME:decreasing, got {text!r}.")
        if name in out:
            raise InvalidParameterError(f"--monotone names {name!r} twice. Give one direction.")
        out[name] = direction
    return out or None


def read_interactions(texts: Sequence[str]) -> int | str | list[tuple[str, str]] | None:
    """Return what ``--interactions`` asks for: a number of pairs, ``"auto"``, or the pairs."""
    if not texts:
        return None
    if len(texts) == 1 and (texts[0] == "auto" or (texts[0].isascii() and texts[0].isdigit())):
        return texts[0] if texts[0] == "auto" else int(texts[0])
    pairs = []
    for text in texts:
        parts = text.split(" & ")
        if len(parts) != 2 or not all(parts):
            raise InvalidParameterError(
                f"--interactions must be a number of pairs, auto, or 'NAME & NAME', repeated for more, got {text!r}."
            )
        pairs.append((parts[0], parts[1]))
    return pairs


def read_bins(path: Path | None) -> dict[str, Any] | None:
    """Return the bins of a JSON file: for each attribute its cut points, or its groups of values."""
    from glassine.files import read_json

    if path is None:
        return None
    found = read_json(path)
    if not isinstance(found, dict) or not all(isinstance(bins, list) for bins in found.values()):
        raise UnreadableFileError(
            f"{path} must map attributes to cut points or to groups of values, such as "
            '{"age": [30, 50], "job": [["clerk"], ["baker", "pilot"]]}.',
            path=path,
        )
    return dict(found)
