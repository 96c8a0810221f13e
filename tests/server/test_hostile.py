"""Malformed and hostile requests: none is answered with an error of the server, and none shows a training value."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from glassine.server import Access, Limits, ReleaseFile, create_app
from tests.server.releases import QUERY, decide, records, small_release

pytestmark = pytest.mark.slow

N_REQUESTS = 2_000


def app() -> Any:
    file = ReleaseFile(release=small_release(), content=json.dumps(small_release().to_dict()).encode(), public_key=None)
    limits = Limits(rate=math.inf, total_rate=math.inf)
    # The name by which the clients of these tests call the service.
    access = Access(host_names=("testserver",))
    return create_app(file, black_box=decide, takes="pandas", limits=limits, access=access)


@pytest.mark.parametrize("path", ["/decision", "/explanation"])
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_generated_requests(path: str, mode: str) -> None:
    # It takes seconds to import, which the default tests need not pay for.
    import schemathesis

    schema = schemathesis.openapi.from_asgi("/openapi.json", app())
    way = schemathesis.GenerationMode[mode]
    seen: list[int] = []

    @settings(max_examples=300, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=schema[path]["POST"].as_strategy(generation_mode=way))
    def ask(case: Any) -> None:
        response = case.call()
        case.validate_response(response)
        seen.append(response.status_code)

    ask()
    assert len(seen) >= 200
    assert max(seen) < 500
    assert (200 in seen) or mode == "NEGATIVE"


def hostile(rng: random.Random) -> tuple[str, str, bytes, dict[str, str]]:
    """Return method, path, body and headers of a request made to break something."""
    text = json.dumps({"query": QUERY, "guided": True, "n_closest": 3}).encode()
    body = bytearray(text)
    kind = rng.randrange(7)
    if kind == 0:
        for _ in range(rng.randint(1, 8)):
            body[rng.randrange(len(body))] = rng.randrange(256)
    elif kind == 1:
        del body[rng.randrange(len(body)) :]
    elif kind == 2:
        body = bytearray(rng.choice([b"[", b'{"query":', b'{"a":[', b"-", b"1e", b"9"]) * rng.randint(1, 8000))
    elif kind == 3:
        odd = [1e308, -1e308, 10**300, "é" * 5000, "\x00", None, [], {}, True, "../../etc/passwd", "'; --", "\ufffe"]
        value: Any = {**QUERY, rng.choice(list(QUERY)): rng.choice(odd)}
        body = bytearray(json.dumps({"query": value, "n_closest": rng.choice([1, 1000, 1001, -5, 1e20])}).encode())
    elif kind == 4:
        body = bytearray(rng.randbytes(rng.randint(0, 300)))
    elif kind == 5:
        body = bytearray(b'{"query": {' + b",".join(b'"k%d": 1' % i for i in range(rng.randint(1, 4000))) + b"}}")
    path = rng.choice(
        ["/decision", "/explanation"] * 6 + ["/", "/release", "//", "/../x", "/%00", "/explanation/", "/🙂"]
    )
    method = rng.choice(["POST"] * 12 + ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
    kinds = ["application/json"] * 8 + ["application/json; charset=utf-16", "text/plain", "", "x" * 3000, "a/b;" * 500]
    headers = {"content-type": rng.choice(kinds)}
    if rng.random() < 0.1:
        headers |= {
            "content-encoding": "gzip",
            "x-forwarded-for": "1.2.3.4",
            "accept": "text/html",
            "range": "bytes=0-",
        }
    return method, path, bytes(body), headers


def test_hostile_requests() -> None:
    from starlette.testclient import TestClient

    rng = random.Random(3)
    client = TestClient(app(), base_url="http://localhost", raise_server_exceptions=False)
    trained = {repr(value) for value in records()["hours"].tolist()}
    published = json.dumps(small_release().to_dict())
    secret = {value for value in trained if value not in published and len(value) > 4}
    assert len(secret) > 200
    counts: dict[int, int] = {}
    for _ in range(N_REQUESTS):
        method, path, body, headers = hostile(rng)
        reply = client.request(method, path, content=body, headers=headers)
        counts[reply.status_code] = counts.get(reply.status_code, 0) + 1
        asked = body.decode(errors="replace")
        for found in {word.strip('",:[]{}') for word in reply.text.split()} & secret:
            assert found in asked, (found, body)
    assert max(counts) < 500, counts
    assert {200, 400, 404, 405, 415, 422} <= set(counts)
