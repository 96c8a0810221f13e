"""Whether the parts of a release, which may come from a file, are what they must be and fit each other."""

from __future__ import annotations

import math
from typing import Any

from glassine.domain import Between, Binary, Category, Domain
from glassine.domain.attributes import Scalar, is_scalar, is_whole
from glassine.domain.grid import public_grid
from glassine.domain.refusals import refuse_codes, refuse_prefixes
from glassine.errors import GlassineError, InvalidModelError, check_whole, parameter
from glassine.formats.conditions import check_conditions
from glassine.models import DecisionTree, Evidence
from glassine.privacy.certificate import Certificate
from glassine.surrogates.answers import FEWEST_BEHIND_MEANS, Answers, NumericAnswer
from glassine.surrogates.distances import DomainMetric
from glassine.surrogates.private_trees import where_private_trees_split
from glassine.surrogates.protocols import Protocol

MADE_OF_MEANS = ("restricted", "black-box", "microaggregation")
"""Form, labels and partition of a release of means: no other holds its rules."""


def check_release(release: Any) -> None:
    """Raise InvalidModelError if the parts of a release contradict each other."""
    parts: tuple[object, ...] = (release.domain, release.metric)
    if not isinstance(parts[0], Domain) or not isinstance(parts[1], DomainMetric):
        raise InvalidModelError(
            "a release needs a Domain and a DomainMetric.",
            remedy="Take both from the explainer, or read a file with SurrogateRelease.from_json.",
        )
    _check_classes(release)
    if not release.trees or len(release.trees) != len(release.representatives):
        raise InvalidModelError(
            f"a release needs one representative and one tree a group, got {len(release.representatives)} and "
            f"{len(release.trees)}.",
            remedy="Ask its publisher for the file again.",
        )
    try:
        release.metric.check(release.domain)
    except GlassineError as error:
        raise InvalidModelError(f"the release's distance: {error}") from None
    for group, point in enumerate(release.representatives):
        check_point(point, release.domain, group)
    for group, tree in enumerate(release.trees):
        check_tree(tree, release.domain, release.answers, group)
    k: object = release.k
    if k is not None and (not is_whole(k) or not isinstance(k, int) or not k >= 1):
        raise InvalidModelError(f"{parameter('k')} must be a whole number of at least 1 or None, got {k!r}.")
    check_whole(release.n_closest, "n_closest", 1, 1000, kind=InvalidModelError)
    if release.certificate is not None and not isinstance(release.certificate, Certificate):
        raise InvalidModelError("a release's certificate must be a Certificate or None.")
    if not isinstance(release.protocol, Protocol):
        raise InvalidModelError("a release's protocol must be a Protocol.", remedy="Leave it out for Protocol 2.")
    release.provenance.check()
    strata = release.provenance.strata
    if strata and not (strata in release.domain and isinstance(release.domain[strata], Binary | Category)):
        raise InvalidModelError(f"the strata of a release must be an attribute with few values, got {strata!r:.40}.")
    refuse_prefixes(release.domain, "a release of explanations")
    refuse_codes(release.domain, "a release of explanations")


def _check_classes(release: Any) -> None:
    if release.answer is not None:
        answer: object = release.answer
        if not isinstance(answer, NumericAnswer) or release.classes:
            raise InvalidModelError(
                "a release has either classes, or a NumericAnswer and no classes.",
                remedy="Ask its publisher for the file again.",
            )
        made, k = release.provenance, release.k
        if release.drawn:
            if (made.form, made.labels) != MADE_OF_MEANS[:2]:
                raise InvalidModelError(
                    "private trees of numbers must be in the restricted form, on the black box's answers."
                )
            return
        fewest = min(k, made.min_samples_leaf) if is_whole(k) and is_whole(made.min_samples_leaf) and k else 0
        if fewest < FEWEST_BEHIND_MEANS or (made.form, made.labels, made.partition) != MADE_OF_MEANS:
            raise InvalidModelError(
                "a release of means must be of microaggregated groups, in the restricted form, on the black box's "
                f"answers, with k and min_samples_leaf of at least {FEWEST_BEHIND_MEANS}."
            )
        return
    if not release.classes or not all(is_scalar(value) for value in release.classes):
        raise InvalidModelError("a release's classes must be plain values, at least one.")
    if len(set(release.classes)) < len(release.classes):
        raise InvalidModelError("the classes of a release must differ.", remedy="Drop the repeat.")


def check_point(point: tuple[Scalar | None, ...], domain: Domain, group: int) -> None:
    """Raise InvalidModelError if a representative is impossible."""
    # A mean need neither be whole nor, of a binary attribute, 0 or 1.
    if len(point) != len(domain):
        raise InvalidModelError(
            f"the representative of group {group} needs {len(domain)} values, one per attribute, got {len(point)}.",
            remedy="Ask its publisher for the file again.",
        )
    for name, value in zip(domain, point, strict=True):
        attribute = domain[name]
        if value is None:
            fits = attribute.missing
        elif isinstance(attribute, Category):
            fits = is_scalar(value) and value in attribute.values
        else:
            fits = not isinstance(value, str | bool) and is_scalar(value)
        if not fits:
            raise InvalidModelError(
                f"the representative of group {group} has an impossible value of {name!r}.",
                remedy="Ask its publisher for the file again.",
            )


def check_tree(tree: object, domain: Domain, answers: Answers, group: int) -> None:
    """Raise InvalidModelError if a group's tree is not one over the domain that answers as the release does."""
    if not isinstance(tree, DecisionTree):
        raise InvalidModelError(f"the tree of group {group} must be a DecisionTree, got {type(tree).__name__}.")
    if tree.classes != answers.tree_classes:
        raise InvalidModelError(
            f"the tree of group {group} has other classes than the release.",
            remedy="Ask its publisher for the file again.",
        )
    try:
        check_conditions(tree, domain)
    except GlassineError as error:
        raise InvalidModelError(f"the tree of group {group}: {error}") from None
    if isinstance(answers, NumericAnswer):
        _check_means(tree, domain, answers, group)
    elif any(cell.evidence.prediction is None for cell in tree.cells):
        raise InvalidModelError(f"a leaf of the tree of group {group} decides nothing.", remedy="Publish its label.")


def _check_means(tree: DecisionTree, domain: Domain, answer: NumericAnswer, group: int) -> None:
    """Check that a tree of means holds nothing but means on steps of the range, and splits at public cut points."""
    for node in tree.nodes:
        value = None if node.branches else node.evidence.value
        if node.evidence != Evidence(value=value) or (not node.branches and answer.given_by(node.evidence) is None):
            raise InvalidModelError(
                f"the tree of group {group} must hold a mean in each leaf, on a step of the range, and nothing else.",
                remedy="Round the means, and leave counts out.",
            )
    where = domain if tree.guarantee is None else where_private_trees_split(domain)
    for literal in tree.literals:
        cuts = public_grid(where[literal.attribute]) if isinstance(literal, Between) else ()
        if isinstance(literal, Between) and not {literal.lo, literal.hi} <= {-math.inf, math.inf, *cuts}:
            raise InvalidModelError(
                f"the tree of group {group} splits {literal.attribute!r} between two public cut points.",
                remedy="Split at a threshold that the domain declares.",
            )
