"""Every refusal of a private fit that depends on the records is one that its certificate names."""

from __future__ import annotations

import ast
import datetime
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine.errors import InvalidDataError, ReleaseFailedError
from glassine.learners.budget import REFUSALS
from glassine.sealed.door import FAILED
from glassine.surrogates import SurrogateExplainer
from glassine.surrogates.private_trees import ANSWERED
from tests.contracts.test_private_fits import DOMAIN, FITS, LEARNERS, PEOPLE, SIMPLEST, target

SOURCE = Path(glassine.__file__).parent
ROOMS = (
    *("data/record_table.py", "records/*.py", "data/labels.py"),
    "data/person_counts.py",
    *("learners/*.py", "learners/*/*.py", "sealed/*.py"),
    *(
        "surrogates/explainer.py",
        "surrogates/query_input.py",
        "surrogates/release_fit.py",
        "surrogates/explainer_intake.py",
    ),
    *("surrogates/answers.py", "surrogates/building.py", "surrogates/private_release.py"),
)

COVERED = {
    "Found array with 0 sample(s)": "there is at least one",
    "X and y must have one length": "records, targets and identifiers are as many",
    "persons must hold one identifier for each record": "records, targets and identifiers are as many",
    "has the index of the records in another order": "their indexes are in one order",
    "has another index than the records": "their indexes are in one order",
    "the rows of X must have one length": "all rows have one length",
    "rows must have": "all rows have one length",
    "no record has a value for": "every declared column is there",
    "must hold numbers, got the type": "in a type that can hold its values",
    "which cannot hold the values of its attribute": "in a type that can hold its values",
    "and the declared classes are texts": "in a type that can hold its values",
    "the lazy frame gave another number of records": "gives the same records each time",
    "the engine of the lazy frame failed": "a lazy frame is collected without an error",
    "costs are exact for at most": "a limit on the number of records is exceeded",
}
"""Refusals that depend on the records, and what the certificate assumes instead."""

NAMES_AND_SHAPES = (
    "must be a list, an array, a series or the name of a column",
    "must have shape (n,), got values",
    "have no order that name could follow",
    "names must hold at least one attribute",
    "missing_in names",
    "data lack the column",
    "data lack the target column",
    "an array of records must have shape",
    "data cannot be read",
    "data must be a data frame",
    "columns must be arrays of one length",
    "a column of records must be an array or a list",
    "the records lack the column",
    "Reshape your data",
    "requires y to be passed",
    "with a CountTable, y must be the name",
    "the count table lacks the target",
    "y names a column, so X must be a data frame",
    "columns must be named by strings",
    "the columns of X must have different names",
    "have no names",
    "must hold the true classes or numbers, got the name",
    "the records have no column",
    "features, but",
    "the columns of X are not the attributes",
    "columns without names, but the domain has",
    "is not an attribute of the domain",
    "which is not a value of its domain",
    "is declared with prefixes",
    "a frame of a distributed engine is not collected",
    "the Python processes of Spark lack Glassine",  # follows from what is installed
    "a CountTable does not say whose",
    "a CountTable cannot be split",
    "is the target, and cannot also hold the persons",
    "persons names the column",
    "is a number in the domain",
    "is not a number in the domain",
    "has special codes in the domain, which are no numbers to predict",
    "is compared with a number, but the domain declares other values of it",
    'labels="true" needs y',
    "records without names must have",
    "as an attribute, on which trees would split",
    "must be an array with one a record, got a name",
)
"""Refusals that follow from parameters, from names of columns and from numbers of columns."""

