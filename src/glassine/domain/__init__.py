"""The domain: what is publicly known about the records, before any model is read."""

from glassine.domain.attributes import Attribute, Binary, Category, Integer, Real
from glassine.domain.domain import Domain
from glassine.domain.groups import AtMostOne, Combinations, ExactlyOne, Group, Implies, Intervals
from glassine.domain.literals import Between, Literal, OneOf
from glassine.domain.prefixes import Prefix
from glassine.domain.shares import Shares

__all__ = [
    "AtMostOne",
    "Attribute",
    "Between",
    "Binary",
    "Category",
    "Combinations",
    "Domain",
    "ExactlyOne",
    "Group",
    "Implies",
    "Integer",
    "Intervals",
    "Literal",
    "OneOf",
    "Prefix",
    "Real",
    "Shares",
]
