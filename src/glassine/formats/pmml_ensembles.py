"""Trees of a MiningModel of PMML: how its segments predict together."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import source_of
from glassine.formats.ensembles import together
from glassine.formats.pmml_documents import Element
from glassine.formats.pmml_fields import fields_of, number_of, rescaling, typed
from glassine.formats.pmml_predicates import PREDICATES
from glassine.formats.pmml_trees import TreeReader
from glassine.models.ensemble import Link, Scoring, TreeEnsemble
from glassine.models.evidence import Evidence
from glassine.models.transform import rewritten
from glassine.models.tree import DecisionTree, Forest

CHAIN = "modelChain"
MEANS = ("average", "weightedAverage")
SUMS = ("sum", "weightedSum")
VOTES = ("majorityVote", "weightedMajorityVote")
PLAIN_FIELD = {"name", "usageType", "optype", "importance"}
"""Attributes of a MiningField that change no value."""
LINKS: dict[str, Link] = {"logit": "logit", "softmax": "softmax"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentGroup:
    """Trees that one model combines to a share of each class, or to a number.

    Attributes
    ----------
    path : tuple of Element
        The models around the trees, the outermost first; the last combines them.
    trees : tuple of Element
        The trees, in the order of the file.
    weights : tuple of float
        The weight of each.
    method : str
        How they are combined.
    """

    path: tuple[Element, ...]
    trees: tuple[Element, ...]
    weights: tuple[float, ...]
    method: str

    @property
    def output(self) -> str | None:
        """The name under which models after it find what it predicts; None where that is computed further."""
        fields = [field for part in self.path[-1].below("Output") for field in part.below("OutputField")]
        plain = [field for field in fields if field.attributes.get("feature", "predictedValue") == "predictedValue"]
        named = [field.attributes.get("name") for field in plain if not field.children]
        types = {field.attributes.get("dataType", "double") for field in fields}
        return named[0] if len(fields) == len(plain) == len(named) == 1 and types <= {"float", "double"} else None

    @property
    def computes(self) -> bool:
        """Whether something is computed of what it predicts."""
        return any(field.children for part in self.path[-1].below("Output") for field in part.below("OutputField"))

    def scales(self, chained: bool) -> tuple[float, ...]:
        """Return what each tree's value is multiplied by before they are averaged, or added up for what follows."""
        factor, n = rescaling(self.path[-1], "MiningModel")[0], len(self.trees)
        weights = self.weights if self.method.startswith("weighted") else (1.0,) * n
        if self.method in MEANS:
            factor *= (1 if chained else n) / sum(weights)
        return tuple(factor * weight for weight in weights)


def groups_of(top: Element) -> tuple[list[SegmentGroup], Element | None]:
    """Return the trees of a MiningModel, and the regression that makes classes of their scores, if there is one.

    Raises
    ------
    UnsupportedModelError
        If it holds something else.
    """
    segments, method = _segments(top), _method(top)
    if segments and all(model.tag == "TreeModel" for model, _ in segments):
        return [_group((top,), segments, method)], None
    models = [model for model, _ in segments]
    if method != CHAIN and any(weight != 1 for _, weight in segments):
        raise UnsupportedModelError("a Segment that holds a MiningModel has a weight, which is not read.")
    last = models.pop() if models and models[-1].tag == "RegressionModel" else None
    groups = []
    for model in models:
        inner = _segments(model) if model.tag == "MiningModel" else []
        if not inner or any(tree.tag != "TreeModel" for tree, _ in inner):
            break
        groups.append(_group((top, model), inner, _method(model)))
    if not groups or len(groups) < len(models) or (method != CHAIN and len(segments) > 1):
        raise UnsupportedModelError(
            "of a MiningModel segments that are trees are read.", remedy="Export a single tree."
        )
    return groups, last


def _method(model: Element) -> str:
    return "".join(part.attributes.get("multipleModelMethod", "") for part in model.below("Segmentation")[:1])


