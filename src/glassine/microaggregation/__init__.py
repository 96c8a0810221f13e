"""Microaggregation: groups of at least k records that lie close together, each with a representative."""

from glassine.microaggregation.dissimilarity import Metric, SemanticDistance
from glassine.microaggregation.mdav import search_method
from glassine.microaggregation.microaggregate import Microaggregation, microaggregate

__all__ = ["Metric", "Microaggregation", "SemanticDistance", "microaggregate", "search_method"]
