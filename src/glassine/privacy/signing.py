"""Signatures (Ed25519) that a text is its publisher's and unchanged; their keys.

A signed text travels in an envelope, a JSON object that holds it, the public key and the signature.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from glassine.errors import SignatureError, UnreadableFileError, installed
from glassine.files import decoded, parse_json, read_bytes, write_bytes, write_json, write_secret

MAX_KEY_BYTES = 10_000


def _cryptography(name: str) -> ModuleType:
    return installed(f"cryptography.hazmat.primitives.{name}", "signatures need", "server")


def _unsupported() -> type[Exception]:
    kind: type[Exception] = importlib.import_module("cryptography.exceptions").UnsupportedAlgorithm
    return kind


def make_keys(private: str | os.PathLike[str], public: str | os.PathLike[str]) -> str:
    """Write a new pair of Ed25519 keys, and return the public one in base64.

    Parameters
    ----------
    private, public : path
        Files to write, PEM; neither may exist. The private one can be read by its owner alone.

    Returns
    -------
    str
        The public key, base64 of 32 bytes.

    Raises
    ------
    UnreadableFileError
        If a file exists or cannot be written, or both are one; no key is left then.
    """
    ed25519, serialization = _cryptography("asymmetric.ed25519"), _cryptography("serialization")
    if os.path.abspath(private) == os.path.abspath(public):
        raise UnreadableFileError(
            f"cannot write both keys to {os.fspath(private)}.", remedy="Name two files.", path=private
        )
    for path in (private, public):
        if Path(path).exists() or Path(path).is_symlink():
            raise UnreadableFileError(
                f"cannot write {os.fspath(path)}: it exists. Keys are not replaced.",
                remedy="Name another file.",
                path=path,
            )
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public_pem = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_secret(secret, private)
    try:
        write_bytes(public_pem, public)
    except UnreadableFileError:
        Path(private).unlink(missing_ok=True)
        raise
    return _text_of(key.public_key())


def _text_of(public_key: Any) -> str:
    return base64.b64encode(public_key.public_bytes_raw()).decode()


def _private_key(path: str | os.PathLike[str]) -> Any:
    serialization, ed25519 = _cryptography("serialization"), _cryptography("asymmetric.ed25519")
    data = read_bytes(path, most=MAX_KEY_BYTES)
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, _unsupported()) as error:
        raise SignatureError(
            f"{os.fspath(path)} holds no private key without a password ({type(error).__name__}).",
            remedy="Make one with glassine explain keys.",
        ) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SignatureError(
            f"{os.fspath(path)} holds a {type(key).__name__}. Only Ed25519 keys sign.",
            remedy="Make a pair with glassine certificate keys.",
        )
    return key


def read_public_key(path: str | os.PathLike[str]) -> str:
    """Return the public key of a PEM file in base64.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read.
    SignatureError
        If it holds no public Ed25519 key.
    """
    serialization, ed25519 = _cryptography("serialization"), _cryptography("asymmetric.ed25519")
    data = read_bytes(path, most=MAX_KEY_BYTES)
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, _unsupported()):
        raise SignatureError(
            f"{os.fspath(path)} holds no public key in PEM.", remedy="Give the publisher's file."
        ) from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise SignatureError(
            f"{os.fspath(path)} holds a {type(key).__name__}. Only Ed25519 keys sign.",
            remedy="Make a pair with glassine certificate keys.",
        )
    return _text_of(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedText:
    """A text as it was read from a file, signed or not."""

    text: str  # What was signed; of a file without a signature, the file's text
    values: Any  # Its JSON value
    content: bytes  # The file, byte for byte
    # The key whose signature was verified, base64 of 32 bytes; None for a file without a signature.
    public_key: str | None


@dataclass(frozen=True, slots=True)
class Signed:
    """A kind of signed file."""

    # Schema of the envelope. It is signed with the text, so that a signature of one kind is none of another.
    schema: str
    kind: str  # What is signed, in a word; the envelope has the text under it

    def sign(
        self, path: str | os.PathLike[str], private: str | os.PathLike[str], output: str | os.PathLike[str]
    ) -> str:
        """Write a signed copy of a file, and return the public key in base64.

        The signature covers the text byte for byte. An older signature is verified and replaced.

        Raises
        ------
        UnreadableFileError
            If the file cannot be read.
        SignatureError
            If the key is none, or an older signature does not hold.
        """
        envelope = self.sign_text(self.open(path).text, private)
        write_json(envelope, output)
        return envelope["public_key"]

    def sign_text(self, text: str, private: str | os.PathLike[str]) -> dict[str, str]:
        """Return the envelope of a text, whose bytes are signed from memory: no file is read or written but the key.

        Raises
        ------
        UnreadableFileError
            If the key cannot be read.
        SignatureError
            If it is none.
        """
        key = _private_key(private)
        signature = base64.b64encode(key.sign(self._bytes(text))).decode()
        public = _text_of(key.public_key())
        return {"schema": self.schema, "public_key": public, "signature": signature, self.kind: text}

    def open(self, path: str | os.PathLike[str], public_key: str | None = None) -> SignedText:
        """Read a file and verify its signature, if it has one; nothing in the file is trusted.

        Parameters
        ----------
        path : path
            The file, signed or not.
        public_key : str, optional
            The key that must have signed it, base64. Without one, a signature only shows that the file is whole.

        Raises
        ------
        UnreadableFileError
            If the file is missing, too large or no JSON.
        SignatureError
            If the signature does not hold, is missing although a key is given, or is of another key.
        """
        name = os.fspath(path)
        content = read_bytes(path)
        try:
            text = decoded(content, path=path)
        except UnicodeDecodeError:
            raise UnreadableFileError(
                f"{name} is not UTF-8 text.", remedy="Give the release as it was signed.", path=path
            ) from None
        values = parse_json(text, path=path)
        if not isinstance(values, dict) or values.get("schema") != self.schema:
            if public_key is not None:
                raise SignatureError(f"{name} is not signed.", remedy="Ask its publisher for the signed file.")
            return SignedText(text=text, values=values, content=content, public_key=None)
        keys = {"schema", self.kind, "public_key", "signature"}
        if set(values) != keys or not all(isinstance(value, str) for value in values.values()):
            raise SignatureError(f"{name} must hold the texts {', '.join(sorted(keys))} and nothing else.")
        self._verify(values, name)
        if public_key is not None and values["public_key"] != public_key:
            raise SignatureError(f"{name} is signed by another key than the one given.", remedy="Do not use it.")
        inner = values[self.kind]
        return SignedText(
            text=inner, values=parse_json(inner, path=path), content=content, public_key=values["public_key"]
        )

    def _bytes(self, text: str) -> bytes:
        # The schema's name keeps the signature from being one over something else.
        return f"{self.schema}\n{text}".encode()

    def _verify(self, envelope: dict[str, str], name: str) -> None:
        ed25519 = _cryptography("asymmetric.ed25519")
        invalid = importlib.import_module("cryptography.exceptions").InvalidSignature
        try:
            raw = base64.b64decode(envelope["public_key"], validate=True)
            signature = base64.b64decode(envelope["signature"], validate=True)
            ed25519.Ed25519PublicKey.from_public_bytes(raw).verify(signature, self._bytes(envelope[self.kind]))
        except (binascii.Error, ValueError, invalid):
            raise SignatureError(
                f"the signature of {name} does not hold: the file was changed or damaged.", remedy="Do not use it."
            ) from None
