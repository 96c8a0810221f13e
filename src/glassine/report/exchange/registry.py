"""A certificate as a record of the registry of deployments of differential privacy, which OpenDP keeps."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from glassine.errors import InvalidParameterError, parameter, quoted
from glassine.privacy.certificate import Certificate

REQUIRED = {
    "name": str,
    "data_curators": list,
    "description": str,
    "intended_use": str,
    "data_product_region": str,
    "publication_date": datetime.date,
    "registry_authors": list,
}
"""What the registry requires, and only a person can state."""

OPTIONAL = {
    "data_product_sector": ("basic",),
    "data_domain": ("dp_variant",),
    "unprotected_quantities": ("dp_variant",),
    "actors": ("deployment_model",),
    "release_type_details": ("deployment_model",),
    "preprocessing_and_hyperparameter_tuning": ("implementation",),
    "justification": ("implementation",),
    "sources": ("administrative",),
    "notes": ("administrative",),
}
"""What a person may state beside, and where it stands."""

VARIANTS = {"pure": "Pure DP", "approximate": "Approximate DP"}
THIRD_TIER = (
    "data_domain",
    "unprotected_quantities",
    "actors",
    "preprocessing_and_hyperparameter_tuning",
    "justification",
)


def as_registry(certificate: Certificate, statements: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft of a record: what the certificate states, and what a person does.

    Parameters
    ----------
    certificate : Certificate
        Of a release that is private: its guarantee must hold.
    statements : mapping
        What only a person can state: ``name``, ``data_curators``, ``description``, ``intended_use``,
        ``data_product_region``, ``publication_date`` and ``registry_authors`` are required by the registry.

    Raises
    ------
    InvalidParameterError
        If the guarantee does not hold, or a statement is missing, unknown or of the wrong type.
    """
    if not certificate.holds:
        raise InvalidParameterError(
            f"the registry is for private releases; this guarantee does not hold: {'; '.join(certificate.caveats)}.",
            remedy="Register a release whose guarantee holds.",
        )
    _check(statements)
    basic = {name: statements[name] for name in REQUIRED if name not in ("registry_authors", "publication_date")}
    delta = {"delta": certificate.delta} if certificate.delta else {}
    rho = {} if certificate.rho is None or not certificate.delta else {"rho": certificate.rho}
    sections: dict[str, dict[str, Any]] = {
        "basic": {
            **basic,
            "publication_date": statements["publication_date"].isoformat(),
            "data_product_type": "Machine learning model",
        },
        "dp_variant": {"variant_name": VARIANTS[certificate.variant]},
        "privacy_loss": {
            "privacy_unit": str(certificate.unit),
            "privacy_unit_details": f"Neighboring datasets: {certificate.neighboring}.",
            "privacy_parameters": {"epsilon": certificate.epsilon, **delta, **rho},
        },
        "deployment_model": {
            "model_name": "Central",
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "composition": _composition(certificate),
            "post_processing": "What is computed from the released model uses the records no more.",
        },
        "implementation": {"mechanisms": _mechanisms(certificate)},
        "administrative": {"registry_authors": statements["registry_authors"]},
    }
    for name, (section,) in OPTIONAL.items():
        if name in statements:
            sections[section][name] = statements[name]
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", statements["name"].lower()).strip("_"),
        "status": "Draft",
        "tier": 3 if all(name in statements for name in THIRD_TIER) else 2,
        "deployment": sections,
    }


def _check(statements: Mapping[str, Any]) -> None:
    missing = [name for name in REQUIRED if name not in statements]
    if missing:
        raise InvalidParameterError(
            f"the registry requires what only a person can state: {', '.join(missing)}.", remedy="State it."
        )
    for name, value in statements.items():
        kind = REQUIRED.get(name, str if name in OPTIONAL else None)
        if kind is None:
            raise InvalidParameterError(
                f"{quoted(name)} is no statement of the registry.",
                remedy=f"There are {', '.join([*REQUIRED, *OPTIONAL])}.",
            )
        texts = value if kind is list and isinstance(value, list) else [value]
        plain = kind is datetime.date or (texts and all(isinstance(text, str) and text.strip() for text in texts))
        if not isinstance(value, kind) or isinstance(value, datetime.datetime) or not plain:
            wanted = {str: "a text", list: "a list of texts", datetime.date: "a date"}[kind]
            raise InvalidParameterError(f"{parameter(name)} must be {wanted}, got {quoted(value)}.")


def _composition(certificate: Certificate) -> str:
    paid = certificate.receipt
    total = (
        ""
        if paid is None
        else f" A ledger adds up releases: with this one, epsilon {paid.spent_epsilon:g} and delta "
        f"{paid.spent_delta:g} of the dataset are spent."
    )
    return f"The {len(certificate.events)} parts of the release are composed by Glassine's accountant.{total}"


def _mechanisms(certificate: Certificate) -> str:
    events = [f"- {event.name}: {type(event).__name__}" for event in certificate.events]
    return "\n".join(
        [
            *events,
            f"- Library: Glassine {certificate.version}.",
            f"- Random bits: {certificate.randomness}. Arithmetic: {certificate.arithmetic}",
            *(f"- Assumption: {text}" for text in certificate.assumptions),
        ]
    )
