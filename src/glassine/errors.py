"""Errors and warnings. Every message states the rule, the offending value and the remedy."""

from __future__ import annotations

import inspect
import warnings

__all__ = [
    "BlackBoxError",
    "BudgetExceededError",
    "ClassTooLargeError",
    "CountingLimitError",
    "DamagedLedgerError",
    "GlassineError",
    "InvalidBudgetError",
    "InvalidCertificateError",
    "InvalidDataError",
    "InvalidDomainError",
    "InvalidMechanismError",
    "InvalidModelError",
    "InvalidParameterError",
    "InvalidPolicyError",
    "LedgerError",
    "PrivacyLeakWarning",
    "SeveralTreesError",
    "SignatureError",
    "UndefinedMeasureError",
    "UnknownEventError",
    "UnreadableFileError",
    "UnsupportedModelError",
    "quoted",
    "warn_caller",
]

PACKAGE = __name__.rpartition(".")[0] + "."


def quoted(value: object) -> str:
    """Return a value as an error quotes it; neither deep nestings nor numbers of many digits make that fail.

    Examples
    --------
    >>> quoted(0.5), quoted([1, 2]), quoted(10**5000)
    ('0.5', 'a list', 'a number beyond 1e300')
    """
    if isinstance(value, int) and abs(value) > 10**300:
        return "a number beyond 1e300"
    return f"a {type(value).__name__}" if isinstance(value, list | tuple | dict | set) else repr(value)


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that led here."""
    frame, depth = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    # The last frame counted is the caller's own; warn() counts from here, where depth 1 is.
    warnings.warn(text, category, stacklevel=depth)


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


class InvalidParameterError(GlassineError):
    """A parameter of a learner lies outside its range."""


class ClassTooLargeError(GlassineError):
    """A class of models is too large to be summed exactly within the limits.

    Attributes
    ----------
    bytes_needed : int
        Memory that the tables would take.
    seconds_needed : float
        Estimated time on one core.
    """

    def __init__(self, message: str, *, bytes_needed: int, seconds_needed: float) -> None:
        super().__init__(message)
        self.bytes_needed = bytes_needed
        self.seconds_needed = seconds_needed


class UnsupportedModelError(GlassineError):
    """An object or a file is not a model that Glassine can read."""


class SeveralTreesError(UnsupportedModelError):
    """A file holds several trees where one is wanted."""


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


class InvalidMechanismError(GlassineError):
    """A mechanism or an event has a parameter under which its guarantee has no meaning."""


class UnknownEventError(GlassineError):
    """An accountant met an event for which it has no rule.

    Attributes
    ----------
    event : object
        The event.
    """

    def __init__(self, message: str, *, event: object) -> None:
        super().__init__(message)
        self.event = event


class InvalidCertificateError(GlassineError):
    """A certificate claims less than its events spend, or cannot be read."""


class InvalidBudgetError(GlassineError):
    """A privacy budget or a charge to it is not a finite number in its range."""


class LedgerError(GlassineError):
    """A ledger's file cannot be used, or holds nothing on the data set that is asked for.

    Attributes
    ----------
    path : str
        The file.
    """

    def __init__(self, message: str, *, path: object) -> None:
        super().__init__(message)
        self.path = str(path)


class DamagedLedgerError(LedgerError):
    """A ledger's file is not as Glassine wrote it; the message names the entry, where one can be named."""


class BlackBoxError(GlassineError):
    """A black box fails, or answers with something else than one label a record; the message quotes no value."""


class SignatureError(GlassineError):
    """A signed file was changed, is of another key, or is not signed; or a key is none."""


class BudgetExceededError(GlassineError):
    """A charge would take a data set over its budget; nothing was recorded.

    Attributes
    ----------
    dataset : str
        The data set.
    requested, remaining : float
        Epsilon asked for, and epsilon left.
    requested_delta, remaining_delta : float
        The same of delta.
    """

    def __init__(
        self,
        message: str,
        *,
        dataset: str,
        requested: float,
        remaining: float,
        requested_delta: float = 0.0,
        remaining_delta: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.dataset = dataset
        self.requested = requested
        self.remaining = remaining
        self.requested_delta = requested_delta
        self.remaining_delta = remaining_delta


class PrivacyLeakWarning(UserWarning):
    """Something that should be public knowledge was taken from the data."""
