"""Who may ask the service, and as whom: addresses, names of the host, tokens, proxies."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import resource
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from glassine.errors import InvalidParameterError, UnreadableFileError
from glassine.server import Access, Limits, create_app, read_release, read_tokens
from glassine.server.access import Connections, networks_of
from tests.repo.code_blocks import ROOT
from tests.server.releases import QUERY, small_release

TOKEN = "0123456789abcdef" * 2


def scope(peer: str = "10.0.0.1", path: str = "/", **headers: str) -> dict[str, Any]:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "client": (peer, 1), "path": path, "headers": named}


def test_the_address_of_a_client_is_taken_from_a_trusted_proxy_alone() -> None:
    access = Access(trusted_proxies=("10.0.0.1", "192.168.0.0/16", "2001:db8::/32"))
    assert access.client(scope("10.0.0.1", x_forwarded_for="203.0.113.9")) == "203.0.113.9"
    assert access.client(scope("10.0.0.2", x_forwarded_for="203.0.113.9")) == "10.0.0.2"
    assert Access().client(scope("10.0.0.1", x_forwarded_for="203.0.113.9")) == "10.0.0.1"
    # What a client wrote itself stands before what its proxy added.
    assert access.client(scope("10.0.0.1", x_forwarded_for="1.1.1.1, 203.0.113.9")) == "203.0.113.9"
    assert access.client(scope("10.0.0.1", x_forwarded_for="1.1.1.1, 203.0.113.9, 192.168.3.4")) == "203.0.113.9"
    assert access.client(scope("10.0.0.1", x_forwarded_for="1.1.1.1, nonsense")) == "10.0.0.1"
    assert access.client(scope("10.0.0.1")) == "10.0.0.1"
    assert access.client(scope("::ffff:10.0.0.1", x_forwarded_for="2001:db9::5")) == "2001:db9::/64"
    assert access.client(scope("10.0.0.1", x_forwarded_for="192.168.1.1")) == "10.0.0.1"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("localhost", True),
        ("LOCALHOST:8000", True),
        ("localhost.", True),
        ("127.0.0.1:80", True),
        ("[::1]:8000", True),
        ("[::1]", True),
        ("explain.example.org", True),
        ("explain.example.org:443", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("evil.example:80@localhost", False),
        ("", False),
        ("127.0.0.1.evil.example", False),
    ],
)
def test_names_of_the_host_that_are_not_listed_are_refused(name: str, known: bool) -> None:
    access = Access(host_names=("explain.example.org",))
    assert access.knows_host(scope(host=name)) is known
    assert not access.knows_host(scope())
    assert not access.knows_host({"headers": [(b"host", b"localhost"), (b"host", b"evil.example")]})


def test_a_token_is_asked_for_on_all_routes_but_health() -> None:
    access = Access(tokens=(TOKEN, TOKEN[::-1]))
    assert access.admits(scope(authorization=f"Bearer {TOKEN}"))
    assert access.admits(scope(authorization=f"bearer {TOKEN[::-1]}"))
    assert access.admits(scope(path="/health"))
    for header in (f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "", TOKEN):
        assert not access.admits(scope(authorization=header))
    assert not access.admits(scope())
    assert Access().admits(scope())
    assert TOKEN not in repr(access)


@pytest.mark.parametrize(
    "wrong",
    [
        {"host_names": ("http://x",)},
        {"host_names": ("x:80",)},
        {"tokens": ("short",)},
        {"tokens": (f"{TOKEN}\n",)},
        {"trusted_proxies": ("proxy",)},
    ],
)
def test_what_gives_no_access(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(InvalidParameterError, match=name):
        Access(**wrong)


def test_tokens_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN}\n\n  {TOKEN[::-1]}\n")
    assert read_tokens(tmp_path / "tokens") == (TOKEN, TOKEN[::-1])
    (tmp_path / "tokens").write_text(f"{TOKEN}\nhunter2\n")
    with pytest.raises(UnreadableFileError, match=r"line 2 of .* is not a token") as refused:
        read_tokens(tmp_path / "tokens")
    assert "hunter2" not in str(refused.value)
    (tmp_path / "tokens").write_text("\n")
    with pytest.raises(UnreadableFileError, match="holds no token"):
        read_tokens(tmp_path / "tokens")


def test_connections_are_counted_by_address() -> None:
    open_ones = Connections(2, Access(trusted_proxies=("10.0.0.9",)))
    assert [open_ones.enter("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert open_ones.enter("10.0.0.2")
    assert [open_ones.enter("2001:db8::1"), open_ones.enter("2001:db8::2"), open_ones.enter("2001:db8::3")] == [
        True,
        True,
        False,
    ]
    open_ones.leave("10.0.0.1")
    assert [open_ones.enter("10.0.0.1"), open_ones.enter("10.0.0.1")] == [True, False]
    assert all(open_ones.enter("10.0.0.9") for _ in range(100))


@pytest.mark.slow
def test_every_route_of_the_service_is_behind_name_and_token(tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    small_release().to_json(tmp_path / "release.json")
    app = create_app(
        read_release(tmp_path / "release.json"), access=Access(tokens=(TOKEN,)), limits=Limits(rate=1e6, burst=1000)
    )
    client = TestClient(app, base_url="http://localhost")
    paths = [route.path for route in app.routes]
    assert {"/", "/release", "/health", "/explanation", "/openapi.json"} <= set(paths)
    for path in [*paths, "/absent"]:
        status = client.get(path).status_code
        assert status == (200 if path == "/health" else 401), path
        reply = client.get(path, headers={"authorization": f"Bearer {TOKEN}"})
        assert reply.status_code in ((404,) if path == "/absent" else (200, 405)), path
        assert client.get(path, headers={"host": "evil.example"}).status_code == 421
    assert client.get("/").headers["www-authenticate"] == "Bearer"
    assert client.get("/").json()["title"] == "Unauthorized"


# As a process.

Start = Callable[..., int]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the service and return its port; all are killed in the end."""
    small_release().to_json(tmp_path / "release.json")
    with ExitStack() as running:

        def begin(*options: str) -> int:
            command = [sys.executable, "-m", "glassine", "explain", "serve", "release.json", "--port", "0", *options]
            process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
            running.callback(process.communicate)
            running.callback(process.kill)
            assert process.stdout is not None
            found = re.search(r":(\d+)/\n", process.stdout.readline())
            assert found is not None
            return int(found[1])

        yield begin


