"""Several models under public shares, against every dataset of toy domains, weighed one by one."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from glassine import Domain, Integer, Real, audit, reconstruct
from glassine.attacks.outcome import Measured
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
from glassine.auditing import Policy
from glassine.domain import Between, Shares
from glassine.domain.attributes import Attribute
from glassine.errors import UndefinedMeasureError
from glassine.models import Branch, DecisionTree, Evidence, Node
from glassine.models.tree import Forest
from tests.attacks.reconstruction.test_joint import DOMAIN, stump, tells_classes
from tests.attacks.reconstruction.toys import Toy, toy
from tests.oracles.joint import data_sets, places

CENSUS = "census 2021"


def bare(domain: Domain) -> dict[str, Attribute]:
    """Return the attributes of a domain without its shares."""
    return {name: domain[name] for name in domain}


def shared(case: Toy, seed: int) -> tuple[Domain, list[Fraction]]:
    """Return the domain of a toy with random shares, and the chance of each possible record in the oracle's order."""
    rng = random.Random(seed)
    weights = {name: (rng.randint(1, 9), rng.randint(1, 9)) for name in list(case.domain)[:2]}
    domain = Domain(bare(case.domain), shares={n: Shares(weights=w, source=CENSUS) for n, w in weights.items()})
    each = [[Fraction(x, sum(weights.get(n, (1, 1)))) for x in weights.get(n, (1, 1))] for n in domain]
    return domain, [math.prod(row, start=Fraction(1)) for row in product(*each)]


def log_chance(case: Toy, chances: list[Fraction]) -> float:
    """Return log2 of the chance that random records with these labels meet all counts, by enumeration."""
    labels = case.labels if tells_classes(case) else [0] * len(case.labels)
    sets = data_sets(case.models, case.domain, labels)
    return math.log2(
        sum((math.prod((chances[x] for x in rows), start=Fraction(1)) for rows in sets), start=Fraction(0))
    )


@pytest.mark.parametrize("n_models", [1, 2, 3])
def test_bounds_under_shares_hold_the_chance_of_all_counts_by_enumeration(n_models: int) -> None:
    differing = 0
    for seed in range(4):
        case = toy(100 * n_models + seed, n_models)
        domain, chances = shared(case, seed)
        known, plain = (reconstruct_jointly(case.models, d) for d in (domain, case.domain))
        n = len(case.labels)
        wanted = log_chance(case, chances) + n * known.domain_bits
        assert known.log2_data_sets.lower <= wanted + 1e-12 <= known.log2_data_sets.upper + 2e-12
        assert known.log2_data_sets.width < 1e-8
        assert known.domain_bits == plain.domain_bits == 3
        assert known.cells is not None
        assert plain.cells is not None
        assert known.cells.worlds == plain.cells.worlds, "possible records are counted, whatever they weigh"
        assert known.by_shares
        assert not plain.by_shares
        differing += abs(known.log2_data_sets.middle - plain.log2_data_sets.middle) > 0.01
    assert differing > 1


def test_bits_under_shares_lie_between_those_alone_and_those_of_the_most_exposed_record() -> None:
    for seed in range(12):
        case = toy(seed, 2)
        domain, chances = shared(case, seed)
        known = reconstruct_jointly(case.models, domain, data=case.frame)
        alone = [reconstruct(model, domain).bits_per_record() for model in case.models]
        assert known.bits_alone == pytest.approx(alone)
        where = np.array(places(case.models, case.domain))
        codes = case.frame.to_numpy() @ [4, 2, 1]
        bits = [-math.log2(sum(q for q, row in zip(chances, where, strict=True) if (row == where[code]).all()))
                for code in codes]  # fmt: skip
        assert known.bits_aligned == pytest.approx(sum(bits) / len(bits))
        assert known.bits_most_exposed is not None
        assert known.bits_most_exposed.upper == pytest.approx(max(bits))
        assert max(alone) - 1e-9 <= known.bits_per_record.lower <= known.bits_per_record.upper
        assert known.bits_per_record.upper <= max(bits) + 1e-9


def test_one_model_under_shares_reveals_what_it_reveals_alone() -> None:
    for seed in range(6):
        case = toy(seed, 1)
        domain, _ = shared(case, seed)
        known = reconstruct_jointly(case.models, domain)
        reading = known.readings[0]
        told = known.domain_bits - (reading.log2_data_sets.middle / known.n_records - reading.best_order)
        assert told == pytest.approx(reconstruct(case.models[0], domain).bits_per_record())


