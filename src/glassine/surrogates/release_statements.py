"""What a release and its answers reveal about the records behind them, in words."""

from __future__ import annotations

import math

from glassine.domain import Category
from glassine.privacy.certificate import Certificate
from glassine.surrogates.answers import formatted
from glassine.surrogates.explainer_values import Explanation
from glassine.surrogates.private_trees import FIXED, LABELS_ONLY
from glassine.surrogates.surrogate_release import SurrogateRelease

ONE_RECORD = "add-or-remove-one"

SHOWN = 100.0
"""Largest epsilon whose factor is written as a number."""


def reveals(release: SurrogateRelease) -> tuple[str, ...]:
    """Return what a release reveals about its records, one or two sentences each.

    **Guarantee**: none; what is claimed is the certificate's, and the sentences say when there is none.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    """
    made = release.provenance
    if made.records == "queries":
        return (
            "The representatives and the trees were made of queries drawn from the public domain and of the black "
            "box's answers. They hold no person's record; about the training records they reveal what the "
            "black box's decisions reveal.",
        )
    out = []
    if made.records == "given":
        out.append(
            "The representatives and the trees were made of records that the publisher put to the black box. They may "
            "be those of real people, and are spoken of as such."
        )
    if made.partition == "public":
        out.append("The representatives are points that follow from the declared domain: they reveal no person's data.")
    else:
        rounded = "a rounded average" if made.form == "restricted" else "the average"
        people = f"the records of at least {release.k} people"
        behind = people if made.counted == "people" else f"at least {release.k} records"
        out.append(
            f"The representative record is {rounded} of {behind}. This does not protect the tree, or "
            "values that all of these records share."
        )
        if made.strata:
            out.append(f"All records behind a representative have its value of {made.strata!r}.")
        if any(release.domain[name].missing for name in release.domain):
            out.append(_of_gaps(release))
    out.append(_of_trees(release))
    if release.domain.inferred:
        out.append(
            "The bounds of the attributes, moved outward to round numbers, and the names of the categories were taken "
            "from the records: the outermost value, and a rare name, may be that of one record."
        )
        if any(release.domain[name].missing and release.domain[name].inferred for name in release.domain):
            out.append(
                "Which attributes may be missing was taken from the records too: that one may be can follow from one "
                "record."
            )
    out.append(_of_certificate(release.certificate))
    return tuple(out)


def _of_gaps(release: SurrogateRelease) -> str:
    few = release.provenance.of(release.k or 1)
    text = "Values may be missing. A category is missing where that is the most frequent of its values."
    if all(isinstance(release.domain[name], Category) for name in release.domain):
        return text
    return (
        f"{text} A number is the mean of the values that are there, which are those of at least {few} and of at least "
        "half of the records behind the representative. It is missing where fewer have one."
    )


def _of_trees(release: SurrogateRelease) -> str:
    made = release.provenance
    near = "the records closest to its representative" if made.partition == "public" else "these records"
    said = "decisions" if release.answer is None else "answers"
    taught = f"the black box's {said} on {near}" if made.labels == "black-box" else f"the true labels of {near}"
    splits = "Split points come from the domain only."
    if release.domain.inferred:
        splits = "Split points come from the bounds and names of the attributes only."
    if release.drawn:
        return f"The tree was drawn with noise from {taught}. {splits}"
    leaf = _of_leaves(release)
    if release.answer is not None:
        return f"The tree was trained on {taught}. {splits} {_of_means(release)}"
    counted = any(node.evidence.counts is not None for tree in release.trees for node in tree.nodes)
    if made.form == "paper":
        counts = " It states how many records of each class are in each part." if counted else ""
        return (
            f"The tree was trained on {taught}, and shows where the values of single records lie: its thresholds are "
            f"middles of two of them. {leaf}{counts}"
        )
    counts = "It states how many records of each class are in each part." if counted else "No counts are published."
    return f"The tree was trained on {taught}. {splits} {leaf} {counts}"


def _of_leaves(release: SurrogateRelease) -> str:
    """Return how few records, or people, a leaf may hold; groups smaller than that bound are one leaf."""
    made = release.provenance
    if made.partition == "public" or release.k is None:
        return "A leaf may hold one record alone or none."
    fewest = min(release.k, made.min_samples_leaf)
    return f"Every leaf covers at least {made.of(fewest)}." if fewest > 1 else "A leaf may hold one record alone."


