"""Given the same releases, two neighbors give the same file: nothing else of the records is in it."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from glassine import Category, Domain, Integer, Real
from glassine.errors import PrivacyLeakWarning
from glassine.learners import PrivateEBMClassifier, PrivateScorecardClassifier, PrivateSummary
from glassine.learners.additive import penalized
from glassine.learners.summaries import released_tables
from glassine.privacy.conversions import mu_from_epsilon
from glassine.privacy.fine_gaussian import FineNoise
from glassine.privacy.release import fresh_count
from glassine.sealed import binned, draws, gaussian, ingest
from glassine.sealed.gaussian import GaussianOracle
from glassine.sealed.released_bins import PARTS
from tests.learners.sums import released, through

DOMAIN = Domain(
    {
        "age": Integer(0, 99, thresholds=(30, 60)),
        "job": Category(("clerk", "baker", "judge"), missing=True),
        "grade": Integer(0, 9, missing=True),
        "ill": Category(("no", "yes")),
    }
)
NUMERIC = Domain({name: DOMAIN[name] for name in ("age", "job", "grade")} | {"ill": Real(0, 10)})
"""The same with a number as the target."""


@cache
def plan(numbers: bool) -> Any:
    """Return the plan of another site: of other records."""
    rows = records(800, numbers=numbers)
    learner = PrivateSummary(epsilon=4.0, domain=NUMERIC if numbers else DOMAIN, random_state=5)
    with fresh_count(), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return learner.fit(rows, "ill").plan_


MAKES: dict[str, Callable[[], Any]] = {
    "summary": lambda: PrivateSummary(epsilon=4.0, domain=DOMAIN),
    "summary of a number": lambda: PrivateSummary(epsilon=4.0, domain=NUMERIC),
    "summary that follows": lambda: PrivateSummary(epsilon=4.0, domain=DOMAIN, follows=plan(False)),
    "summary of a number that follows": lambda: PrivateSummary(epsilon=4.0, domain=NUMERIC, follows=plan(True)),
    "additive": lambda: PrivateEBMClassifier(epsilon=4.0, domain=DOMAIN),
    "scorecard": lambda: PrivateScorecardClassifier(epsilon=4.0, domain=DOMAIN),
}
MORE = (
    {"age": 99, "job": "never", "grade": None, "ill": "yes"},
    {"age": -7, "job": None, "grade": 9, "ill": "no"},
    {"age": 50, "job": "judge", "grade": 4, "ill": "yes"},
)


def records(n: int = 1200, *, numbers: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, n)
    return pl.DataFrame(
        {
            "age": age,
            "job": rng.choice(["clerk", "baker", "judge", "odd"], n),
            "grade": np.clip(age // 10 + rng.integers(-1, 2, n), 0, 9),
            "ill": age / 12 + rng.normal(0, 1, n)
            if numbers
            else np.where((age > 60) ^ (rng.random(n) < 0.1), "yes", "no"),
        }
    )


def neighbors(kind: str, more: dict[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return records, and the same with one more; a number is far outside of its range, or within it."""
    rows = records(numbers="number" in kind)
    if "number" in kind:
        more = more | {"ill": 3.3 if more["grade"] == 4 else 1e3 * (1 if more["ill"] == "yes" else -1)}
    return rows, pl.concat([rows, pl.DataFrame([more], schema=rows.schema)])


class DifferentRelease(AssertionError):
    """The second fit asks for another noise or shape than the first: it follows from the records."""


