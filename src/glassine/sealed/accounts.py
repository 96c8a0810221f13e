"""Accounts: what a fit may spend, and what one query takes of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from glassine.privacy.unit import RECORD, PrivacyUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one query may spend of an account of pure epsilon."""

    epsilon: Fraction  # For all records of the unit together
    total: Fraction  # Epsilon of the whole fit
    unit: PrivacyUnit  # Whose data it covers

    @property
    def per_record(self) -> Fraction:
        """Epsilon for each record that a neighbor may have more."""
        return self.epsilon / self.unit.most_records

    @property
    def share(self) -> float:
        """The share of the fit's epsilon, for the event."""
        return float(self.epsilon / self.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pure:
    """Epsilon of a fit, without a delta; parts add up to it at most."""

    total: Fraction
    unit: PrivacyUnit = RECORD

    def part(self, share: Fraction) -> Part:
        """Return what a query may spend at a share of the total."""
        return Part(epsilon=self.total * share, total=self.total, unit=self.unit)
