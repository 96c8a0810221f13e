"""Verification: does a mechanism keep what it claims? By enumeration where its law is known, else by many runs."""

from glassine.verification.exhaustive import ExhaustiveResult, multisets, verify_exhaustively
from glassine.verification.statistical import LowerBound, lower_bound, lower_bound_from_outputs
from glassine.verification.statistical_phases import Claim, Runs

__all__ = [
    "Claim",
    "ExhaustiveResult",
    "LowerBound",
    "Runs",
    "lower_bound",
    "lower_bound_from_outputs",
    "multisets",
    "verify_exhaustively",
]
