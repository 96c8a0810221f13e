"""What a private fit shows beside its draws: the same for neighbors; and planted faults that must be caught."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassine import Binary, Domain, Integer, compiling
from glassine.counting.logic import LiteralLogic
from glassine.domain import OneOf
from glassine.errors import ReleaseFailedError
from glassine.learners import PrivateTreeClassifier
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import fresh_count
from glassine.privacy.unit import RECORD
from glassine.records.columns import columns_of
from glassine.sealed import door, draws
from glassine.sealed.accounts import Allowance
from glassine.sealed.losses import LeafCosts
from glassine.sealed.oracle import Oracle
from glassine.sealed.queries import Cells, Counts, Gibbs, Label, Quantiles
from glassine.sealed.store import HeldIntake, Store
from glassine.sealed.tree_family import Leaf, Split
from glassine.sealed.trees import TreeClass
from glassine.surrogates import private_release
from tests.contracts.test_private_fits import DOMAIN, LEARNERS, PEOPLE, PERSONS, SIMPLEST, target

ODD = [None, "x", "", float("nan"), float("inf"), 10**400, b"x", [1], -5, True]


@contextlib.contextmanager
def heard() -> Iterator[dict[str, Any]]:
    """Collect what is written to descriptors 1 and 2, and all warnings."""
    out: dict[str, Any] = {}
    with tempfile.TemporaryFile() as file, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sys.stdout.flush()
        sys.stderr.flush()
        kept = os.dup(1), os.dup(2)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield out
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for place, old in zip((1, 2), kept, strict=True):
                os.dup2(old, place)
                os.close(old)
            file.seek(0)
            out["written"], out["warned"] = file.read(), [str(one.message) for one in said]


def kernels() -> list[compiling.Kernel]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("glassine.")]
    return [one for module in modules for one in vars(module).values() if isinstance(one, compiling.Kernel)]


def signatures() -> dict[str, int]:
    """Return how many signatures each kernel has."""
    return {
        f"{one.__module__}.{getattr(one, '__name__', one)}": len(one._dispatcher.signatures)
        for one in kernels()
        if one._dispatcher
    }


def observed(make: Callable[[], Any], X: Any, y: Any, **fit: Any) -> dict[str, Any]:
    """Return everything that a fit shows beside what it draws."""
    learner = make()
    with heard() as out, fresh_count():
        try:
            learner.fit(X, y, **fit)
        except Exception as error:
            out["error"] = type(error).__name__, str(error)
    out["kernels"] = signatures()
    out["keeps"] = sorted(name for name in vars(learner) if name.endswith("_"))
    certificate = getattr(learner, "certificate_", None)
    events = () if certificate is None else certificate.events
    out["events"] = [(type(event).__name__, event.name) for event in events]
    return out


NEIGHBORS: dict[str, tuple[Callable[[Any, Any], tuple[Any, Any]], Callable[[Any, Any], tuple[Any, Any]]]] = {
    "none and one": (lambda X, y: (X.head(0), y[:0]), lambda X, y: (X.head(1), y[:1])),
    "one and two": (lambda X, y: (X.head(1), y[:1]), lambda X, y: (X.head(2), y[:2])),
    **{
        f"a record of {odd!r:.12}": (
            lambda X, y: ([list(row) for row in X.rows()], list(y)),
            lambda X, y, odd=odd: ([[odd, odd, odd], *map(list, X.rows())], [odd, *y]),  # type: ignore[misc]
        )
        for odd in ODD
    },
    "a short row": (
        lambda X, y: ([list(row) for row in X.rows()], list(y)),
        lambda X, y: ([*map(list, X.rows()), [1]], [*y, y[0]]),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMPLEST)
def test_no_kernel_is_compiled_after_the_charge(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, seen = door.behind, list[tuple[dict[str, int], dict[str, int]]]()

    def watched(work: Callable[[], Any]) -> Any:
        before = signatures()
        out = honest(work)
        seen.append((before, signatures()))
        return out

    for room in (door, private_release):
        monkeypatch.setattr(room, "behind", watched)
    for one in kernels():
        # As in a fresh process: what other fits have loaded is forgotten.
        monkeypatch.setattr(one, "_dispatcher", None)
    with fresh_count():
        learner = SIMPLEST[name](random_state=0)
        learner.fit(PEOPLE, target(learner))
    ((before, after),) = seen
    assert before
    assert before == after


LISTS: tuple[list[Any], ...] = ([], [{"age": 40}], [{"age": 40, "smoker": 1}], [[40, 1]], [[]], [5], ["ab"], [None])
"""What a table that is a list may hold first: nothing, or a row of any kind."""


@pytest.mark.parametrize("named", [False, True])
def test_whether_a_list_is_refused_depends_on_none_of_its_rows(named: bool) -> None:
    domain = Domain({"age": Integer(18, 90, thresholds=(45,)), "smoker": Binary()})
    errors = set()
    every = [row for rows in LISTS for row in rows]

    def learner() -> PrivateTreeClassifier:
        return PrivateTreeClassifier(max_depth=1, epsilon=1.0, domain=domain, classes=(0, 1), random_state=0)

    for rows in [*LISTS, every, every[::-1]]:
        seen = observed(learner, rows, "ill" if named else [1] * len(rows))
        errors.add(seen.get("error"))
    assert errors == {None}


ADDITIVE = ("additive, boosting", "regression, boosting", "scorecard", "regression, scorecard")
"""What makes as many releases as released counts ask for."""


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_neighbors_by_a_person_differ_in_nothing_but_what_is_drawn(name: str) -> None:
    """One person more, with more records than count, some of them odd, and without an identifier of any other."""
    most = {"records_per_person": 3}
    rows, labels = [list(row) for row in PEOPLE.rows()], list(target(LEARNERS[name]()))
    more = [[odd, odd, odd] for odd in ODD[:4]]
    one = observed(lambda: LEARNERS[name](**most), rows, labels, persons=PERSONS)
    wider = [*rows[:7], *more, *rows[7:]], [*labels[:7], *ODD[:2], *labels[:2], *labels[7:]]
    whose = [*PERSONS[:7], *["new"] * 4, *PERSONS[7:]]
    other = observed(lambda: LEARNERS[name](**most), *wider, persons=whose)
    steps = [seen.pop("events") for seen in (one, other)]
    if name not in ADDITIVE:
        assert steps[0] == steps[1]
    assert one == other
    assert "error" not in one


@pytest.mark.slow
@pytest.mark.parametrize("case", NEIGHBORS)
@pytest.mark.parametrize("name", LEARNERS)
def test_neighbors_differ_in_nothing_but_what_is_drawn(
    name: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "NUMBA_CACHE_DIR" not in os.environ:
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    make = LEARNERS[name]
    labels = target(make())
    one, other = (observed(make, *change(PEOPLE, labels)) for change in NEIGHBORS[case])
    steps = [event for seen in (one, other) for event in [seen.pop("events")]]
    # How many choices an additive fit makes follows from released counts; of the others the events are the same.
    if name not in ADDITIVE:
        assert steps[0] == steps[1]
    assert one == other


TREE: dict[str, Any] = {"domain": DOMAIN, "classes": ("no", "yes"), "epsilon": 1.0}


def fitted_tree() -> Any:
    from glassine.learners import PrivateTreeClassifier

    return PrivateTreeClassifier(1, literals="thresholds", **TREE)


def fails(X: Any = PEOPLE) -> str:
    with fresh_count(), pytest.raises(ReleaseFailedError) as caught:
        fitted_tree().fit(X, target(fitted_tree()))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value)


def test_an_error_in_a_query_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(self: Any, records: Any) -> Any:
        raise ValueError(f"{records.n_records} records")

    monkeypatch.setattr(Label, "count", planted)
    assert "120" not in fails()


def test_a_print_in_a_query_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Label.count

    def planted(self: Any, records: Any) -> Any:
        os.write(1, f"{records.n_records} records".encode())
        return honest(self, records)

    monkeypatch.setattr(Label, "count", planted)
    labels = target(fitted_tree())
    one, other = (observed(fitted_tree, PEOPLE.head(n), labels[:n])["written"] for n in (20, 21))
    assert one != other


def test_a_kernel_that_the_number_of_records_chooses_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    @compiling.compiled
    def planted(values: Any) -> Any:
        return values.sum()

    honest = Label.count

    def count(self: Any, records: Any) -> Any:
        out = honest(self, records)
        planted(np.zeros(1, dtype=np.int64 if records.n_records > 20 else np.int32))
        return out

    monkeypatch.setattr(Label, "count", count)
    monkeypatch.setattr(sys.modules[__name__], "PLANTED", planted, raising=False)
    labels, seen = target(fitted_tree()), []
    for n in (20, 21):
        observed(fitted_tree, PEOPLE.head(n), labels[:n])
        seen.append(len(planted.dispatcher.signatures))
    assert seen == [1, 2]


def stated_before_drawn(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the events of a question are kept when its draw begins."""
    order: list[int] = []
    oracles: list[Oracle] = []
    make = Oracle.__init__

    def noted(self: Oracle, *given: Any, **more: Any) -> None:
        make(self, *given, **more)
        oracles.append(self)

    honest = Counts.draw

    def draw(self: Any, *given: Any) -> Any:
        order.append(sum(self.name == event.name for event in oracles[-1].events))
        return honest(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Oracle, "__init__", noted)
        patch.setattr(Counts, "draw", draw)
        with fresh_count():
            fitted_tree().fit(PEOPLE, target(fitted_tree()))
    return bool(order) and min(order) == 1


