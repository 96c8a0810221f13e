"""Decision trees in PMML: one ``TreeModel``, or those of a ``MiningModel``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from glassine.domain import Between, Domain, Literal, OneOf
from glassine.domain.attributes import Scalar
from glassine.domain.literals import are_disjoint, complement
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.builder import TreeBuilder, can_be_missing, from_shares, place_of, source_of, without_sizes
from glassine.formats.conditions import damaged, with_missing
from glassine.formats.pmml_predicates import (
    Element,
    Fields,
    anything,
    fields_of,
    literal_of,
    parsed_xml,
    stated_guarantee,
    typed,
)
from glassine.models.evidence import Evidence
from glassine.models.tree import DecisionTree, Forest

STRATEGIES = ("none", "nullPrediction", "defaultChild")
PREDICATES = ("True", "False", "SimplePredicate", "CompoundPredicate", "SimpleSetPredicate")
BESIDE = ("Extension", "Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary", "TreeModel")


def is_xml(data: bytes) -> bool:
    """Return whether bytes start as XML does, in any encoding that it may have."""
    return data.lstrip().startswith((b"<", b"\xef\xbb\xbf<", b"\xff\xfe<", b"\xfe\xff\x00<"))


def tree_from_pmml(data: bytes, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Read a decision tree from the bytes of a PMML file.

    Parameters
    ----------
    data : bytes
        The file: a ``TreeModel`` whose nodes each test one field. A document type declaration is refused, so that no
        entity is expanded and nothing outside the file is read.
    domain : Domain, optional
        The public domain.
    tree : int, optional
        The place of the tree, from 0, in a ``MiningModel`` with a segment for each of several. Their counts are not
        read: they may count draws, and the file does not say so.

    Returns
    -------
    DecisionTree
        Each node has the class counts of its ``ScoreDistribution`` where they are whole, else its number of records.
        Where children need not cover every value and the model then returns the last prediction, a branch stands for
        the rest.

    Raises
    ------
    UnsupportedModelError
        If the file is not XML, holds a document type, several trees where none is asked for, another model, or says
        something that is not understood: a derived field other than a cast, a predicate on several fields, another
        strategy for missing values.
    InvalidModelError
        If the model contradicts itself or does not fit the domain.
    InvalidParameterError
        If there is no such tree.
    """
    return tree_of_document(parsed_xml(data), domain, tree)


def tree_of_document(root: Element, domain: Domain | None = None, tree: int | None = None) -> DecisionTree:
    """Read a decision tree from a parsed PMML document, as :func:`tree_from_pmml` does."""
    top, trees = _models(root)
    place = place_of(len(trees), tree, "the PMML file", "Or export a single tree.")
    if top is trees[place]:
        return dataclasses.replace(_Reader(root, top, domain).tree(), guarantee=stated_guarantee(root))
    return _member(root, top, trees, place, domain, _classes(root, top, trees, domain))


def forest_from_pmml(data: bytes, domain: Domain | None = None) -> Forest:
    """Read all trees of a PMML file, without their counts where there are several."""
    # The file does not say on which records each tree was trained, so that a forest of several counts as drawn.
    root = parsed_xml(data)
    top, trees = _models(root)
    if top is trees[0]:
        return Forest(trees=(tree_of_document(root, domain),), source="PMML")
    classes = _classes(root, top, trees, domain)
    members = tuple(_member(root, top, trees, place, domain, classes) for place in range(len(trees)))
    return Forest(trees=members, bootstrap=len(members) > 1, source="PMML")


def _models(root: Element) -> tuple[Element, list[Element]]:
    """Return the model of a document, and its trees: the model itself, or its segments."""
    if root.tag != "PMML":
        raise UnsupportedModelError(f"the XML file is a {root.tag[:40]!r}, not a PMML document.")
    models = [child for child in root.children if child.tag not in BESIDE or child.tag == "TreeModel"]
    if len(models) == 1 and models[0].tag == "TreeModel":
        return models[0], [models[0]]
    if len(models) == 1 and models[0].tag == "MiningModel":
        return models[0], _segments(models[0])
    listed = ", ".join(child.tag[:40] for child in models[:5]) or "no model"
    raise UnsupportedModelError(
        f"a PMML file with one TreeModel is read, got {listed}.", remedy="Export a single tree."
    )


def _segments(model: Element) -> list[Element]:
    """Return the trees of a MiningModel, which may stand in one that is chained to something else."""
    for _ in range(3):
        segmentation = model.first("Segmentation")
        segments = [] if segmentation is None else [s for s in segmentation.children if s.tag == "Segment"]
        models = [c for s in segments for c in s.children if c.tag not in PREDICATES and c.tag != "Extension"]
        inner = [c for c in models if c.tag == "MiningModel"]
        if models and all(c.tag == "TreeModel" for c in models):
            if any(s.first("True") is None for s in segments):
                raise UnsupportedModelError("a Segment of the MiningModel has its own condition; only True is read.")
            return models
        if len(inner) != 1:
            break
        model = inner[0]
    raise UnsupportedModelError(
        "of a MiningModel segments that are trees are read, got others.", remedy="Export a single tree."
    )


