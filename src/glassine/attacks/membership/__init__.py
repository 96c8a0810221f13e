"""Membership inference: to tell from a model who was in its training data.

One attack a module; :mod:`~glassine.attacks.membership.suite` runs all that apply.
"""
