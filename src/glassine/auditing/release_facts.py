"""What was measured of a release as evidence that criteria read, and what is claimed of its privacy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.attacks.values import ValueLeakage
from glassine.auditing.describe import describe_guarantee
from glassine.auditing.evidence import Bits, Certain, Evidence, Fact, Inapplicable, Parts, Shares, Sizes
from glassine.auditing.findings import GuaranteeFinding, MembershipFinding, TogetherFinding
from glassine.auditing.group_privacy import sizes_of
from glassine.auditing.model_facts import named_of_values, thresholds_of_values
from glassine.auditing.policy import Policy
from glassine.auditing.release_inputs import DECISIONS, Leaves, ReleaseInputs

__all__ = ["claimed", "evidence_of_release", "guarantee_of"]

NO_RECORDS = Inapplicable("The release was made without any person's record.")
DECIDED = Inapplicable(
    "The trees were trained on the black box's decisions, which anyone can ask for together with a record."
)
OF_BLACK_BOX = NotApplicable(
    "the black box's decisions were not looked at, and they may reveal its training records. Audit the black box."
)


def guarantee_of(inputs: ReleaseInputs, policy: Policy) -> GuaranteeFinding | None:
    """Return the differential privacy that is claimed for the release as a whole; None where none is."""
    release = inputs.release
    certificate = release.certificate
    if certificate is None or not certificate.holds or release.provenance.partition != "public":
        return None
    return describe_guarantee(release.trees[0], policy)


def claimed(inputs: ReleaseInputs) -> str:
    """Return what is claimed of the privacy of a release, in words."""
    certificate = inputs.release.certificate
    if certificate is None:
        return "No differential privacy is claimed."
    if not certificate.holds:
        why = "; ".join(caveat.removeprefix("not private: ") for caveat in certificate.caveats)
        return f"No differential privacy is claimed for the release: {why}."
    return (
        f"Differential privacy with epsilon {certificate.epsilon:g}"
        + (f" and delta {certificate.delta:g}" if certificate.delta else "")
        + f" is claimed, neighbors being data sets that differ by {certificate.neighboring}."
    )


def evidence_of_release(
    inputs: ReleaseInputs,
    leaves: Leaves | None,
    policy: Policy,
    *,
    values: ValueLeakage,
    together: Outcome[TogetherFinding],
    membership: Outcome[MembershipFinding],
    guarantee: GuaranteeFinding | None,
    codes: npt.NDArray[np.int64] | None,
) -> Evidence:
    """Return what was measured of a release as a whole.

    Parameters
    ----------
    known, leaves
        The release, and who is behind it, as far as that is known.
    policy : Policy
        The limits.
    values, together, membership, guarantee
        What was measured, and what is claimed.
    codes : ndarray of int, shape (n,), or None
        The sensitive attribute of each person, as classes; None where none is named, or the people are not known.
    """
    domain = inputs.release.domain
    inferred = tuple(name for name in domain if domain[name].inferred)
    published = inputs.release.provenance.form == "paper"
    evidence = Evidence(
        kind="release as published" if published else "release",
        guarantee=guarantee,
        thresholds=NO_RECORDS if inputs.nobody else thresholds_of_values(policy, values, inferred),
        named=NO_RECORDS if inputs.nobody else Measured(named_of_values(values, inferred)),
        has_data=not inputs.nobody and leaves is not None,
        domain_inferred=domain.inferred,
    )
    if evidence.covered:
        named = Measured(named_of_values(values, inferred))
        return replace(evidence, thresholds=thresholds_of_values(policy, values, inferred), named=named)
    if inputs.nobody:
        return replace(
            evidence,
            sizes=NO_RECORDS,
            shares=NO_RECORDS,
            bits=NO_RECORDS,
            membership=OF_BLACK_BOX,
            certain=OF_BLACK_BOX,
        )
    groups = sizes_of(inputs, leaves)
    return replace(
        evidence,
        groups=_sizes(inputs, Parts("group", "groups", () if groups is None else _held(groups))),
        declared_k=inputs.release.k,
        sizes=_sizes(inputs, Parts("leaf", "leaves", () if leaves is None else _held(leaves.sizes))),
        shares=_shares(inputs, leaves),
        bits=_bits(together),
        membership=membership,
        certain=_certain(inputs, codes),
    )


def _held(sizes: npt.NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(sizes[sizes > 0].tolist())


def _sizes(inputs: ReleaseInputs, parts: Parts) -> Fact[Sizes]:
    if not parts.sizes:
        return NotApplicable(inputs.lacking or "no record is behind the release.")
    return Measured(Sizes(parts=(parts,)))


def _shares(inputs: ReleaseInputs, leaves: Leaves | None) -> Fact[Shares]:
    """Return the largest share of one true label in each leaf; trees on decisions publish no label."""
    if inputs.kind == DECISIONS:
        return DECIDED
    if leaves is None or leaves.counts is None:
        return NotApplicable(inputs.lacking or "the true labels of the training records were not passed.")
    occupied = leaves.sizes > 0
    shares = (leaves.counts[occupied].max(axis=1) / leaves.sizes[occupied]).tolist()
    return Measured(Shares(bounds=tuple((share, share) for share in shares), outcome="one true label"))


def _bits(together: Outcome[TogetherFinding]) -> Fact[Bits]:
    """Return the bits about the attributes of the most exposed record, its group being known."""
    if not isinstance(together, Measured):
        return together
    largest = together.value.bits_largest
    return Measured(Bits(lower=largest, upper=largest))


def _certain(inputs: ReleaseInputs, codes: npt.NDArray[np.int64] | None) -> Fact[Certain]:
    """Return the people, or records, whose group has one sensitive value."""
    if inputs.groups is None or codes is None:
        return NotApplicable(inputs.lacking or "no sensitive attribute was named.")
    if inputs.people is None:
        return NotApplicable(inputs.lacking)
    single = np.array([len(np.unique(codes[inputs.groups == g])) == 1 for g in range(inputs.release.n_groups)])
    return Measured(Certain(number=int(inputs.people.counts(np.where(single[inputs.groups], 0, -1), 1)[0])))
