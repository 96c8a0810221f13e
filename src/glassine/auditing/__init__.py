"""The audit: one published model in, findings out."""

from glassine.auditing.run import audit

__all__ = ["audit"]
