"""Signed releases: who published a file of surrogates, and that it is unchanged since."""

from __future__ import annotations

import os
from dataclasses import dataclass

from glassine.privacy.signing import Signed
from glassine.surrogates.surrogate_release import SurrogateRelease

SIGNED = Signed("glassine.signed-release/1", "release")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """A release as it was read from a file.

    Attributes
    ----------
    release : SurrogateRelease
        What the file holds.
    content : bytes
        The file, byte for byte.
    public_key : str or None
        The key whose signature was verified, base64 of 32 bytes; None for a file without a signature.
    """

    release: SurrogateRelease
    content: bytes
    public_key: str | None


def sign_release(
    release: str | os.PathLike[str], private: str | os.PathLike[str], output: str | os.PathLike[str]
) -> str:
    """Write a signed copy of a release file, and return the public key in base64.

    The signature covers the release byte for byte. The copy is one JSON file that holds the release's text, the
    public key and the signature.

    Parameters
    ----------
    release : path
        A release, signed or not; an older signature is verified and replaced.
    private : path
        The private key, PEM.
    output : path
        File to write.

    Raises
    ------
    UnreadableFileError, InvalidModelError
        If the release cannot be read.
    SignatureError
        If the key is none, or an older signature does not hold.
    """
    read_release(release)
    return SIGNED.sign(release, private, output)


def read_release(path: str | os.PathLike[str], public_key: str | None = None) -> ReleaseFile:
    """Read a release and verify its signature, if it has one; nothing in the file is trusted.

    Parameters
    ----------
    path : path
        A release, signed or not.
    public_key : str, optional
        The key that must have signed it, base64. Without one, a signature only shows that the file is whole.

    Raises
    ------
    UnreadableFileError
        If the file is missing, too large or no JSON.
    InvalidModelError
        If it holds no release.
    SignatureError
        If the signature does not hold, is missing although a key is given, or is of another key.
    """
    opened = SIGNED.open(path, public_key)
    release = SurrogateRelease.from_dict(opened.values)
    return ReleaseFile(release=release, content=opened.content, public_key=opened.public_key)