def _segments(model: Element) -> list[tuple[Element, float]]:
    """Return the models of the segments, and their weights."""
    out = []
    for segment in (s for part in model.below("Segmentation") for s in part.below("Segment")):
        inner = [child for child in segment.children if child.tag not in (*PREDICATES, "Extension")]
        if segment.first("True") is None:
            raise UnsupportedModelError("a Segment of the MiningModel has its own condition; only True is read.")
        if len(inner) != 1:
            raise UnsupportedModelError(f"a Segment of the MiningModel holds {len(inner)} models; one is read.")
        out.append((inner[0], number_of(segment.attributes.get("weight", "1"))))
    return out


def _group(path: tuple[Element, ...], segments: list[tuple[Element, float]], method: str) -> SegmentGroup:
    trees, weights = zip(*segments, strict=True)
    if method.startswith("weighted") and not (min(weights) >= 0 and sum(weights) > 0):
        raise UnsupportedModelError("the weights of a MiningModel are negative, or add up to nothing.")
    return SegmentGroup(path=path, trees=trees, weights=weights, method=method)


@dataclass(frozen=True, slots=True)
class Member:
    """One tree of several, the models around it, and what its values are multiplied by."""

    tree: Element
    path: tuple[Element, ...]
    scale: float


def members_of(groups: list[SegmentGroup], *, chained: bool) -> list[Member]:
    """Return the trees; of several groups as long as each other the first of each, then the second, ..."""
    rows = [
        [Member(tree, group.path, scale) for tree, scale in zip(group.trees, group.scales(chained), strict=True)]
        for group in groups
    ]
    if len({len(row) for row in rows}) == 1:
        return [member for each in zip(*rows, strict=True) for member in each]
    return [member for row in rows for member in row]


