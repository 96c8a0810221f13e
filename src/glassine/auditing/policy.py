"""Policies: the limits that a published model must meet."""

from __future__ import annotations

import dataclasses
import difflib
import os
import textwrap
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any

from glassine.auditing.criteria import AnyCriterion, PolicyLimits
from glassine.auditing.size_criteria import SMALL
from glassine.errors import InvalidPolicyError, parameter, quoted
from glassine.exports import Displayed
from glassine.files import read_text

MOST_SUPPRESSED = 10**15
MOST_NAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Displayed, PolicyLimits):
    """Limits that a published model must meet; None switches a check off.

    The defaults judge harm, and are calibrated on what was measured: see the page on policies. The smallest leaf is a
    norm of European output checking, at least ten units behind every figure (Guidelines for the checking of output
    based on microdata research, ESSNet SDC, 2010): named policies set it.

    Parameters
    ----------
    {limits}
    accept_guarantee : bool, default=False
        Whether the claim of a guarantee is believed. A model cannot prove it: check the certificate, or train the model
        yourself, before you say so.
    suppress_below : int, default=10
        Counts from 1 to just below this are not shown in findings and reports.

    Raises
    ------
    InvalidPolicyError
        If a limit is out of its range.

    Examples
    --------
    >>> Policy().smallest_leaf, Policy.named("tre").smallest_leaf
    (None, 10)
    """

    accept_guarantee: bool = False
    suppress_below: int = 10

    def __post_init__(self) -> None:
        for name, criterion in _by_key(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                criterion.limit.check(name, value)
        accept: object = self.accept_guarantee
        if not isinstance(accept, bool):
            raise InvalidPolicyError(f"{parameter('accept_guarantee')} is {quoted(accept)}. It must be true or false.")
        below: object = self.suppress_below
        if isinstance(below, bool) or not isinstance(below, int) or not 0 <= below <= MOST_SUPPRESSED:
            raise InvalidPolicyError(
                f"{parameter('suppress_below')} is {quoted(below)}. It must be a whole number of at least 0."
            )

    @property
    def name(self) -> str:
        """Name of the policy with these limits, such as ``default``; ``own`` where no named one has them."""
        limits = dataclasses.replace(self, accept_guarantee=False, suppress_below=10)
        return next((name for name, entry in NAMED.items() if entry.policy == limits), "own")

    @property
    def source(self) -> str:
        """The name of the policy, and where its limits come from."""
        name = self.name
        return f"{name}: {NAMED[name].source if name in NAMED else OWN}"

    @classmethod
    def named(cls, name: str) -> Policy:
        """Return a named policy: ``default``, ``sacro``, ``strict``, ``tre`` or ``average``.

        Raises
        ------
        InvalidPolicyError
            If there is none of this name.

        Examples
        --------
        >>> Policy.named("sacro").smallest_class_count
        10
        """
        if name not in NAMED:
            raise InvalidPolicyError(
                f"There is no policy named {quoted(name)}.", remedy=f"There are {', '.join(NAMED)}; or read a file."
            )
        return NAMED[name].policy

    @property
    def small(self) -> int:
        """Records below which a part is said to be small: the limit of the smallest leaf, or 10 without one."""
        return SMALL if self.smallest_leaf is None else self.smallest_leaf

    @property
    def criteria(self) -> tuple[AnyCriterion, ...]:
        """What is judged, in order: a claimed guarantee first."""
        # mypy takes the hash of a policy for that of its class.
        return _criteria(type(self))  # type: ignore[arg-type]

    def criterion(self, name: str) -> AnyCriterion | None:
        """Return the criterion of a name; None where the policy has none."""
        return next((criterion for criterion in self.criteria if criterion.name == name), None)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file; ``false`` switches a check off, and those left out keep their defaults.

        ``base`` names the policy whose limits those left out keep, such as ``base = "tre"``.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read.
        InvalidPolicyError
            If it is not TOML, names an unknown check or sets an impossible limit.
        """
        text = read_text(path)
        try:
            entries = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # numbers of too many digits are plain value errors
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
            raise InvalidPolicyError(
                f"{os.fspath(path)} is not valid TOML: {reason}.",
                remedy="Correct it; limits are written as smallest_leaf = 10.",
            ) from None
        names = [entry.name for entry in dataclasses.fields(cls)]
        base = entries.pop("base", "default")
        if not isinstance(base, str):
            raise InvalidPolicyError(
                f"{parameter('base')} is {quoted(base)}. It must be the name of a policy: {', '.join(NAMED)}."
            )
        for key in entries:
            if key not in names:
                near = difflib.get_close_matches(key, names, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(names[:MOST_NAMES])} and more."
                raise InvalidPolicyError(f"Unknown check {key!r} in {os.fspath(path)}. {hint}")
        keys = _by_key(cls)
        limits: dict[str, Any] = {
            key: None if value is False and key in keys else value for key, value in entries.items()
        }
        return dataclasses.replace(cls.named(base), **limits) if base != "default" else cls(**limits)

    def to_toml(self) -> str:
        """Return the policy as TOML text."""
        lines = []
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            lines.append(f"{entry.name} = {'false' if value is None else str(value).lower()}")
        return "\n".join(lines) + "\n"


@cache
def _criteria(policy: type[Policy]) -> tuple[AnyCriterion, ...]:
    """Return the criteria of all fields, those of a claim first; asked for at every leaf that findings show."""
    listed = [c for entry in dataclasses.fields(policy) for c in entry.metadata.get("criteria", ())]
    return tuple(sorted(listed, key=lambda criterion: not criterion.of_claim))


def _by_key(policy: type[Policy]) -> dict[str, AnyCriterion]:
    """Return the criterion of each field that holds a limit."""
    return {
        entry.name: entry.metadata["criteria"][-1]
        for entry in dataclasses.fields(policy)
        if "criteria" in entry.metadata
    }


def _documented(policy: type[Policy]) -> str:
    """Return the limits as parameters of the docstring, by what their criteria say that they limit."""
    lines = []
    for name, criterion in _by_key(policy).items():
        whole = "bool" if criterion.limit.switch else "int" if criterion.limit.whole else "float"
        lines.append(f"{name} : {whole} or None, default={criterion.limit.default!r}")
        lines += textwrap.wrap(criterion.measures, 112, initial_indent="    ", subsequent_indent="    ")
    return "\n    ".join(lines)


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A policy with the source of its limits, in a sentence."""

    policy: Policy
    source: str


OWN = "limits of the user's own."
NAMED = {
    "default": NamedPolicy(Policy(), "six limits on harm, calibrated on measured harm; groups of ten."),
    "sacro": NamedPolicy(
        Policy(
            smallest_leaf=10,
            smallest_class_count=10,
            zero_classes=0,
            degrees_of_freedom=10,
            share_in_small_leaves=None,
            leaves_of_one=None,
            dominance=0.90,
            p_percent=0.10,
            largest_advantage=None,
            largest_measured_advantage=None,
            certain_by_membership=None,
            named_by_thresholds=None,
        ),
        "structural checks of SACRO-ML with the thresholds of ACRO's default.yaml: k-anonymity, small groups, class "
        "disclosure, degrees of freedom; dominance (n 2, k 0.90) and p 10 %.",
    ),
    "strict": NamedPolicy(
        Policy(smallest_leaf=50, smallest_group=50, largest_advantage=0.05, require_clean_copy=True),
        "leaves of fifty, with a limit on the membership advantage that was measured for them, and files that Glassine "
        "wrote.",
    ),
    "tre": NamedPolicy(
        Policy(smallest_leaf=10, require_clean_copy=True),
        "the default limits, leaves of ten (European output checking), and files that Glassine wrote: for what leaves "
        "a trusted research environment.",
    ),
    "average": NamedPolicy(
        Policy(largest_mean_advantage=0.05),
        "the default limits, and a proved limit on the mean advantage of any attack: for models of a class that was "
        "declared before the fit.",
    ),
}
"""Policies by name."""

if Policy.__doc__:  # not where docstrings are left out
    Policy.__doc__ = Policy.__doc__.replace("{limits}", _documented(Policy))
