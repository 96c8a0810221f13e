"""Documents of PMML: their elements, their spelling, and what their header states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from glassine.domain.attributes import Scalar
from glassine.errors import UnsupportedModelError
from glassine.formats.conditions import damaged
from glassine.formats.json import KEY, claim_of, guarantee_of
from glassine.models.evidence import SizeOrigin
from glassine.models.guarantee import Guarantee

TARGET = "prediction"


def head_of(guarantee: Guarantee | None, sizes: SizeOrigin = "stored") -> str:
    """Return the start of a document, whose header states a guarantee in an extension, and who vouches for sizes."""
    claim = "" if guarantee is None else f"<Extension name={quoted(KEY)} value={quoted(claim_of(guarantee))}/>"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">\n'
        f'  <Header>{claim}{WEIGHED if sizes == "derived" else ""}<Application name="glassine"/></Header>\n'
    )


SIZES = "glassine-sizes"
"""What an extension is named that states where sizes come from."""
WEIGHED = f'<Extension name="{SIZES}" value="derived"/>'
"""What the header of a document of Glassine says whose sizes are sums of weights."""


def is_own(root: Element) -> bool:
    """Return whether Glassine wrote a document."""
    makers = [maker for header in root.below("Header") for maker in header.below("Application")]
    return any(maker.attributes.get("name") == "glassine" for maker in makers)


def sizes_of(root: Element) -> SizeOrigin:
    """Return where the record counts of a document come from; of others than Glassine's, they may be weights."""
    names = [entry.attributes.get("name") for header in root.below("Header") for entry in header.below("Extension")]
    return "stored" if is_own(root) and SIZES not in names else "derived"


def stated_guarantee(root: Element) -> Guarantee | None:
    """Return the guarantee that the header of a document states."""
    beneath = [entry for header in root.below("Header") for entry in header.below("Extension") if holds_claim(entry)]
    claims = [entry.attributes.get("value", "") for entry in beneath]
    if len(claims) > 1:
        raise damaged("the PMML file states two guarantees.")
    return guarantee_of(claims[0]) if claims else None


def holds_claim(element: Element) -> bool:
    """Return whether an element is the extension that states a guarantee."""
    return element.tag == "Extension" and element.attributes.get("name") == KEY


def text_of(value: Scalar) -> str:
    """Return a value as PMML spells it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """Return a text as an attribute, in quotes, or raise UnsupportedModelError where XML cannot hold it."""
    odd = next(
        (c for c in text if (c < " " and c not in "\t\n\r") or "\ud800" <= c <= "\udfff" or c in "\ufffe\uffff"), None
    )
    if odd is not None:
        raise UnsupportedModelError(
            f"the text {text!r:.60} holds the character {odd!r}, which XML has not.", remedy="Rename it."
        )
    # It imports the standard library's networking, which no reader of a model needs.

    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def field_type(values: Sequence[Scalar], what: str) -> str:
    """Return the data type of values of one kind."""
    kinds = {
        bool if isinstance(v, bool) else str if isinstance(v, str) else int if isinstance(v, int) else float
        for v in values
    }
    if kinds <= {str}:
        return "string"
    if kinds == {bool}:
        return "boolean"
    if kinds <= {int, float}:
        return "integer" if kinds == {int} else "double"
    raise UnsupportedModelError(f"{what} of several types, which a field of PMML is not.", remedy="Recode them.")


def escaped(text: str) -> str:
    """Return a text as it stands between tags."""
    quoted(text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


# XML without document types: nothing is expanded and nothing outside the file is read.

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
        return next(iter(self.below(tag)), None)

    def below(self, tag: str) -> list[Element]:
        """Return the elements of a name directly in this one."""
        return [child for child in self.children if child.tag == tag]


def parsed_xml(data: bytes) -> Element:
    """Return the root of an XML document."""
    # Every attribute has a sign of equality, in each encoding. They are counted first: the parser hands over those
    # of an element at once.
    if data.count(b"=") > MAX_ATTRIBUTES:
        raise UnsupportedModelError(f"the XML file has more than {MAX_ATTRIBUTES:,} attributes.")
    top = Element("", {})
    path, texts, made, length = [top], [[""]], 0, 0

    def refuse(kind: str, *_: object) -> None:
        if kind.lower() == "html":
            raise UnsupportedModelError("the file is a page of HTML, not a model.", remedy="Give the model's own file.")
        raise UnsupportedModelError(
            "the XML file declares a document type, in which entities can hide.",
            remedy="Remove the line '<!DOCTYPE ...>'.",
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
        raise UnsupportedModelError(
            f"the file is not well-formed XML: {str(error)[:100]}.", remedy="Export it again."
        ) from None
    return top.children[0]
