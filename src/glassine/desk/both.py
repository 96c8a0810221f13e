"""Two versions of a model, in a worker: what changed, and the widest domain in which both can be judged together."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from glassine.domain import Attribute, Between, Binary, Category, Domain, Integer, Real
from glassine.domain.forms import form_of_literals
from glassine.errors import UnsupportedModelError
from glassine.files import read_once, write_json
from glassine.formats import load_file

OTHER = "any other value"
"""A value of a category that neither version names."""
MOST = 12
"""Changes of a kind that are listed."""


def main() -> None:
    """Write ``changes.json`` and ``domain.json``; arguments: the version before, and now."""
    models: list[Any] = []
    for name in sys.argv[1:]:
        model = load_file(read_once(Path(name)), None).model
        if not hasattr(model, "cells"):
            raise UnsupportedModelError(
                "only trees and rule lists are judged together without a domain.",
                remedy="Ask for the public cut points, and record the answer.",
            )
        models.append(model)
    write_json(changes(*models), "changes.json")
    widest(literal for model in models for literal in model.literals).to_json("domain.json")


def widest(literals: Iterable[Any]) -> Domain:
    """Return a domain with a value on each side of every threshold, and one that no condition names.

    Examples
    --------
    >>> domain = widest([Between("age", hi=40.5), Between("age", hi=60.5), Between("dose", hi=0.25)])
    >>> domain["age"].lo, domain["age"].hi, domain["dose"].resolution
    (39, 62, 0.1)
    """
    literals = tuple(literals)
    cuts: dict[str, set[float]] = {}
    for one in literals:
        if isinstance(one, Between):
            ends = (float(end) for end in (one.lo, one.hi) if math.isfinite(end))
            cuts.setdefault(one.attribute, set()).update(ends)
    missing = {one.attribute for one in literals if one.missing}
    attributes: dict[str, Attribute] = {}
    for entry in form_of_literals(literals)[0]:
        name, edges = entry["name"], sorted(cuts.get(entry["name"], ()))
        if entry["type"] == "binary":
            attributes[name] = Binary(missing=name in missing)
        elif entry["type"] == "category":
            values = dict.fromkeys(value for one in literals if one.attribute == name for value in one.values)
            attributes[name] = Category((*values, OTHER), missing=name in missing)
        elif entry["type"] == "integer":
            attributes[name] = Integer(math.ceil(edges[0]) - 2, math.floor(edges[-1]) + 2, missing=name in missing)
        else:
            # Steps that fit twice between any two thresholds: a continuum has no single values to count.
            gap = min((b - a for a, b in pairwise(edges)), default=1.0)
            step = 10.0 ** math.floor(math.log10(gap / 2))
            lo, hi = math.floor(edges[0] / step) - 1, math.ceil(edges[-1] / step) + 1
            attributes[name] = Real(lo * step, hi * step, resolution=step, missing=name in missing)
    return Domain(attributes)


def changes(before: Any, now: Any) -> Mapping[str, Any]:
    """Return which conditions and parts each of two versions has alone; at most a dozen of each."""
    parts = [Counter(_part(cell) for cell in model.cells) for model in (before, now)]
    conditions = [Counter(map(str, dict.fromkeys(model.literals))) for model in (before, now)]
    return {
        "conditions": [_listed(conditions[0] - conditions[1]), _listed(conditions[1] - conditions[0])],
        "parts": [_listed(parts[0] - parts[1]), _listed(parts[1] - parts[0])],
        "same": (parts[0] & parts[1]).total(),
    }


def _part(cell: Any) -> str:
    counts = cell.evidence.counts
    return f"{cell}: {'no counts' if counts is None else ', '.join(f'{count:g}' for count in counts)}"


def _listed(differences: Counter[str]) -> dict[str, Any]:
    every = list(differences.elements())
    return {"n": len(every), "first": every[:MOST]}


if __name__ == "__main__":
    main()
