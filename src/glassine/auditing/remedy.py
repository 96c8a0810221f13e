"""What to do about a check: its step, as a call and as a command, and its words for people without a shell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

from glassine.errors import PLAIN

Parameters: TypeAlias = Mapping[str, bool | float | str | None]
"""Parameters of a step; None is for the user to fill in."""


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
        The sentence with its step: as a user of the library takes it, or as a command where ``command`` is.
    plain : str
        The same for people without a shell: no call, option or command is in it, and nothing of records.
    action : str
        The step: ``scrub``, ``fit``, ``disclose``, ``explain``; ``audit`` for the same audit with more input,
        ``domain`` for a better domain, ``accept`` for a policy that accepts the guarantee.
        Empty if there is no such step.
    parameters : mapping of str to bool, int, float, str or None
        Parameters of the step; None is for the user to fill in.
    python : str
        The step as a user of the library takes it; empty without one.
    command : str
        The step as a command or options; empty unless the command line said it.
    retraining : Retraining or None
        How to train the model again, where the text says so with settings.

    Examples
    --------
    >>> merge = remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10)
    >>> merge.python, merge.plain
    ('`scrub(model, domain, smallest_leaf=10)`', 'Merge small leaves.')
    """

    text: str
    plain: str = ""
    action: str = ""
    parameters: Parameters = field(default_factory=dict)
    python: str = ""
    command: str = ""
    retraining: Retraining | None = None

    def __post_init__(self) -> None:
        if not self.plain:
            object.__setattr__(self, "plain", self.text)

    def __str__(self) -> str:
        return self.text

    @property
    def step(self) -> str:
        """The piece of the text that names the step; empty without one."""
        return self.command or self.python

    def commanded(self, command: str) -> Remedy:
        """Return it with the step as a command or options."""
        return replace(self, command=command, text=self.text.replace(self.step, command))

    def then(self, text: str, plain: str = "") -> Remedy:
        """Return it with one more sentence, in both wordings."""
        return replace(self, text=f"{self.text} {text}", plain=f"{self.plain} {plain}".rstrip())

    def plainly(self) -> Remedy:
        """Return it as people without a shell read it."""
        said = PLAIN.spelled(self.plain)
        return replace(self, text=said, plain=said, python="", command="")

    def public(self) -> Remedy:
        """Return it as a public report may hold it, without files of records."""
        text, plain, command = (
            part.public if isinstance(part, CheckerText) else part for part in (self.text, self.plain, self.command)
        )
        return replace(self, text=text, plain=plain, command=command)


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

ENDS = (": {step}", " ({step})")
"""How a text names its step where the sentence stands without it."""


def remedy(
    text: str,
    action: str = "",
    *,
    python: str = "",
    plain: str = "",
    retraining: Retraining | None = None,
    **parameters: bool | float | str | None,
) -> Remedy:
    """Return a remedy; ``{step}`` in its text becomes the step as a user of the library takes it.

    Its plain words are the text without ``: {step}``, unless they are stated; a text with other code needs them.
    ``{units}`` becomes records, or people where persons are stated, once it is known which are counted; ``{retrain}``
    becomes a request to the publisher where the reader has the model alone, and so cannot retrain it.

    Raises
    ------
    ValueError
        If the plain words hold code.

    Examples
    --------
    >>> remedy("Merge small leaves: {step}.", "scrub", smallest_leaf=10).text
    'Merge small leaves: `scrub(model, domain, smallest_leaf=10)`.'
    >>> remedy("Pass the training records: {step}.", "audit", data=None).text
    'Pass the training records: `data=`.'
    """
    bare = text
    for end in ENDS:
        bare = bare.replace(end, "")
    if "`" in (plain or bare) or "{step}" in (plain or bare):
        raise ValueError(f"state in plain words what people without a shell do: {text}")
    step = python or _in_python(action, parameters)
    return Remedy(
        text=text.replace("{step}", step),
        plain=plain or bare,
        action=action,
        parameters=parameters,
        python=step,
        retraining=retraining,
    )


def _in_python(action: str, parameters: Parameters) -> str:
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
    >>> both = in_one_copy([merge, remedy("Publish no counts: {step}.", "scrub", counts="remove")])
    >>> for one in both:
    ...     print(one)
    Merge small leaves: `scrub(model, domain, smallest_leaf=10, counts='remove')`.
    Publish no counts: the step above also does this.
    >>> [one.plain for one in both]
    ['Merge small leaves.', 'Publish no counts: the step above also does this.']
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
            again = any(earlier.step == step for earlier in out)
            text = one.text.replace(one.step, SAME if again else step)
            # The plain words name no step: where a sentence ends, not at the point of a decimal number.
            plain = re.sub(r"\.(?= |$)", f": {SAME}.", one.plain, count=1) if again else one.plain
            one = replace(one, text=text, plain=plain, python=step, parameters=parameters)
        out.append(one)
    return tuple(out)
