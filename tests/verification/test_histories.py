"""Given the same releases, two neighbors give the same file: nothing else of the records is in it."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from glassine import Category, Domain, Integer, PrivateEBMClassifier, PrivateScorecardClassifier, PrivateSummary
from glassine.errors import PrivacyLeakWarning
from glassine.learners.additive import penalized
from glassine.learners.summaries import release, rounds
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.release import fresh_count

DOMAIN = Domain(
    {
        "age": Integer(0, 99, thresholds=(30, 60)),
        "job": Category(("clerk", "baker", "judge"), missing=True),
        "grade": Integer(0, 9, missing=True),
        "ill": Category(("no", "yes")),
    }
)
MAKES: dict[str, Callable[[], Any]] = {
    "summary": lambda: PrivateSummary(4.0, domain=DOMAIN),
    "additive": lambda: PrivateEBMClassifier(4.0, domain=DOMAIN),
    "scorecard": lambda: PrivateScorecardClassifier(4.0, domain=DOMAIN),
}
MORE = (
    {"age": 99, "job": "never", "grade": None, "ill": "yes"},
    {"age": -7, "job": None, "grade": 9, "ill": "no"},
    {"age": 50, "job": "judge", "grade": 4, "ill": "yes"},
)


def records(n: int = 1200) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, n)
    return pl.DataFrame(
        {
            "age": age,
            "job": rng.choice(["clerk", "baker", "judge", "odd"], n),
            "grade": np.clip(age // 10 + rng.integers(-1, 2, n), 0, 9),
            "ill": np.where((age > 60) ^ (rng.random(n) < 0.1), "yes", "no"),
        }
    )


def replayed(make: Callable[[], Any], first: Any, second: Any, patch: pytest.MonkeyPatch) -> tuple[Any, Any, float]:
    """Fit both data sets; the second gets what the first released.

    The number is the largest l2 distance of the exact sums of one release, relative to what its noise is for.
    """
    honest = FineNoise.release
    tape: list[tuple[FineNoise, npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
    moved: dict[FineNoise, float] = defaultdict(float)

    def recorded(noise: FineNoise, sums: Any, randomness: Any) -> Any:
        exact = np.array(sums, dtype=np.int64)
        tape.append((noise, exact, honest(noise, exact, randomness)))
        return tape[-1][2]

    def played(noise: FineNoise, sums: Any, randomness: Any) -> Any:
        kept, exact, out = tape.pop(0)
        assert kept == noise
        assert np.shape(sums) == np.shape(out), "the shape of a release tells nothing"
        apart = float(((np.asarray(sums) - exact).astype(np.float64) ** 2).sum()) / noise.l2_sensitivity**2
        # The tables of one release, and the levels of a tree, share a noise and add up; rounds share it and do not,
        # so that those of a summary are counted below.
        moved[noise] = moved[noise] + apart if isinstance(learner, PrivateSummary) else max(moved[noise], apart)
        return out

    fitted = []
    for rows, way in ((first, recorded), (second, played)):
        patch.setattr(FineNoise, "release", way)
        learner = make()
        with fresh_count(), warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            fitted.append(learner.fit(rows, "ill"))
    patch.setattr(FineNoise, "release", honest)
    assert not tape
    times = {event.sigma: event.count for event in fitted[0].certificate_.events}
    if isinstance(fitted[0], PrivateSummary):
        moved = {noise: value / times[noise.sigma] for noise, value in moved.items()}
    return fitted[0], fitted[1], max(moved.values()) ** 0.5


@pytest.mark.parametrize("kind", MAKES)
@pytest.mark.parametrize("more", MORE)
def test_neighbors_differ_in_the_sums_that_get_noise_alone(
    kind: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = records()
    neighbor = pl.concat([rows, pl.DataFrame([more], schema=rows.schema)])
    one, other, moved = replayed(MAKES[kind], rows, neighbor, monkeypatch)
    assert 0 < moved <= 1
    assert one.certificate_.to_json() == other.certificate_.to_json(), "the digest of all that is published is in it"


def plain(exact: Any, portion: Any, name: str) -> Any:
    _, deviation, event = TABLES(exact, portion, name)
    return [np.asarray(table, dtype=np.float64) for table in exact], deviation, event


def scores_alone(joint: Any, independent: Any, portion: Any) -> Any:
    noisy, deviation, event = SCORES(joint, independent, portion)
    return {pair: float(release._distance(joint[pair], independent[pair], 1)) for pair in noisy}, deviation, event


def exact_lack(records: Any, codes: Any, shapes: Any, part_of: Any, share: float) -> Any:
    lack, events = LACK(records, codes, shapes, part_of, share)
    assert lack is not None
    return penalized.Lack(total=lack.total + float(records.binned.values.sum()), deviation=lack.deviation), events


def exact_rounds(records: Any, grids: Any, released: Any, portion: Any) -> Any:
    noisy, event = ROUNDS(records, grids, released, portion)
    exact = [replace(one, sums=one.sums + float(records.values.sum())) for one in noisy.rounds]
    return replace(noisy, rounds=tuple(exact)), event


ROUNDS = rounds.release_rounds
TABLES, SCORES, LACK = release._release_tables, release._release_scores, penalized._lack


@pytest.mark.parametrize(
    ("kind", "room", "name", "fault"),
    [
        ("summary", release, "_release_tables", plain),
        ("summary", release, "_release_scores", scores_alone),
        ("summary", release, "release_rounds", exact_rounds),
        ("additive", penalized, "_lack", exact_lack),
    ],
)
def test_a_release_without_noise_is_found(
    kind: str, room: Any, name: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = records()
    monkeypatch.setattr(room, name, fault)
    neighbor = pl.concat([rows, pl.DataFrame([MORE[2]], schema=rows.schema)])
    one, other, _ = replayed(MAKES[kind], rows, neighbor, monkeypatch)
    assert one.certificate_.model != other.certificate_.model
