"""Whether the representatives and trees of a release, which may come from a file, are what they must be."""

from __future__ import annotations

import math

from glassine.domain import Between, Category, Domain
from glassine.domain.attributes import Scalar, is_scalar
from glassine.domain.grid import public_grid
from glassine.errors import GlassineError, InvalidModelError
from glassine.formats.conditions import check_domain
from glassine.models import DecisionTree, Evidence
from glassine.surrogates.answers import Answers, NumericAnswer
from glassine.surrogates.private_trees import where_private_trees_split


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
        check_domain(tree, domain)
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
