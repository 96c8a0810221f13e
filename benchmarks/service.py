"""Requests that ``glassine explain serve`` answers, on a release of the paper's data and network.

Run ``python benchmarks/service.py``; it trains a network first, for a minute or two (``--quick`` takes a small one).
The service is a process of its own; requests a second of its processor time are what one core bears.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
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


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small network, fewer requests")
    parser.add_argument("--groups", type=int, default=100, help="groups of the release")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = make(folder, arguments.quick, arguments.groups)[: 200 if arguments.quick else 3000]
        command = [sys.executable, "-m", "glassine", "serve", "release.json", "--black-box", "network.skops"]
        command += ["--takes", "array", "--port", "0", "--rate", "0", "--total-rate", "0"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - the command is ours
            try:
                found = re.search(r":(\d+)/", process.stdout.readline() if process.stdout else "")
                if found is None:
                    raise RuntimeError("the service did not start")
                sys.stdout.write("| request | a second | a second of the service's processor |\n|---|---|---|\n")
                for path in ("/explanation", "/decision"):
                    sys.stdout.write(f"{measure(int(found[1]), process.pid, path, records)}\n")
            finally:
                process.kill()


if __name__ == "__main__":
    main()
