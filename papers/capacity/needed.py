"""How many people a class needs, so that the mean advantage of any attack is below a limit."""

from __future__ import annotations

from pathlib import Path

from glassine.capacity import COUNTS, LABELS, people_needed, rule_list_class, tree_class
from papers.common.results import write

QUESTIONS = 50
CLASSES = {
    **{f"tree of depth {depth}": tree_class(QUESTIONS, depth, 2, symmetric=True) for depth in (2, 3, 4, 5)},
    "list of 5 rules": rule_list_class(2 * QUESTIONS, 5, 2, symmetric=True),
}


def write_needed(path: Path) -> None:
    """Write the people that each class needs, given the published model and except for one draw in 20."""
    rows = [
        {
            "class": name,
            "published": published.figures,
            "limit": limit,
            "fresh": people_needed(declared, limit, published=published),
            "half drawn": people_needed(declared, limit, rate=0.5, published=published),
        }
        for name, declared in CLASSES.items()
        for published in (LABELS, COUNTS)
        for limit in (0.05, 0.02)
    ]
    write(path, rows)
