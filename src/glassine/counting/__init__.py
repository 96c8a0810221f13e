"""Exact counting: of records, and of the possible records that satisfy something."""

from glassine.counting.cells import cuts_of
from glassine.counting.frames import bin_histograms, conjunction_counts
from glassine.counting.records import CountTable
from glassine.counting.regions import MAX_STEPS, Region, RegionCounter
from glassine.counting.space import Box, Measure, Space

__all__ = [
    "MAX_STEPS",
    "Box",
    "CountTable",
    "Measure",
    "Region",
    "RegionCounter",
    "Space",
    "bin_histograms",
    "conjunction_counts",
    "cuts_of",
]
