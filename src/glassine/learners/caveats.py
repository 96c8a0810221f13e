"""What a fit had to take from its records although it should be public, and warnings that follow from public facts."""

from __future__ import annotations

from collections.abc import Sequence

from glassine.data.inference import identifying
from glassine.domain import Domain
from glassine.errors import PrivacyLeakWarning, warn_caller

__all__ = ["CLASSES_FROM_DATA", "DOMAIN_FROM_DATA", "RANGE_FROM_DATA", "identifiers_remark", "warn_of"]

DOMAIN_FROM_DATA = "domain inferred from the data: the guarantee does not cover it"
CLASSES_FROM_DATA = "classes taken from the data: the guarantee does not cover their names"
RANGE_FROM_DATA = "range of the target taken from the data: the guarantee does not cover it"

REMEDIES = {
    DOMAIN_FROM_DATA: "pass domain=, read from public knowledge",
    CLASSES_FROM_DATA: "pass classes=, or declare the target in the domain",
    RANGE_FROM_DATA: "pass target_range=, or declare the target in the domain",
}


def identifiers_remark(domain: Domain) -> str:
    """Return what to say of attributes that are named like identifiers; nothing of the records enters it."""
    names = ", ".join(map(repr, identifying(domain)[:3]))
    return names and (
        f"attributes named like an identifier: {names}. If a person can have several records, the guarantee for one "
        "record does not cover the person. Pass the column as persons, with records_per_person; or leave it out"
    )


def warn_of(caveats: Sequence[str], domain: Domain) -> None:
    """Warn of each caveat, and of attributes named like identifiers, at the line that called the learner."""
    said = [f"{caveat}; {REMEDIES[caveat]}" for caveat in caveats]
    said += filter(None, [identifiers_remark(domain)])
    for text in said:
        warn_caller(f"{text}.", PrivacyLeakWarning)
