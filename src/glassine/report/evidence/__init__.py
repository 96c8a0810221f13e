"""What authorities and checkers ask of a published model, and what answers it."""

from glassine.report.evidence.document import LISTS, EvidenceDocument, evidence

__all__ = ["LISTS", "EvidenceDocument", "evidence"]
