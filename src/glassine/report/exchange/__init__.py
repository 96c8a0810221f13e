"""Findings in the formats of other people's tools: pipelines, registries, output checkers."""

from glassine.report.exchange.acro import write_acro
from glassine.report.exchange.pipelines import as_annotations, as_junit, as_sarif, as_summary
from glassine.report.exchange.plain import as_plain
from glassine.report.exchange.registry import as_registry

__all__ = ["as_annotations", "as_junit", "as_plain", "as_registry", "as_sarif", "as_summary", "write_acro"]
