"""Exact counting of the possible records that satisfy something."""

from glassine.counting.regions import Region, RegionCounter
from glassine.counting.space import Box, Measure, Space

__all__ = ["Box", "Measure", "Region", "RegionCounter", "Space"]
