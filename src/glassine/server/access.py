"""Who may ask the service, and as whom a request counts: names of the host, tokens, trusted proxies."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import re
from collections import Counter
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from glassine.errors import InvalidParameterError, UnreadableFileError, parameter, quoted
from glassine.files import read_text

Scope: TypeAlias = MutableMapping[str, Any]
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names by which only programs of the same machine reach it."""

TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,4096}")
"""Characters of a bearer token (RFC 6750), as many of them as resist guessing."""

HEALTH = "/health"


def network_of(host: str) -> str:
    """Return whom an address counts for: an IPv4 address, or the network of 64 bits of an IPv6 address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        # So a socket of IPv6 shows all clients of IPv4: they are no network of one client.
        return str(mapped)
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


PLACES = 900
"""Connections from which on waiting ones are closed for new ones; a service has some more, for those on their way."""

LENGTHS = {4: {32: 1, 24: 16}, 6: {64: 1, 56: 4, 48: 16}}
"""Lengths of the prefixes at which clients are counted, and how many clients' share each has: a network of 24 bits, of
IPv6 of 56 or 48, is often one customer's."""


SHARES = sorted({share for lengths in LENGTHS.values() for share in lengths.values()})


def networks_of(host: str) -> dict[str, int]:
    """Return the networks that an address counts for, the narrowest first, and how many clients' share each has."""
    narrow = network_of(host)
    try:
        network = ipaddress.ip_network(narrow)
    except ValueError:
        return {narrow: 1}
    wider = {length: share for length, share in LENGTHS[network.version].items() if length < network.prefixlen}
    return {narrow: 1} | {str(network.supernet(new_prefix=length)): share for length, share in wider.items()}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Access:
    """Who may ask, and as whom.

    Attributes
    ----------
    host_names : tuple of str
        Names in the header ``Host`` that are answered beside those of the loopback. A page of another site whose name
        was made to lead here (DNS rebinding) has none of them.
    tokens : tuple of str
        Bearer tokens, one of which a request must have, but for ``/health`` and the open paths; none for no such
        demand. They never stand in a text of this object.
    trusted_proxies : tuple of str
        Addresses or networks whose ``X-Forwarded-For`` is believed; that of all others is ignored.
    open_paths : tuple of str
        Paths that need no token; one that ends with a slash stands for all paths below it.
    same_origin : bool
        Whether requests that a page of another origin makes are refused.

    Raises
    ------
    InvalidParameterError
        If a name holds a port or a blank, a token is too short, or a proxy is no address.
    """

    host_names: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    open_paths: tuple[str, ...] = ()
    same_origin: bool = False
    _names: frozenset[str] = field(init=False)
    _digests: tuple[bytes, ...] = field(init=False)
    _networks: tuple[Network, ...] = field(init=False)

    def __post_init__(self) -> None:
        for name in self.host_names:
            if not re.fullmatch(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?", name):
                raise InvalidParameterError(
                    f"{parameter('host_names')} must be names without a scheme and a port, got {quoted(name)}."
                )
        if not all(TOKEN.fullmatch(token) for token in self.tokens):
            raise InvalidParameterError(
                f"{parameter('tokens')} must have 16 characters or more, letters, digits and ._~+/=- alone."
            )
        names = frozenset(name.strip("[]").lower().rstrip(".") for name in (*LOOPBACK, *self.host_names))
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_digests", tuple(hashlib.sha256(token.encode()).digest() for token in self.tokens))
        object.__setattr__(self, "_networks", tuple(map(_network, self.trusted_proxies)))

    def client(self, scope: Scope) -> str:
        """Return whom a request counts for, the narrowest network of :meth:`networks`."""
        return next(iter(self.networks(scope)))

    def networks(self, scope: Scope) -> dict[str, int]:
        """Return the networks that a request counts for; behind trusted proxies, of the last address not theirs."""
        peer = str((scope.get("client") or ("",))[0])
        if self.trusts(peer):
            named = b",".join(value for name, value in scope.get("headers", ()) if name == b"x-forwarded-for")
            for entry in reversed(named.decode("latin-1").split(",")):
                host = entry.strip()
                try:
                    ipaddress.ip_address(host)
                except ValueError:
                    # What no proxy wrote says nothing, nor does what stands before it.
                    break
                if not self.trusts(host):
                    return networks_of(host)
        return networks_of(peer)

    def trusts(self, host: str) -> bool:
        """Return whether an address is that of a trusted proxy."""
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._networks)

    def knows_host(self, scope: Scope) -> bool:
        """Return whether a request names the host by an allowed name, any port."""
        named = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"]
        if len(named) != 1:
            return False
        name = re.sub(r":\d*$", "", named[0]) if not named[0].endswith("]") else named[0]
        return name.strip("[]").lower().rstrip(".") in self._names

    def knows_origin(self, scope: Scope) -> bool:
        """Return whether a request is of no page, or of a page of the host that it names."""
        if not self.same_origin:
            return True
        sent = dict(scope.get("headers", ()))
        origin = sent.get(b"origin")
        return origin is None or origin == b"http://" + sent.get(b"host", b"")

    def admits(self, scope: Scope) -> bool:
        """Return whether a request has a token, or needs none."""
        path = str(scope.get("path"))
        below = any(path.startswith(one) for one in self.open_paths if one.endswith("/") and one != "/")
        if not self._digests or path == HEALTH or path in self.open_paths or below:
            return True
        named = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
        scheme, _, token = named[0].partition(b" ") if len(named) == 1 else (b"", b"", b"")
        digest = hashlib.sha256(token.strip()).digest()
        # All are compared, each in constant time, so that the time of an answer says nothing of a token.
        matches = [hmac.compare_digest(digest, digest_of_token) for digest_of_token in self._digests]
        return scheme.lower() == b"bearer" and any(matches)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise InvalidParameterError(
            f"{parameter('trusted_proxies')} must be addresses or networks, such as 10.0.0.0/8, got {quoted(text)}."
        ) from None


