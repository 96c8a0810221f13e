"""Learners compared on the same splits of the same records: accuracy against epsilon, bits learned and vulnerability.

Measuring reads the records many times without a ledger: its results are for the analyst, and no release.
"""

from glassine.comparison.candidates import CANDIDATES, Candidate, Shape
from glassine.comparison.recommending import Recommendation, recommend
from glassine.comparison.running import Task, compare
from glassine.comparison.values import Comparison, Figures, Mean, Result, Row

__all__ = [
    "CANDIDATES",
    "Candidate",
    "Comparison",
    "Figures",
    "Mean",
    "Recommendation",
    "Result",
    "Row",
    "Shape",
    "Task",
    "compare",
    "recommend",
]
