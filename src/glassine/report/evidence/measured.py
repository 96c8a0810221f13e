"""Figures of what an audit measured: sizes, shares, attacks, reconstruction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from glassine.auditing.additive import AdditiveSubject
from glassine.auditing.release import ReleaseSubject
from glassine.auditing.several import SeveralSubject
from glassine.auditing.trees import TREE_MEASUREMENTS
from glassine.report import wording
from glassine.report.evidence.basis import (
    ANSWERS,
    Answer,
    Basis,
    EvidenceFigure,
    Missing,
    NoFigureError,
    answer,
    bound_of,
    declare,
    display,
    judged,
    limited,
)

ADDITIVE = "additive model"
SIZES = (
    "smallest_leaf",
    "share_in_small_leaves",
    "leaves_of_one",
    "smallest_group",
    "smallest_released_leaf",
    "smallest_intersection",
)
"""Checks on how many records stand behind a part."""
LOSSES_DIFFER = 0.05
"""SACRO-ML's level for the generalization gap."""


@answer
def _smallest_leaf(basis: Basis) -> Iterator[Answer]:
    # A policy limits the smallest part, or how many are in small ones.
    names = [name for name in SIZES if basis.check(name) is not None]
    yield from judged(basis, *names) if names else limited(basis, "smallest_leaf", "smallest leaf, rule or bin")


@answer
def _small_leaves(basis: Basis) -> Iterator[Answer]:
    parts = basis.parts
    small = sum("small" in part["flags"] for part in parts)
    unknown = sum(part["size"] is None for part in parts)
    said = f"{small} of {wording.plural(len(parts), 'part')} {'is' if small == 1 else 'are'} below the limit"
    yield EvidenceFigure(
        said + (f"; the size of {unknown} is not shown" if unknown else ""), "parts that break the limit"
    )


@answer
def _smallest_class(basis: Basis) -> Iterator[Answer]:
    yield from judged(basis, "smallest_class_count")
    parts = basis.parts
    counts = [count for part in parts for count in part["counts"] or () if isinstance(count, int) and count]
    hidden = [part for part in parts if part["counts"] is None and part["size"] != 0]
    if counts:
        n_shown = len(parts) - len(hidden)
        yield EvidenceFigure(
            f"smallest positive count of one class: {min(counts):,}, in {wording.plural(n_shown, 'part')}",
            "published counts",
        )
    if hidden:
        below = basis.report["policy"]["suppress_below"]
        yield Missing(
            f"counts of classes are not shown at {len(hidden)} of {wording.plural(len(parts), 'part')}: none is "
            f"published, or one is below {below} and suppressed"
        )


@answer
def _zero_classes(basis: Basis) -> Iterator[Answer]:
    yield from judged(basis, "zero_classes")
    parts = basis.parts
    zero = [part for part in parts if part["size"] != 0 and (part["purity"] == 1 or 0 in (part["counts"] or ()))]
    hidden = sum(part["counts"] is None and part["purity"] is None and part["size"] != 0 for part in parts)
    said = f"a class has no record in {len(zero)} of {wording.plural(len(parts), 'part')}"
    yield EvidenceFigure(
        said + (f", not counting {hidden} that are not shown" if hidden else ""), "published counts and shares"
    )


@answer
def _purest_leaf(basis: Basis) -> Iterator[Answer]:
    if basis.check("purest_leaf") is None and not isinstance(labels := basis.measured("labels"), Missing):
        yield EvidenceFigure(
            f"largest share of one class: {labels['purest']:.3g}", "published class counts; no limit is set"
        )
        return
    yield from limited(basis, "purest_leaf", "largest share of one class")


def _parameters(basis: Basis) -> int:
    """Return the free parameters: two a split or condition and the shares of each leaf, or the scores of each bin."""
    subject = basis.report["subject"]
    if subject["kind"] == ADDITIVE:
        outputs = max(len(subject["classes"] or ()) - 1, 1)
        return int(basis.figures("terms")["n_bins"]) * outputs
    classes, parts = subject.get("classes"), basis.measured("parts")
    if classes is None or isinstance(parts, Missing):
        raise NoFigureError("it is defined for trees and rule lists of classes, and for additive models")
    splits = {node["parent"] for node in parts["nodes"]} - {None} if parts["nodes"] else range(subject["n_parts"] - 1)
    return 2 * len(splits) + int(subject["n_parts"]) * (len(classes) - 1)


