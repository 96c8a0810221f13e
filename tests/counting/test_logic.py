"""The logic of literals against the enumeration of all records of a domain."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.counting.logic import LiteralLogic
from glassine.counting.space import Space
from glassine.domain import (
    Between,
    Binary,
    Category,
    Combinations,
    Domain,
    ExactlyOne,
    Implies,
    Integer,
    Intervals,
    Literal,
    OneOf,
    Real,
)
from glassine.errors import InvalidModelError
from glassine.learners.antecedents import either_side
from tests.oracles import strategies as small
from tests.oracles import worlds as possible


def truths(domain: Domain, literals: list[Literal]) -> list[tuple[bool, ...]]:
    """Return the truth of each literal on every possible record."""
    records = list(possible.records(domain, domain_aware=True))
    return [tuple(possible.satisfies(record, [literal]) for record in records) for literal in literals]


def is_possible(logic: LiteralLogic, chosen: Sequence[int], signs: Sequence[bool]) -> bool:
    """Return whether some complete record satisfies a conjunction; literals of sign False are negated."""
    masks = logic.full.copy()
    for literal, sign in zip(chosen, signs, strict=True):
        block = logic.blocks[literal]
        masks[block] &= logic.masks[literal] if sign else ~logic.masks[literal]
    return bool(masks.any(axis=1).all())


def worlds_of(domain: Domain, logic: LiteralLogic, literals: list[Literal]) -> set[tuple[bool, ...]]:
    """Return the truth vectors of complete records, as the literals that were given define them."""
    complete = possible.complete_records(domain, literals)
    return {tuple(possible.satisfies(record, [literal]) for literal in logic.literals) for record in complete}


def naive_kept(domain: Domain, literals: list[Literal], *, up_to_negation: bool) -> list[Literal]:
    """Return the literals that are not constant, equal to an earlier one or, if wanted, its negation."""
    kept: list[Literal] = []
    seen: set[tuple[bool, ...]] = set()
    complete = possible.complete_records(domain, literals)
    for literal, truth in zip(literals, truths(domain, literals), strict=True):
        if len({possible.satisfies(record, [literal]) for record in complete}) == 2 and truth not in seen:
            kept.append(literal)
            seen |= {truth, tuple(not value for value in truth)} if up_to_negation else {truth}
    return kept


@st.composite
def cases(draw: st.DrawFn) -> tuple[Domain, list[Literal]]:
    domain = draw(small.domains())
    return domain, draw(st.lists(small.literals(domain), min_size=draw(st.sampled_from([4, 0])), max_size=7))


@pytest.mark.slow
@given(cases(), st.booleans())
@settings(max_examples=80)
def test_literals_are_kept_that_say_something_new(case: tuple[Domain, list[Literal]], up_to_negation: bool) -> None:
    domain, literals = case
    logic = LiteralLogic.of(domain, literals, up_to_negation=up_to_negation)
    expected = naive_kept(domain, literals, up_to_negation=up_to_negation)
    assert sorted(map(str, logic.literals)) == sorted(map(str, expected))
    assert len(set(logic.literals)) == len(logic.literals)
    # Blocks in order, and within a block the order in which the literals were given.
    assert logic.blocks.tolist() == sorted(logic.blocks.tolist())
    for block, (start, stop) in enumerate(zip(logic.starts, logic.starts[1:], strict=False)):
        assert set(logic.blocks[start:stop].tolist()) == {block}
        places = [expected.index(literal) for literal in logic.literals[start:stop]]
        assert places == sorted(places)


@pytest.mark.slow
@given(cases())
@settings(max_examples=60)
def test_conjunctions_are_possible_if_some_complete_record_satisfies_them(case: tuple[Domain, list[Literal]]) -> None:
    domain, literals = case
    logic = LiteralLogic.of(domain, literals, up_to_negation=False)
    worlds = worlds_of(domain, logic, literals)
    for k in range(min(3, len(logic.literals)) + 1):
        for chosen in combinations(range(len(logic.literals)), k):
            for signs in product((False, True), repeat=k):
                some = any(all(world[i] == sign for i, sign in zip(chosen, signs, strict=True)) for world in worlds)
                assert is_possible(logic, chosen, signs) == (some or not worlds)


DOMAINS: dict[str, tuple[Domain, list[Literal], int]] = {
    "thresholds beyond 64 atoms": (Domain({"n": Integer(0, 200)}), [Between("n", hi=i + 0.5) for i in range(130)], 130),
    "categories beyond 64 atoms": (
        Domain({"c": Category(tuple(f"v{i}" for i in range(70)))}),
        [OneOf("c", (f"v{i}",)) for i in range(70)],
        70,
    ),
    "one of three": (
        Domain.binary(["a", "b", "c"], groups=[ExactlyOne(("a", "b", "c"))]),
        [OneOf(name, (1,)) for name in "abc"],
        3,
    ),
    "a chain": (
        Domain.binary(["a", "b", "c"], groups=[Implies(("a", "b", "c"))]),
        [OneOf(name, (1,)) for name in "abc"],
        3,
    ),
    "intervals": (
        Domain.binary(["a", "b"], groups=[Intervals(0, 9, {"a": (0, 4), "b": (5, None)})]),
        [OneOf("a", (1,)), OneOf("b", (1,))],
        1,
    ),
    "a tie that fixes one": (
        Domain.binary(["a", "b"], groups=[Combinations(("a", "b"), ((0, 1), (1, 1)))]),
        [OneOf("a", (1,)), OneOf("b", (1,))],
        1,
    ),
    "missing values": (
        Domain({"n": Integer(0, 3, missing=True), "b": Binary(missing=True)}),
        [
            Between("n", hi=1.0),
            Between("n", lo=1.0),
            Between("n", lo=1.0, missing=True),
            Between("n", negated=True, missing=True),
            OneOf("b", (1,)),
            OneOf("b", (0,)),
        ],
        5,
    ),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_named_domains(name: str) -> None:
    domain, literals, expected = DOMAINS[name]
    logic = LiteralLogic.of(domain, literals, up_to_negation=True)
    assert len(logic.literals) == expected
    worlds = worlds_of(domain, logic, literals)
    for chosen in combinations(range(0, len(logic.literals), max(1, len(logic.literals) // 7)), 2):
        for signs in product((False, True), repeat=2):
            some = any(all(world[i] == sign for i, sign in zip(chosen, signs, strict=True)) for world in worlds)
            assert is_possible(logic, chosen, signs) == some


def test_no_conjunction_holds_for_missing_values_alone() -> None:
    domain = Domain({"n": Integer(0, 3, missing=True), "c": Category(("u", "v"), missing=True)})
    literals = either_side(domain, [Between("n", hi=0.5), Between("n", hi=1.5), OneOf("c", ("u",)), OneOf("c", ("v",))])
    logic = LiteralLogic.of(domain, literals, up_to_negation=True)
    # c = v or missing is what c = u is not.
    assert list(map(str, logic.literals)) == [
        "n <= 0.5",
        "n <= 0.5 or missing",
        "n <= 1.5",
        "n <= 1.5 or missing",
        "c = u",
        "c = u or missing",
    ]
    only_missing = [((0, 1), (False, True)), ((1, 2), (True, False)), ((0, 3, 2), (False, True, False))]
    assert not any(is_possible(logic, *conjunction) for conjunction in [*only_missing, ((4, 5), (False, True))])
    assert is_possible(logic, (0, 3), (False, True)), "0.5 < n <= 1.5 or missing"


@pytest.mark.parametrize("missing", [False, True])
def test_a_bound_of_a_continuum_is_possible(missing: bool) -> None:
    # Values are clipped to it, so that many records can lie on a single point.
    domain = Domain({"gain": Real(0.0, 9.0, thresholds=(0.0, 5.0), missing=missing)})
    literals: list[Any] = [Between("gain", hi=0.0), Between("gain", hi=5.0), Between("gain", hi=-1.0)]
    logic = LiteralLogic.of(domain, [*literals, Between("gain", hi=9.0), Between("gain", lo=-1.0)], up_to_negation=True)
    kept = literals[:2] + ([Between("gain", hi=9.0)] if missing else [])
    assert logic.literals == tuple(kept)
    assert is_possible(logic, (0, 1), (True, True))
    assert is_possible(logic, (0, 1), (False, True))
    assert not is_possible(logic, (0, 1), (True, False))


def test_without_literals_everything_is_possible() -> None:
    logic = LiteralLogic.of(Domain.binary(["a"]), [], up_to_negation=True)
    assert logic.literals == ()
    assert logic.starts.tolist() == [0]
    assert is_possible(logic, (), ())
    assert repr(logic) == "<LiteralLogic of 0 literals in 0 blocks>"


@pytest.mark.parametrize("literal", [OneOf("z", (1,)), OneOf("a", (2,))])
def test_literals_of_another_domain_are_refused(literal: Literal) -> None:
    with pytest.raises(InvalidModelError):
        LiteralLogic.of(Domain.binary(["a"]), [literal], up_to_negation=True)


def test_thousands_of_categories_take_time_in_their_number() -> None:
    values = tuple(f"v{i}" for i in range(4000))
    domain = Domain({"c": Category(values, missing=True), "b": Binary()})
    literals = [OneOf("c", (value,)) for value in values] + [OneOf("b", (1,))]
    began = time.process_time()
    logic = LiteralLogic.of(domain, literals, up_to_negation=True)
    # About half a second: each literal is asked about the values that it names, not about all.
    assert time.process_time() - began < 5
    assert len(logic.literals) == 4001
    assert np.bitwise_count(logic.masks).sum() == 4001


@pytest.mark.parametrize("missing", [False, True])
def test_atoms_are_the_values_on_which_all_literals_agree(missing: bool) -> None:
    domain = Domain({"c": Category(tuple("abcdef"), missing=missing)})
    rng = np.random.default_rng(3)
    for _ in range(30):
        literals = [
            OneOf("c", tuple(rng.permutation(list("abcdef"))[: rng.integers(1, 5)]), negated=negated, missing=gap)
            for negated, gap in rng.integers(0, 2, (3, 2)).astype(bool).tolist()
        ]
        literals = [literal if missing else replace(literal, missing=False) for literal in literals]
        (factor,) = Space(domain, literals, domain_aware=True).factors
        held = {
            value: tuple(
                literal.missing if value is None else (value in literal.values) != literal.negated
                for literal in literals
            )
            for value in [*"abcdef", *([None] if missing else [])]
        }
        atoms = list(dict.fromkeys(held.values()))
        assert factor.sizes == tuple(list(held.values()).count(atom) for atom in atoms)
        for place, literal in enumerate(literals):
            assert factor.mask(literal) == sum(1 << i for i, atom in enumerate(atoms) if atom[place])
        without = {held[value] for value in "abcdef"}
        assert factor.present == sum(1 << i for i, atom in enumerate(atoms) if atom in without)
