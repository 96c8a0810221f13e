"""One tree of R's randomForest, as ``getTree`` prints it."""

from __future__ import annotations

import re
from typing import Any

from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import TreeBuilder, sides
from glassine.formats.format import of_text
from glassine.formats.printed.rule_conditions import NUMBER, plain
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree

HEAD = re.compile(
    r"^[ \t]*left daughter +right daughter +split var +split point +status +prediction[ \t]*\r?$", re.MULTILINE
)
ROW = re.compile(rf"([0-9]{{1,9}}) +([0-9]{{1,9}}) +([0-9]{{1,9}}) +(\S.*?) +({NUMBER}) +(-?[0-9]) +(\S.*?)")
LEAF = "-1"


def tree_from_randomforest(text: str, domain: Domain | None = None) -> DecisionTree:
    """Read a tree that ``getTree(forest, k, labelVar = TRUE)`` of R's randomForest printed.

    Parameters
    ----------
    text : str
        The whole table.
    domain : Domain, optional
        The public domain.

    Returns
    -------
    DecisionTree
        Conditions and predictions; the table has no numbers of records. Split points are as printed, which R rounds.

    Raises
    ------
    UnsupportedModelError
        If a row cannot be read, variables are numbers, or the domain says that one that is split is a category: split
        points are codes then.
    InvalidModelError
        If rows contradict each other, or an attribute can be missing.
    """
    head = HEAD.search(text)
    rows = [] if head is None else text[head.end() :].splitlines()
    by_number: dict[int, Any] = {}
    for raw in rows:
        line = raw.strip()
        if line.startswith(">") and by_number:
            break
        if not line:
            continue
        row = ROW.fullmatch(line)
        if row is None or int(row[1]) in by_number:
            raise UnsupportedModelError(f"a row of getTree cannot be read: {line[:60]!r}.", remedy="Give all of it.")
        by_number[int(row[1])] = row
    if not by_number:
        raise UnsupportedModelError("the table of getTree has no rows.", remedy="Give all of it.")
    labels = [row[7] for row in by_number.values() if row[6] == LEAF]
    regression = all(re.fullmatch(NUMBER, label) for label in labels) and not any(
        row[6] != LEAF and row[7] in ("<NA>", "NA") for row in by_number.values()
    )
    classes: tuple[Scalar, ...] | None = None if regression else tuple(sorted({plain(x) for x in labels}, key=str))
    builder: TreeBuilder[int] = TreeBuilder("the table of getTree", domain, silent=True)
    for key, row in by_number.items():
        if row[6] == LEAF:
            builder.leaf(key, _evidence(row[7], classes))
            continue
        _check(row[4], domain)
        pair = sides(builder.attribute(row[4]), "<=", float(row[5]), domain)
        builder.split(key, pair, (int(row[2]), int(row[3])))
    return builder.tree(next(iter(by_number)), classes, "randomForest")


def _check(name: str, domain: Domain | None) -> None:
    if name.isdigit() and (domain is None or name not in domain):
        raise UnsupportedModelError(
            "the table numbers its variables.", remedy="Print it with getTree(forest, k, labelVar = TRUE)."
        )
    if domain is not None and name in domain and isinstance(domain[name], Category):
        raise UnsupportedModelError(
            f"{name!r} is a category, whose split points are codes of sets of values, which are not read."
        )


def _evidence(text: str, classes: tuple[Scalar, ...] | None) -> Evidence:
    if classes is not None:
        return Evidence(label=classes.index(plain(text)))
    value = float(text)
    if not abs(value) <= 1e300:
        raise InvalidModelError(f"a leaf of the table of getTree predicts {text[:40]!r}, which is not finite.")
    return Evidence(value=value)


FORMAT = of_text(
    name="randomForest",
    again="print(getTree(model, 1, labelVar = TRUE)) in R",
    reads="table of `getTree(forest, k, labelVar = TRUE)` of R's randomForest",
    reveals="conditions and predictions",
    leaves_out="counts; where missing values go",
    sniff=lambda text: HEAD.search(text) is not None,
    read=tree_from_randomforest,
)
