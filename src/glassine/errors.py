"""Errors and warnings. Every message states the rule, the offending value and the remedy."""

from __future__ import annotations

__all__ = [
    "CountingLimitError",
    "GlassineError",
    "InvalidDataError",
    "InvalidDomainError",
    "InvalidModelError",
    "InvalidPolicyError",
    "PrivacyLeakWarning",
    "UndefinedMeasureError",
    "UnreadableFileError",
    "UnsupportedModelError",
]


class GlassineError(ValueError):
    """Base class of every error that Glassine raises on purpose."""


class InvalidDomainError(GlassineError):
    """A domain contradicts itself, or cannot be read."""


class InvalidModelError(GlassineError):
    """A model contradicts itself or the domain it is read in."""


class InvalidDataError(GlassineError):
    """A data frame lacks a column, is empty, or holds a value that its use does not allow."""


class InvalidPolicyError(GlassineError):
    """A policy names an unknown rule or an impossible limit."""


class UnsupportedModelError(GlassineError):
    """An object or a file is not a model that Glassine can read."""


class UnreadableFileError(GlassineError):
    """A file is missing, truncated, not text, or not what its name says.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, message: str, *, path: object) -> None:
        super().__init__(message)
        self.path = str(path)


class UndefinedMeasureError(GlassineError):
    """A measure has no value for this model in this domain, for the reason that the message gives."""


class CountingLimitError(GlassineError):
    """An exact count would take more steps than allowed.

    Attributes
    ----------
    max_steps : int
        The limit that was reached.
    """

    def __init__(self, message: str, *, max_steps: int) -> None:
        super().__init__(message)
        self.max_steps = max_steps


class PrivacyLeakWarning(UserWarning):
    """Something that should be public knowledge was taken from the data."""
