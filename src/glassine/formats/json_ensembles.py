"""Ensembles of trees as Glassine's JSON: what each tree tests and adds, and how they predict together."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any, get_args

from glassine.codec import FLAG, NUMBER, TEXT, WHOLE, Codec, Field, decoded, listed, one_of, optional, record
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError
from glassine.formats.conditions import conformed
from glassine.formats.ensembles import together
from glassine.formats.json_nodes import SCALARS, in_columns, read_nodes
from glassine.models.ensemble import Link, Placement, Scoring, TreeEnsemble
from glassine.models.tree import DecisionTree, Forest, Node

SCHEMA = "glassine.model/1"


def _ensemble(
    *,
    attributes: tuple[str, ...],
    classes: tuple[Scalar, ...] | None,
    source: str,
    n_records: int | None,
    trees: tuple[tuple[Node, ...], ...],
    **facts: Any,
) -> TreeEnsemble:
    """Return the ensemble of the trees of a file."""
    link, base = facts.pop("link"), facts.pop("base")
    several = {"shares": bool(classes), "logit": classes is not None and len(classes) == 2}
    several |= dict.fromkeys(("identity", "log"), classes is None)
    outputs = len(classes or ()) if link == "softmax" else 1
    if not several.get(link, outputs > 1) or len(base) != outputs or len(trees) % outputs:
        raise InvalidModelError("the classes, the number of outputs and that of trees do not fit the link.")
    own = classes if link == "shares" else None
    members = tuple(DecisionTree(nodes=nodes, attributes=attributes, classes=own) for nodes in trees)
    forest = Forest(trees=members, bootstrap=True, n_records=n_records, source=source)
    scoring = Scoring(forest=forest, link=link, base=base, mean=facts["combined"] == "mean" and link != "shares")
    return together(forest, scoring, classes=classes, outputs=len(base), **facts)


ENSEMBLE: Codec[TreeEnsemble] = record(
    _ensemble,
    {
        "combined": Field(codec=one_of("mean", "sum")),
        "learner": Field(codec=TEXT),
        "attributes": Field(codec=listed(TEXT)),
        "classes": Field(codec=optional(SCALARS)),
        "placed": Field(codec=one_of(*get_args(Placement))),
        "rate": Field(codec=optional(NUMBER)),
        "n_records": Field(codec=optional(WHOLE)),
        "whole": Field(codec=FLAG),
        "base_rate": Field(codec=optional(NUMBER)),
        "special": Field(codec=listed(TEXT)),
        "source": Field(codec=TEXT),
        "link": Field(codec=one_of(*get_args(Link)), get=attrgetter("scoring.link")),
        "base": Field(codec=listed(NUMBER), get=attrgetter("scoring.base")),
        "trees": Field(
            codec=listed(Codec(in_columns, read_nodes)),
            get=lambda ensemble: [tree.nodes for tree in ensemble.scoring.forest.trees],
        ),
    },
    head={"schema": SCHEMA, "kind": "ensemble"},
)
"""Several trees that predict together; what else was known of their estimator, such as its seeds, is no part of it."""


def ensemble_of(values: object, domain: Domain | None = None) -> TreeEnsemble | None:
    """Return the ensemble that plain JSON values describe; None where they describe another model.

    Raises
    ------
    InvalidModelError
        If a part of it is not what it must be, or it tests an attribute that the domain lacks.
    """
    if not isinstance(values, dict) or (values.get("schema"), values.get("kind")) != (SCHEMA, "ensemble"):
        return None
    read: TreeEnsemble = decoded(ENSEMBLE, values, "the ensemble", InvalidModelError)
    if domain is None or read.scoring is None:
        return read
    trees = tuple(conformed(tree, domain) for tree in read.scoring.forest.trees)
    return replace(read, scoring=replace(read.scoring, forest=replace(read.scoring.forest, trees=trees)))
