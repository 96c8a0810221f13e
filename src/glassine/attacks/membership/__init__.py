"""Membership inference: from a model, to infer who was in its training data.

One attack a module; :mod:`~glassine.attacks.membership.suite` runs all that apply.
"""
