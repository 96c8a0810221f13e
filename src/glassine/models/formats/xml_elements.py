"""XML without document types: nothing is expanded and nothing outside the file is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from glassine.errors import UnsupportedModelError

__all__ = ["Element", "parsed_xml"]

DEEPEST = 5000
MOST_ELEMENTS = 5_000_000


@dataclass(slots=True)
class Element:
    """An element: its name without a namespace, its attributes, the elements in it and its text."""

    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def first(self, tag: str) -> Element | None:
        """Return the first element of a name directly in this one."""
        return next((child for child in self.children if child.tag == tag), None)


def parsed_xml(data: bytes) -> Element:
    """Return the root of an XML document.

    Raises
    ------
    UnsupportedModelError
        If it is not well formed, declares a document type, or is deeper than 5,000 or larger than 5,000,000 elements.
    """
    top = Element("", {})
    path, texts, made = [top], [[""]], 0

    def refuse(*_: object) -> None:
        raise UnsupportedModelError(
            "the XML file declares a document type, in which entities can hide. Remove the line '<!DOCTYPE ...>'."
        )

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal made
        made += 1
        if len(path) > DEEPEST or made > MOST_ELEMENTS:
            raise UnsupportedModelError(f"the XML file has more than {DEEPEST} levels or {MOST_ELEMENTS} elements.")
        element = Element(name.rpartition(":")[2], attributes)
        path[-1].children.append(element)
        path.append(element)
        texts.append([])

    def closed(_: str) -> None:
        path.pop().text = "".join(texts.pop())

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = lambda text: texts[-1].append(text)
    try:
        parser.Parse(data, True)
    except UnsupportedModelError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise UnsupportedModelError(f"the file is not well-formed XML: {str(error)[:100]}. Export it anew.") from None
    return top.children[0]
