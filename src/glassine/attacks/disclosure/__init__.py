"""Disclosure of a sensitive attribute by a published decision tree that predicts it."""

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.infer import ContradictionError, SearchError, infer_sensitive, measure_disclosure

__all__ = ["Adversary", "ContradictionError", "Disclosure", "SearchError", "infer_sensitive", "measure_disclosure"]
