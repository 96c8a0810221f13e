"""Learners compared on the same splits of the same records: accuracy against epsilon, bits learned and vulnerability.

Measuring reads the records many times without a ledger: its results are for the analyst, and no release.
"""

from __future__ import annotations

from glassine.exports import exports_of

__getattr__, __dir__ = exports_of(__name__, __file__)
