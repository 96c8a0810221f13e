"""Scrubbing to a limit on the command line, and the accuracy that it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from glassine import write_model
from tests.auditing.test_scrubbing_advantage import DOMAIN, grown
from tests.cli.running import Run


@pytest.mark.slow
def test_a_copy_to_a_limit_says_what_it_costs_in_accuracy(tmp_path: Path, run: Run) -> None:
    model, frame = grown()
    write_model(model, tmp_path / "model.json", overwrite=True)
    DOMAIN.to_json(tmp_path / "domain.json")
    frame.write_csv(tmp_path / "data.csv")
    files = ("model.json", "--domain", "domain.json", "-o", "copy.json", "--data", "data.csv", "--target", "y")
    done = run("scrub", *files, "--counts", "remove", "--largest-advantage", "0.07", "--json", cwd=tmp_path)
    plain = json.loads(done.out)
    statuses = {check["rule"]: check["status"] for check in plain["after"]["checks"]}
    assert statuses["largest_advantage"] == "pass", done.err
    assert 0.6 < plain["quality"]["accuracy"]["after"] <= plain["quality"]["accuracy"]["before"] < 1


def test_a_copy_whose_cost_no_record_may_stop_is_written_and_judged(tmp_path: Path, run: Run) -> None:
    model, frame = grown()
    write_model(model, tmp_path / "model.json", overwrite=True)
    DOMAIN.to_json(tmp_path / "domain.json")
    frame.write_csv(tmp_path / "data.csv")
    header, first, *others = (tmp_path / "data.csv").read_text().splitlines()
    odd = ["odd" if name != "y" else value for name, value in zip(header.split(","), first.split(","), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join([header, ",".join(odd), *others, ""]))
    files = ("model.json", "--domain", "domain.json", "-o", "copy.json", "--data", "data.csv", "--target", "y")
    done = run("scrub", *files, "--counts", "remove", cwd=tmp_path)
    assert done.status == 1, done.err
    assert "What the copy costs could not be measured:" in done.out
    assert (tmp_path / "copy.json").exists()
