"""What a reader of a published model can learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction.entropy import ProbabilisticDataset, reconstruct

if TYPE_CHECKING:
    from glassine.attacks.importance import (
        ImportancePreservation,
        Importances,
        importance_preservation,
        permutation_importance,
    )
    from glassine.attacks.membership.attack_model import black_box_attack, loss_attack
    from glassine.attacks.membership.gap import gap_attack, holdout_shift
    from glassine.attacks.membership.lira import lira
    from glassine.attacks.membership.midpoint import MidpointResult, midpoint_attack
    from glassine.attacks.membership.overlap import Overlap, overlap
    from glassine.attacks.membership.result import MembershipResult, Shift
    from glassine.attacks.membership.suite import MembershipAttacks, attack_membership
    from glassine.attacks.overfitting import Vulnerability, vulnerability
    from glassine.attacks.reconstruction.joint import reconstruct_jointly
    from glassine.attacks.reconstruction.joint_result import JointReconstruction
    from glassine.attacks.reconstruction.records import reconstruct_records
    from glassine.attacks.reconstruction.row_result import RowReconstruction
    from glassine.attacks.reconstruction.search import Search

# These are imported at first use, so that an audit without them loads none of it.
_HOME = {
    "ImportancePreservation": "importance",
    "Importances": "importance",
    "JointReconstruction": "reconstruction.joint_result",
    "MembershipAttacks": "membership.suite",
    "MembershipResult": "membership.result",
    "MidpointResult": "membership.midpoint",
    "Overlap": "membership.overlap",
    "RowReconstruction": "reconstruction.row_result",
    "Search": "reconstruction.search",
    "Shift": "membership.result",
    "Vulnerability": "overfitting",
    "attack_membership": "membership.suite",
    "black_box_attack": "membership.attack_model",
    "gap_attack": "membership.gap",
    "holdout_shift": "membership.gap",
    "importance_preservation": "importance",
    "lira": "membership.lira",
    "loss_attack": "membership.attack_model",
    "midpoint_attack": "membership.midpoint",
    "overlap": "membership.overlap",
    "permutation_importance": "importance",
    "reconstruct_jointly": "reconstruction.joint",
    "reconstruct_records": "reconstruction.records",
    "vulnerability": "overfitting",
}

__all__ = [
    "Failed",
    "ImportancePreservation",
    "Importances",
    "JointReconstruction",
    "Measured",
    "MembershipAttacks",
    "MembershipResult",
    "MidpointResult",
    "NotApplicable",
    "Outcome",
    "Overlap",
    "ProbabilisticDataset",
    "RowReconstruction",
    "Search",
    "Shift",
    "Vulnerability",
    "attack_membership",
    "black_box_attack",
    "gap_attack",
    "holdout_shift",
    "importance_preservation",
    "lira",
    "loss_attack",
    "midpoint_attack",
    "overlap",
    "permutation_importance",
    "reconstruct",
    "reconstruct_jointly",
    "reconstruct_records",
    "vulnerability",
]


def __getattr__(name: str) -> Any:
    """Import a public name at first use."""
    if name not in _HOME:
        raise AttributeError(f"module 'glassine.attacks' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"glassine.attacks.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
