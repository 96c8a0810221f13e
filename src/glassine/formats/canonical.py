"""Whether a file is, byte for byte, what Glassine writes of the model in it; and the copy that is.

Nothing is searched for in a file. What no writer of Glassine wrote can hold anything in any place, so that only a clean
copy of its model may be released. What a writer writes holds the model alone, whose names and texts are bounded here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any, TypeVar

from glassine.domain import Domain, OneOf
from glassine.errors import GlassineError, UnsupportedModelError
from glassine.formats.format import Content, Format, PublishedModel
from glassine.formats.json import to_dict
from glassine.formats.registry import formats, writer
from glassine.models.additive import AdditiveModel
from glassine.models.ensemble import TreeEnsemble
from glassine.models.regression import RegressionModel
from glassine.models.tree import DecisionTree, Node

LONGEST_NAME = 200
"""Most characters of a name or another text of a model."""
MOST_OF_CAVEATS = 1_500
"""Most characters of all caveats of a guarantee together. A search over all published greedy lists, chosen again by
scores and then merged, has 1,250, of which 200 are for the name of a dataset."""
MOST_OF_NAMES = 3_000
"""Most characters together of names that a model holds and does not use, such as those of a table's other columns: 200
of fifteen characters."""
WIDEST_NUMBER = 25
"""Most characters of a whole number: a double has at most seventeen digits, a sign, a point and an exponent of four."""
PLACE = re.compile(r"[a-z_]{1,20}")
WRITERS = {"object": "sklearn", "text": "text"}
"""By what a reader takes, the writer of its kind, where the format that knew the content has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanCopy:
    """A copy of a file that holds the model and nothing else.

    Attributes
    ----------
    format : str
        Its format.
    extension : str
        The usual end of the names of such files.
    n_bytes : int
        Its size.
    sha256 : str
        Its SHA-256, in hexadecimal.
    name : str
        Name of the file that it was written to; empty where it was not written.
    """

    format: str
    extension: str
    n_bytes: int
    sha256: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """A file that holds a model, and whether it may be released unchanged.

    Attributes
    ----------
    format : str
        Its format.
    n_bytes : int
        Its size.
    canonical : bool
        Whether its bytes are those that Glassine writes of the model in it.
    clean_copy : CleanCopy or None
        What alone may be released in its place; None where it is canonical.
    name : str
        Its name among several files; empty for a single one.
    uncopied : str
        Why no copy can be written, in a sentence; empty where one is, or can be.
    """

    format: str
    n_bytes: int
    canonical: bool
    clean_copy: CleanCopy | None = None
    name: str = ""
    uncopied: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """Texts of a model that are too long for what they are, or too many for what the model uses.

    Attributes
    ----------
    where : str
        Their place in the model's JSON.
    n_bytes : int
        Their size.
    """

    where: str
    n_bytes: int


def as_written(ensemble: TreeEnsemble, domain: Domain | None = None) -> TreeEnsemble:
    """Return an ensemble whose trees are plain values, which can be written.

    Raises
    ------
    UnsupportedModelError
        If it is not known how its trees predict together.
    """
    if ensemble.scoring is not None:
        return replace(ensemble, estimator=None)
    if ensemble.estimator is not None:
        # Of scikit-learn's own code, only ensembles need any.
        from glassine.formats.sklearn.ensemble_scores import scored_ensemble

        return scored_ensemble(ensemble, domain)
    raise UnsupportedModelError(
        "how the trees of this file predict together is not read, so that no copy of them is written.",
        remedy="Give the fitted estimator, or the file that its library writes.",
    )


def written(model: PublishedModel | TreeEnsemble, form: Format, domain: Domain | None = None, **options: Any) -> bytes:
    """Return the bytes of a file of a model in a format."""
    if form.write is None:
        return b""
    data = form.write(model, domain, **options)
    return data if isinstance(data, bytes) else (data.rstrip("\n") + "\n").encode()


def is_canonical(data: bytes, model: PublishedModel, own: Format | None, domain: Domain | None = None) -> bool:
    """Return whether a file is what Glassine writes, in its ``own`` format, of the model that was read from it.

    Versions of libraries that a file states are compared by their pattern alone.
    """
    if own is None or bounded(model, domain) is not model:
        return False
    for write in (own.write, *own.earlier):
        try:
            if written(model, replace(own, write=write), domain, **own.options(data)) == data:
                return True
        except GlassineError:  # it cannot be written in this format, so that no one did
            continue
    return False


def clean_copy(
    model: PublishedModel, own: Format | None, domain: Domain | None, read: Callable[[bytes], PublishedModel]
) -> tuple[bytes, Format]:
    """Return a copy of a model, and its format: ``own``, or JSON where that, read again, is another model or file."""
    model = bounded(model, domain)
    if own is not None and own.to != "json":
        try:
            copy = written(model, own, domain)
            again = read(copy)
            if again == model:  # whose bytes were just written
                return copy, own
            # Names of attributes that the model does not use are no part of what it says.
            same = replace(again, source="", attributes=model.attributes) == replace(model, source="")
            if same and is_canonical(copy, again, own, domain):
                return copy, own
        except GlassineError:  # it cannot be written, or not be read again
            pass
    json = writer("json", model)
    return written(model, json), json


def described(copy: bytes, form: Format) -> CleanCopy:
    """Return a copy in brief, which is not yet written."""
    digest = hashlib.sha256(copy).hexdigest()
    return CleanCopy(format=form.name, extension=form.extensions[0], n_bytes=len(copy), sha256=digest)


