"""One run of the audit: measure everything, judge it, and put the findings together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine import __version__
from glassine.attacks.labels import LabelDisclosure, disclose_labels
from glassine.attacks.outcome import Failed, Measured, NotApplicable, Outcome
from glassine.attacks.reconstruction.entropy import reconstruct
from glassine.attacks.values import ValueLeakage, leak_values, thresholds_of
from glassine.auditing.counted import COUNTED, CountedData, compare_counts
from glassine.auditing.describe import (
    LONGEST,
    describe_domain,
    describe_guarantee,
    describe_model,
    describe_noisy_parts,
    describe_parts,
    tree_shape,
)
from glassine.auditing.describe_membership import describe_membership
from glassine.auditing.disclosure import Exposure, Question, expose
from glassine.auditing.evidence import Certain, Evidence
from glassine.auditing.findings import (
    NO_HOLDOUT,
    OF_THE_MODEL,
    Findings,
    GuaranteeFinding,
    MembershipFinding,
    ReconstructionFinding,
    SubgroupFinding,
)
from glassine.auditing.inputs import check_sensitive, compare_with_data, on_shared
from glassine.auditing.judging import advise, contradiction, decide, judge
from glassine.auditing.model_facts import (
    MISMATCH,
    bits_of_cells,
    shares_of_cells,
    sizes_of_cells,
    thresholds_of_values,
)
from glassine.auditing.policy import Policy
from glassine.auditing.reconstruction import align, counted_model, exposed_rows, grouping, rebuilt, subgroups
from glassine.auditing.suppression import Suppression
from glassine.data.inference import columns as read_columns
from glassine.domain import Domain
from glassine.domain.literals import attributes_of
from glassine.errors import CountingLimitError, InvalidDataError
from glassine.models import DecisionTree, RuleList

__all__ = ["Measuring"]

CONFIDENCE = 0.99
"""Of each attack's interval: all six hold together with at least 94 %."""

MOST_NOTES = 20


