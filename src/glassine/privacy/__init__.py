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
    RepeatedSelection,
    Selection,
    SmoothCauchyMax,
    SmoothCauchyNoise,
    Stated,
)
from glassine.privacy.certificate import Certificate
from glassine.privacy.ledger import Account, BudgetChange, Entry, Ledger, Payment, Verification
from glassine.privacy.randomness import Randomness
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import RECORD, PrivacyUnit

__all__ = [
    "RECORD",
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
    "Payment",
    "PrivacyUnit",
    "Randomness",
    "Receipt",
    "RepeatedSelection",
    "Selection",
    "SmoothCauchyMax",
    "SmoothCauchyNoise",
    "Stated",
    "Verification",
]
