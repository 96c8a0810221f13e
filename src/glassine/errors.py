"""Errors, warnings and checks of parameters. Every message states the rule, the offending value and the remedy.

A text that names a parameter marks it: ``f"{parameter('max_depth')} must be at most 8, got 9."``. It reads as Python
does, and a face that has another name for the parameter, such as the command line, words it with :func:`worded`.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral
from types import MappingProxyType, ModuleType
from typing import Any, Self

__all__ = [
    "PLAIN",
    "BlackBoxError",
    "BudgetExceededError",
    "ClassTooLargeError",
    "CostLimitError",
    "CountingLimitError",
    "DamagedDeskError",
    "DamagedLedgerError",
    "DeskError",
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
    "LogError",
    "PlainNames",
    "PrivacyLeakWarning",
    "RefusedActionError",
    "SeveralTreesError",
    "SignatureError",
    "Text",
    "UndefinedMeasureError",
    "UnjudgedModelError",
    "UnknownEventError",
    "UnreadableFileError",
    "UnsupportedModelError",
    "check_choice",
    "check_whole",
    "first_of",
    "installed",
    "marked",
    "parameter",
    "plural",
    "quoted",
    "speaks_plainly",
    "spoken_by",
    "warn_caller",
    "worded",
]

PACKAGE = __name__.rpartition(".")[0] + "."
BETWEEN = ("sklearn.", "joblib.", "concurrent.", "threading.", "multiprocessing.")
"""Packages that call this one on behalf of a user."""


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


def first_of(items: Iterable[object], most: int = 3, *, mark: str = ",") -> str:
    """Return the first few items, and how many more there are; a mark stands between them.

    Examples
    --------
    >>> first_of(["age", "sex"]), first_of(range(5))
    ('age, sex', '0, 1, 2 and 2 more')
    """
    texts = [str(item) for item in items]
    return f"{mark} ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, whose last word has the plural where it is not one.

    Examples
    --------
    >>> plural(1, "leaf"), plural(2, "leaf"), plural(3, "entry"), plural(1000, "more class")
    ('1 leaf', '2 leaves', '3 entries', '1,000 more classes')
    """
    endings = {"leaf": "leaves", "entry": "entries", "class": "classes"}
    many = next((noun.removesuffix(one) + said for one, said in endings.items() if noun.endswith(one)), f"{noun}s")
    return f"{count:,} {noun if count == 1 else many}"


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warn at the line of the user that led here, through scikit-learn's searches and pipelines as well."""
    names, frame = list[str](), inspect.currentframe()
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__', '')}.")
        frame = frame.f_back
    depths = [depth for depth, name in enumerate(names, 1) if not name.startswith(PACKAGE)]
    # In a thread of joblib no caller is on the way: then the first line outside this package is all there is.
    users = [depth for depth in depths if not names[depth - 1].startswith(BETWEEN)]
    warnings.warn(text, category, stacklevel=min(users or depths, default=1))


START, END = "\ue000", "\ue001"
"""What encloses a parameter in a marked text: characters for private use, which no text has otherwise."""

MARKED = re.compile(f"{START}([^{START}{END}]*){END}")
# With the quoted value that may stand behind a mark.
VALUED = re.compile(rf"{MARKED.pattern}(?:(?<=={END})'([\w-]+)')?")


def parameter(name: str, value: object = ...) -> str:
    """Return a parameter as a text marks it: its name, and the value to give it if there is one.

    Examples
    --------
    >>> str(Text(f"Use {parameter('algorithm', 'penalized')}, or pass {parameter('classes=')}."))
    "Use algorithm='penalized', or pass classes=."
    """
    return f"{START}{name}{END}" if value is ... else f"{START}{name}={value!r}{END}"


_FACE: ContextVar[Mapping[str, str]] = ContextVar("face", default=MappingProxyType({}))
"""The names of parameters where texts are being made; without any they are spelled as Python does."""


class Text(str):
    """A text in which parameters are marked; it has them as the face spells them that makes it: see :func:`spoken_by`.

    Without a face they are spelled as in Python. A text that was made before, such as a constant, is made again by
    ``Text(text)``, and where it stands in another (``f"{text}"``).

    Examples
    --------
    >>> with spoken_by({"data": "--data"}):
    ...     str(Text(f"It needs the records (`{parameter('data=')}`)."))
    'It needs the records (`--data`).'
    """

    __slots__ = ("marked",)

    marked: str  # The text with its marks

    def __new__(cls, text: str, names: Mapping[str, str] | None = None) -> Self:
        """Take a text with marks, or another text; ``names`` are those of parameters, by default those of the face."""
        new = super().__new__(cls, worded(text, _FACE.get() if names is None else names))
        new.marked = marked(text)
        return new

    def __format__(self, spec: str) -> str:
        """Return it for another text."""
        return format(worded(self, _FACE.get()), spec)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        """Copy with the marks."""
        return type(self), (self.marked,)