def test_events_are_kept_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stated_before_drawn(monkeypatch)

    def late(self: Any, query: Any, share: Fraction) -> Any:
        part = self.part(share)
        answer = query.draw(self._Oracle__records, part, self.paid.randomness, None)
        self._Oracle__events += query.events(part)
        return answer

    monkeypatch.setattr(Oracle, "ask", late)
    assert not stated_before_drawn(monkeypatch)


SMALL = Domain({"a": Binary(), "n": Integer(0, 2)})
RECORDS = list(itertools.product((0, 1), (0, 1, 2), (0, 1)))
PART = Allowance(epsilon=Fraction(1), total=Fraction(1), unit=RECORD)


def store(records: Sequence[tuple[int, int, int]], *, numbers: bool = False) -> Store:
    a, n, y = (np.array([record[i] for record in records], dtype=np.int64) for i in range(3))
    attributes = {name: SMALL[name] for name in SMALL}
    columns = columns_of(attributes, {"a": a.astype(np.int8), "n": n.astype(np.float64)})
    targets: Any = y * 2.0 - 1 if numbers else None
    intake = HeldIntake(
        columns=columns, labels=y, multiplicities=None, domain=SMALL, classes=(0, 1), caveats=(),
        values=targets,
    )  # fmt: skip
    return Store(intake)