NOT_PRIVATE = (
    # read_checked, index_of and sample_weight: audits and learners without privacy.
    "holds a missing value, NaN or infinity, which its attribute does not allow",
    "holds no value that its attribute declares",
    "must hold numbers, got something else among its values",
    "MISSING_LABEL",
    "the target holds a value that is not one of the declared classes",
    "sample_weight must",
    # private_quantiles by itself: a fit asks it of columns that conform, behind the door.
    "values must be one column of numbers",
    "values must be finite",
    "multiplicities must hold",
    # Table.arrays: audits and attacks.
    "NO_RECORDS",
    # The average case of an ordinary model, for the checker.
    "people of the list have an undeclared outcome",
    # Counts that are asked of a frame itself: no fit asks for them.
    "weights must be whole numbers in",
    # Without a public domain, classes or range: a caveat voids the guarantee of such a fit.
    "no record has one of the declared classes",
    "no record has a number as its target",
    "X holds text where numbers are needed",
    "Input X contains NaN or infinity in column",
    "Give one class per record, all of one type, or declare the classes",
    "Complex data not supported",
    "Input y contains NaN, infinity or a missing value. Drop or fill in",
    "the target must hold numbers. Convert it, or use a classifier",
    # open_records, read, label_array and index_of: explainers without epsilon, or without public classes.
    "records must be at least one, in columns named by strings",
    "records must have one column per attribute",
    "records must form a rectangle",
    "records must have shape (n, d)",
    "records must be numbers, Booleans or text",
    "records mix kinds of values in a column",
    "that the domain does not declare. Declare it or recode it",
    "records lie outside the domain in",
    "must hold one label a record",
    "holds a missing value, or one that is no label",
    "are not declared as classes, in the same words",
    "y uses other words than the black box",
    # Numeric answers: explainers without epsilon, which is refused with them.
    "are not numbers in the declared range",
    "are not finite numbers, and a numeric answer is declared",
    "means are those of at least",
    # Groups follow from the attributes, which a fit that protects labels alone does not cover.
    "a stratum of",
    # stated_persons and refuse_shared: audits, comparisons and explainers without epsilon.
    "persons must hold one identifier for each of the",
    "have no identifier, so it is not known whose they are",
    "They are members, so an attack that finds them would count as wrong",
    # A query of a release is nobody's record that is protected.
    "which is not an attribute. Leave it out or rename it",
    "the query lacks the attribute",
    "a query is one record, got",
    "a query must be a mapping or a sequence",
    "a query needs",
    "which cannot be missing. Give one",
    "must be one of",
    "must be a finite number, got",
    "must lie in [",
    "must be a whole number, got",
)
"""Refusals that no private fit with a guarantee reaches."""


def refusals() -> list[str]:
    """Return the words of each refusal of data that the source of the readers and learners holds."""
    out = []
    for pattern in ROOMS:
        for path in sorted(SOURCE.glob(pattern)):
            for node in ast.walk(ast.parse(path.read_text())):
                call = node.exc if isinstance(node, ast.Raise) else None
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "InvalidDataError":
                    out.append(words_of(call))
    return out


def words_of(call: ast.Call) -> str:
    """Return the message and the remedy of a refusal, names in place of what they stand for."""
    return " ".join(spoken(node) for node in [*call.args, *(keyword.value for keyword in call.keywords)])


