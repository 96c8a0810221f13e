"""Findings: what an audit measured, as plain values; aggregates only, small counts suppressed."""

from glassine.findings.additive import AdditiveFinding, AxisFinding, BinsFinding, ShapeFinding, TermFinding
from glassine.findings.membership import AttackFinding, MembershipFinding
from glassine.findings.schema import schema
from glassine.findings.values import (
    EXIT_STATUS,
    NO_HOLDOUT,
    SCHEMA,
    AttributeFinding,
    Bound,
    Check,
    Count,
    DomainSummary,
    Findings,
    GuaranteeFinding,
    InputFile,
    ModelSummary,
    Part,
    ReconstructionFinding,
    Standing,
    SubgroupFinding,
    TreeNode,
    Verdict,
)

__all__ = [
    "EXIT_STATUS",
    "NO_HOLDOUT",
    "SCHEMA",
    "AdditiveFinding",
    "AttackFinding",
    "AttributeFinding",
    "AxisFinding",
    "BinsFinding",
    "Bound",
    "Check",
    "Count",
    "DomainSummary",
    "Findings",
    "GuaranteeFinding",
    "InputFile",
    "MembershipFinding",
    "ModelSummary",
    "Part",
    "ReconstructionFinding",
    "ShapeFinding",
    "Standing",
    "SubgroupFinding",
    "TermFinding",
    "TreeNode",
    "Verdict",
    "schema",
]
