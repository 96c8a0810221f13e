"""The two rule lists of COMPAS that are published, beside ours of the same records: ``published_lists.csv``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from fits import GREEDY, LIST, PURER, TELLING, accuracy, fit, rule_list
from settings import split
from study import REFERENCE, Row, options, say, text, write

from glassine import reconstruct
from glassine.models import DecisionTree, RuleList

PUBLISHED = {"GreedyRL on COMPAS, width 1": "GreedyRL, published", "CORELS on COMPAS, width 1": "CORELS, published"}


def row(name: str, model: RuleList | DecisionTree) -> Row:
    """Return the figures of a list."""
    data = split("compas", "0")
    errors = round(len(data.y) * (1 - accuracy(model, data)))
    found = reconstruct(model, data.domain)
    sizes = " ".join(map(str, found.supports))
    return {"list": name, "rules": str(len(found.supports) - 1), "errors": str(errors), "dist_g": text(found.dist_g()),
            "records of the rules": sizes}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the rows of both lists and of ours, of ten rules with least support 0.01."""
    given = options(__doc__, arguments)
    path, rows = REFERENCE / "reconstruction" / "models.json", []
    if not path.exists():
        say(f"published_lists: {path} is not here; GLASSINE_REFERENCE may name its folder")
        return
    for entry in json.loads(path.read_text())["models"]:
        if entry["name"] in PUBLISHED:
            rules = tuple((abs(number) - 1, int(number > 0)) for (number,) in entry["rules"])
            model = rule_list(rules, split("compas", "0"))
            rows.append(row(PUBLISHED[entry["name"]], model))
    for learner in (GREEDY, PURER, LIST, TELLING):
        made = fit(learner, "compas", "0", "0.01", "10").model
        if made is not None:
            rows.append(row(learner, made))
    write(given.results / "published_lists.csv", rows)


__all__ = ["PUBLISHED", "main"]

if __name__ == "__main__":
    main(sys.argv[1:])
