"""Judging: one way from evidence and a policy to checks, a verdict and advice, for every kind of subject."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from glassine.attacks.outcome import Measured, NotApplicable, Outcome
from glassine.auditing.criterion import (
    APART,
    ASKED_WITHOUT,
    CLASSED,
    COUNTED,
    COUNTED_BY_CLASS,
    COUNTED_TOGETHER,
    COUNTS,
    CUT_POINTS,
    DECLARED,
    DESCRIBED,
    DOMAIN,
    FEWER_TABLES,
    HELD_OUT,
    IF_PUBLIC,
    JOINED,
    MATCHING,
    MATCHING_ALL,
    MODELS,
    MORE_HELD_OUT,
    NAMING,
    OF_FITS,
    PROVING,
    SAME_RECORDS,
    STATED_ERRORS,
    STATED_FAMILY,
    STATED_FIT,
    STATED_NUMBER,
    STATED_RATES,
    UNCALIBRATED,
    WITHOUT,
    Check,
    PartFacts,
    Remedies,
    joined,
)
from glassine.auditing.facts import Case, Kind
from glassine.auditing.findings.guarantee import GuaranteeFinding
from glassine.auditing.findings.membership import MembershipFinding
from glassine.auditing.findings.policies import PolicyFinding
from glassine.auditing.findings.values import Verdict
from glassine.auditing.inference_criteria import ROUNDED, UNROUNDED
from glassine.auditing.membership_criteria import (
    NO_CLASS,
    NO_DOMAIN,
    OTHER_CLASS,
    TO_STATE,
    attack_bounds,
)
from glassine.auditing.output_criteria import CLEAN_COPY, LOOK_THROUGH
from glassine.auditing.policy import NAMED, Policy
from glassine.auditing.remedy import Remedy, Retraining, in_one_copy, remedy
from glassine.auditing.suppression import Suppression
from glassine.data.deviations import LINES
from glassine.errors import Text, first_of
from glassine.resources import current

OF_LEAVES: tuple[Kind, ...] = ("tree", "rule list")
EMPTY = "empty"
"""Flag of a part that no record of the domain can reach."""

ASKED_CLAIM = remedy(
    "This copy names a private learner and states no guarantee. Audit the file that was released with its certificate: "
    "the guarantee covers these checks if you accept it."
)
ASKED_PRIVATE = remedy(
    "Ask the publisher for a private additive model: it has a guarantee, which covers these checks if you accept it."
)
PUBLIC_DOMAIN = remedy(
    "Replace the inferred ranges and categories of {step} by public ones.",
    "domain",
    python="the domain (`glassine.data.infer_domain` drafts one)",
    plain="Replace the inferred ranges and categories of the domain by public ones.",
)
UNMERGED = remedy("{Retrain} with more records: there is one {part}, which cannot be merged with another.")
PRIVATE_ADDITIVE = remedy(
    "Train a private additive model: {step}. It has a guarantee, which covers these checks if you accept it.",
    "fit",
    python="`PrivateEBMClassifier`",
    retraining=Retraining("", {"epsilon": 1.0}),
    model="additive",
)


def judge(policy: Policy, case: Case, suppression: Suppression) -> tuple[Check, ...]:
    """Return the checks of a policy: a claimed guarantee first, then by that guarantee or by what was measured."""
    out, case = (
        [],
        replace(case, limits={one.key: getattr(policy, one.key) for one in policy.criteria if not one.stated}),
    )
    for criterion in policy.criteria:
        limit = case.measured(criterion.stated) if criterion.stated else getattr(policy, criterion.key)
        check = None if limit is None else criterion.check(limit, case, suppression)
        if check is not None:
            out.append(check)
    if unfinished := case.measured("unfinished"):
        reason, titles = unfinished
        meaning = Text(f"Not measured: {first_of(titles)}, as {reason}")
        out.append(Check(rule="cpu_limit", limit=current().seconds, status="unknown", meaning=meaning))
    return tuple(out)


def judge_named(
    case: Case, suppression: Suppression, policy: Policy, judged: tuple[Check, ...]
) -> tuple[PolicyFinding, ...]:
    """Return how each named policy judges the same facts, of which one did, and what keeps the subject from it."""
    out = []
    for name, entry in NAMED.items():
        checks = judged if entry.policy is policy else judge(entry.policy, case, suppression)
        odd = [check for status in ("fail", "unknown") for check in checks if check.status == status]
        remedy = _remedy(entry.policy, case, odd[0]) if odd else None
        out.append(
            PolicyFinding(
                name=name, verdict=decide(checks), against=tuple(check.meaning for check in odd), remedy=remedy
            )
        )
    return tuple(out)


def decide(checks: Sequence[Check]) -> Verdict:
    """Return the verdict: a failed check outweighs an unknown one, and no check at all leaves it open."""
    # A check that does not apply to the subject neither passes nor fails, and never blocks.
    if any(check.status == "fail" for check in checks):
        return "outside policy"
    if not checks or any(check.status == "unknown" for check in checks):
        return "inconclusive"
    return "within policy"


def advise(policy: Policy, case: Case, checks: Sequence[Check]) -> tuple[Remedy, ...]:
    """Return what to do next: what helps where a check fails, then what to give where one is unknown.

    Records are not asked for where the guarantee is what needs attention, and a domain not where there is one.
    Scrubbing needs a public domain, so that it comes before.
    """
    failing = [check for check in checks if check.status == "fail"]
    open_ = [check for check in checks if check.status == "unknown"]
    out = [_recoded(case)] if case.odd else []
    if (failing or open_) and case.guarantee is None and case.measured("unclaimed") and not case.retrainable:
        out.append(ASKED_CLAIM)
    if not failing and [check.rule for check in open_] == ["named_by_thresholds"] and not _knows_cuts(case):
        named = case.measured("named")
        out += [] if named is None or named.unround else [IF_PUBLIC]
    guarantee = _about_guarantee(policy, case, failing, open_)
    # What is merged by counts of the records makes a guarantee void, which covers it where it is accepted.
    kept = (case.has_data or bool(case.mismatch)) and any(entry.action == "accept" for entry in guarantee)
    # A copy keeps a guarantee that is too weak or void: the model is trained again, and no copy is made before.
    again = any(entry.retraining is not None for entry in guarantee)
    helps = (helpful for check in failing if (helpful := _remedy(policy, case, check)) is not None)
    out += [
        helpful
        for helpful in helps
        if not (kept and "smallest_leaf" in helpful.parameters) and not (again and helpful.action == "scrub")
    ]
    out += guarantee
    for check in open_:
        helpful = _remedy(policy, case, check)
        if helpful is None or (case.has_domain and "domain" in helpful.parameters):
            continue
        if case.odd and "holdout" in helpful.parameters:
            continue  # no attack is made on records that hold what the domain does not declare
        if not guarantee or not {"data", "holdout"} & set(helpful.parameters):
            out.append(helpful)
    of_domain = [entry for entry in out if "domain" in entry.parameters]
    scrubs = any(entry.action == "scrub" for entry in out)
    if not of_domain and case.domain_inferred:
        of_domain = [PUBLIC_DOMAIN]
        out += of_domain
    elif not of_domain and scrubs and not case.has_domain:
        of_domain = [DESCRIBED]
    if scrubs:
        out = [*of_domain, *(entry for entry in out if entry not in of_domain)]
    if case.kind == "additive model" and case.guarantee is None and (failing or open_):
        private = PRIVATE_ADDITIVE if case.has_data or case.retrainable else ASKED_PRIVATE
        out += [private] if private is PRIVATE_ADDITIVE or ASKED_CLAIM not in out else []
    return in_one_copy({entry.text: entry for entry in out}.values())


def recoded(columns: Sequence[str], *, declared: bool, released: bool = False) -> Remedy:
    """Return what comes before all other advice where records hold what the domain does not declare."""
    if LINES in columns:
        # What stands in a wrong column is a value that is not declared, and need not be recoded.
        mend = "Mend the lines of the file that are not as its header says."
        if not declared or released:
            return remedy(mend)
        return remedy(
            f"{mend} To list their rows: {{step}}.", "check", python="`glassine.data.violations(domain, data)`"
        )
    if released:
        return remedy(f"Recode {first_of(columns)} in the records as the release declares.")
    plain = f"Recode {first_of(columns)} in the records as the domain declares, or correct the domain."
    if not declared:
        return remedy(f"Recode {first_of(columns)} in the records as the model tests it.")
    return remedy(
        f"{plain} To list the rows: {{step}}.", "check", python="`glassine.data.violations(domain, data)`", plain=plain
    )


def _remedy(policy: Policy, case: Case, check: Check) -> Remedy | None:
    """Return what helps with a check that failed, or what to give for one that is unknown."""
    criterion = policy.criterion(check.rule)
    if criterion is None:
        return None
    listed: Remedies = criterion.remedies if check.status == "fail" else criterion.inputs
    general: Kind = "release" if case.kind == "release as published" else case.kind
    entry = listed.get(case.kind, listed.get(general))
    helpful = entry(check.limit) if callable(entry) else entry
    fitted, files = case.measured("fitted"), case.measured("files")
    if helpful is not None and helpful is ROUNDED.get(case.kind) and _rounds_nothing(case):
        helpful = PUBLIC_DOMAIN
    elif helpful is DOMAIN and not _knows_cuts(case):
        helpful = CUT_POINTS  # a domain is drafted from records
    elif helpful in (COUNTED, STATED_FIT) and (case.mismatch or case.contrary):
        helpful = _recoded(case) if case.odd else _matching(case)
    elif helpful is HELD_OUT and check.meaning in (case.mismatch or None, case.contrary or None):
        helpful = _matching(case)
    elif case.unconfirmed and check.meaning == case.unconfirmed:
        helpful = STATED_NUMBER
    elif check.rule == "fitted_values" and helpful is COUNTED and case.has_data and fitted and fitted.by_coefficients:
        helpful = JOINED  # the records and their outcomes were passed
    elif helpful is COUNTED and case.of_classes and (case.has_data or case.kind in OF_LEAVES):
        helpful = CLASSED if case.has_data else COUNTED_BY_CLASS
    elif helpful is STATED_FIT and case.lacks is not None and "n_records" not in case.lacks:
        of_fit = {"errors": STATED_ERRORS, "family": STATED_FAMILY}.get(next(iter(case.lacks), ""), STATED_RATES)
        helpful = FEWER_TABLES if case.kind == "several regressions" else of_fit if case.lacks else UNCALIBRATED
    elif helpful is HELD_OUT and case.measured("membership") is not None:
        helpful = MORE_HELD_OUT
    elif check.rule == "named_by_thresholds" and helpful is DOMAIN and case.has_domain and not case.domain_inferred:
        helpful = _matching(case) if case.mismatch else NAMING
    elif check.rule == "fitted_values" and helpful is COUNTED and not case.has_domain and fitted and fitted.declarable:
        helpful = DECLARED
    elif check.rule == "fitted_values" and (
        (helpful is WITHOUT and fitted is not None and fitted.by_coefficients)
        or (helpful is COUNTED and case.has_data and not case.mismatch)
    ):
        helpful = JOINED
    elif helpful is WITHOUT and not (case.has_data or fitted is None or fitted.with_errors):
        helpful = ASKED_WITHOUT
    elif (helpful is CLEAN_COPY or (helpful is not None and helpful.action == "scrub")) and any(
        file.uncopied for file in files or ()
    ):
        helpful = LOOK_THROUGH if helpful is CLEAN_COPY else UNROUNDED
    elif helpful is not None and case.indivisible and {"smallest_leaf", "largest_advantage"} & set(helpful.parameters):
        helpful = UNMERGED
    elif helpful is SAME_RECORDS and not case.mismatch:
        helpful = COUNTED_TOGETHER if case.countable else APART if case.has_data else PROVING
    elif check.rule == "largest_mean_advantage" and helpful is not None:
        helpful = _of_class(case, helpful)
    if helpful is None:
        return None
    if case.people and helpful.retraining is not None and "min_samples_leaf" in helpful.retraining.parameters:
        helpful = _in_people(helpful, helpful.retraining.piece)
    return replace(helpful, text=_addressed(helpful.text, case), plain=_addressed(helpful.plain, case))


def _recoded(case: Case) -> Remedy:
    declared = case.has_domain and not case.domain_inferred
    return recoded(case.odd, declared=declared, released=case.kind in ("release", "release as published"))


def _knows_cuts(case: Case) -> bool:
    """Return whether a domain or records show which cut points are public."""
    return case.has_domain or case.has_data or case.retrainable


def _rounds_nothing(case: Case) -> bool:
    """Return whether every threshold that is not public is a cut point of an inferred domain: rounding moves none."""
    thresholds = case.measured("thresholds")
    return thresholds is not None and 0 < thresholds.n_private == thresholds.n_inferred


def _matching(case: Case) -> Remedy:
    """Return which records are to be passed, and when none match."""
    return MATCHING if case.kind == "tree" else MATCHING_ALL


def _of_class(case: Case, helpful: Remedy) -> Remedy:
    """Return what helps where a class was stated in a public domain: what else is to be stated, or another class."""
    bounds = case.facts.get("capacity")
    if not isinstance(bounds, NotApplicable) or bounds.reason in (NO_CLASS, NO_DOMAIN):
        return helpful
    return TO_STATE.get(bounds.reason, OTHER_CLASS)


def _in_people(helpful: Remedy, piece: str) -> Remedy:
    """Return a remedy that names a leaf size for people: learners count records, of which one person may have many."""
    said = "on one record of each person, or with larger leaves"
    text, plain = (one.replace(f"with {piece}", said) for one in (helpful.text, helpful.plain))
    return replace(helpful, retraining=None, text=text, plain=plain)


def _addressed(text: str, case: Case) -> str:
    """Return a remedy for the reader, who asks the publisher for another model if only the model was given."""
    asking = "" if case.has_data or case.retrainable else "ask the publisher to "
    for word in ("{Retrain}", "{retrain}"):
        said = f"{asking}retrain"
        text = text.replace(word, said[0].upper() + said[1:] if word[1].isupper() else said)
    return text.replace("{units}", case.counted).replace("{part}", case.part)


def _about_guarantee(policy: Policy, case: Case, failing: Iterable[Check], open_: Iterable[Check]) -> list[Remedy]:
    """Return what to do about a guarantee that is too weak, void or not accepted."""
    guarantee = case.guarantee
    if guarantee is None:
        return []
    claims = {criterion.name for criterion in policy.criteria if criterion.of_claim}
    if weak := [check for check in failing if check.rule in claims or check.basis == "guarantee"]:
        limits = {check.rule.removeprefix("max_"): float(check.limit) for check in weak if check.rule in claims}
        limits = limits or {"epsilon": policy.max_epsilon or guarantee.epsilon}
        said = joined([f"{name} at most {most:g}" for name, most in limits.items()])
        text = _addressed(f"{{Retrain}} with a smaller privacy budget: {said}.", case)
        return [remedy(text, retraining=Retraining(said, limits))]
    if guarantee.standing == "does not hold":
        piece = "without what makes the guarantee void"
        return [remedy(_addressed(f"{{Retrain}} {piece}.", case), retraining=Retraining(piece))]
    if any(check.rule in claims for check in open_):
        trust = f"{UNVERIFIED} If you trust both, set"
        if case.retrainable:
            trust = "This policy does not accept guarantees. As you trained the model, you can set"
        return [
            remedy(
                f"{trust} `accept_guarantee = true` in the policy.",
                "accept",
                python="`Policy(accept_guarantee=True)`",
                plain=OF_THE_TRAINED if case.retrainable else OF_THE_SUBMITTED,
                accept_guarantee=True,
            )
        ]
    return []


UNVERIFIED = "Glassine cannot verify this guarantee. Check the certificate and how the model was trained."
OF_THE_SUBMITTED = (
    f"{UNVERIFIED} If you trust both, you can approve this file, and state that as the reason. Those who keep the "
    "policy can have it accept guarantees of all files."
)
"""How people without a shell, who cannot change the policy, accept the guarantee of a model that others trained."""
OF_THE_TRAINED = "This policy does not accept guarantees. Ask the people who keep it to have it accept them."

PERSONS = "Whether any person can have several training records."
IN_PERSONS = f"{PERSONS} If so, the same counts in persons."


def request(policy: Policy, case: Case, checks: Sequence[Check]) -> tuple[str, ...]:
    """Return what to ask the publisher for, where the model alone leaves checks open; nothing where the model fails.

    A check of the file alone does not stand in the way: a clean copy is to be audited. Who has the training records, or
    trained the model, need not ask. Of a private model no counts are asked for, which its guarantee would not cover.
    """
    about_records = case.kind in MODELS and not case.covered
    of_file = {criterion.name for criterion in policy.criteria if criterion.of_file}
    failed = any(check.status == "fail" and check.rule not in of_file for check in checks)
    if case.has_data or case.retrainable or not about_records or failed:
        return ()
    named = case.measured("named")
    lacking = () if named is None else named.lacking
    private = case.guarantee is not None and case.guarantee.standing == "not accepted"
    asked = []
    for check in checks:
        criterion = policy.criterion(check.rule) if check.status == "unknown" else None
        for text in () if criterion is None else criterion.requests:
            if text in (COUNTS, *OF_FITS.values()) and text != OF_FITS.get(case.kind, COUNTS):
                continue
            if (lacking or "{lacking}" not in text) and not (private and text == COUNTS):
                of_each = " of each class" if case.of_classes else ""
                asked.append(text.format(part=case.part, lacking=joined(lacking) if lacking else "", of_each=of_each))
    if checks and not case.people:
        asked.append(PERSONS if private else IN_PERSONS)
    return tuple(dict.fromkeys(asked))


def flagging(policy: Policy, suppression: Suppression) -> Callable[[PartFacts], tuple[str, ...]]:
    """Return what says which limits a part goes beyond, as far as that says nothing of a hidden size."""
    flags = [(one.flag, getattr(policy, one.key)) for one in policy.criteria if one.flag is not None]
    limited = [(flag, limit) for flag, limit in flags if limit is not None]

    def flags_of(part: PartFacts) -> tuple[str, ...]:
        raised = dict.fromkeys([flag.name for flag, limit in limited if flag.raised(limit, part, suppression)])
        return (*raised, EMPTY) if part.bits is not None and math.isinf(part.bits) else tuple(raised)

    return flags_of


def flag_labels(policy: Policy) -> dict[str, str]:
    """Return the words for each flag."""
    flags = [criterion.flag for criterion in policy.criteria if criterion.flag is not None]
    return {flag.name: flag.label for flag in flags} | {EMPTY: "no possible record"}


def contradicted(
    guarantee: GuaranteeFinding | None, membership: Outcome[MembershipFinding] | None, *, people: bool = False
) -> GuaranteeFinding | None:
    """Return a guarantee that attacks contradict, as void for that reason; None where they contradict none.

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
    return guarantee.void(
        f"contradicted by the data: a membership advantage of at least {low:.3g}, where it allows {ceiling:.3g}"
    )
