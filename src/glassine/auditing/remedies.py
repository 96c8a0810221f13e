"""Remedies: what to do about a check, as a sentence and as a step that a program can take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Retraining:
    """How to train a model again.

    Attributes
    ----------
    piece : str
        The piece of a remedy's text that says so; empty where it is the step.
    parameters : mapping of str to float
        The parameters that change; empty where the text names no settings.
    """

    piece: str
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What to do about a check.

    Attributes
    ----------
    text : str
        The sentence, for a user of the library.
    step : str
        The piece of the text that names the step, which the command line words as its own; empty without one.
    action : str
        The step: ``scrub``, ``fit``, ``disclose``, ``explain``; ``audit`` for the same audit with more input,
        ``domain`` for a better domain, ``accept`` for a policy that accepts the guarantee.
        Empty if there is no such step.
    parameters : mapping of str to bool, int, float, str or None
        Parameters of the step; None is for the user to fill in.
    retraining : Retraining or None
        How to train the model again, where the text says so with settings.
    """

    text: str
    step: str = ""
    action: str = ""
    parameters: Mapping[str, bool | float | str | None] = field(default_factory=dict)
    retraining: Retraining | None = None

    def __str__(self) -> str:
        return self.text

    def public(self) -> Remedy:
        """Return it as a public report may hold it, without files of records."""
        text, step = (part.public if isinstance(part, CheckerText) else part for part in (self.text, self.step))
        return replace(self, text=text, step=step)


class CheckerText(str):
    """A text that names files of records, which is for the checker only."""

    __slots__ = ("public",)

    public: str  # What a public report says instead

    def __new__(cls, text: str, public: str) -> Self:
        """Take both texts."""
        named = super().__new__(cls, text)
        named.public = public
        return named

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Copy with both texts."""
        return type(self), (str(self), self.public)


PYTHON = {"explain": "SurrogateExplainer"}
"""What a step is called in Python, where it is not its own name."""

FIRST = {"scrub": ("model", "domain")}
"""What a step in Python takes before its parameters."""


def remedy(
    text: str,
    action: str = "",
    *,
    python: str = "",
    retraining: Retraining | None = None,
    **parameters: bool | float | str | None,
) -> Remedy:
    """Return a remedy; ``{step}`` in its text becomes the step as a user of the library takes it.

    ``{units}`` becomes records, or people where persons are stated, once it is known which are counted; ``{retrain}``
    becomes a request to the publisher where the reader has the model alone, and so cannot retrain it.

    Examples
    --------
    >>> remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10).text
    'Merge small leaves: `scrub(model, domain, smallest_leaf=10)`.'
    >>> remedy("Pass the training records: {step}.", "audit", data=None).text
    'Pass the training records: `data=`.'
    """
    step = python or _in_python(action, parameters)
    text = text.replace("{step}", step)
    return Remedy(text=text, step=step, action=action, parameters=parameters, retraining=retraining)


def _in_python(action: str, parameters: Mapping[str, bool | float | str | None]) -> str:
    """Return a step as a user of the library takes it."""
    if action == "audit":
        return ", ".join(f"`{name}=`" for name in parameters)
    arguments = [f"{name}=" if value is None else f"{name}={value!r}" for name, value in parameters.items()]
    return action and f"`{PYTHON.get(action, action)}({', '.join([*FIRST.get(action, ()), *arguments])})`"


SAME = "the step above also does this"
"""What a text says where the step of an earlier remedy takes this step as well."""


def in_one_copy(advice: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Return remedies of which the first that scrubs does what all of them do: one copy must meet every check.

    Every one has the whole step, for a program that reads one of them; the texts of the later ones refer to the first.

    Examples
    --------
    >>> merge = remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10)
    >>> for one in in_one_copy([merge, remedy("Publish no counts: {step}.", "scrub", counts="remove")]):
    ...     print(one)
    Merge small leaves: `scrub(model, domain, smallest_leaf=10, counts='remove')`.
    Publish no counts: the step above also does this.
    """
    advice = list(advice)
    parameters: dict[str, bool | float | str | None] = {}
    for one in advice:
        if one.action == "scrub":
            # A value outweighs one that is left to the user.
            parameters |= {k: v for k, v in one.parameters.items() if v is not None or k not in parameters}
    step, out = _in_python("scrub", parameters), list[Remedy]()
    for one in advice:
        if one.action == "scrub":
            text = one.text.replace(one.step, SAME if any(earlier.step == step for earlier in out) else step)
            one = replace(one, text=text, step=step, parameters=parameters)
        out.append(one)
    return tuple(out)
