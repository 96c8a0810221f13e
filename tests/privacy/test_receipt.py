"""The receipt of a charge, alone and in a certificate."""

from __future__ import annotations

from typing import Any

import pytest

from glassine.errors import InvalidCertificateError
from glassine.privacy.certificate import Certificate
from glassine.privacy.receipt import Receipt

RECEIPT = Receipt(ledger="0a" * 32, charge=3, hash="f1" * 32, spent_epsilon=0.75, spent_delta=1e-6)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ledger", "0A" * 32),
        ("ledger", "0a" * 31),
        ("ledger", None),
        ("hash", "f1" * 32 + "\n"),
        ("hash", b"f1" * 32),
        ("charge", 0),
        ("charge", True),
        ("charge", 3.0),
        ("charge", "3"),
        ("spent_epsilon", 0),
        ("spent_epsilon", "0.5"),
        ("spent_epsilon", True),
        ("spent_delta", -1e-6),
        ("spent_delta", None),
    ],
)
def test_a_receipt_of_another_form_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidCertificateError, match=f"(a receipt's {field}|the receipt, {field},) must be"):
        Receipt.from_dict(RECEIPT.to_dict() | {field: value})


def test_a_certificate_carries_its_receipt() -> None:
    certificate = Certificate(epsilon=0.5, events=(), receipt=RECEIPT)
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.to_dict()["receipt"] == {
        "ledger": "0a" * 32,
        "charge": 3,
        "hash": "f1" * 32,
        "spent_epsilon": 0.75,
        "spent_delta": 1e-6,
    }
    assert f"Paid for by charge 3 of the ledger {'0a' * 32}. With it, epsilon = 0.75, delta = 1e-06" in str(certificate)
    without = Certificate(epsilon=0.5, events=())
    assert "receipt" not in without.to_dict()
    assert Certificate.from_json(without.to_json()).receipt is None
    wrongs: tuple[object, ...] = (None, [], {}, {"ledger": "0a" * 32}, RECEIPT.to_dict() | {"more": 1})
    for wrong in wrongs:
        with pytest.raises(
            InvalidCertificateError,
            match=r"the certificate, receipt, (must be an object|lacks the key|has an unknown key)",
        ):
            Certificate.from_dict(without.to_dict() | {"receipt": wrong})
    receipt: Any = "charge 3"
    with pytest.raises(InvalidCertificateError, match="receipt must be a Receipt or None"):
        Certificate(epsilon=0.5, events=(), receipt=receipt)