def test_uniform_shares_change_no_bound_and_dist_g_is_refused_under_others() -> None:
    models = [stump("age", 39, (30, 10), (20, 40)), stump("height", 149, (25, 25), (25, 25))]
    even = Domain(bare(DOMAIN), shares={"age": Shares(weights=(40, 60), edges=(0, 39, 99), source=CENSUS)})
    known, plain = reconstruct_jointly(models, even), reconstruct_jointly(models, DOMAIN)
    assert known.log2_data_sets.middle == pytest.approx(plain.log2_data_sets.middle, abs=1e-6)
    assert known.bits_per_record.upper == pytest.approx(plain.bits_per_record.upper, abs=1e-9)
    with pytest.raises(UndefinedMeasureError, match="Leave the shares out"):
        known.dist_g  # noqa: B018


def test_a_rare_group_that_two_models_pin_down_has_the_bits_of_its_share() -> None:
    # Two trees that nest: one record between 90 and 91, where one person in a thousand is.
    census = Shares(weights=(900, 99, 1), edges=(0, 50, 90, 91), source=CENSUS)
    domain = Domain({"age": Integer(0, 91)}, shares={"age": census})

    def old(cut: int, counts: tuple[int, int]) -> DecisionTree:
        sides = Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2)
        leaves = (Node(evidence=Evidence(counts=(n, 0))) for n in counts)
        return DecisionTree((Node(branches=sides), *leaves), ("age",), (0, 1))

    known = reconstruct_jointly([old(90, (99, 1)), old(50, (60, 40))], domain)
    assert known.bits_most_exposed is not None
    assert known.bits_most_exposed.lower == pytest.approx(math.log2(1000))
    assert known.bits_most_exposed.upper == pytest.approx(math.log2(1000))
    assert known.bits_most_exposed.upper > math.log2(92), "more than the domain's bits: no other person is so rare"


def test_a_continuum_under_shares_is_weighed_by_its_histogram() -> None:
    income = Shares(weights=(9, 1), edges=(0.0, 10.0, 100.0), source=CENSUS)
    domain = Domain({"income": Real(0.0, 100.0)}, shares={"income": income})
    sides = Branch(Between("income", hi=10.0), 1), Branch(Between("income", lo=10.0), 2)
    tree = DecisionTree(
        (Node(branches=sides), Node(evidence=Evidence(counts=(5, 1))), Node(evidence=Evidence(counts=(2, 2)))),
        ("income",),
        (0, 1),
    )
    known = reconstruct_jointly([tree, tree], domain)
    alone = (6 * math.log2(10 / 9) + 4 * math.log2(10)) / 10
    assert known.bits_per_record.lower == pytest.approx(alone, abs=1e-6)
    assert known.bits_per_record.upper == pytest.approx(alone, abs=1e-6)


def test_shares_of_the_training_data_settle_no_joint_bits() -> None:
    models = [stump("age", 39, (300, 100), (200, 400)), stump("height", 149, (250, 250), (250, 250))]
    policy = Policy(largest_bits_per_record=20.0, largest_advantage=None)
    for own, status in ((False, "pass"), (True, "unknown")):
        ages = Shares(weights=(1, 3), edges=(0, 39, 99), source="somewhere", from_training_data=own)
        domain = Domain(bare(DOMAIN), shares={"age": ages})
        check = next(
            c for c in audit(models, domain=domain, policy=policy).checks if c.rule == "largest_bits_per_record"
        )
        assert check.status == status


def test_an_inferred_domain_settles_no_joint_bits() -> None:
    models = [stump("age", 39, (300, 100), (200, 400)), stump("age", 59, (350, 250), (150, 250))]
    domain = Domain({**bare(DOMAIN), "age": Integer(0, 99, inferred=True)})
    policy = Policy(largest_bits_per_record=20.0, largest_advantage=None)
    check = next(c for c in audit(models, domain=domain, policy=policy).checks if c.rule == "largest_bits_per_record")
    assert check.status == "unknown"
    assert "age" in check.meaning


def test_rebuilt_rows_of_several_trees_follow_the_shares() -> None:
    # Within 0 to 39 nine in ten are at most 9.
    ages = Shares(weights=(9, 1, 10), edges=(0, 9, 39, 99), source=CENSUS)
    domain = Domain(bare(DOMAIN), shares={"age": ages})
    models = [stump("age", 39, (200, 0), (0, 200)), stump("height", 149, (100, 100), (100, 100))]
    for published in (models, Forest(trees=tuple(models))):
        rebuilt = reconstruct_records(published, domain, random_state=0)
        assert isinstance(rebuilt, Measured)
        age = np.array(rebuilt.value.rows["age"])
        assert 0.8 < (age[age <= 39] <= 9).mean() < 0.97
    plain = reconstruct_records(models, DOMAIN, random_state=0)
    assert isinstance(plain, Measured)
    age = np.array(plain.value.rows["age"])
    assert (age[age <= 39] <= 9).mean() < 0.4
