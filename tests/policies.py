"""The policy of shares, bits and cut points, by which tests of these criteria judge, as it is not the default one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glassine import Policy, audit
from glassine.auditing.findings import Findings

__all__ = ["BITS_AND_SHARES", "NORM", "audit_by_bits", "bits_policy"]

BITS_AND_SHARES = Policy(
    smallest_leaf=10,
    share_in_small_leaves=None,
    leaves_of_one=None,
    purest_leaf=0.9,
    largest_bits_per_record=10.0,
    thresholds_off_grid=0,
    midpoints=0,
    largest_advantage=None,
    largest_measured_advantage=None,
    certain_by_membership=None,
    named_by_thresholds=None,
)
"""Shares of one class, bits and public cut points, without what counts imply for membership."""


NORM = Policy(smallest_leaf=10)
"""The default policy with the norm of output checking: at least ten behind every leaf, rule or bin."""


def bits_policy(**limits: Any) -> Policy:
    """Return the policy of shares and bits with some of its limits changed."""
    return replace(BITS_AND_SHARES, **limits)


def audit_by_bits(*given: Any, **named: Any) -> Findings:
    """Audit by the policy of shares and bits, where the test names no other."""
    return audit(*given, **{"policy": BITS_AND_SHARES, **named})
