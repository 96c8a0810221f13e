"""What is said of records that lie outside a domain, in audits and in checks of a domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from glassine.domain.attributes import Attribute
from glassine.domain.domain import Domain
from glassine.records.schemas import declared

LINES = "lines of the file"
"""What stands for a column where it is a line that is odd, and no value."""


def bounds(name: str, recipe: Mapping[str, Attribute] | Domain, *, implied: bool = False) -> str:
    """Return outside what cells are said to lie: the domain, or what a model's literals imply where there is none."""
    if name == LINES:
        return "what its header says"
    # Of several attributes that are tied there is no more to say.
    said = declared(recipe[name]) if name in recipe else ""
    return f"what the model tests ({said})" if implied else f"the domain{said and f', which declares {said}'}"


def sentence(
    names: str, number: object, whole: str, why: Mapping[str, object] | None = None, words: Sequence[str] = ()
) -> str:
    """Return how many records lie outside a domain and why: kinds of values, and the domain's own.

    Parameters
    ----------
    names : str
        The columns.
    number : object
        Number of records, as far as it may be shown.
    whole : str
        Outside what, as :func:`bounds` says.
    why : mapping of str to object, optional
        The number of each reason, as far as it may be shown; None where it may not. Reasons can be distinguished by it.
    words : sequence of str, optional
        Texts that many records hold (``glassine.records.undeclared.frequent``); of fewer, none may be named.

    Examples
    --------
    >>> from glassine.domain import Integer
    >>> sentence("age", 3, bounds("age", {"age": Integer(18, 99)}), {"missing": 1, "above 99": 2})
    'age: 3 records lie outside the domain, which declares 18 to 99: missing (1), above 99 (2).'
    """
    reasons = why or {}
    many = number is not None and len(reasons) > 1
    such = f", such as {'/'.join(words)}" if words else ""
    kinds = {reason: f"{reason}{such}" if reason.startswith("texts") else reason for reason in reasons}
    said = ", ".join(
        f"{kinds[reason]} ({_written(n)})" if many and n is not None else kinds[reason] for reason, n in reasons.items()
    )
    lie = "record lies" if number == 1 else "records lie"
    counted = lie if number is None else f"{_written(number)} {lie}"
    return f"{names}: {counted} outside {whole}{said and f': {said}'}."


def is_off_step(reasons: Iterable[str]) -> bool:
    """Return whether values are off the step of their domain, and nothing else is odd about them."""
    return all(reason.startswith(("no whole number", "no multiple of ")) for reason in reasons)


def off_step_sentence(names: str, number: object, reasons: Iterable[str]) -> str:
    """Return that records lie off a declared step: the domain is wrong there, and they can be those of training."""
    lie = "record lies" if number == 1 else "records lie"
    return (
        f"{names}: {_written(number)} {lie} off the step that the domain declares: {', '.join(reasons)}. The records "
        "can be those of training all the same; correct the step."
    )


def _written(number: object) -> str:
    return f"{number:,}" if isinstance(number, int) else str(number)
