"""Reconstruction from several models of the same records."""

from glassine.attacks.joint.attack import reconstruct_jointly
from glassine.attacks.joint.composition import Composition
from glassine.attacks.joint.result import CellRanges, Interval, JointReconstruction, PartExposure, SharedGroup
from glassine.attacks.joint.rows import reconstruct_rows_jointly

__all__ = [
    "CellRanges",
    "Composition",
    "Interval",
    "JointReconstruction",
    "PartExposure",
    "SharedGroup",
    "reconstruct_jointly",
    "reconstruct_rows_jointly",
]
