"""The receipt, which charge of which ledger paid for a release; and the tie of a model to its training records."""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassine.codec import Codec, Field, decoded, record
from glassine.errors import InvalidCertificateError, quoted
from glassine.exports import Displayed
from glassine.files import FileContent, read_bytes, read_json, write_json, write_secret

DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt(Displayed):
    """The charge that paid for a release, as its certificate carries it.

    Each charge is hashed with a random number that never leaves the ledger's file, so that a receipt reveals how many
    charges came before it in the ledger, what those on this dataset add up to, and nothing else about them. See
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
        What was charged to the dataset in total, this charge included: the sums, rounded up.

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
            spent: Any = getattr(self, name)
            number = isinstance(spent, int | float) and not isinstance(spent, bool) and 0 <= spent < math.inf
            if not number or (name == "spent_epsilon" and not spent):
                raise InvalidCertificateError(f"a receipt's {name} must be {rule}, got {quoted(spent)}.")
            object.__setattr__(self, name, float(spent))

    def to_dict(self) -> dict[str, str | int | float]:
        """Return plain values."""
        out: dict[str, str | int | float] = RECEIPT.encode(self)
        return out

    @classmethod
    def from_dict(cls, values: object) -> Receipt:
        """Return the receipt that :meth:`to_dict` wrote; errors as the constructor's."""
        return decoded(RECEIPT, values, "the receipt", InvalidCertificateError)


RECEIPT: Codec[Receipt] = record(Receipt, {"spent_delta": Field(required=True)})


SCHEMA = "glassine.tie/1"
KEY_BYTES = 32
KEY = re.compile(rb"[0-9a-f]{64}\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """An HMAC of a file of records and of a model, under a key that the holder of the records keeps.

    A plain digest gives a record away: an attacker who has all others tries out the candidates for the last. Without
    the key, the HMACs of two candidates are indistinguishable (Bellare 2006, for HMAC as a pseudorandom function).
    It is for the holder all the same: an attacker with the key can also try candidates.

    Raises
    ------
    InvalidCertificateError
        If a field is of another form.
    """

    model: str  # SHA-256 of the model's canonical JSON, 64 hexadecimal digits
    records: str  # HMAC-SHA-256 of the records' file, bound to the model, 64 hexadecimal digits

    def __post_init__(self) -> None:
        for name in ("model", "records"):
            value: object = getattr(self, name)
            if not (isinstance(value, str) and DIGEST.fullmatch(value)):
                raise InvalidCertificateError(f"a tie's {name} must be 64 hexadecimal digits, got {quoted(value)}.")

    @classmethod
    def of(cls, model: str, records: FileContent, key: bytes) -> Tie:
        """Return the tie of a model, named by its fingerprint, to a file of records."""
        code = hmac.new(key, f"{SCHEMA}\n{model}\n".encode(), hashlib.sha256)
        code.update(records.data)
        return cls(model=model, records=code.hexdigest())

    def holds(self, model: str, records: FileContent, key: bytes) -> bool:
        """Return whether it is the tie of this model to this file, under this key."""
        other = Tie.of(model, records, key)
        return hmac.compare_digest(self.records, other.records) and self.model == other.model

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write it to a JSON file."""
        write_json({"schema": SCHEMA, "holder_only": True, "algorithm": "HMAC-SHA-256", **TIE.encode(self)}, path)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Tie:
        """Read a tie from a JSON file.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read, or is no JSON.
        InvalidCertificateError
            If it holds no tie.
        """
        values = read_json(path)
        head = {"schema": SCHEMA, "holder_only": True, "algorithm": "HMAC-SHA-256"}
        if not isinstance(values, dict) or any(values.get(name) != value for name, value in head.items()):
            raise InvalidCertificateError(
                f"{os.fspath(path)} is no tie of schema {SCHEMA!r}.",
                remedy="Give the file that the tie was written to.",
            )
        entries = {name: value for name, value in values.items() if name not in head}
        return decoded(TIE, entries, f"the tie {os.fspath(path)}", InvalidCertificateError)


TIE: Codec[Tie] = record(Tie, {"model": Field(required=True), "records": Field(required=True)})


def make_tie_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key, readable by its owner alone, and return it.

    Raises
    ------
    UnreadableFileError
        If the file exists or cannot be written.
    """
    key = secrets.token_bytes(KEY_BYTES)
    write_secret(f"{key.hex()}\n".encode(), path)
    return key


def read_tie_key(path: str | os.PathLike[str]) -> bytes:
    """Return the key of a file that :func:`make_tie_key` wrote.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read.
    InvalidCertificateError
        If it holds no such key.
    """
    text = read_bytes(Path(path), most=1000)
    if not KEY.fullmatch(text):
        raise InvalidCertificateError(
            f"{os.fspath(path)} holds no key of 64 hexadecimal digits.",
            remedy="Give the key that the tie was made with.",
        )
    return bytes.fromhex(text.decode())
