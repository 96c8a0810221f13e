"""A guarantee for persons, over small datasets of whole persons and on many runs; and the faults that must be found.

Neighbors differ by one person with all of their records, read and counted by the real fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pytest

from glassine.domain import Domain
from glassine.formats import fingerprint
from glassine.learners import PrivateGreedyRuleListClassifier, PrivateRuleListClassifier, PrivateTreeClassifier
from glassine.learners.exhaustive import families
from glassine.records.identifiers import identifier
from glassine.sealed import ingest, persons
from glassine.sealed.persons import CountedPersons
from glassine.verification import Claim, ExhaustiveResult, Runs, lower_bound, multisets, verify_exhaustively
from tests.learners import greedy_law
from tests.verification.exploring import law_of_fit

FLOATS = 1e-9
"""Slack of logarithms that are sums of many others."""

Row: TypeAlias = tuple[int, int]
"""A value and a class."""

Person: TypeAlias = tuple[bool, tuple[Row, ...]]
"""Whether there is an identifier, and the records."""

Make: TypeAlias = Callable[..., Any]

DOMAIN = Domain.binary(["b"])
ROWS: list[Row] = list(product((0, 1), (0, 1)))
UP_TO_TWO: list[Person] = [(True, rows) for size in (1, 2) for rows in multisets(ROWS, size)]
UP_TO_THREE: list[Person] = [(True, rows) for size in (1, 2, 3) for rows in multisets(ROWS, size)]
NAMELESS: list[Person] = [(False, (row,)) for row in ROWS]
FEW: list[Person] = [*UP_TO_TWO[0:4:3], *UP_TO_TWO[5:12:2], *UP_TO_THREE[-2:], *NAMELESS[1:3]]
"""Persons whose pairs are looked at: one and two records of like and other values and classes, three, and nameless."""
CROWD: tuple[Person, ...] = ((True, ((0, 0), (1, 1))), (True, ((0, 0), (1, 0))), (True, ((0, 1), (0, 0), (1, 1))))
"""Persons beside whom the others come."""


def written(dataset: Sequence[Person]) -> dict[str, list[Any]]:
    """Return the records of persons, each with an identifier of its own that does not change with the other persons."""
    out: dict[str, list[Any]] = {"b": [], "y": [], "person": []}
    copies: dict[Person, int] = {}
    for person in dataset:
        copies[person] = copies.get(person, 0) + 1
        known, rows = person
        for value, label in rows:
            out["b"].append(value)
            out["y"].append(label)
            out["person"].append(f"{rows}, number {copies[person]}" if known else None)
    return out


def as_array(fit: Any, data: dict[str, list[Any]]) -> Any:
    return fit(np.array(data["b"])[:, None], np.array(data["y"]), persons=data["person"])


def as_frame(fit: Any, data: dict[str, list[Any]]) -> Any:
    frame = pl.DataFrame(data, schema={"b": pl.Int64, "y": pl.Int64, "person": pl.String})
    return fit(frame, "y", persons="person")


def as_reversed_rows(fit: Any, data: dict[str, list[Any]]) -> Any:
    return as_array(fit, {name: values[::-1] for name, values in data.items()})


def tree(accuracy_share: float = 1.0, **given: Any) -> Any:
    kind: dict[str, Any] = {"accuracy_share": accuracy_share, "domain": DOMAIN, "classes": (0, 1), "random_state": 0}
    return PrivateTreeClassifier(1, **kind, **given)


def rule_list(accuracy_share: float = 1.0, **given: Any) -> Any:
    kind: dict[str, Any] = {"accuracy_share": accuracy_share, "domain": DOMAIN, "classes": (0, 1), "random_state": 0}
    return PrivateRuleListClassifier(1, **kind, **given)


def greedy(**given: Any) -> Any:
    kind = {"mechanism": "counted-gini", "leaf_counts_share": 0.25, **given}
    return PrivateGreedyRuleListClassifier(1, domain=Domain.binary(["b", "c"]), classes=(0, 1), random_state=0, **kind)


def with_a_second_attribute(fit: Any) -> Any:
    """Return a fit on two attributes, the second that which is to be predicted: of one alone all rules say the same."""
    return lambda X, y, persons: fit(np.column_stack([X[:, 0], y]), y, persons=persons)


def outcome(fitted: Any) -> Hashable:
    return tuple((str(cell.inside), str(cell.outside), cell.evidence.prediction) for cell in fitted.model_.cells)


def mechanism(
    make: Make,
    read: Callable[[Any, dict[str, list[Any]]], Any] = as_array,
    *,
    crowd: Sequence[Person] = CROWD,
    certificates: set[str] | None = None,
    **given: Any,
) -> Callable[[tuple[Person, ...]], dict[Hashable, float]]:
    """Return the exact law of a fit on some persons beside the crowd."""

    def law(dataset: tuple[Person, ...]) -> dict[Hashable, float]:
        data = written([*crowd, *dataset])

        def noted(fitted: Any) -> Hashable:
            if certificates is not None:
                stated = fitted.certificate_.to_dict()
                assert stated.pop("model") == fingerprint(fitted.model_)
                certificates.add(json.dumps(stated))
            return outcome(fitted)

        def fit() -> Any:
            learner = make(**given)
            return read(with_a_second_attribute(learner.fit) if make is greedy else learner.fit, data)

        if make is greedy:
            return greedy_law.law_of_fit(fit, with_counts=False)
        return law_of_fit(fit, noted)

    return law


def verified(
    law: Callable[[tuple[Person, ...]], dict[Hashable, float]],
    universe: Sequence[Person],
    epsilon: float,
    most: int = 0,
) -> ExhaustiveResult[Person]:
    return verify_exhaustively(law, universe, max_records=most, epsilon=epsilon, slack=FLOATS)


CASES: dict[str, tuple[Make, dict[str, Any], list[Person], float]] = {
    "tree, one record": (tree, {"records_per_person": 1, "leaf_counts_share": 0.0}, UP_TO_THREE, 0.6),
    "tree, two records": (tree, {"records_per_person": 2, "leaf_counts_share": 0.0}, UP_TO_THREE, 0.6),
    "tree, three records": (tree, {"records_per_person": 3, "leaf_counts_share": 0.0}, UP_TO_TWO, 0.6),
    "tree, kept records": (
        tree,
        {"records_per_person": 2, "person_weights": "records", "leaf_counts_share": 0.0},
        UP_TO_THREE,
        0.6,
    ),
    "tree with counts": (tree, {"records_per_person": 2, "leaf_counts_share": 0.5}, UP_TO_TWO, 0.6),
    "rule list": (rule_list, {"records_per_person": 2, "leaf_counts_share": 0.0}, UP_TO_THREE, 0.6),
    "greedy list": (greedy, {"records_per_person": 2}, UP_TO_TWO, 0.2),
}


@pytest.mark.slow
def test_a_whole_person_changes_the_law_of_a_tree_that_ranks_by_at_most_epsilon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Base rates and probabilities are drawn too, so that each law has many more outputs."""
    monkeypatch.setattr(families, "MOST_STEPS", 1)
    few = [UP_TO_TWO[0], UP_TO_TWO[3], UP_TO_TWO[6], UP_TO_TWO[9], NAMELESS[1]]
    law = mechanism(tree, crowd=CROWD[:1], epsilon=4.0, accuracy_share=0.3, records_per_person=2, leaf_counts_share=0.0)
    result = verified(law, few, 4.0)
    assert result.holds, str(result)


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_a_whole_person_changes_the_law_by_at_most_epsilon(name: str, most: int) -> None:
    make, given, universe, tightness = CASES[name]
    certificates: set[str] = set()
    law = mechanism(make, certificates=certificates, epsilon=4.0, **given)
    everyone = [*universe, *NAMELESS] if most == 0 else FEW
    result = verified(law, everyone, 4.0, most)
    assert result.holds, str(result)
    # Few persons come near to epsilon only where one speaks for all outputs of a kind.
    assert result.tightness > tightness
    # The certificate is released as it is: the same whoever is there.
    assert len(certificates) == (0 if make is greedy else 1)


