"""Limits of the service: how large a request may be, how long it may take, how often one may ask."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from glassine.errors import InvalidParameterError, parameter
from glassine.server.access import SHARES, Access, Scope


def problem(status: int, title: str, detail: str) -> bytes:
    """Return an error as the JSON of RFC 9457."""
    return json.dumps({"title": title, "status": status, "detail": detail}, ensure_ascii=False).encode()


Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_CLIENTS = 10_000
"""Most clients whose rates are remembered; the ones longest silent are forgotten first."""

LATELY = 10.0
"""Seconds in which the count of a client's requests falls to a third."""

FEW = 4.0
"""Requests in the last seconds that hardly count."""

LEFT_PER_DOUBLING = 0.15
"""Share of the common bucket that a client must leave for each doubling of its requests. At the default rates, a client
of 2 a second may take 160 tokens that one of 10 a second may not."""

MOST_LEFT = 0.9
"""Largest share that a client must leave: it is reached at some fifty requests a second."""

LONGEST_WAIT = 86_400.0
"""Most seconds that a client is asked to wait."""

# What every answer has: browsers neither guess its type, nor keep it, nor show it inside another page; what states no
# policy of its own, such as an error, loads nothing.
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one may ask.

    Attributes
    ----------
    rate : float
        Requests a second that one client may make in the long run; infinity for no limit.
    burst : int
        Requests that a client may make at once.
    total_rate : float
        The same of all clients together. Where they ask for more, who asked least in the last seconds comes first.
    max_bytes : int
        Largest body of a request.
    seconds : float
        Longest time that a body may take to arrive.
    connections : int
        Most connections of one client at a time; those of trusted proxies are not limited. It holds where
        :func:`glassine.server.run` serves.

    Raises
    ------
    InvalidParameterError
        If a limit is not above zero, or the burst is below one.
    """

    rate: float = 10.0
    burst: int = 40
    total_rate: float = 500.0
    max_bytes: int = 65_536
    seconds: float = 10.0
    connections: int = 64

    def __post_init__(self) -> None:
        for name in ("rate", "burst", "total_rate", "max_bytes", "seconds", "connections"):
            if not getattr(self, name) > 0:
                raise InvalidParameterError(f"{parameter(name)} must be above 0, got {getattr(self, name)!r}.")
        if not self.burst >= 1:
            raise InvalidParameterError(
                f"{parameter('burst')} must be at least 1, got {self.burst!r}: a request takes a whole one."
            )


class Rates:
    """Token buckets by client."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        # Of each bucket: tokens that it gains a second, and holds at most; of the clock: seconds that never go back.
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, *, left: float = 0.0) -> float:
        """Take a token and return 0, or return the seconds after which there will be one.

        ``left`` is the share of the bucket that the token must leave in it.
        """
        if self._rate == math.inf:
            return 0.0
        now = self._clock()
        tokens, last = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - last) * self._rate)
        needed = min(1 + left * self._burst, self._burst)
        waiting = 0.0 if tokens >= needed else (needed - tokens) / self._rate
        # Who has to wait pays nothing: otherwise a client that keeps asking would never be served again.
        self._buckets[client] = (tokens - (not waiting), now)
        # Popped and set again above, so that the first one is the client that was silent longest.
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return waiting


class Demand:
    """How often each network asked lately, answered or not."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def share(self, networks: Mapping[str, int]) -> float:
        """Count a request, and return the share of what all have in common that it must leave to others.

        It grows with the logarithm of the requests in the last seconds: who asks less is served from what is left.
        """
        now, most = self._clock(), 0.0
        for network, clients in networks.items():
            asked, last = self._asked.pop(network, (0.0, now))
            asked = asked * math.exp((last - now) / LATELY) + 1
            self._asked[network] = (asked, now)
            most = max(most, asked / clients)
        while len(self._asked) > MAX_CLIENTS:
            self._asked.popitem(last=False)
        return min(MOST_LEFT, math.log2(1 + most / FEW) * LEFT_PER_DOUBLING)


class _RefusedBody(Exception):
    """A streamed body is too large or too slow."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.answer = (status, title, detail)


class _CountedBody:
    """A body that is handed on in parts: no more than it may have, and each part in time."""

    def __init__(self, receive: Receive, most: int, seconds: float, announced: int) -> None:
        self._receive, self._most, self._seconds = receive, most, seconds
        self._left = most if announced <= most else -1
        self.refusal: _RefusedBody | None = None

    async def __call__(self) -> MutableMapping[str, Any]:
        """Return the next part, or raise."""
        message: MutableMapping[str, Any] = {}
        if self._left >= 0:
            try:
                async with asyncio.timeout(self._seconds):
                    message = await self._receive()
            except TimeoutError:
                detail = f"Each part of a file arrives within {self._seconds:g} seconds."
                self.refusal = _RefusedBody(408, "Request timeout", detail)
                raise self.refusal from None
            self._left -= len(message.get("body", b""))
        if self._left < 0:
            self.refusal = _RefusedBody(413, "Content too large", f"A file has at most {self._most:,} bytes.")
            raise self.refusal
        return message