def neighbors() -> Iterator[tuple[list[Any], list[Any]]]:
    for size in range(3):
        for records in itertools.combinations_with_replacement(RECORDS, size):
            for more in RECORDS:
                yield list(records), [*records, more]


LOGIC = LiteralLogic.of(SMALL, [OneOf("a", (1,))], up_to_negation=True)
STUMP = Split(0, Leaf(0), Leaf(1))


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [False, True])
def test_counts_move_by_their_sensitivity_at_most(numbers: bool) -> None:
    loss = LeafCosts.squares(2) if numbers else LeafCosts.errors(2)
    members = TreeClass(logic=LOGIC, depth=1, loss=loss)
    for question in (Counts(key=Cells(members, STUMP)), *([] if numbers else [Counts(key=Label())])):
        moved = [
            int(np.abs(question.exact(store(one, numbers=numbers)) - question.exact(store(two, numbers=numbers))).sum())
            for one, two in neighbors()
        ]
        assert max(moved) == question.sensitivity
        event: Any = question.events(PART)[0]
        assert len(question.events(PART)) == 1
        assert event.l1_sensitivity == question.sensitivity
        assert event.scale == question.sensitivity / PART.per_record


@pytest.mark.slow
@pytest.mark.parametrize("loss", [LeafCosts.errors(2), LeafCosts.ranking(np.array([0.7, 0.3]), 100.0, 0.3, steps=2)])
def test_costs_of_models_grow_with_a_record_by_the_unit_at_most(loss: LeafCosts) -> None:
    members = TreeClass(logic=LOGIC, depth=1, loss=loss)
    values = range(loss.n_values)
    trees = [Leaf(v) for v in values] + [Split(0, Leaf(v), Leaf(w)) for v in values for w in values]

    def costs(records: Any) -> Any:
        held = store(records)
        counts = [members.cell_counts(held.pack(members.antecedents), tree) for tree in trees]
        return np.array(
            [int((loss.costs[list(members.values(tree))] * own).sum()) for tree, own in zip(trees, counts, strict=True)]
        )

    steps = [costs(two) - costs(one) for one, two in neighbors()]
    assert min(step.min() for step in steps) >= 0
    assert max(step.max() for step in steps) <= loss.unit
    draw = Gibbs(members=members, prior=1.0, slack=members.rounding(), name="tree")
    event: Any = draw.events(PART)[0]
    assert len(draw.events(PART)) == 1
    assert float(draw.spent(PART)) + event.slack <= 1
    assert event.inverse_temperature == float(draw.spent(PART))


@pytest.mark.slow
def test_quantiles_keep_epsilon() -> None:
    from glassine.sealed.exact_quantiles import quantile_distribution

    question = Quantiles(points={"n": (0.5, 1.5)}, number=1)
    worst = 0.0
    for one, two in neighbors():
        laws = [quantile_distribution(store(held).numbers("n")[0], (0.5, 1.5), 1, 1) for held in (one, two)]
        worst = max(worst, *(abs(np.log(laws[0][cut] / laws[1][cut])) for cut in laws[0]))
    assert 0.3 < worst <= 1 + 1e-9
    assert len(question.events(PART)) == 1


def test_a_halved_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    members = TreeClass(logic=LOGIC, depth=1, loss=LeafCosts.errors(2))
    question = Counts(key=Cells(members, STUMP))
    moved = max(
        int(np.abs(question.exact(store(one)) - question.exact(store(two))).sum())
        for one, two in neighbors()
        if not one
    )
    assert moved <= question.sensitivity
    monkeypatch.setattr(Counts, "sensitivity", Fraction(1, 2))
    assert not moved <= question.sensitivity


def test_noise_has_the_scale_that_the_event_states(monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Fraction] = []

    def spy(exact: Any, scale: Fraction, randomness: Any) -> Any:
        scales.append(scale)
        return exact

    monkeypatch.setattr(draws, "laplace", spy)
    question = Counts(key=Label())
    question.draw(store(RECORDS), PART, Randomness.of(0), None)
    event: Any = question.events(PART)[0]
    assert float(scales[0]) == event.scale
