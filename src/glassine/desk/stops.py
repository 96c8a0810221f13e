"""The stops of the reveal-less slider, in a worker: distinct scrubbed copies, each audited, with or without records."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from glassine.auditing.api import audit
from glassine.auditing.criterion import Check
from glassine.auditing.findings import Findings
from glassine.auditing.policy import NAMED, Policy
from glassine.auditing.suppression import UNKNOWN, smallest_of
from glassine.data.labels import Sample
from glassine.data.sources import read_table
from glassine.domain import Domain
from glassine.errors import GlassineError
from glassine.files import read_once, write_json
from glassine.formats import PublishedModel, load_file
from glassine.formats.canonical import written
from glassine.formats.registry import writer
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose
from glassine.scrubbing.cost import NAMES, quality
from glassine.scrubbing.scrub import scrub

LEAVES = (0, 2, 5, 10, 20, 50, 100, 200)
COUNTS: tuple[Literal["keep", "coarsen", "remove"], ...] = ("keep", "coarsen", "remove")
"""With the model as trained, 25 settings."""
SAID = {"keep": "kept", "coarsen": "rounded", "remove": "removed"}


def main() -> None:
    """Print a line of JSON for each stop.

    Arguments: the model, its domain, and a policy, a TOML file or a name; then, if the copies are measured, the target,
    the records, and held-out records if there are any.
    """
    model, place, limits, *measured = sys.argv[1:]
    domain = Domain.read(place)
    members, holdout = samples_of(measured, domain)
    for stop in stops(Path(model), domain, limits, members, holdout):
        sys.stdout.write(json.dumps(stop) + "\n")
        sys.stdout.flush()


def samples_of(measured: Sequence[str], domain: Domain | None) -> tuple[Sample, Sample]:
    """Return the training records and the held-out ones that a job is to measure on: a target, then their files."""
    if not measured:
        return Sample(), Sample()
    target, *files = measured
    samples = [Sample(read_table(RecordsFile(path=Path(file)), Purpose.AUDIT, domain), target) for file in files]
    return samples[0], samples[1] if len(samples) > 1 else Sample()


def stops(path: Path, domain: Domain, limits: str, members: Sample, holdout: Sample) -> Iterator[dict[str, Any]]:
    """Yield the distinct copies of a model, first itself; each is written as ``stop-N.json`` before it is yielded."""
    file = read_once(path)
    policy = NAMED[limits].policy if limits in NAMED else Policy.from_toml(limits)
    model = load_file(file, domain).model
    seen: set[bytes] = set()
    settings: list[tuple[int, Literal["keep", "coarsen", "remove"]]] = [
        (-1, "keep"),
        *itertools.product(LEAVES, COUNTS),
    ]
    others = None if holdout.data is None else holdout
    for smallest, counts in settings:
        try:
            copy = model
            if smallest >= 0:
                copy = scrub(model, domain, smallest_leaf=smallest, counts=counts, data=members.data).model
            data = written(copy, writer("json", copy))
        except GlassineError:
            continue
        if data in seen:
            continue
        seen.add(data)
        findings = audit(copy, members.data, members.target, domain=domain, policy=policy, holdout=others)
        number = len(seen) - 1
        write_json(json.loads(data), f"stop-{number}.json")
        failed = [check.meaning for check in findings.checks if check.status == "fail"]
        unknown = [check.meaning for check in findings.checks if check.status == "unknown"]
        yield {
            "number": number,
            "as_trained": smallest < 0,
            "smallest_leaf": max(smallest, 0),
            "counts": SAID[counts],
            "parts": findings.model.n_parts,
            "verdict": findings.verdict,
            "failed": len(failed),
            "unknown": len(unknown),
            "why": (failed or unknown or [""])[0],
            **_revealed(findings),
            **_measured(copy, holdout if holdout.data is not None else members),
        }


def _revealed(findings: Findings) -> dict[str, Any]:
    """Return what a copy reveals, in figures of its audit: the size of its smallest leaf or rule, and who is named."""
    finding = findings.value("parts") if "parts" in findings.measured else None
    parts = () if finding is None else finding.parts
    named = next((check for check in findings.checks if check.rule == "named_by_thresholds"), None)
    leaf = smallest_of([part.size for part in parts]) if len(parts) == findings.model.n_parts else UNKNOWN
    return {
        "leaf": leaf,
        "leaf_note": "the copy does not publish it, or not of every leaf" if leaf == UNKNOWN else "",
        "named": "not judged" if named is None else count_of(named),
        "named_note": "by this policy" if named is None else "",
        # Of the record that is exposed most; None where possible records cannot be counted.
        "bits": max((part.bits_learned for part in parts if part.bits_learned is not None), default=None),
    }


def count_of(check: Check) -> str:
    """Return what a check counted, as a report may show it: exact, rounded, suppressed, or not known."""
    count = check.measured
    if count is None:
        return UNKNOWN
    return f"{count:,.0f}" if isinstance(count, int | float) else str(count)


def _measured(model: PublishedModel, on: Sample) -> dict[str, Any]:
    """Return how well a model predicts the records: a value, and in words; None and empty without records."""
    if on.data is None:
        return {"quality": None, "measure": "", "figure": "", "beside": ""}
    try:
        name, values = next(iter(quality(model, on.data, str(on.target)).items()))
    except GlassineError as error:
        return {"quality": None, "measure": "", "figure": "not measured", "beside": str(error)}
    said, baseline = (
        UNKNOWN if one is None else f"{one:.1%}" if name == "accuracy" else f"{one:.3f}"
        for one in (values["value"], values["baseline"])
    )
    return {
        "quality": values["value"],
        "measure": NAMES[name],
        "figure": said,
        "beside": f"{baseline} without any column",
    }


if __name__ == "__main__":
    main()
