"""What a publisher states of the training data, as the answer form of the desk has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassine.desk.folder import Folder
from glassine.errors import DeskError, RefusedActionError

STATED: dict[str, tuple[str, str, str]] = {
    "one_record_per_person": ("--one-record-per-person", "flag", "No person has several training records."),
    "unweighted": ("--unweighted", "flag", "No weights were used in training."),
    "stated_leaf": ("--stated-leaf", "number", "Fewest training records of any leaf or rule"),
    "stated_step": ("--stated-step", "number", "Step to whose multiples published counts are rounded"),
    "n": ("--n", "number", "Training records of a regression"),
    "settings_tried": ("--settings-tried", "number", "Settings among which one was chosen on the data"),
    "domain": ("--domain", "file", "File of the folder that holds the public cut points"),
}
"""What a publisher can state, by field of the form: its option, its kind and its words."""


def stated_of(asked: Mapping[str, Any], folder: Folder) -> dict[str, Any]:
    """Return what the answer form states; a file by its name and the hash of its bytes.

    Raises
    ------
    RefusedActionError
        If a number is no whole number of at least 1, or a file is none of the folder.
    """
    stated: dict[str, Any] = {}
    for name, (_, kind, words) in STATED.items():
        value = asked.get(name)
        if value in (None, "", False):
            continue
        if kind == "flag":
            stated[name] = True
        elif kind == "number":
            text = str(value).strip()
            if not (text.isascii() and text.isdigit() and int(text[:10]) >= 1 and len(text) <= 9):
                raise RefusedActionError(f"{words} must be a whole number of at least 1.", field=name)
            stated[name] = int(text)
        else:
            try:
                digest, _ = folder.digest(str(value))
            except DeskError:
                raise RefusedActionError("there is no such file in the folder.", field=name) from None
            stated[name] = {"name": str(value), "sha256": digest}
    return stated
