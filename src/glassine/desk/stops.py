"""The stops of the reveal-less slider, in a worker: distinct scrubbed copies, each audited without records."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from glassine.auditing.api import audit
from glassine.auditing.policy import NAMED, Policy
from glassine.domain import Domain
from glassine.errors import GlassineError
from glassine.files import read_once, write_json
from glassine.formats import load_file
from glassine.formats.canonical import written
from glassine.formats.registry import writer
from glassine.scrubbing.scrub import scrub

LEAVES = (0, 2, 5, 10, 20, 50, 100, 200)
COUNTS: tuple[Literal["keep", "coarsen", "remove"], ...] = ("keep", "coarsen", "remove")
"""With the model as trained, 25 settings."""


def main() -> None:
    """Print a line of JSON for each stop; arguments: the model, its domain, and a policy, a TOML file or a name."""
    model, domain, limits = sys.argv[1:]
    for stop in stops(Path(model), domain, limits):
        sys.stdout.write(json.dumps(stop) + "\n")
        sys.stdout.flush()


def stops(path: Path, domain_path: str, limits: str) -> Iterator[dict[str, Any]]:
    """Yield the distinct copies of a model, first itself; each is written as ``stop-N.json``."""
    file, domain = read_once(path), Domain.read(domain_path)
    policy = NAMED[limits].policy if limits in NAMED else Policy.from_toml(limits)
    model = load_file(file, domain).model
    seen: set[bytes] = set()
    settings: list[tuple[int, Literal["keep", "coarsen", "remove"]]] = [
        (-1, "keep"),
        *itertools.product(LEAVES, COUNTS),
    ]
    for smallest, counts in settings:
        try:
            copy = model
            if smallest >= 0:
                copy = scrub(model, domain, smallest_leaf=smallest, counts=counts).model
            data = written(copy, writer("json", copy))
        except GlassineError:
            continue
        if data in seen:
            continue
        seen.add(data)
        findings = audit(copy, domain=domain, policy=policy)
        number = len(seen) - 1
        write_json(json.loads(data), f"stop-{number}.json")
        failed = [check.meaning for check in findings.checks if check.status == "fail"]
        unknown = [check.meaning for check in findings.checks if check.status == "unknown"]
        yield {
            "number": number,
            "as_trained": smallest < 0,
            "smallest_leaf": max(smallest, 0),
            "counts": counts,
            "parts": findings.model.n_parts,
            "verdict": findings.verdict,
            "failed": len(failed),
            "unknown": len(unknown),
            "why": (failed or unknown or [""])[0],
        }


if __name__ == "__main__":
    main()
