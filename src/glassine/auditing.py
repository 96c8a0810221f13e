"""The audit: one published model in, findings out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine import __version__
from glassine.attacks.alignment import ErrorEstimate
from glassine.attacks.labels import LabelDisclosure, disclose_labels
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction import ProbabilisticDataset, SubgroupLeakage, reconstruct
from glassine.attacks.values import ValueLeakage, leak_values
from glassine.domain import Binary, Category, Domain
from glassine.domain.inference import columns as read_columns
from glassine.domain.literals import attributes_of, conjunction_text, is_missing
from glassine.errors import CountingLimitError, InvalidDataError, UndefinedMeasureError
from glassine.findings import (
    AttributeFinding,
    Check,
    Count,
    DomainSummary,
    Findings,
    ModelSummary,
    Part,
    ReconstructionFinding,
    SubgroupFinding,
    TreeNode,
    Verdict,
)
from glassine.models import DecisionTree, RuleList
from glassine.policy import Policy

__all__ = ["audit"]

DIGITS = 4
MOST_EXPOSED = 10
MOST_SUBGROUP_VALUES = 10


def audit(
    model: Any,
    *,
    domain: Domain | None = None,
    data: Any = None,
    sensitive: str | None = None,
    policy: Policy | None = None,
    show_small_counts: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    r"""Audit a published model: measure what its reader can learn about the training records.

    The model alone is enough; the domain and the data only sharpen the findings.

    Parameters
    ----------
    model : DecisionTree, RuleList or fitted estimator
        The model, or anything that :func:`glassine.as_model` reads.
    domain : Domain, optional
        What is publicly known about the attributes. Without it nothing can be said about reconstruction; if data are
        given, it is inferred from them and marked so.
    data : data frame, optional
        The training records, shape (n, at least the tested attributes).
    sensitive : str, optional
        An attribute of the domain, or a column of the data, to look at more closely.
    policy : Policy, optional
        The limits to judge by; the defaults of :class:`Policy` otherwise.
    show_small_counts : bool, default=False
        Whether counts below the policy's ``suppress_below`` are shown.
    progress : callable, optional
        Called with the name of each stage as it starts.

    Returns
    -------
    Findings
        What was measured, what was not and why, and the verdict.

    Raises
    ------
    UnsupportedModelError
        If the model cannot be read.
    InvalidModelError
        If the model tests an attribute or a value that the domain lacks.
    InvalidDataError
        If the data are empty, lack a column or do not hold ``sensitive``.

    Examples
    --------
    >>> rules = RuleList.from_text("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    >>> findings = audit(rules, domain=Domain.binary(["a", "b"]))
    >>> findings.verdict, [check.rule for check in findings.checks if check.status == "broken"]
    ('outside policy', ['purest_leaf'])
    """
    from glassine.models.formats import as_model

    return _Audit(
        model=as_model(model, domain),
        domain=domain,
        data=data,
        sensitive=sensitive,
        policy=policy or Policy(),
        show_small_counts=show_small_counts,
        progress=progress or (lambda stage: None),
    ).run()


class _Audit:
    """One run of the audit: the inputs, and the measures that several findings share."""

    def __init__(
        self,
        *,
        model: DecisionTree | RuleList,
        domain: Domain | None,
        data: Any,
        sensitive: str | None,
        policy: Policy,
        show_small_counts: bool,
        progress: Callable[[str], None],
    ) -> None:
        self.model, self.policy, self.sensitive, self.progress = model, policy, sensitive, progress
        self.below = 0 if show_small_counts else policy.suppress_below
        self.notes: list[str] = []
        self.frame = data
        self.columns: dict[str, npt.NDArray[Any]] | None = None if data is None else read_columns(data)
        if domain is None and data is not None:
            used = [name for name in model.attributes if name in (self.columns or {})]
            domain = Domain.infer(_only(self.columns or {}, used)) if used else None
            self.notes.append("No domain was given: it was inferred from the data, which understates what is learned.")
        elif domain is not None and domain.inferred:
            self.notes.append("The domain was inferred from data, which understates what a reader learns.")
        self.domain = domain
        self.rows: npt.NDArray[np.intp] | None = None if self.columns is None else model.apply(self.columns)
        if sensitive is not None:
            self._check_sensitive(sensitive)
        self.known = None if domain is None else reconstruct(model, domain)

    def _check_sensitive(self, name: str) -> None:
        in_domain = self.domain is not None and name in self.domain
        if not in_domain and (self.columns is None or name not in self.columns):
            raise InvalidDataError(
                f"the sensitive attribute {name!r} is neither in the domain nor a column of the data. Check its name."
            )

    def run(self) -> Findings:
        """Measure everything, judge, and put the findings together."""
        self.progress("counting possible records")
        learned, reconstruction = self._reconstruction()
        self.progress("reading labels and values")
        labels = disclose_labels(self.model)
        values = leak_values(self.model, self.domain, self.columns)
        self._compare_with_data()
        self.progress("looking at subgroups")
        subgroups = self._subgroups()
        rows = self._exposed_rows(learned)
        self.progress("matching with the data")
        alignment = self._alignment()
        sizes = self._sizes()
        checks = (
            *self._check_leaves(sizes, labels),
            *self._check_bits(learned, sizes),
            *self._check_values(values),
        )
        parts = self._parts(learned, sizes)
        return Findings(
            verdict=_verdict(checks),
            checks=checks,
            model=self._model_summary(),
            domain=self._domain_summary(),
            policy=self.policy,
            reconstruction=reconstruction,
            labels=self._hide_label_counts(labels),
            values=Measured(self._hide_value_counts(values)),
            subgroups=subgroups,
            exposed_rows=rows,
            alignment=alignment,
            sensitive=self.sensitive,
            parts=parts,
            tree=_shape(self.model),
            notes=tuple(self.notes),
            advice=_advice(checks, self.domain, self.model),
            version=__version__,
        )

    # What a reader can rebuild

    def _reconstruction(self) -> tuple[tuple[float, ...] | None, Outcome[ReconstructionFinding]]:
        if self.known is None:
            return None, NotApplicable(
                "no domain was given, so possible records cannot be counted. Write one, or start from "
                "`glassine domain infer DATA`."
            )
        known = self.known
        try:
            published, aware = known.notes(), known.notes(domain_aware=True)
            learned = known.bits_learned(domain_aware=True)
        except CountingLimitError as error:
            return None, Failed(str(error))
        self.notes += published
        self.notes += [f"with the domain's groups, {note}" for note in aware if note not in published]
        undefined: list[str] = []

        def value(measure: Callable[[], float]) -> float | None:
            try:
                return measure()
            except UndefinedMeasureError as error:
                if str(error) not in undefined:
                    undefined.append(str(error))
                return None

        mean = value(lambda: known.bits_per_record(domain_aware=True))
        defined = mean is not None
        shown = [b for b, size in zip(learned, self._sizes(), strict=True) if size != 0 and math.isfinite(b)]
        finding = ReconstructionFinding(
            entropy_bits=value(known.entropy),
            prior_bits=value(known.prior_entropy),
            dist=value(known.dist),
            dist_g=value(known.dist_g),
            entropy_bits_domain_aware=value(lambda: known.entropy(domain_aware=True)),
            prior_bits_domain_aware=value(lambda: known.prior_entropy(domain_aware=True)),
            dist_g_domain_aware=value(lambda: known.dist_g(domain_aware=True)),
            bits_mean=mean,
            bits_largest=max(shown, default=None),
            exposure_curve=self._curve(known) if defined else (),
            attributes=tuple(AttributeFinding(**asdict(entry)) for entry in known.by_attribute(domain_aware=True))
            if defined
            else (),
            undefined=" ".join(undefined) or None,
        )
        return learned, Measured(finding)

    def _curve(self, known: ProbabilisticDataset) -> tuple[tuple[float, float], ...]:
        """Return the exposure curve, steps of fewer records than may be shown merged with the next."""
        n = known.n_records
        out: list[tuple[float, float]] = []
        start, held, weight = 0.0, 0, 0.0
        for share, bits in known.exposure_curve(domain_aware=True):
            size = round((share - start) * n)
            start, held, weight = share, held + size, weight + size * bits
            if held >= self.below:
                out.append((share, weight / held))
                held, weight = 0, 0.0
        if held and out:  # too few to stand alone: they join the step before
            before, bits = out.pop()
            size = round((before - (out[-1][0] if out else 0.0)) * n)
            held, weight = held + size, weight + size * bits
        if held:
            out.append((1.0, weight / held))
        return tuple(out)

    def _sizes(self) -> list[int | None]:
        """Return the records of each part: as published, else as counted in the data."""
        published = [cell.evidence.size for cell in self.model.cells]
        if self.rows is None or all(size is not None for size in published):
            return published
        counted = np.bincount(self.rows, minlength=len(published))
        return [int(counted[i]) if size is None else size for i, size in enumerate(published)]

    def _compare_with_data(self) -> None:
        if self.rows is None or self.model.approximate:
            return
        counted = np.bincount(self.rows, minlength=len(self.model.cells))
        published = [cell.evidence.size for cell in self.model.cells]
        differ = sum(size is not None and size != counted[i] for i, size in enumerate(published))
        if differ:
            self.notes.append(
                f"The data are not the training records: {differ} of {len(published)} parts capture another number "
                "of them than the model says."
            )

    # Subgroups and single records

    def _subgroups(self) -> Outcome[tuple[SubgroupFinding, ...]]:
        if self.known is None:
            return NotApplicable("no domain was given.")
        found: list[SubgroupLeakage] = []
        try:
            found += self.known.by_label(domain_aware=True)
        except (UndefinedMeasureError, CountingLimitError) as error:
            if self.frame is None:
                return NotApplicable(str(error))
        if self.columns is not None:
            try:
                found += self.known.by_subgroup(self.frame, self._grouping(), domain_aware=True)
            except CountingLimitError as error:
                return Failed(str(error))
        kept = tuple(
            SubgroupFinding(
                attribute=group.attribute,
                value=group.value,
                size=self._count(group.size),
                bits_mean=group.bits_mean,
                bits_largest=group.bits_largest,
            )
            for group in found
            if group.size >= self.below and math.isfinite(group.bits_mean)
        )
        if len(kept) < len(found):
            self.notes.append(f"{len(found) - len(kept)} subgroups of fewer than {self.below} records are not shown.")
        return Measured(kept)

    def _grouping(self) -> list[str]:
        """Return the sensitive attribute, and the categories and binaries of few values."""
        names = [] if self.sensitive is None else [self.sensitive]
        for name in self.domain or ():
            attribute = self.domain[name] if self.domain is not None else None
            few = isinstance(attribute, Binary | Category) and (attribute.size or 0) <= MOST_SUBGROUP_VALUES
            if few and name in (self.columns or {}) and name not in names:
                names.append(name)
        return [name for name in names if name in (self.columns or {})]

    def _exposed_rows(self, learned: Sequence[float] | None) -> Outcome[tuple[int, ...]]:
        if self.rows is None:
            return NotApplicable("no data were given, so there are no rows to name.")
        if learned is None:
            return NotApplicable("reconstruction was not measured.")
        bits = np.array(learned)[self.rows]
        sizes = np.bincount(self.rows, minlength=len(learned))[self.rows]
        order = np.lexsort((np.arange(len(bits)), sizes, -bits))
        # by number: the order of exposure would tell where one part ends, hence its size
        return Measured(tuple(sorted(int(row) for row in order[:MOST_EXPOSED])))

    def _alignment(self) -> Outcome[ErrorEstimate]:
        if self.frame is None:
            return NotApplicable("no data were given to compare the reconstruction with.")
        if self.known is None:
            return NotApplicable("no domain was given.")
        try:
            return Measured(self.known.error_to(self.frame, n_draws=3, max_records=500, random_state=0))
        except (UndefinedMeasureError, InvalidDataError) as error:
            return NotApplicable(str(error))
        except CountingLimitError as error:
            return Failed(str(error))

    # The policy

    def _check_leaves(self, sizes: Sequence[int | None], labels: Outcome[LabelDisclosure]) -> list[Check]:
        checks = []
        noun, nouns = ("leaf", "leaves") if isinstance(self.model, DecisionTree) else ("rule", "rules")
        limit = self.policy.smallest_leaf
        if limit is not None:
            held = [size for size in sizes if size]
            small = sum(size < limit for size in held)
            if any(size is None for size in sizes):
                meaning = "The model does not publish how many records each part captured. Give the data to judge it."
                checks.append(
                    Check(rule="smallest_leaf", limit=limit, measured=None, status="unknown", meaning=meaning)
                )
            else:
                meaning = f"{small} of {len(held)} {nouns} were made from fewer than {limit} people."
                checks.append(
                    Check(
                        rule="smallest_leaf",
                        limit=limit,
                        measured=self._count(min(held, default=0)),
                        status="broken" if small else "kept",
                        meaning=meaning if small else f"Every {noun} was made from at least {limit} people.",
                    )
                )
        top = self.policy.purest_leaf
        if top is not None:
            purities = [cell.evidence.purity for cell in self.model.cells if cell.evidence.size != 0]
            known = [p for p in purities if p is not None]
            pure = sum(p > top for p in known)
            if known:
                meaning = (
                    f"In {pure} of {len(known)} {nouns} more than {top:.0%} have the same outcome: who is known to "
                    "fall there has a known outcome."
                    if pure
                    else f"No {noun} has more than {top:.0%} of one outcome."
                )
                checks.append(
                    Check(
                        rule="purest_leaf",
                        limit=top,
                        measured=self._purity(max(known)),
                        status="broken" if pure else "kept",
                        meaning=meaning,
                    )
                )
            else:
                reason = labels.reason if isinstance(labels, NotApplicable | Failed) else ""
                meaning = f"No share of an outcome is published: {reason}"
                checks.append(Check(rule="purest_leaf", limit=top, measured=None, status="kept", meaning=meaning))
        return checks

    def _check_bits(self, learned: Sequence[float] | None, sizes: Sequence[int | None]) -> list[Check]:
        limit = self.policy.largest_bits_per_record
        if limit is None:
            return []
        if learned is None:
            meaning = "What is learned about a record was not measured: it needs a domain."
            return [
                Check(rule="largest_bits_per_record", limit=limit, measured=None, status="unknown", meaning=meaning)
            ]
        held = [bits for bits, size in zip(learned, sizes, strict=True) if size != 0]
        largest = max(held, default=0.0)
        if math.isinf(largest):
            meaning = "A part holds records where the domain allows none: the domain contradicts the model."
            return [
                Check(rule="largest_bits_per_record", limit=limit, measured=None, status="unknown", meaning=meaning)
            ]
        left = f"all but one in {2**largest:,.0f} of the possible records" if largest < 50 else "nearly every record"
        return [
            Check(
                rule="largest_bits_per_record",
                limit=limit,
                measured=round(largest, 3),
                status="broken" if largest > limit else "kept",
                meaning=f"Of the most exposed person a reader can rule out {left}.",
            )
        ]

    def _check_values(self, values: ValueLeakage) -> list[Check]:
        checks = []
        limit = self.policy.thresholds_off_grid
        if limit is not None:
            if values.n_off_grid is None:
                status: Any = "unknown" if values.n_thresholds else "kept"
                meaning = "Which thresholds are public was not measured: it needs a domain."
                meaning = meaning if values.n_thresholds else "The model has no threshold on a number."
            else:
                status = "broken" if values.n_off_grid > limit else "kept"
                meaning = (
                    f"{values.n_off_grid} of {values.n_thresholds} thresholds are not public cut points, so they were "
                    "taken from training values."
                    if values.n_off_grid
                    else "Every threshold is a public cut point."
                )
            measured = values.n_off_grid if values.n_thresholds else 0
            checks.append(
                Check(rule="thresholds_off_grid", limit=limit, measured=measured, status=status, meaning=meaning)
            )
        limit = self.policy.midpoints
        if limit is not None and values.n_midpoints is not None:
            meaning = (
                f"{values.n_midpoints} thresholds are, bit for bit, the midpoint of two training values."
                if values.n_midpoints
                else "No threshold is the midpoint of two training values."
            )
            status = "broken" if values.n_midpoints > limit else "kept"
            checks.append(
                Check(rule="midpoints", limit=limit, measured=values.n_midpoints, status=status, meaning=meaning)
            )
        return checks

    # What the findings show

    def _count(self, value: int) -> Count:
        return f"<{self.below}" if 0 < value < self.below else value

    def _purity(self, value: float) -> float:
        return value if not self.below or value == 1 else math.floor(value * 20) / 20

    def _hide_label_counts(self, labels: Outcome[LabelDisclosure]) -> Outcome[LabelDisclosure]:
        if not isinstance(labels, Measured) or not self.below:
            return labels
        entry = labels.value
        rounded = {
            name: round(getattr(entry, name), 2) for name in ("guess_rate", "base_rate", "bits_prior", "bits_left")
        }
        return Measured(
            replace(entry, purest=self._purity(entry.purest), n_certain=self._count(int(entry.n_certain)), **rounded)
        )

    def _hide_value_counts(self, values: ValueLeakage) -> ValueLeakage:
        exposed = values.n_records_at_midpoints
        return replace(
            values,
            n_records_at_midpoints=None if exposed is None else self._count(int(exposed)),
            n_lone_targets=self._count(int(values.n_lone_targets)),
        )

    def _parts(self, learned: Sequence[float] | None, sizes: Sequence[int | None]) -> tuple[Part, ...]:
        hidden = _hidden(sizes, self.below)
        parts = []
        for i, cell in enumerate(self.model.cells):
            evidence, size = cell.evidence, sizes[i]
            bits = None if learned is None else learned[i]
            flags = []
            if size and self.policy.smallest_leaf is not None and size < self.policy.smallest_leaf:
                flags.append("small")
            if evidence.purity is not None and size and evidence.purity > (self.policy.purest_leaf or 1):
                flags.append("pure")
            limit = self.policy.largest_bits_per_record
            if bits is not None and math.isinf(bits):
                flags.append("empty")
            elif bits is not None and size != 0 and limit is not None and bits > limit:
                flags.append("exposed")
            counts = evidence.counts
            show = counts is not None and not hidden[i] and all(c == 0 or c >= self.below for c in counts)
            shown_size: Count | None = size
            if hidden[i]:
                shown_size = f"<{self.below}" if size and size < self.below else "hidden"
            purity = evidence.purity
            if purity is not None and not show:
                purity = None if hidden[i] else self._purity(purity)
            parts.append(
                Part(
                    number=i + 1,
                    condition=self._condition(i),
                    size=shown_size,
                    counts=tuple(counts) if show and counts is not None else None,
                    prediction=self._prediction(i),
                    purity=purity,
                    bits_learned=None if bits is None or math.isinf(bits) else bits,
                    flags=tuple(flags),
                )
            )
        return tuple(parts)

    def _condition(self, index: int) -> str:
        cell = self.model.cells[index]
        return conjunction_text(cell.inside, DIGITS) or ("otherwise" if cell.outside else "every record")

    def _prediction(self, index: int) -> str | None:
        evidence, classes = self.model.cells[index].evidence, self.model.classes
        if classes is None:
            return None if evidence.value is None else f"{evidence.value:.{DIGITS}g}"
        label = evidence.prediction
        return None if label is None else str(classes[label])

    def _model_summary(self) -> ModelSummary:
        model = self.model
        kind = "rule list"
        if isinstance(model, DecisionTree):
            kind = "decision tree" if model.classes is not None else "regression tree"
        return ModelSummary(
            kind=kind,
            source=model.source,
            n_parts=len(model.cells),
            depth=max(len(cell.inside) for cell in model.cells),
            n_records=model.n_records,
            classes=None if model.classes is None else tuple(str(c) for c in model.classes),
            attributes=attributes_of(model.literals),
            approximate=model.approximate,
        )

    def _domain_summary(self) -> DomainSummary | None:
        if self.domain is None:
            return None
        sizes = [self.domain.size(domain_aware=aware) for aware in (False, True)]
        bits = [None if size is None else math.log2(size) for size in sizes]
        return DomainSummary(
            n_attributes=len(self.domain),
            n_groups=len(self.domain.groups),
            inferred=tuple(name for name in self.domain if self.domain[name].inferred),
            bits_independent=bits[0],
            bits_domain_aware=bits[1],
        )


def _only(columns: Mapping[str, npt.NDArray[Any]], names: Sequence[str]) -> Any:
    import polars as pl

    return pl.DataFrame(
        {
            name: [None if gap else value for value, gap in zip(column.tolist(), is_missing(column), strict=True)]
            for name in names
            for column in [columns[name]]
        },
        strict=False,
    )


def _hidden(sizes: Sequence[int | None], below: int) -> list[bool]:
    """Which sizes to hide: the small ones, and the next smallest if one alone could be had by subtraction."""
    hidden = [size is not None and 0 < size < below for size in sizes]
    if sum(hidden) == 1:
        others = [(size, i) for i, size in enumerate(sizes) if size and not hidden[i]]
        if others:
            hidden[min(others)[1]] = True
    return hidden


def _shape(model: DecisionTree | RuleList) -> tuple[TreeNode, ...]:
    if not isinstance(model, DecisionTree):
        return ()
    part_of = {cell.node: i for i, cell in enumerate(model.cells, start=1)}
    out: list[TreeNode] = []
    stack: list[tuple[int, int | None, str]] = [(0, None, "")]
    while stack:
        index, parent, condition = stack.pop()
        out.append(TreeNode(parent=parent, condition=condition, part=part_of.get(index)))
        here = len(out) - 1
        for branch in reversed(model.nodes[index].branches):
            stack.append((branch.child, here, branch.literal.text(DIGITS)))
    return tuple(out)


def _verdict(checks: Sequence[Check]) -> Verdict:
    if any(check.status == "broken" for check in checks):
        return "outside policy"
    if not checks or any(check.status == "unknown" for check in checks):
        return "could not tell"
    return "within policy"


def _advice(checks: Sequence[Check], domain: Domain | None, model: DecisionTree | RuleList) -> tuple[str, ...]:
    broken = {check.rule for check in checks if check.status == "broken"}
    unknown = {check.rule for check in checks if check.status == "unknown"}
    out = []
    if "smallest_leaf" in broken:
        out.append(
            "Merge small leaves (`glassine scrub --smallest-leaf 10`), or learn again with min_samples_leaf."
            if isinstance(model, DecisionTree)
            else "Learn again with a larger minimum support, or drop the rules that capture few records."
        )
    if "purest_leaf" in broken:
        out.append("Publish labels without counts (`glassine scrub --counts remove`), or merge the pure leaves.")
    if "largest_bits_per_record" in broken:
        out.append("Learn a shallower model: every condition on a path tells more about those who took it.")
    if broken & {"thresholds_off_grid", "midpoints"}:
        out.append("Round thresholds to public cut points (`glassine scrub`); it rarely costs accuracy.")
    if unknown and domain is None:
        out.append("Give a domain (`--domain`): start from `glassine domain infer` and replace what the data told.")
    elif domain is not None and domain.inferred:
        out.append("Replace the inferred bounds and categories of the domain by public ones.")
    return tuple(out)
