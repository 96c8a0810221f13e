"""Decision trees in PMML: one ``TreeModel``, or those of a ``MiningModel``."""

from __future__ import annotations

import dataclasses

from glassine.domain import Domain
from glassine.errors import UnsupportedModelError
from glassine.formats.builder import place_of
from glassine.formats.pmml_documents import Element, parsed_xml, stated_guarantee
from glassine.formats.pmml_ensembles import EnsembleReader
from glassine.formats.pmml_trees import TreeReader
from glassine.models.ensemble import TreeEnsemble
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
    top = _model(root)
    if top.tag == "TreeModel":
        place_of(1, tree, "the PMML file")
        return dataclasses.replace(TreeReader(root, top, domain).tree(), guarantee=stated_guarantee(root))
    reader = EnsembleReader(root, top, domain)
    return reader.tree(place_of(len(reader.members), tree, "the PMML file", "Or export a single tree."))


def forest_from_pmml(data: bytes, domain: Domain | None = None) -> Forest:
    """Read all trees of a PMML file, without their counts where there are several."""
    root = parsed_xml(data)
    top = _model(root)
    if top.tag == "TreeModel":
        return Forest(trees=(tree_of_document(root, domain),), source="PMML")
    return EnsembleReader(root, top, domain).forest()


def ensemble_from_pmml(data: bytes, domain: Domain | None = None) -> TreeEnsemble | None:
    """Read all trees of a PMML file as an ensemble; None of a single one, and of what holds none."""
    root = parsed_xml(data)
    models = [child for child in root.children if child.tag == "MiningModel"]
    reader = EnsembleReader(root, models[0], domain) if models else None
    return None if reader is None or len(reader.members) <= 1 else reader.ensemble()


def _model(root: Element) -> Element:
    """Return the model of a document: a tree, or the model around several."""
    if root.tag != "PMML":
        raise UnsupportedModelError(f"the XML file is a {root.tag[:40]!r}, not a PMML document.")
    models = [child for child in root.children if child.tag not in BESIDE or child.tag == "TreeModel"]
    if len(models) == 1 and models[0].tag in ("TreeModel", "MiningModel"):
        return models[0]
    listed = ", ".join(child.tag[:40] for child in models[:5]) or "no model"
    raise UnsupportedModelError(
        f"of PMML one tree, rule set, scorecard or regression is read, got {listed}.",
        remedy="Export one tree; explain a model of another kind by small trees with `glassine explain`.",
    )
