"""Whether the parts of a release fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar, is_scalar, is_whole
from glassine.errors import GlassineError, InvalidModelError
from glassine.models import DecisionTree
from glassine.models.formats.conditions import check_domain
from glassine.privacy.certificate import Certificate
from glassine.surrogates.distances import Metric

if TYPE_CHECKING:
    from glassine.surrogates.release import Provenance, SurrogateRelease

__all__ = ["check_release"]

CHOICES = {
    "form": ("safe", "paper"),
    "labels": ("black-box", "true"),
    "records": ("training", "queries", "given"),
    "partition": ("microaggregation", "public"),
}


def check_release(release: SurrogateRelease) -> None:
    """Raise InvalidModelError if the parts of a release contradict each other."""
    given: tuple[object, ...] = (release.domain, release.metric)
    if not isinstance(given[0], Domain) or not isinstance(given[1], Metric):
        raise InvalidModelError("a release needs a Domain and a Metric.")
    _check_classes(release)
    if not release.trees or len(release.trees) != len(release.representatives):
        raise InvalidModelError(
            f"a release needs one representative and one tree a group, got {len(release.representatives)} and "
            f"{len(release.trees)}."
        )
    try:
        release.metric.check(release.domain)
    except GlassineError as error:
        raise InvalidModelError(f"the release's distance: {error}") from None
    for group, point in enumerate(release.representatives):
        _check_point(point, release.domain, group)
    for group, tree in enumerate(release.trees):
        _check_tree(tree, release, group)
    k: object = release.k
    if k is not None and (not is_whole(k) or not isinstance(k, int) or not k >= 1):
        raise InvalidModelError(f"k must be a whole number of at least 1 or None, got {k!r}.")
    if not is_whole(release.n_closest) or not 1 <= release.n_closest <= 1000:
        raise InvalidModelError(f"n_closest must be a whole number in [1, 1000], got {release.n_closest!r}.")
    if release.certificate is not None and not isinstance(release.certificate, Certificate):
        raise InvalidModelError("a release's certificate must be a Certificate or None.")
    _check_provenance(release.provenance)


def _check_point(point: tuple[Scalar | None, ...], domain: Domain, group: int) -> None:
    """Check a representative: a mean need neither be whole nor, of a binary attribute, 0 or 1."""
    if len(point) != len(domain):
        raise InvalidModelError(
            f"the representative of group {group} needs {len(domain)} values, one per attribute, got {len(point)}."
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
            raise InvalidModelError(f"the representative of group {group} has an impossible value of {name!r}.")


def _check_classes(release: SurrogateRelease) -> None:
    if not release.classes or not all(is_scalar(value) for value in release.classes):
        raise InvalidModelError("a release's classes must be plain values, at least one.")
    if len(set(release.classes)) < len(release.classes):
        raise InvalidModelError("the classes of a release must differ. Drop the repeat.")


def _check_tree(tree: object, release: SurrogateRelease, group: int) -> None:
    if not isinstance(tree, DecisionTree):
        raise InvalidModelError(f"the tree of group {group} must be a DecisionTree, got {type(tree).__name__}.")
    if tree.classes != release.classes:
        raise InvalidModelError(f"the tree of group {group} has other classes than the release.")
    try:
        check_domain(tree, release.domain)
    except GlassineError as error:
        raise InvalidModelError(f"the tree of group {group}: {error}") from None
    if any(cell.evidence.prediction is None for cell in tree.cells):
        raise InvalidModelError(f"a leaf of the tree of group {group} decides nothing. Publish its label.")


def _check_provenance(provenance: Provenance) -> None:
    for name, known in CHOICES.items():
        if getattr(provenance, name) not in known:
            raise InvalidModelError(
                f"a release's {name} must be one of {', '.join(known)}, got {getattr(provenance, name)!r}."
            )
    for name in ("method", "scaling", "version"):
        if not isinstance(getattr(provenance, name), str):
            raise InvalidModelError(f"a release's {name} must be a text, got {getattr(provenance, name)!r}.")
    notes: object = provenance.notes
    if not isinstance(notes, tuple) or not all(isinstance(note, str) and note for note in notes):
        raise InvalidModelError("a release's notes must be non-empty texts.")
    depth: object = provenance.max_depth
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or not depth >= 0):
        raise InvalidModelError(f"a release's max_depth must be a whole number or None, got {depth!r}.")
    leaf: object = provenance.min_samples_leaf
    if isinstance(leaf, bool) or not isinstance(leaf, int) or not leaf >= 1:
        raise InvalidModelError(f"a release's min_samples_leaf must be a whole number of at least 1, got {leaf!r}.")