class EnsembleReader:
    """A MiningModel of trees."""

    def __init__(self, root: Element, top: Element, domain: Domain | None) -> None:
        self.root, self.top, self.domain = root, top, domain
        self.groups, self.last = groups_of(top)
        self.members = members_of(self.groups, chained=self.last is not None)
        self.schema = fields_of(root, top, domain)
        self.labels = self.schema.labels
        classifies = top.attributes.get("functionName") == "classification"
        self.classes = self._classes() if classifies else ()

    def _reader(self, member: Member, classes: tuple[Scalar, ...]) -> TreeReader:
        kind = self.schema.target_type
        return TreeReader(self.root, member.tree, self.domain, classes=classes, kind=kind, around=member.path)

    def _classes(self) -> tuple[Scalar, ...]:
        """Return the classes that the data dictionary, a tree or the last model names, in order of first mention."""
        labels = self.labels
        for member in self.members:
            if member.tree.attributes.get("functionName") == "classification":
                labels = self._reader(member, labels).all_classes()
        tables = [] if self.last is None else self.last.below("RegressionTable")
        named = [table.attributes["targetCategory"] for table in tables if "targetCategory" in table.attributes]
        return tuple(dict.fromkeys((*labels, *(typed(text, self.schema.target_type) for text in named))))

    def tree(self, place: int) -> DecisionTree:
        """Return one tree, over the fields and classes of them all, without its counts, which may be those of draws."""
        member = self.members[place]
        read = self._reader(member, self.classes).tree()
        names = read.attributes
        if self.domain is None:
            names = tuple(dict.fromkeys((*self.schema.active, *names)))
        source, width = source_of("PMML", place, len(self.members)), len(read.classes or ())

        def unsized(_: int, own: Evidence) -> Evidence:
            value = None if own.value is None else own.value * member.scale
            return Evidence(label=own.prediction, value=value, probabilities=own.shares(width))

        return rewritten(dataclasses.replace(read, attributes=names, source=source), evidence=unsized)

    def forest(self) -> Forest:
        """Return all trees: the file does not say on which records each was trained, so that they count as drawn."""
        trees = tuple(self.tree(place) for place in range(len(self.members)))
        return Forest(trees=trees, bootstrap=len(trees) > 1, source="PMML")

    def ensemble(self) -> TreeEnsemble:
        """Return the trees with how they predict together, as far as that is read."""
        forest, methods = self.forest(), [group.method for group in self.groups]
        mean = self.last is None and methods[0] in (*MEANS, *VOTES)
        return together(
            forest,
            self._scoring(forest),
            combined="mean" if mean else "sum",
            learner="forest" if mean else "boosted trees",
            classes=forest.classes or self.classes or None,
            placed="unknown",
            outputs=len(self.groups),
        )

    def _scoring(self, forest: Forest) -> Scoring | None:
        group = self.groups[0]
        outer = [model for own in self.groups for model in own.path[:-1]]
        if any(rescaling(model, "MiningModel") != (1.0, 0.0) for model in outer):
            return None
        if forest.classes is not None:
            even = len(set(group.weights)) == 1 or group.method in ("average", "majorityVote")
            if self.last is not None or not even or group.method not in (*MEANS, *VOTES):
                return None
            return Scoring(forest=_voting(forest) if group.method in VOTES else forest, link="shares")
        summed = all(own.method in (*MEANS, *SUMS) for own in self.groups)
        if not summed or self.top.attributes.get("functionName") != (
            "regression" if self.last is None else "classification"
        ):
            return None
        if self.last is not None:
            return self._after(forest, self.last)
        if len(self.groups) > 1 or group.computes:
            return None
        return Scoring(forest=forest, link="identity", base=(self._constant(group),), mean=group.method in MEANS)

    def _constant(self, group: SegmentGroup) -> float:
        return rescaling(group.path[-1], "MiningModel")[1]

    def _after(self, forest: Forest, last: Element) -> Scoring | None:
        """Return how a regression on the scores of the groups makes classes of them; None where that is not read."""
        schema = [field for part in last.below("MiningSchema") for field in part.below("MiningField")]
        changed = any(set(field.attributes) - PLAIN_FIELD for field in schema)
        if changed or last.below("LocalTransformations") or rescaling(last, "RegressionModel") != (1.0, 0.0):
            return None
        link, names = LINKS.get(last.attributes.get("normalizationMethod", "")), [own.output for own in self.groups]
        rows: dict[Scalar, tuple[float, float, int]] = {}  # By class: intercept, coefficient, group
        for table in last.below("RegressionTable"):
            label = typed(table.attributes.get("targetCategory", ""), self.schema.target_type)
            start, terms = number_of(table.attributes.get("intercept", "0")), table.below("NumericPredictor")
            name = terms[0].attributes.get("name") if terms else None
            plain = all(term.attributes.get("exponent", "1") == "1" for term in terms)
            if len(terms) > 1 or len(table.children) > len(terms) or not plain:
                return None
            if name is not None and name in names:
                rows[label] = (start, number_of(terms[0].attributes.get("coefficient", "")), names.index(name))
            elif terms or start:
                return None
        if link == "logit" and len(rows) == 1 and len(self.classes) == 2 and set(rows) <= set(self.classes):
            ((label, (start, factor, place)),) = rows.items()
            sign = 1.0 if label == self.classes[1] else -1.0
            chosen = [(sign * start, sign * factor, place)]
        elif link == "softmax" and set(rows) == set(self.classes) and len(rows) > 1:
            chosen = [rows[label] for label in self.classes]
        else:
            return None
        places = [place for _, _, place in chosen]
        if sorted(places) != list(range(len(names))) or len({len(own.trees) for own in self.groups}) > 1:
            return None
        rounds = range(0, len(forest.trees), len(names))
        trees = tuple(_times(forest.trees[first + i], factor) for first in rounds for _, factor, i in chosen)
        base = tuple(start + factor * self._constant(self.groups[i]) for start, factor, i in chosen)
        return Scoring(forest=dataclasses.replace(forest, trees=trees), link=link, base=base)


def _times(tree: DecisionTree, factor: float) -> DecisionTree:
    """Return a tree whose values are multiplied by a number."""
    if factor == 1:
        return tree
    return rewritten(
        tree, evidence=lambda _, own: dataclasses.replace(own, value=None if own.value is None else own.value * factor)
    )


def _voting(forest: Forest) -> Forest:
    """Return a forest whose leaves have all of the share for the class that they vote for."""
    n_classes = len(forest.classes or ())

    def vote(_: int, own: Evidence) -> Evidence:
        if own.prediction is None:
            return Evidence()
        return Evidence(label=own.prediction, probabilities=tuple(float(i == own.prediction) for i in range(n_classes)))

    return dataclasses.replace(forest, trees=tuple(rewritten(tree, evidence=vote) for tree in forest.trees))