def spoken(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "parameter":
        return spoken(node.args[0])
    return "".join(map(spoken, ast.iter_child_nodes(node)))


@pytest.mark.slow
def test_every_refusal_is_covered_by_the_certificate_or_is_public_or_not_private() -> None:
    found = refusals()
    assert len(found) > 40
    known = (*COVERED, *NAMES_AND_SHAPES, *NOT_PRIVATE)
    for words in found:
        assert sum(part in words for part in known) == 1, words
    for part in known:
        assert any(part in words for words in found), part


def test_the_certificate_assumes_what_the_refusals_depend_on() -> None:
    for part, assumed in COVERED.items():
        assert sum(assumed in one for one in REFUSALS) == 1, part


@dataclass(frozen=True, slots=True)
class Case:
    change: Callable[[pl.DataFrame, Any], tuple[Any, Any]]
    says: str


def rows_of(frame: pl.DataFrame) -> list[list[Any]]:
    return [list(row) for row in frame.rows()]


REACHED = {
    "no record": Case(lambda X, y: (X.head(0), y[:0]), "Found array with 0 sample(s)"),
    "a column of dates": Case(
        lambda X, y: (X.with_columns(age=pl.lit(datetime.date(2020, 1, 1))), y), "must hold numbers, got the type"
    ),
    "a column of lists": Case(lambda X, y: (X.with_columns(job=pl.concat_list("age")), y), "which cannot hold"),
    "targets of another number": Case(lambda X, y: (X, y[:-1]), "X and y must have one length"),
}


@pytest.mark.parametrize("case", [case for case in REACHED if case != "no record"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_the_schema_says_is_refused_before_the_charge(learner: str, case: str, tmp_path: Path) -> None:
    book = glassine.Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    estimator = LEARNERS[learner](ledger=book, dataset="people")
    X, y = REACHED[case].change(PEOPLE, target(estimator))
    with pytest.raises(InvalidDataError) as caught:
        estimator.fit(X, y)
    assert REACHED[case].says in str(caught.value)
    assert not book.entries("people")


CHANGED: dict[str, Callable[[pl.DataFrame, Any], tuple[Any, Any]]] = {
    "no record": lambda X, y: (X.head(0), y[:0]),
    "no record of a list": lambda X, y: ([], []),
    "a short row": lambda X, y: ([*rows_of(X)[:-1], [1]], y),
    "a long row": lambda X, y: ([*rows_of(X)[:-1], [1, "clerk", 3, 4]], y),
    "a row that is none": lambda X, y: ([*rows_of(X)[:-1], None], y),
    "a key that no mapping has": lambda X, y: (X.drop("age").to_dicts(), y),
}


@pytest.mark.parametrize("case", CHANGED)
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_depends_on_records_is_no_reason_to_refuse(learner: str, case: str) -> None:
    estimator = LEARNERS[learner](dataset=f"odd records, {case}")
    assert estimator.fit(*CHANGED[case](PEOPLE, target(estimator))).certificate_.holds


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_fails_after_the_charge_is_one_constant_error(learner: str, tmp_path: Path) -> None:
    book = glassine.Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    estimator = LEARNERS[learner](ledger=book, dataset="people")
    broken = PEOPLE.lazy().with_columns(age=pl.col("job").cast(pl.Float64), y=pl.Series(target(estimator)))
    with pytest.raises(ReleaseFailedError) as caught:
        estimator.fit(broken, "y")
    assert str(caught.value) == FAILED
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "behind"
    assert len(book.entries("people")) == 1


@pytest.mark.parametrize("name", FITS)
def test_a_fit_of_no_usable_record_is_charged_and_certified(name: str, tmp_path: Path) -> None:
    """A refusal would reveal at no charge that no record has one of the classes, which can be names of people."""
    book = glassine.Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    fitted = FITS[name](ledger=book, dataset="people").fit(PEOPLE, ["?"] * len(PEOPLE))
    assert fitted.certificate_.holds == ("as published" not in name)
    assert len(book.entries("people")) == 1


@pytest.mark.parametrize("name", [name for name in LEARNERS if "search" not in name])
def test_an_engine_finds_no_usable_record(name: str) -> None:
    learner = LEARNERS[name](dataset=f"lazy, {name}")
    odd = pl.lit("?") if learner.__class__.__name__.endswith("Classifier") else pl.lit(None, dtype=pl.Float64)
    assert learner.fit(PEOPLE.with_columns(y=odd).lazy(), "y").certificate_.holds


@pytest.mark.parametrize("name", [name for name in LEARNERS if "search" not in name])
def test_an_engine_without_any_row_is_charged_like_one_without_a_usable_record(name: str, tmp_path: Path) -> None:
    book = glassine.Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    learner = LEARNERS[name](ledger=book, dataset="people")
    records = PEOPLE.with_columns(y=pl.Series(target(learner))).head(0)
    assert learner.fit(records.lazy(), "y").certificate_.holds
    assert len(book.entries("people")) == 1


@pytest.mark.parametrize("name", [name for name in LEARNERS if "search" not in name])
def test_a_fit_of_nobody_is_certified(name: str) -> None:
    learner = LEARNERS[name](dataset=f"nobody, {name}", records_per_person=2)
    assert learner.fit(PEOPLE, target(learner), persons=[None] * len(PEOPLE)).certificate_.holds


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_odd_record_among_others_is_no_reason_to_refuse(learner: str) -> None:
    labels = target(LEARNERS[learner]()).tolist()
    for place, odd in enumerate(ODD):
        estimator = LEARNERS[learner](dataset=f"with odd value {place}")
        fitted = estimator.fit([*rows_of(PEOPLE), [odd] * 3], [*labels, odd])
        assert fitted.certificate_.holds
        assert np.shape(fitted.predict([[odd] * 3])) == (1,)


def explainer(**more: Any) -> SurrogateExplainer:
    """Return an explainer of public cells whose black box knows no value beyond the domain."""

    def older(records: Any) -> list[str]:
        assert set(records["job"].drop_nulls().to_list()) <= {"clerk", "baker"}
        return ["yes" if age > 50 else "no" for age in records["age"].to_list()]

    return SurrogateExplainer(
        older, domain=DOMAIN, classes=("no", "yes"), epsilon=1.0, partition="public", distance="gower", n_cells=4,
        fixed_black_box=True, max_depth=1, **more,
    )  # fmt: skip


@pytest.mark.parametrize("case", ["a column of dates", "a column of lists", "targets of another number"])
def test_an_explainer_refuses_before_the_charge_what_its_certificate_names(case: str, tmp_path: Path) -> None:
    book = glassine.Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    X, y = REACHED[case].change(PEOPLE, target(SIMPLEST["tree"]()).tolist())
    with pytest.raises(InvalidDataError) as caught:
        explainer(labels="true", ledger=book, dataset="people").fit(X, y)
    assert any(part in str(caught.value) for part in COVERED)
    assert not book.entries("people")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda X, y: (X.drop("job"), y), "data lack the column 'job'"),
        (lambda X, y: (X, "ill"), "lack the column 'ill' of the labels"),
        (lambda X, y: (X.select("age").to_numpy(), y), "must have 3 columns"),
        (lambda X, y: (X["age"].to_numpy(), y), "must have 3 columns"),
    ],
)
def test_an_explainer_refuses_columns_that_are_not_there_before_the_charge(
    change: Callable[[pl.DataFrame, Any], tuple[Any, Any]], says: str, tmp_path: Path
) -> None:
    book = glassine.Ledger(tmp_path / "budget.sqlite")
    book.budget("people", 10.0, 0.1)
    X, y = change(PEOPLE, target(SIMPLEST["tree"]()).tolist())
    with pytest.raises(InvalidDataError, match=says):
        explainer(labels="true", ledger=book, dataset="people").fit(X, y)
    assert not book.entries("people")


