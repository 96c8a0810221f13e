"""Requests that ``glassine explain serve`` answers: ``python benchmarks/service.py [--page]``.

A row of ``service.csv`` is a kind of request, or a client, on a release of the paper's data and a small network. The
service is a process of its own; requests per second of its processor time are what one core bears. A client has the
times of its requests, alone and beside a hostile one of another address: 1,200 connections whose requests never end,
opened again as they are closed, and requests as fast as they are answered. The checker of a desk asks beside the same.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from glassine.surrogates import SurrogateExplainer  # noqa: E402
from papers.common.results import Row, one  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

PATHS, ALONE, BESIDE = ("/explanation", "/decision"), "a client alone", "a client beside a hostile one"
SILENT, FLOOD = "2 a second beside silent connections", "2 a second beside a flood of 450 addresses"
OF_DESK = {what: f"desk, {what}" for what in (BESIDE, SILENT, FLOOD)}
KEYS = [{"what": what} for what in (*PATHS, ALONE, BESIDE, SILENT, FLOOD, *OF_DESK.values())]
SILENT_ADDRESSES, SILENT_EACH, FLOODING = 17, 62, 450
GROUPS, REQUESTS = 100, 200
EMPTY = dict.fromkeys(("per second", "per CPU second", "median ms", "p99 ms", "statuses"))


def make(folder: Path) -> np.ndarray:
    """Write a black box and its release; return records to ask about."""
    shape = {"n_features": 10, "n_informative": 5, "n_redundant": 3, "n_repeated": 2, "n_clusters_per_class": 4}
    X, y = make_classification(n_samples=30_000, random_state=42, **shape)
    train, test, labels, _ = train_test_split(X, y, test_size=0.33, random_state=42)
    network = MLPClassifier((20,), max_iter=20, alpha=1e-4, solver="sgd", random_state=21, tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(train, labels)
    explainer = SurrogateExplainer(network, k=len(train) // GROUPS, goal=None).fit(train)
    explainer.release().to_json(folder / "release.json")
    skops.io.dump(network, folder / "network.skops")
    domain = explainer.release().domain
    numbers: list[Any] = [domain[name] for name in domain]
    return np.asarray(np.clip(test, [number.lo for number in numbers], [number.hi for number in numbers]))


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked(port: int, pid: int, path: str, records: np.ndarray) -> dict[str, object]:
    """Ask one request after the other over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(record: np.ndarray) -> None:
        body = json.dumps({"query": {f"x{i}": value for i, value in enumerate(record.tolist())}})
        connection.request("POST", path, body, {"content-type": "application/json"})
        reply = connection.getresponse()
        content = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"{reply.status}: {content.decode()}")

    for record in records[:20]:
        ask(record)
    started, spent = time.perf_counter(), processor_seconds(pid)
    for record in records:
        ask(record)
    wall, processor = time.perf_counter() - started, processor_seconds(pid) - spent
    return {"per second": len(records) / wall, "per CPU second": len(records) / processor}


HALF_OPEN = 1200
"""Connections that the hostile client tries to hold."""


@contextmanager
def hostile(port: int) -> Iterator[None]:
    """Hold half-open requests from another address, and ask without pause, until the block is done."""
    stop = threading.Event()

    def connect() -> socket.socket | None:
        with suppress(OSError):
            one = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=("127.0.0.2", 0))
            one.sendall(b"POST /explanation HTTP/1.1\r\nHost: local")
            return one
        return None

    def hold() -> None:
        held: list[socket.socket | None] = []
        while not stop.is_set():
            held += [connect() for _ in range(min(50, HALF_OPEN - len(held)))]
            if len(held) == HALF_OPEN:
                # The oldest were closed by the service, or will be: they are opened anew.
                for one in held[:50]:
                    if one is not None:
                        one.close()
                del held[:50]
            stop.wait(0.05)
        for one in held:
            if one is not None:
                one.close()

    def flood() -> None:
        while not stop.is_set():
            with suppress(OSError, http.client.HTTPException):
                source = ("127.0.0.2", 0)
                with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5, source_address=source)) as one:
                    one.request("POST", "/explanation", b"{" * 1000, {"content-type": "application/json"})
                    one.getresponse().read()

    threads = [threading.Thread(target=hold, daemon=True), threading.Thread(target=flood, daemon=True)]
    for thread in threads:
        thread.start()
    # Long enough for all of its connections to be there.
    time.sleep(5)
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def address(number: int) -> tuple[str, int]:
    """Return one of many addresses of the loopback."""
    return f"127.0.{1 + number // 200}.{1 + number % 200}", 0


@contextmanager
def silent(port: int) -> Iterator[None]:
    """Hold connections that ask nothing, from several addresses, and open anew those that are closed."""
    stop = threading.Event()

    def hold() -> None:
        held: list[tuple[int, socket.socket]] = []
        while not stop.is_set():
            counts = Counter(number for number, _ in held)
            for number in range(SILENT_ADDRESSES):
                for _ in range(SILENT_EACH - counts[number]):
                    with suppress(OSError):
                        source = address(number)
                        held.append((number, socket.create_connection(("127.0.0.1", port), 5, source_address=source)))
            stop.wait(0.1)
            for pair in list(held):
                pair[1].setblocking(False)
                with suppress(BlockingIOError):
                    gone = b""
                    with suppress(ConnectionError):
                        gone = pair[1].recv(4096)
                    if not gone:
                        pair[1].close()
                        held.remove(pair)
        for _, connection in held:
            connection.close()

    yield from _beside([hold], stop)


