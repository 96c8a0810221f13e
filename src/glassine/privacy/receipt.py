"""The receipt: which charge of which ledger paid for a release."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from glassine.codec import Codec, Field, decoded, record
from glassine.errors import InvalidCertificateError, quoted

__all__ = ["RECEIPT", "Receipt"]

DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The charge that paid for a release, as its certificate carries it.

    Each charge is hashed with a random number that never leaves the ledger's file, so that a receipt reveals how many
    charges came before it in the ledger, what those on this data set add up to, and nothing else about them. See
    ``ledger_log.md``.

    Parameters
    ----------
    ledger : str
        Identity of the ledger, 64 hexadecimal digits.
    charge : int
        Number of the charge in that ledger, from 1.
    hash : str
        The ledger's hash chain up to this charge, 64 hexadecimal digits.
    spent_epsilon, spent_delta : float
        What was charged to the data set in total, this charge included: the sums, rounded up.

    Raises
    ------
    InvalidCertificateError
        If a field is of the wrong type or out of its range.
    """

    ledger: str
    charge: int
    hash: str
    spent_epsilon: float
    spent_delta: float = 0.0

    def __post_init__(self) -> None:
        for name in ("ledger", "hash"):
            value: object = getattr(self, name)
            if not (isinstance(value, str) and DIGEST.fullmatch(value)):
                raise InvalidCertificateError(f"a receipt's {name} must be 64 hexadecimal digits, got {quoted(value)}.")
        charge: object = self.charge
        if isinstance(charge, bool) or not isinstance(charge, int) or not charge >= 1:
            raise InvalidCertificateError(f"a receipt's charge must be a whole number from 1, got {quoted(charge)}.")
        for name, rule in (("spent_epsilon", "positive and finite"), ("spent_delta", "finite and at least 0")):
            spent: object = getattr(self, name)
            number = isinstance(spent, int | float) and not isinstance(spent, bool) and 0 <= spent < math.inf
            if not number or (name == "spent_epsilon" and not spent):
                raise InvalidCertificateError(f"a receipt's {name} must be {rule}, got {quoted(spent)}.")
            object.__setattr__(self, name, float(spent))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, str | int | float]:
        """Return plain values."""
        out: dict[str, str | int | float] = RECEIPT.encode(self)
        return out

    @classmethod
    def from_dict(cls, values: object) -> Receipt:
        """Return the receipt that :meth:`to_dict` wrote; errors as the constructor's."""
        return decoded(RECEIPT, values, "the receipt", InvalidCertificateError)


RECEIPT: Codec[Receipt] = record(Receipt, {"spent_delta": Field(required=True)})
