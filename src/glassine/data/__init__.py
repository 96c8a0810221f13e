"""Data: records of every kind, read into one table and counted."""

from glassine.data.cells import cuts_of
from glassine.data.count_table import CountTable
from glassine.data.frames import bin_histograms, conjunction_counts
from glassine.data.inference import infer_domain, violations
from glassine.data.sample import Sample

__all__ = ["CountTable", "Sample", "bin_histograms", "conjunction_counts", "cuts_of", "infer_domain", "violations"]