def _of_means(release: SurrogateRelease) -> str:
    """Return what rounded means reveal."""
    step, made = release.answer.step if release.answer is not None else 0, release.provenance
    fewest = min(release.k or 1, made.min_samples_leaf)
    shared = "" if made.counted == "records" else "; more exactly where many people have the same record"
    many = f"{fewest:,} distinct records" if made.counted == "records" else f"{made.of(fewest)} and distinct records"
    return (
        f"A leaf holds a mean over at least {many}, rounded to a step of {step:,}, and no count. Someone who knows all "
        f"answers behind a mean but one can compute that one to about {fewest * step / 2:,.6g} in either direction, or "
        f"less exactly where more are behind it{shared}. Where all answers behind a mean are equal, the mean is "
        f"each of them.{_of_ends(release, fewest)}"
    )


def _of_ends(release: SurrogateRelease, fewest: int) -> str:
    """Return what means at an end of the range reveal, if there are any."""
    answer = release.answer
    values = {cell.evidence.value for tree in release.trees for cell in tree.cells}
    ends = [] if answer is None else [formatted(end) for end in (answer.lo, answer.hi) if end in values]
    if answer is None or not ends:
        return ""
    return (
        f" A mean of {' or '.join(ends)}, an end of the range, shows everyone that each answer behind it is within "
        f"about {fewest * answer.step / 2:,.6g} of that, or further away where more are behind it."
    )


def _of_certificate(certificate: Certificate | None) -> str:
    if certificate is None or not certificate.holds:
        return "No differential privacy is claimed. Anyone can request every explanation, so audit the whole release."
    budget = f"epsilon {certificate.epsilon:g}" + (f" and delta {certificate.delta:g}" if certificate.delta else "")
    factor = f"a factor of at most e^{certificate.epsilon:g}"
    if certificate.epsilon <= SHOWN:
        factor += f", about {math.exp(certificate.epsilon):.3g}"
    factor += f", but for a chance of {certificate.delta:g}" if certificate.delta else ""
    if certificate.neighboring == LABELS_ONLY:
        return (
            f"The true labels, and nothing else, are claimed to be differentially private with {budget}: another label "
            f"of yours would change the chance of any release by {factor}. Your other values are not protected."
        )
    supposed = ""
    if FIXED in certificate.assumptions:
        supposed = " This supposes that the black box was not trained on these records."
    if certificate.neighboring == ONE_RECORD:
        return (
            f"The whole release is claimed to be differentially private with {budget}: with or without your record, "
            f"the chance of any release differs by {factor}.{supposed}"
        )
    return (
        f"The whole release is claimed to be differentially private with {budget}, for datasets that differ as "
        f"follows: {certificate.neighboring}. The chance of any release differs by {factor}.{supposed}"
    )


def reveals_of(release: SurrogateRelease, explanation: Explanation) -> tuple[str, ...]:
    """Return what one answer reveals: the release's statements, and the answer's fit.

    Parameters
    ----------
    release : SurrogateRelease
        The release.
    explanation : Explanation
        One of its answers.
    """
    return (*reveals(release), *fit_of(explanation))


def fit_of(explanation: Explanation) -> tuple[str, ...]:
    """Return how far an answer fits, if there is something to say; it takes no look at the whole release."""
    out = []
    if not explanation.agrees and explanation.tolerance is not None:
        subject = "The closest tree has no" if explanation.n_closest == 1 else "The closest trees have no"
        out.append(
            f"{subject} mean within {formatted(explanation.tolerance)} of the black box's answer: the tree shown "
            "explains answers nearby, not this one."
        )
    elif not explanation.agrees:
        tried = "closest tree does not decide" if explanation.n_closest == 1 else "closest trees decides"
        subject = "The" if explanation.n_closest == 1 else f"None of the {explanation.n_closest}"
        out.append(f"{subject} {tried} as the black box does: the tree shown explains decisions nearby, not this one.")
    elif explanation.rank is not None and explanation.rank > 1:
        other = "decide otherwise" if explanation.tolerance is None else "have means further away"
        out.append(
            f"The tree is that of representative number {explanation.rank} by distance: the closer ones {other}. "
            "Choosing among several trees makes agreement easier than it looks."
        )
    return tuple(out)
