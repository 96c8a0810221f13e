"""The only code that draws noise or counts privacy budget."""

from glassine.privacy.accounting import (
    CauchyNoise,
    CountBound,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianMax,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    Selection,
    SmoothCauchyMax,
    SmoothCauchyNoise,
    Stated,
)
from glassine.privacy.certificate import Certificate
from glassine.privacy.ledger import Account, BudgetChange, Entry, Ledger
from glassine.privacy.randomness import Randomness

__all__ = [
    "Account",
    "BudgetChange",
    "CauchyNoise",
    "Certificate",
    "CountBound",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Entry",
    "Event",
    "GaussianMax",
    "GaussianNoise",
    "LaplaceNoise",
    "Ledger",
    "NoisyMax",
    "Parallel",
    "Randomness",
    "Selection",
    "SmoothCauchyMax",
    "SmoothCauchyNoise",
    "Stated",
]
