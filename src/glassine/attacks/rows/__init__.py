"""Reconstruction of whole rows from a published tree, rule list or forest."""

from glassine.attacks.rows.attack import reconstruct_rows
from glassine.attacks.rows.result import RowReconstruction

__all__ = ["RowReconstruction", "reconstruct_rows"]
