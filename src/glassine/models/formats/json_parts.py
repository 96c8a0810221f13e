"""Parts of JSON that every kind of model shares, and the checks of their readers."""

from __future__ import annotations

from typing import Any

from glassine.domain.attributes import LARGEST, is_scalar
from glassine.errors import InvalidModelError
from glassine.models.guarantee import Guarantee

__all__ = ["finite_number", "flag", "guarantee_dict", "listed", "read_guarantee", "scalars", "take", "text"]


def take(entry: Any, what: str, allowed: tuple[str, ...], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return an object after checking its keys."""
    if not isinstance(entry, dict):
        raise InvalidModelError(f"{what} must be an object, got {type(entry).__name__}.")
    for key in entry:
        if key not in allowed:
            raise InvalidModelError(f"{what} has an unknown key {key!r}. Known: {', '.join(allowed)}.")
    for key in required:
        if key not in entry:
            raise InvalidModelError(f"{what} lacks the key {key!r}.")
    return entry


def finite_number(value: Any, what: str, default: float) -> float:
    """Return a finite number, or the default for None."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        shown = repr(value) if isinstance(value, str | bool | float) else "one beyond 1e300"
        raise InvalidModelError(f"{what} must be a finite number, got {shown}.")
    return float(value)


def flag(entry: dict[str, Any], key: str, what: str) -> bool:
    """Return a Boolean of an object, false where it is absent."""
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise InvalidModelError(f"{what}: {key!r} must be true or false, got {value!r}.")
    return value


def listed(entry: dict[str, Any], key: str, what: str) -> list[Any]:
    """Return a list of an object, empty where it is absent."""
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise InvalidModelError(f"{what}: {key!r} must be a list, got {value!r}.")
    return value


def text(entry: dict[str, Any], key: str, what: str) -> str:
    """Return a text of an object, empty where it is absent."""
    value = entry.get(key, "")
    if not isinstance(value, str):
        raise InvalidModelError(f"{what}: {key!r} must be a text, got {value!r}.")
    return value


def scalars(values: list[Any], what: str) -> tuple[Any, ...]:
    """Return a list of categories or classes as a tuple."""
    for value in values:
        if not is_scalar(value):
            raise InvalidModelError(f"{what} must hold strings, finite numbers or Booleans, got {value!r}.")
    return tuple(values)


def guarantee_dict(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain JSON values."""
    most = guarantee.records_per_person
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "neighboring": guarantee.neighboring,
        **({} if most is None else {"records_per_person": most}),
        "count_scale": guarantee.count_scale,
        "caveats": list(guarantee.caveats),
    }


def read_guarantee(entry: Any) -> Guarantee | None:
    """Return the guarantee that plain JSON values describe; None for null."""
    if entry is None:
        return None
    what = "the model's guarantee"
    keys = ("epsilon", "delta", "neighboring", "records_per_person", "count_scale", "caveats")
    # A neighboring relation that goes without saying is how guarantees are misread.
    entry = take(entry, what, keys, ("epsilon", "neighboring"))
    if "delta" in entry and entry["delta"] is None:
        raise InvalidModelError(f"{what}: 'delta' must be a number, got null. Leave it out for 0.")
    return Guarantee(
        epsilon=entry["epsilon"],
        delta=entry.get("delta", 0.0),
        neighboring=entry["neighboring"],
        records_per_person=entry.get("records_per_person"),
        count_scale=entry.get("count_scale"),
        caveats=tuple(listed(entry, "caveats", what)),
    )
