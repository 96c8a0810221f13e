"""The service as a process: started from the command line, killed, started again."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from glassine.errors import GlassineError, InvalidParameterError
from glassine.server import listen, make_keys, run, sign_release
from glassine.server import protocol as patience
from glassine.server.running import configured
from tests.cli.running import one_after_another
from tests.server.releases import QUERY, small_release

BOX = """
def decide(frame):
    return ["yes" if age > 50 else "no" for age in frame["age"]]
"""

Start = Callable[..., tuple[subprocess.Popen[str], int]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_release().to_json(tmp_path / "release.json")
    make_keys(tmp_path / "private.pem", tmp_path / "public.pem")
    sign_release(tmp_path / "release.json", tmp_path / "private.pem", tmp_path / "signed.json")
    (tmp_path / "box.py").write_text(textwrap.dedent(BOX))
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start the service and return its process and port; all are killed in the end."""
    running: list[subprocess.Popen[str]] = []

    def begin(*options: str, port: int = 0) -> tuple[subprocess.Popen[str], int]:
        command = [sys.executable, "-m", "glassine", "explain", "serve", "signed.json", "--port", str(port), *options]
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        running.append(process)
        assert process.stdout is not None
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\n", process.stdout.readline())
        assert found is not None
        return process, int(found[1])

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def ask(port: int, path: str, value: Any) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request("POST", path, json.dumps(value), {"content-type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


@pytest.mark.slow
def test_killed_and_restarted_without_loss(start: Start) -> None:
    options = ("--black-box", "box:decide", "--takes", "pandas", "--public-key", "public.pem")
    process, port = start(*options)
    before = [ask(port, "/explanation", {"query": {**QUERY, "age": age}}) for age in range(20, 90, 10)]
    assert [status for status, _ in before] == [200] * len(before)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _, again = start(*options, port=port)
    assert again == port
    assert [ask(port, "/explanation", {"query": {**QUERY, "age": age}}) for age in range(20, 90, 10)] == before


@pytest.mark.slow
def test_a_slow_client_does_not_stop_others(start: Start) -> None:
    process, port = start()
    with socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"POST /explanation HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        assert ask(port, "/explanation", {"query": QUERY, "decision": "no"})[0] == 200
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) in (0, 143, -signal.SIGTERM)
    assert process.stderr is not None
    # Nothing that was asked is written anywhere.
    assert "private" not in process.stderr.read()


@pytest.fixture
def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., str]]:
    """Give what asks for a service that is refused, in this process, and returns what is said."""
    with one_after_another() as command:

        def ask_for(*options: str) -> str:
            capsys.readouterr()
            status = command("explain", "serve", *options, cwd=folder)
            printed = capsys.readouterr()
            assert (status, printed.out) == (2, "")
            assert printed.err.count("\n") == 1, printed.err
            return printed.err

        yield ask_for


@pytest.mark.slow
def test_what_cannot_be_served(folder: Path, refused: Callable[..., str]) -> None:
    (folder / "bad.json").write_text((folder / "signed.json").read_text().replace("age", "Age", 1))
    (folder / "broken.py").write_text("raise RuntimeError('secret')")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "Address already in use" in refused("signed.json", "--port", port)
    assert "does not hold" in refused("bad.json")
    assert "is not signed" in refused("release.json", "--public-key", "public.pem")
    assert "No such file" in refused("absent.json")
    assert "No such file" in refused("signed.json", "--black-box", "absent.onnx")
    assert "has no nothing" in refused("signed.json", "--black-box", "box:nothing")
    told = refused("signed.json", "--black-box", "broken:decide")
    assert "RuntimeError" in told
    assert "secret" not in told
    assert "--takes" in refused("signed.json", "--takes", "numpy")
    assert "--rate" in refused("signed.json", "--rate", "-1")
    assert "--burst" in refused("signed.json", "--burst", "0")
    assert "--port" in refused("signed.json", "--port", "70000")


def test_listening() -> None:
    with listen("127.0.0.1", 0) as one:
        port = one.getsockname()[1]
        with pytest.raises(GlassineError, match="cannot listen"):
            listen("127.0.0.1", port)
    with pytest.raises(GlassineError, match="cannot listen"):
        listen("no.such.host.invalid", 0)
    with pytest.raises(InvalidParameterError, match="port"):
        listen("127.0.0.1", 65_536)


class Wire:
    """What a protocol writes to, instead of a socket."""

    def __init__(self) -> None:
        self.closed = self.aborted = False
        self.sent = b""

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name)

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def on_wire(monkeypatch: pytest.MonkeyPatch, talk: Callable[[Any, Wire], Awaitable[None]]) -> Wire:
    """Let a client talk to the protocol of the service, whose times are short."""
    import uvicorn
    from uvicorn.server import ServerState

    monkeypatch.setattr(patience, "HEAD_SECONDS", 0.05)
    monkeypatch.setattr(patience, "SEND_SECONDS", 0.05)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = await receive()
        assert body["type"] == "http.request"
        await asyncio.sleep(0.1)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    wire = Wire()

    async def run() -> None:
        config = uvicorn.Config(app, lifespan="off", ws="none", log_level="error", timeout_keep_alive=60)
        protocol = patience.PatientProtocol(config=config, server_state=ServerState(), app_state={})
        protocol.connection_made(wire)
        await talk(protocol, wire)
        protocol.connection_lost(None)

    asyncio.run(run())
    return wire


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("first", [b"", b"GET / HT"])
def test_who_does_not_finish_asking_is_put_out(monkeypatch: pytest.MonkeyPatch, first: bytes) -> None:
    async def talk(protocol: Any, wire: Wire) -> None:
        for byte in first + b"TTTTTTTTTTTT":
            protocol.data_received(bytes([byte]))
            await asyncio.sleep(0.01)
            if wire.closed:
                return

    assert on_wire(monkeypatch, talk).closed


def test_who_asks_is_answered_and_may_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(protocol: Any, wire: Wire) -> None:
        for count in (1, 2):
            protocol.data_received(HEAD[:10])
            protocol.data_received(HEAD[10:])
            await asyncio.sleep(0.2)
            assert wire.sent.count(b"ok") == count
        # An answered connection is idle, which is the matter of another clock; a second head is not renewed by bytes.
        assert not wire.closed
        protocol.data_received(HEAD[:10])
        await asyncio.sleep(0.1)
        assert wire.closed

    on_wire(monkeypatch, talk)


def test_who_does_not_read_is_put_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(protocol: Any, wire: Wire) -> None:
        protocol.pause_writing()
        protocol.resume_writing()
        await asyncio.sleep(0.03)
        assert not wire.aborted
        protocol.pause_writing()
        await asyncio.sleep(0.1)
        assert wire.aborted

    on_wire(monkeypatch, talk)


def test_the_service_speaks_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    seen: list[Any] = []
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: seen.append(self.config))
    with listen("127.0.0.1", 0) as listening:
        run(lambda: None, listening)
    assert issubclass(seen[0].http, patience.PatientProtocol)
    assert seen[0].access_log is False


def test_handlers_of_the_process_that_serves_stay_as_they_are() -> None:
    # Some handlers close their stream when another program configures logging, which can be a standard one.
    closed: list[bool] = []

    class Handler(logging.StreamHandler[StringIO]):
        def close(self) -> None:
            closed.append(True)
            super().close()

    handler = Handler(StringIO())
    configured(None)
    assert not closed
    handler.close()
    assert closed