def _records(basis: Basis) -> int:
    """Return how many records the model was trained on, by its own counts."""
    n = basis.report["subject"]["n_records"]
    if n is None:
        raise NoFigureError("the model does not publish how many records it was trained on")
    if "person" in (basis.report["guarantee"] or {"neighboring": ""})["neighboring"]:
        raise NoFigureError("the model counts records as its fit weighs each person's, which may repeat them")
    return int(n)


@answer
def _degrees_of_freedom(basis: Basis) -> Iterator[Answer]:
    yield from judged(basis, "degrees_of_freedom")
    parameters = _parameters(basis)
    n = _records(basis)
    yield EvidenceFigure(
        f"residual degrees of freedom: {n:,} - {parameters:,} = {n - parameters:,}",
        "records less the scores of each bin, which replace leaves"
        if basis.report["subject"]["kind"] == ADDITIVE
        else "records minus two per split and one per leaf for each class but one, as SACRO-ML counts them",
    )


@answer
def _records_per_parameter(basis: Basis) -> Iterator[Answer]:
    parameters = _parameters(basis)
    if not parameters:
        raise NoFigureError("the model has no parameter")
    n = _records(basis)
    yield EvidenceFigure(f"{n / parameters:.3g} records per parameter", "records, over the parameters that T5 counts")


@answer
def _case_numbers(basis: Basis) -> Iterator[Answer]:
    parts = basis.parts
    counted = basis.report["counted"]
    n_shown = sum(isinstance(part["size"], int) for part in parts)
    said = f"{n_shown} of {wording.plural(len(parts), 'part')} {'shows' if n_shown == 1 else 'show'}"
    yield EvidenceFigure(f"{said} the unweighted number of {counted}", f"{counted} counted")


@answer
def _parameters_stated(basis: Basis) -> Iterator[Answer]:
    """Yield what a fitted estimator states of its training, and whether SACRO-ML calls that needlessly risky."""
    subject = basis.report["subject"]
    stated = subject.get("parameters")
    if stated is None:
        raise NoFigureError("the file states no parameters of its learner")
    listed = ", ".join(f"{name}={value}" for name, value in stated.items())
    method = "stated by the file, not proved; rules of SACRO-ML for scikit-learn's trees and forests (2502.09396)"
    risky = _riskiest(stated, subject)
    if risky is None:
        yield EvidenceFigure(
            f"parameters: {listed}", "stated by the file, not proved; SACRO-ML has no rule for such a model"
        )
    else:
        place = "lie in" if risky else "do not lie in"
        yield EvidenceFigure(f"parameters {place} the riskiest fifth: {listed}", method)


def _riskiest(stated: Mapping[str, Any], subject: Mapping[str, Any]) -> bool | None:
    """Return whether parameters are in the fifth that SACRO-ML found riskiest; None where it has no rule for them."""
    # It ranked them by the AUC of attacks on membership, and took the rules from a tree on the result. Unlimited depth
    # counts as 500 there. A least leaf that is a share is one of the records.
    names = ("max_depth", "min_samples_leaf", "min_samples_split", "max_features")
    if subject["classes"] is None or any(name not in stated for name in names):
        return None
    sizes = [stated[name] for name in names[:3]]
    if any(isinstance(size, str | bool) for size in sizes) or None in sizes[1:]:
        return None
    n = subject["n_records"]
    if any(isinstance(size, float) for size in sizes) and n is None:
        return None
    depth, leaf, split = (500 if size is None else size * n if isinstance(size, float) else size for size in sizes)
    every = stated["max_features"] is None
    if subject["kind"] == "ensemble":
        trees, bootstrap = stated.get("n_estimators", 0), stated.get("bootstrap")
        many = depth > 3.5 and trees > 35 and (not every or (split <= 15 and bootstrap))
        return bool(many or (depth > 7.5 and 15 < trees <= 35 and leaf <= 15 and not bootstrap))
    best = stated.get("splitter") == "best"
    if depth > 7.5:
        return bool(split <= 15 or best or every) if leaf <= 7.5 else bool(leaf <= 15 and best and every)
    return bool(depth > 3.5 and leaf <= 7.5 and best and every)


@answer
def _size(basis: Basis) -> Iterator[Answer]:
    subject, domain = basis.report["subject"], basis.report["domain"]
    n = subject.get("n_records")
    yield (
        Missing("the number of records is not published")
        if n is None
        else EvidenceFigure(f"{n:,} records", "published")
    )
    if domain is not None:
        yield EvidenceFigure(
            f"{wording.plural(domain['n_attributes'], 'attribute')} in the public domain", "the domain"
        )


