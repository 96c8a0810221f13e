"""What a format is: how its files are known, read and written, and what of a model they do not hold.

No format is imported here, so that every format can be a value of this class.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from glassine.models.additive import AdditiveModel
from glassine.models.ensemble import TreeEnsemble
from glassine.models.regression import RegressionModel
from glassine.models.rule_list import RuleList
from glassine.models.tree import DecisionTree, Forest

PublishedModel: TypeAlias = DecisionTree | RuleList | AdditiveModel | RegressionModel
Content: TypeAlias = Literal["bytes", "text", "values", "object"]
"""What a reader takes: bytes as they are, a text, the values of a JSON text, or an object in memory."""
Reader: TypeAlias = Callable[..., PublishedModel]
"""Called with the content and the domain; if a file can hold several trees, also with the place of the one wanted."""

BEFORE_JSON, BY_START, BY_LINE, BY_LEAF, LAST = 0, 10, 50, 60, 99
"""Ranks: a text that is asked for before it is parsed as JSON; a content that is known by its start, by a line or a
mark anywhere, by the form of its parts; and one that nothing else knows."""
LINE = re.compile(r"(?m)^.{1,1000}")
"""A line, or its start: no format needs more to be known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format: how it is known, read and written, and what of a model it does not hold.

    Attributes
    ----------
    name : str
        The name, as messages and the documentation say it.
    reads : str
        What is read, a row of the table in docs/reference/formats.md; empty for formats that are only written.
    reveals : str
        What a reader of such a file learns.
    leaves_out : str
        What of a model it does not hold: absent where it is read, lost where it is written.
    leaves_out_of_additive : str or None
        The same of an additive model, where that is something else.
    extensions : tuple of str
        Usual ends of the names of such files. The content of a file decides its format.
    contents : tuple of {"bytes", "text", "values", "object"}
        What ``sniff`` and ``read`` take.
    sniff : callable
        Returns whether a content is of this format; of a text, it is given the part behind leading blanks.
    rank : int
        Of several formats that know a content, the one with the lowest rank reads it; of equal ones, the first by name.
    read : callable or None
        Returns the model of a content, given the domain; with ``read_all``, given the place of a tree as well.
    read_all : callable or None
        Returns all trees of a content, given the domain, where it can hold several.
    read_ensemble : callable or None
        Returns all trees of a content as an ensemble, given the domain; None where it holds one tree alone.
    again : str
        The call or step that writes such a file, as a remedy says it: "write it again with ...".
    copied : bool
        Whether it is a text that people print, type or paste, so that what cannot be read may be a slip in the copy.
    to : str
        What ``glassine export --to`` calls it.
    write : callable or None
        Returns a model as text or bytes, given the domain.
    earlier : tuple of callable
        What ``write`` was in earlier versions, one for every schema that was ever written: their files are canonical.
    makes : callable
        Returns whether an object in memory can be what ``write`` stores: of others no copy is written to compare it.
    options : callable
        Returns options of ``write`` that a file of this format shows, such as the versions of libraries that it states.
    binary : bool
        Whether it is written as bytes.
    kinds : tuple of type
        The models that it can be written of.

    Examples
    --------
    >>> from glassine.formats.registry import formats
    >>> [format.name for format in formats() if format.read_all is not None]
    ['LightGBM', 'scikit-learn forest', 'ONNX', 'PMML', 'XGBoost', 'imodels tree', 'treelite', 'Glassine']
    """

    name: str
    reads: str = ""
    reveals: str = ""
    leaves_out: str = ""
    leaves_out_of_additive: str | None = None
    extensions: tuple[str, ...] = ()
    contents: tuple[Content, ...] = ()
    sniff: Callable[[Any], bool] = lambda content: False
    rank: int = BY_LINE
    read: Reader | None = None
    read_all: Callable[..., Forest] | None = None
    read_ensemble: Callable[..., TreeEnsemble | None] | None = None
    again: str = ""
    copied: bool = False
    to: str = ""
    write: Callable[..., str | bytes] | None = None
    earlier: tuple[Callable[..., str | bytes], ...] = ()
    makes: Callable[[Any], bool] = lambda content: True
    options: Callable[[bytes], dict[str, Any]] = lambda data: {}
    binary: bool = False
    kinds: tuple[type, ...] = (DecisionTree, RuleList, AdditiveModel)

    def left_out(self, model: object) -> str:
        """Return what of a model it does not hold."""
        own = self.leaves_out_of_additive if isinstance(model, AdditiveModel) else None
        return self.leaves_out if own is None else own


of_text = partial(Format, contents=("text",), extensions=(".txt",), copied=True)
"""A format of printed texts."""
of_values = partial(Format, contents=("values",), extensions=(".json",))
"""A format of JSON."""
of_object = partial(Format, contents=("object",), again="skops.io.dump, or pass the fitted estimator in Python")
"""A format of objects in memory."""


def first_line(text: str) -> str:
    """Return the first line of a text that is neither blank nor a comment, at most 1,000 characters of it."""
    lines = (line[0].strip() for line in LINE.finditer(text))
    return next((line for line in lines if line and not line.startswith("#")), "")
