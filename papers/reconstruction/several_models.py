"""What several models of the same records tell together, against each alone: ``several_models.csv``.

CART, the optimal tree and the optimal rule list of the same training records, each pair of them and all three, with
least support 0.01. Bits are a proved range: which record of one model's leaf is which of another's is not told.

A rule set, which the paper names and does not measure, is the same case: each of its rules is a list of one rule.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import cache
from itertools import combinations

from fits import CART, LIST, TREE, Model, fit
from settings import DATA_SETS, SEEDS, split
from study import Row, options, resume, text

from glassine import Domain
from glassine.attacks.reconstruction.joint_rows import reconstruct_jointly
from glassine.attacks.reconstruction.leakage import Interval
from glassine.attacks.reconstruction.systems import Search
from glassine.domain import Literal
from glassine.models import Evidence, Rule, RuleList

Antecedent = tuple[Literal, ...]

SUPPORT = "0.01"
SIZES = ("3", "6")
MODELS = (CART, TREE, LIST)
READINGS = ("independent", "aware")


def of_rule_set(rules: Sequence[tuple[Antecedent, int]], n_records: int, domain: Domain) -> Interval:
    """Return the range of Dist_G of a rule set: unordered rules, each with the number of records that satisfy it.

    A record can satisfy several rules, so that which record is in which rule is not known: that is the joint entropy
    of one list for each rule. It is reported per record, with the rows in the order of the most revealing rule.
    """
    lists = []
    for rule, held in rules:
        parts = ((rule, held), ((), n_records - held))
        taken = tuple(Rule(antecedent=when, evidence=Evidence(total=count)) for when, count in parts)
        lists.append(RuleList(taken, domain.names))
    found = reconstruct_jointly(lists, domain)
    bits = found.bits_per_record
    return Interval(lower=1 - bits.upper / found.domain_bits, upper=1 - bits.lower / found.domain_bits)


@cache
def model(name: str, data: str, seed: str, depth: str) -> Model:
    """Return a model of a learner."""
    made = fit(name, data, seed, SUPPORT, depth)
    if made.model is None:
        raise SystemExit(f"{name} on {data}, seed {seed}, depth {depth}: {made.status}.")
    return made.model


def measured(key: Row, limit: float) -> Row:
    """Return a row: bits alone, together, and of a reader who also knows which record is which."""
    data, started = split(key["data"], key["seed"]), time.process_time()
    made = {name: model(name, key["data"], key["seed"], key["depth"]) for name in key["models"].split(" + ")}
    aware = key["reading"] == "aware"
    domain = data.domain if aware else Domain.binary(data.domain.names)
    # The other reading has a domain without groups.
    search = Search(time_limit=limit)
    found = reconstruct_jointly(list(made.values()), domain, names=list(made), data=data.frame(), search=search)
    bits, total = found.bits_per_record, found.domain_bits
    return key | {
        "status": found.status,
        "seconds": f"{time.process_time() - started:.2f}",
        "domain bits": text(total),
        "alone": " ".join(f"{each:.4f}" for each in found.bits_alone),
        "from": text(bits.lower),
        "to": text(bits.upper),
        "which is which": text(found.bits_aligned),
        "cells": "" if found.cells is None else str(len(found.cells)),
        "small groups": str(len(found.small_groups)),
        "certain labels": str(len(found.certain_labels)),
    }


def keys(quick: bool) -> list[list[Row]]:
    """Return what names each row."""
    sets = [pair for size in (2, 3) for pair in combinations(MODELS, size)]
    return [
        [{"data": data, "seed": seed, "depth": depth, "models": " + ".join(names), "reading": reading}]
        for seed in (SEEDS[:1] if quick else SEEDS)
        for data in DATA_SETS
        for depth in (SIZES[:1] if quick else SIZES)
        for names in sets
        for reading in READINGS
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    resume(given.results / "several_models.csv", keys(given.quick), lambda some: [measured(some[0], given.limit)])


__all__ = ["MODELS", "READINGS", "SIZES", "SUPPORT", "keys", "main", "measured", "of_rule_set"]

if __name__ == "__main__":
    main(sys.argv[1:])
