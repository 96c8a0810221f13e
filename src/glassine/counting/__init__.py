"""Exact counting of the possible records that satisfy something."""

from glassine.counting.regions import MAX_STEPS, Region, RegionCounter
from glassine.counting.space import Box, Measure, Space

__all__ = ["MAX_STEPS", "Box", "Measure", "Region", "RegionCounter", "Space"]
