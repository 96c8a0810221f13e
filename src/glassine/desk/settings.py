"""The settings of a desk: ``.glassine/desk.toml`` in its folder."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassine.desk.folder import read_own
from glassine.desk.texts import read_texts
from glassine.errors import DeskError

NAME = "desk.toml"
NAMED = ("default", "sacro", "strict", "tre", "average")
"""Policies that have a name."""

TYPES: dict[str, tuple[type, str]] = {
    "title": (str, "a text"),
    "policy": (str, "the name of a policy, or of a TOML file beside the settings"),
    "checkers": (list, "a list of accounts"),
    "needed": (int, "a whole number of at least 1"),
    "shared_account": (bool, "true or false"),
    "single_keys": (bool, "true or false"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskSettings:
    """How a desk decides.

    Attributes
    ----------
    title : str
        Title of the pages.
    policy : str
        Name of a policy, or of a TOML file beside the settings.
    policy_bytes : bytes
        Content of that file; empty for a named policy.
    checkers : tuple of str
        Accounts that may vote; empty for all.
    needed : int
        Checkers that must agree.
    shared_account : bool
        Whether one account can supply several checkers; their identity is then recorded as unverified.
    single_keys : bool
        Whether single letters are shortcuts.
    texts : mapping of str to str
        Texts of the pages that are replaced, by the text of the desk.
    """

    title: str = ""
    policy: str = "default"
    policy_bytes: bytes = field(default=b"", repr=False)
    checkers: tuple[str, ...] = ()
    needed: int = 2
    shared_account: bool = False
    single_keys: bool = True
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    def lets_check(self, account: str) -> bool:
        """Return whether an account may be a checker."""
        return not self.checkers or account in self.checkers

    @property
    def policy_digest(self) -> str:
        """SHA-256 of the policy's file, or of its name."""
        return hashlib.sha256(self.policy_bytes or self.policy.encode()).hexdigest()

    def body(self) -> dict[str, Any]:
        """Return what the record says of the settings."""
        return {
            "policy": self.policy,
            "policy_sha256": self.policy_digest,
            "checkers": list(self.checkers),
            "needed": self.needed,
            "shared_account": self.shared_account,
            # A person who asks later what a checker read can compare the file.
            **({"texts_sha256": self.texts_digest} if self.texts else {}),
        }

    @property
    def texts_digest(self) -> str:
        """SHA-256 of the texts that are replaced, hexadecimal."""
        return hashlib.sha256(json.dumps(dict(self.texts), sort_keys=True).encode()).hexdigest()


def read_settings(folder: Path) -> DeskSettings:
    """Return the settings of a desk's own folder, the defaults if there are none.

    Raises
    ------
    DeskError
        If the file is no TOML, has an unknown key or a value of another type, or names a policy that is not there.
    """
    path = folder / NAME
    values: dict[str, Any] = {}
    try:
        values = tomllib.loads(read_own(path).decode())
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        raise DeskError(
            f"cannot read {path}: {error.strerror if isinstance(error, OSError) else error}.",
            remedy="Correct it, or delete it.",
            path=path,
        ) from None
    for name, value in values.items():
        if name not in TYPES:
            raise DeskError(
                f"{path} has the unknown setting {name!r}.", remedy=f"Known: {', '.join(TYPES)}.", path=path
            )
        kind, words = TYPES[name]
        entries = value if isinstance(value, list) else ()
        if type(value) is not kind or not all(isinstance(one, str) for one in entries):
            raise DeskError(f"{name} in {path} must be {words}.", remedy="Correct it.", path=path)
    if not values.get("needed", 2) >= 1:
        raise DeskError(f"needed in {path} must be {TYPES['needed'][1]}.", remedy="Correct it.", path=path)
    values["checkers"] = tuple(values.get("checkers", ()))
    values["texts"] = read_texts(folder)
    policy = values.get("policy", "default")
    if policy not in NAMED:
        try:
            if Path(policy).name != policy:
                raise DeskError(
                    f"policy in {path} must be one of {', '.join(NAMED)} or the name of a file beside it.", path=path
                )
            values["policy_bytes"] = read_own(folder / policy)
        except OSError as error:
            raise DeskError(f"cannot read the policy {folder / policy}: {error.strerror}.", path=path) from None
    return DeskSettings(**values)
