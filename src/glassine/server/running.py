"""Running the service in this process until it is stopped."""

from __future__ import annotations

import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

from glassine.errors import GlassineError, InvalidParameterError, installed, parameter

if TYPE_CHECKING:
    from typing import Self

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


class Ending:
    """Ctrl-C and SIGTERM while a server runs: they ask it to end, and are sent again when it has ended.

    Raised where they arrive, they would leave a loop half made or half closed. Outside the main thread, where no
    signal arrives, nothing is done.

    Examples
    --------
    >>> import signal
    >>> before = signal.signal(signal.SIGINT, signal.default_int_handler)
    >>> try:
    ...     with Ending() as ending:
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("the server ends")
    ... except KeyboardInterrupt:
    ...     print("the program ends")
    the server ends
    the program ends
    >>> _ = signal.signal(signal.SIGINT, before)
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._server: Any = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            # None is a handler that Python did not install, and cannot install again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if self._number is not None:
            signal.raise_signal(self._number)

    def _ask(self, number: int, _frame: object) -> None:
        self._number = number
        if self._server is not None:
            self._server.should_exit = True

    def asks(self, server: Any) -> None:
        """Ask a server of uvicorn from now on, and at once if a signal has come; it sends again what it gets itself."""
        self._server = server
        server.should_exit |= self._number is not None


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
    server = installed("uvicorn", "serving needs", "server").Server(configured(app, limits=limits, access=access))
    with Ending() as ending:
        ending.asks(server)
        server.run(sockets=[listening])


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
