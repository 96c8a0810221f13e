"""Serving a desk on the loopback until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import webbrowser
from collections.abc import Callable
from socket import socket

from glassine.desk.app import DeskApp
from glassine.errors import installed
from glassine.server.running import Ending, configured, listen

HOST = "127.0.0.1"


def serve(app: DeskApp, say: Callable[[str], None], *, open_browser: bool) -> None:
    """Serve a desk, open the browser, and return when it is stopped.

    Raises
    ------
    GlassineError
        If the loopback cannot be used, or a package of the extra ``desk`` is not installed.
    """
    listening = listen(HOST, 0)
    address = f"http://{HOST}:{listening.getsockname()[1]}/#code={app.session.code}"
    with Ending() as ending:
        say(f"The desk is open at {address}\nThe address works once, for one minute. Press Ctrl-C to close the desk.")
        if open_browser:
            webbrowser.open(address)
        asyncio.run(run_desk(app, listening, ending))
    if app.session.contested.is_set():
        say("Another person used the address of this desk before you: it was closed. Start it again.")


async def run_desk(app: DeskApp, listening: socket, ending: Ending | None = None) -> None:
    """Serve until a signal ends it, or until its code was used twice."""
    await app.audits.workers.start()
    server = installed("uvicorn", "the desk needs", "desk").Server(
        configured(app.asgi, limits=app.limits, access=app.access)
    )
    if ending is not None:
        ending.asks(server)
    watching = asyncio.create_task(app.watch())
    contested = asyncio.create_task(app.session.contested.wait())
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        await asyncio.wait({serving, contested}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Pages ask every second and keep their connections: they are not waited for.
        server.should_exit = server.force_exit = True
        await serving
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        app.workbench.stop()
        await app.audits.stop()
        contested.cancel()
