"""The page of limits states the limits of the code, each in its row, and figures that stay within the stated ones."""

from __future__ import annotations

import csv
import re

from glassine import files
from glassine import resources as budget
from glassine.attacks.disclosure.worlds import TIME_LIMIT
from glassine.attacks.membership import gap
from glassine.attacks.reconstruction.systems import MAX_PARTS
from glassine.auditing.disclosure import MOST_STEPS
from glassine.counting import MAX_STEPS, leaves
from glassine.domain.groups import MAX_PATTERNS
from glassine.formats import json_nodes, pmml_documents, skops, unwrapping
from glassine.formats.boosted import lightgbm
from glassine.formats.printed.rules import MAX_TEXT
from glassine.learners.exhaustive.families import Tabulated
from glassine.models.rule_list import MAX_RULES
from glassine.records import limits as records
from glassine.sealed.rule_choices import LOOKAHEAD
from glassine.server import access
from glassine.server.request_limits import Limits
from tests.repo.code_blocks import ROOT

PAGE = (ROOT / "docs" / "reference" / "limits.md").read_text()


def megabytes(size: float) -> str:
    return f"{size / 1e6:g} MB"


STATED = {
    "model file": [megabytes(files.MAX_BYTES)],
    "values of a JSON or UBJSON file": [megabytes(files.MAX_VALUES)],
    "records of a file, by rows and columns": [budget.human_bytes(budget.MEMORY)],
    "processor time of an audit or scrubbing": [f"{budget.SECONDS:g} s"],
    "memory of a tree's leaves over the domain": [f"{leaves.BYTES} bytes", budget.human_bytes(budget.MEMORY)],
    "PMML": [f"{pmml_documents.MAX_ELEMENTS:,} elements", f"{pmml_documents.MAX_ATTRIBUTES:,} attributes"],
    "skops, unpacked": [megabytes(skops.MAX_UNPACKED), f"{skops.MAX_OBJECTS:,} objects"],
    "LightGBM lists": [f"{lightgbm.MAX_NUMBERS:,} numbers", f"{lightgbm.MAX_CATEGORIES:,} categories"],
    "rule list": [f"{MAX_RULES:,} rules", f"{MAX_TEXT:,} characters"],
    "other model texts": [f"{unwrapping.MAX_LINES:,} lines"],
    "combinations of linked attributes": [f"{MAX_PATTERNS:,}"],
    "steps to count possible records": [f"{MAX_STEPS:,}"],
    "regions of joint or row reconstruction": [f"{MAX_PARTS:,}"],
    "solver of `rebuild`": [f"{TIME_LIMIT:g} s"],
    "memory of a private fit": [budget.human_bytes(budget.MEMORY)],
    "time of a private tree or list": [f"{Tabulated.time_limit:g} s"],
    "pool that `counted-gini` looks ahead in": [f"{LOOKAHEAD} rules"],
    "records or people a side in the label-only attack; in the test of shift": [
        f"{gap.MAX_RECORDS:,}",
        f"{gap.SHIFT_RECORDS:,}",
    ],
    "disclosure with internal nodes": [f"10^{len(str(MOST_STEPS)) - 1} steps"],
    # Memory of records.
    "Parquet": [f"+ {records.CODED} per column", f"{records.FIELD} for a text"],
    "CSV": [f"{records.FIELD + records.CODED} per field"],
    "both": [f"{records.COLUMN:,} per column", f"{records.LOOKED_AT} per record"],
    # The service.
    "one address, or IPv6 network of 64 bits": [
        f"{Limits().rate:g} requests per second",
        f"{Limits().connections} connections",
    ],
    "IPv4 network of 24 bits, IPv6 of 48": [f"{access.LENGTHS[4][24]} times", f"{access.LENGTHS[6][48]} times"],
    "IPv6 network of 56 bits": [f"{access.LENGTHS[6][56]} times"],
    f"{access.PLACES} connections": ["the oldest that has not asked is closed"],
    f"{Limits().total_rate:g} requests per second by all clients": ["clients that asked least lately come first"],
}
"""What the cell beside the name of a limit says, from the code."""