def test_one_odd_record_among_others_is_no_reason_for_an_explainer_to_refuse() -> None:
    labels = target(SIMPLEST["tree"]()).tolist()
    for place, odd in enumerate(ODD):
        values = {name: pl.Series(name, [*PEOPLE[name].to_list(), odd], dtype=pl.Object) for name in PEOPLE.columns}
        for kind in ("black-box", "true"):
            made = explainer(labels=kind, dataset=f"with odd value {place}, {kind}")
            certificate = made.fit(pl.DataFrame(values), [*labels, odd]).certificate_
            assert certificate.holds
            assert set(REFUSALS) < set(certificate.assumptions)
            assert ANSWERED in certificate.assumptions


ODD = (None, float("nan"), float("inf"), "x", b"x", datetime.date(2020, 1, 1), [1], 10**400)


@pytest.mark.parametrize(
    "X", [np.array(["person 1", "person 2"]), {"age": ["person 1"]}, np.array([1001, 1002]), np.array(1001)]
)
def test_no_value_is_quoted_of_records_in_a_wrong_shape(X: Any) -> None:
    tree = glassine.learners.PrivateTreeClassifier(1, epsilon=1.0, domain=DOMAIN, classes=("no", "yes"))
    with pytest.raises(InvalidDataError, match=r"Reshape your data|data lack the column|one length") as refused:
        tree.fit(X, ["no", "yes"])
    assert "person" not in str(refused.value)
    assert "100" not in str(refused.value)
