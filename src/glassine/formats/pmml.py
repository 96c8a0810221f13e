"""Decision trees in PMML: one ``TreeModel``, or those of a ``MiningModel``."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import (
    place_of,
    source_of,
    without_sizes,
)
from glassine.formats.ensembles import together
from glassine.formats.pmml_documents import Element, parsed_xml, stated_guarantee
from glassine.formats.pmml_fields import fields_of
from glassine.formats.pmml_predicates import (
    PREDICATES,
)
from glassine.formats.pmml_trees import TreeReader
from glassine.models.ensemble import Scoring, TreeEnsemble
from glassine.models.tree import DecisionTree, Forest

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
        something that is not understood: a derived field other than a cast or a scaling, another
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
        return dataclasses.replace(TreeReader(root, top, domain).tree(), guarantee=stated_guarantee(root))
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


def ensemble_from_pmml(data: bytes, domain: Domain | None = None) -> TreeEnsemble | None:
    """Read all trees of a PMML file as an ensemble; None of a single one, and of what holds none."""
    root = parsed_xml(data)
    models = [child for child in root.children if child.tag == "MiningModel"]
    if not models or len(_segments(models[0])) <= 1:
        return None
    forest = forest_from_pmml(data, domain)
    methods = [own.attributes.get("multipleModelMethod", "") for own in _segmentations(models[0])]
    mean = any("average" in method.lower() or "vote" in method.lower() for method in methods)
    shares = mean and forest.classes is not None and len(methods) == 1
    return together(
        forest,
        Scoring(forest=forest, link="shares") if shares and "average" in methods[0] else None,
        combined="mean" if mean else "sum",
        learner="forest" if mean else "boosted trees",
        # Scores of boosted trees become classes in what follows them, which is not read.
        classes=forest.classes or None if mean else _labels(root, models[0], domain) or forest.classes or None,
        placed="unknown",
    )


def _segmentations(model: Element) -> list[Element]:
    """Return the segmentation of a MiningModel, and those of the MiningModels in it."""
    out, stack = [], [model]
    while stack:
        segmentation = stack.pop().first("Segmentation")
        if segmentation is not None:
            out.append(segmentation)
            stack += [c for s in segmentation.children if s.tag == "Segment" for c in s.children if c.tag == model.tag]
    return out


def _labels(root: Element, model: Element, domain: Domain | None) -> tuple[Scalar, ...]:
    """Return the classes of a MiningModel that predicts one; none of a regression."""
    return fields_of(root, model, domain).labels if model.attributes.get("functionName") == "classification" else ()


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
        f"of PMML one tree, rule set, scorecard or regression is read, got {listed}.",
        remedy="Export one tree; explain a model of another kind by small trees with `glassine explain`.",
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
    raise UnsupportedModelError("of a MiningModel segments that are trees are read.", remedy="Export a single tree.")


def _classes(root: Element, top: Element, trees: Sequence[Element], domain: Domain | None) -> tuple[Scalar, ...]:
    """Return the classes that the data dictionary or any tree names, in the order of their first mention."""
    schema = fields_of(root, top, domain)
    labels: tuple[Scalar, ...] = schema.labels
    for element in trees:
        if element.attributes.get("functionName") == "classification":
            reader = TreeReader(root, element, domain, classes=labels, kind=schema.target_type, outer=top)
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
    read = TreeReader(root, trees[place], domain, classes=classes, kind=schema.target_type, outer=top).tree()
    names = read.attributes if domain is not None else tuple(dict.fromkeys((*schema.active, *read.attributes)))
    source = source_of("PMML", place, len(trees))
    return without_sizes(dataclasses.replace(read, attributes=names, source=source))
