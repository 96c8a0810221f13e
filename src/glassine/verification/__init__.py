"""Verification: does a mechanism keep what it claims? By enumeration where the output distribution is known."""

from glassine.verification.exhaustive import ExhaustiveResult, multisets, verify_exhaustively

__all__ = ["ExhaustiveResult", "multisets", "verify_exhaustively"]
