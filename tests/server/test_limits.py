"""Rates, sizes and times of requests, on the bare interface of ASGI."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import MutableMapping
from typing import Any

import pytest

from glassine.errors import InvalidParameterError
from glassine.server.access import Access
from glassine.server.request_limits import MAX_CLIENTS, Demand, Gate, Limits, Rates


class Clock:
    """Seconds that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills() -> None:
    clock = Clock()
    rates = Rates(2.0, 3, clock)
    assert [rates.wait("a") for _ in range(3)] == [0.0, 0.0, 0.0]
    assert rates.wait("a") == 0.5
    assert rates.wait("b") == 0.0
    clock.now += 0.5
    assert rates.wait("a") == 0.0
    assert rates.wait("a") > 0
    clock.now += 1000
    assert [rates.wait("a") == 0.0 for _ in range(4)] == [True, True, True, False]


def test_no_limit() -> None:
    rates = Rates(math.inf, 1)
    assert all(rates.wait("a") == 0.0 for _ in range(100))


def test_memory_of_clients_is_bounded() -> None:
    rates = Rates(1.0, 1, Clock())
    for i in range(MAX_CLIENTS + 50):
        rates.wait(str(i))
    assert len(rates._buckets) == MAX_CLIENTS


def test_who_asks() -> None:
    assert Access().client({"client": ("10.0.0.1", 5)}) == "10.0.0.1"
    # A network of 64 bits is one client: it has no end of addresses.
    assert Access().client({"client": ("2001:db8::1", 5)}) == Access().client({"client": ("2001:db8::2", 9)})
    assert Access().client({"client": ("2001:db8:0:1::1", 5)}) != Access().client({"client": ("2001:db8::2", 9)})
    # A socket of IPv6 shows clients of IPv4 in one network; they are not one client.
    assert Access().client({"client": ("::ffff:10.0.0.1", 5)}) == "10.0.0.1"
    assert Access().client({"client": None}) == ""
    assert Access().client({"client": ("unix", 0)}) == "unix"


@pytest.mark.parametrize("name", ["rate", "burst", "total_rate", "max_bytes", "seconds", "connections"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_limits_are_above_zero(name: str, value: float) -> None:
    with pytest.raises(InvalidParameterError, match=name):
        Limits(**{name: value})  # type: ignore[arg-type]


HOST = (b"host", b"localhost:8000")


def ask(
    messages: list[dict[str, Any]], limits: Limits, headers: list[tuple[bytes, bytes]] | None = None, times: int = 1
) -> tuple[int, dict[bytes, bytes], bytes, list[bytes]]:
    """Send messages through a gate to an application that answers with the body; return the last answer."""
    seen: list[bytes] = []
    out: list[MutableMapping[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        seen.append(message["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})

    async def run() -> None:
        gate = Gate(app, limits, Access())
        for _ in range(times):
            out.clear()
            queue = list(messages)

            async def receive(queue: list[dict[str, Any]] = queue) -> dict[str, Any]:
                if queue:
                    return queue.pop(0)
                await asyncio.sleep(60)
                raise AssertionError("nobody waits that long")

            async def send(message: MutableMapping[str, Any]) -> None:
                out.append(message)

            await gate({"type": "http", "client": ("10.0.0.1", 1), "headers": [HOST, *(headers or [])]}, receive, send)

    asyncio.run(run())
    if not out:
        return 0, {}, b"", seen
    return out[0]["status"], dict(out[0]["headers"]), out[-1]["body"], seen


def part(body: bytes, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": body, "more_body": more}


def test_parts_arrive_as_one_body_with_headers() -> None:
    status, headers, body, seen = ask([part(b"ab", True), part(b"c")], Limits())
    assert (status, body, seen) == (200, b"abc", [b"abc"])
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert headers[b"cache-control"] == b"no-store"


def test_too_large() -> None:
    told = ask([], Limits(max_bytes=10), [(b"content-length", b"11")])
    grown = ask([part(b"x" * 6, True), part(b"x" * 5, True)], Limits(max_bytes=10))
    for status, _, body, seen in (told, grown):
        assert status == 413
        assert json.loads(body)["detail"] == "A request has at most 10 bytes."
        assert seen == []
    assert ask([part(b"x" * 10)], Limits(max_bytes=10))[0] == 200


def test_too_slow() -> None:
    status, _, _, seen = ask([part(b"x", True)], Limits(seconds=0.05))
    assert (status, seen) == (408, [])


def test_a_lost_connection_is_no_request() -> None:
    assert ask([part(b"x", True), {"type": "http.disconnect"}], Limits())[::3] == (0, [])


def test_too_often() -> None:
    status, headers, body, seen = ask([part(b"x")], Limits(rate=0.01, burst=3), times=4)
    assert status == 429
    assert int(headers[b"retry-after"]) >= 90
    assert len(seen) == 3
    assert json.loads(body)["status"] == 429


def test_all_clients_together() -> None:
    assert ask([part(b"x")], Limits(rate=1000.0, burst=2, total_rate=0.5), times=3)[0] == 429


def test_a_burst_lets_one_request_through() -> None:
    with pytest.raises(InvalidParameterError, match="burst must be at least 1"):
        Limits(burst=0.5)  # type: ignore[arg-type]


def test_a_wait_that_is_no_number_of_json_is_told_as_a_day() -> None:
    status, headers, _, _ = ask([part(b"x")], Limits(rate=5e-324, burst=1), times=2)
    assert (status, headers[b"retry-after"]) == (429, b"86400")


def test_who_asks_little_is_served_while_others_flood() -> None:
    clock = Clock()
    demand, shared = Demand(clock), Rates(500.0, 500, clock)
    served, asked, number = 0, 0, 0
    for tick in range(60_000):
        clock.now += 1 / 1_500
        # 450 clients of 3.3 requests a second each, three times what there is.
        number = (number + 1) % 450
        shared.wait("", left=demand.share({f"10.{number}.0.1": 1}))
        if tick % 750 == 0 and tick > 7_500:
            asked += 1
            served += shared.wait("", left=demand.share({"192.0.2.1": 1})) == 0.0
    assert asked == 69
    assert served >= 0.98 * asked


def test_a_network_counts_beside_its_addresses() -> None:
    demand = Demand(Clock())
    lone = demand.share({"192.0.2.1": 1, "192.0.2.0/24": 16})
    flood = [demand.share({f"198.51.100.{host}": 1, "198.51.100.0/24": 16}) for host in range(200)]
    assert flood[-1] > 2 * lone
    assert len(demand._asked) < 250


def test_the_memory_of_demand_is_bounded() -> None:
    demand = Demand(Clock())
    for number in range(MAX_CLIENTS + 50):
        assert 0 <= demand.share({str(number): 1}) <= 0.9
    assert len(demand._asked) == MAX_CLIENTS
