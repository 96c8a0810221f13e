"""What a reader of a published model can learn."""

from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction import ProbabilisticDataset, reconstruct

__all__ = ["Failed", "Measured", "NotApplicable", "Outcome", "ProbabilisticDataset", "reconstruct"]