def _classes(root: Element, top: Element, trees: Sequence[Element], domain: Domain | None) -> tuple[Scalar, ...]:
    """Return the classes that the data dictionary or any tree names, in the order of their first mention."""
    schema = fields_of(root, top, domain)
    labels: tuple[Scalar, ...] = schema.labels
    for element in trees:
        if element.attributes.get("functionName") == "classification":
            reader = _Reader(root, element, domain, classes=labels, kind=schema.target_type, outer=top)
            labels = reader.all_classes()
    return labels


def _member(
    root: Element,
    top: Element,
    trees: Sequence[Element],
    place: int,
    domain: Domain | None,
    classes: tuple[Scalar, ...],
) -> DecisionTree:
    """Return one tree of several, over the fields and classes of them all."""
    schema = fields_of(root, top, domain)
    read = _Reader(root, trees[place], domain, classes=classes, kind=schema.target_type, outer=top).tree()
    names = read.attributes if domain is not None else tuple(dict.fromkeys((*schema.active, *read.attributes)))
    source = source_of("PMML", place, len(trees))
    return without_sizes(dataclasses.replace(read, attributes=names, source=source))


class _Reader:
    """One TreeModel."""

    def __init__(
        self,
        root: Element,
        model: Element,
        domain: Domain | None,
        *,
        classes: tuple[Scalar, ...] = (),
        kind: str | None = None,
        outer: Element | None = None,
    ) -> None:
        self.model, self.domain = model, domain
        self.fields: Fields = fields_of(root, model, domain, outer)
        if kind is not None:  # the target stands in the schema of the model around
            self.fields = dataclasses.replace(self.fields, labels=classes, target_type=kind)
        attributes = model.attributes
        purpose = attributes.get("functionName")
        if purpose not in ("classification", "regression"):
            raise UnsupportedModelError(f"a TreeModel is for classification or regression, got {purpose!r:.40}.")
        self.regression = purpose == "regression"
        self.strategy = attributes.get("missingValueStrategy", "none")
        self.keeps_last = attributes.get("noTrueChildStrategy", "returnNullPrediction") == "returnLastPrediction"
        if self.regression and model.first("Targets") is not None:
            raise UnsupportedModelError("the TreeModel rescales its predictions in Targets, which is not read.")
        self.classes = self.fields.labels
        self.builder: TreeBuilder[int] = TreeBuilder("the TreeModel", domain, None if domain else self.fields.active)

    def tree(self) -> DecisionTree:
        """Return the tree; the key of a node is that of its element."""
        start = self.model.first("Node")
        if start is None:
            raise damaged("the TreeModel has no Node.")
        if _predicate(start).tag != "True":
            raise UnsupportedModelError("the root of the TreeModel has a condition; only True is read.")
        classes = None if self.regression else self.all_classes()
        for node in self._nodes():
            self._read(node)
        if classes == ():
            raise InvalidModelError("the TreeModel names no class in a node or in its data dictionary.")
        return self.builder.tree(id(start), classes, "PMML")

    def _nodes(self) -> Iterator[Element]:
        """Yield the nodes, depth first."""
        stack = [node for node in (self.model.first("Node"),) if node is not None]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.below("Node"))

    def all_classes(self) -> tuple[Scalar, ...]:
        """Return the classes that are known, and those that nodes name."""
        seen = dict.fromkeys(self.classes)
        for node in self._nodes():
            listed = [child.attributes.get("value") for child in node.below("ScoreDistribution")]
            for text in [*listed, node.attributes.get("score")]:
                if text is not None:
                    seen.setdefault(typed(text, self.fields.target_type))
        self.classes = tuple(seen)
        return self.classes

    def _read(self, node: Element) -> None:
        """Add a node with its branches and its evidence."""
        evidence, below = self._evidence(node), node.below("Node")
        odd = [c.tag for c in node.children if c.tag in ("Partition", "Regression", "DecisionTree")]
        if odd:
            raise UnsupportedModelError(f"a Node holds a {odd[0]}, which is not read.")
        if not below:
            self.builder.leaf(id(node), evidence)
            return
        predicates = [_predicate(child) for child in below]
        read = [None if one.tag == "False" else literal_of(one, self.fields, self.domain) for one in predicates]
        name = next((lit.attribute for lit in read if lit is not None), self.fields.first)
        if name is None or (self.domain is not None and name not in self.domain):
            raise UnsupportedModelError(
                "a Node has children that test no field of the model.", remedy="Export it again."
            )
        always = anything(name, self.fields)
        literals = [
            OneOf(name, ()) if one.tag == "False" else literal or always
            for one, literal in zip(predicates, read, strict=True)
        ]
        missing = can_be_missing(name, self.domain, any(lit.missing for lit in literals))
        literals = self._with_default(node, literals) if missing else [with_missing(lit, False) for lit in literals]
        keys = [id(child) for child in below]
        if not self._covers(literals, name, missing):
            if self.keeps_last:
                self.builder.leaf(-id(node), self._rest(evidence, below))
                other = complement(literals[0], missing=missing) if len(literals) == 1 else always
                literals.append(other if missing else with_missing(other, False))
                keys.append(-id(node))
            elif len(literals) == 1:
                raise UnsupportedModelError(
                    "a Node has one child and predicts nothing for other records.", remedy="Export it again."
                )
        self.builder.split(id(node), literals, keys, evidence)

    def _with_default(self, element: Element, literals: list[Literal]) -> list[Literal]:
        """Return the conditions of the branches with missing values where the strategy sends them."""
        if self.strategy not in STRATEGIES or (self.strategy == "none" and self.keeps_last):
            raise UnsupportedModelError(
                f"{literals[0].attribute!r} can be missing, and the strategy {self.strategy!r:.40} for missing "
                "values is not read.",
                remedy="Export the tree with missingValueStrategy='defaultChild'.",
            )
        if self.strategy != "defaultChild" or any(lit.missing for lit in literals):
            return literals
        wanted = element.attributes.get("defaultChild")
        ids = [child.attributes.get("id") for child in element.below("Node")]
        if wanted is None or ids.count(wanted) != 1:
            raise damaged("a Node of the TreeModel names none of its children as its default.")
        place = ids.index(wanted)
        return [with_missing(lit, i == place) for i, lit in enumerate(literals)]

    def _covers(self, literals: Sequence[Literal], name: str, missing: bool) -> bool:
        """Return whether every value of the field satisfies a branch."""
        if any(literal.attribute != name for literal in literals):
            raise UnsupportedModelError("the children of a Node test several fields, which is not read.")
        if missing and not any(literal.missing for literal in literals):
            return False
        present = (Between(name), OneOf(name, (), negated=True))
        if any(with_missing(lit, False) in present for lit in literals):
            return True
        if len(literals) == 2 and self._opposite(*literals):
            return True
        listed = {value for lit in literals if not isinstance(lit, Between) and not lit.negated for value in lit.values}
        values = self.fields.values.get(name, ())
        return bool(values) and set(values) <= listed

    @staticmethod
    def _opposite(left: Literal, right: Literal) -> bool:
        other = with_missing(left.negate(), right.missing)
        if other == right:
            return True
        if not (isinstance(left, Between) and isinstance(right, Between)) or left.negated or right.negated:
            return False
        ends = sorted(((left.lo, left.hi), (right.lo, right.hi)))
        return are_disjoint(with_missing(left, False), right) and ends[0][1] == ends[1][0] and ends[0][0] == -ends[1][1]

    def _rest(self, own: Evidence, below: Sequence[Element]) -> Evidence:
        """Return the evidence of the records that satisfy no child."""
        parts = [self._evidence(child) for child in below]
        if own.counts is not None and all(part.counts is not None for part in parts):
            left = [a - sum((p.counts or ())[i] for p in parts) for i, a in enumerate(own.counts)]
            if all(count >= 0 for count in left):
                return Evidence(counts=tuple(left), label=own.label)
        return Evidence(label=own.label, value=own.value)

    def _evidence(self, node: Element) -> Evidence:
        """Return what a node publishes."""
        score, total = node.attributes.get("score"), _whole(node.attributes.get("recordCount"))
        if self.regression:
            return Evidence(total=total, value=None if score is None else _number(score, "a score"))
        listed = {
            typed(str(child.attributes.get("value")), self.fields.target_type): child
            for child in node.below("ScoreDistribution")
        }
        label = None if score is None else self.classes.index(typed(score, self.fields.target_type))
        if not listed:
            return Evidence(total=total, label=label)
        texts = [listed[name].attributes.get("recordCount") if name in listed else "0" for name in self.classes]
        counts = [_whole(text) for text in texts]
        stated = [count for count in counts if count is not None]
        if len(stated) == len(counts) and total in (None, sum(stated)):
            return Evidence(counts=tuple(stated), label=label)
        numbers = [0.0 if text is None else _number(text, "a recordCount") for text in texts]
        whole = sum(numbers)
        if label is not None and whole > 0 and all(number >= 0 for number in numbers) and None not in texts:
            return from_shares([number / whole for number in numbers], label, total)
        return Evidence(total=total, label=label)


def _predicate(node: Element) -> Element:
    """Return the one predicate of a node."""
    predicates = [child for child in node.children if child.tag in PREDICATES]
    if len(predicates) != 1:
        raise InvalidModelError(f"a Node of the TreeModel has {len(predicates)} predicates; it needs one.")
    return predicates[0]


def _number(text: str, what: str) -> float:
    value = typed(text, "double")
    if isinstance(value, str | bool):
        raise InvalidModelError(f"{what} of the TreeModel must be a number, got {text!r:.40}.")
    return float(value)


def _whole(text: str | None) -> int | None:
    """Return a count, None if it is not stated or not whole."""
    if text is None:
        return None
    value = _number(text, "a recordCount")
    if value < 0:
        raise InvalidModelError(f"a recordCount of the TreeModel must be at least 0, got {text!r:.40}.")
    return int(value) if value.is_integer() and value < 2**53 else None
