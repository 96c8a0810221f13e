"""The budget of one additive fit: mu, of which the squares add up, and what follows for the certificate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from glassine.errors import InvalidParameterError, parameter
from glassine.learners.budget import certificate_of, check_number, guarantee_of
from glassine.models import AdditiveModel, Guarantee
from glassine.privacy.accounting import Event
from glassine.privacy.certificate import Certificate
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.exact import decimal
from glassine.privacy.fine_gaussian import UNITS, slack_of, tail_per_value
from glassine.privacy.release import Paid
from glassine.privacy.unit import RECORD, PrivacyUnit
from glassine.sealed.accounts import FitAccount

RESERVED = 1e-6
"""Share of epsilon that is kept for the slack of discrete noise, which grows with the number of values released.

:meth:`GaussianBudget.check_values` refuses a fit that may need more; one millionth costs no accuracy."""

LEAST_RESERVED = 1e-7
"""Epsilon that is kept for it at least, as the slack does not shrink with epsilon."""

LEAST_MU = 4e-5
"""Least mu for one record of a person: about that of the smallest epsilon and delta for one record."""

RELEASES = (
    "what is released next, and at which mu, may depend on what was released before; the squares of mu of all releases "
    "stay within a total that was fixed beforehand"
)


def usable(epsilon: float) -> float:
    """Return what is left of an epsilon for noise, after what is kept for the slack."""
    return epsilon - max(RESERVED * epsilon, LEAST_RESERVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianBudget:
    """Epsilon and delta of one fit, and the mu that they allow."""

    # epsilon, delta: what the fit claims.
    epsilon: Fraction
    delta: Fraction
    mu: float  # Gaussian differential privacy that all releases together may have for one record
    unit: PrivacyUnit = RECORD  # Whose data the claim covers: one record, or one person with so many records

    @classmethod
    def of(cls, epsilon: object, delta: object, unit: PrivacyUnit = RECORD) -> GaussianBudget:
        """Return the budget for epsilon in [0.001, 1000] and delta in [1e-100, 0.1]."""
        # The mu of m records of one person is m times that of one of them: noise has a standard deviation m times as
        # large (Dong, Roth and Su 2022, Theorem 2.14).
        total = check_number(epsilon, "epsilon", low=1e-3, high=1e3)
        failure = check_number(delta, "delta", low=1e-100, high=0.1)
        mu = mu_from_epsilon(usable(total), failure * (1 - RESERVED)) / unit.most_records
        if unit.is_person and not mu >= LEAST_MU:
            raise InvalidParameterError(
                f"{parameter('epsilon=')}{total:g} at {parameter('delta=')}{failure:g} leaves too little for each of "
                f"{unit.most_records} records per "
                "person.",
                remedy=f"Raise epsilon, or lower {parameter('records_per_person')}.",
            )
        if not 0 < mu < math.inf:
            raise InvalidParameterError(
                f"{parameter('epsilon=')}{total:g} at {parameter('delta=')}{failure:g} leaves nothing.",
                remedy="Raise one of them.",
            )
        return cls(epsilon=decimal(total, "epsilon"), delta=decimal(failure, "delta"), mu=mu, unit=unit)

    def check_values(self, releases: int, values: int) -> None:
        """Raise InvalidParameterError if noise on values in so many releases may cost more than is kept for its slack.

        Half of what is kept is for the slack; the rest is for rounding, that of the filter among it.
        """
        kept = min(float(self.epsilon) - usable(float(self.epsilon)), RESERVED)
        if not (
            slack_of(values, UNITS, releases) <= kept / 2
            and values * tail_per_value() <= float(self.delta) * RESERVED / 2
        ):
            raise InvalidParameterError(
                f"a fit that may release {values:,} values needs more than "
                f"{parameter('epsilon=')}{float(self.epsilon):g} and "
                f"{parameter('delta=')}{float(self.delta):g} keep for discrete noise.",
                remedy="Raise them, or give fewer bins or attributes.",
            )

    def claim(self, caveats: Sequence[str], count_scale: float | None) -> Guarantee:
        """Return what the published model states of its guarantee."""
        return guarantee_of(self.epsilon, self.delta, unit=self.unit, count_scale=count_scale, caveats=caveats)

    def certify(
        self, events: Sequence[Event], model: AdditiveModel | str, *, paid: Paid, public: Mapping[str, Any]
    ) -> Certificate:
        """Return the certificate of a fit, or of what has a SHA-256; its constructor adds up the events."""
        return certificate_of(
            events,
            model,
            account=FitAccount(total=self.epsilon, delta=self.delta, unit=self.unit),
            paid=paid,
            public=public,
            assumptions=(RELEASES,),
        )
