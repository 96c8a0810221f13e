"""Policies: the limits that a published model must keep."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from dataclasses import dataclass
from typing import Any

from glassine.errors import InvalidPolicyError, quoted
from glassine.files import read_text

__all__ = ["Policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Limits that a published model must keep; None switches a rule off.

    The first two defaults are the rules of thumb of European output checking (at least ten units behind every figure;
    no group of which more than 90 % share a value: Guidelines for the checking of output based on microdata research,
    ESSNet SDC, 2010). The others are ours.

    Parameters
    ----------
    smallest_leaf : int or None, default=10
        Fewest training records that a leaf or rule may have captured.
    purest_leaf : float or None, default=0.9
        Largest share of one class in a leaf or rule, in (0, 1].
    largest_bits_per_record : float or None, default=10
        Most bits that a reader may learn about the attributes of any training record: 10 bits rule out all but one in
        1,024 of the possible records.
    thresholds_off_grid : int or None, default=0
        Most thresholds that are no public cut point of the domain.
    midpoints : int or None, default=0
        Most thresholds that are the midpoint of two training values; judged when the data are given.
    largest_advantage : float or None, default=None
        Largest advantage that a membership attack may have: the share of the members that it accuses, less that of
        other people. Judged by confidence bounds, and needs a holdout; off unless it is set.
    most_certain : int or None, default=None
        Most people of whose sensitive value a reader may be certain, who knows everybody's quasi-identifiers: one class
        of the tree has a probability of at least 0.99. Needs the training records and the name of the sensitive
        attribute; off unless it is set.
    max_epsilon : float or None, default=1
        Largest epsilon of a model with a differential privacy guarantee. A guarantee within it and ``max_delta``
        answers the rules above in place of the model's counts and thresholds; None lets no guarantee do so.
    max_delta : float or None, default=1e-6
        Largest delta of such a guarantee.
    accept_guarantee : bool, default=False
        Whether the claim of a guarantee is believed. A model cannot prove it: check the certificate, or learn the model
        yourself, before you say so.
    suppress_below : int, default=10
        Counts from 1 to just below this are not shown in findings and reports.

    Raises
    ------
    InvalidPolicyError
        If a limit is out of its range.

    Examples
    --------
    >>> Policy(purest_leaf=None).smallest_leaf
    10
    """

    smallest_leaf: int | None = 10
    purest_leaf: float | None = 0.9
    largest_bits_per_record: float | None = 10.0
    thresholds_off_grid: int | None = 0
    midpoints: int | None = 0
    largest_advantage: float | None = None
    most_certain: int | None = None
    max_epsilon: float | None = 1.0
    max_delta: float | None = 1e-6
    accept_guarantee: bool = False
    suppress_below: int = 10

    def __post_init__(self) -> None:
        for name in ("smallest_leaf", "thresholds_off_grid", "midpoints", "most_certain", "suppress_below"):
            value = getattr(self, name)
            if value is None and name != "suppress_below":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10**15:
                raise InvalidPolicyError(f"policy: {name} must be a whole number of at least 0, got {quoted(value)}.")
        tops = {"purest_leaf": 1.0, "largest_bits_per_record": 1e6, "largest_advantage": 1.0, "max_epsilon": 1e6}
        for name, top in tops.items():
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= top:
                raise InvalidPolicyError(f"policy: {name} must lie in (0, {top:g}], got {quoted(value)}.")
        delta: object = self.max_delta
        if delta is not None and (isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1):
            raise InvalidPolicyError(f"policy: max_delta must lie in [0, 1), got {quoted(delta)}.")
        accept: object = self.accept_guarantee
        if not isinstance(accept, bool):
            raise InvalidPolicyError(f"policy: accept_guarantee must be true or false, got {quoted(accept)}.")

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file; ``false`` switches a rule off, and rules left out keep their defaults.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read.
        InvalidPolicyError
            If it is not TOML, names an unknown rule or sets an impossible limit.
        """
        text = read_text(path)
        try:
            given = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # numbers of too many digits are plain value errors
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
            raise InvalidPolicyError(f"{os.fspath(path)} is not valid TOML: {reason}.") from None
        known = [field.name for field in dataclasses.fields(cls)]
        for key in given:
            if key not in known:
                raise InvalidPolicyError(f"policy: unknown rule {key!r}. Known: {', '.join(known)}.")
        limits: dict[str, Any] = {
            key: None if value is False and key != "accept_guarantee" else value for key, value in given.items()
        }
        return cls(**limits)

    def to_toml(self) -> str:
        """Return the policy as TOML text."""
        lines = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            lines.append(f"{field.name} = {'false' if value is None else str(value).lower()}")
        return "\n".join(lines) + "\n"