def ask(port: int, source: str = "127.0.0.1", path: str = "/health", **headers: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=(source, 0))) as connection:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status


@pytest.mark.slow
def test_half_open_requests_of_one_client_leave_the_others_served(start: Start) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3000:
        pytest.skip(f"this machine allows {hard} open files, and 1,200 connections have two ends")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))
    port = start("--rate", "0", "--total-rate", "0")
    hostile: list[socket.socket] = []
    try:
        for _ in range(1200):
            one = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.2", 0), timeout=30)
            hostile.append(one)
            one.sendall(b"GET /health HTT")
        statuses, times = [], []
        for _ in range(50):
            begun = time.perf_counter()
            statuses.append(ask(port))
            times.append(time.perf_counter() - begun)
        assert statuses == [200] * 50
        # The one with too many connections is told so, on those that it may not have.
        assert hostile[-1].recv(4096).startswith(b"HTTP/1.1 429 ")
        # A quiet machine takes milliseconds; this bound holds on one that is shared.
        assert sorted(times)[45] < 2
    finally:
        for one in hostile:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_connections_that_are_closed_make_room(start: Start) -> None:
    port = start("--connections", "3")
    held = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(3)]
    assert ask(port) == 429
    for one in held:
        one.close()
    for _ in range(100):
        if ask(port) == 200:
            return
        time.sleep(0.05)
    pytest.fail("a closed connection is still counted")


@pytest.mark.slow
def test_rates_are_of_clients_behind_a_trusted_proxy(start: Start) -> None:
    port = start("--trusted-proxy", "127.0.0.1", "--rate", "0.001", "--burst", "2", "--connections", "1")
    one, other = ({"X-Forwarded-For": address} for address in ("203.0.113.1", "203.0.113.2"))
    assert [ask(port, **one) for _ in range(3)] == [200, 200, 429]
    assert ask(port, **other) == 200
    # Who is no trusted proxy has its own address, whatever it says.
    assert [ask(port, "127.0.0.3", **{"X-Forwarded-For": f"203.0.113.{i}"}) for i in range(3, 6)] == [200, 200, 429]


@pytest.mark.slow
def test_names_and_tokens_of_a_served_release(start: Start, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"{TOKEN}\n")
    port = start("--token-file", "tokens", "--host-name", "explain.example.org")
    assert ask(port) == 200
    assert ask(port, path="/release") == 401
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(port, path="/release", **bearer) == 200
    assert ask(port, path="/release", **bearer, Host="explain.example.org") == 200
    assert ask(port, path="/release", **bearer, Host=f"evil.example:{port}") == 421


