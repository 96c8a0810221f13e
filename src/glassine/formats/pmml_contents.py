"""What a PMML document holds beside the tree that was read: elements, attributes and texts that its reader left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.parsers import expat

from glassine.domain import Domain
from glassine.formats.contents import (
    LONGEST_NAME,
    FittedValues,
    OtherContent,
    Tracked,
    fitted_categories,
    named_values,
    shown_name,
    texts_of,
)
from glassine.formats.json import is_claim
from glassine.formats.pmml import tree_of_document
from glassine.formats.pmml_documents import Element, holds_claim, parsed_xml
from glassine.models.tree import DecisionTree

USUAL_SPACE = re.compile(r"[ \t]{0,200}|(\r?\n){1,3}[ \t]{0,200}")
WORD, WHOLE, NUMBER = re.compile(r"[a-zA-Z]{1,30}"), re.compile(r"[0-9]{1,9}"), re.compile(r"[0-9.eE+-]{1,24}")
VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}")
STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?(Z|[+-][0-9:]{5})?")
PRODUCERS = (
    "glassine",
    "JPMML-SkLearn",
    "SkLearn2PMML package",
    "JPMML-R",
    "SoftwareAG PMML Generator",
    "Rattle/PMML",
    "hand",
    "KNIME",
)
CHOICES: Mapping[str, tuple[str, ...]] = {
    "splitCharacteristic": ("binarySplit", "multiSplit"),
    "algorithmName": ("rpart", "decisionTree", "randomForest", "C4.5", "CART", "ID3", "decision tree"),
    "modelName": ("tree", "RPart_Model", "rpart", "DecisionTree", "Tree"),
    "optype": ("continuous", "categorical", "ordinal"),
    "missingValueTreatment": ("asIs", "returnInvalid", "asMissing", "asMean", "asMode", "asMedian", "asValue"),
    "invalidValueTreatment": ("asIs", "returnInvalid", "asMissing", "asValue"),
    "type": ("int", "real", "string"),
    "multipleModelMethod": ("majorityVote", "average", "sum", "weightedMajorityVote", "weightedAverage", "modelChain"),
    "x-mathContext": ("float", "double"),
    "dataType": ("string", "boolean", "integer", "float", "double"),
    "usageType": ("active", "predicted", "target", "supplementary", "group", "order", "frequencyWeight"),
    "operator": (
        *("equal", "notEqual", "lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual"),
        *("isMissing", "isNotMissing"),
    ),
    "booleanOperator": ("and", "or", "xor", "surrogate", "isIn", "isNotIn"),
    "missingValueStrategy": (
        *("none", "nullPrediction", "defaultChild"),
        *("lastPrediction", "weightedConfidence", "aggregateNodes"),
    ),
    "noTrueChildStrategy": ("returnNullPrediction", "returnLastPrediction"),
    "outliers": ("asIs", "asMissingValues", "asExtremeValues"),
    "property": ("valid", "invalid", "missing"),
    "isCyclic": ("0", "1"),
    "isScorable": ("true", "false"),
    "functionName": ("classification", "regression"),
}
"""Attributes whose words the standard lists."""
CLAIM = "PMML, Header, Extension"
"""Where a guarantee is stated."""
LONGEST_UNUSED = 40
"""Most characters of the name of a field that the tree does not test, such as the target."""
SIZES: Mapping[str, re.Pattern[str]] = {
    "version": VERSION,
    "numberOfFields": WHOLE,
    "n": WHOLE,
    "id": WHOLE,
    "defaultChild": WHOLE,
    "maxNumberOfMissing": WHOLE,
    "missingValuePenalty": NUMBER,
}
"""Attributes that no condition or prediction needs, with the form that they have."""
STRUCTURE = (
    *("PMML", "Header", "DataDictionary", "TreeModel", "MiningModel", "MiningSchema", "Segmentation", "Segment"),
    *("Node", "True", "False", "CompoundPredicate", "SimpleSetPredicate", "SimplePredicate", "ScoreDistribution"),
    *("Array", "DataField", "MiningField", "Value"),
    *("TransformationDictionary", "LocalTransformations", "DerivedField", "FieldRef"),
)
"""Elements that a tree can be made of; of those that hold anything, the reader asks for an attribute."""
BARE = (
    *("PMML", "Header", "DataDictionary", "MiningSchema", "Segmentation", "Segment", "True", "False", "MiningModel"),
    *("TransformationDictionary", "LocalTransformations"),
)
"""Those of them that may be there without any attribute being asked for."""


def beside_pmml(data: bytes, domain: Domain | None, tree: int | None) -> Iterator[OtherContent | FittedValues]:
    """Yield what a PMML document holds that its reader does not ask for."""
    root = parsed_xml(data)
    for element in _elements(root):
        element.attributes = Tracked(element.attributes)
    model = tree_of_document(root, domain, tree)
    texts = {text for _, text in texts_of(model)} | {"true", "false"}
    texts |= {f"{kind}({name})" for name in model.attributes for kind in ("float", "double")}
    texts |= {f"double(float({name}))" for name in model.attributes}
    yield from _beside_markup(data)
    yield from _values(root, model, domain)
    stack = [("PMML", root)]
    while stack:
        where, element = stack.pop()
        asked: set[str] = getattr(element.attributes, "asked", set())
        plain = element.tag in STRUCTURE and (element.tag in BARE or bool(asked))
        if where == CLAIM and model.guarantee is not None and holds_claim(element):
            whole = set(dict.keys(element.attributes)) == {"name", "value"} and not element.children
            if whole and not element.text and is_claim(element.attributes["value"]):
                continue
        if element.tag in ("Application", "Timestamp") and where.startswith("PMML, Header") and not element.children:
            plain = element.tag == "Application" or STAMP.fullmatch(element.text.strip()) is not None
            stated = dict(dict.items(element.attributes))
            asked = {"name"} if stated.get("name") in PRODUCERS else set()
            asked |= {"version"} if VERSION.fullmatch(stated.get("version", "")) else set()
        elif element.text.strip() and not (element.tag == "Array" and plain):
            yield OtherContent(f"{where}, text", "text", len(element.text.encode()))
        if not plain:
            yield OtherContent(where, "element", _size(element))
            continue
        for name in dict.keys(element.attributes):
            value = dict.__getitem__(element.attributes, name)
            # Namespaces are looked at with the rest of the markup.
            usual = name in SIZES and SIZES[name].fullmatch(value) is not None
            fine = name.startswith("xmlns") or usual or value in CHOICES.get(name, ())
            if name in asked and name not in CHOICES and not fine:
                named = value in texts or (name == "name" and len(value) <= LONGEST_UNUSED)
                listed = element.tag == "Value" and len(value) <= LONGEST_NAME
                fine = NUMBER.fullmatch(value) is not None or named or listed
            if not fine:
                n = len(name.encode()) + len(value.encode())
                yield OtherContent(f"{where}, {shown_name(name)}", "attribute", n)
        for child in element.children:
            # Nodes in nodes share one place.
            inside = where if where.endswith(f", {child.tag}") else f"{where}, {shown_name(child.tag)}"
            stack.append((inside, child))


def _elements(root: Element) -> Iterator[Element]:
    stack = [root]
    while stack:
        element = stack.pop()
        yield element
        stack += element.children


def _size(element: Element) -> int:
    """Return the letters of an element and of all in it, without marks."""
    return sum(
        len(part.tag) + len(part.text.encode()) + sum(len(f"{k}{v}".encode()) for k, v in dict.items(part.attributes))
        for part in _elements(element)
    )


def _beside_markup(data: bytes) -> Iterator[OtherContent]:
    """Yield comments, processing instructions, namespaces and spacing of an XML document."""
    others: list[OtherContent] = []
    texts: list[str] = []

    def add(where: str, kind: str, n: int) -> None:
        others.append(OtherContent(where, kind, n))

    def opened(name: str, attributes: Mapping[str, str]) -> None:
        closed(name)
        for key, value in attributes.items():
            if key.startswith("xmlns") and not re.fullmatch(r"http://www\.(dmg|w3)\.org/[A-Za-z0-9._/-]{1,40}", value):
                add("namespaces", "attribute", len(value.encode()))

    def closed(_: str) -> None:
        text = "".join(texts)
        texts.clear()
        if not text.strip() and not USUAL_SPACE.fullmatch(text):
            add("between elements", "spacing", len(text))

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.CommentHandler = lambda text: add("comments", "comment", len(text.encode()))
    parser.ProcessingInstructionHandler = lambda target, text: add(
        "processing instructions", "instruction", len(f"{target}{text}".encode())
    )
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = texts.append
    parser.Parse(data, True)
    margin = len(data) - len(data.strip())
    if margin > 4:
        add("around the document", "spacing", margin)
    start = re.match(rb"\s*(?:\xef\xbb\xbf)?<\?xml([^>]*)\?>", data)
    if start is not None and len(start[1]) > 80:
        add("the XML declaration", "text", len(start[1]))
    # Tags can be wide without any text between them.
    wide = sum(len(run) for run in re.findall(rb"<[^<>]*?([ \t\r\n]{80,})[^<>]*?>", data))
    add("within tags", "spacing", wide)
    yield from others


def _values(root: Element, model: DecisionTree, domain: Domain | None) -> Iterator[FittedValues]:
    """Yield the categories that the data dictionary lists and neither the tree nor a public domain names."""
    named = named_values(model)
    classes = set(map(str, model.classes or ()))
    dictionary = root.first("DataDictionary")
    for field in dictionary.children if dictionary is not None else ():
        name = str(dict.get(field.attributes, "name", ""))
        listed = [str(dict.get(child.attributes, "value", "")) for child in field.below("Value")]
        if name in model.attributes or not set(listed) <= classes:
            more = [value for value in listed if value not in named.get(name, ())]
            yield from fitted_categories("the data dictionary", name, more, domain)
