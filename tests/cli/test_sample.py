"""``glassine sample``: rows of a summary and their certificate."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl

from glassine import Certificate, Domain, Integer
from glassine.domain import Category
from tests.cli.running import Run


def test_rows_are_written_with_the_certificate_of_their_summary(tmp_path: Path, run: Run) -> None:
    Domain({"age": Integer(18, 90), "ill": Category(("no", "yes"))}).to_json(tmp_path / "domain.json")
    rng = np.random.default_rng(0)
    age = rng.integers(18, 91, 1500)
    ill = np.where(rng.random(1500) < age / 100, "yes", "no")
    pl.DataFrame({"age": age, "ill": ill}).write_csv(tmp_path / "people.csv")
    given = ("people.csv", "--target", "ill", "--domain", "domain.json", "--epsilon", "3", "-o", "summary.json")
    assert run("summarize", *given, cwd=tmp_path).status == 0
    done = run("sample", "summary.json", "--n-rows", "500", "-o", "rows.csv", cwd=tmp_path)
    assert done.status == 0, done.err
    assert "epsilon 3" in done.out
    rows = pl.read_csv(tmp_path / "rows.csv")
    assert rows.columns == ["age", "ill"]
    assert len(rows) == 500
    old, young = rows.filter(pl.col("age") > 60), rows.filter(pl.col("age") < 40)
    assert float((old["ill"].to_numpy() == "yes").mean()) > float((young["ill"].to_numpy() == "yes").mean())
    certificate = Certificate.from_json((tmp_path / "rows.certificate.json").read_text())
    assert (certificate.epsilon, certificate.holds) == (3.0, True)
    assert certificate.file == hashlib.sha256((tmp_path / "rows.csv").read_bytes()).hexdigest()
    for name in ("a", "b"):
        again = ("--n-rows", "50", "--sample-seed", "3", "-o", f"{name}.parquet")
        assert run("sample", "summary.json", *again, cwd=tmp_path).status == 0
    assert pl.read_parquet(tmp_path / "a.parquet").equals(pl.read_parquet(tmp_path / "b.parquet"))
    # Models trained on the rows need no budget: the rows are public.
    fitted = ("rows.csv", "--target", "ill", "--domain", "domain.json", "--not-private", "-o", "tree.json")
    assert run("fit", "tree", *fitted, cwd=tmp_path).status == 0
    for wrong in (("--n-rows", "0", "-o", "c.csv"), ("--n-rows", "5", "-o", "c.txt")):
        refused = run("sample", "summary.json", *wrong, cwd=tmp_path)
        assert refused.status == 2
        assert not (tmp_path / "c.csv").exists()
