"""Findings made by hand, for tests of the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from glassine.attacks.label_disclosure import LabelDisclosure
from glassine.attacks.outcome import About, Below, Failed, Hidden, Measured, NotApplicable, ShownCount
from glassine.attacks.record_matching import ErrorEstimate
from glassine.attacks.value_leakage import ValueLeakage
from glassine.auditing.facts import Case
from glassine.auditing.findings import (
    AttackFinding,
    AttributeFinding,
    Bound,
    Check,
    DisclosureFinding,
    DomainSummary,
    Findings,
    GuaranteeFinding,
    MembershipFinding,
    ModelSummary,
    Outcomes,
    PartsFinding,
    ReconstructionFinding,
    ShownPart,
    SubgroupBitsFinding,
    TreeNode,
)
from glassine.auditing.findings.disclosure import ReaderFinding
from glassine.auditing.judging import judge
from glassine.auditing.policy import Policy
from glassine.auditing.remedy import remedy
from glassine.auditing.schema import MEASURED
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.suppression import Suppression
from glassine.auditing.trees import TREE_MEASUREMENTS
from glassine.domain import Between, Domain, Integer
from glassine.learners.summaries.multiplicity import LeafAmbiguity, Multiplicity, Reliance
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node
from tests.policies import audit_by_bits as audit
from tests.policies import bits_policy

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "</style></script><!--",
    "{{ 7 * 7 }}{% raw %}",
    "عمر المريض",
    "👩‍⚕️ score",
    "evil\u202etxt\x1b[31m\x00",
    "a_very_long_name_" * 30,
]


def part(number: int, size: ShownCount | None = 40, **given: Any) -> ShownPart:
    """Make a leaf or rule."""
    return ShownPart(
        **{
            "number": number,
            "condition": f"x{number} <= 0.5",
            "size": size,
            "counts": None,
            "prediction": "yes",
            "purity": 0.75,
            "bits_learned": 3.25,
            "flags": (),
            **given,
        }
    )


def balanced_tree(n_leaves: int) -> tuple[TreeNode, ...]:
    """Make a binary tree, parents before children, whose leaves are numbered in order."""
    out: list[TreeNode] = []
    stack: list[tuple[int, int, int | None]] = [(1, n_leaves, None)]
    while stack:
        first, last, parent = stack.pop()
        text = "" if parent is None else f"x{first} <= {last}"
        out.append(TreeNode(parent=parent, condition=text, part=first if first == last else None))
        if first < last:
            middle, here = (first + last) // 2, len(out) - 1
            stack += [(middle + 1, last, here), (first, middle, here)]
    return tuple(out)


def chain(n_leaves: int) -> tuple[TreeNode, ...]:
    """Make a tree that is as deep as it can be."""
    out = [TreeNode(parent=None, condition="", part=None)]
    for i in range(1, n_leaves):
        here = len(out) - 1 if i > 1 else 0
        out.append(TreeNode(parent=here, condition=f"x > {i}", part=i))
        out.append(TreeNode(parent=here, condition=f"x <= {i}", part=None if i < n_leaves - 1 else n_leaves))
    return tuple(out)


def near_optimal_trees(**given: Any) -> Multiplicity:
    """Make the figures of a set of near-optimal trees on three attributes, of which one has one bin."""
    ends = {"age": (0.0312, 0.2021, 0.05, 1.0), "job": (-0.0004, 0.1, 0.004, 0.75), "town": (0.0, 0.0, 0.0, 0.0)}
    fields: dict[str, Any] = {
        "max_depth": 2,
        "slack": 0.01,
        "lowest_errors": 0.141,
        "n_trees": 12344.0,
        "n_replicates": 3,
        "reliances": tuple(
            Reliance(attribute=name, low=low, high=high, loss_without=lost, indispensable=share == 1.0, agreement=share)
            for name, (low, high, lost, share) in ends.items()
        ),
        "tested": ("age", "job"),
        "ambiguous": 0.12,
        "ambiguous_between": (0.0512, 0.31),
        "leaves": (
            LeafAmbiguity(literals=(Between("age", hi=30.0),), share=0.25, ambiguous=0.3, low=0.12, high=0.5),
            LeafAmbiguity(literals=(Between("age", lo=30.0),), share=0.75, ambiguous=0.06, low=0.0, high=0.1234),
        ),
        "guarantee": Guarantee(epsilon=1.0, delta=1e-6),
        "disputed": {},
    }
    return Multiplicity(**{**fields, **given})


RECONSTRUCTION = ReconstructionFinding(
    entropy_bits=4321.5,
    prior_bits=6000.25,
    dist=0.8,
    dist_g=0.72025,
    entropy_bits_domain_aware=2100.0,
    prior_bits_domain_aware=4200.0,
    dist_g_domain_aware=0.5,
    bits_mean=4.2,
    bits_largest=11.3,
    exposure_curve=((0.1, 11.3), (0.6, 5.0), (1.0, 1.5)),
    attributes=(
        AttributeFinding(attribute="age", bits_learned=2.0, bits_largest=5.5),
        AttributeFinding(attribute="sex", bits_learned=0.04, bits_largest=1.0),
        AttributeFinding(attribute="unused", bits_learned=0.0, bits_largest=0.0),
    ),
    undefined=None,
)
LABELS = LabelDisclosure(
    n_records=400, purest=0.95, n_certain=120, guess_rate=0.88, base_rate=0.6, bits_prior=0.97, bits_left=0.4
)
VALUES = ValueLeakage(
    n_thresholds=6,
    n_off_grid=2,
    n_midpoints=3,
    n_records_at_midpoints=4,
    exact_bounds=("age",),
    lone_categories=(),
    n_lone_targets=0,
)
CHECKS = (
    Check(rule="smallest_leaf", limit=10, measured=Below(10), status="fail", meaning="1 of 4 leaves is too small."),
    Check(rule="purest_leaf", limit=0.9, measured=0.85, status="pass", meaning="No leaf has more."),
    Check(rule="largest_bits_per_record", limit=10.0, measured=10.004, status="fail", meaning="Too many."),
    Check(rule="thresholds_off_grid", limit=0, measured=None, status="unknown", meaning="It needs a domain."),
)


GAP = AttackFinding(
    attack="gap attack",
    status="measured",
    advantage=0.088,
    advantage_low=0.031,
    advantage_high=0.152,
    balanced_accuracy=0.544,
    baseline_accuracy=0.5,
    baseline="guessing",
    auc=0.544,
    tpr_at_percent=0.011,
    tpr_at_permille=0.001,
    permille_resolved=False,
    p_value=0.001,
    detected=True,
    statement="The gap attack distinguishes members from non-members.",
)
MEMBERSHIP = MembershipFinding(
    n_members=400,
    n_nonmembers=Below(10),
    confidence=0.95,
    attacks=(
        GAP,
        AttackFinding(attack="online likelihood-ratio attack", status="not applicable", reason="no learner."),
    ),
    strongest="gap attack",
    roc_attack="gap attack",
    roc=((0.01, 0.02), (0.1, 0.2), (1.0, 1.0)),
    shifted=False,
    shift="A classifier cannot tell them apart.",
    shift_auc=0.51,
    overlap="",
    vulnerability=0.53,
    vulnerability_low=0.51,
    vulnerability_high=0.56,
    vulnerability_by_chance=0.52,
    unmeasured_vulnerability="",
    accused=60,
    accused_wrongly=0,
    midpoints="30 of 40 thresholds are the midpoint of just one pair of records.",
)


DISCLOSURE = DisclosureFinding(
    sensitive="diagnosis",
    quasi_identifiers=("age", "sex"),
    number=400,
    n_quasi_identifiers=75,
    n_classes=2,
    knowledge="leaf counts and internal nodes (gini)",
    optimum="global",
    gap=0.0,
    learned_mean=0.31,
    learned_most=0.69,
    readers=(
        ReaderFinding(reader="the class distribution", entropy=0.68, certain=0, d_overall=0.52, guess_rate=0.6),
        ReaderFinding(reader="the leaves", entropy=0.41, certain=About(30), d_overall=0.25, guess_rate=0.8),
        ReaderFinding(
            reader="the leaves and the internal nodes",
            entropy=0.37,
            certain=About(40),
            d_overall=0.21,
            guess_rate=0.82,
        ),
    ),
    exposed=(3, 77, 512),
    n_internal=12,
    n_active=2,
    unused="",
    notes=(),
)


def changed(base: Findings, **given: Any) -> Findings:
    """Return findings with other fields; measurements by their names, leaves as ``parts`` and nodes as ``tree``."""
    shape = {
        own: given.pop(name)
        for name, own in (("parts", "parts"), ("tree", "nodes"), ("sizes_counted", "counted"))
        if name in given
    }
    if "model" in given:
        given["subject"] = given.pop("model")
    measured = {name: given.pop(name) for name in tuple(given) if name in MEASURED}
    if shape:
        measured["parts"] = Measured(replace(base.value("parts"), **shape))
    return replace(base, measured=base.measured.updated(measured), **given)


def findings(**given: Any) -> Findings:
    """Make findings of a tree of four leaves; ``given`` replaces fields."""
    base = Findings(
        verdict="outside policy",
        checks=CHECKS,
        subject=ModelSummary(
            kind="decision tree",
            source="a test",
            n_parts=4,
            depth=2,
            n_records=400,
            classes=("no", "yes"),
            attributes=("age", "sex"),
            approximate=False,
        ),
        domain=DomainSummary(
            n_attributes=3, n_groups=1, inferred=("age",), bits_independent=15.0, bits_domain_aware=10.5
        ),
        policy=bits_policy(),
        measured=Outcomes(
            {
                "reconstruction": Measured(RECONSTRUCTION),
                "labels": Measured(LABELS),
                "values": Measured(VALUES),
                "subgroups": Measured(
                    (SubgroupBitsFinding(attribute="sex", value="female", size=180, bits_mean=3.0, bits_largest=9.0),)
                ),
                "exposed_rows": Measured((512, 3, 77)),
                "alignment": Measured(
                    ErrorEstimate(error=0.2, error_sd=0.01, baseline=0.4, baseline_sd=0.02, n_draws=3, n_matched=400)
                ),
                "membership": Measured(MEMBERSHIP),
                "disclosure": Measured(DISCLOSURE),
                "parts": Measured(
                    PartsFinding(
                        parts=(
                            part(1, counts=(30, 10)),
                            part(2, Below(10), bits_learned=11.3, flags=("small", "exposed")),
                            part(3, Hidden()),
                            part(4, 300, purity=1.0, flags=("pure",)),
                        ),
                        nodes=balanced_tree(4),
                    )
                ),
            },
            [measurement.words for measurement in TREE_MEASUREMENTS if measurement.listed],
            [measurement.name for measurement in TREE_MEASUREMENTS if measurement.audience == "checker"],
        ),
        sensitive=None,
        notes=("rule 3 captures no record: it is `shadowed`.",),
        advice=(remedy("Merge small leaves ({step}).", "scrub", smallest_leaf=10),),
        version="9.9.9",
        inputs=(),
    )
    return changed(base, **given)


GUARANTEE = GuaranteeFinding(
    claimed_by="the model's certificate",
    epsilon=1.0,
    delta=1e-6,
    neighboring="add-or-remove-one",
    count_scale=2.0,
    caveats=(),
    standing="accepted",
    bits_per_record=2.8854,
    bounds=(
        Bound(name="membership advantage", value=0.46212, statement="How much more often.", method="a theorem"),
        Bound(
            name="true positive rate at 1% false positives", value=0.02719, statement="The share.", method="a theorem"
        ),
        Bound(name="bits about one record", value=2.8854, statement="The bits.", method="two steps"),
    ),
)


def private_findings(**given: Any) -> Findings:
    """Make findings of a model with noisy counts whose guarantee is accepted; ``given`` replaces its fields."""
    missing = NotApplicable("the published counts carry noise of scale 2 records.")
    checks = (
        Check(rule="max_epsilon", limit=1.0, measured=1.0, status="pass", meaning="Claimed and accepted."),
        Check(rule="smallest_leaf", limit=10, measured=None, status="pass", meaning="Answered.", basis="guarantee"),
        Check(
            rule="largest_bits_per_record",
            limit=10.0,
            measured=2.885,
            status="pass",
            meaning="At most.",
            basis="guarantee",
        ),
    )
    return findings(
        verdict="within policy",
        checks=checks,
        model=replace(findings().model, count_scale=2.0),
        reconstruction=missing,
        labels=missing,
        subgroups=missing,
        exposed_rows=missing,
        alignment=missing,
        membership=missing,
        disclosure=missing,
        parts=tuple(part(i, 4 * i, counts=(i, 3 * i), purity=None, bits_learned=None) for i in range(1, 5)),
        notes=(),
        advice=(),
        guarantee=replace(GUARANTEE, **given),
    )


def unknown_findings() -> Findings:
    """Make findings in which nothing was measured."""
    missing = NotApplicable("no domain was given.")
    return findings(
        verdict="inconclusive",
        checks=(Check(rule="smallest_leaf", limit=10, measured=None, status="unknown", meaning="Give the data."),),
        domain=None,
        reconstruction=missing,
        labels=missing,
        values=Failed("it took too long."),
        subgroups=missing,
        exposed_rows=missing,
        alignment=missing,
        membership=missing,
        disclosure=missing,
        parts=tuple(part(i, None, purity=None, bits_learned=None, prediction=None) for i in range(1, 5)),
        notes=(),
        advice=(),
    )


def large_findings(n_leaves: int = 3000, *, name: str = "x") -> Findings:
    """Make findings of a large tree; leaf 1,234 has all the flags."""
    parts = tuple(
        part(
            i,
            condition=" and ".join(f"{name}{j} <= {i}.1234" for j in range(12)),
            bits_learned=1 + i / n_leaves,
            flags=("small", "pure", "exposed") if i == 1234 else (),
        )
        for i in range(1, n_leaves + 1)
    )
    return findings(parts=parts, tree=balanced_tree(n_leaves))


def rule_findings(n_rules: int = 3, **given: Any) -> Findings:
    """Make findings of a rule list."""
    parts = [part(i) for i in range(1, n_rules)] + [part(n_rules, 0, condition="otherwise", flags=("empty",))]
    parts[-1] = replace(parts[-1], bits_learned=None, purity=None)
    return findings(
        model=replace(findings().model, kind="rule list", n_parts=n_rules),
        parts=tuple(parts),
        tree=(),
        **given,
    )


def membership_checks(policy: Policy, finding: MembershipFinding, *, mismatch: str = "") -> tuple[Check, ...]:
    """Judge membership attacks alone; ``mismatch`` says why the data are not the training records."""
    case = Case(kind="tree", facts=dict.fromkeys(("membership", "attacks"), Measured(finding)), mismatch=mismatch)
    return judge(policy, case, Suppression(policy.suppress_below))


def stump(cut: float, left: tuple[int, int], right: tuple[int, int]) -> DecisionTree:
    """Make a tree that splits ages at a cut, with the class counts of both leaves."""
    branches = Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2)
    leaves = Node(evidence=Evidence(counts=left)), Node(evidence=Evidence(counts=right))
    return DecisionTree((Node(branches=branches), *leaves), ("age",), ("no", "yes"))


AGES = Domain({"age": Integer(0, 99), "height": Integer(100, 199)})
NEAR = stump(40.5, (40, 10), (30, 20)), stump(41.5, (40, 11), (30, 19))
"""Two trees whose leaves differ by one record."""


def several_findings(names: tuple[str, str] = ("this year", "last year"), **given: Any) -> Findings:
    """Audit two trees of the same records, between whose leaves one record lies."""
    return audit(SeveralModels(models=NEAR, names=names), domain=AGES, **given)
