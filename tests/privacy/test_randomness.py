"""The door to randomness: exact draws, repeatable only under a seed, nothing shared."""

from __future__ import annotations

import copy
import math
import os
import pickle
import random
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from glassine.errors import GlassineError
from glassine.privacy.randomness import Randomness, RandomState

THRESHOLD = 1e-9


class Words:
    """A source that hands out given words, in blocks of the size asked for."""

    def __init__(self, *words: int) -> None:
        self.words = list(words)

    def __call__(self, n_bytes: int) -> bytes:
        count = n_bytes // 8
        block = (self.words + [0] * count)[:count]
        self.words = self.words[count:]
        # The buffer is read from its end.
        return b"".join(word.to_bytes(8, "little") for word in reversed(block))


def test_below_leaves_out_the_surplus_words() -> None:
    # 2**64 = 3 * k + 1: exactly one word must be rejected, the one whose product has a low half below 1.
    stream = Randomness(Words(0, 2**63, 2**64 - 1), seeded=True)
    assert [stream.below(3), stream.below(3)] == [1, 2]


def test_below_splits_a_word_evenly() -> None:
    stream = Randomness(Words(*(i << 60 for i in range(16))), seeded=True)
    assert [stream.below(4) for _ in range(16)] == [i // 4 for i in range(16)]


@pytest.mark.parametrize("limit", [1, 2, 7, 2**64 - 1, 2**64, 2**64 + 1, 3 * 2**70])
def test_below_stays_below_and_is_uniform(limit: int) -> None:
    stream = Randomness.of(5)
    draws = [stream.below(limit) for _ in range(20_000)]
    assert min(draws) >= 0
    assert max(draws) < limit
    cells = min(limit, 7)
    observed = np.bincount([draw * cells // limit for draw in draws], minlength=cells)
    edges = [-(-limit * i // cells) for i in range(cells + 1)]
    shares = np.array([(b - a) / limit for a, b in pairwise(edges)])
    assert cells == 1 or stats.chisquare(observed, shares * len(draws)).pvalue > THRESHOLD


@pytest.mark.parametrize("k", [0, 1, 5, 64, 65, 200])
def test_bits_cover_their_range(k: int) -> None:
    stream = Randomness.of(6)
    draws = [stream.bits(k) for _ in range(400)]
    assert all(0 <= draw < 2**k for draw in draws)
    for bit in range(k):
        assert 120 < sum(draw >> bit & 1 for draw in draws) < 280


def binomial_accepts(successes: int, n: int, p: float) -> bool:
    return bool(stats.binomtest(successes, n, p).pvalue > THRESHOLD)


@pytest.mark.slow
@pytest.mark.parametrize(
    "gamma", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(2**70 + 1, 2**70), Fraction(5)]
)
def test_bernoulli_exp_has_its_probability(gamma: Fraction) -> None:
    stream = Randomness.of(7)
    n = 150_000
    successes = sum(stream.bernoulli_exp(gamma) for _ in range(n))
    assert binomial_accepts(successes, n, math.exp(-gamma))
    assert not binomial_accepts(successes, n, math.exp(-gamma * Fraction(9, 10)))
    assert not binomial_accepts(successes, n, math.exp(-gamma * Fraction(11, 10)))


def test_bernoulli_exp_of_zero_is_certain() -> None:
    stream = Randomness.of(8)
    assert all(stream.bernoulli_exp(Fraction(0)) for _ in range(100))


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 3), (1, 3), (3, 3), (10**30, 3 * 10**30)])
def test_bernoulli_has_its_probability(numerator: int, denominator: int) -> None:
    stream = Randomness.of(9)
    successes = sum(stream.bernoulli(numerator, denominator) for _ in range(20_000))
    assert binomial_accepts(successes, 20_000, numerator / denominator)


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 3), (2, 3), (7, 2), (10**6, 3 * 10**6)])
def test_geometric_has_its_distribution(numerator: int, denominator: int) -> None:
    stream = Randomness.of(10)
    rate = numerator / denominator
    draws = np.array([stream.geometric(numerator, denominator) for _ in range(40_000)])

    def accepts(factor: float) -> bool:
        cells = np.arange(max(2, int(4 / rate)))
        shares = -np.expm1(-rate * factor) * np.exp(-rate * factor * cells)
        shares = np.append(shares, 1 - shares.sum())
        observed = np.bincount(np.minimum(draws, len(cells)), minlength=len(shares))
        return bool(stats.chisquare(observed, shares * len(draws)).pvalue > THRESHOLD)

    assert accepts(1.0)
    assert not accepts(0.9)
    assert not accepts(1.1)


def test_a_seed_repeats_and_the_operating_system_does_not() -> None:
    assert [Randomness.of(3).bits(64) for _ in range(2)] == [Randomness.of(3).bits(64)] * 2
    assert Randomness.of(None).bits(128) != Randomness.of(None).bits(128)
    first, second = (Randomness.of(np.random.default_rng(4)).bits(64) for _ in range(2))
    assert first == second
    first, second = (Randomness.of(np.random.RandomState(4)).bits(64) for _ in range(2))
    assert first == second
    assert Randomness.of(np.int64(3)).bits(64) == Randomness.of(3).bits(64)


