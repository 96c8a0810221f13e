"""The values that findings are made of."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LabelDisclosure
from glassine.attacks.outcome import Failed, Hidden, Measured, NotApplicable, Outcome, ShownCount
from glassine.attacks.values import ValueLeakage
from glassine.auditing.criterion import Check, Remedy
from glassine.auditing.findings.additive import AdditiveFinding
from glassine.auditing.findings.guarantee import Bound, GuaranteeFinding, Standing
from glassine.auditing.findings.membership import MembershipFinding
from glassine.auditing.findings.sensitive import SensitiveFinding
from glassine.auditing.policy import Policy
from glassine.files import write_json

__all__ = [
    "EXIT_STATUS",
    "NO_HOLDOUT",
    "NO_SENSITIVE",
    "OF_THE_MODEL",
    "SCHEMA",
    "AttributeFinding",
    "Bound",
    "Check",
    "DomainSummary",
    "Findings",
    "GuaranteeFinding",
    "InputFile",
    "ModelSummary",
    "Part",
    "ReconstructionFinding",
    "Standing",
    "SubgroupFinding",
    "TreeNode",
    "Verdict",
    "plain_value",
]

SCHEMA = "glassine.findings/6"

Verdict: TypeAlias = Literal["within policy", "outside policy", "inconclusive"]

NO_HOLDOUT: Outcome[MembershipFinding] = NotApplicable(
    "no holdout was given: records of the same population that were not used for training (`--holdout`)."
)

NO_SENSITIVE: Outcome[SensitiveFinding] = NotApplicable(
    "no sensitive attribute was named: the one that the tree predicts (`--sensitive`)."
)

OF_THE_MODEL = "the guarantee answers for the model, so this report counts nothing in records."
"""Why the public findings on a private model say nothing of what would be measured on its records."""

EXIT_STATUS: dict[Verdict, int] = {"within policy": 0, "outside policy": 1, "inconclusive": 3}
"""Exit statuses of the command line; 2 is bad input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """The audited model in brief.

    Attributes
    ----------
    kind : str
        ``decision tree``, ``regression tree``, ``rule list`` or ``additive model``.
    source : str
        Where it came from, as far as the artefact says.
    n_parts : int
        Number of leaves, of rules with the default rule, or of terms.
    depth : int
        Most conditions on a path or in an antecedent; most attributes of a term.
    n_records : int or None
        Number of training records, if published.
    classes : tuple of str or None
        Names of the classes.
    attributes : tuple of str
        The attributes that it tests.
    approximate : bool
        Whether its counts were rounded before publication.
    count_scale : float or None
        Scale of the noise that its counts carry, in records, if it says so.
    """

    kind: str
    source: str
    n_parts: int
    depth: int
    n_records: int | None
    classes: tuple[str, ...] | None
    attributes: tuple[str, ...]
    approximate: bool
    count_scale: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainSummary:
    """The domain in brief.

    Attributes
    ----------
    n_attributes, n_groups : int
        Number of attributes, and of groups that tie them.
    inferred : tuple of str
        Attributes whose domain was taken from data.
    bits_independent, bits_domain_aware : float or None
        log2 of the number of possible records, without and with the groups; None over a continuum.
    """

    n_attributes: int
    n_groups: int
    inferred: tuple[str, ...]
    bits_independent: float | None
    bits_domain_aware: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A leaf or a rule as the report shows it.

    Attributes
    ----------
    number : int
        Its number, from 1, in the model's order.
    condition : str
        When it captures a record, numbers rounded to four digits.
    size : ShownCount or None
        Records captured.
    counts : tuple of ShownCount or None
        Records captured of each class; all hidden when one must be.
    prediction : str or None
        What it predicts.
    purity : float or None
        Share of the largest class, rounded down to a twentieth unless counts are shown; None where the size is hidden.
    bits_learned : float or None
        Bits that a reader learns about each captured record; None when there is no domain or the region is empty.
    flags : tuple of str
        Which limits it breaks: ``small``, ``pure``, ``exposed``; or ``empty`` when nothing can be captured.
    """

    number: int
    condition: str
    size: ShownCount | None
    counts: tuple[ShownCount, ...] | None
    prediction: str | None
    purity: float | None
    bits_learned: float | None
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """A node of the drawn tree.

    Attributes
    ----------
    parent : int or None
        Index of the parent in the list of nodes; None for the root.
    condition : str
        The condition under which a record comes here from the parent.
    part : int or None
        Number of the leaf; None for a split.
    """

    parent: int | None
    condition: str
    part: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file that was audited or judged with, so that a verdict can be tied to it.

    Attributes
    ----------
    role : str
        ``model``, ``domain``, ``data`` or ``policy``.
    name : str
        Its name, without the folder.
    sha256 : str or None
        SHA-256 of the bytes that were parsed, hexadecimal; None for records. Who knows all records but one finds the
        last one by their digest.
    """

    role: str
    name: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeFinding:
    """Bits learned about one attribute per record: mean over the records, and in the part where it is largest."""

    attribute: str
    bits_learned: float
    bits_largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SubgroupFinding:
    """Bits learned per record of a subgroup: mean and largest."""

    attribute: str
    value: str
    size: ShownCount
    bits_mean: float
    bits_largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconstructionFinding:
    """How far a reader can rebuild the training records.

    Attributes
    ----------
    entropy_bits, prior_bits : float or None
        Joint entropy of the records after and before reading the model, attributes independent.
    dist, dist_g : float or None
        The published measures: the share of uncertainty left per cell, and jointly.
    entropy_bits_domain_aware, prior_bits_domain_aware, dist_g_domain_aware : float or None
        The same with the domain's groups.
    bits_mean, bits_largest : float or None
        Bits learned per record, with the domain's groups: mean, and in the most exposed part.
    exposure_curve : tuple of (float, float)
        Share of the records, the most exposed first, and bits learned; steps smaller than the suppression limit
        are merged.
    attributes : tuple of AttributeFinding
        Per attribute, with the domain's groups.
    undefined : str or None
        Why some measures have no value.
    """

    entropy_bits: float | None
    prior_bits: float | None
    dist: float | None
    dist_g: float | None
    entropy_bits_domain_aware: float | None
    prior_bits_domain_aware: float | None
    dist_g_domain_aware: float | None
    bits_mean: float | None
    bits_largest: float | None
    exposure_curve: tuple[tuple[float, float], ...]
    attributes: tuple[AttributeFinding, ...]
    undefined: str | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings:
    """The result of an audit.

    Attributes
    ----------
    verdict : str
        ``within policy``, ``outside policy`` or ``inconclusive``.
    checks : tuple of Check
        The policy's rules, judged.
    model, domain, policy
        What was audited, in what domain (if given), against what.
    reconstruction, labels, values, subgroups, exposed_rows, alignment, membership, disclosure : Outcome
        Each measured, not applicable or failed, with the reason.
    parts : tuple of Part
        The leaves or rules.
    tree : tuple of TreeNode
        The shape of a tree; empty for a rule list.
    notes : tuple of str
        What is odd.
    advice : tuple of Remedy
        What to do next.
    version : str
        Version of Glassine.
    inputs : tuple of InputFile
        The files that were read; none when the audit was called from Python.
    guarantee : GuaranteeFinding or None
        The differential privacy that is claimed for the model.
    additive : AdditiveFinding or None
        Terms and bins of an additive model; None for trees and rule lists.
    holder_only : bool
        Whether these are for the holder of the data only: they were measured on the records of a private model.
    holder : Findings or None
        What records that were given beside a model with an accepted guarantee add, for their holder only. These
        findings are then the same whatever the records are, and neither :meth:`to_dict` nor a report shows the others.
    """

    verdict: Verdict
    checks: tuple[Check, ...]
    model: ModelSummary
    domain: DomainSummary | None
    policy: Policy
    reconstruction: Outcome[ReconstructionFinding]
    labels: Outcome[LabelDisclosure]
    values: Outcome[ValueLeakage]
    subgroups: Outcome[tuple[SubgroupFinding, ...]]
    exposed_rows: Outcome[tuple[int, ...]]
    alignment: Outcome[ErrorEstimate]
    sensitive: str | None
    parts: tuple[Part, ...]
    tree: tuple[TreeNode, ...]
    notes: tuple[str, ...]
    advice: tuple[Remedy, ...]
    version: str
    inputs: tuple[InputFile, ...] = ()
    guarantee: GuaranteeFinding | None = None
    membership: Outcome[MembershipFinding] = NO_HOLDOUT
    additive: AdditiveFinding | None = None
    disclosure: Outcome[SensitiveFinding] = NO_SENSITIVE
    holder_only: bool = False
    holder: Findings | None = None

    @property
    def exit_status(self) -> int:
        """0 within policy, 1 outside policy, 3 inconclusive."""
        return EXIT_STATUS[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain JSON values, schema ``glassine.findings/6``, without those for the holder."""
        plain: dict[str, Any] = {"schema": SCHEMA}
        for field in dataclasses.fields(self):
            if field.name != "holder":
                plain[field.name] = plain_value(getattr(self, field.name))
        return plain

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the findings to a JSON file, whole or not at all."""
        write_json(self.to_dict(), path)

    def __repr__(self) -> str:
        broken = [check.rule for check in self.checks if check.status == "fail"]
        detail = f"; broken: {', '.join(broken)}" if broken else ""
        article = "an" if self.model.kind[:1] in "aeiou" else "a"
        return f"<Findings on {article} {self.model.kind} of {self.model.n_parts} parts: {self.verdict}{detail}>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(c.rule)}</td><td>{escape(str(c.measured))}</td><td>{c.limit:g}</td><td>{c.status}</td></tr>"
            for c in self.checks
        )
        head = "<tr><th>rule</th><th>measured</th><th>limit</th><th>status</th></tr>"
        return f"<p><b>Glassine: {self.verdict}</b> &mdash; {escape(self.model.kind)}</p><table>{head}{rows}</table>"


def plain_value(value: Any) -> Any:
    """Return findings as plain JSON values; an outcome has a status, what is infinite or NaN is None."""
    if isinstance(value, Measured):
        inner = plain_value(value.value)
        return {"status": "measured", **inner} if isinstance(inner, dict) else {"status": "measured", "value": inner}
    if isinstance(value, NotApplicable):
        return {"status": "not applicable", "reason": value.reason}
    if isinstance(value, Failed):
        return {"status": "failed", "reason": value.reason}
    if isinstance(value, Hidden):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: plain_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
