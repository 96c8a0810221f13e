"""The workbench: what an analyst does at the desk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from glassine.desk.auditing import Audits
from glassine.desk.desk import Desk
from glassine.errors import RefusedActionError


class Workbench:
    """What an analyst does with the files of a desk.

    Parameters
    ----------
    desk : Desk
        The desk.
    audits : Audits
        Its audits, whose workers are used.
    """

    def __init__(self, desk: Desk, audits: Audits) -> None:
        self._desk = desk
        self._audits = audits
        self.version = 0  # Grows with every change that a page shows

    def values(self, chosen: str) -> dict[str, Any]:
        """Return what the screen shows."""
        return {"files": []}

    async def act(self, action: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Do what the screen asks for.

        Raises
        ------
        RefusedActionError
            If there is no such action.
        """
        raise RefusedActionError("there is no such action.")
