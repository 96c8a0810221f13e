"""Semantic distance: how far two values of an attribute lie apart in a taxonomy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain.attributes import Scalar, is_scalar
from glassine.errors import InvalidParameterError

__all__ = ["ANY", "SemanticDistance", "Taxonomy"]

Tree: TypeAlias = "Mapping[Scalar, Tree | None] | Sequence[Scalar]"

ANY = "*"
"""The value above all others, where a tree has several roots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taxonomy:
    """The values of an attribute, each with the more general ones above it.

    Attributes
    ----------
    values : tuple of scalars
        All values, the general ones included, each before those below it.
    parents : tuple of int
        Index of the value directly above each; -1 at the root.
    """

    values: tuple[Scalar, ...]
    parents: tuple[int, ...]

    @classmethod
    def read(cls, tree: Tree, name: str) -> Taxonomy:
        """Return a nested mapping as a taxonomy.

        Raises
        ------
        InvalidParameterError
            If the tree is empty, repeats a value, or holds something else than mappings, lists and plain values.
        """
        values: list[Scalar] = []
        parents: list[int] = []
        roots = _children(tree, name)
        above = -1
        if len(roots) > 1:
            values.append(ANY)
            parents.append(-1)
            above = 0
        pending = [(value, below, above) for value, below in reversed(roots)]
        seen = set(values)
        while pending:
            value, below, parent = pending.pop()
            if value in seen:
                raise InvalidParameterError(
                    f"the taxonomy of {name!r} must hold each value once, got {value!r} twice. Rename one."
                )
            seen.add(value)
            values.append(value)
            parents.append(parent)
            here = len(values) - 1
            pending += [(child, rest, here) for child, rest in reversed(_children(below, name, empty=True))]
        return cls(values=tuple(values), parents=tuple(parents))

    def table(self) -> npt.NDArray[np.float64]:
        """Return the distance of each two values, shape (v, v)."""
        lines: list[frozenset[int]] = []
        for i, parent in enumerate(self.parents):
            lines.append((lines[parent] if parent >= 0 else frozenset()) | {i})
        size = len(lines)
        out = np.zeros((size, size))
        for i in range(size):
            for j in range(i):
                either = len(lines[i] | lines[j])
                out[i, j] = out[j, i] = np.log2(1 + (either - len(lines[i] & lines[j])) / either)
        return out


def _children(tree: Any, name: str, *, empty: bool = False) -> list[tuple[Scalar, Any]]:
    if tree is None and empty:
        return []
    if isinstance(tree, Mapping):
        pairs = list(tree.items())
    elif isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        pairs = [(value, None) for value in tree]
    else:
        raise InvalidParameterError(
            f"the taxonomy of {name!r} must be nested mappings that end in lists of values, got "
            f"{type(tree).__name__}. Write {{'any': {{'general': ['value', 'value']}}}}."
        )
    if not pairs and not empty:
        raise InvalidParameterError(f"the taxonomy of {name!r} must hold at least one value, got none. Add values.")
    for value, _ in pairs:
        if not is_scalar(value):
            raise InvalidParameterError(
                f"the taxonomy of {name!r} must hold strings, numbers and Booleans, got {type(value).__name__}. "
                "Convert it."
            )
    return pairs


@dataclass(frozen=True, slots=True)
class SemanticDistance:
    """Gower's distance with taxonomies: categories lie the closer together, the more general values they share.

    Take each of two values with all values above it: of the u values in either list, s are in one list only. The two
    lie ``log2(1 + s / u)`` apart: 0 if they are equal, below 1 always. Numbers differ by their difference divided by
    the range, categories without a taxonomy by 0 or 1. The distance of two records is the mean over their attributes.

    Parameters
    ----------
    taxonomies : mapping of str to nested mapping
        For each attribute, its values: mappings from a general value to the values below it, ending in lists.

    Raises
    ------
    InvalidParameterError
        If it is no mapping, or a tree is empty, repeats a value or cannot be read.

    References
    ----------
    D. Sánchez, M. Batet, D. Isern and A. Valls: Ontology-based semantic similarity: a new feature-based approach.
    Expert Systems with Applications 39(9), 2012.

    Examples
    --------
    >>> jobs = SemanticDistance({"job": {"any": {"manual": ["mason", "joiner"], "office": ["clerk"]}}})
    >>> round(jobs.between("job", "mason", "joiner"), 3), round(jobs.between("job", "mason", "clerk"), 3)
    (0.585, 0.848)
    """

    taxonomies: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.taxonomies, Mapping):
            raise InvalidParameterError(
                f"taxonomies must map attributes to trees, got {type(self.taxonomies).__name__}. Write {{'job': tree}}."
            )
        for name in self.taxonomies:
            self.taxonomy(name)

    def taxonomy(self, name: str) -> Taxonomy:
        """Return the taxonomy of an attribute."""
        return Taxonomy.read(self.taxonomies[name], name)

    def between(self, name: str, first: Scalar, second: Scalar) -> float:
        """Return the distance of two values of an attribute."""
        taxonomy = self.taxonomy(name)
        for value in (first, second):
            if value not in taxonomy.values:
                raise InvalidParameterError(f"the taxonomy of {name!r} has no value {value!r}. Add it.")
        return float(taxonomy.table()[taxonomy.values.index(first), taxonomy.values.index(second)])