def marked(text: str) -> str:
    """Return a text with its marks, to be a part of another :class:`Text`."""
    return text.marked if isinstance(text, Text) else text


def worded(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other names in place of the parameters that it marks.

    Parameters
    ----------
    text : str
        The text. One that is no :class:`Text` marks nothing and stays unchanged.
    names : mapping of str to str
        The name of a parameter where the text is read, such as ``{"n_shadows": "--shadows"}``; of a parameter with a
        value, where that alone has a name: ``{"same_labels=False": "--other-labels"}``. Others keep their own.

    Examples
    --------
    >>> text = Text(f"{parameter('n_shadows')} must be at least 4. Use {parameter('kind', 'fast')}.")
    >>> worded(text, {"n_shadows": "--shadows", "kind": "--kind"})
    '--shadows must be at least 4. Use --kind fast.'
    >>> worded(
    ...     Text(f"{parameter('kind=')}'slow' needs {parameter('seconds=')}60."),
    ...     {"kind": "--kind", "seconds": "--seconds"},
    ... )
    '--kind slow needs --seconds 60.'
    """

    def spelled(match: re.Match[str]) -> str:
        own = match[1]
        name, _, value = own.partition("=")
        if own in names:
            return names[own]
        if name not in names:
            return own if match[2] is None else f"{own}'{match[2]}'"
        if value:
            return f"{names[name]} {value.strip(chr(39))}"
        # The value may stand behind the mark: an option is set apart from it, and takes no quotes.
        if match[2]:
            return f"{names[name]} {match[2]}"
        behind = match.string[match.end() : match.end() + 1]
        return f"{names[name]} " if own.endswith("=") and (behind.isalnum() or behind in tuple('(["-')) else names[name]

    if isinstance(names, PlainNames):
        return names.spelled(text)
    return VALUED.sub(spelled, marked(text))


ASIDE = re.compile(rf" \((?:[,`]|\s|or|and|{MARKED.pattern})+\)")
"""Parameters in parentheses, which only say how to pass what the sentence names."""
SHELL = re.compile(r"(?<![\w-])--[a-z][\w-]*|\bglassine [a-z]|(?<![\w-])-[a-zA-Z] FILE\b")
"""An option or a command."""
PASSED = re.compile(r"\b[Pp]ass(?= (?:the|a|an|more|other|records|which|what|them|it)\b)")
"""What is done with parameters; people without a shell give what is asked for."""
CLAUSES = re.compile(rf"(?<=[.!?:])\s+(?=[A-Z`\"'{START}-])|(?<=;)\s+")


class PlainNames(dict[str, str]):
    """Parameters in words, for people without a shell: no option, command or call is left in a text.

    A parameter in parentheses is left out, and so is a clause that says which option or command to use.

    Examples
    --------
    >>> names = PlainNames(data="the training records")
    >>> names.spelled(Text(f"It needs the records (`{parameter('data=')}`). {parameter('data')} may prove it."))
    'It needs the records. The training records may prove it.'
    >>> names.spelled("It is a pickle. Save it as JSON; if you trust it, pass --trust-pickle.")
    'It is a pickle. Save it as JSON.'
    """

    def spelled(self, text: str) -> str:
        """Return a text in words; of one that is for a shell alone, what it names."""
        named = " ".join(map(self._named, CLAUSES.split(marked(text))))
        return self.bare(text) or SHELL.sub(lambda match: match[0].strip("-").replace("-", " "), named)

    def bare(self, text: str) -> str:
        """Return what of a text is for people without a shell; empty if nothing is."""
        clauses = [self._named(clause) for clause in CLAUSES.split(ASIDE.sub("", marked(text)))]
        kept = [clause for clause in clauses if not SHELL.search(clause)]
        if kept[:1] != clauses[:1]:
            kept[:1] = [clause[:1].upper() + clause[1:] for clause in kept[:1]]
        said = " ".join(kept)
        said = re.sub(r"(?<=[.!?] )[a-z]", lambda match: match[0].upper(), re.sub(r"[;:]$", ".", said.strip()))
        return PASSED.sub(lambda match: "Give" if match[0] == "Pass" else "give", said).replace("`", "")

    def _named(self, clause: str) -> str:
        def spelled(match: re.Match[str]) -> str:
            name, _, value = match[1].partition("=")
            if name not in self:
                return f"--{name.replace('_', '-')}"  # As a shell has it: there is nothing that such people set
            return f"{self[name]}, {value}," if value else self[name]

        return re.sub(rf"`?{MARKED.pattern}`?", spelled, clause)


PLAIN = PlainNames(
    data="the training records",
    holdout="records that were not used for training",
    target="the column that is predicted",
    domain="what is public",
    persons="the column that says whose records they are",
    sensitive="the sensitive attribute",
    policy="the policy",
    n="the number of training records",
    criterion="the criterion of the splits",
    cpu_limit="the limit of time",
    memory_limit="the limit of memory",
)
"""The face of people without a shell."""


@contextmanager
def spoken_by(names: Mapping[str, str]) -> Iterator[None]:
    """Make the texts of findings meanwhile with other names of parameters, as a face has them; see :func:`worded`.

    Inside the face of people without a shell no other is taken: the reader decides, not what makes the texts.
    """
    token = _FACE.set(_FACE.get() if speaks_plainly() else names)
    try:
        yield
    finally:
        _FACE.reset(token)


def speaks_plainly() -> bool:
    """Return whether texts are being made for people without a shell."""
    return isinstance(_FACE.get(), PlainNames)


PYTHON: Mapping[str, str] = MappingProxyType({})
"""The names of parameters in errors, which a face words where it shows them: see :meth:`GlassineError.word`."""


class GlassineError(ValueError):
    """Base class of every error that Glassine raises on purpose.

    Parameters
    ----------
    message : str
        What happened and why; parameters may be marked.
    parameter : str, optional
        Name of the parameter at fault; by default the first that the message marks.
    remedy : str, optional
        What to do.

    Attributes
    ----------
    message : Text
        What happened and why.
    parameter : str or None
        Name of the parameter at fault.
    remedy : Text or None
        What to do, where the error says so apart from what happened.

    Examples
    --------
    >>> error = GlassineError("max_depth is 9.", parameter="max_depth", remedy="It must be at most 8.")
    >>> str(error), error.parameter
    ('max_depth is 9. It must be at most 8.', 'max_depth')
    """

    def __init__(self, message: str, *, parameter: str | None = None, remedy: str | None = None) -> None:
        self.message = Text(message, PYTHON)
        self.remedy = None if remedy is None else Text(remedy, PYTHON)
        named = (mark.partition("=")[0] for mark in MARKED.findall(self.message.marked))
        self.parameter = parameter or next(filter(str.isidentifier, named), None)
        super().__init__(str(self.text))

    @property
    def text(self) -> Text:
        """Message and remedy: ``str(error)`` with its marks."""
        return Text(" ".join(part.marked for part in (self.message, self.remedy) if part), PYTHON)

    def within(self, place: str) -> Self:
        """Return the error with a place before what happened, such as the name of a file."""
        return self._say(Text(f"{place}: {self.message.marked}", PYTHON), self.remedy)

    def advise(self, remedy: str) -> Self:
        """Return the error with another remedy, as a face has it that takes the step in its own way."""
        return self._say(self.message, Text(remedy, PYTHON))

    def word(self, names: Mapping[str, str]) -> Self:
        """Return the error with other names in place of the parameters that it marks; see :func:`worded`."""
        face = _FACE.get()
        if isinstance(face, PlainNames):
            bare = "" if self.remedy is None else face.bare(self.remedy)
            return self._say(Text(face.spelled(self.message), PYTHON), Text(bare, PYTHON) if bare else None)
        remedy = None if self.remedy is None else Text(worded(self.remedy, names), PYTHON)
        return self._say(Text(worded(self.message, names), PYTHON), remedy)

    def _say(self, message: Text, remedy: Text | None) -> Self:
        self.message, self.remedy = message, remedy
        self.args = (str(self.text), *self.args[1:])
        return self


class InvalidDomainError(GlassineError):
    """A domain contradicts itself, or cannot be read."""


class InvalidModelError(GlassineError):
    """A model contradicts itself or the domain it is read in."""


class UnnamedFeaturesError(InvalidModelError):
    """A model does not name its features, and the domain does not have one attribute for each."""


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

    def __init__(
        self,
        message: str,
        *,
        bytes_needed: int,
        seconds_needed: float,
        parameter: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, parameter=parameter, remedy=remedy)
        self.bytes_needed = bytes_needed
        self.seconds_needed = seconds_needed


class UnsupportedModelError(GlassineError):
    """An object or a file is not a model that Glassine can read."""


class SeveralTreesError(UnsupportedModelError):
    """A file holds several trees where one is wanted."""


class UnjudgedModelError(UnsupportedModelError):
    """A file holds a model of a kind that is known and not judged; ``document`` says what to do with it."""

    def __init__(self, message: str, *, document: Any) -> None:
        super().__init__(message)
        self.document = document


class _FileError(GlassineError):
    """An error of one file."""

    def __init__(self, message: str, *, path: object, parameter: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message, parameter=parameter, remedy=remedy)
        self.path = str(path)


class UnreadableFileError(_FileError):
    """A file is missing, truncated, not text, or not what its name says.

    Attributes
    ----------
    path : str
        The file.
    """


class UndefinedMeasureError(GlassineError):
    """A measure has no value for this model in this domain, for the reason that the message gives."""


class CostLimitError(GlassineError):
    """A task takes more processor time or memory than its budget allows."""


class CountingLimitError(CostLimitError):
    """An exact count would take more steps than allowed.

    Attributes
    ----------
    max_steps : int
        The limit that was reached.
    """

    def __init__(
        self, message: str, *, max_steps: int, parameter: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, parameter=parameter, remedy=remedy)
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

    def __init__(self, message: str, *, event: object, parameter: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message, parameter=parameter, remedy=remedy)
        self.event = event


class InvalidCertificateError(GlassineError):
    """A certificate claims less than its events spend, or cannot be read."""


class InvalidBudgetError(GlassineError):
    """A privacy budget or a charge to it is not a finite number in its range."""


class LogError(_FileError):
    """The file of a log that is only appended to, such as a ledger or the record of a desk, cannot be used."""


class DeskError(LogError):
    """The record of a desk, or its settings, cannot be used.

    Attributes
    ----------
    path : str
        The file.
    """


class DamagedDeskError(DeskError):
    """The record of a desk is not as Glassine wrote it; the message names the entry, where one can be named."""


class RefusedActionError(GlassineError):
    """The rules of a desk refuse an action: nothing was recorded.

    Attributes
    ----------
    field : str
        The field of the form that it is about; empty if it is about none.
    stale : bool
        Whether the page that the action came from shows an earlier state.
    """

    def __init__(self, message: str, *, remedy: str | None = None, field: str = "", stale: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.field = field
        self.stale = stale


class LedgerError(LogError):
    """A ledger's file cannot be used, or holds nothing on the dataset that is asked for.

    Attributes
    ----------
    path : str
        The file.
    """


class DamagedLedgerError(LedgerError):
    """A ledger's file is not as Glassine wrote it; the message names the entry, where one can be named."""


class BlackBoxError(GlassineError):
    """A black box fails, or answers with something else than one label a record; the message quotes no value."""


class SignatureError(GlassineError):
    """A signed file was changed, is of another key, or is not signed; or a key is none."""


class ReleaseFailedError(GlassineError):
    """A private fit failed after it was charged; nothing is released, and the error is the same for any records."""


class BudgetExceededError(GlassineError):
    """A charge would take a dataset over its budget; nothing was recorded.

    Attributes
    ----------
    dataset : str
        The dataset.
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
        parameter: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, parameter=parameter, remedy=remedy)
        self.dataset = dataset
        self.requested = requested
        self.remaining = remaining
        self.requested_delta = requested_delta
        self.remaining_delta = remaining_delta


def installed(module: str, purpose: str, extra: str, kind: type[GlassineError] = GlassineError) -> ModuleType:
    """Return a module of a package that an extra of Glassine installs; or raise.

    Examples
    --------
    >>> installed("unheard_of.parts", "serving needs", "server")
    Traceback (most recent call last):
    glassine.errors.GlassineError: serving needs the package unheard_of. Install it with pip install 'glassine[server]'.
    """
    package = module.partition(".")[0]
    try:
        # The package first, as an import statement has it: where it is blocked, its modules may be loaded all the same.
        importlib.import_module(package)
        return importlib.import_module(module)
    except ImportError:
        remedy = f"Install it with pip install 'glassine[{extra}]'."
        raise kind(f"{purpose} the package {package}.", remedy=remedy) from None


def check_whole(
    value: object,
    name: str,
    low: int,
    high: int | None = None,
    *,
    plain: bool = False,
    kind: type[GlassineError] = InvalidParameterError,
    remedy: str | None = None,
) -> int:
    """Return a parameter that must be a whole number in a range, and no NumPy one if ``plain``; or raise."""
    allowed, most = not plain or isinstance(value, int), math.inf if high is None else high
    if isinstance(value, bool) or not isinstance(value, Integral) or not allowed or not low <= int(value) <= most:
        limits = f"of at least {low}" if high is None else f"in [{low}, {high}]"
        raise kind(f"{parameter(name)} must be a whole number {limits}, got {quoted(value)}.", remedy=remedy)
    return int(value)


def check_choice(
    value: object,
    name: str,
    choices: Collection[str],
    *,
    kind: type[GlassineError] = InvalidParameterError,
    remedy: str | None = None,
) -> str:
    """Return a parameter that must be one of some words; or raise."""
    if not isinstance(value, str) or value not in choices:
        raise kind(f"{parameter(name)} must be one of {', '.join(choices)}, got {quoted(value)}.", remedy=remedy)
    return value


class PrivacyLeakWarning(UserWarning):
    """Something that should be public knowledge was taken from the data."""


class NotAlignedWarning(UserWarning):
    """The index of a target, of persons or of weights differs from that of the records; they go by position."""