# The reverse proxy of the docs.


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def proxy(start: Start, tmp_path: Path) -> Iterator[int]:
    """Start the service and the proxy before it as the docs say; return the proxy's port."""
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("needs nginx")
    page = (ROOT / "docs" / "how-to" / "serve-explanations.md").read_text()
    found = re.search(r"```nginx\n(.*?)```", page, flags=re.DOTALL)
    assert found is not None
    (tmp_path / "tokens").write_text(f"{TOKEN}\n")
    served = start("--token-file", "tokens", "--host-name", "explain.example.org", "--trusted-proxy", "127.0.0.1")
    key = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=explain.example.org"]
    key += ["-addext", "subjectAltName=DNS:explain.example.org", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(key, cwd=tmp_path, check=True, capture_output=True)
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", "a password"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.strip()
    (tmp_path / "users").write_text(f"anna:{hashed}\n")
    port, text = free_port(), found[1]
    for told, here in {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "127.0.0.1:8000": f"127.0.0.1:{served}",
        "/etc/nginx/explain/": f"{tmp_path}/",
        "THE-TOKEN-OF-THE-FILE": TOKEN,
    }.items():
        assert told in text, told
        text = text.replace(told, here)
    for name in ("body", "proxy", "fastcgi", "uwsgi", "scgi"):
        (tmp_path / name).mkdir()
    temporary = "client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; "
    temporary += "uwsgi_temp_path uwsgi; scgi_temp_path scgi; access_log off;"
    (tmp_path / "nginx.conf").write_text(
        # As root, nginx would give its workers to a user who may not read the folder of a test.
        f"{'user root; ' if os.geteuid() == 0 else ''}daemon off; pid nginx.pid; error_log error.log; events {{}}\n"
        f"http {{ {temporary}\n{text}\n}}\n"
    )
    process = subprocess.Popen([nginx, "-p", str(tmp_path), "-c", "nginx.conf", "-e", "error.log"])
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, (tmp_path / "error.log").read_text()
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.slow
def test_the_reverse_proxy_of_the_docs_encrypts_asks_who_and_tells_the_client(proxy: int, tmp_path: Path) -> None:
    context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    anna = {"Authorization": "Basic " + base64.b64encode(b"anna:a password").decode()}

    def through(method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPSConnection("127.0.0.1", proxy, context=context, timeout=30)
        raw = socket.create_connection(("127.0.0.1", proxy), timeout=30)
        connection.sock = context.wrap_socket(raw, server_hostname="explain.example.org")
        with closing(connection):
            text = None if body is None else json.dumps(body)
            named = {"Host": "explain.example.org", "content-type": "application/json", **headers}
            connection.request(method, path, text, named)
            reply = connection.getresponse()
            return reply.status, reply.read()

    assert through("GET", "/")[0] == 401
    assert through("GET", "/", Authorization=f"Bearer {TOKEN}")[0] == 401
    status, page = through("GET", "/", **anna)
    assert status == 200
    assert b"<html" in page
    asked = {"query": QUERY, "decision": "no"}
    status, answer = through("POST", "/explanation", asked, **anna)
    assert (status, json.loads(answer)["decision"]) == (200, "no")
    # What a client writes of its own address is not believed: all of these count for one.
    statuses = [through("GET", "/health", **anna, **{"X-Forwarded-For": f"203.0.113.{i}"})[0] for i in range(60)]
    assert 429 in statuses


def test_ipv6_is_counted_at_several_lengths() -> None:
    assert networks_of("2001:db8:0:1::1") == {"2001:db8:0:1::/64": 1, "2001:db8::/56": 4, "2001:db8::/48": 16}
    assert networks_of("10.1.2.3") == {"10.1.2.3": 1, "10.1.2.0/24": 16}
    assert networks_of("unix") == {"unix": 1}
    # A customer with a network of 56 bits has 256 of 64 bits, and four clients' connections.
    open_ones = Connections(2, Access())
    assert sum(open_ones.enter(f"2001:db8:0:{number:x}::1") for number in range(256)) == 8


def test_when_all_places_are_taken_the_oldest_that_is_silent_is_closed() -> None:
    closed: list[int] = []
    open_ones = Connections(64, Access(), places=3)
    for number in range(3):
        assert open_ones.enter(f"10.0.{number}.1")
        open_ones.wait(number, lambda number=number: closed.append(number))  # type: ignore[misc]
    open_ones.ask(0)  # its request is under way
    for number in (3, 4):
        assert open_ones.enter(f"10.0.{number}.1")
        open_ones.wait(number, lambda number=number: closed.append(number))  # type: ignore[misc]
    assert closed == [1, 2]
    for number in (1, 2):
        open_ones.leave(f"10.0.{number}.1")
    # Silent ones go before those that are idle after an answer.
    open_ones.wait(0, lambda: closed.append(0), answered=True)
    assert open_ones.enter("10.0.5.1")
    open_ones.wait(5, lambda: closed.append(5))
    assert closed == [1, 2, 3]
