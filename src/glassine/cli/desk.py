"""``glassine desk``."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Annotated

from glassine.cli.options import argument, flag, option
from glassine.cli.writing import tell
from glassine.errors import GlassineError


def desk_command(
    folder: Annotated[Path, argument("FOLDER", "Folder with the files to check.")],
    name: Annotated[str | None, option("TEXT", "Your name, as the record shows it.", shown="the account")] = None,
    analyst: Annotated[bool, flag("Open it as an analyst, who submits and does not vote.")] = False,
    workers: Annotated[int, option("N", "Audits at a time.")] = 2,
    open_browser: Annotated[bool, option(None, "Whether to open the browser.")] = True,
) -> None:
    """Check, ask, vote, sign and release the files of a folder in a browser.

    Nothing leaves this computer. Every decision is recorded in FOLDER/.glassine; settings are in
    FOLDER/.glassine/desk.toml. The desk needs pip install 'glassine[desk]'.

    Exit status: 0 when it was stopped, 2 if it could not start.
    """
    from glassine.desk import Desk, Person, create_desk
    from glassine.desk.serving import serve

    if not workers >= 1:
        raise GlassineError(f"--workers must be at least 1, got {workers}.")
    account = _account()
    person = Person(
        account=account, name=(name or account).strip() or account, role="analyst" if analyst else "checker"
    )
    serve(create_desk(Desk(folder, person), workers=workers), tell, open_browser=open_browser)


def _account() -> str:
    """Return the account of the operating system; variables of the environment are not believed where it can say."""
    try:
        import pwd
    except ImportError:
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"account {os.getuid()}"
