"""Records of a lazy frame in each leaf or rule, counted by the engine where they lie."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glassine.data.conform import Outside
from glassine.data.lazy import Groups, LazyTable, cuts_of
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.domain.attributes import LARGEST, Attribute
from glassine.domain.literals import attributes_of
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import AnyArray, Bools

COUNTED = (
    "the data are a lazy frame, which is counted where it lies and not read record by record. Collect it, or a sample."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedData:
    """What an audit counts in records that it does not read."""

    sizes: tuple[int, ...]  # Number of records in each part of the model
    outside: dict[str, int]  # Number of records outside the domain, by attribute; only those above zero


def count_data(model: DecisionTree | RuleList, frame: object, domain: Domain) -> CountedData:
    """Count the records of a lazy frame in each part of a model, and those outside the domain."""
    # An engine groups the records by the values that the model's literals distinguish, and reads every other attribute
    # of the domain separately. A category that is not declared counts as missing.
    tested = set(attributes_of(model.literals))
    cuts = cuts_of(model.literals, domain)
    outside: dict[str, int] = {}

    def counted(names: list[str]) -> Groups:
        wide = {name: _wide(domain[name]) for name in names}
        edges = {name: (*cuts.get(name, ()), *_edges(domain[name])) for name in names}
        groups = LazyTable(frame=frame, outside=Outside.REFUSE | Outside.KEEP_UNDECLARED).group(wide, cuts=edges)
        outside.update({name: int(groups.counts[_outside(domain[name], name, groups)].sum()) for name in names})
        return groups

    groups = counted([name for name in domain if name in tested])
    for name in domain:
        if name not in tested and name in _names(frame):
            counted([name])
    return CountedData(
        sizes=_sizes(model, groups), outside={name: outside[name] for name in domain if outside.get(name)}
    )


def _names(frame: Any) -> list[str]:
    import narwhals as nw

    return list(nw.from_native(frame).collect_schema().names())


def _wide(attribute: Attribute) -> Attribute:
    """Return what values are read as, so that those outside the domain are recognized."""
    if isinstance(attribute, Integer | Real):
        return Real(-LARGEST, LARGEST, missing=True)
    return replace(attribute, missing=True)


def _edges(attribute: Attribute) -> tuple[float, ...]:
    if not isinstance(attribute, Integer | Real):
        return ()
    return math.nextafter(float(attribute.lo), -math.inf), float(attribute.hi)


def _outside(attribute: Attribute, name: str, groups: Groups) -> Bools:
    """Return which distinct records hold a value outside an attribute."""
    values = groups.columns.array(name)
    if isinstance(attribute, Binary | Category):
        return np.asarray((values < -1) | ((values == -1) & (not attribute.missing)))
    gaps = np.isnan(values)
    beyond = ~gaps & ~((values >= float(attribute.lo)) & (values <= float(attribute.hi)))
    return np.asarray(beyond | (gaps & (not attribute.missing)))


def _sizes(model: DecisionTree | RuleList, groups: Groups) -> tuple[int, ...]:
    out = np.zeros(len(model.cells), dtype=np.int64)
    if not groups.columns.attributes:
        out[0] = groups.counts.sum()
    else:
        records: dict[str, AnyArray] = {name: groups.columns.values(name) for name in groups.columns.attributes}
        np.add.at(out, model.apply(records), groups.counts)
    return tuple(out.tolist())
