"""Heads of a desk's record that are kept elsewhere: signed, and compared with the record later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from glassine.desk.desk import Desk
from glassine.errors import DeskError
from glassine.files import json_text, parse_json
from glassine.privacy.signing import Signed

RECORD = Signed("glassine.signed-desk-record/1", "record")
"""A record of a desk, or its head, with the signature of who exported it."""


def chain_of(desk: Desk) -> dict[str, Any]:
    """Return the head of a desk's record, which fits one history only, as plain values."""
    events = desk.state.events
    return {"identity": desk.identity, "entries": len(events), "head": events[-1].hash}


def exported(desk: Desk, values: Mapping[str, Any]) -> str:
    """Return the text of an export: in a signed envelope if the desk was opened with a key.

    Raises
    ------
    SignatureError
        If the key cannot be used.
    """
    text = json_text(values)
    return text if desk.key is None else json_text(envelope(desk, text))


def envelope(desk: Desk, text: str) -> dict[str, str]:
    """Return a text with the signature of the desk's key."""
    return RECORD.sign_text(text, desk.key or "")


def check_head(desk: Desk, path: Path, public_key: str | None = None) -> str:
    """Return a sentence that a desk's record continues the one that an export is of.

    Parameters
    ----------
    desk : Desk
        The desk.
    path : Path
        ``chain.json`` or a record for checkers, signed or not, as the desk exported it.
    public_key : str, optional
        The key that must have signed it, base64.

    Raises
    ------
    DeskError
        If it is of another record, or of another history of this one, or holds no head.
    SignatureError
        If a signature does not hold, is missing although a key is given, or is of another key.
    UnreadableFileError
        If the file cannot be read.
    """
    opened = RECORD.open(path, public_key)
    values = parse_json(opened.text, path=path)
    chain: Any = values.get("chain", values) if isinstance(values, dict) else None
    try:
        identity, entries, head = chain["identity"], int(chain["entries"]), str(chain["head"])
    except (TypeError, KeyError, ValueError):
        raise DeskError(
            f"{path} holds no head of a desk's record.",
            remedy="Give the chain.json of a release, or a record for checkers.",
            path=path,
        ) from None
    events = desk.refresh().events
    if identity != desk.identity:
        raise DeskError(f"{path} is of the record of another desk.", remedy="Name its folder.", path=path)
    if entries < 1 or not head:
        raise DeskError(
            f"{path} holds no head of a desk's record: its entry {entries} is none.",
            remedy="Give the chain.json of a release, or a record for checkers.",
            path=path,
        )
    actual = events[entries - 1].hash if entries <= len(events) else ""
    if actual != head:
        raise DeskError(
            f"the record of {desk.folder.path} is not the one that {path} was exported from: "
            f"its entry {entries} {'differs' if actual else 'is missing'}.",
            remedy="It was rewritten, or replaced by an older copy. Ask who can write to the folder.",
            path=path,
        )
    by = "" if opened.public_key is None else f" The export is signed by {opened.public_key}."
    return f"The record continues the one that was exported: entry {entries} of {len(events)} has its head.{by}"
