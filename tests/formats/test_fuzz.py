"""The fuzzer over every reader: it finds planted faults, and the readers have none."""

from __future__ import annotations

import importlib
import io
import os
import random
import time
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.errors import GlassineError, InvalidModelError

pytest.importorskip("interpret.glassbox")
fuzzer: Any = importlib.import_module("benchmarks.fuzz_readers")
SEEDS: dict[str, tuple[bytes, Callable[[bytes], object]]] = fuzzer.seeds()
NAMES = sorted(SEEDS)


def test_every_undamaged_file_is_read() -> None:
    outcomes = {name: fuzzer.outcome(read, data) for name, (data, read) in SEEDS.items()}
    assert {name for name, how in outcomes.items() if how != "read"} == set()
    assert {"xgboost_categories.ubj", "tree.dot", "gettree.txt", "ctree.txt", "c50.txt"} <= set(SEEDS)
    assert {"forest.onnx, the second tree", "forest.pmml", "treelite_forest.json"} <= set(SEEDS)


@settings(max_examples=150)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**63))
def test_damaged_files_raise_only_our_errors(name: str, seed: int) -> None:
    data, read = SEEDS[name]
    how = fuzzer.outcome(read, fuzzer.mutated(data, random.Random(seed)))
    assert how in ("read", "refused"), how


@pytest.mark.slow
@settings(max_examples=4_000)
@given(name=st.sampled_from(NAMES), seed=st.integers(0, 2**63))
def test_many_damaged_files_raise_only_our_errors(name: str, seed: int) -> None:
    data, read = SEEDS[name]
    how = fuzzer.outcome(read, fuzzer.mutated(data, random.Random(seed)))
    assert how in ("read", "refused"), how


def planted(kind: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        if b"\0" not in data:
            raise InvalidModelError("refused.")
        if kind == "crash":
            return [][len(data)]
        if kind == "two lines":
            raise GlassineError("one\ntwo")
        if kind == "memory":
            return bytearray(8 * 2**30)
        end = time.process_time() + 60
        while time.process_time() < end:
            pass
        return None

    return read


@pytest.mark.parametrize(
    ("kind", "told"),
    [("crash", "IndexError"), ("two lines", "several lines"), ("hang", "more than"), ("memory", "Memory")],
)
def test_planted_faults_are_found(kind: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzer, "SECONDS", 0.02)
    seeds = {kind: (b"0123456789" * 3, planted(kind))}
    found, faults = fuzzer.fuzz(fuzzer.Job(seeds, [kind], 0), 40)
    assert sum(found.values()) == 40
    assert faults
    assert all(told in line for line in faults)
    number = int(faults[0].split()[0])
    assert b"\0" in fuzzer.Job(seeds, [kind], 0).input(number)[1]


@pytest.mark.slow
def test_a_reader_that_ends_the_process_is_told() -> None:
    def read(data: bytes) -> object:
        if b"\0" in data:
            os._exit(7)
        return data

    found, faults = fuzzer.fuzz(fuzzer.Job({"x": (b"0123456789" * 3, read)}, ["x"], 0), 40)
    assert sum(found.values()) >= len(faults) > 0
    assert all("the process ended" in line for line in faults)


def test_an_archive_without_members_is_damaged_too() -> None:
    with zipfile.ZipFile(empty := io.BytesIO(), "w"):
        pass
    made = [fuzzer.mutated(empty.getvalue(), random.Random(seed)) for seed in range(20)]
    assert any(data != empty.getvalue() for data in made)


def test_the_inputs_are_made_again_from_their_numbers() -> None:
    job = fuzzer.Job(SEEDS, NAMES, 3)
    assert [job.input(i) for i in range(50)] == [job.input(i) for i in range(50)]
    assert [fuzzer.Job(SEEDS, NAMES, 4).input(i) for i in range(50)] != [job.input(i) for i in range(50)]


@pytest.mark.slow
def test_grown_files_are_answered_within_bounds() -> None:
    answers = fuzzer.grow(fuzzer.Job(SEEDS, NAMES, 0), 2 * len(NAMES), 300_000)
    assert [str(answer) for answer in answers if answer.how not in ("read", "refused")] == []


def test_growing_tells_the_memory_and_the_time_of_each_byte() -> None:
    def read(data: bytes) -> object:
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        return bytearray(b"x" * 100 * len(data)) and None

    (answer,) = fuzzer.grow(fuzzer.Job({"x": (b"0123456789" * 3, read)}, ["x"], 0), 1, 300_000)
    assert answer.how == "read"
    assert 250_000 <= answer.size <= 350_000
    assert 20_000_000 <= answer.memory <= 100_000_000
    assert 0.2 <= answer.seconds <= 5


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "told"), [("hang", "more than"), ("memory", "Memory")])
def test_growing_finds_planted_faults(kind: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzer, "GROWN_SECONDS", 0.05)
    seeds = {kind: (b"0123456789\0", planted(kind))}
    answers = fuzzer.grow(fuzzer.Job(seeds, [kind], 0), 20, 1_000)
    assert any(told in answer.how for answer in answers)
