"""Findings: what an audit measured, as plain values; aggregates only, small counts suppressed."""

from glassine.attacks.bins import BinsFinding
from glassine.auditing.criterion import Check, Remedy
from glassine.auditing.findings.additive import AdditiveFinding, AxisFinding, ShapeFinding, TermFinding
from glassine.auditing.findings.disclosure import DisclosureFinding
from glassine.auditing.findings.guarantee import Bound, GuaranteeFinding, Standing
from glassine.auditing.findings.joint import JointFinding, LeftOutModel, RowsFinding, SeveralSummary
from glassine.auditing.findings.membership import AttackFinding, MembershipFinding
from glassine.auditing.findings.root import (
    EXIT_STATUS,
    NOT_ASKED,
    SCHEMA,
    Findings,
    InputFile,
    Outcomes,
    SubjectSummary,
)
from glassine.auditing.findings.sign_off import SignOff
from glassine.auditing.findings.summaries import NoisyNumbers, SummaryFinding
from glassine.auditing.findings.surrogates import (
    DiversityFinding,
    FormFinding,
    FormsFinding,
    GapFinding,
    GroupsFinding,
    GuessFinding,
    LeavesFinding,
    ReleaseSummary,
    RepresentativesFinding,
    ThresholdsFinding,
    TogetherFinding,
)
from glassine.auditing.findings.values import (
    NO_HOLDOUT,
    NO_SENSITIVE,
    OF_THE_MODEL,
    AttributeFinding,
    DomainSummary,
    ModelSummary,
    Part,
    PartsFinding,
    ReconstructionFinding,
    SubgroupFinding,
    TreeNode,
    Verdict,
)

__all__ = [
    "EXIT_STATUS",
    "NOT_ASKED",
    "NO_HOLDOUT",
    "NO_SENSITIVE",
    "OF_THE_MODEL",
    "SCHEMA",
    "AdditiveFinding",
    "AttackFinding",
    "AttributeFinding",
    "AxisFinding",
    "BinsFinding",
    "Bound",
    "Check",
    "DisclosureFinding",
    "DiversityFinding",
    "DomainSummary",
    "Findings",
    "FormFinding",
    "FormsFinding",
    "GapFinding",
    "GroupsFinding",
    "GuaranteeFinding",
    "GuessFinding",
    "InputFile",
    "JointFinding",
    "LeavesFinding",
    "LeftOutModel",
    "MembershipFinding",
    "ModelSummary",
    "NoisyNumbers",
    "Outcomes",
    "Part",
    "PartsFinding",
    "ReconstructionFinding",
    "ReleaseSummary",
    "Remedy",
    "RepresentativesFinding",
    "RowsFinding",
    "SeveralSummary",
    "ShapeFinding",
    "SignOff",
    "Standing",
    "SubgroupFinding",
    "SubjectSummary",
    "SummaryFinding",
    "TermFinding",
    "ThresholdsFinding",
    "TogetherFinding",
    "TreeNode",
    "Verdict",
]