@pytest.mark.slow
@pytest.mark.parametrize("read", [as_array, as_frame, as_reversed_rows])
def test_two_persons_beside_one_and_however_they_are_written(read: Any) -> None:
    law = mechanism(tree, read, crowd=CROWD[:1], epsilon=3.0, records_per_person=2, leaf_counts_share=0.0)
    result = verified(law, [UP_TO_TWO[0], UP_TO_TWO[6], UP_TO_TWO[9], UP_TO_THREE[-2], NAMELESS[0]], 3.0, most=1)
    assert result.holds, str(result)


def test_the_order_of_rows_does_not_matter() -> None:
    dataset = (*CROWD, UP_TO_THREE[-3], UP_TO_THREE[20])
    given: dict[str, Any] = {"records_per_person": 2, "leaf_counts_share": 0.0, "epsilon": 3.0, "crowd": ()}
    laws = [mechanism(tree, read, **given)(dataset) for read in (as_array, as_reversed_rows, as_frame)]
    assert laws[0] == laws[1] == laws[2]


HONEST_RANKS, HONEST_IDENTIFIER, HONEST_TIMES = persons._ranks, identifier, CountedPersons.times


def ranks_that_look_at_others(person: Any, keys: Any, contents: Any) -> Any:
    """Order each person's records by a hash that all records enter."""
    return HONEST_RANKS(person, keys ^ np.uint64(len(person)), contents)


def missing_is_one_person(value: object) -> bytes | None:
    """Take every missing identifier for the same one."""
    return HONEST_IDENTIFIER(value) or b"missing"


def every_record_counts(whose: CountedPersons, columns: Any, labels: Any) -> Any:
    """Forget the limit of records."""
    return np.array([key is not None for key in whose.identifiers], dtype=np.int64)


