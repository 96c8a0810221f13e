"""The audit of additive models, and copies of them that tell less."""

from glassine.additive_audit.audit import audit_additive
from glassine.additive_audit.scrubbing import AdditiveScrub, scrub_additive

__all__ = ["AdditiveScrub", "audit_additive", "scrub_additive"]