class Gate:
    """What stands before the service: rates, names, tokens, sizes and times, and headers of every answer.

    A body is read whole before the service sees the request, but for those that are streamed.

    Parameters
    ----------
    app : ASGI application
        The service.
    limits : Limits
        How much one may ask.
    access : Access
        Who may ask.
    streamed : mapping of str to int, optional
        Beginnings of paths whose bodies, of PUT, are handed on as they arrive, and their largest sizes in bytes. Each
        part must arrive in the time that a whole body has otherwise.
    """

    def __init__(self, app: App, limits: Limits, access: Access, streamed: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._streamed = dict(streamed or {})
        self._limits = limits
        self._access = access
        # For each share of a network, the rates of the networks that have it.
        self._clients = {share: Rates(limits.rate * share, limits.burst * share) for share in SHARES}
        self._demand = Demand()
        self._all = Rates(limits.total_rate, max(limits.total_rate, limits.burst))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of ASGI, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        networks = self._access.networks(scope)
        left = self._demand.share(networks)
        # The client first, its narrowest network first: who asks too often must not use up what others share.
        waiting = 0.0
        for network, share in networks.items():
            waiting = waiting or self._clients[share].wait(network)
        waiting = waiting or self._all.wait("", left=left)
        if waiting:
            after = (b"retry-after", str(math.ceil(min(waiting, LONGEST_WAIT))).encode())
            await _refuse(send, 429, "Too many requests", "Ask again later.", after)
            return
        if not self._access.knows_host(scope):
            await _refuse(send, 421, "Misdirected request", "The service is not known by this name.")
            return
        if not self._access.knows_origin(scope):
            await _refuse(send, 403, "Forbidden", "A page of another origin may not ask here.")
            return
        if not self._access.admits(scope):
            asked = (b"www-authenticate", b"Bearer")
            await _refuse(send, 401, "Unauthorized", "A request needs a token of the service.", asked)
            return
        sent = started = False

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                named = {name for name, _ in message.get("headers", ())}
                message["headers"] = [
                    *message.get("headers", ()),
                    *(header for header in HEADERS if header[0] not in named),
                ]
            await send(message)

        most = next((size for path, size in self._streamed.items() if str(scope["path"]).startswith(path)), None)
        if most is not None and scope["method"] == "PUT":
            part = self._counted(scope, receive, most)

            async def unless_refused(message: MutableMapping[str, Any]) -> None:
                # The application answers an error of its input with one of its own, which is not the client's.
                if part.refusal is None:
                    await with_headers(message)

            with contextlib.suppress(_RefusedBody):
                await self._app(scope, part, unless_refused)
            if part.refusal is not None and not started:
                await _refuse(send, *part.refusal.answer)
            return
        body = await self._body(scope, receive, send)
        if body is None:
            return

        async def replay() -> MutableMapping[str, Any]:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, with_headers)

    def _counted(self, scope: Scope, receive: Receive, most: int) -> _CountedBody:
        length = dict(scope.get("headers", ())).get(b"content-length", b"0")
        announced = int(length) if length.isdigit() and len(length) < 20 else most + 1
        return _CountedBody(receive, most, self._limits.seconds, announced)

    async def _body(self, scope: Scope, receive: Receive, send: Send) -> bytes | None:
        """Return the body, or None after a refusal or a lost connection."""
        most = self._limits.max_bytes
        length = dict(scope.get("headers", ())).get(b"content-length", b"0")
        too_large = f"A request has at most {most} bytes."
        # Refused by what it announces, before a byte is read; twenty digits and more are no length.
        if length.isdigit() and len(length) < 20 and int(length) > most:
            await _refuse(send, 413, "Content too large", too_large)
            return None
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    # The announcement may be missing or false, so that what arrives is counted, too.
                    if size > most:
                        await _refuse(send, 413, "Content too large", too_large)
                        return None
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            await _refuse(send, 408, "Request timeout", f"A request arrives within {self._limits.seconds:g} seconds.")
            return None


async def _refuse(send: Send, status: int, title: str, detail: str, *headers: tuple[bytes, bytes]) -> None:
    body = problem(status, title, detail)
    sent = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        *HEADERS,
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": body})
