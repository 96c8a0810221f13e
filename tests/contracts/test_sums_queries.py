"""Every question about sums: what one record moves, on all small datasets; and what a release lets be asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.fine_gaussian import wrapped
from glassine.sealed import draws
from glassine.sealed.gaussian import ExactSumsOracle, GaussianOracle, SumsQuery
from glassine.sealed.noisy_sums import SumsRelease
from glassine.sealed.released_bins import PARTS, Events, Terms
from glassine.sealed.residuals import (
    Distances,
    GainsOfPairs,
    InLeaves,
    Lacking,
    Moved,
    OfTarget,
    PairCounts,
    Residuals,
    Spans,
    Squares,
    Tables,
    Totals,
)
from glassine.sealed.sums import Moves
from tests.learners.sums import Given, oracle_of, store_of

UNITS = 2**20
SIZES = (2, 3)
AXES: Any = tuple(SimpleNamespace(n_bins=size) for size in SIZES)
TERMS = Terms(grids=(), axes=AXES)
PAIR: Any = SimpleNamespace(first=0, second=1, groups=(np.arange(2), np.arange(3)), shape=SIZES, n_cells=6)
RNG = np.random.default_rng(0)
STEP = np.where(np.arange(3)[None, :, None] < np.array(SIZES)[:, None, None], RNG.normal(0, 3, (2, 3, 1)), 0.0)
START, STILL = np.zeros(1), Moves(np.zeros((2, 3, 1)), np.zeros(1))
MOVED = Moves(STEP, np.array([0.5]))
GRIDS: Any = AXES


def rounds(classes: bool, moves: Moves = MOVED) -> Residuals:
    return Residuals(terms=TERMS, start=START, moves=moves, classes=classes, clip=0.3)


def leaves(classes: bool) -> InLeaves:
    return InLeaves(
        terms=TERMS,
        start=np.array([4.0]),
        places=slice(0, 1),
        leaf_of=np.array([[0, 1, 0]]),
        sizes=np.ones((1, 2)),
        rate=0.5,
        classes=classes,
        clip=1.0,
    )


def tables(parts: int) -> dict[str, SumsQuery]:
    own: dict[str, Any] = {"terms": TERMS, "n_classes": 2, "parts": parts}
    model = RNG.random((2, 3, 2)) * 3
    return {
        "tables": Tables(places=((0,), (1,)), **own),
        "pairs by class": Tables(places=((0, 1),), **own),
        "distances": Distances(models=(((0, 1), model),), **own),
    }


def lacking(classes: bool, in_bins: bool) -> Lacking:
    return Lacking(terms=TERMS, scores=MOVED, classes=classes, clip=1.0, in_bins=in_bins)


def gains(classes: bool) -> GainsOfPairs:
    return GainsOfPairs(terms=TERMS, start=START, pairs=(PAIR,), classes=classes, clip=0.3, score=0.15)


OF_ANY: dict[str, Callable[[bool], SumsQuery]] = {
    "rounds": rounds,
    "leaves": leaves,
    "lacking in bins": lambda classes: lacking(classes, True),
    "lacking": lambda classes: lacking(classes, False),
    "gains": gains,
    "pair counts": lambda _: PairCounts(terms=TERMS, pairs=(PAIR,), outputs=1),
}
QUESTIONS: dict[tuple[str, bool], SumsQuery] = {
    **{(name, classes): make(classes) for name, make in OF_ANY.items() for classes in (True, False)},
    **{(name, True): one for name, one in tables(1).items()},
    **{(name, False): one for name, one in tables(PARTS).items()},
    ("target", True): OfTarget(n_classes=2),
    ("target", False): OfTarget(n_classes=None),
    ("squares", False): Squares(),
    ("rounds of events", False): replace(rounds(False), curved=0.4),
    ("lacking of events", False): replace(lacking(False, False), curved=0.4),
    ("gains of events", False): replace(gains(False), curved=0.4),
    ("target of events", False): OfTarget(n_classes=None, exposed=True),
    ("totals", True): Totals(terms=TERMS, points=(np.array([0, 2]), np.array([0, 1, 3])), first=0, size=6),
    ("spans", True): Spans(grids=GRIDS, spans=(np.array([[0, 1], [1, 2]]), np.array([[0, 2]]))),
}
LOOSE = {
    "gains",
    "leaves",
    "rounds",
    "lacking",
    "lacking in bins",
    *(f"{name} of events" for name in ("rounds", "gains")),
}
"""What the records at hand do not move by as much as any could."""


def kinds(classes: bool) -> list[tuple[int, int, float]]:
    return [(a, b, y) for a, b in product(range(2), range(3)) for y in ((0, 1) if classes else (-1.0, 0.2, 1.0))]


EXPOSURES = np.array([0.05, 1.0, 0.6])
"""The exposure of each record of events, by its second bin."""


def store(rows: Any, classes: bool, events: bool = False) -> Any:
    table = np.array(rows, dtype=float).reshape(-1, 3)
    codes = np.ascontiguousarray(table[:, :2].T.astype(np.uint8))
    values = table[:, 2].astype(np.int64) if classes else np.ascontiguousarray(table[:, 2])
    counts = [np.bincount(row, minlength=size) for row, size in zip(codes, SIZES, strict=True)]
    made = store_of(codes=codes, values=values, counts=counts)
    if events:
        made.events = Events()
        made.exposures = EXPOSURES[codes[1]]
        made.offset = np.log(made.exposures)
    return made


def neighbors(classes: bool) -> Iterator[tuple[list[Any], list[Any]]]:
    every = kinds(classes)
    larger = [[every[k] for k in RNG.integers(0, len(every), size)] for size in (2, 3, 6, 6)]
    for before in ([], *([one] for one in every), *larger):
        for place, more in enumerate(every):
            at = place % (len(before) + 1)
            yield before, [*before[:at], more, *before[at:]]


def most_moved(question: SumsQuery, classes: bool, events: bool) -> float:
    """Return the largest square of what a record moves, in ones."""
    squares = []
    for before, after in neighbors(classes):
        less, more = (question.exact(store(rows, classes, events), UNITS).astype(object) for rows in (before, after))
        change = wrapped((more - less).ravel().tolist()).astype(float) / UNITS
        squares.append(float((change**2).sum()))
    return max(squares)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "classes"), QUESTIONS)
def test_one_record_moves_a_question_by_what_it_says(name: str, classes: bool) -> None:
    question = QUESTIONS[name, classes]
    moved = most_moved(question, classes, name.endswith("events"))
    assert moved <= question.squared
    assert moved > (0.2 if name in LOOSE else 0.9) * question.squared * (0.6 if name == "pairs by class" else 1)


def test_every_question_is_among_them() -> None:
    def below(kind: type) -> Iterator[type]:
        kinds_below: list[type] = kind.__subclasses__()
        for own in kinds_below:
            yield own
            yield from below(own)

    asked = {type(one).__name__ for one in QUESTIONS.values()} | {Moved.__name__}
    # By name: a dataclass with slots is made twice.
    assert asked == {kind.__name__ for kind in below(SumsQuery) if kind.__module__.startswith("glassine.")}


RELEASE = SumsRelease(name="counts", squared=1, values=2, proof="learners/additive/targets.md", times=2)
DATA = Given(values=np.array([0, 1, 1]))


def test_a_release_answers_what_was_paid_for_and_no_more() -> None:
    for oracle in (oracle_of(DATA), oracle_of(DATA)):
        drawing = oracle.release(RELEASE, oracle.whole)
        assert len(drawing.ask(OfTarget(n_classes=2))) == len(drawing.ask(OfTarget(n_classes=2))) == 2
        with pytest.raises(RuntimeError, match="more than was paid for"):
            drawing.ask(OfTarget(n_classes=2))
    larger = oracle_of(DATA)
    with pytest.raises(RuntimeError, match="more than was paid for"):
        larger.release(RELEASE, larger.whole).ask(OfTarget(n_classes=None))


def test_an_event_is_kept_before_its_draw_and_nothing_is_answered_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle, seen = oracle_of(DATA), list[Any]()

    def broken(*_: Any) -> Any:
        seen.append(oracle.events)
        raise ValueError("planted")

    monkeypatch.setattr(draws, "gaussian", broken)
    drawing = oracle.release(RELEASE, oracle.whole)
    with pytest.raises(ValueError, match="planted"):
        drawing.ask(OfTarget(n_classes=2))
    ((event,),) = seen
    assert isinstance(event, DiscreteGaussianNoise)
    assert (event.name, event.count, event.values) == ("counts", 2, 2)
    oracle.close()
    with pytest.raises(ValueError, match="unpack"):
        drawing.ask(OfTarget(n_classes=2))


def test_neither_oracle_nor_drawing_shows_or_keeps_records() -> None:
    oracle, exact = oracle_of(DATA), ExactSumsOracle.of(DATA)
    for one in (oracle, exact, oracle.release(RELEASE, oracle.whole), exact.release(RELEASE, exact.whole)):
        assert not [name for name in dir(one) if not name.startswith("_") and "record" in name]
        assert "object" not in repr(one)
    with pytest.raises(TypeError, match="not kept"):
        GaussianOracle.__reduce__(oracle)


def test_spans_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="must not overlap"):
        Spans(grids=GRIDS, spans=(np.array([[0, 2], [1, 2]]), np.empty((0, 2), dtype=np.int64)))
