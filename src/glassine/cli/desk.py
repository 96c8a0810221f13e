"""``glassine desk``."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from typing import Annotated

from glassine.cli.options import argument, flag, option
from glassine.cli.writing import say, tell
from glassine.errors import GlassineError
from glassine.privacy.signing import read_public_key


def desk_command(
    folder: Annotated[Path, argument("FOLDER", "Folder with the files to check.")],
    name: Annotated[
        str | None, option("TEXT", "Your name, as the record shows it.", shown_default="the account")
    ] = None,
    analyst: Annotated[bool, flag("Open it as an analyst, who submits and does not vote.")] = False,
    key: Annotated[Path | None, option("FILE", "Private key that signs sign-offs and exported records.")] = None,
    check: Annotated[
        Path | None, option("FILE", "Only say whether the record continues the one that this export is of.")
    ] = None,
    public_key: Annotated[Path | None, option("FILE", "With --check: public key that must have signed it.")] = None,
    workers: Annotated[int, option("N", "Audits at a time.")] = 2,
    open_browser: Annotated[bool, option(None, "Whether to open the browser.")] = True,
) -> None:
    """Check, ask, vote, sign and release the files of a folder in a browser.

    Nothing leaves this computer. Every decision is recorded in FOLDER/.glassine; settings are in
    FOLDER/.glassine/desk.toml. The desk needs pip install 'glassine[desk]'.

    Exit status: 0 when it was stopped, or --check found the record continued; 2 if it could not start, or the record
    is not the one that was exported.
    """
    from glassine.desk import Desk, Person, create_desk
    from glassine.desk.serving import serve

    if not workers >= 1:
        raise GlassineError(f"--workers must be at least 1, got {workers}.")
    account = _account()
    person = Person(
        account=account, name=(name or account).strip() or account, role="analyst" if analyst else "checker"
    )
    desk = Desk(folder, person, key=key)
    if check is not None:
        from glassine.desk.heads import check_head

        say(check_head(desk, check, None if public_key is None else read_public_key(public_key)))
        return
    serve(create_desk(desk, workers=workers), tell, open_browser=open_browser)


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
