"""Desks for tests: folders with files, people, and desks that serve on a thread."""

from __future__ import annotations

import asyncio
import contextlib
import html
import http.client
import json
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from glassine.desk import Desk, Person, create_desk
from glassine.desk.pages import environment
from glassine.desk.serving import run_desk
from glassine.errors import SHELL
from glassine.server.running import listen

RULES = "if [smoker] then [true] ([23 ; 41] examples)\nelse [false] ([520 ; 90] examples)\n"
SMALL_RULES = "if [smoker] then [true] ([1 ; 0] examples)\nelse [false] ([520 ; 90] examples)\n"

OKAFOR = Person(account="okafor", name="R. Okafor", role="checker")
BERG = Person(account="berg", name="S. Berg", role="checker")
LIND = Person(account="lind", name="M. Lind", role="analyst")


def within(check: Callable[[], Any], seconds: float = 90.0) -> Any:
    """Return what a check returns as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)
    return found


def look(desk: Desk, *, foreign: bool = False) -> None:
    """Have a desk see its folder, and pretend that its worker found every model within policy."""
    desk.scan()
    for file in list(desk.state.files.values()):
        if desk.audit(file.now) is None:
            from glassine.desk.form_values import digest_of

            desk.audited(
                file.id,
                file.now.sha256,
                {
                    "policy": "default",
                    "policy_sha256": desk.settings.policy_digest,
                    "answers": digest_of(file.now.inputs),
                    "verdict": "outside policy" if b"[1 ; 0]" in desk.folder.read(file.name, 1000) else "within policy",
                    "result": "0" * 64,
                    "foreign": foreign,
                },
            )


def bound(desk: Desk, name: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return the id of a file, and a request that is bound to its present version."""
    file = next(one for one in desk.state.files.values() if one.name == name)
    return file.id, {"sha256": file.now.sha256, "changed": file.now.changed, **more}


def approve(desk: Desk, name: str, **more: Any) -> None:
    """Vote for a file."""
    desk.refresh()
    identity, asked = bound(desk, name, decision="approve", **more)
    desk.vote(identity, asked)


MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>|SHA-256 <code>.*?</code>", re.DOTALL)
AGAIN = re.compile(r"[Ss]tart glassine desk again")
"""The one command that a page names: how to open it again."""


def of_a_shell(text: str) -> list[str]:
    """Return what of a page names an option or a command, or a parameter of a call."""
    lines = html.unescape(MARKUP.sub("\n", AGAIN.sub("", text))).splitlines()
    return [line.strip() for line in lines if SHELL.search(line) or re.search(r"`|\b\w+=(?=[,.)]|\s|$)", line)]


def listening_in(asgi: Any, heard: list[str]) -> Any:
    """Return an application that keeps what an answer for people says of a shell."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        kinds, body = [""], bytearray()

        async def heed(message: Any) -> None:
            if message["type"] == "http.response.start":
                kinds[0] = dict(message["headers"]).get(b"content-type", b"").decode()
            elif message["type"] == "http.response.body" and "icon" not in scope["path"]:
                body.extend(message.get("body", b""))
                if not message.get("more_body") and kinds[0].partition(";")[0] in READ:
                    heard.extend(of_a_shell(body.decode(errors="replace")))
            await send(message)

        await asgi(scope, receive, heed)

    return app


READ = ("text/html", "text/plain", "application/problem+json")
"""Answers that people read."""


class Served:
    """A desk that serves on a thread of this process; no answer of it may name what only a shell has."""

    def __init__(self, folder: Path, person: Person = OKAFOR) -> None:
        self.socket = listen("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        started = threading.Event()
        self.of_shells: list[str] = []

        async def main() -> None:
            self.app = create_desk(Desk(folder, person))
            self.app.asgi = listening_in(self.app.asgi, self.of_shells)
            self._loop = asyncio.get_running_loop()
            self._task = asyncio.create_task(run_desk(self.app, self.socket))
            started.set()
            await self._task
            self.contested = self.app.session.contested.is_set()

        def run() -> None:
            with contextlib.suppress(asyncio.CancelledError):
                asyncio.run(main())

        self.thread = threading.Thread(target=run)
        self.thread.start()
        assert started.wait(20)

    @property
    def address(self) -> str:
        """What the browser opens."""
        return f"{self.url}#code={self.app.session.code}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str, dict[str, str]]:
        """Return status, body and headers of an answer; the token goes along unless it is given."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers.setdefault("authorization", f"Bearer {self.app.session.token}")
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=90)
        try:
            connection.request(method, path, data, {name: value for name, value in headers.items() if value})
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace"), dict(answer.getheaders())
        finally:
            connection.close()

    def audited(self, *names: str) -> None:
        """Wait until these files were audited."""

        def done() -> bool:
            files = {file.name: file for file in list(self.app.desk.state.files.values())}
            return all(name in files and self.app.audits.result(files[name].now) for name in names)

        within(done)

    def stop(self) -> None:
        """Stop it and wait."""
        if self.thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self.thread.join(20)
        self.socket.close()
        assert self.of_shells == []


def render(record: Any) -> str:
    return environment().get_template("record_page.html").render(record=record)


SIGNED_FOR = {"recipient": "the ministry", "purpose": "a report", "looked": "1"}


def ready(desk: Desk) -> list[str]:
    return [f"{file.id}:{file.now.sha256}" for file in desk.ready()]
