"""The trusted base: which modules hold records, or exact counts of them, between the start of a fit and its last draw.

Holders are found by the shape of what they hold, not by names: while a fit runs, every local variable of every function
of the package, and what every compiled one is called with, is looked through for something as long as the records, for
their number, for whole numbers that add up to it, and for as many bits. A part of the records, such as a search holds
out, has another length and is not seen. The private explanations are not among the fits: they hold records in ten
modules more.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import sys
import tempfile
import tokenize
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import cache, partial
from mmap import mmap
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

import glassine
from glassine import Category, Domain, Integer, Real
from glassine.compiling import Kernel
from glassine.learners import (
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateGreedyRuleListClassifier,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    PrivateSummary,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
    Reserve,
    publishing,
)
from glassine.learners.exhaustive import families
from glassine.privacy.release import fresh_count
from glassine.records.headers import RecordsFile
from glassine.sealed.gaussian import Drawing, ExactSumsOracle, GaussianOracle
from glassine.sealed.oracle import ExactOracle, Oracle
from glassine.sealed.queries import Counts

PACKAGE = Path(glassine.__file__).parent
N = 1013
"""Number of records: a prime that no table of the fits below has as a length, and that no sum of bits of theirs is."""

DEEP = 4
"""How far containers and objects are looked into."""


ORACLES = (Oracle, ExactOracle, GaussianOracle, ExactSumsOracle, Drawing)


def holds(value: Any, depth: int = 0, seen: set[int] | None = None) -> bool:
    """Return whether a value has the shape of records, or of exact counts of all of them."""
    seen = set() if seen is None else seen
    if isinstance(value, str):
        return value.count("\n") >= N
    if isinstance(value, int | float | np.number):
        return bool(value == N)
    if depth > DEEP or id(value) in seen or isinstance(value, type | ModuleType | None):
        return False
    if isinstance(value, bytes | bytearray | memoryview):
        return _is_file(bytes(value))
    if isinstance(value, mmap):
        return not value.closed and _is_file(value[:])
    if callable(value) and not dataclasses.is_dataclass(value):
        return False
    # What an oracle hides cannot be reached by a learner: a test of its own bars its private names.
    if isinstance(value, ORACLES):
        return False
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return _array_holds(value)
    if isinstance(value, pl.DataFrame | pl.Series) or type(value).__module__.startswith("pandas"):
        return hasattr(type(value), "__len__") and len(value) == N
    if isinstance(value, list | tuple | dict | set | frozenset | deque):
        if len(value) == N:
            return True
        inner = value.values() if isinstance(value, dict) else value
        if inner and all(isinstance(one, int | np.integer) for one in inner):
            return sum(inner) == N
        return len(value) < 60 and any(holds(one, depth + 1, seen) for one in inner)
    if type(value).__module__.startswith(("glassine", "narwhals")):
        return any(holds(one, depth + 1, seen) for one in _parts(value))
    return False


def _is_file(data: bytes) -> bool:
    """Return whether bytes are a file of the records: as many lines, or a whole file of Parquet."""
    return data.count(b"\n") >= N or (data[:4] == data[-4:] == b"PAR1" and len(data) > N)


def _array_holds(array: Any) -> bool:
    if N in array.shape:
        return True
    if array.dtype.kind not in "iuf" or not array.size:
        return False
    # A bit for each record, but for those that fill up the last word of each class.
    if array.dtype == np.uint64 and array.ndim <= 2 and 64 * array.shape[-1] < N + 64 * 4:
        rows = np.bitwise_count(array).reshape(-1, array.shape[-1]).sum(axis=1, dtype=np.int64)
        return bool((rows == N).any())
    # A table of counts: all of it, or each row or column of it, has as many as there are records.
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    totals = [array.sum(dtype=kind), *(array.sum(axis=axis, dtype=kind) for axis in range(array.ndim))]
    return any(bool((np.asarray(total) == N).any()) for total in totals)


def _parts(value: Any) -> Iterator[Any]:
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ()) if isinstance(name, str)]
    for name in (*names, *getattr(value, "__dict__", {})):
        try:
            yield object.__getattribute__(value, name)
        except AttributeError:
            continue


def holders(fit: Callable[[], Any]) -> Counter[str]:
    """Return the modules whose functions hold records while a fit runs, and how many such functions each has."""
    found: set[tuple[str, str, int]] = set()
    inside = tuple(str(PACKAGE / room) for room in ROOMS)

    def look(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        key = code.co_filename, code.co_name, code.co_firstlineno
        if key in found:
            return None
        # In the rooms themselves the end of a function is enough; elsewhere a variable may not live so long.
        frame.f_trace_lines = not code.co_filename.startswith(inside)
        if event in ("return", "line") and any(map(holds, list(frame.f_locals.values()))):
            if code is not Kernel.__call__.__code__:
                found.add(key)
                return look
            # A compiled function has no frame: it holds what it is called with.
            called = frame.f_locals["self"].__wrapped__.__code__
            found.update([(*key[:2], 0), (called.co_filename, called.co_name, called.co_firstlineno)])
        return look

    def enter(frame: FrameType, event: str, argument: Any) -> Any:
        return look if frame.f_code.co_filename.startswith(str(PACKAGE)) else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        with warnings.catch_warnings(), fresh_count():
            warnings.simplefilter("ignore")
            fit()
    finally:
        sys.settrace(before)
    return Counter(str(Path(name).relative_to(PACKAGE)) for name, _, _ in found if name.startswith(str(PACKAGE)))


DOMAIN = Domain({"age": Integer(0, 100, missing=True), "income": Real(0.0, 1000.0), "sex": Category(("f", "m"))})
RNG = np.random.default_rng(0)
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(0, 100, N),
        "income": RNG.uniform(0, 1000, N),
        "sex": RNG.choice(["f", "m"], N),
        "y": RNG.choice(["n", "p"], N),
    }
)
NUMBERS = PEOPLE.drop("y").with_columns(z=pl.Series(RNG.uniform(0, 100, N)))
COARSE: dict[str, Any] = {"domain": DOMAIN, "literals": "coarse"}
FIT: dict[str, Any] = {"epsilon": 1.0, "random_state": 0}
CLASSES = ("n", "p")
DECLARED: dict[str, Any] = {"domain": DOMAIN, "classes": CLASSES}
SEARCHED = PrivateTreeClassifier(**COARSE, classes=CLASSES)

FORMS = ("csv", "parquet", "rows", "pandas", "persons")
"""Other containers than a frame of Polars, and records of persons."""


def _of_form(form: str) -> Any:
    """Fit the smallest learner to records in another form; of a file, some lines are odd."""
    most: dict[str, Any] = {"records_per_person": 3} if form == "persons" else {}
    learner = PrivateGreedyRuleListClassifier(1, **COARSE, classes=CLASSES, **FIT, **most)
    if form == "rows":
        return learner.fit([list(row) for row in PEOPLE.drop("y").rows()], PEOPLE["y"].to_list())
    if form == "pandas":
        return learner.fit(PEOPLE.to_pandas(), "y")
    if form == "persons":
        return learner.fit(PEOPLE, "y", persons=[f"p{i // 2}" for i in range(N)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"people.{form}"
        if form == "parquet":
            PEOPLE.write_parquet(path)
        else:
            head, *lines = PEOPLE.write_csv().splitlines()
            path.write_text("\n".join([head, '"4"0,1.5,f,n', lines[1] + ",7", *lines[2:]]) + "\n")
        return learner.fit(RecordsFile(path=path), "y")


SEALED: dict[str, Callable[[], Any]] = {
    "tree": lambda: PrivateTreeClassifier(
        1, domain=DOMAIN, literals="quantiles", n_quantiles=1, classes=CLASSES, **FIT
    ).fit(PEOPLE, "y"),
    "rule list": lambda: PrivateRuleListClassifier(1, **COARSE, classes=CLASSES, **FIT).fit(PEOPLE, "y"),
    "regression tree": lambda: PrivateTreeRegressor(1, **COARSE, target_range=(0, 100), **FIT).fit(NUMBERS, "z"),
    "greedy rule list": lambda: PrivateGreedyRuleListClassifier(2, **COARSE, classes=CLASSES, **FIT).fit(PEOPLE, "y"),
    "search": lambda: PrivateSearchCV(SEARCHED, {"max_depth": [1]}, expected_fits=2, **FIT).fit(PEOPLE, "y"),
    "additive": lambda: PrivateEBMClassifier(**DECLARED, interactions=1, **FIT).fit(PEOPLE, "y"),
    "additive regression": lambda: PrivateEBMRegressor(domain=DOMAIN, target_range=(0, 100), **FIT).fit(NUMBERS, "z"),
    "events": lambda: PrivateEBMRegressor(domain=DOMAIN, target_range=(0, 100), objective="poisson", **FIT).fit(
        NUMBERS, "z"
    ),
    "boosting": lambda: PrivateEBMClassifier(**DECLARED, algorithm="boosting", **FIT).fit(PEOPLE, "y"),
    "scorecard": lambda: PrivateScorecardClassifier(**DECLARED, **FIT).fit(PEOPLE, "y"),
    "summary": lambda: PrivateSummary(**DECLARED, reserve=Reserve(model="tree", size=1), **FIT).fit(PEOPLE, "y"),
    "summary of a number": lambda: PrivateSummary(domain=DOMAIN, target_range=(0, 100), **FIT).fit(NUMBERS, "z"),
    **{form: partial(_of_form, form) for form in FORMS},
}
"""The fits that learn through the oracle."""

ROOMS = ("records/", "sealed/")

BESIDE = ("compiling/__init__.py",)
"""What holds records or counts outside of these rooms: the call of a kernel."""

MOST_LINES = 4500
"""Most lines of code in all modules that hold records or exact counts in any of the fits."""


@cache
def holders_of(name: str) -> frozenset[str]:
    return frozenset(holders(SEALED[name]))


@pytest.mark.slow
@pytest.mark.parametrize("name", SEALED)
def test_records_and_exact_counts_are_held_in_two_rooms_alone(name: str) -> None:
    found = holders_of(name)
    assert [module for module in found if not module.startswith(ROOMS) and module not in BESIDE] == []
    # The oracle and the reader hold them for certain: were they not found, nothing would be.
    assert "records/cells.py" in found
    assert {"sealed/oracle.py", "sealed/gaussian.py"} & found


@pytest.mark.slow
def test_what_is_trusted_stays_small() -> None:
    found = sorted(frozenset[str]().union(*map(holders_of, SEALED)))
    lines = {module: lines_of(PACKAGE / module) for module in found}
    assert {"records/files.py", "records/lines.py", "records/parquet_pages.py", "sealed/persons.py"} <= set(lines)
    assert sum(lines.values()) <= MOST_LINES, lines


@pytest.mark.slow
def test_a_planted_holder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = publishing.evidence_of
    counted: list[Any] = []
    exact = Counts.exact

    def kept(self: Counts, records: Any) -> Any:
        counted.append(exact(self, records))
        return counted[-1]

    def planted(*given: Any) -> Any:
        table = counted[-1]
        return honest(*given) if len(table) else None

    # The fault has a place in the package: a module of the learners.
    place = str(PACKAGE / "learners" / "planted.py")
    planted.__code__ = planted.__code__.replace(co_filename=place)
    monkeypatch.setattr(Counts, "exact", kept)
    monkeypatch.setattr(families, "evidence_of", planted)
    assert "learners/planted.py" in holders(SEALED["tree"])


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (np.zeros(N), True),
        (np.zeros((2, N)), True),
        ([0] * N, True),
        ({"a": [np.zeros(N)]}, True),
        (np.array([[N - 9, 9], [4, 5]]), True),
        (np.array([2**64 - 1] * 15 + [2**53 - 1], dtype=np.uint64), True),
        (b"40,f\n" * N, True),
        (b"PAR1" + b"x" * N + b"PAR1", True),
        (bytearray(b"40,f\n" * N), True),
        (memoryview(b"40,f\n" * N), True),
        ("40,f\n" * N, True),
        (np.zeros(N - 1), False),
        (b"age,sex\n", False),
        (np.array([3, 4]), False),
        ([N - 9, 9], True),
        ({"n": N - 9, "p": 9}, True),
        (deque([0] * N), True),
        (np.array([N - 9.0, 9.0]), True),
        (N, True),
        (np.int64(N), True),
        (N - 1, False),
        ("a" * N, False),
        (DOMAIN, False),
    ],
)
def test_what_has_the_shape_of_records(value: Any, held: bool) -> None:
    assert holds(value) is held


def lines_of(path: Path) -> int:
    """Return the lines of code of a module: no docstring, comment, blank line or import."""
    source = path.read_text()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            left_out |= set(range(first.lineno, (first.end_lineno or 0) + 1))
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    code: set[int] = set()
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in blank:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - left_out)
