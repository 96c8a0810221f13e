"""Policies: the limits that a published model must meet, and the verdict on what was measured."""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from glassine.attacks.outcome import Measured, Outcome
from glassine.auditing.criteria import AnyCriterion, Limits
from glassine.auditing.criterion import CUT_POINTS, DOMAIN, Check, PartFacts, Remedies, Remedy, joined, remedy
from glassine.auditing.evidence import Evidence, Kind
from glassine.auditing.findings.guarantee import GuaranteeFinding
from glassine.auditing.findings.membership import MembershipFinding
from glassine.auditing.findings.values import Verdict
from glassine.auditing.membership_criteria import attack_bounds
from glassine.auditing.suppression import Suppression
from glassine.errors import InvalidPolicyError, parameter, quoted
from glassine.files import read_text

__all__ = ["NAMED", "Policy", "advise", "contradiction", "decide", "flag_labels", "flags_of", "judge", "request"]

MOST_SUPPRESSED = 10**15
MOST_NAMES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy(Limits):
    """Limits that a published model must meet; None switches a check off.

    The first default is the rule of thumb of European output checking: at least ten units behind every figure
    (Guidelines for the checking of output based on microdata research, ESSNet SDC, 2010). The limits on membership and
    on thresholds are calibrated on measured harm: see the page on policies.

    Parameters
    ----------
    {limits}
    accept_guarantee : bool, default=False
        Whether the claim of a guarantee is believed. A model cannot prove it: check the certificate, or train the model
        yourself, before you say so.
    suppress_below : int, default=10
        Counts from 1 to just below this are not shown in findings and reports.

    Raises
    ------
    InvalidPolicyError
        If a limit is out of its range.

    Examples
    --------
    >>> Policy(purest_leaf=0.9).smallest_leaf
    10
    """

    accept_guarantee: bool = False
    suppress_below: int = 10

    def __post_init__(self) -> None:
        for name, criterion in _by_key(type(self)).items():
            value = getattr(self, name)
            if value is not None:
                criterion.limit.check(name, value)
        accept: object = self.accept_guarantee
        if not isinstance(accept, bool):
            raise InvalidPolicyError(f"{parameter('accept_guarantee')} is {quoted(accept)}. It must be true or false.")
        below: object = self.suppress_below
        if isinstance(below, bool) or not isinstance(below, int) or not 0 <= below <= MOST_SUPPRESSED:
            raise InvalidPolicyError(
                f"{parameter('suppress_below')} is {quoted(below)}. It must be a whole number of at least 0."
            )

    @property
    def name(self) -> str:
        """Name of the policy with these limits, such as ``default``; ``own`` where no named one has them."""
        limits = dataclasses.replace(self, accept_guarantee=False, suppress_below=10)
        return next((name for name, entry in NAMED.items() if entry.policy == limits), "own")

    @property
    def source(self) -> str:
        """The name of the policy, and where its limits come from."""
        return f"{self.name}: {NAMED[self.name].source if self.name in NAMED else OWN}"

    @classmethod
    def named(cls, name: str) -> Policy:
        """Return a named policy: ``default``, ``sacro`` or ``strict``.

        Raises
        ------
        InvalidPolicyError
            If there is none of this name.

        Examples
        --------
        >>> Policy.named("sacro").smallest_class_count
        10
        """
        if name not in NAMED:
            raise InvalidPolicyError(
                f"There is no policy named {quoted(name)}.", remedy=f"There are {', '.join(NAMED)}; or read a file."
            )
        return NAMED[name].policy

    @property
    def criteria(self) -> tuple[AnyCriterion, ...]:
        """What is judged, in order: a claimed guarantee first."""
        listed = [c for entry in dataclasses.fields(self) for c in entry.metadata.get("criteria", ())]
        return tuple(sorted(listed, key=lambda criterion: not criterion.of_claim))

    def criterion(self, name: str) -> AnyCriterion | None:
        """Return the criterion of a name; None where the policy has none."""
        return next((criterion for criterion in self.criteria if criterion.name == name), None)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Policy:
        """Read a policy from a TOML file; ``false`` switches a check off, and those left out keep their defaults.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read.
        InvalidPolicyError
            If it is not TOML, names an unknown check or sets an impossible limit.
        """
        text = read_text(path)
        try:
            entries = tomllib.loads(text)
        except (ValueError, RecursionError) as error:  # numbers of too many digits are plain value errors
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
            raise InvalidPolicyError(f"{os.fspath(path)} is not valid TOML: {reason}.") from None
        names = [entry.name for entry in dataclasses.fields(cls)]
        for key in entries:
            if key not in names:
                near = difflib.get_close_matches(key, names, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(names[:MOST_NAMES])} and more."
                raise InvalidPolicyError(f"Unknown check {key!r} in {os.fspath(path)}. {hint}")
        keys = _by_key(cls)
        limits: dict[str, Any] = {
            key: None if value is False and key in keys else value for key, value in entries.items()
        }
        return cls(**limits)

    def to_toml(self) -> str:
        """Return the policy as TOML text."""
        lines = []
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            lines.append(f"{entry.name} = {'false' if value is None else str(value).lower()}")
        return "\n".join(lines) + "\n"