@contextmanager
def flooded(port: int) -> Iterator[None]:
    """Ask without pause from many addresses, each in its turn."""
    stop = threading.Event()
    query = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    def flood(part: int) -> None:
        number = part
        while not stop.is_set():
            number = (number + 8) % FLOODING
            with (
                suppress(OSError),
                closing(socket.create_connection(("127.0.0.1", port), 5, source_address=address(number))) as connection,
            ):
                connection.sendall(query)
                connection.recv(4096)

    yield from _beside([partial(flood, part) for part in range(8)], stop)


def _beside(tasks: Sequence[Callable[[], None]], stop: threading.Event) -> Iterator[None]:
    threads = [threading.Thread(target=task, daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    time.sleep(5)
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


Ask = tuple[str, str, str | None, dict[str, str]]
"""A request: method, path, body and headers."""


def queries(records: np.ndarray) -> list[Ask]:
    """Return the requests of a client that asks about records."""
    bodies = [json.dumps({"query": {f"x{i}": value for i, value in enumerate(one.tolist())}}) for one in records]
    return [("POST", "/explanation", body, {"content-type": "application/json"}) for body in bodies]


def patient(port: int, asks: Sequence[Ask], pause: float = 0.12) -> dict[str, object]:
    """Ask as a client within its rate does, each request over a connection of its own; return times and statuses."""
    times, statuses = [], Counter[int]()
    for ask in asks:
        begun = time.perf_counter()
        status = 0  # of a connection that is closed without an answer
        with (
            suppress(OSError, http.client.HTTPException),
            closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection,
        ):
            connection.request(*ask)
            reply = connection.getresponse()
            reply.read()
            status = reply.status
        times.append(1000 * (time.perf_counter() - begun))
        statuses[status] += 1
        time.sleep(pause)
    half, most = np.percentile(times, [50, 99])
    answered = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    return {"median ms": float(half), "p99 ms": float(most), "statuses": answered}


@contextmanager
def service(folder: Path, *options: str) -> Iterator[tuple[int, int]]:
    """Start the service, and return its port and process."""
    command = [sys.executable, "-m", "glassine", "explain", "serve", "release.json", "--black-box", "network.skops"]
    command += ["--takes", "array", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - the command is ours
        try:
            found = re.search(r":(\d+)/", process.stdout.readline() if process.stdout else "")
            if found is None:
                raise RuntimeError("the service did not start")
            yield int(found[1]), process.pid
        finally:
            process.kill()


@contextmanager
def desk() -> Iterator[tuple[int, list[Ask]]]:
    """Open a desk on an empty folder, and return its port and what the page of its checker asks for."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "glassine", "desk", folder, "--no-open-browser"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - the command is ours
            try:
                said = re.search(r":(\d+)/#code=(\S+)", process.stderr.readline() if process.stderr else "")
                if said is None:
                    raise RuntimeError("the desk did not start")
                port, code = int(said[1]), said[2]
                with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
                    headers = {"content-type": "application/json", "origin": f"http://127.0.0.1:{port}"}
                    connection.request("POST", "/session", json.dumps({"code": code}), headers)
                    token = json.loads(connection.getresponse().read())["token"]
                yield port, [("GET", "/api/desk", None, {"authorization": f"Bearer {token}"})]
            finally:
                process.kill()


@cache
def everything() -> dict[str, dict[str, object]]:
    """Return the figures of every row."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = make(folder)[:REQUESTS]
        with service(folder, "--rate", "0", "--total-rate", "0") as (port, pid):
            found = {path: asked(port, pid, path, records) for path in PATHS}
        with service(folder) as (port, _):
            found[ALONE] = patient(port, queries(records))
            with hostile(port):
                found[BESIDE] = patient(port, queries(records))
        for what, beside in ((SILENT, silent), (FLOOD, flooded)):
            with service(folder) as (port, _), beside(port):
                found[what] = patient(port, queries(records[:60]), pause=0.5)
    for what, beside in ((BESIDE, hostile), (SILENT, silent), (FLOOD, flooded)):
        with desk() as (port, asks), beside(port):
            found[OF_DESK[what]] = patient(port, asks * 60, pause=0.5)
    return found


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of one row."""
    return {**EMPTY, **everything()[key["what"]]}


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""

    def figure(what: str, name: str) -> float:
        return float(one(rows, what=what)[name])

    speeds = [f"{float(format(figure(path, 'per CPU second'), '.2g')):,.0f}" for path in PATHS]
    alone, beside = (f"{figure(what, 'p99 ms'):.0f} ms" for what in (ALONE, BESIDE))
    lines = [
        ["explanations per second of CPU", speeds[0]],
        ["decisions per second of CPU", speeds[1]],
        [
            f"p99 of a client beside one that opens {HALF_OPEN:,} half-open requests",
            f"{beside} ({alone} alone)",
        ],
    ]
    return {"service": markdown(["", ""], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
