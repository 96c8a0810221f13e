"""XML without document types: nothing is expanded and nothing outside the file is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from glassine.errors import UnsupportedModelError

__all__ = ["Element", "parsed_xml"]

DEEPEST = 5000
MAX_ELEMENTS, MAX_ATTRIBUTES = 1_000_000, 2_000_000
"""An element takes about 300 bytes of memory, an attribute about 250."""
MAX_TEXT = 50_000_000
"""Most characters of text in the document, its tags aside."""


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
        If it is not well formed, declares a document type, is deeper than 5,000 elements, or holds more than 1,000,000
        elements, 2,000,000 attributes or 50,000,000 characters of text.
    """
    # Every attribute has a sign of equality, in each encoding. They are counted first: the parser hands over those
    # of an element at once.
    if data.count(b"=") > MAX_ATTRIBUTES:
        raise UnsupportedModelError(f"the XML file has more than {MAX_ATTRIBUTES:,} attributes.")
    top = Element("", {})
    path, texts, made, length = [top], [[""]], 0, 0

    def refuse(*_: object) -> None:
        raise UnsupportedModelError(
            "the XML file declares a document type, in which entities can hide. Remove the line '<!DOCTYPE ...>'."
        )

    def opened(name: str, attributes: dict[str, str]) -> None:
        nonlocal made
        made += 1
        if len(path) > DEEPEST or made > MAX_ELEMENTS:
            raise UnsupportedModelError(f"the XML file has more than {DEEPEST} levels or {MAX_ELEMENTS:,} elements.")
        element = Element(name.rpartition(":")[2], attributes)
        path[-1].children.append(element)
        path.append(element)
        texts.append([])

    def closed(_: str) -> None:
        path.pop().text = "".join(texts.pop())

    def written(text: str) -> None:
        nonlocal length
        length += len(text)
        if length > MAX_TEXT:
            raise UnsupportedModelError(f"the XML file has more than {MAX_TEXT:,} characters of text.")
        texts[-1].append(text)

    parser = expat.ParserCreate()
    parser.buffer_text = True  # else each line is a piece of its own
    parser.buffer_size = 1 << 16
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = opened
    parser.EndElementHandler = closed
    parser.CharacterDataHandler = written
    try:
        parser.Parse(data, True)
    except UnsupportedModelError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise UnsupportedModelError(f"the file is not well-formed XML: {str(error)[:100]}. Export it anew.") from None
    return top.children[0]