def replayed(
    make: Callable[[], Any], first: Any, second: Any, patch: pytest.MonkeyPatch
) -> tuple[Any, Any, float, float]:
    """Fit both datasets; the second gets what the first released.

    The numbers are the largest l2 distance of the exact sums of one release, relative to what its noise is for; and the
    mu of the whole history, from all distances over the noise that they got, relative to that of epsilon and delta.
    """
    honest, spent = draws.gaussian, 0.0
    tape: list[tuple[FineNoise, npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
    moved: dict[FineNoise, float] = defaultdict(float)

    def recorded(noise: FineNoise, sums: Any, randomness: Any) -> Any:
        exact = np.array(sums, dtype=np.int64)
        tape.append((noise, exact, released(noise, exact, randomness)))
        return tape[-1][2]

    def played(noise: FineNoise, sums: Any, randomness: Any) -> Any:
        nonlocal spent
        kept, exact, out = tape.pop(0)
        if (kept, np.shape(out)) != (noise, np.shape(sums)):
            raise DifferentRelease
        square = float(((np.asarray(sums) - exact).astype(np.float64) ** 2).sum())
        apart, spent = square / noise.l2_sensitivity**2, spent + square / noise.sigma**2
        # The tables of one release, and the levels of a tree, share a noise and add up; rounds share it and do not,
        # so that those of a summary are counted below.
        moved[noise] = moved[noise] + apart if isinstance(learner, PrivateSummary) else max(moved[noise], apart)
        return out

    fitted = []
    for rows, way in ((first, recorded), (second, played)):
        through(patch, way)
        learner = make()
        with fresh_count(), warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)
            fitted.append(learner.fit(rows, "ill"))
    patch.setattr(draws, "gaussian", honest)
    assert not tape
    times = {event.sigma: event.count for event in fitted[0].certificate_.events}
    if isinstance(fitted[0], PrivateSummary):
        moved = {noise: value / times[noise.sigma] for noise, value in moved.items()}
    whole = mu_from_epsilon(fitted[0].epsilon, fitted[0].delta)
    return fitted[0], fitted[1], max(moved.values()) ** 0.5, spent**0.5 / whole


@pytest.mark.parametrize("kind", MAKES)
@pytest.mark.parametrize("more", MORE)
def test_neighbors_differ_in_the_sums_that_get_noise_alone(
    kind: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan("number" in kind)  # before draws are replaced
    one, other, moved, spent = replayed(MAKES[kind], *neighbors(kind, more), monkeypatch)
    assert 0 < moved <= 1
    # Whatever the stages say of each other: what the sums and the noise say together.
    assert 0.5 < spent <= 1
    assert one.certificate_.to_json() == other.certificate_.to_json(), "the digest of all that is published is in it"


@pytest.mark.parametrize("kind", ["additive", "scorecard"])
def test_a_budget_that_is_spent_on_each_round_anew_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest, paid = GaussianOracle.release, gaussian.Drawing.__init__

    # The certificate is told of one round, and adds up to the claim.
    def once(oracle: Any, release: Any, portion: Any) -> Any:
        return honest(oracle, replace(release, times=1), portion)

    monkeypatch.setattr(GaussianOracle, "release", once)
    monkeypatch.setattr(gaussian.Drawing, "__init__", lambda own, held, noise, _: paid(own, held, noise, 1e9))
    *_, spent = replayed(MAKES[kind], *neighbors(kind, MORE[2]), monkeypatch)
    assert spent > 1.2


def store_of(oracle: Any) -> Any:
    return oracle._GaussianOracle__stores[0]


def plain(oracle: Any, portion: Any, name: str, question: Any) -> Any:
    noisy, deviation = TABLES(oracle, portion, name, question)
    exact = np.split(question.exact(store_of(oracle), PARTS) / PARTS, np.cumsum([one.size for one in noisy])[:-1])
    return [own.reshape(one.shape) for own, one in zip(exact, noisy, strict=True)], deviation


def scores_alone(oracle: Any, portion: Any, question: Any) -> Any:
    noisy, deviation = SCORES(oracle, portion, question)
    return dict(zip(noisy, (question.exact(store_of(oracle), PARTS) / PARTS).tolist(), strict=True)), deviation


def exact_lack(oracle: Any, portion: Any, terms: Any, shapes: Any, base: Any) -> Any:
    lack = LACK(oracle, portion, terms, shapes, base)
    assert lack is not None
    return penalized.Lack(total=lack.total + float(store_of(oracle).records.values.sum()), deviation=lack.deviation)


def exact_squares(oracle: Any, portion: Any) -> Any:
    _, deviation = SQUARES(oracle, portion)
    return float((store_of(oracle).records.values ** 2).sum()), deviation


def exact_rounds(oracle: Any, portion: Any, grids: Any, released: Any) -> Any:
    noisy = ROUNDS(oracle, portion, grids, released)
    exact = [replace(one, sums=one.sums + float(store_of(oracle).records.values.sum())) for one in noisy.rounds]
    return replace(noisy, rounds=tuple(exact))


ROUNDS, SQUARES = released_tables.release_rounds, released_tables._release_squares
TABLES, SCORES, LACK = released_tables._release_tables, released_tables._release_scores, penalized._lack


@pytest.mark.parametrize(
    ("kind", "room", "name", "fault"),
    [
        ("summary", released_tables, "_release_tables", plain),
        ("summary", released_tables, "_release_scores", scores_alone),
        ("summary", released_tables, "release_rounds", exact_rounds),
        ("summary of a number", released_tables, "_release_tables", plain),
        ("summary of a number", released_tables, "_release_scores", scores_alone),
        ("summary of a number", released_tables, "_release_squares", exact_squares),
        ("summary of a number", released_tables, "release_rounds", exact_rounds),
        ("additive", penalized, "_lack", exact_lack),
    ],
)
def test_a_release_without_noise_is_found(
    kind: str, room: Any, name: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, name, fault)
    try:
        one, other, *_ = replayed(MAKES[kind], *neighbors(kind, MORE[2]), monkeypatch)
    except DifferentRelease:
        return
    assert one.certificate_.model != other.certificate_.model


def not_clipped(numbers: Any, bounds: tuple[float, float]) -> Any:
    """Return targets in units of half the range, not clipped above."""
    return np.maximum((numbers - bounds[0]) * 2 / (bounds[1] - bounds[0]) - 1, -1.0)


def of_the_data(numbers: Any, bounds: tuple[float, float]) -> Any:
    """Return targets in units of half the range of the records at hand."""
    return SCALED(numbers, (float(numbers.min()), float(numbers.max())))


def twice(values: Any, n_levels: int) -> Any:
    """Return parts of records that stand at both levels as a whole: its number is not accounted for."""
    return [(labels, np.full(len(labels), PARTS)) for labels, _ in PARTS_OF(values, n_levels)]


SCALED, PARTS_OF = ingest.scaled, binned.parts_of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("room", "name", "fault"),
    [
        (ingest, "scaled", not_clipped),
        (ingest, "scaled", of_the_data),
        (binned, "parts_of", twice),
    ],
)
def test_a_number_that_counts_for_more_than_its_noise_is_found(
    room: Any, name: str, fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, name, fault)
    _, _, moved, _ = replayed(MAKES["summary of a number"], *neighbors("summary of a number", MORE[0]), monkeypatch)
    assert moved > 1.2
