"""The records that a published tree or rule list leaves possible, and what must be known before they are measured."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from glassine.attacks.worlds import Worlds
from glassine.counting import MAX_STEPS
from glassine.domain import Domain, Real
from glassine.errors import InvalidParameterError, Text, UndefinedMeasureError, parameter
from glassine.models import DecisionTree, RuleList

if TYPE_CHECKING:
    from glassine.attacks.disclosure.noise import CountNoise

__all__ = ["PossibleRecords"]


class PossibleRecords:
    """The regions of a model in a domain, their exact measures, and the published counts.

    Attributes
    ----------
    model : DecisionTree or RuleList
        The published model.
    domain : Domain
        The public domain.
    noise : CountNoise or None
        How the published counts differ from the true ones, where that is stated.
    """

    def __init__(
        self,
        model: DecisionTree | RuleList,
        domain: Domain,
        *,
        noise: CountNoise | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.model = model
        self.domain = domain
        if noise is not None and noise.kind == "rounded" and model.guarantee and model.guarantee.count_scale:
            raise InvalidParameterError(
                "the model's counts carry noise, so rounding does not bound the true ones.",
                remedy="Leave noise out, or take the model before its counts were rounded.",
            )
        self.noise = noise if noise is not None else _claimed_noise(model)
        self._max_steps = max_steps
        self._worlds: dict[tuple[bool, bool], Worlds] = {}
        self._worlds_of(False)  # an attribute or a value that the domain lacks is an error here

    def _worlds_of(self, domain_aware: bool, *, by_shares: bool = False) -> Worlds:
        """Return the regions by numbers of records, or by the domain's shares: where none are declared, the same."""
        key = domain_aware and bool(self.domain.groups), by_shares and bool(self.domain.shares)
        if key not in self._worlds:
            self._worlds[key] = Worlds(self.model, self.domain, key[0], self._max_steps, by_shares=key[1])
        return self._worlds[key]

    @cached_property
    def supports(self) -> tuple[int, ...]:
        """Number of training records of each leaf or rule, in order.

        Raises
        ------
        UndefinedMeasureError
            If the model does not publish them, or they are noisy or rounded.
        """
        self._require_exact()
        sizes = [cell.evidence.size for cell in self.model.cells]
        if any(size is None for size in sizes):
            raise UndefinedMeasureError("the model does not publish how many records each part captured.")
        return tuple(size or 0 for size in sizes)

    @cached_property
    def n_records(self) -> int:
        """Number of training records.

        Raises
        ------
        UndefinedMeasureError
            If it is zero or not published, or counts are noisy or rounded.
        """
        n = sum(self.supports)
        if not n:
            raise UndefinedMeasureError("the model's counts are all zero: it describes no record.")
        return n

    def worlds(self, *, domain_aware: bool = False) -> tuple[int, ...]:
        """Return the exact number of possible records of each leaf or rule, in order.

        Raises
        ------
        UndefinedMeasureError
            If an attribute is a continuum: declare its resolution.
        """
        self._require_finite()
        return tuple(int(m) for m in self._worlds_of(domain_aware).measures)

    def _inexact(self) -> str | None:
        """Return why published counts are not those of the records; None where they are, or none are published."""
        if all(cell.evidence.size is None for cell in self.model.cells):
            return None
        if self.noise is None and self.model.counts_are_exact:
            return None
        if self.noise is None:
            stated = parameter('noise=CountNoise("rounded", 10)')
            return Text(
                "the published counts were rounded or changed, and the model does not state how, so what depends on "
                f"them is not known. State it, as in {stated}, or take the exact model."
            )
        blurred = (
            f"were rounded to multiples of {self.noise.scale:g}"
            if self.noise.kind == "rounded"
            else f"carry noise of scale {self.noise.scale:g} records"
        )
        return f"the published counts {blurred}, so what depends on them is not known exactly. Use estimate()."

    def _require_exact(self) -> None:
        reason = self._inexact()
        if reason is not None:
            raise UndefinedMeasureError(reason)

    @cached_property
    def _continuum(self) -> str | None:
        """An attribute whose values are a continuum, if there is one."""
        for name in self.domain:
            attribute = self.domain[name]
            if isinstance(attribute, Real) and attribute.resolution is None:
                return name
        return None

    def _require_finite(self) -> None:
        name = self._continuum
        if name is not None:
            raise UndefinedMeasureError(
                f"{name!r} is a continuum, so possible records cannot be counted.",
                remedy="Declare its resolution, or use bits_learned().",
            )

    def _require_possible(self, domain_aware: bool) -> None:
        for i, (size, measure) in enumerate(
            zip(self.supports, self._worlds_of(domain_aware).measures, strict=True), start=1
        ):
            if size and not measure:
                raise UndefinedMeasureError(
                    f"part {i} of the model holds records where the domain allows none.",
                    remedy="Widen the domain's bounds, or mend its groups.",
                )


def _claimed_noise(model: DecisionTree | RuleList) -> CountNoise | None:
    """Return the noise that a model's guarantee states; None where counts were changed further, or have none."""
    scale = None if model.guarantee is None or model.approximate else model.guarantee.count_scale
    if scale is None:
        return None
    # importing the package takes a second
    from glassine.attacks.disclosure.noise import CountNoise

    return CountNoise("geometric", scale)
