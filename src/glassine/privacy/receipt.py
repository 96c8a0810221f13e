"""The receipt: which charge of which ledger paid for a release."""

from __future__ import annotations

import re
from dataclasses import dataclass

from glassine.codec import Codec, decoded, record
from glassine.errors import InvalidCertificateError, quoted

__all__ = ["RECEIPT", "Receipt"]

DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The charge that paid for a release, as its certificate carries it.

    Each charge is hashed with a random number that never leaves the ledger's file, so that a receipt reveals how many
    charges came before it and nothing else about them. See ``ledger_log.md``.

    Parameters
    ----------
    ledger : str
        Identity of the ledger, 64 hexadecimal digits.
    charge : int
        Number of the charge in that ledger, from 1.
    hash : str
        The ledger's hash chain up to this charge, 64 hexadecimal digits.

    Raises
    ------
    InvalidCertificateError
        If a field is of the wrong type or out of its range.
    """

    ledger: str
    charge: int
    hash: str

    def __post_init__(self) -> None:
        for name in ("ledger", "hash"):
            value: object = getattr(self, name)
            if not (isinstance(value, str) and DIGEST.fullmatch(value)):
                raise InvalidCertificateError(f"a receipt's {name} must be 64 hexadecimal digits, got {quoted(value)}.")
        charge: object = self.charge
        if isinstance(charge, bool) or not isinstance(charge, int) or not charge >= 1:
            raise InvalidCertificateError(f"a receipt's charge must be a whole number from 1, got {quoted(charge)}.")

    def to_dict(self) -> dict[str, str | int]:
        """Return plain values."""
        out: dict[str, str | int] = RECEIPT.encode(self)
        return out

    @classmethod
    def from_dict(cls, values: object) -> Receipt:
        """Return the receipt that :meth:`to_dict` wrote; errors as the constructor's."""
        return decoded(RECEIPT, values, "the receipt", InvalidCertificateError)


RECEIPT: Codec[Receipt] = record(Receipt)
