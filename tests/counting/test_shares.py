"""Weighted counting: public shares against the enumeration of every record, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from glassine import Binary, Category, DecisionTree, Domain, Integer, Real, RuleList, audit, parse_rules
from glassine.attacks import reconstruct
from glassine.attacks.reconstruction.possible import Worlds
from glassine.auditing.policy import Policy
from glassine.domain import Between, ExactlyOne, OneOf, Shares
from glassine.domain.domain import schema, to_dict
from glassine.errors import InvalidDomainError
from glassine.models import Branch, Evidence, Node, Rule

CENSUS = "census 2021"
ATTRIBUTES: dict[str, Any] = {
    "age": Integer(0, 5, missing=True),
    "job": Category(("a", "b", "c")),
    "ill": Binary(),
    "dose": Real(0.0, 1.0, 0.25),
}
SHARES = {
    "age": Shares(weights=(1, 4, 2, 3), edges=(0, 1, 4, 5), source=CENSUS),
    "job": Shares(weights=(0.5, 0.3, 0.2), source=CENSUS),
    "dose": Shares(weights=(70, 30), edges=(0.0, 0.5, 1.0), source=CENSUS),
}
VALUES: dict[str, list[tuple[Any, Fraction]]] = {
    # Bins {0, 1}, {2, 3, 4}, {5} and a missing value, of 10; values of a bin share it equally.
    "age": [
        *((v, Fraction(1, 20)) for v in (0, 1)),
        *((v, Fraction(4, 30)) for v in (2, 3, 4)),
        (5, Fraction(2, 10)),
        (None, Fraction(3, 10)),
    ],
    "job": [("a", Fraction(5, 10)), ("b", Fraction(3, 10)), ("c", Fraction(2, 10))],
    "ill": [(0, Fraction(1, 2)), (1, Fraction(1, 2))],
    "dose": [*((v, Fraction(70, 300)) for v in (0.0, 0.25, 0.5)), *((v, Fraction(30, 200)) for v in (0.75, 1.0))],
}
DOMAIN = Domain(ATTRIBUTES, shares=SHARES)
UNIFORM = Domain(ATTRIBUTES)

RULES = RuleList(
    (
        Rule(antecedent=(Between("age", hi=2.5), OneOf("job", ("a",))), evidence=Evidence(counts=(9, 3))),
        Rule(antecedent=(Between("dose", hi=0.5), OneOf("ill", (1,))), evidence=Evidence(counts=(7, 5))),
        Rule(evidence=Evidence(counts=(8, 6))),
    ),
    tuple(ATTRIBUTES),
    ("no", "yes"),
)
TREE = DecisionTree(
    (
        Node(branches=(Branch(Between("age", hi=3.0), 1), Branch(Between("age", lo=3.0, missing=True), 2))),
        Node(branches=(Branch(OneOf("job", ("a", "c")), 3), Branch(OneOf("job", ("b",)), 4))),
        Node(evidence=Evidence(counts=(10, 12))),
        Node(evidence=Evidence(counts=(5, 8))),
        Node(evidence=Evidence(counts=(6, 6))),
    ),
    tuple(ATTRIBUTES),
    ("no", "yes"),
)
MODELS = (RULES, TREE)


def everyone() -> list[tuple[dict[str, Any], Fraction]]:
    """Every record of the domain, with its probability."""
    return [
        (dict(zip(VALUES, (v for v, _ in row), strict=True)), math.prod((p for _, p in row), start=Fraction(1)))
        for row in itertools.product(*VALUES.values())
    ]


def parts_of(model: Any) -> list[list[tuple[dict[str, Any], Fraction]]]:
    """Every record by the part of a model that captures it."""
    records = everyone()
    columns = {
        name: np.array([np.nan if r[name] is None else r[name] for r, _ in records])
        if name in ("age", "dose")
        else np.array([r[name] for r, _ in records], dtype=object if name == "job" else int)
        for name in ATTRIBUTES
    }
    rows = model.apply(columns)
    return [[records[i] for i in np.flatnonzero(rows == part)] for part in range(len(model.cells))]


@pytest.mark.parametrize("model", MODELS, ids=["rules", "tree"])
def test_regions_weigh_what_the_enumeration_of_every_record_says(model: Any) -> None:
    worlds = Worlds(model, DOMAIN, False, 10_000, by_shares=True)
    shares = [worlds.counter.share(region) for region in worlds.regions]
    assert shares == [sum((p for _, p in part), start=Fraction(0)) for part in parts_of(model)]
    assert sum(shares) == 1
    bits = reconstruct(model, DOMAIN).bits_learned()
    assert bits == pytest.approx([-math.log2(share) for share in shares], abs=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=["rules", "tree"])
def test_the_entropy_that_is_left_is_that_of_the_enumeration(model: Any) -> None:
    left, sizes = 0.0, [cell.evidence.size or 0 for cell in model.cells]
    for part, size in zip(parts_of(model), sizes, strict=True):
        total = sum(p for _, p in part)
        left += size * -sum(float(p / total) * math.log2(p / total) for _, p in part)
    prior = sum(sizes) * -sum(float(p) * math.log2(p) for _, p in everyone())
    possible = reconstruct(model, DOMAIN)
    assert possible.dist_g_by_shares() == pytest.approx(left / prior, abs=1e-12)
    assert possible.dist_g() == pytest.approx(reconstruct(model, UNIFORM).dist_g(), abs=1e-15)


@pytest.mark.parametrize("model", MODELS, ids=["rules", "tree"])
def test_without_shares_and_with_uniform_ones_everything_is_as_published(model: Any) -> None:
    even = Domain(
        ATTRIBUTES,
        shares={
            "age": Shares(weights=(2, 4, 1), edges=(0, 1, 5), source=CENSUS),
            "job": Shares(weights=(1, 1, 1), source=CENSUS),
        },
    )
    plain = reconstruct(model, UNIFORM)
    assert plain.dist_g_by_shares() == pytest.approx(plain.dist_g(), abs=1e-12)
    assert reconstruct(model, even).dist_g_by_shares() == pytest.approx(plain.dist_g(), abs=1e-12)
    assert reconstruct(model, even).bits_learned() == pytest.approx(plain.bits_learned(), abs=1e-12)
    assert plain.worlds() == reconstruct(model, DOMAIN).worlds()


@pytest.mark.parametrize("model", MODELS, ids=["rules", "tree"])
def test_marginals_are_those_of_the_enumeration(model: Any) -> None:
    found = {entry.attribute: entry for entry in reconstruct(model, DOMAIN).by_attribute()}
    sizes = [cell.evidence.size or 0 for cell in model.cells]
    # Values that the model cannot tell apart keep their shares, so that atoms and values learn the same.
    for name in ("age", "job"):
        mean = 0.0
        before = dict(VALUES[name])
        for part, size in zip(parts_of(model), sizes, strict=True):
            after: defaultdict[Any, Fraction] = defaultdict(Fraction)
            for record, p in part:
                after[record[name]] += p
            total = sum(after.values())
            mean += size * sum(float(p / total) * math.log2(p / total / before[v]) for v, p in after.items())
        assert found[name].bits_learned == pytest.approx(mean / sum(sizes), abs=1e-9)


def test_records_are_drawn_by_their_shares() -> None:
    worlds = Worlds(RULES, DOMAIN, False, 10_000, by_shares=True)
    n = 40_000
    drawn = worlds.draw_cells([0, 0, n], np.random.default_rng(0))
    part = parts_of(RULES)[2]
    total = sum(p for _, p in part)
    for name in ("age", "job", "dose"):
        wanted: defaultdict[Any, Fraction] = defaultdict(Fraction)
        for record, p in part:
            wanted["gap" if record[name] is None else record[name]] += p
        values = drawn[name].tolist()
        held = Counter("gap" if isinstance(v, float) and math.isnan(v) else v for v in values)
        assert set(held) == set(wanted)
        for value, p in wanted.items():
            # Four standard errors of a share of 40,000 draws are at most 0.01.
            assert held[value] / n == pytest.approx(float(p / total), abs=0.01)


def test_a_wrong_weight_would_be_noticed() -> None:
    other = Domain(ATTRIBUTES, shares={**SHARES, "job": Shares(weights=(0.3, 0.5, 0.2), source=CENSUS)})
    assert reconstruct(RULES, other).bits_learned() != pytest.approx(
        reconstruct(RULES, DOMAIN).bits_learned(), abs=0.01
    )


@pytest.mark.parametrize(("lo", "hi"), [(-math.inf, 0.5), (0, 2.5), (0.5, 4), (2, 5), (-math.inf, math.inf), (5, 9)])
def test_the_share_of_an_interval_is_that_of_its_values(lo: float, hi: float) -> None:
    assert DOMAIN.share("age", lo, hi) == sum(
        (p for v, p in VALUES["age"] if v is not None and lo < v <= hi), start=Fraction(0)
    )


def test_a_domain_with_shares_goes_through_its_file(tmp_path: Path) -> None:
    DOMAIN.to_json(tmp_path / "d.json")
    assert Domain.read(tmp_path / "d.json") == DOMAIN
    assert Domain.read(tmp_path / "d.json").shares["age"].source == CENSUS
    jsonschema.validate(json.loads((tmp_path / "d.json").read_text()), schema())
    assert "shares" not in to_dict(UNIFORM)
    assert DOMAIN.restrict(["job", "ill"]).shares == {"job": SHARES["job"]}
    assert DOMAIN != UNIFORM


@pytest.mark.parametrize(
    ("name", "shares", "message"),
    [
        ("job", {"weights": (1, 1)}, "needs 3 weights, got 2"),
        ("job", {"weights": (1, 1, 0)}, "must be numbers above 0"),
        ("job", {"weights": (1, 1, float("nan"))}, "must be numbers above 0"),
        ("job", {"weights": (1, 1, 1), "source": ""}, "must name where shares come from"),
        ("job", {"weights": (1, 1, 1), "edges": (0, 1, 2, 3)}, "is no number"),
        ("age", {"weights": (1, 1), "edges": (0, 5)}, None),
        ("age", {"weights": (1,), "edges": (0, 5)}, "needs 2 weights"),
        ("age", {"weights": (1, 1), "edges": (1, 5)}, "must run from 0 to 5"),
        ("age", {"weights": (1, 1), "edges": (5, 0)}, "must increase strictly"),
        ("age", {"weights": (1, 1, 1), "edges": (0, 4.5, 4.7, 5)}, "needs 4"),
        ("age", {"weights": (1, 1, 1, 1), "edges": (0, 4.5, 4.7, 5)}, "holds no value"),
        ("none", {"weights": (1,)}, "the domain lacks it"),
    ],
)
def test_shares_that_do_not_fit_are_refused(name: str, shares: dict[str, Any], message: str | None) -> None:
    def made() -> Domain:
        return Domain(ATTRIBUTES, shares={name: Shares(**{"source": CENSUS, **shares})})

    if message is None:
        assert made().shares
        return
    with pytest.raises(InvalidDomainError, match=message):
        made()


def test_tied_attributes_have_no_shares() -> None:
    tie = ExactlyOne(("a", "b"))
    with pytest.raises(InvalidDomainError, match="a group ties it"):
        Domain({"a": Binary(), "b": Binary()}, groups=tie, shares={"a": Shares(weights=(1, 1), source=CENSUS)})


def test_shares_of_the_training_data_leave_open_whom_thresholds_name() -> None:
    attribute = {"age": Integer(0, 99)}
    text = "if [age <= 40.7] then [true] ([400 ; 300] examples)\nelse [false] ([300 ; 500] examples)"
    statuses = {}
    for trained in (False, True):
        domain = Domain(
            attribute,
            shares={"age": Shares(weights=(1, 8, 1), edges=(0, 30, 60, 99), source=CENSUS, from_training_data=trained)},
        )
        wide = Domain({"age": Integer(0, 99, thresholds=(50,))}, shares=domain.shares)
        checks = audit(parse_rules(text, wide), domain=wide, policy=Policy(largest_bits_per_record=10)).checks
        statuses[trained] = {check.rule: check.status for check in checks}
    assert (statuses[False]["named_by_thresholds"], statuses[False]["largest_bits_per_record"]) == ("pass", "pass")
    assert (statuses[True]["named_by_thresholds"], statuses[True]["largest_bits_per_record"]) == ("unknown",) * 2
