"""A model as a table: one row for each leaf, rule or bin, with what is published of it."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import narwhals as nw

from glassine.domain.attributes import Scalar
from glassine.domain.literals import conjunction_text
from glassine.errors import InvalidParameterError, check_choice, check_whole, parameter
from glassine.models.additive import AdditiveModel
from glassine.models.evidence import Model, cell_labels
from glassine.models.guarantee import Guarantee
from glassine.models.rule_list import RuleList
from glassine.models.scorecard import points_of
from glassine.models.terms import Term

Audience: TypeAlias = Literal["checker", "public"]
"""Who sees a table: a checker, who sees counts as published, or everyone."""

SUPPRESS_BELOW = 10
"""Counts from 1 to below it are hidden from the public, as reports do."""

STEP = 20
"""Shares that the public sees are rounded down to a twentieth: of it, many counts fit."""

RECORDS, SHARE, CONDITIONS = "records", "share of records", "conditions"

Columns: TypeAlias = dict[str, list[Any]]


def hidden_sizes(sizes: Sequence[float | None], below: float) -> list[bool]:
    """Return which sizes of the parts of a known total to hide.

    These are the small ones, and others in the order of the parts, from the first small one on, until at least two
    are hidden and their sum, which can be had by subtraction, is at least twice the limit. Their order does not
    depend on their sizes, so that being hidden reveals nothing about them.

    Examples
    --------
    >>> hidden_sizes([3, 40, 50], 10), hidden_sizes([12, 40, 50], 10)
    ([True, True, False], [False, False, False])
    """
    hidden = [size is not None and 0 < size < below for size in sizes]
    if not any(hidden):
        return hidden
    # One hidden size alone is the total less the others, so that at least one more is hidden with it.
    first = hidden.index(True)
    for i in [*range(first, len(sizes)), *range(first)]:
        total = sum(size or 0 for size, hide in zip(sizes, hidden, strict=True) if hide)
        if sum(hidden) > 1 and total >= 2 * below:
            break
        # An empty part hides nothing: it would count as one of the two, and add no record to the sum.
        hidden[i] = bool(sizes[i])
    return hidden


def columns_of(model: object, audience: Audience = "checker", *, suppress_below: int = SUPPRESS_BELOW) -> Columns:
    """Return the columns of the table of a model, by name; see :func:`to_frame`."""
    check_choice(audience, "audience", ("checker", "public"))
    below = check_whole(suppress_below, "suppress_below", 0, 10**9) if audience == "public" else 0
    if isinstance(model, Model):
        return _of_cells(model, 0 if _is_noised(model.guarantee) else below)
    if isinstance(model, AdditiveModel):
        return _of_bins(model, 0 if _is_noised(model.guarantee) else below)
    raise InvalidParameterError(
        f"a table is made of a tree, a rule list or an additive model, got {type(model).__name__}.",
        remedy="Pass a model that as_model or load_model returns.",
    )


def to_frame(
    model: object, *, audience: Audience = "checker", suppress_below: int = SUPPRESS_BELOW, backend: Any = "polars"
) -> Any:
    """Return a model as a data frame with one row for each leaf, rule or bin.

    Parameters
    ----------
    model : DecisionTree, RuleList or AdditiveModel
        The model.
    audience : {"checker", "public"}, default="checker"
        "checker": counts as published. "public": counts from 1 to below ``suppress_below`` are missing, with as many
        others as subtraction would need, and shares are rounded down to a twentieth. Counts with noise of a guarantee
        are public as they are.
    suppress_below : int, default=10
        That limit; 0 hides nothing.
    backend : str or module, default="polars"
        The library of the frame, as narwhals names it: "polars", "pandas", "pyarrow" and so on.

    Returns
    -------
    data frame
        Of a tree or a list: ``part``, from 1; ``conditions``, as text, and by attribute; ``records`` and their share;
        the records of each class; ``prediction``; the probability of each class. A rule holds where none before it
        does. Of an additive model: ``term``, ``conditions`` and the bin of each attribute, ``records`` and their share,
        ``score`` (of each class where there are several), its ``error`` where noise has one, and ``points`` of a card.

    Raises
    ------
    InvalidParameterError
        If a parameter is out of range, or the library of the frame is not installed.

    Examples
    --------
    >>> from glassine.domain import Between
    >>> from glassine.models import Evidence, Rule, RuleList
    >>> rules = (
    ...     Rule(antecedent=(Between("age", hi=30),), evidence=Evidence(counts=(9, 1))),
    ...     Rule(evidence=Evidence(counts=(20, 70))),
    ... )
    >>> frame = to_frame(RuleList(rules, ("age",), classes=("no", "yes")))
    >>> frame["conditions"].to_list(), frame["records"].to_list(), frame["prediction"].to_list()
    (['age <= 30', 'otherwise'], [10, 90], ['no', 'yes'])
    """
    return framed(columns_of(model, audience, suppress_below=suppress_below), backend)


def framed(columns: Columns, backend: Any) -> Any:
    """Return columns as a data frame of a library; raise InvalidParameterError if there is none."""
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except (ImportError, ValueError, TypeError, AttributeError) as error:
        raise InvalidParameterError(
            f"{parameter('backend=')}{backend!r} gives no data frame: {error}.",
            remedy="Install it, or pass 'polars', 'pandas' or 'pyarrow'.",
        ) from None


def to_csv(model: object, *, audience: Audience = "checker", suppress_below: int = SUPPRESS_BELOW) -> str:
    """Return :func:`to_frame` as CSV in UTF-8 with a header; what is missing is empty."""
    columns, text = columns_of(model, audience, suppress_below=suppress_below), io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(columns)
    rows.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _is_noised(guarantee: Guarantee | None) -> bool:
    """Return whether a guarantee that holds covers the counts."""
    return guarantee is not None and not guarantee.caveats


def _suppressed_share(value: float | None, below: int) -> float | None:
    """Return a share as it may be shown."""
    return value if value is None or not below or value == 1 else math.floor(value * STEP) / STEP


def _sizes(out: Columns, sizes: Sequence[float | None], below: int) -> list[bool]:
    """Add the numbers of records and their shares; return which are hidden."""
    hidden = hidden_sizes(sizes, below)
    total = None if None in sizes else sum(size or 0 for size in sizes)
    out[RECORDS] = [None if hide else size for size, hide in zip(sizes, hidden, strict=True)]
    out[SHARE] = [
        None if size is None or not total else _suppressed_share(size / total, below) for size in out[RECORDS]
    ]
    return hidden


def _free(out: Mapping[str, Any], name: str) -> str:
    """Return a name that no column has: an attribute may be called ``records``."""
    while name in out:
        name += "'"
    return name


def _of_cells(model: Model, below: int) -> Columns:
    cells, classes = model.cells, model.classes
    last = "otherwise" if isinstance(model, RuleList) else "always"
    out: Columns = {"part": [*range(1, len(cells) + 1)]}
    out[CONDITIONS] = [conjunction_text(cell.inside) or last for cell in cells]
    hidden = _sizes(out, [cell.evidence.size for cell in cells], below)
    shares = [cell.evidence.shares(None if classes is None else len(classes)) for cell in cells]
    if classes is None:
        out["prediction"] = [cell.evidence.value for cell in cells]
    else:
        out["prediction"] = _plain([None if at < 0 else classes[at] for at in cell_labels(model).tolist()])
        counts = [_by_class(cell.evidence.counts, hide, below) for cell, hide in zip(cells, hidden, strict=True)]
        for place, name in enumerate(classes):
            if any(row is not None for row in counts):
                out[f"{RECORDS} of {name}"] = [None if row is None else row[place] for row in counts]
            out[f"probability of {name}"] = [
                None if row is None or hide else _suppressed_share(row[place], below)
                for row, hide in zip(shares, hidden, strict=True)
            ]
    for name in model.tested:
        own = [conjunction_text(one for one in cell.inside if one.attribute == name) or None for cell in cells]
        out[_free(out, name)] = own
    return out


def _by_class(counts: Sequence[int] | None, hide: bool, below: int) -> list[int | None] | None:
    """Return the records of each class of a cell as they may be shown."""
    if counts is None or hide:
        return None
    return [None if gone else n for n, gone in zip(counts, hidden_sizes(counts, below), strict=True)]


def _plain(values: Sequence[Scalar | None]) -> list[Any]:
    """Return values of one type, texts if they have several: a column of a frame has one."""
    kinds = {type(value) for value in values if value is not None}
    return list(values) if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _of_bins(model: AdditiveModel, below: int) -> Columns:
    rows = [_of_term(model, term, below) for term in model.terms]
    names = list(dict.fromkeys(name for part in rows for name in part))
    sizes = [len(part["term"]) for part in rows]
    return {
        name: [value for part, n in zip(rows, sizes, strict=True) for value in part.get(name, [None] * n)]
        for name in names
    } or {"term": []}


def _of_term(model: AdditiveModel, term: Term, below: int) -> Columns:
    """Return the rows of one term, cells of a pair in row-major order."""
    n, one = len(term.labels), term.n_outputs == 1
    out: Columns = {"term": [term.name] * n}
    axes = [list(bins.labels) for bins in term.bins]
    every = [(a, b) for a in axes[0] for b in (axes[1] if len(axes) > 1 else [""])]
    out[CONDITIONS] = [
        " and ".join(f"{name}: {label}" for name, label in zip(term.attributes, pair, strict=False)) for pair in every
    ]
    _sizes(out, [None] * n if term.weights is None else term.weights.reshape(-1).tolist(), below)
    scores = term.scores.reshape(n, -1)
    errors = None if term.errors is None else term.errors.reshape(n, -1)
    for place in range(term.n_outputs):
        of = "" if one or model.classes is None else f" of {model.classes[place]}"
        out[f"score{of}"] = scores[:, place].tolist()
        if errors is not None:
            out[f"error{of}"] = errors[:, place].tolist()
    if model.scorecard is not None:
        out["points"] = points_of(term, model.scorecard.unit).tolist()
    for place, name in enumerate(term.attributes):
        out[_free(out, name)] = [pair[place] for pair in every]
    return out
