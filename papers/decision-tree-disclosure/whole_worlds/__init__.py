"""The exact posterior of each person's class over whole-number worlds: by enumeration, or by Markov chains."""

from whole_worlds.posterior import Posterior, infer_posterior, measure_posterior

__all__ = ["Posterior", "infer_posterior", "measure_posterior"]
