"""Microaggregation: groups of at least k records that lie close together, each with a representative."""

from glassine.microaggregation.mdav import search_method
from glassine.microaggregation.metric import Metric
from glassine.microaggregation.microaggregating import microaggregate
from glassine.microaggregation.result import Microaggregation
from glassine.microaggregation.taxonomy import SemanticDistance

__all__ = ["Metric", "Microaggregation", "SemanticDistance", "microaggregate", "search_method"]