START = "at Python's start"
GOALS = {
    ("scrub of a tree", "200000"): (22.0, 1000),
    ("scrub of a rule list", "5000"): (20.0, 1000),
    ("audit of a rule list", "1000"): (5.0, 1000),
    ("draft of a file", "2000000"): (8.0, 1000),
}
"""Processor seconds and megabytes that a task at the documented limit may take on the machine of the rows."""


def rows_of(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading of the page."""
    table = re.search(r"^\|.*?(?=\n\n)", PAGE.partition(heading)[2], flags=re.MULTILINE | re.DOTALL)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[0].splitlines()[2:]]


def test_every_limit_of_the_page_is_that_of_the_code() -> None:
    rows = [row for heading in ("# Limits", "## Memory of records", "## The service when") for row in rows_of(heading)]
    assert {row[0] for row in rows} == set(STATED)
    for name, stated, *_ in rows:
        for words in STATED[name]:
            assert words in stated, name
    assert f"more than {json_nodes.MOST_ROWS:,} nodes" in PAGE


def test_the_stored_figures_at_the_limits_are_within_the_stated_ones() -> None:
    with (ROOT / "benchmarks" / "big_inputs.csv").open(newline="") as stream:
        rows = {(row["task"], row["size"]): row for row in csv.DictReader(stream)}
    for key, (seconds, size) in GOALS.items():
        assert float(rows[key]["seconds"]) <= seconds, key
        assert float(rows[key]["MB"]) * 1024**2 / 1e6 <= size, key
        assert rows[key]["status"] in ("0", "1", "3"), key


def test_no_early_end_shows_a_traceback_of_ours_or_leaves_a_file_unnamed() -> None:
    with (ROOT / "benchmarks" / "early_ends.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row[name] for row in rows for name in ("tracebacks", "unnamed files", "unnamed charges")} == {"0"}
    runs = sum(int(row["runs"]) for row in rows if row["program"] != "python -c")
    started = {row["program"]: f"{row[START]} of {row['runs']}" for row in rows if row["milliseconds"] == "0 to 50"}
    assert f"at {runs} moments" in PAGE
    assert f"in {started['glassine']} runs. A program of one line did in {started['python -c']} (" in PAGE


def test_no_kill_lost_a_charge_and_a_client_beside_an_attack_is_answered() -> None:
    def stored(name: str) -> list[dict[str, str]]:
        with (ROOT / "benchmarks" / name).open(newline="") as stream:
            return list(csv.DictReader(stream))

    kills = stored("kills.csv")
    assert sum(int(row["kills"]) for row in kills) >= 75
    for row in kills:
        assert [row[name] for name in ("lost", "doubled", "granted beyond", "left")] == ["0"] * 4, row
    beside = [row for row in stored("service.csv") if " beside " in row["what"]]
    assert sorted(row["what"].startswith("desk, ") for row in beside) == [False] * 3 + [True] * 3
    for row in beside:
        answered = {status: int(n) for n, status in re.findall(r"(\d+) x (\d+)", row["statuses"])}
        assert answered["200"] >= max(60, 0.98 * sum(answered.values())), row


def test_the_page_has_the_stored_rows_of_hostile_records_and_none_ended_by_a_signal() -> None:
    with (ROOT / "benchmarks" / "hostile_files.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row[0] for row in rows_of("Drafts of a domain from small files")] == [row["file"] for row in rows]
    for row, stated in zip(rows, rows_of("Drafts of a domain from small files"), strict=True):
        assert row["status"] in ("0", "2"), row
        assert int(row["MB"]) <= budget.MEMORY / 1e6, row
        refused = "yes" if row["status"] == "2" else "no"
        assert stated[1:] == [f"{int(row['bytes']) / 1e6:.2f}", f"{int(row['MB']):,}", row["seconds"], refused]
