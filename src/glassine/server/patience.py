"""How long a connection may take to ask, and to take what it is sent: who does neither keeps others out."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["PatientProtocol"]

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must have come; an answered connection that is idle ends sooner."""

SEND_SECONDS = 30.0
"""Seconds in which a client must take a part of an answer."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose client is too slow; the body's time is the application's matter."""

    _head: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Give the client its time for a first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read; bytes that come one by one do not renew the time."""
        super().data_received(data)
        self._watch()

    def pause_writing(self) -> None:
        """Give the client its time to read."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(SEND_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on sending."""
        self._stop("_stalled")
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all clocks."""
        self._stop("_head")
        self._stop("_stalled")
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop("_head")
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
