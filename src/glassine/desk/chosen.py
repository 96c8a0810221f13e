"""Files of the folder that a form of the desk names."""

from __future__ import annotations

from contextlib import suppress

from glassine.desk.desk import Desk
from glassine.desk.folder import RECORDS
from glassine.desk.state import FileState
from glassine.errors import DeskError, RefusedActionError


def chosen_file(desk: Desk, name: str) -> FileState:
    """Return the present version of a file by its name.

    Raises
    ------
    RefusedActionError
        If no file of the folder that can be opened has it.
    """
    for file in desk.state.files.values():
        if file.name == name and file.id in desk.present():
            with suppress(DeskError), desk.folder.opened(name):
                return file
    raise RefusedActionError("a file of the folder must be chosen.", remedy="Choose one.")


def chosen_records(desk: Desk, name: str) -> str:
    """Return the name of a file of records in the folder; it is not opened here.

    Raises
    ------
    RefusedActionError
        If there is none by this name.
    """
    if name.lower().endswith(RECORDS) and any(one.name == name for one in desk.folder.files()):
        return name
    raise RefusedActionError("a file of records must be chosen.", remedy="Choose one.", field="records")
