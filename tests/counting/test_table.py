"""A table is accepted wherever a frame is, converts each column once, and knows the bytes that it was parsed from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from glassine import AuditSettings, Category, DecisionTree, Domain, Integer, audit
from glassine.data import CountTable
from glassine.data.inference import infer_domain
from glassine.data.outside import violations
from glassine.data.record_table import ParsedFile, RecordTable, as_table
from glassine.data.sources import read_table
from glassine.domain import Between
from glassine.errors import InvalidDataError, UnreadableFileError
from glassine.learners import PrivateTreeClassifier
from glassine.microaggregation import microaggregate
from glassine.models import Branch, Evidence, Node
from glassine.records.columns import ConformedColumns
from glassine.records.containers import is_lazy
from glassine.records.headers import RecordsFile
from glassine.records.purpose import Purpose
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from glassine.surrogates import SurrogateExplainer

DOMAIN = Domain({"age": Integer(0, 99), "job": Category(("clerk", "baker")), "ill": Category(("no", "yes"))})
TREE = DecisionTree(
    nodes=(
        Node(branches=(Branch(Between("age", hi=40.5), 1), Branch(Between("age", lo=40.5), 2))),
        Node(evidence=Evidence(counts=(13, 7))),
        Node(evidence=Evidence(counts=(14, 6))),
    ),
    attributes=("age", "job"),
    classes=("no", "yes"),
)


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": [20 + i for i in range(21)][:20] + [50 + i for i in range(20)],
            "job": rng.choice(["clerk", "baker"], 40).tolist(),
            "ill": ["no"] * 13 + ["yes"] * 7 + ["no"] * 14 + ["yes"] * 6,
        }
    )


def fitted(data: Any, y: Any = "ill") -> Any:
    return PrivateTreeClassifier(1, epsilon=1.0, domain=DOMAIN, random_state=3).fit(data, y)


def explained(data: Any) -> Any:
    table = as_table(data).restrict(["age", "job"])
    records = table if isinstance(data, RecordTable) else table.frame.to_native()
    explainer = SurrogateExplainer(
        lambda X: np.where(np.asarray(X["age"]) > 40, "yes", "no"),
        k=5,
        distance="gower",
        domain=DOMAIN.restrict(["age", "job"]),
        classes=("no", "yes"),
    )
    return str(explainer.fit(records).release_.to_dict())


READERS: dict[str, Callable[[Any], Any]] = {
    "audit": lambda data: audit(
        TREE, domain=DOMAIN, data=data, target="ill", settings=AuditSettings(sensitive="ill")
    ).to_dict(),
    "audit without a domain": lambda data: audit(TREE, data=data, target="ill").to_dict(),
    "conform": lambda data: read_checked(data, DOMAIN).values("job").tolist(),
    "count table": lambda data: CountTable.from_frame(data, DOMAIN).multiplicities.tolist(),
    "inference": lambda data: infer_domain(data),
    "violations": lambda data: violations(Domain({"age": Integer(0, 30), "job": Category(("clerk",))}), data),
    "lazy": is_lazy,
    "fit": lambda data: fitted(data).model_,
    "fit with classes": lambda data: fitted(as_table(data).restrict(["age", "job"]), frame()["ill"]).model_,
    "predict": lambda data: fitted(frame()).predict(as_table(data).restrict(["age", "job"])).tolist(),
    "microaggregation": lambda data: microaggregate(data, 5, distance="gower").labels.tolist(),
    "explainer": explained,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_table_is_accepted_wherever_a_frame_is(reader: str, library: str) -> None:
    data = frame() if library == "polars" else frame().to_pandas()
    assert READERS[reader](as_table(data)) == READERS[reader](data)


def test_an_audit_converts_each_column_once() -> None:
    asked: list[str] = []
    plain = nw.Series.to_numpy

    def noted(series: nw.Series[Any]) -> Any:
        asked.append(series.name)
        return plain(series)

    with patch.object(nw.Series, "to_numpy", noted):
        audit(TREE, domain=DOMAIN, data=frame(), target="ill", settings=AuditSettings(sensitive="ill"))
    assert asked.count("age") == 1


@pytest.mark.parametrize("take", [read_checked, read_settled])
def test_what_was_read_once_is_kept_for_the_same_attribute_alone(take: Callable[..., ConformedColumns]) -> None:
    table = as_table(pl.DataFrame({"age": [10, 50], "job": ["baker", "pope"]}))
    domain = DOMAIN.restrict(["age", "job"])
    first = take(table, domain)
    assert take(table, domain).numbers["age"] is first.numbers["age"]
    assert take(table.restrict(["job"]), domain, ["job"]).codes["job"] is first.codes["job"]
    narrow = Domain({"age": Integer(0, 30), "job": Category(("pope", "baker"))})
    assert take(table, narrow).numbers["age"].tolist() == [10.0, 30.0]
    assert take(table, narrow).codes["job"].tolist() == [1, 0]
    with pytest.raises(InvalidDataError, match="'job'"):
        read_checked(table.restrict(["age"]), domain)


def test_parts_of_a_table_share_what_they_convert() -> None:
    table = as_table(frame())
    one, other = table.restrict(["age"]), table.restrict(["job"])
    assert (list(one.arrays), list(other.arrays)) == (["age"], ["job"])
    assert table.arrays["age"] is one.arrays["age"]
    assert table.arrays["job"] is other.arrays["job"]
    rows = np.array([True, False] * 20)
    assert table.take(rows).arrays["age"].tolist() == table.arrays["age"][rows].tolist()


def test_what_is_refused_once_is_refused_again() -> None:
    table = as_table(pl.DataFrame({"age": [10, None], "job": ["baker", "pope"]}))
    for _ in range(2):
        with pytest.raises(InvalidDataError, match="missing value"):
            read_checked(table, DOMAIN, ["age"])
    assert read_settled(table, DOMAIN, ["age"]).numbers["age"].tolist() == [10.0, 0.0]


def test_kept_values_cannot_be_changed_and_are_not_the_callers_to_lose() -> None:
    data = pd.DataFrame({"age": np.array([1.0, 2.0])})
    table = as_table(data)
    with pytest.raises(ValueError, match="read-only"):
        table.arrays["age"][0] = 7.0
    data.loc[0, "age"] = 3.0
    assert data["age"].tolist() == [3.0, 2.0]


def test_records_of_a_file_carry_the_digest_of_the_bytes_that_were_parsed(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    frame().write_csv(path)
    data = path.read_bytes()
    table = read_table(RecordsFile(path=path), Purpose.ORDINARY, DOMAIN)
    path.write_text("something else")
    assert table.source is not None
    assert (table.source.digest, table.source.typed) == (hashlib.sha256(data).hexdigest(), False)
    assert table.frame.to_native().equals(frame())
    assert table.restrict(["age"]).source is table.source
    frame().write_parquet(path)
    typed = read_table(RecordsFile(path=path), Purpose.ORDINARY).source
    assert typed is not None
    assert typed.typed


def test_a_digest_of_records_is_not_printed(tmp_path: Path) -> None:
    source = ParsedFile(path=tmp_path / "people.csv", digest="ab" * 32, typed=False)
    table = RecordTable(nw.from_native(frame()), source)
    assert "abab" not in f"{source!r} {source} {table!r} {table}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"cannot read .*nobody\.csv"):
        read_table(RecordsFile(path=tmp_path / "nobody.csv"), Purpose.ORDINARY)