# What attacks found.


@answer
def _membership_attacks(basis: Basis) -> Iterator[Answer]:
    yield from judged(basis, "largest_advantage", "largest_measured_advantage", "largest_attack_advantage")
    finding = basis.measured("membership")
    if isinstance(finding, Missing):
        bound = bound_of(basis, "membership advantage")
        yield finding if bound is None else bound
        return
    for attack in finding["attacks"]:
        if attack["status"] == "measured" and attack["advantage"] is not None:
            interval = f"{attack['advantage_low']:.3f} to {attack['advantage_high']:.3f}"
            auc = "" if attack["auc"] is None else f", AUC {attack['auc']:.3f}"
            p = "" if attack["p_value"] is None else f", {wording.p_value(attack['p_value'])}"
            said = f"{attack['attack']}: advantage {attack['advantage']:.3f} ({interval}){auc}{p}"
            yield EvidenceFigure(said, f"attack on membership, intervals of {finding['confidence']:.0%}")
        else:
            yield Missing(f"{attack['attack']} {attack['reason'] or 'gave no figure'}".rstrip("."))


@answer
def _gap_attack(basis: Basis) -> Iterator[Answer]:
    figures = basis.figures("membership")
    if figures["loss_gap"] is None:
        yield Missing(f"the losses were not compared: {figures['unmeasured_loss_gap']}".rstrip("."))
    else:
        p_value = figures["loss_gap_p_value"]
        said = "a risk" if p_value < LOSSES_DIFFER else "no risk"
        yield EvidenceFigure(
            f"statistic {figures['loss_gap']:.3f}, {wording.p_value(p_value)}: {said} by SACRO-ML, whose level is "
            f"{LOSSES_DIFFER:g}",
            "two-sample Kolmogorov-Smirnov test on the losses; with many records it finds gaps that no attack can use",
        )
    for attack in figures["attacks"]:
        if "gap" in attack["attack"] and attack["advantage"] is not None:
            yield EvidenceFigure(f"{attack['attack']}: advantage {attack['advantage']:.3f}", "accuracy on both sides")


@answer
def _attribute_inference(basis: Basis) -> Iterator[Answer]:
    labels = basis.measured("labels")
    bound = bound_of(basis, "belief about one")
    if bound is not None:
        yield bound
    if isinstance(labels, Missing):
        yield labels
    else:
        yield EvidenceFigure(
            f"the outcome of a record is guessed right for {labels['guess_rate']:.1%}, and for "
            f"{labels['base_rate']:.1%} without the model; certain for {display(labels['n_certain'])} records",
            "published class counts, an attacker who knows the leaf",
        )
    sensitive = basis.figures("disclosure", "inference of a sensitive attribute: ")
    for reader in sensitive["readers"]:
        rate = "" if reader["guess_rate"] is None else f", guessed right for {reader['guess_rate']:.1%}"
        yield EvidenceFigure(
            f"{reader['reader']}: {sensitive['sensitive']} is practically certain for {display(reader['certain'])} "
            f"people{rate}",
            "maximum-entropy estimate, an attacker who knows the quasi-identifiers of everyone",
        )


@answer
def _reconstruction(basis: Basis) -> Iterator[Answer]:
    figures = basis.figures("reconstruction")
    if figures.get("dist_g") is not None:
        yield EvidenceFigure(
            f"share of uncertainty left: {figures['dist_g']:.3f}", "Dist_G of the probabilistic dataset"
        )
    if figures.get("undefined"):
        yield Missing(str(figures["undefined"]).rstrip("."))


@answer
def _rows(basis: Basis) -> Iterator[Answer]:
    figures = basis.figures("rows", "rows were not rebuilt: ")
    certain = "not proved" if figures["n_whole"] is None else display(figures["n_whole"])
    yield EvidenceFigure(
        f"{figures['meaning']} Rows certain in every attribute: {certain}.", "rows that meet every count"
    )


