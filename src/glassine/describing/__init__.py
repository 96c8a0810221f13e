"""Describing: a model, its parts, a domain and what attacks found, as findings show them."""

from glassine.describing.guarantee import describe_guarantee, relied_on
from glassine.describing.membership import describe_membership
from glassine.describing.model import (
    LONGEST,
    describe_domain,
    describe_model,
    describe_noisy_parts,
    describe_parts,
    tree_shape,
)

__all__ = [
    "LONGEST",
    "describe_domain",
    "describe_guarantee",
    "describe_membership",
    "describe_model",
    "describe_noisy_parts",
    "describe_parts",
    "relied_on",
    "tree_shape",
]
