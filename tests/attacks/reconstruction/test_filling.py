"""Numbers of records counted in the data, and guarantees put together."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Integer, scrub
from glassine.attacks.outcome import Measured, NotApplicable
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from glassine.attacks.reconstruction.record_reconstruction import reconstruct_records
from glassine.data.record_table import columns
from glassine.domain import Between
from glassine.errors import InvalidDataError, InvalidParameterError, UndefinedMeasureError
from glassine.models import Branch, DecisionTree, Evidence, Guarantee, Node
from tests.attacks.reconstruction.toys import toy
from tests.oracles.joint import data_sets, places

DOMAIN = Domain({"age": Integer(0, 99)})
AGES = pl.DataFrame({"age": [10] * 50 + [41] + [70] * 49})


def stump(cut: float, *sizes: Any, **more: Any) -> DecisionTree:
    """Return a tree with one split."""
    sides = Branch(Between("age", hi=cut), 1), Branch(Between("age", lo=cut), 2)
    leaves = [Node(evidence=Evidence(total=size)) for size in sizes or (None, None)]
    return DecisionTree((Node(branches=sides), *leaves), ("age",), (0, 1), **more)


def private(epsilon: float, delta: float = 0.0, **more: Any) -> DecisionTree:
    return stump(50, 60, 40, guarantee=Guarantee(epsilon=epsilon, delta=delta, count_scale=1.0, **more))


def test_models_without_counts_are_counted_on_request() -> None:
    exact = [stump(40, 50, 50), stump(41, 51, 49)]
    silent = [replace(tree, nodes=(tree.nodes[0], Node(), Node())) for tree in exact]
    with pytest.raises(UndefinedMeasureError, match=r"does not publish how many.*regions and labels.*counts='data'"):
        reconstruct_jointly(silent, DOMAIN, data=AGES)
    counted = reconstruct_jointly(silent, DOMAIN, data=AGES, counts="data", names=["a", "b"])
    plain = reconstruct_jointly(exact, DOMAIN, data=AGES, names=["a", "b"])
    assert counted.filled == ("a", "b")
    assert plain.filled == ()
    assert counted.bits_per_record == plain.bits_per_record
    assert [group.size for group in counted.small_groups] == ["1 record"]
    one = reconstruct_jointly([exact[0], silent[1]], DOMAIN, data=AGES, counts="data")
    assert one.filled == ("model 2",)
    assert one.to_dict()["counted_from_data"] == ["model 2"]


def test_scrubbed_and_rounded_copies_are_counted() -> None:
    tree = stump(40, 50, 50)
    for counts in ("remove", "coarsen"):
        copy = scrub(tree, DOMAIN, counts=counts, base=30).model
        known = reconstruct_jointly([copy, tree], DOMAIN, data=AGES, counts="data")
        assert known.filled == ("model 1",)
        assert known.status == "consistent"


def test_a_model_with_a_guarantee_is_never_counted() -> None:
    silent = stump(50, guarantee=Guarantee(epsilon=1.0))
    known = reconstruct_jointly([stump(40, 50, 50), private(1.0), silent], DOMAIN, data=AGES, counts="data")
    assert known.models == ("model 1",)
    assert [entry.can_be_counted for entry in known.left_out] == [False, False]


def test_data_of_others_are_refused() -> None:
    half = replace(stump(40), nodes=(stump(40).nodes[0], Node(evidence=Evidence(total=49)), Node()))
    with pytest.raises(InvalidDataError, match="50 records in part 1 of model 1, which counts 49"):
        reconstruct_jointly([half], DOMAIN, data=AGES, counts="data")
    root = replace(stump(40), nodes=(replace(stump(40).nodes[0], evidence=Evidence(total=7)), Node(), Node()))
    with pytest.raises(InvalidDataError, match="do not have the counts of model 1"):
        reconstruct_jointly([root], DOMAIN, data=AGES, counts="data")
    with pytest.raises(InvalidDataError, match="at least one record"):
        reconstruct_jointly([stump(40)], DOMAIN, data=AGES.head(0), counts="data")
    with pytest.raises(InvalidDataError, match="age"):
        reconstruct_jointly([stump(40)], DOMAIN, data=pl.DataFrame({"b": [1]}), counts="data")
    with pytest.raises(InvalidParameterError, match="needs data"):
        reconstruct_jointly([stump(40)], DOMAIN, counts="data")
    for counts in ("all", None, np.array(["data"])):
        with pytest.raises(InvalidParameterError, match="one of published, data"):
            reconstruct_jointly([stump(40)], DOMAIN, data=AGES, counts=counts)  # type: ignore[arg-type]


def test_rows_can_be_rebuilt_from_counted_numbers() -> None:
    assert isinstance(reconstruct_records([stump(40), stump(41)], DOMAIN), NotApplicable)
    found = reconstruct_records([stump(40), stump(41)], DOMAIN, data=AGES, counts="data")
    assert isinstance(found, Measured)
    assert sum(found.value.rows["age"] <= 40) == 50


def test_epsilons_add() -> None:
    known = reconstruct_jointly([private(0.5), private(0.6, 1e-6)], DOMAIN, names=["a", "b"])
    composed = known.composition
    assert composed is not None
    assert (composed.epsilon, composed.delta, composed.neighboring) == (1.1, 1e-6, "add-or-remove-one")
    assert str(composed).startswith("epsilons add: 0.5 + 0.6 = 1.1 (the claims of both, a, b; add-or-remove-one)")
    assert "1.1" in str(known)
    plain = json.loads(json.dumps(known.to_dict(), allow_nan=False))
    assert plain["status"] == "unmeasured"
    assert plain["composition"]["epsilons"] == [0.5, 0.6]
    assert plain["bits"] is None
    assert reconstruct_jointly([stump(40, 50, 50)], DOMAIN).composition is None


def test_claims_of_different_relations_are_made_alike() -> None:
    other = private(1.0, neighboring="replace-one", caveats=("seeded: not private",))
    composed = reconstruct_jointly([private(0.5), other], DOMAIN, names=["a", "b"]).composition
    assert composed is not None
    assert (composed.neighboring, composed.epsilons) == ("replace-one", (1.0, 1.0))
    assert composed.caveats == ("b: seeded: not private",)
    assert "does not hold as stated: b: seeded" in str(composed)


@pytest.mark.parametrize("seed", range(20))
def test_the_bounds_of_the_most_exposed_record_hold_in_every_data_set(seed: int) -> None:
    made = toy(seed, 2 + seed % 2)
    known = reconstruct_jointly(made.models, made.domain)
    aligned = reconstruct_jointly(made.models, made.domain, data=made.frame)
    assert known.bits_most_exposed is not None
    assert aligned.bits_most_exposed is not None
    where = places(made.models, made.domain)
    bits = [math.log2(len(where) / where.count(place)) for place in where]
    largest = [max(bits[record] for record in rows) for rows in data_sets(made.models, made.domain, made.labels)]
    assert known.bits_most_exposed.lower <= min(largest) + 1e-9
    assert max(largest) <= known.bits_most_exposed.upper + 1e-9
    if len(made.models) == 2:
        assert known.bits_most_exposed.upper == pytest.approx(max(largest))
    leaves = list(zip(*(model.apply(columns(made.frame)).tolist() for model in made.models), strict=True))
    mine = max(math.log2(len(where) / where.count(place)) for place in leaves)
    assert aligned.bits_most_exposed.lower <= aligned.bits_most_exposed.upper == pytest.approx(mine)
    fewest = min(leaves.count(place) for place in leaves)
    assert aligned.fewest_in_common == fewest
    assert known.fewest_in_common in (None, fewest)


def test_the_bounds_of_the_most_exposed_record_are_not_idle() -> None:
    known = reconstruct_jointly([stump(40, 50, 50), stump(41, 51, 49)], DOMAIN)
    assert known.bits_most_exposed is not None
    # One record is certainly 41 years old.
    assert known.bits_most_exposed.lower == pytest.approx(math.log2(100))
    assert known.fewest_in_common == 1
    nested = reconstruct_jointly([stump(40, 50, 50), stump(60, 50, 50)], DOMAIN)
    assert nested.fewest_in_common == 50
    # Half of the ages below 41, half above 60: what is known of the latter is 39 of 100 years.
    assert nested.bits_most_exposed is not None
    assert nested.bits_most_exposed.upper == pytest.approx(math.log2(100 / 39))