class Measuring:
    """One run of the audit: the inputs, and the measures that several findings share.

    A ``public`` run is on a private model alone: what would be measured on records is not looked for.
    """

    def __init__(
        self,
        *,
        model: DecisionTree | RuleList,
        question: Question,
        domain: Domain | None,
        data: Any,
        counted: CountedData | None,
        target: str | None,
        holdout: Any,
        sensitive: str | None,
        policy: Policy,
        show_small_counts: bool,
        max_steps: int,
        public: bool,
        notes: list[str],
        progress: Callable[[str], None],
    ) -> None:
        self.model, self.policy, self.sensitive, self.progress = model, policy, sensitive, progress
        self.question, self.public = question, public
        self.shown = Suppression(0 if show_small_counts else policy.suppress_below)
        self.notes, self.frame = notes, data
        self.target, self.holdout, self.counted = target, holdout, counted
        self.columns: dict[str, npt.NDArray[Any]] | None = None if data is None else read_columns(data)
        self.rows: npt.NDArray[np.intp] | None = None if self.columns is None else model.apply(self.columns)
        if sensitive is not None and not public:
            check_sensitive(sensitive, domain, self.columns)
        if target is not None:
            self._check_target(target)
        self.domain = domain = _without(domain, target)
        self.guarantee = describe_guarantee(model, policy)
        self.accepted = self.guarantee is not None and self.guarantee.standing == "accepted"
        self.noise = self._noise()
        self.sizes = self._sizes()
        self.known = (
            None
            if domain is None
            else reconstruct(counted_model(model, self._looked, self.sizes), domain, max_steps=max_steps)
        )

    @property
    def _looked(self) -> bool:
        """Whether there are data, read or counted."""
        return self.rows is not None or self.counted is not None

    def _noise(self) -> str | None:
        """Return why the counts measure nothing, if they are noisy."""
        counted = any(cell.evidence.size is not None for cell in self.model.cells)
        noisy = self.guarantee is not None and self.guarantee.count_scale is not None
        return _noise_reason(self.guarantee) if self.guarantee is not None and noisy and counted else None

    def _check_target(self, name: str) -> None:
        if name in attributes_of(self.model.literals):
            raise InvalidDataError(f"the target {name!r} is an attribute that the model tests. Name what it predicts.")
        if self.columns is not None and name not in self.columns:
            raise InvalidDataError(f"the target {name!r} must be a column of the data. Check its name.")

    def run(self) -> Findings:
        """Measure everything, judge, and put the findings together."""
        membership = self._membership()
        self._contradict(membership)
        self.progress("counting possible records")
        learned, reconstruction = self._reconstruction()
        self.progress("reading labels and values")
        labels = disclose_labels(self.model) if self.noise is None else NotApplicable(self.noise)
        values = leak_values(self.model, self.domain, self.columns)
        strangers = self._compare_with_data()
        self._note_guarantee()
        self._note_sensitive(reconstruction)
        exposure = self._exposure(strangers)
        self.progress("looking at subgroups")
        subgroups = self._subgroups()
        unread = self._unread()
        rows = unread or exposed_rows(self.rows, learned, self.noise)
        self.progress("matching with the data")
        alignment = unread or align(self.known, self.frame, self.noise)
        evidence = self._evidence(learned, reconstruction, labels, values, strangers, membership, exposure)
        checks = judge(self.policy, evidence, self.shown)
        if self.noise is None:
            parts = describe_parts(self.model, self.policy, self.shown, learned, self.sizes)
        else:
            parts = describe_noisy_parts(self.model, Suppression(0) if self.accepted else self.shown, learned)
        return Findings(
            verdict=decide(checks),
            checks=checks,
            model=describe_model(self.model),
            domain=describe_domain(self.domain),
            policy=replace(self.policy, suppress_below=self.shown.below),
            reconstruction=reconstruction,
            labels=Measured(self.shown.labels(labels.value)) if isinstance(labels, Measured) else labels,
            values=Measured(self.shown.values(values)),
            subgroups=subgroups,
            exposed_rows=rows,
            alignment=alignment,
            sensitive=self.sensitive,
            parts=parts,
            tree=tree_shape(self.model),
            notes=self._shown_notes(),
            advice=advise(self.policy, evidence, checks),
            version=__version__,
            guarantee=self.guarantee,
            membership=membership,
            disclosure=exposure.finding,
        )

    def _evidence(
        self,
        learned: tuple[float, ...] | None,
        reconstruction: Outcome[ReconstructionFinding],
        labels: Outcome[LabelDisclosure],
        values: ValueLeakage,
        strangers: bool,
        membership: Outcome[MembershipFinding],
        exposure: Exposure,
    ) -> Evidence:
        """Return what was measured, as criteria read it."""
        unmeasured = "" if isinstance(reconstruction, Measured) else reconstruction.reason
        summary, certain = describe_domain(self.domain), exposure.certain
        mismatch = MISMATCH.format(parts=self._nouns[1]) if strangers else ""
        return Evidence(
            kind="tree" if isinstance(self.model, DecisionTree) else "rule list",
            guarantee=self.guarantee,
            sizes=sizes_of_cells(self.model, self.sizes, mismatch),
            shares=shares_of_cells(self.model, labels, self.noise),
            bits=bits_of_cells(
                learned,
                self.sizes,
                unmeasured,
                self._inferred(),
                None if summary is None else summary.bits_domain_aware,
            ),
            thresholds=thresholds_of_values(self.policy, values, self._inferred(numbers=True)),
            membership=membership,
            certain=Measured(Certain(n_people=certain.value, unsettled=exposure.doubt))
            if isinstance(certain, Measured)
            else certain,
            mismatch=mismatch,
            has_domain=self.domain is not None,
            domain_inferred=self.domain is not None and self.domain.inferred,
        )

    @property
    def _nouns(self) -> tuple[str, str]:
        return ("leaf", "leaves") if isinstance(self.model, DecisionTree) else ("rule", "rules")

    def _unread(self) -> NotApplicable | None:
        """Return why no single record is looked at; None if records are."""
        if self.public:
            return NotApplicable(OF_THE_MODEL)
        return None if self.counted is None else NotApplicable(COUNTED)

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
            finding = rebuilt(known, learned, self.sizes, self.shown) if self.noise is None else None
        except CountingLimitError as error:
            return None, Failed(str(error))
        self.notes += published
        self.notes += [f"with the domain's groups, {note}" for note in aware if note not in published]
        return learned, NotApplicable(self.noise or "") if finding is None else Measured(finding)

    def _sizes(self) -> list[int | None]:
        """Return the records of each part: as published, else as counted in the data.

        Rounded or noisy counts say nothing certain about the true ones: a published 0 may be 4.
        """
        published = [cell.evidence.size for cell in self.model.cells]
        exact = [size if self.model.counts_are_exact else None for size in published]
        if not self._looked or self.accepted or all(size is not None for size in exact):
            return exact
        counted = self._counts()
        if self.noise is None:
            self.notes.append("The model does not publish exact counts: they were counted in the data.")
        else:
            self.notes.append("The smallest leaf was judged by the data, not by the model's noisy counts.")
        return [int(counted[i]) if size is None else size for i, size in enumerate(exact)]

    def _counts(self) -> Sequence[int] | npt.NDArray[np.intp]:
        """Return how many records of the data each part captures."""
        if self.counted is not None:
            return self.counted.sizes
        return np.bincount([] if self.rows is None else self.rows, minlength=len(self.model.cells))

    def _inferred(self, *, numbers: bool = False) -> list[str]:
        """Return the tested attributes, or those with thresholds, whose domain was taken from data."""
        if self.domain is None:
            return []
        cut = [name for name, _ in thresholds_of(self.model, self.domain)]
        tested = cut if numbers else attributes_of(self.model.literals)
        return [name for name in dict.fromkeys(tested) if self.domain[name].inferred]

    def _note_sensitive(self, outcome: Outcome[ReconstructionFinding]) -> None:
        found = outcome.value.attributes if isinstance(outcome, Measured) else ()
        for entry in found:
            if entry.attribute == self.sensitive:
                self.notes.append(
                    f"{self.sensitive}: a reader learns {entry.bits_learned:.1f} bits about it on average, "
                    f"{entry.bits_largest:.1f} bits about the most exposed person."
                )

    def _note_guarantee(self) -> None:
        """Note that a claimed guarantee does not cover what was measured on records, and the true sizes beside it."""
        if self.guarantee is None or self.guarantee.caveats or not (self._looked or self.holdout is not None):
            return
        self.notes.append("The guarantee covers the model, not these findings: they were measured on the data.")
        if self.accepted and self._looked:
            held = [int(size) for size in self._counts() if size]
            smallest = self.shown.count(min(held, default=0))
            part = "leaf" if isinstance(self.model, DecisionTree) else "rule"
            self.notes.append(f"The smallest {part} that captures any record of the data captures {smallest}.")

    def _compare_with_data(self) -> bool:
        """Note records outside the domain; return whether the data are not the training records."""
        if self.counted is not None:
            return compare_counts(self.model, self.counted, self.shown, self.notes)
        if self.rows is None or self.columns is None:
            return False
        return compare_with_data(self.model, self.frame, self.columns, self.rows, self.domain, self.shown, self.notes)

    # Subgroups and single records

    def _subgroups(self) -> Outcome[tuple[SubgroupFinding, ...]]:
        if self.known is None:
            return NotApplicable("no domain was given.")
        if self.noise is not None:
            return NotApplicable(self.noise)
        names = grouping(self.sensitive, self.domain, self.columns or {})
        return subgroups(self.known, self.frame, names, self.shown, self.notes)

    # What a reader concludes about everybody

    def _exposure(self, strangers: bool) -> Exposure:
        """Infer the sensitive attribute that a tree predicts, from the leaves and from how it was built."""
        if self.public:
            return Exposure(finding=NotApplicable(OF_THE_MODEL), certain=NotApplicable(OF_THE_MODEL))
        hindrance = self.noise or ""
        if strangers:
            hindrance = MISMATCH.format(parts=self._nouns[1])
        return expose(self.question, self.frame, self.columns, self.shown, hindrance=hindrance, progress=self.progress)

    # Who was in the data

    def _membership(self) -> Outcome[MembershipFinding]:
        """Attack membership, with the attributes that the model knows and a fixed seed: an audit can be repeated."""
        if self.public:
            return NotApplicable(OF_THE_MODEL)
        if self.holdout is None:
            return NO_HOLDOUT
        if self.counted is not None:
            return NotApplicable(f"membership attacks read records, but {COUNTED}")
        if self.frame is None or self.target is None:
            return NotApplicable(
                "membership attacks need the data, the holdout and the name of the target (`--target`)."
            )
        if self.model.classes is None:
            return NotApplicable("membership attacks are made on classifiers; this model predicts a number.")
        # Its classifiers take a second to import.
        from glassine.attacks.membership.suite import attack_membership

        self.progress("attacking membership")
        members, others = on_shared(self.frame, self.holdout, (*self.model.attributes, self.target))
        found = attack_membership(
            self.model, members, self.target, others, self.target, confidence=CONFIDENCE, random_state=0
        )
        return Measured(describe_membership(found, self.shown))

    def _contradict(self, membership: Outcome[MembershipFinding]) -> None:
        """Take back what a guarantee answers where the attacks find more than it allows."""
        caveat = contradiction(self.guarantee, membership)
        if self.guarantee is None or caveat is None:
            return
        self.guarantee = replace(
            self.guarantee,
            caveats=(*self.guarantee.caveats, caveat),
            standing="does not hold",
            bits_per_record=None,
            bounds=(),
        )
        self.accepted = False
        self.noise, self.sizes = self._noise(), self._sizes()

    # What the findings show

    def _shown_notes(self) -> tuple[str, ...]:
        """Return the notes, of many the first, shortened."""
        notes = [note if len(note) <= LONGEST else f"{note[:LONGEST]}..." for note in self.notes]
        if len(notes) > MOST_NOTES:
            notes = [*notes[:MOST_NOTES], f"{len(notes) - MOST_NOTES} more notes of this kind are left out."]
        return tuple(notes)


def _noise_reason(guarantee: GuaranteeFinding) -> str:
    """Return why noisy counts measure nothing, and what limits them."""
    limits = (
        "nothing limits what they reveal" if guarantee.caveats else "if the guarantee holds, it limits what they reveal"
    )
    return f"the published counts are noisy (scale {guarantee.count_scale:g} records); {limits}."


def _without(domain: Domain | None, target: str | None) -> Domain | None:
    """Return the attributes that records have beside the target, which the model tells as an outcome."""
    if domain is None or target is None or target not in domain:
        return domain
    return domain.restrict([name for name in domain if name != target])
