"""Releases as JSON, schema ``glassine.surrogates/1``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from glassine.domain.domain import from_dict as domain_from_dict
from glassine.domain.domain import to_dict as domain_to_dict
from glassine.errors import GlassineError, InvalidModelError
from glassine.files import read_json
from glassine.formats.json import finite_number, listed, scalars, take, text
from glassine.formats.json import from_dict as model_from_dict
from glassine.formats.json import to_dict as model_to_dict
from glassine.models import DecisionTree
from glassine.privacy.certificate import Certificate
from glassine.surrogates.distances import Metric

if TYPE_CHECKING:
    from glassine.surrogates.release import Provenance, SurrogateRelease

__all__ = ["SCHEMA", "from_dict", "read", "to_dict"]

SCHEMA = "glassine.surrogates/1"
MAX_GROUPS = 100_000
MAX_NODES = 2_000_000
MAX_TREE_DEPTH = 200
MAX_ATTRIBUTES = 10_000
MAX_TAXONOMY_DEPTH = 100
MAX_TAXONOMY_VALUES = 2000

KEYS = (
    "schema",
    "domain",
    "classes",
    "distance",
    "scales",
    "taxonomies",
    "k",
    "n_closest",
    "provenance",
    "certificate",
    "groups",
)
PROVENANCE = (
    "form",
    "labels",
    "records",
    "partition",
    "method",
    "scaling",
    "max_depth",
    "min_samples_leaf",
    "version",
    "notes",
)


def to_dict(release: SurrogateRelease) -> dict[str, Any]:
    """Return a release as plain JSON values."""
    return {
        "schema": SCHEMA,
        # Tuples become lists, so that the values are those that a file gives back.
        "domain": json.loads(json.dumps(domain_to_dict(release.domain))),
        "classes": list(release.classes),
        "distance": release.metric.distance,
        "scales": list(release.metric.scales),
        "taxonomies": _plain(release.metric.taxonomies),
        "k": release.k,
        "n_closest": release.n_closest,
        "provenance": {
            **{name: getattr(release.provenance, name) for name in PROVENANCE[:-1]},
            "notes": list(release.provenance.notes),
        },
        "certificate": None if release.certificate is None else release.certificate.to_dict(),
        "groups": [
            {"representative": list(point), "tree": model_to_dict(tree)}
            for point, tree in zip(release.representatives, release.trees, strict=True)
        ],
    }


def _plain(tree: Any) -> Any:
    """Return a taxonomy as JSON has it: mappings have names for keys, so that each level is a list of pairs."""
    if isinstance(tree, Mapping):
        return [[value, _plain(below)] for value, below in tree.items()]
    return None if tree is None else [[value, None] for value in tree]


def _tree_of(pairs: Any, left: list[int], depth: int = 0) -> Any:
    """Return pairs as a nested mapping; ``left`` holds how many values may still come."""
    if pairs is None:
        return None
    if depth > MAX_TAXONOMY_DEPTH:
        raise InvalidModelError(f"a taxonomy of the release is deeper than {MAX_TAXONOMY_DEPTH} levels.")
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidModelError("a taxonomy of the release must be a list of pairs of a value and what is below it.")
    left[0] -= len(pairs)
    if left[0] < 0:
        raise InvalidModelError(f"the taxonomies of a release have at most {MAX_TAXONOMY_VALUES} values.")
    scalars([pair[0] for pair in pairs], "a taxonomy of the release")
    if len({pair[0] for pair in pairs}) < len(pairs):
        raise InvalidModelError("a taxonomy of the release names a value twice.")
    return {value: _tree_of(below, left, depth + 1) for value, below in pairs}


def _taxonomies(entry: Any) -> dict[str, Any]:
    found = _tree_of(entry, [MAX_TAXONOMY_VALUES])
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise InvalidModelError("the release's taxonomies must be a list of pairs of an attribute and its tree.")
    return found


def from_dict(values: Any) -> SurrogateRelease:
    """Return the release that plain JSON values describe.

    Raises
    ------
    InvalidModelError
        If a key is missing, unknown or of the wrong kind, a limit of size is passed, or parts contradict each other.
    """
    from glassine.surrogates.release import SurrogateRelease

    if not isinstance(values, dict) or values.get("schema") != SCHEMA:
        found = values.get("schema") if isinstance(values, dict) else type(values).__name__
        raise InvalidModelError(f"a release of surrogates must have the schema {SCHEMA!r}, got {str(found)[:60]!r}.")
    take(values, "the release", KEYS, KEYS)
    groups = listed(values, "groups", "the release")
    _check_sizes(values, groups)
    try:
        domain = domain_from_dict(values["domain"])
        certificate = None if values["certificate"] is None else Certificate.from_dict(values["certificate"])
        scales = tuple(finite_number(v, "a scale", -1.0) for v in listed(values, "scales", "the release"))
        return SurrogateRelease(
            domain=domain,
            classes=scalars(listed(values, "classes", "the release"), "the release's classes"),
            metric=Metric(
                distance=text(values, "distance", "the release"),
                scales=scales,
                taxonomies=_taxonomies(values["taxonomies"]),
            ),
            representatives=tuple(_point(group, i) for i, group in enumerate(groups)),
            trees=tuple(_tree(group, i) for i, group in enumerate(groups)),
            k=values["k"],
            n_closest=values["n_closest"],
            provenance=_provenance(values["provenance"]),
            certificate=certificate,
        )
    except InvalidModelError:
        raise
    except GlassineError as error:
        raise InvalidModelError(f"the release: {error}") from None


def _check_sizes(values: dict[str, Any], groups: list[Any]) -> None:
    domain = values["domain"]
    attributes = domain.get("attributes") if isinstance(domain, dict) else None
    if isinstance(attributes, list) and len(attributes) > MAX_ATTRIBUTES:
        raise InvalidModelError(f"a release has at most {MAX_ATTRIBUTES} attributes, got {len(attributes)}.")
    if len(groups) > MAX_GROUPS:
        raise InvalidModelError(f"a release has at most {MAX_GROUPS} groups, got {len(groups)}.")
    total = 0
    for i, group in enumerate(groups):
        take(group, f"group {i}", ("representative", "tree"), ("representative", "tree"))
        tree = group["tree"]
        nodes = tree.get("nodes") if isinstance(tree, dict) else None
        if not isinstance(nodes, list):
            raise InvalidModelError(f"the tree of group {i} must be a decision tree with nodes.")
        total += len(nodes)
        if total > MAX_NODES:
            raise InvalidModelError(f"the trees of a release have at most {MAX_NODES} nodes.")
        _check_depth(nodes, i)


def _check_depth(nodes: list[Any], group: int) -> None:
    """Refuse what would take a quadratic time to read: a chain of many nodes."""
    level, depth, seen = [0] if nodes else [], 0, 0
    while level and seen <= len(nodes):
        seen += len(level)
        if depth > MAX_TREE_DEPTH:
            raise InvalidModelError(f"the tree of group {group} is deeper than {MAX_TREE_DEPTH} splits.")
        below: list[int] = []
        for index in level:
            branches = nodes[index].get("branches", []) if isinstance(nodes[index], dict) else []
            for branch in branches if isinstance(branches, list) else []:
                child = branch.get("child") if isinstance(branch, dict) else None
                if isinstance(child, int) and 0 < child < len(nodes):
                    below.append(child)
        level, depth = below, depth + 1


def _point(group: dict[str, Any], index: int) -> tuple[Any, ...]:
    values = listed(group, "representative", f"group {index}")
    present = [value for value in values if value is not None]
    scalars(present, f"the representative of group {index}")
    return tuple(values)


def _tree(group: dict[str, Any], index: int) -> DecisionTree:
    try:
        tree = model_from_dict(group["tree"])
    except GlassineError as error:
        raise InvalidModelError(f"the tree of group {index}: {error}") from None
    if not isinstance(tree, DecisionTree):
        raise InvalidModelError(f"the tree of group {index} is a {tree}, not a decision tree.")
    return tree


def _provenance(entry: Any) -> Provenance:
    from glassine.surrogates.release import Provenance

    entry = take(entry, "the release's provenance", PROVENANCE, PROVENANCE)
    notes = tuple(listed(entry, "notes", "the release's provenance"))
    return Provenance(**{name: entry[name] for name in PROVENANCE[:-1]}, notes=notes)


def read(path: str | os.PathLike[str]) -> SurrogateRelease:
    """Read a release from a file that is not too large."""
    return from_dict(read_json(path))
