"""Accounts: what a fit may spend, and what one query takes of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from glassine.privacy.unit import RECORD, PrivacyUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What one query may spend of an account."""

    # epsilon, delta: for all records of the unit together.
    epsilon: Fraction
    delta: Fraction = Fraction(0)
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
class FitAccount:
    """Epsilon of a fit, and delta where it has one; parts add up to them at most."""

    total: Fraction  # Epsilon
    delta: Fraction = Fraction(0)
    unit: PrivacyUnit = RECORD  # Whose data they cover

    def part(self, share: Fraction, delta: Fraction = Fraction(0)) -> Allowance:
        """Return what a query may spend at a share of epsilon, and with a delta."""
        return Allowance(epsilon=self.total * share, delta=delta, total=self.total, unit=self.unit)
