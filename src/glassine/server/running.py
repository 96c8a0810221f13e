"""Running the service in this process until it is stopped."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from glassine.errors import GlassineError, InvalidParameterError, installed, parameter

if TYPE_CHECKING:
    from glassine.server.access import Access
    from glassine.server.request_limits import Limits

KEEP_ALIVE = 5
"""Seconds that an idle connection is kept."""

MAX_CONNECTIONS = 1000
"""Most connections at a time; more are answered with 503."""

BACKLOG = 512


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Parameters
    ----------
    host : str
        Address or name to listen on.
    port : int
        Port, 0 to 65,535; 0 takes a free one.

    Raises
    ------
    InvalidParameterError
        If the port is no port.
    GlassineError
        If the address cannot be listened on.
    """
    if not 0 <= port <= 65_535:
        raise InvalidParameterError(f"{parameter('port')} must lie in [0, 65535], got {port}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio sends without delay only on sockets whose protocol is said to be TCP.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(address)
            listening.listen(BACKLOG)
        except BaseException:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GlassineError(f"cannot listen on {host} port {port}: {reason}.", remedy="Name another.") from None
    return listening


def run(app: object, listening: socket.socket, *, limits: Limits | None = None, access: Access | None = None) -> None:
    """Serve an application on a socket until a signal ends it; requests under way are answered first.

    Any application of ASGI behind a ``Gate`` is protected as the service is.

    Parameters
    ----------
    app : ASGI application
        What :func:`glassine.server.create_app` returns.
    listening : socket
        The socket.
    limits : Limits, optional
        How many connections one client may have.
    access : Access, optional
        The trusted proxies, whose connections are not limited.

    Raises
    ------
    GlassineError
        If the package uvicorn is not installed.
    """
    config = configured(app, limits=limits, access=access)
    installed("uvicorn", "serving needs", "server").Server(config).run(sockets=[listening])


def configured(app: object, *, limits: Limits | None = None, access: Access | None = None) -> Any:
    """Return how uvicorn serves an application; arguments and errors as of :func:`run`."""
    uvicorn = installed("uvicorn", "serving needs", "server")
    from glassine.server.access import Access, Connections
    from glassine.server.protocol import PatientProtocol
    from glassine.server.request_limits import Limits

    class Counted(PatientProtocol):
        """The protocol, with the connections of this server."""

        open_connections = Connections((limits or Limits()).connections, access or Access())

    return uvicorn.Config(
        app,
        # It bounds the size of a request's head, too.
        http=Counted,
        # Requests are not logged, and clients are not to be believed about who they are.
        access_log=False,
        proxy_headers=False,
        server_header=False,
        # Standard output, standard error and logging belong to the process that serves.
        log_config=None,
        log_level="error",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=KEEP_ALIVE,
        limit_concurrency=MAX_CONNECTIONS,
        ws="none",
        lifespan="off",
    )
