"""Additive models as Python source that imports nothing."""

from __future__ import annotations

from glassine.models.additive import AdditiveModel, Term
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.formats.python_parts import source, tuple_source

__all__ = ["additive_python"]

HEAD = '''\
"""An additive model, written by Glassine; it imports nothing."""

INTERCEPT = {intercept}
{tables}

def scores(record):
    """Return the scores of a record, a dict of values by attribute: one, or one for each class."""
    total = list(INTERCEPT)
    for where, table in TERMS:
        for attribute, kind, bins in where:
            table = table[kind(record[attribute], bins)]
        for k, added in enumerate(table):
            total[k] += added
    return total


{predict}

def _at_most(value, cuts):
    """Return the interval of a number, those on a cut in the lower one; behind all, None and NaN."""
    value = float("nan") if value is None else float(value)
    if value != value:
        return len(cuts) + 1
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) // 2
        if value <= cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _below(value, cuts):
    """Return the interval of a number, those on a cut in the upper one; behind all, None and NaN."""
    value = float("nan") if value is None else float(value)
    if value != value:
        return len(cuts) + 1
    low, high = 0, len(cuts)
    while low < high:
        middle = (low + high) // 2
        if value < cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low


def _group(value, groups):
    """Return the group of a value, None and NaN being missing; behind all, undeclared ones."""
    return groups[0].get(None if value != value else value, groups[1])


TERMS = (
{terms})
'''
CLASSES = '''\
def predict(record):
    """Return the predicted class of a record."""
    found = scores(record)
    {choice}


def predict_proba(record):
    """Return the probability of each class of a record, as a dict."""
    found = scores(record)
    {shares}
'''
LOGIT = ("return CLASSES[found[0] > 0]", "found = [0.0, found[0]]")
SOFTMAX = ("return CLASSES[found.index(max(found))]", "")
POWERS = """
    powers = [2.718281828459045 ** (score - max(found)) for score in found]
    return dict(zip(CLASSES, [power / sum(powers) for power in powers]))"""
VALUE = '''\
def predict(record):
    """Return the predicted value of a record."""
    return {value}
'''


def additive_python(model: AdditiveModel) -> str:
    """Return an additive model as Python source with ``scores``, ``predict`` and, for classes, ``predict_proba``."""
    tables = "" if model.classes is None else f"CLASSES = {tuple_source(model.classes)}\n"
    if model.classes is None:
        low, high = model.target_bounds or (None, None)
        value = "scores(record)[0]"
        predict = VALUE.format(value=value if low is None else f"min(max({value}, {source(low)}), {source(high)})")
    else:
        choice, first = LOGIT if model.link == "logit" else SOFTMAX
        predict = CLASSES.format(choice=choice, shares=(first + POWERS).lstrip())
    return HEAD.format(
        intercept=tuple_source(model.intercept),
        tables=tables,
        predict=predict,
        terms="".join(f"    {_term(term)},\n" for term in model.terms),
    )


def _term(term: Term) -> str:
    where = "".join(f"({source(bins.attribute)}, {_bins(bins)}), " for bins in term.bins)
    return f"(({where.rstrip()}), {_nested(term.scores.tolist())})"


def _bins(bins: Bins) -> str:
    if isinstance(bins, NumericBins):
        return f"{'_at_most' if bins.closed == 'right' else '_below'}, {tuple_source(bins.cuts)}"
    return f"_group, ({_groups(bins)}, {len(bins.groups)})"


def _groups(bins: CategoryBins) -> str:
    pairs = (f"{source(value)}: {i}" for i, group in enumerate(bins.groups) for value in group)
    return f"{{{', '.join(pairs)}}}"


def _nested(values: object) -> str:
    if isinstance(values, list):
        inner = [_nested(value) for value in values]
        return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
    return source(values)
