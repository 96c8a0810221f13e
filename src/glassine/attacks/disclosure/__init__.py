"""Disclosure of a sensitive attribute by a published decision tree that predicts it."""

from glassine.attacks.disclosure.adversary import Adversary
from glassine.attacks.disclosure.estimate import Disclosure
from glassine.attacks.disclosure.identified import Identified, identified_disclosure
from glassine.attacks.disclosure.infer import ContradictionError, SearchError, infer_sensitive, measure_disclosure
from glassine.attacks.disclosure.lagrangian import Starts
from glassine.attacks.disclosure.noise import CountNoise
from glassine.attacks.disclosure.posterior import Posterior, infer_posterior, measure_posterior

__all__ = [
    "Adversary",
    "ContradictionError",
    "CountNoise",
    "Disclosure",
    "Identified",
    "Posterior",
    "SearchError",
    "Starts",
    "identified_disclosure",
    "infer_posterior",
    "infer_sensitive",
    "measure_disclosure",
    "measure_posterior",
]
