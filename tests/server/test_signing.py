"""Signatures: what is signed is what is read, and any change is seen."""

from __future__ import annotations

import base64
import errno
import json
import os
from pathlib import Path

import pytest

from glassine.errors import InvalidModelError, SignatureError, UnreadableFileError
from glassine.privacy.receipt import make_tie_key
from glassine.server import make_keys, read_public_key, read_release, sign_release
from tests.server.releases import small_release


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_release().to_json(tmp_path / "release.json")
    make_keys(tmp_path / "private.pem", tmp_path / "public.pem")
    return tmp_path


def signed(folder: Path) -> Path:
    sign_release(folder / "release.json", folder / "private.pem", folder / "signed.json")
    return folder / "signed.json"


def test_round_trip(folder: Path) -> None:
    public = read_public_key(folder / "public.pem")
    file = read_release(signed(folder), public)
    assert file.release == small_release()
    assert file.public_key == public
    assert file.content == (folder / "signed.json").read_bytes()
    # The signed text is the release, byte for byte.
    assert json.loads(file.content)["release"] == (folder / "release.json").read_text()


def test_a_release_without_a_signature(folder: Path) -> None:
    assert read_release(folder / "release.json").public_key is None
    with pytest.raises(SignatureError, match="is not signed"):
        read_release(folder / "release.json", read_public_key(folder / "public.pem"))


def test_signing_again_replaces_the_signature(folder: Path) -> None:
    path = signed(folder)
    first = read_release(path).public_key
    other = make_keys(folder / "other.pem", folder / "other-public.pem")
    assert sign_release(path, folder / "other.pem", path) == other != first
    assert read_release(path, other).release == small_release()


def test_every_change_is_seen(folder: Path) -> None:
    path = signed(folder)
    envelope = json.loads(path.read_text())
    changes = {
        "release": envelope["release"].replace('"k": 20', '"k": 21', 1),
        "public_key": make_keys(folder / "b.pem", folder / "bp.pem"),
        "signature": base64.b64encode(bytes(64)).decode(),
    }
    for key, value in changes.items():
        assert value != envelope[key]
        path.write_text(json.dumps({**envelope, key: value}))
        with pytest.raises(SignatureError, match="does not hold"):
            read_release(path)


def test_a_signature_over_the_bare_text_is_none(folder: Path) -> None:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    path = signed(folder)
    envelope = json.loads(path.read_text())
    key = load_pem_private_key((folder / "private.pem").read_bytes(), None)
    forged = base64.b64encode(key.sign(envelope["release"].encode())).decode()  # type: ignore[call-arg, union-attr]
    path.write_text(json.dumps({**envelope, "signature": forged}))
    with pytest.raises(SignatureError, match="does not hold"):
        read_release(path)


@pytest.mark.parametrize(
    "change",
    [
        {"extra": "x"},
        {"signature": 3},
        {"signature": "???"},
        {"public_key": "AAAA"},
        {"signature": ""},
    ],
)
def test_odd_envelopes(folder: Path, change: dict[str, object]) -> None:
    path = signed(folder)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(SignatureError):
        read_release(path)


def test_another_key(folder: Path) -> None:
    other = make_keys(folder / "b.pem", folder / "bp.pem")
    with pytest.raises(SignatureError, match="another key"):
        read_release(signed(folder), other)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[1]", b"3", b'{"schema": "x"}', b'{"a": 1, "a": 2}'])
def test_files_that_are_no_release(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises((InvalidModelError, UnreadableFileError)):
        read_release(path)


def test_keys_are_private_and_never_replaced(folder: Path) -> None:
    assert (folder / "private.pem").stat().st_mode & 0o077 == 0
    before = (folder / "private.pem").read_bytes()
    with pytest.raises(UnreadableFileError, match="exists"):
        make_keys(folder / "private.pem", folder / "new.pem")
    with pytest.raises(UnreadableFileError, match="exists"):
        make_keys(folder / "new.pem", folder / "public.pem")
    assert (folder / "private.pem").read_bytes() == before
    assert not (folder / "new.pem").exists()


def test_no_half_of_a_key_is_left_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnreadableFileError, match="No space left"):
        make_keys(tmp_path / "private.pem", tmp_path / "public.pem")
    with pytest.raises(UnreadableFileError, match="No space left"):
        make_tie_key(tmp_path / "tie.key")
    assert list(tmp_path.iterdir()) == []


def test_two_keys_need_two_files(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="both keys"):
        make_keys(tmp_path / "a.pem", f"{tmp_path}/./a.pem")
    with pytest.raises(UnreadableFileError, match="cannot write"):
        make_keys(tmp_path / "a.pem", tmp_path / "absent" / "b.pem")
    assert list(tmp_path.iterdir()) == []


def test_a_key_of_an_unknown_algorithm_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization

    def refuse(*arguments: object, **options: object) -> object:
        raise UnsupportedAlgorithm("an odd curve")

    monkeypatch.setattr(serialization, "load_pem_public_key", refuse)
    monkeypatch.setattr(serialization, "load_pem_private_key", refuse)
    with pytest.raises(SignatureError, match="no public key"):
        read_public_key(folder / "public.pem")
    with pytest.raises(SignatureError, match="no private key"):
        sign_release(folder / "release.json", folder / "private.pem", folder / "out.json")


def test_files_that_are_no_keys(folder: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    curve = ec.generate_private_key(ec.SECP256R1())
    (folder / "ec.pem").write_bytes(curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (folder / "ecp.pem").write_bytes(curve.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (folder / "long.pem").write_bytes(b"x" * 20_000)
    for name in ("public.pem", "ec.pem"):
        with pytest.raises(SignatureError):
            sign_release(folder / "release.json", folder / name, folder / "out.json")
    for name in ("private.pem", "ecp.pem"):
        with pytest.raises(SignatureError):
            read_public_key(folder / name)
    for name in ("long.pem", "absent.pem"):
        with pytest.raises(UnreadableFileError):
            read_public_key(folder / name)
    assert not (folder / "out.json").exists()