def read_tokens(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the tokens of a file, one a line; none is quoted in an error.

    Raises
    ------
    UnreadableFileError
        If the file cannot be read, holds no token, or a line is none.
    """
    lines = {number: line.strip() for number, line in enumerate(read_text(path).splitlines(), 1) if line.strip()}
    for number, line in lines.items():
        if not TOKEN.fullmatch(line):
            raise UnreadableFileError(
                f"line {number} of {os.fspath(path)} is not a token: 16 characters or more, letters, digits and "
                "._~+/=- alone.",
                remedy="Make one with: openssl rand -hex 32",
                path=path,
            )
    if not lines:
        raise UnreadableFileError(f"{os.fspath(path)} holds no token.", remedy="Write one a line.", path=path)
    return tuple(lines.values())


class Connections:
    """Connections that are open, by network, so that one client does not take them all, nor silent ones every place.

    Parameters
    ----------
    most : int
        Most connections of an address, of IPv6 a network of 64 bits; a wider network of IPv6 has a multiple of it.
    access : Access
        Trusted proxies hold the connections of many clients and are not counted.
    places : int, default=900
        Connections from which on the oldest is closed that has not asked, or else the oldest that is idle.
    """

    def __init__(self, most: int, access: Access, places: int = PLACES) -> None:
        self._most = most
        self._access = access
        self._places = places
        self._open: Counter[str] = Counter()
        self._n = 0
        # How to close each connection, in the order in which they became what they are.
        self._silent: dict[int, Callable[[], None]] = {}
        self._idle: dict[int, Callable[[], None]] = {}

    def enter(self, host: str) -> bool:
        """Count a connection, or return false if its client has enough of them."""
        networks = {} if self._access.trusts(host) else networks_of(host)
        if any(self._open[network] >= self._most * share for network, share in networks.items()):
            return False
        self._open.update(networks.keys())
        self._n += 1
        return True

    def leave(self, host: str) -> None:
        """Count a connection out that was let in."""
        self._n -= 1
        for network in () if self._access.trusts(host) else networks_of(host):
            # A network without connections is forgotten, so that the memory is bounded.
            self._open[network] -= 1
            if self._open[network] <= 0:
                del self._open[network]

    def wait(self, connection: int, close: Callable[[], None], *, answered: bool = False) -> None:
        """Note a connection without a request under way; if all places are taken, close the one that waits longest."""
        (self._idle if answered else self._silent)[connection] = close
        if self._n > self._places:
            waiting = self._silent or self._idle
            waiting.pop(next(iter(waiting)))()

    def ask(self, connection: int) -> None:
        """Note that a connection asks, or has ended: it waits no longer."""
        self._silent.pop(connection, None)
        self._idle.pop(connection, None)