def plant(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    if fault == "a pick that looks at others":
        monkeypatch.setattr(persons, "_ranks", ranks_that_look_at_others)
    elif fault == "a missing identifier is one person":
        monkeypatch.setattr(ingest, "identifier", missing_is_one_person)
    elif fault == "no limit of records":
        monkeypatch.setattr(CountedPersons, "times", every_record_counts)


FAULTS = ("a pick that looks at others", "a missing identifier is one person", "no limit of records")

TORN: tuple[Person, ...] = tuple((True, ((0, 0), (1, 1), (0, 1), (1, 0), *[row] * k)) for k in range(3) for row in ROWS)
"""Persons with records of every kind, of whom it matters which is kept."""


def law_for_faults(**given: Any) -> Callable[[tuple[Person, ...]], dict[Hashable, float]]:
    crowd = (*TORN[:6], (False, ((0, 0),)), (False, ((1, 1),)))
    return mechanism(tree, crowd=crowd, epsilon=1.0, records_per_person=1, leaf_counts_share=0.0, **given)


@pytest.mark.parametrize("fault", [*(pytest.param(fault, marks=pytest.mark.slow) for fault in FAULTS[:-1]), FAULTS[-1]])
def test_a_planted_fault_is_found_exhaustively_and_its_honest_twin_passes(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    universe: list[Person] = [*UP_TO_TWO, (True, ((0, 0),) * 5), *NAMELESS]
    result = verified(law_for_faults(), universe, 1.0)
    assert result.holds, str(result)
    plant(monkeypatch, fault)
    result = verified(law_for_faults(), universe, 1.0)
    assert not result.holds, str(result)
    if fault == "a missing identifier is one person":
        assert not all(known for known, _ in (*result.smaller, *result.larger))


MANY: Person = (True, ((0, 0),) * 28)

Counts: TypeAlias = tuple[int, int]
"""Released numbers of records of the two classes."""


def difference(counts: Counts) -> float:
    """Return how many more records are of the first class."""
    return float(counts[0] - counts[1])


def exchanged(counts: Counts) -> float:
    """Return how surely a record of the first class has given way to one of the second: sixteen and fifteen before."""
    return min(15.5 - counts[0], counts[1] - 15.5)


BALANCED: list[Person] = [(True, ((0, label),)) for label in (0, 1) for _ in range(15)]

NEIGHBORS: dict[str, tuple[list[Person], Person, Callable[[Counts], float]]] = {
    "a pick that looks at others": ([person for person in TORN for _ in range(4)], TORN[0], difference),
    "a missing identifier is one person": ([*BALANCED, NAMELESS[0]], NAMELESS[1], exchanged),
    "no limit of records": (list(CROWD), MANY, difference),
}
"""Persons beside whom each fault shows; who is added, a person or a record without an identifier; and what tells."""


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_on_many_runs_and_its_honest_twin_is_not_accused(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def released(dataset: list[Person], seed: int | None) -> Counts:
        data = written(dataset)
        learner = PrivateTreeClassifier(
            1,
            epsilon=1.0,
            domain=DOMAIN,
            classes=(0, 1),
            leaf_counts_share=0.9,
            split_weight=1e-6,
            records_per_person=1,
            random_state=seed,
        )
        model = as_array(learner.fit, data).model_
        first, second = np.array([cell.evidence.counts for cell in model.cells]).sum(axis=0).tolist()
        return first, second

    d0, more, score = NEIGHBORS[fault]
    d1 = [*d0, more]
    runs = Runs(3000 if fault == "a missing identifier is one person" else 1500)
    options: dict[str, Any] = {"runs": runs, "claim": Claim(epsilon=1.0, confidence=0.9999), "score": score}
    assert not lower_bound(released, d0, d1, **options).violated
    plant(monkeypatch, fault)
    found = lower_bound(released, d0, d1, **options)
    assert found.violated, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("make", [tree, rule_list])
def test_a_person_with_many_records_is_covered_by_as_much_as_one_with_few(make: Make) -> None:
    for m in (1, 2, 5):
        law = mechanism(make, epsilon=1.0, records_per_person=m, leaf_counts_share=0.0)
        result = verified(law, [MANY, (True, ((1, 1),) * 28)], 1.0)
        assert result.holds, str(result)


@pytest.mark.parametrize("make", [tree, rule_list])
def test_without_persons_many_records_of_one_are_so_many_records(make: Make) -> None:
    data = written([*CROWD, MANY])

    def law(stop: int) -> dict[Hashable, float]:
        X, y = np.array(data["b"])[:stop, None], np.array(data["y"])[:stop]
        return law_of_fit(lambda: make(epsilon=1.0, leaf_counts_share=0.0).fit(X, y), outcome)

    smaller, larger = law(-28), law(len(data["y"]))
    assert max(abs(larger[key] - smaller[key]) for key in larger) > 3.0