def writer_of(form: Format | None, kind: Content, model: PublishedModel) -> Format | None:
    """Return the format in which Glassine writes files of a format; None where it writes none, or not this model."""
    own = form if form is not None and form.write is not None else None
    if own is None and kind in WRITERS:
        own = next((one for one in formats() if one.to == WRITERS[kind]), None)
    return own if own is not None and isinstance(model, own.kinds) else None


# Names and texts of a model, which a canonical file holds as well.


def long_texts(model: PublishedModel, domain: Domain | None = None) -> tuple[LongText, ...]:
    """Return the texts of a model that could hold records: too long, or names of nothing that it uses."""
    sizes: dict[str, int] = {}
    for where, text in _texts(to_dict(_without_short(model))):
        if _is_long(text):
            sizes[where] = sizes.get(where, 0) + len(text.encode())
    caveats = () if model.guarantee is None else model.guarantee.caveats
    if len("".join(caveats)) > MOST_OF_CAVEATS:
        sizes["guarantee.caveats"] = len("".join(caveats).encode())
    for where, names in _unused(model, () if domain is None else domain.names).items():
        if len("".join(names)) > MOST_OF_NAMES:
            sizes[f"{where} without a use"] = len("".join(names).encode())
    return tuple(LongText(where=where, n_bytes=n) for where, n in sorted(sizes.items()))


def _without_short(model: PublishedModel) -> PublishedModel:
    """Return a tree without its nodes where none holds a text or a number that could be long: large trees have none."""
    if not isinstance(model, DecisionTree):
        return model
    texts = {text for one in model.literals for text in (one.values if isinstance(one, OneOf) else ())}
    own = {id(node.evidence): node.evidence for node in model.nodes}.values()
    counts = {count for one in own for count in (*(one.counts or ()), one.total or 0)}
    if any(_is_long(str(text)) for text in (*model.attributes, *texts)) or max(counts) >= 10**WIDEST_NUMBER:
        return model
    return model.with_nodes([Node()])


def _texts(plain: object) -> Iterator[tuple[str, str]]:
    """Yield every key, text and whole number of plain values that could be long, with its place."""
    stack: list[tuple[str, object]] = [("", plain)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, dict):
            for key, value in part.items():
                # The keys of an edit's parameters are free, and are not quoted.
                stack.append((f"{where}.{key}".lstrip(".") if PLACE.fullmatch(key) else where, value))
                yield where, key
        elif isinstance(part, list):
            # Columns of thousands of numbers and names hold few values that could be long.
            kinds = set(map(type, part))
            if kinds <= {float, bool, NoneType, int, str}:
                whole = (value for value in part if type(value) is int) if int in kinds else ()
                stack += [(where, value) for value in whole if abs(value) >= 10**WIDEST_NUMBER]
                stack += (
                    [(where, text) for text in part if type(text) is str and _is_long(text)] if str in kinds else []
                )
            else:
                stack += [(where, value) for value in part]
        elif isinstance(part, str):
            yield where, part
        elif isinstance(part, int) and abs(part) >= 10**WIDEST_NUMBER:
            yield where, str(part)


def _is_long(text: str) -> bool:
    return len(text) > LONGEST_NAME or (len(text) > WIDEST_NUMBER and text.lstrip("-").isdigit())


M = TypeVar("M", bound=PublishedModel | TreeEnsemble)


def bounded(model: M, domain: Domain | None = None) -> M:
    """Return a model without what a copy leaves out: a long source, and attributes without a use if they are many."""
    if len(model.source or "") > LONGEST_NAME:
        model = replace(model, source="")
    names = set(_unused(model, () if domain is None else domain.names)["attributes"])
    if len("".join(names)) <= MOST_OF_NAMES:
        return model
    return replace(model, attributes=tuple(name for name in model.attributes if name not in names))


def _unused(model: PublishedModel | TreeEnsemble, declared: Sequence[str]) -> dict[str, list[str]]:
    """Return the attributes that nothing reads and no domain declares, and the classes that no part has or predicts."""
    numbered = (re.fullmatch(r"[A-Za-z_]{0,12}([0-9]{1,9})", name) for name in model.attributes)
    # Programs number columns without names from 0 or 1: such a name says nothing but its place.
    read = {*declared, *(name[0] for i, name in enumerate(numbered) if name is not None and int(name[1]) in (i, i + 1))}
    if isinstance(model, AdditiveModel | RegressionModel):
        return {"attributes": sorted(set(model.attributes) - {*model.tested, *read})}
    if isinstance(model, TreeEnsemble):
        tested = () if model.scoring is None else model.scoring.forest.literals
        read |= {*model.thresholds, *(literal.attribute for literal in tested)}
        return {"attributes": [name for name in model.attributes if name not in read]}
    had = set[int | None]()
    # Of thousands of leaves, many say the same; the paths to them, which cells have, say nothing here.
    leaves = [node for node in model.nodes if not node.branches] if isinstance(model, DecisionTree) else model.cells
    for own in {id(leaf.evidence): leaf.evidence for leaf in leaves}.values():
        had |= {own.prediction, *(i for i, count in enumerate(own.counts or ()) if count)}
    read |= {*model.tested}
    return {
        "attributes": [name for name in model.attributes if name not in read],
        "classes": [str(name) for i, name in enumerate(model.classes or ()) if i not in had],
    }
