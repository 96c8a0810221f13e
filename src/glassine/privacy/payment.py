"""Payments: the charges of a ledger, and what they say of a certificate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from glassine.privacy.exact import decimal_above
from glassine.privacy.receipt import Receipt
from glassine.privacy.unit import PrivacyUnit

if TYPE_CHECKING:
    from glassine.privacy.certificate import Certificate

NO_RECEIPT = (
    "The certificate has no receipt of a charge: its release was made without a ledger, or charged by hand. See that a "
    "charge covers it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: its number, the dataset, what it took and in which unit, what for, and when (UTC, ISO 8601).

    The receipt goes into the certificate of the release that the charge pays for.
    """

    number: int
    dataset: str
    epsilon: Fraction
    delta: Fraction
    unit: PrivacyUnit
    note: str
    at: str
    receipt: Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """What a ledger says of one certificate.

    Attributes
    ----------
    status : {"paid", "fault", "unknown"}
        Unknown if the certificate has no receipt: nothing says which charge paid for it.
    entry : Entry or None
        The charge that paid for it.
    reason : str
        What is wrong or not known, a sentence; empty if it is paid.
    """

    status: Literal["paid", "fault", "unknown"]
    entry: Entry | None = None
    reason: str = ""


def payment_of(certificate: Certificate, ledger: str, entries: tuple[Entry, ...]) -> Payment:
    """Return what the charges of a ledger say of one certificate."""
    receipt = certificate.receipt
    if receipt is None:
        return Payment(status="unknown", reason=NO_RECEIPT)
    number = receipt.charge
    if receipt.ledger != ledger:
        return Payment(status="fault", reason=f"It was paid for by charge {number} of another ledger.")
    if number > len(entries):
        return Payment(
            status="fault",
            reason=f"It was paid for by charge {number}, and this ledger ends with charge {len(entries)}: it is an "
            "older copy. Restore the newer one, or charge what is missing.",
        )
    entry = entries[number - 1]
    if receipt != entry.receipt:
        return Payment(
            status="fault",
            reason=f"It was paid for by another charge {number}: this ledger is an older copy that was charged again. "
            "Add the charges of both copies.",
        )
    if not (certificate.epsilon <= decimal_above(entry.epsilon) and certificate.delta <= decimal_above(entry.delta)):
        return Payment(
            status="fault",
            reason=f"It claims epsilon {certificate.epsilon:g} and delta {certificate.delta:g}, and charge {number} "
            f"is of epsilon {decimal_above(entry.epsilon):g} and delta {decimal_above(entry.delta):g}.",
        )
    if certificate.unit != entry.unit:
        return Payment(
            status="fault",
            reason=f"Its privacy unit is {str(certificate.unit)!r}, and charge {number} is for {str(entry.unit)!r}.",
        )
    return Payment(status="paid", entry=entry)