def _by_key(policy: type[Policy]) -> dict[str, AnyCriterion]:
    """Return the criterion of each field that holds a limit."""
    return {
        entry.name: entry.metadata["criteria"][-1]
        for entry in dataclasses.fields(policy)
        if "criteria" in entry.metadata
    }


def _documented(policy: type[Policy]) -> str:
    """Return the limits as parameters of the docstring, by what their criteria say that they limit."""
    lines = []
    for name, criterion in _by_key(policy).items():
        whole = "int" if criterion.limit.whole else "float"
        lines.append(f"{name} : {whole} or None, default={criterion.limit.default!r}")
        lines += textwrap.wrap(criterion.words.measures, 112, initial_indent="    ", subsequent_indent="    ")
    return "\n    ".join(lines)


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A policy with the source of its limits, in a sentence."""

    policy: Policy
    source: str


OWN = "limits of the user's own."
NAMED = {
    "default": NamedPolicy(
        Policy(),
        "leaves of ten (European output checking); other limits calibrated on measured harm.",
    ),
    "sacro": NamedPolicy(
        Policy(
            smallest_leaf=10,
            smallest_class_count=10,
            zero_classes=0,
            degrees_of_freedom=10,
            largest_advantage=None,
            largest_measured_advantage=None,
            certain_by_membership=None,
            named_by_thresholds=None,
        ),
        "structural checks of SACRO-ML with the thresholds of ACRO's default.yaml: k-anonymity, small groups, class "
        "disclosure, degrees of freedom.",
    ),
    "strict": NamedPolicy(
        Policy(smallest_leaf=50, largest_advantage=0.05),
        "leaves of fifty, with a limit on the membership advantage that was measured for them.",
    ),
}
"""Policies by name."""

if Policy.__doc__:  # not where docstrings are left out
    Policy.__doc__ = Policy.__doc__.replace("{limits}", _documented(Policy))


EMPTY = "empty"
"""Flag of a part that no record of the domain can reach."""

PUBLIC_DOMAIN = remedy("Replace the inferred ranges and categories of the domain by public ones.")
PRIVATE_ADDITIVE = remedy(
    "A private additive model ({step}) has a guarantee, which covers these checks if you accept it.",
    "fit",
    python="`PrivateEBMClassifier`",
    model="additive",
)


def judge(policy: Policy, evidence: Evidence, suppression: Suppression) -> tuple[Check, ...]:
    """Return the checks of a policy: a claimed guarantee first, then by that guarantee or by what was measured."""
    out = []
    for criterion in policy.criteria:
        limit = getattr(policy, criterion.key) if criterion.stated is None else criterion.stated(evidence)
        check = None if limit is None else criterion.check(limit, evidence, suppression)
        if check is not None:
            out.append(check)
    return tuple(out)


def decide(checks: Sequence[Check]) -> Verdict:
    """Return the verdict: a failed check outweighs an unknown one, and no check at all leaves it open.

    A check that does not apply to the subject neither passes nor fails, and never blocks.
    """
    if any(check.status == "fail" for check in checks):
        return "outside policy"
    if not checks or any(check.status == "unknown" for check in checks):
        return "inconclusive"
    return "within policy"


def advise(policy: Policy, evidence: Evidence, checks: Sequence[Check]) -> tuple[Remedy, ...]:
    """Return what to do next: what helps where a check fails, then what to give where one is unknown.

    Records are not asked for where the guarantee is what needs attention, and a domain not where there is one.
    """
    failing = [check for check in checks if check.status == "fail"]
    open_ = [check for check in checks if check.status == "unknown"]
    out = [helpful for check in failing if (helpful := _remedy(policy, evidence, check)) is not None]
    guarantee = _about_guarantee(policy, evidence, failing, open_)
    out += guarantee
    for check in open_:
        helpful = _remedy(policy, evidence, check)
        if helpful is None or (evidence.has_domain and "domain" in helpful.parameters):
            continue
        if not guarantee or not {"data", "holdout"} & set(helpful.parameters):
            out.append(helpful)
    if evidence.domain_inferred and not any("domain" in entry.parameters for entry in out):
        out.append(PUBLIC_DOMAIN)
    if evidence.kind == "additive model" and evidence.guarantee is None and (failing or open_):
        out.append(PRIVATE_ADDITIVE)
    return tuple({entry.text: entry for entry in out}.values())


def _remedy(policy: Policy, evidence: Evidence, check: Check) -> Remedy | None:
    """Return what helps with a check that failed, or what to give for one that is unknown."""
    criterion = policy.criterion(check.rule)
    if criterion is None:
        return None
    listed: Remedies = criterion.remedies if check.status == "fail" else criterion.inputs
    general: Kind = "release" if evidence.kind == "release as published" else evidence.kind
    entry = listed.get(evidence.kind, listed.get(general))
    helpful = entry(check.limit) if callable(entry) else entry
    if helpful is DOMAIN and not evidence.has_data:
        helpful = CUT_POINTS  # a domain is drafted from records
    return None if helpful is None else replace(helpful, text=_addressed(helpful.text, evidence))


def _addressed(text: str, evidence: Evidence) -> str:
    """Return a remedy for the reader: without records, a request to the publisher for another model."""
    asking = "" if evidence.has_data else "ask the publisher to "
    for word in ("{Retrain}", "{retrain}"):
        said = f"{asking}retrain"
        text = text.replace(word, said[0].upper() + said[1:] if word[1].isupper() else said)
    return text.replace("{units}", evidence.counted)


def _about_guarantee(
    policy: Policy, evidence: Evidence, failing: Iterable[Check], open_: Iterable[Check]
) -> list[Remedy]:
    """Return what to do about a guarantee that is too weak, void or not accepted."""
    guarantee = evidence.guarantee
    if guarantee is None:
        return []
    claims = {criterion.name for criterion in policy.criteria if criterion.of_claim}
    if any(check.rule in claims or check.basis == "guarantee" for check in failing):
        most = policy.max_epsilon or guarantee.epsilon
        return [remedy(_addressed(f"{{Retrain}} with a smaller privacy budget: epsilon at most {most:g}.", evidence))]
    if guarantee.standing == "does not hold":
        return [remedy(_addressed("{Retrain} without what makes the guarantee void, so that it holds.", evidence))]
    if any(check.rule in claims for check in open_):
        return [
            remedy(
                "Glassine cannot verify this guarantee. Check the certificate and how the model was trained. If you "
                "trust both, set `accept_guarantee = true` in the policy."
            )
        ]
    return []


PERSONS = "Whether any person can have several training records. If so, the same counts in persons."


def request(policy: Policy, evidence: Evidence, checks: Sequence[Check]) -> tuple[str, ...]:
    """Return what to ask the publisher for, where the model alone leaves checks open; nothing where the model fails.

    A check of the file alone does not stand in the way: a clean copy is to be audited. Who has the training records
    need not ask.
    """
    about_records = evidence.kind in ("tree", "rule list", "additive model") and not evidence.covered
    of_file = {criterion.name for criterion in policy.criteria if criterion.of_file}
    failed = any(check.status == "fail" and check.rule not in of_file for check in checks)
    if evidence.has_data or not about_records or failed:
        return ()
    lacking = evidence.named.value.lacking if isinstance(evidence.named, Measured) else ()
    asked = []
    for check in checks:
        criterion = policy.criterion(check.rule) if check.status == "unknown" else None
        for text in () if criterion is None else criterion.requests:
            if lacking or "{lacking}" not in text:
                asked.append(text.format(part=evidence.part, lacking=joined(lacking) if lacking else ""))
    if checks and not evidence.people:
        asked.append(PERSONS)
    return tuple(dict.fromkeys(asked))


def flags_of(policy: Policy, part: PartFacts, suppression: Suppression) -> tuple[str, ...]:
    """Return which limits a part goes beyond, as far as that says nothing of a hidden size."""
    flags = []
    for criterion in policy.criteria:
        limit = None if criterion.flag is None else getattr(policy, criterion.key)
        if criterion.flag is not None and limit is not None and criterion.flag.raised(limit, part, suppression):
            flags.append(criterion.flag.name)
    if part.bits is not None and math.isinf(part.bits):
        flags.append(EMPTY)
    return tuple(flags)


def flag_labels(policy: Policy) -> dict[str, str]:
    """Return the words for each flag."""
    flags = [criterion.flag for criterion in policy.criteria if criterion.flag is not None]
    return {flag.name: flag.label for flag in flags} | {EMPTY: "no possible record"}


def contradiction(
    guarantee: GuaranteeFinding | None, membership: Outcome[MembershipFinding], *, people: bool = False
) -> str | None:
    """Return how attacks contradict a guarantee, if they do: a reason why it is void.

    Attacks on ``people`` say nothing against a guarantee for records: it allows k epsilon for a person with k records.
    """
    if guarantee is None or guarantee.caveats or not isinstance(membership, Measured):
        return None
    if people and guarantee.unit == "record":
        return None
    low = max((low for low, _ in attack_bounds(membership.value)), default=0.0)
    if not low > guarantee.ceiling + membership.value.explained:
        return None
    ceiling = guarantee.ceiling
    return f"contradicted by the data: a membership advantage of at least {low:.3g}, where it allows {ceiling:.3g}"
