"""The only code that draws noise or counts privacy budget."""

from glassine.privacy.accounting import (
    CauchyNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    LaplaceNoise,
    NoisyMax,
    Parallel,
    Selection,
    SmoothCauchyNoise,
    Stated,
)
from glassine.privacy.certificate import Certificate
from glassine.privacy.ledger import Account, Entry, Ledger
from glassine.privacy.randomness import Randomness

__all__ = [
    "Account",
    "CauchyNoise",
    "Certificate",
    "DiscreteGaussianNoise",
    "DiscreteLaplaceNoise",
    "Entry",
    "Event",
    "GaussianNoise",
    "LaplaceNoise",
    "Ledger",
    "NoisyMax",
    "Parallel",
    "Randomness",
    "Selection",
    "SmoothCauchyNoise",
    "Stated",
]