@answer
def _most_exposed(basis: Basis) -> Iterator[Answer]:
    finding, bound = basis.measured("reconstruction"), bound_of(basis, "bits about one")
    if basis.check("largest_bits_per_record") is not None:
        yield from limited(basis, "largest_bits_per_record", "bits about the most exposed record")
    elif not isinstance(finding, Missing) and finding["bits_largest"] is not None:
        yield EvidenceFigure(
            f"{finding['bits_largest']:.3g} bits about the most exposed record; the policy sets no limit on them",
            "possible records, counted",
        )
    elif isinstance(finding, Missing) and bound is None:
        yield finding
    if bound is not None:
        yield bound
    parts = basis.measured("parts")
    limited_to = None if basis.findings is None else basis.findings["policy"]["largest_bits_per_record"]
    if not isinstance(parts, Missing) and limited_to is not None and not isinstance(finding, Missing):
        exposed = sum("exposed" in part["flags"] for part in parts["parts"])
        said = f"{exposed} of {wording.plural(len(parts['parts']), 'part')} {'reveals' if exposed == 1 else 'reveal'}"
        yield EvidenceFigure(f"{said} more than the limit of {limited_to:g} bits", "possible records, counted")


@answer
def _together(basis: Basis) -> Iterator[Answer]:
    finding = basis.measured("joint")
    if isinstance(finding, Missing):
        raise NoFigureError(
            "linking needs other data, and one model was audited; several models of the same records can be audited "
            "together"
        )
    yield EvidenceFigure("several models of the same records were audited together", "their counts, intersected")


@answer
def _attacks_made(basis: Basis) -> Iterator[Answer]:
    every = (*TREE_MEASUREMENTS, *AdditiveSubject.measurements, *ReleaseSubject.measurements)
    titles = {one.name: one.title for one in (*SeveralSubject.measurements, *every)}
    for name in basis.report["measured"]:
        outcome = basis.measured(name)
        if isinstance(outcome, Missing):
            yield Missing(f"{titles.get(name, name)}: {outcome.reason}")
        else:
            yield EvidenceFigure(f"{titles.get(name, name)}: measured", "the report has the figures")


@answer
def _rests_on_size(basis: Basis) -> Iterator[Answer]:
    passed = [check for check in basis.report["checks"] if check["status"] == "pass"]
    private = any(check["basis"] == "guarantee" for check in passed)
    sizes = bool(passed) and all(check["rule"] in SIZES for check in passed)
    said = (
        "an accepted guarantee"
        if private
        else "the size of groups alone"
        if sizes
        else "several checks, not size alone"
    )
    yield EvidenceFigure(f"the checks that passed rest on {said}", "the checks of the policy")


UNSEEN = "exact values of the records that the model publishes"
UNSEEN_VALUE = "value of a record is published"
WORLDS = "all possible records of the domain are the reference, not the population"

declare(f"""
depth | report.subject | depth {{depth}}, {{n_parts:many part}} | read off the model | the subject is not one model
values_of_records | values | thresholds on numbers: {{n_thresholds:count}} | {UNSEEN}
values_of_records | values | thresholds that are not public cut points: {{n_off_grid:count}} | {UNSEEN} | thresholds \
that are not public cut points were not counted: counting them needs a domain
values_of_records | values | thresholds that are midpoints of two training values: {{n_midpoints:count}} | {UNSEEN} | \
thresholds that are midpoints of two training values were not counted: counting them needs the records
inversion | alignment | typical records drawn from the model lie at a mean distance of {{error:.3f}} from the training \
records; random ones at {{baseline:.3f}} | records drawn from what the model leaves possible, matched with the \
training records
maximum_and_average | reconstruction | maximum: {{bits_largest:.3g}} bits about a record | {WORLDS} | the maximum has \
no value in this domain
maximum_and_average | reconstruction | average: {{bits_mean:.3g}} bits about a record | {WORLDS} | the average has no \
value in this domain
reader | report | measured against an attacker who knows all other attributes of everyone: more than a motivated \
intruder | worst case of each measurement
""")

_VALUES = ANSWERS.pop("values_of_records")


@answer
def _training_values(basis: Basis) -> Iterator[Answer]:
    """Yield how many thresholds can be values of records; under a guarantee that holds, none is one."""
    claim = basis.report["guarantee"]
    if claim is None or claim["standing"] == "does not hold":
        yield from _VALUES(basis)
        return
    values = basis.measured("values")
    n_thresholds = None if isinstance(values, Missing) else values["n_thresholds"]
    count = (
        "thresholds on numbers" if n_thresholds is None else wording.plural(n_thresholds, "threshold") + " on numbers"
    )
    accepted = "" if claim["standing"] == "accepted" else " The policy does not accept the guarantee."
    yield EvidenceFigure(
        f"no {UNSEEN_VALUE}: {count}, which the domain or noise placed.{accepted}", "the claimed guarantee covers them"
    )
