"""Requests that ``glassine explain serve`` answers, on a release of the paper's data and network.

Run ``python benchmarks/service.py``; it trains a network first, for a minute or two (``--quick`` takes a small one).
The service is a process of its own; requests per second of its processor time are what one core bears. The second
table has the time of one client's requests, alone and beside a hostile one of another address: 1,200 connections whose
requests never end, opened again as they are closed, and requests as fast as they are answered.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import skops.io
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from glassine import SurrogateExplainer


def make(folder: Path, quick: bool, n_groups: int) -> np.ndarray:
    """Write a black box and its release; return records to ask about."""
    shape = {"n_features": 10, "n_informative": 5, "n_redundant": 3, "n_repeated": 2, "n_clusters_per_class": 4}
    X, y = make_classification(n_samples=30_000, random_state=42, **shape)
    train, test, labels, _ = train_test_split(X, y, test_size=0.33, random_state=42)
    layers, rounds = ((20,), 20) if quick else ((100, 100, 100), 100)
    network = MLPClassifier(layers, max_iter=rounds, alpha=1e-4, solver="sgd", random_state=21, tol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network.fit(train, labels)
    explainer = SurrogateExplainer(network, k=len(train) // n_groups).fit(train)
    explainer.release().to_json(folder / "release.json")
    skops.io.dump(network, folder / "network.skops")
    domain = explainer.release().domain
    return np.clip(test, [domain[name].lo for name in domain], [domain[name].hi for name in domain])


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(port: int, pid: int, path: str, records: np.ndarray) -> str:
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
    return f"| {path} | {len(records) / wall:.0f} | {len(records) / processor:.0f} |"


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


def patient(port: int, records: np.ndarray) -> str:
    """Ask as a client within its rate does, each request over a connection of its own; return times and statuses."""
    times, statuses = [], Counter[int]()
    for record in records:
        body = json.dumps({"query": {f"x{i}": value for i, value in enumerate(record.tolist())}})
        begun = time.perf_counter()
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request("POST", "/explanation", body, {"content-type": "application/json"})
            reply = connection.getresponse()
            reply.read()
        times.append(1000 * (time.perf_counter() - begun))
        statuses[reply.status] += 1
        time.sleep(0.12)
    half, most = np.percentile(times, [50, 99])
    told = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    return f"{half:.0f} | {most:.0f} | {told} |"


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


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small network, fewer requests")
    parser.add_argument("--groups", type=int, default=100, help="groups of the release")
    arguments = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = make(folder, arguments.quick, arguments.groups)[: 200 if arguments.quick else 3000]
        with service(folder, "--rate", "0", "--total-rate", "0") as (port, pid):
            sys.stdout.write("| request | per second | per second of the service's processor |\n|---|---|---|\n")
            for path in ("/explanation", "/decision"):
                sys.stdout.write(f"{measure(port, pid, path, records)}\n")
        with service(folder) as (port, _):
            sys.stdout.write("\n| client | median, ms | 99th percentile, ms | statuses |\n|---|---|---|---|\n")
            sys.stdout.write(f"| alone | {patient(port, records[:200])}\n")
            with hostile(port):
                sys.stdout.write(f"| beside a hostile one | {patient(port, records[:200])}\n")


if __name__ == "__main__":
    main()
