"""What an explainer publishes, and Protocols 1 and 2 over it: no training record is needed to answer a query."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from glassine.codec import FLOAT, SCALAR, TEXT, WHOLE, Codec, Field, checked, decoded, listed, optional, record
from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.domain.domain import DOMAIN
from glassine.errors import InvalidDataError, InvalidModelError, check_whole
from glassine.exports import Displayed
from glassine.files import read_json, write_json
from glassine.formats.json import TREE
from glassine.models import DecisionTree
from glassine.privacy.certificate import Certificate
from glassine.records.arrays import Array, Indices, Ints
from glassine.records.columns import ConformedColumns
from glassine.surrogates.answers import (
    Answers,
    Goal,
    Names,
    NumericAnswer,
    numbers_of,
    plain_label,
)
from glassine.surrogates.checking import check_release
from glassine.surrogates.distances import TAXONOMIES, DomainMetric
from glassine.surrogates.explainer_values import UNCONSTRAINED, Contrast, ContrastConstraints, Explanation, Provenance
from glassine.surrogates.protocols import PAPER, Protocol
from glassine.surrogates.query_input import Query, Record, query_of
from glassine.surrogates.walking import conditions_of, contrasts_of, way_of

MAX_CLOSEST = 1000
"""Largest number of closest representatives that are tried for one query."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SurrogateRelease(Displayed):
    """A published set of representatives and small trees.

    **Guarantee**: none on its own. ``certificate`` says what is claimed, if anything is.

    Attributes
    ----------
    domain : Domain
        The attributes.
    classes : tuple of scalars
        The decisions; none of numeric answers.
    metric : DomainMetric
        The distance by which representatives are sought.
    representatives : tuple of tuple of scalars
        One a group, its values in the order of the attributes.
    trees : tuple of DecisionTree
        One a group.
    k : int or None
        Fewest records, or people, of a group; None where nothing bounds it (a public partition).
    n_closest : int
        Closest representatives among which Protocol 2 seeks by default.
    provenance : Provenance
        How it was made.
    certificate : Certificate or None
        What is claimed of its privacy.
    answer : NumericAnswer or None
        The range of the means that leaves hold, where the black box answers with numbers.
    protocol : Protocol
        How the tree of a query is chosen, and which changes are proposed.

    Raises
    ------
    InvalidModelError
        If the parts contradict each other.
    """

    domain: Domain
    classes: tuple[Scalar, ...]
    metric: DomainMetric
    representatives: tuple[tuple[Scalar | None, ...], ...]
    trees: tuple[DecisionTree, ...]
    k: int | None
    n_closest: int
    provenance: Provenance
    certificate: Certificate | None = None
    answer: NumericAnswer | None = None
    protocol: Protocol = PAPER
    _points: Array = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("classes", "trees"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "representatives", tuple(tuple(point) for point in self.representatives))
        check_release(self)
        points = [self.metric.embed_one(self.domain, self.representative(i)) for i in range(self.n_groups)]
        object.__setattr__(self, "_points", np.concatenate(points))

    def __repr__(self) -> str:
        return f"<SurrogateRelease of {self.n_groups} groups, {self.provenance.form} form>"

    @property
    def drawn(self) -> bool:
        """Whether its trees were drawn with noise: then leaves hold no means and no counts."""
        return all(tree.guarantee is not None for tree in self.trees)

    @property
    def answers(self) -> Answers:
        """What its trees answer: classes, or numbers."""
        return Names(self.classes) if self.answer is None else self.answer

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.trees)

    def representative(self, group: int) -> Record:
        """Return a group's representative by attribute."""
        return dict(zip(self.domain.names, self.representatives[group], strict=True))

    def closest(self, records: ConformedColumns, n_closest: int) -> Indices:
        """Return for each record the groups of its closest representatives, nearest first, shape (n, n_closest)."""
        return self._nearest(self.metric.embed(records), n_closest)

    def _nearest(self, embedded: Array, n_closest: int) -> Indices:
        """Return the groups of the closest representatives, those of the record's stratum first."""
        strata = self.provenance.strata or None
        return self.metric.closest(embedded, self._points, n_closest, self.domain, strata)

    def decisions(self, records: ConformedColumns, groups: Indices) -> Ints:
        """Return for each record and each of its groups the place of what the group's tree answers.

        It is the index of a class, or the number of steps of a mean above the lower bound.

        Parameters
        ----------
        records : ConformedColumns
            The records, n of them.
        groups : ndarray of int, shape (n, m)
            Groups whose trees are asked, for each record.
        """
        out = np.empty(groups.shape, dtype=np.int64)
        order = np.argsort(groups, axis=None, kind="stable")
        bounds = np.searchsorted(groups.ravel()[order], np.arange(self.n_groups + 1))
        for group, tree in enumerate(self.trees):
            at = order[bounds[group] : bounds[group + 1]]
            if len(at):
                used = records.restrict(tree.tested or records.names[:1]).take(at // groups.shape[1])
                out.ravel()[at] = decided_by(tree, used, self.answers)
        return out

    def query(self, x: Query) -> Record:
        """Return a query as plain values, checked against the domain.

        Raises
        ------
        InvalidDataError
            If an attribute is absent or unknown, or a value is missing, of the wrong kind, or outside.
        """
        return query_of(x, self.domain)

    def explain(
        self,
        x: Query,
        decision: object,
        *,
        guided: bool = True,
        n_closest: int | None = None,
        n_contrasts: int = 3,
        constraints: ContrastConstraints = UNCONSTRAINED,
    ) -> Explanation:
        """Return the explanation of a decision, by Protocol 2 or Protocol 1.

        Parameters
        ----------
        x : mapping, sequence, or one-row frame or array
            The query.
        decision : scalar
            What the black box decided on it.
        guided : bool, default=True
            Protocol 2: of the closest representatives, the first whose tree decides so; if none does, the closest. A
            mean at most ``answer.tolerance`` away decides so. Where the release's protocol prefers trees with a
            condition, the first of these that decides so comes before. Protocol 1 otherwise: the closest.
        n_closest : int, optional
            How many representatives Protocol 2 tries; that of the release by default.
        n_contrasts : int, default=3
            Largest number of candidates: changes under which the tree decides otherwise. Without the black box none is
            a contrast; :meth:`.SurrogateExplainer.explain` asks it.
        constraints : ContrastConstraints, optional
            What may change. There are no candidates if no allowed change leads the tree to another decision.

        Raises
        ------
        InvalidDataError
            If the query is not a record of the domain, or the decision is no plain value, or no number where answers
            are numeric.
        InvalidParameterError
            If a number is out of its range, or a constraint does not fit the domain.
        """
        record = self.query(x)
        wanted = self.n_closest if n_closest is None else check_whole(n_closest, "n_closest", 1, MAX_CLOSEST)
        most = check_whole(n_contrasts, "n_contrasts", 0, 100)
        constraints.check(self.domain, numeric=self.answer is not None)
        answer, answers = plain_label(decision), self.answers
        if answer is None:
            raise InvalidDataError(
                f"a decision must be a text, a finite number or a Boolean, got a {type(decision).__name__}.",
                remedy="Give the label.",
            )
        asked = np.array([answer], dtype=object)
        if self.answer is not None:
            numbers_of(asked)
        place = answers.places(asked)
        embedded = self.metric.embed_one(self.domain, record)
        nearest = self._nearest(embedded, wanted if guided else 1)[0]
        chosen, rank = int(nearest[0]), None
        for order, group in enumerate(nearest.tolist(), start=1):
            if not answers.agree(place, np.array([self._place(group, record)]))[0]:
                continue
            split = len(self.trees[group].nodes) > 1
            if rank is None or split:
                chosen, rank = group, order
            if split or not self.protocol.splits:
                break
        tree = self.trees[chosen]
        path, literals = way_of(tree, record)
        own = answers.value(self._place(chosen, record))
        changes: tuple[Contrast, ...] = ()
        if most or constraints.seeks:
            changes = self.changes(record, chosen, constraints, (self.protocol.margin,))
        goal: Goal | None = None
        if constraints.seeks:
            goal = "met" if constraints.sought(own) else "within reach" if changes else "out of reach"
        if most and self.protocol.votes:
            changes = tuple(one for one in changes if self.voted(record, one, constraints, self.protocol.votes))
        return Explanation(
            decision=answer,
            tree_decision=own,
            agrees=rank is not None,
            group=chosen,
            rank=rank,
            guided=bool(guided),
            n_closest=min(wanted, self.n_groups) if guided else 1,
            distance=float(self.metric.between(embedded, self._points[chosen : chosen + 1], self.domain)[0, 0]),
            representative=self.representative(chosen),
            tree=tree,
            path=path,
            conditions=conditions_of(literals, self.domain),
            candidates=changes[:most],
            tolerance=None if self.answer is None else self.answer.tolerance,
            goal=goal,
        )

    def changes(
        self, record: Record, group: int, constraints: ContrastConstraints, margins: Sequence[int]
    ) -> tuple[Contrast, ...]:
        """Return the changes that lead a group's tree to another decision, for each margin, the nearest first."""
        return contrasts_of(
            self.trees[group],
            record,
            decision=self.answers.value(self._place(group, record)),
            domain=self.domain,
            metric=self.metric,
            constraints=constraints,
            answers=self.answers,
            margins=margins,
        )

    def voted(self, record: Record, contrast: Contrast, constraints: ContrastConstraints, votes: int) -> bool:
        """Return whether all of the trees closest to the changed record decide as a contrast says."""
        after = {**record, **{change.attribute: change.after for change in contrast.changes}}
        nearest = self._nearest(self.metric.embed_one(self.domain, after), votes)[0].tolist()
        places = np.array([self._place(group, after) for group in nearest], dtype=np.int64)
        if constraints.seeks:
            return all(constraints.sought(self.answers.value(place)) for place in places.tolist())
        wanted = self.answers.places(np.array([contrast.decision], dtype=object))
        return bool(self.answers.agree(places, np.repeat(wanted, len(places))).all())

    def _place(self, group: int, record: Mapping[str, Scalar | None]) -> int:
        tree = self.trees[group]
        return self.answers.given_by(tree.nodes[way_of(tree, record)[0][-1]].evidence) or 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values of the schema ``glassine.surrogates/1``."""
        out: dict[str, Any] = RELEASE.encode(self)
        return out

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the release to a JSON file, whole or not at all. The schema is ``glassine.surrogates/1``."""
        write_json(self.to_dict(), path)

    @classmethod
    def from_dict(cls, values: object) -> SurrogateRelease:
        """Return the release that plain JSON values describe.

        Raises
        ------
        InvalidModelError
            If a key is missing, unknown or of the wrong kind, a limit of size is passed, or parts contradict each
            other.
        """
        if not isinstance(values, dict) or values.get("schema") != SCHEMA:
            schema = values.get("schema") if isinstance(values, dict) else type(values).__name__
            raise InvalidModelError(
                f"a release of surrogates must have the schema {SCHEMA!r}, got {str(schema)[:60]!r}.",
                remedy="Give the file of a release, as explaining a black box writes it.",
            )
        _check_sizes(values)
        return decoded(RELEASE, values, "the release", InvalidModelError)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> SurrogateRelease:
        """Read a release from a JSON file; nothing in it is trusted.

        Raises
        ------
        UnreadableFileError
            If the file is missing, larger than 200 MB or no JSON.
        InvalidModelError
            As :meth:`from_dict`.
        """
        return cls.from_dict(read_json(path))


def decided_by(tree: DecisionTree, records: ConformedColumns, answers: Answers) -> Ints:
    """Return the place of what a tree answers on each record, shape (n,)."""
    places = np.array([answers.given_by(cell.evidence) for cell in tree.cells], dtype=np.int64)
    return np.asarray(places[tree.apply(records)])


# Releases as JSON, schema ``glassine.surrogates/1``.

SCHEMA = "glassine.surrogates/1"
MAX_GROUPS = 100_000
MAX_NODES = 2_000_000
MAX_TREE_DEPTH = 200
MAX_ATTRIBUTES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _TreeGroup:
    """What stands in a file together: a representative and its tree."""

    representative: tuple[Scalar | None, ...]
    tree: DecisionTree


def _groups(release: SurrogateRelease) -> list[_TreeGroup]:
    pairs = zip(release.representatives, release.trees, strict=True)
    return [_TreeGroup(representative=point, tree=tree) for point, tree in pairs]


def _release(
    *,
    distance: str,
    scales: tuple[float, ...],
    taxonomies: dict[str, Any],
    groups: tuple[_TreeGroup, ...],
    **parts: Any,
) -> SurrogateRelease:
    """Return the release whose parts stand in a file side by side."""
    return SurrogateRelease(
        metric=DomainMetric(distance=distance, scales=scales, taxonomies=taxonomies),
        representatives=tuple(group.representative for group in groups),
        trees=tuple(group.tree for group in groups),
        **parts,
    )


PROVENANCE = record(
    Provenance,
    dict.fromkeys(("version", "notes"), Field(required=True))
    | {"gamma": Field(omit=None, required=False), "strata": Field(omit="", required=False)},
)
RELEASE: Codec[SurrogateRelease] = record(
    _release,
    {
        "domain": Field(codec=DOMAIN),
        "classes": Field(codec=listed(SCALAR)),
        "distance": Field(codec=TEXT, get=attrgetter("metric.distance")),
        "scales": Field(codec=listed(FLOAT), get=attrgetter("metric.scales")),
        "taxonomies": Field(codec=TAXONOMIES, get=attrgetter("metric.taxonomies")),
        "k": Field(codec=optional(WHOLE)),
        "n_closest": Field(codec=WHOLE),
        "provenance": Field(codec=PROVENANCE),
        "certificate": Field(codec=optional(checked(Certificate.to_dict, Certificate.from_dict))),
        "answer": Field(codec=optional(record(NumericAnswer)), omit=None, required=False),
        "protocol": Field(codec=record(Protocol), omit=PAPER, required=False),
        "groups": Field(
            codec=listed(
                record(_TreeGroup, {"representative": Field(codec=listed(optional(SCALAR))), "tree": Field(codec=TREE)})
            ),
            get=_groups,
        ),
    },
    head={"schema": SCHEMA},
)


def _check_sizes(values: dict[str, Any]) -> None:
    """Refuse by their numbers, before any is read, more attributes, groups and nodes than are read in a short time."""
    domain, groups = values.get("domain"), values.get("groups")
    attributes = domain.get("attributes") if isinstance(domain, dict) else None
    for part, most, noun in ((attributes, MAX_ATTRIBUTES, "attributes"), (groups, MAX_GROUPS, "groups")):
        if isinstance(part, list) and len(part) > most:
            raise InvalidModelError(
                f"a release has at most {most} {noun}, got {len(part)}.", remedy="Explain again with fewer groups."
            )
    total = 0
    for i, group in enumerate(groups if isinstance(groups, list) else []):
        tree = group.get("tree") if isinstance(group, dict) else None
        nodes = tree.get("nodes") if isinstance(tree, dict) else None
        if not isinstance(nodes, list):
            raise InvalidModelError(f"the tree of group {i} must be a decision tree with nodes.")
        total += len(nodes)
        if total > MAX_NODES:
            raise InvalidModelError(
                f"the trees of a release have at most {MAX_NODES} nodes.",
                remedy="Explain again with fewer groups, or smaller trees.",
            )
        _check_depth(nodes, i)


def _check_depth(nodes: list[Any], group: int) -> None:
    """Refuse what would take a quadratic time to read: a chain of many nodes."""
    level, depth, seen = [0] if nodes else [], 0, 0
    while level and seen <= len(nodes):
        seen += len(level)
        if depth > MAX_TREE_DEPTH:
            raise InvalidModelError(
                f"the tree of group {group} is deeper than {MAX_TREE_DEPTH} splits.",
                remedy="Explain again with a smaller depth.",
            )
        below: list[int] = []
        for index in level:
            branches = nodes[index].get("branches", []) if isinstance(nodes[index], dict) else []
            for branch in branches if isinstance(branches, list) else []:
                child = branch.get("child") if isinstance(branch, dict) else None
                if isinstance(child, int) and 0 < child < len(nodes):
                    below.append(child)
        level, depth = below, depth + 1