@pytest.mark.parametrize(
    ("random_state", "seeded"),
    [(None, False), (0, True), (np.random.default_rng(0), True), (np.random.RandomState(0), True)],
)
def test_seeded_says_whether_it_can_be_repeated(random_state: RandomState, seeded: bool) -> None:
    assert Randomness.of(random_state).seeded is seeded
    assert Randomness.of(Randomness.of(random_state)).seeded is seeded


@pytest.mark.parametrize("random_state", [True, -1, 1.5, "seed", np.random])
def test_other_random_states_are_refused(random_state: object) -> None:
    with pytest.raises(GlassineError, match="random_state must be None, a whole number"):
        Randomness.of(random_state)  # type: ignore[arg-type]  # the mistake is the test


@pytest.mark.parametrize(
    "source",
    [
        np.random.default_rng(0).bytes,
        np.random.default_rng().bytes,
        np.random.RandomState(0).bytes,
        np.random.bytes,
        random.Random(0).randbytes,
        lambda size: bytes(size),
    ],
)
def test_a_source_counts_as_seeded_unless_it_is_the_operating_systems(source: Callable[[int], bytes]) -> None:
    assert Randomness(source).seeded
    assert not Randomness(source).vouched


@pytest.mark.parametrize("source", [None, os.urandom, secrets.token_bytes, random.SystemRandom().randbytes])
def test_the_operating_systems_entropy_is_private_by_any_door(source: Callable[[int], bytes] | None) -> None:
    for stream in (Randomness(source), Randomness(source, seeded=False)):
        assert (stream.seeded, stream.vouched) == (False, False)
        assert 0 <= stream.below(10) < 10


def test_a_caller_vouches_for_a_source_but_not_for_a_generator_with_a_seed() -> None:
    stream = Randomness(lambda size: os.urandom(size), seeded=False)
    assert (stream.seeded, stream.vouched) == (False, True)
    for source in (np.random.default_rng(0).bytes, np.random.RandomState(0).bytes, random.Random(0).randbytes):
        with pytest.raises(GlassineError, match="a generator with a seed"):
            Randomness(source, seeded=False)


def test_seeded_is_not_set_afterwards_and_a_subclass_counts_as_seeded() -> None:
    class Mine(Randomness):
        def below(self, limit: int) -> int:
            return 0

    assert Mine().seeded
    stream = Randomness.of(0)
    with pytest.raises(AttributeError):
        stream.seeded = False  # type: ignore[misc]  # the mistake is the test
    assert stream.seeded


def test_a_source_that_is_seeded_must_be_given() -> None:
    with pytest.raises(GlassineError, match="a seeded stream needs a source"):
        Randomness(seeded=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda stream: stream.below(0),
        lambda stream: stream.below(-3),
        lambda stream: stream.bits(-1),
        lambda stream: stream.bernoulli(2, 1),
        lambda stream: stream.bernoulli(-1, 2),
        lambda stream: stream.bernoulli(0, 0),
        lambda stream: stream.bernoulli_exp(Fraction(-1, 2)),
        lambda stream: stream.bernoulli_exp_ratio(1, 0),
        lambda stream: stream.geometric(0, 1),
        lambda stream: stream.geometric(1, -1),
    ],
)
def test_impossible_draws_are_refused(call: Callable[[Randomness], object]) -> None:
    with pytest.raises(GlassineError):
        call(Randomness.of(0))


def test_a_pickle_of_the_operating_systems_stream_holds_no_bits() -> None:
    stream = Randomness.of(None)
    stream.bits(64)
    clones = [pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream), copy.copy(stream)]
    assert not any(clone.seeded for clone in clones)
    assert len({stream.bits(128), *(clone.bits(128) for clone in clones)}) == 4
    assert len(pickle.dumps(stream)) < 200


def test_a_pickle_of_a_seeded_stream_goes_on_where_it_was() -> None:
    stream = Randomness.of(11)
    stream.bits(64)
    clone = pickle.loads(pickle.dumps(stream))
    assert clone.seeded
    assert [clone.bits(64) for _ in range(2000)] == [stream.bits(64) for _ in range(2000)]


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="forks are POSIX")
def test_a_child_process_does_not_repeat_its_parent() -> None:
    code = """
import os
from glassine.privacy.randomness import Randomness
stream = Randomness.of(None)
stream.bits(64)
for _ in range(3):
    if os.fork() == 0:
        os.write(1, f"{stream.bits(128)}\\n".encode())
        os._exit(0)
    os.wait()
os.write(1, f"{stream.bits(128)}\\n".encode())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 4


def test_threads_never_share_a_word() -> None:
    stream = Randomness.of(None)
    drawn: list[list[int]] = [[] for _ in range(4)]

    def work(into: list[int]) -> None:
        into.extend(stream.bits(64) for _ in range(20_000))

    threads = [threading.Thread(target=work, args=(into,)) for into in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({word for into in drawn for word in into}) == 80_000


def test_draws_take_microseconds() -> None:
    stream = Randomness.of(None)
    start = time.perf_counter()
    for _ in range(20_000):
        stream.bernoulli_exp_ratio(123_456, 1 << 20)
    # A hundredfold of what it takes, for busy machines; drawing bit by bit, or through floats and locks, takes longer.
    assert time.perf_counter() - start < 20_000 * 50e-6
