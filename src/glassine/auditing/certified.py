"""Whether a certificate, a model and its file belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from glassine.auditing.copies import Origin
from glassine.formats.format import PublishedModel
from glassine.formats.json import fingerprint
from glassine.privacy.certificate import Certificate
from glassine.privacy.ledger_log import Payment

Matching: TypeAlias = Literal["pass", "fail", "unknown"]

PAID: dict[str, Matching] = {"paid": "pass", "fault": "fail", "unknown": "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One thing that must agree between a certificate and what it is about."""

    name: str
    status: Matching
    statement: str


def compare_certificate(
    certificate: Certificate,
    model: PublishedModel,
    file: str,
    origin: Origin | None = None,
    fault: str = "",
) -> tuple[Match, ...]:
    """Compare a certificate with a model and the file that holds it.

    ``origin`` says how a copy follows from the model of the certificate, ``fault`` why it does not.
    """
    model_match = _model(certificate, model, origin)
    if fault:
        model_match = Match(name="model", status="fail", statement=fault)
    return (
        _claim(certificate),
        model_match,
        _file(certificate, file, origin),
        _guarantee(certificate, model, origin),
    )


def compare_payment(payment: Payment) -> Match:
    """Return what a ledger says of the certificate's charge."""
    said = payment.reason
    if payment.entry is not None:
        said = f"Charge {payment.entry.number} of {payment.entry.at} paid for it."
    return Match(name="ledger", status=PAID[payment.status], statement=said)


def _claim(certificate: Certificate) -> Match:
    if certificate.caveats:
        said = f"The certificate says that its guarantee does not hold: {'; '.join(certificate.caveats)}."
        return Match(name="claim", status="fail", statement=said)
    if not certificate.events:
        said = "The certificate names no release: nothing shows that the model cost what it claims."
        return Match(name="claim", status="fail", statement=said)
    delta = f", delta {certificate.delta:g}" if certificate.delta else ""
    return Match(
        name="claim",
        status="pass",
        statement=f"Its events were added up again, and spend no more than it claims: epsilon {certificate.epsilon:g}"
        f"{delta} for one {certificate.unit}.",
    )


def _model(certificate: Certificate, model: PublishedModel, origin: Origin | None) -> Match:
    if certificate.model is None:
        return Match(name="model", status="unknown", statement="The certificate names no model.")
    if certificate.model == fingerprint(model) and (origin is None or not origin.steps):
        return Match(name="model", status="pass", statement="It is of this model, value by value.")
    if origin is not None:
        return Match(
            name="model",
            # A typed score can be anything, a record's value among it.
            status="unknown" if origin.n_typed else "pass",
            statement=origin.text,
        )
    return Match(
        name="model",
        status="fail",
        statement="It is of another model, or of the one that this is a copy of. A copy is verified with the JSON that "
        "was written with the certificate, or as it was edited before, and with the steps of its scrubbing. Without "
        "them, do not use it: it may have been changed.",
    )


def _file(certificate: Certificate, file: str, origin: Origin | None) -> Match:
    if certificate.file is None:
        said = "The certificate names no file. What the file holds beside the model is not covered."
        return Match(name="file", status="unknown", statement=said)
    if certificate.file == file:
        return Match(name="file", status="pass", statement="It is of this file, byte for byte.")
    if origin is not None and origin.same_bytes:
        said = "Glassine writes the same bytes of this copy: beside the model the file holds its log of edits alone."
        return Match(name="file", status="pass", statement=said)
    return Match(
        name="file",
        status="unknown",
        statement="The file is not the one that was written with the certificate. What it holds beside the model is "
        "not covered: publish the file that was written.",
    )


def _guarantee(certificate: Certificate, model: PublishedModel, origin: Origin | None) -> Match:
    claim = model.guarantee
    if claim is None and origin is not None and origin.steps and certificate.holds and certificate.events:
        said = "The copy states no guarantee; that of the released model covers it."
        return Match(name="guarantee", status="pass", statement=said)
    if claim is None:
        said = "The model itself states no guarantee."
        return Match(name="guarantee", status="unknown", statement=said)
    stated = (claim.epsilon, claim.delta, claim.neighboring, claim.records_per_person)
    certified = (
        *(certificate.epsilon, certificate.delta, certificate.neighboring),
        certificate.unit.records_per_person,
    )
    if stated == certified and (claim.holds or not certificate.holds):
        said = "The model states the guarantee of the certificate."
        return Match(name="guarantee", status="pass", statement=said)
    return Match(
        name="guarantee",
        status="fail",
        statement=f"The model states epsilon {claim.epsilon:g}, delta {claim.delta:g} and {claim.neighboring}, the "
        f"certificate epsilon {certificate.epsilon:g}, delta {certificate.delta:g} and {certificate.neighboring}.",
    )
