"""The protocol of the service's connections: who neither asks nor takes an answer in time is cut off."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from glassine.server.access import Connections
from glassine.server.request_limits import problem

_TOO_MANY = problem(429, "Too many connections", "Close some first.")
TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\nconnection: close\r\n"
    b"retry-after: 10\r\ncontent-length: %d\r\n\r\n%b" % (len(_TOO_MANY), _TOO_MANY)
)
"""The answer to a connection of a client that has enough of them."""

# How long a connection may take to ask, and to take what it is sent: who does neither keeps others out.


HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must have come; an answered connection that is idle ends sooner."""

SEND_SECONDS = 30.0
"""Seconds in which a client must take a part of an answer."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose client is too slow; the body's time is the application's matter."""

    open_connections: ClassVar[Connections | None] = None

    _head: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _peer: str | None = None
    _refused = False

    def connection_made(self, transport: Any) -> None:
        """Give the client its time for a first request, unless it has too many connections."""
        if self.open_connections is not None:
            peer = str((transport.get_extra_info("peername") or ("",))[0])
            if not self.open_connections.enter(peer):
                # Not one of the server's connections: it is answered and closed before anything is read of it.
                self._refused = True
                transport.write(TOO_MANY)
                transport.close()
                return
            self._peer = peer
        super().connection_made(transport)
        self._watch()
        if self.open_connections is not None:
            self.open_connections.wait(id(self), transport.abort)

    def data_received(self, data: bytes) -> None:
        """Read; bytes that come one by one do not renew the time."""
        if not self._refused:
            super().data_received(data)
            self._watch()

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        if self._refused:
            return
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on sending."""
        if self._refused:
            return
        self._stop("_stalled")
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Count the connection as idle, until it asks again."""
        super().on_response_complete()
        if self.open_connections is not None and not self.transport.is_closing():
            self.open_connections.wait(id(self), self.transport.abort, answered=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """End all clocks."""
        if self._refused:
            return
        if self.open_connections is not None and self._peer is not None:
            self.open_connections.ask(id(self))
            self.open_connections.leave(self._peer)
            self._peer = None
        self._stop("_head")
        self._stop("_stalled")
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop("_head")
            if self.open_connections is not None:
                self.open_connections.ask(id(self))
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._head = None
        cycle: Any = self.cycle
        if cycle is None or cycle.response_complete:
            self.transport.close()

    def _stop(self, name: str) -> None:
        timer: asyncio.TimerHandle | None = getattr(self, name)
        if timer is not None:
            timer.cancel()
        setattr(self, name, None)
