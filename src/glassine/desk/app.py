"""The desk over HTTP: an empty shell, fragments of pages for who has the token, and actions."""

from __future__ import annotations

import asyncio
import errno
import hmac
import json
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from typing import Any

from glassine.desk.auditing import Audits
from glassine.desk.desk import Desk
from glassine.desk.documents import Documents
from glassine.desk.folder import LARGEST_MODEL, LARGEST_RECORDS, RECORDS
from glassine.desk.form_values import digest_of
from glassine.desk.pages import clean
from glassine.desk.releasing import record_of, release, sign
from glassine.desk.screens import Screens
from glassine.desk.workbench import Workbench
from glassine.errors import PLAIN, DeskError, GlassineError, LogError, RefusedActionError, installed
from glassine.server.access import Access
from glassine.server.request_limits import Gate, Limits, problem

CODE_SECONDS = 60.0
"""Seconds in which the code of the address must be used."""
TICKET_SECONDS = 30.0
"""Seconds in which a ticket must be used, once."""
SCAN_SECONDS = 0.15
"""Seconds between two looks at the folder."""
JOB_SECONDS = 1.0
"""Seconds after which a job is listed as running."""
MOST_TICKETS = 200
LARGEST_BODY = 1 << 20
BEGIN_SENTENCES = {"a", "an", "the", "this", "there", "no", "only", "you", "training", "choose", "classes"}
"""Words that a refusal may begin with, and that a page writes with a capital; names stay as they are."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the shell may load: nothing from elsewhere, and no code or style inside the page."""
ASSETS = {
    "desk.js": "text/javascript; charset=utf-8",
    "workbench.js": "text/javascript; charset=utf-8",
    "desk.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class Session:
    """The one-time code that starts a session, and the token that it gives."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.code = secrets.token_urlsafe(24)
        self.token = secrets.token_urlsafe(32)
        self._clock = clock
        self._until = clock() + CODE_SECONDS
        self._used = False
        self.contested = asyncio.Event()  # Set when the code was used twice: another person was faster

    def start(self, code: str) -> str | None:
        """Return the token for the code, once and in time."""
        right = hmac.compare_digest(code.encode(errors="replace"), self.code.encode())
        if right and self._used:
            self.contested.set()
        if not right or self._used or self._clock() > self._until:
            return None
        self._used = True
        return self.token


class Tickets:
    """Addresses of reports and downloads that work once: frames and downloads send no token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[str, tuple[float, bytes, dict[str, str]]] = {}

    def issue(self, content: bytes, headers: dict[str, str]) -> str:
        """Return a ticket for an answer."""
        now = self._clock()
        self._open = {name: one for name, one in self._open.items() if one[0] > now}
        while len(self._open) >= MOST_TICKETS:
            self._open.pop(next(iter(self._open)))
        name = secrets.token_urlsafe(24)
        self._open[name] = (now + TICKET_SECONDS, content, headers)
        return name

    def redeem(self, name: str) -> tuple[bytes, dict[str, str]] | None:
        """Return the answer of a ticket, and void it."""
        until, content, headers = self._open.pop(name, (-math.inf, b"", {}))
        return (content, headers) if until > self._clock() else None


class DeskApp:
    """What a desk answers; :attr:`asgi` is the application, behind its gate.

    Parameters
    ----------
    desk : Desk
        The desk.
    workers : int
        Workers at a time.
    """

    def __init__(self, desk: Desk, workers: int = 2) -> None:
        installed("starlette", "the desk needs", "desk")
        from starlette.applications import Starlette
        from starlette.routing import Route

        self.desk = desk
        self.session = Session()
        self.tickets = Tickets()
        self.audits = Audits(desk, workers)
        self.workbench = Workbench(desk, self.audits)
        self.screens = Screens(desk, self.audits, self.workbench)
        self.documents = Documents(desk, self.audits, self.workbench, self.screens.of)
        self.fault = ""
        shell = self.screens.shell().encode()

        async def home(request: Any) -> Any:
            return _answer(shell, "text/html; charset=utf-8", {"content-security-policy": POLICY})

        routes = [
            Route("/", home, methods=["GET"]),
            Route("/assets/{name}", self._asset, methods=["GET"]),
            Route("/session", self._begin, methods=["POST"]),
            Route("/t/{ticket}", self._redeem, methods=["GET"]),
            Route("/api/desk", self._pulse, methods=["GET"]),
            Route("/api/jobs", self._jobs, methods=["GET"]),
            Route("/api/jobs/{number:int}", self._end, methods=["DELETE"]),
            Route("/api/files/{name}", self._upload, methods=["PUT"]),
            Route("/api/{path:path}", self._fragment, methods=["GET"]),
            Route("/api/{path:path}", self._act, methods=["POST"]),
        ]
        app = Starlette(routes=routes)
        app.router.redirect_slashes = False  # An address is one of these, or none
        access = Access(tokens=(self.session.token,), open_paths=("/", "/session", "/assets/", "/t/"), same_origin=True)
        limits = Limits(rate=math.inf, total_rate=math.inf, max_bytes=LARGEST_BODY)
        self.asgi = Gate(app, limits, access, streamed={"/api/files/": LARGEST_RECORDS})
        self.limits, self.access = limits, access

    async def watch(self) -> None:
        """Look at the folder again and again, and have new versions audited, until cancelled."""
        while True:
            try:
                await asyncio.to_thread(self._look)
                self.audits.start()
                await self.workbench.trainings.resume()
                self.fault = ""
            except LogError as error:
                self.fault = PLAIN.spelled(error.text)
            except OSError as error:
                self.fault = _gone(error)
            except Exception as error:
                # A watch that ended would show every later file as if it had not come.
                self.fault = f"The desk cannot look at its folder: {type(error).__name__}: {error}"
            await asyncio.sleep(SCAN_SECONDS)

    def _look(self) -> None:
        self.desk.refresh()
        self.desk.scan()

    # Routes that need no token

    async def _asset(self, request: Any) -> Any:
        name = request.path_params["name"]
        if name == "report.css":
            return _answer(files("glassine.report").joinpath("templates", name).read_bytes(), ASSETS["desk.css"])
        if name not in ASSETS:
            return _problem(404, "Not found", "There is no such file.")
        return _answer(files("glassine.desk").joinpath("assets", name).read_bytes(), ASSETS[name])

    async def _begin(self, request: Any) -> Any:
        asked = await _json(request)
        token = self.session.start(str(asked.get("code", "")))
        if token is None:
            detail = "This address was used, or is too old. Start glassine desk again."
            return _problem(401, "No session", detail)
        return _plain({"token": token})

    async def _redeem(self, request: Any) -> Any:
        issued = self.tickets.redeem(request.path_params["ticket"])
        if issued is None:
            return _problem(404, "Not found", "This address worked once. Open the report again.")
        content, headers = issued
        return _answer(content, headers.pop("content-type"), headers)

    # Routes behind the token

    async def _pulse(self, request: Any) -> Any:
        """Say what changes: pages ask every second, and load again when it did."""
        return _plain(
            {
                "head": f"{self.desk.head[:16]}-{len(self.desk.present())}-{self.workbench.version}"
                f"-{digest_of([self.desk.left_out, self.desk.resettled])[:8]}",
                "waiting": self.audits.n_waiting,
                "fault": self.fault,
                "jobs": self._running(),
            }
        )

    def _running(self) -> list[dict[str, Any]]:
        """Return the jobs that have been running for a moment: shorter ones are over before a press reaches them."""
        now = asyncio.get_running_loop().time()
        return [
            {"id": number, "said": clean(job.said)}
            for number, job in self.audits.workers.running.items()
            if now - job.began > JOB_SECONDS
        ]

    async def _jobs(self, request: Any) -> Any:
        return _plain(self._running())

    async def _end(self, request: Any) -> Any:
        if not self.audits.workers.end(request.path_params["number"]):
            return _problem(404, "Not found", "This job has ended.")
        return _plain({})

    async def _fragment(self, request: Any) -> Any:
        path = request.path_params["path"]
        return await self._refusing(lambda: self._show(path, request.query_params))

    async def _show(self, path: str, query: Any) -> Any:
        first, _, rest = path.partition("/")
        name, _, more = rest.partition("/")
        if first == "files" and more == "text":
            return _html(await self.screens.text(name))
        if first == "files" and more == "together":
            return _html(await self.screens.together(name))
        if first == "files" and more == "certificate":
            return _html(await self.screens.certificate(name))
        if first == "files" and more == "trial":
            return _html(await self.screens.trial(name))
        if first == "record" and query.get("audience") in ("public", "checkers"):
            private = self.desk.person.role == "checker" and query["audience"] == "checkers"
            return _plain(record_of(self.desk.state, self.desk, "checkers" if private else "public"))
        screen = self.screens.screen(first, name)
        return _problem(404, "Not found", "There is no such page.") if screen is None else _html(screen)

    async def _act(self, request: Any) -> Any:
        path, asked = request.path_params["path"], await _json(request)
        return await self._refusing(lambda: self._do(path, asked))

    async def _do(self, path: str, asked: dict[str, Any]) -> Any:
        desk, parts = self.desk, path.split("/")
        actions = {"vote": desk.vote, "ask": desk.ask, "answer": desk.answer, "turn": desk.turn}
        actions["remark"] = desk.remark
        if len(parts) == 3 and parts[0] == "files" and parts[2] in actions:
            actions[parts[2]](parts[1], asked)
        elif len(parts) == 3 and parts[0] == "files" and parts[2] == "accept":
            await self.screens.accept(parts[1], asked)
        elif len(parts) == 3 and parts[0] == "files" and parts[2] == "trial":
            return _html(await self.screens.trial(parts[1], asked))
        elif path == "signoff":
            number = sign(desk, asked)
            return _plain({"folder": release(desk, number, self.screens.record_page).name})
        elif path == "release":
            signing = str(asked.get("signing", ""))
            if not (signing.isascii() and signing.isdigit() and len(signing) < 10):
                raise RefusedActionError("signing must be the number of a sign-off.", field="signing")
            return _plain({"folder": release(desk, int(signing), self.screens.record_page).name})
        elif path == "audit":
            self.audits.again(asked)
        elif path == "tickets":
            content, headers = await self.documents.document(asked)
            return _plain({"ticket": self.tickets.issue(content, headers)})
        elif parts[0] == "work":
            return _plain(await self.workbench.act("/".join(parts[1:]), asked))
        else:
            return _problem(404, "Not found", "There is no such action.")
        return _plain({})

    async def _upload(self, request: Any) -> Any:
        name = request.path_params["name"]
        most = LARGEST_RECORDS if name.lower().endswith(RECORDS) else LARGEST_MODEL

        from starlette.requests import ClientDisconnect

        async def limited() -> AsyncIterator[bytes]:
            size = 0
            try:
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise RefusedActionError(f"a model has at most {most:,} bytes.")
                    yield part
            except ClientDisconnect:
                raise RefusedActionError("the file did not come whole, and was not kept.") from None

        async def receive() -> Any:
            await self.desk.folder.receive(name, limited())
            return _plain({"name": name})

        return await self._refusing(receive)

    async def _refusing(self, make: Callable[[], Awaitable[Any]]) -> Any:
        """Return the answer, or what the rules of the desk say against it."""
        try:
            return await make()
        except RefusedActionError as error:
            detail = PLAIN.spelled(error.text)
            if detail.partition(" ")[0] in BEGIN_SENTENCES:
                detail = detail[0].upper() + detail[1:]
            body = {"title": "Refused", "detail": detail, "field": error.field}
            return _answer(json.dumps(body).encode(), "application/problem+json", status=409 if error.stale else 422)
        except (DeskError, LogError) as error:
            return _problem(503, "Not possible", PLAIN.spelled(error.text))
        except GlassineError as error:
            return _problem(422, "Not possible", PLAIN.spelled(error.text))
        except OSError as error:
            return _problem(503, "Not possible", _gone(error))


def create_desk(desk: Desk, *, workers: int = 2) -> DeskApp:
    """Return a desk as an application, with its session and its watch over the folder.

    Parameters
    ----------
    desk : Desk
        The desk.
    workers : int, default=2
        Workers that audit at a time.

    Raises
    ------
    GlassineError
        If the packages of the extra ``desk`` are not installed.
    """
    return DeskApp(desk, workers)


def _gone(error: OSError) -> str:
    """Return in words that the folder was moved, unmounted, full, or made unreadable while the desk is open."""
    until = "there is room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "the folder is back"
    return f"The desk cannot use its folder: {error.strerror or error}. It goes on as soon as {until}."


async def _json(request: Any) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        value = json.loads(await request.body())
        if isinstance(value, dict):
            return value
    return {}


def _answer(content: bytes, kind: str, headers: dict[str, str] | None = None, status: int = 200) -> Any:
    from starlette.responses import Response

    return Response(content, status, headers, kind)


def _html(text: str) -> Any:
    return _answer(text.encode(errors="replace"), "text/html; charset=utf-8")


def _plain(value: object) -> Any:
    return _answer(json.dumps(value).encode(), "application/json")


def _problem(status: int, title: str, detail: str) -> Any:
    return _answer(problem(status, title, detail), "application/problem+json", status=status)
