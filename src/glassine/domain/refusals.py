"""Domains that some models and releases cannot name."""

from __future__ import annotations

from glassine.domain.attributes import Category, Integer, Real
from glassine.domain.domain import Domain
from glassine.errors import InvalidDomainError


def refuse_codes(domain: Domain, what: str) -> None:
    """Raise InvalidDomainError if a number has special codes, between which and other numbers there is no distance."""
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Integer | Real) and attribute.codes:
            raise InvalidDomainError(
                f"{what} cannot read the special codes of {name!r}: they are not in the order of its numbers.",
                remedy="Recode them as missing, or keep them in an attribute of their own.",
            )


def refuse_prefixes(domain: Domain, what: str) -> None:
    """Raise InvalidDomainError if a category has prefixes, which some models and releases cannot name."""
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Category) and attribute.places:
            raise InvalidDomainError(
                f"{what} cannot read {name!r} by the prefixes that its domain declares.",
                remedy="List its values, or fit a tree or a rule list.",
            )
