"""Benchmarks of counting, auditing and reporting: ``python benchmarks/reconstruction.py [--json FILE]``.

Each figure is the median of several runs in this process; comparisons are ratios of medians taken in turn.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set

from glassine import (  # noqa: E402 - after the path is set
    Binary,
    Category,
    Domain,
    Integer,
    Real,
    RuleList,
    as_model,
    audit,
    reconstruct,
    render_html,
)
from glassine.domain import Between, Literal, OneOf  # noqa: E402
from glassine.domain.attributes import Attribute  # noqa: E402
from glassine.models import Evidence, Rule  # noqa: E402
from tests.oracles.worlds import published_captures  # noqa: E402


def seconds(work: Callable[[], Any]) -> float:
    """Return the duration of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def mixed_domain(n: int) -> Domain:
    """Return a domain of binaries, integers, categories and reals in turn."""
    kinds: list[Attribute] = [Binary(), Integer(0, 99), Category(tuple("abcdef")), Real(0.0, 1.0, 0.01)]
    return Domain({f"x{i}": kinds[i % 4] for i in range(n)})


def random_literal(i: int, rng: random.Random) -> Literal:
    """Return a literal on the i-th attribute of a mixed domain."""
    name = f"x{i}"
    if i % 4 == 0:
        return OneOf(name, (1,), negated=rng.random() < 0.5)
    if i % 4 == 1:
        lo = rng.randrange(90)
        return Between(name, lo, lo + rng.randrange(1, 60))
    if i % 4 == 2:
        return OneOf(name, tuple(rng.sample("abcdef", rng.randrange(1, 5))))
    return Between(name, hi=rng.randrange(5, 95) / 100, negated=rng.random() < 0.5)


def random_list(domain: Domain, n_rules: int, width: int, rng: random.Random) -> RuleList:
    """Return a rule list of random rules over a mixed domain."""
    rules = [
        Rule(
            antecedent=tuple(random_literal(i, rng) for i in rng.sample(range(len(domain)), width)),
            evidence=Evidence(total=10),
        )
        for _ in range(n_rules)
    ]
    return RuleList((*rules, Rule(evidence=Evidence(total=10))), domain.names, (0, 1))


def check(agrees: bool) -> None:
    """Raise if a benchmark computed something wrong."""
    if not agrees:
        raise RuntimeError("the counts disagree")


def count_into(result: list[int], rules: RuleList, domain: Domain) -> None:
    """Append the exact number of possible records of each rule."""
    result += reconstruct(rules, domain).worlds()


def recurse_into(result: list[int], antecedents: list[frozenset[int]]) -> None:
    """Append the same by the published recursion."""
    result += published_captures(antecedents, 100)


def count_lists(rows: list[tuple[str, str]]) -> None:
    """Count random rule lists exactly."""
    for n_attributes, n_rules, width in (
        (100, 10, 3),
        (100, 20, 3),
        (100, 30, 3),
        (50, 30, 3),
        (100, 40, 3),
        (24, 20, 2),
    ):
        domain = mixed_domain(n_attributes)
        times = []
        for seed in range(9):
            rules = random_list(domain, n_rules, width, random.Random(seed))  # noqa: S311 - not for secrets
            result: list[int] = []
            times.append(seconds(partial(count_into, result, rules, domain)))
            check(sum(result) == domain.size())
        label = f"{n_rules} rules of width {width} over {n_attributes} mixed attributes, counted exactly"
        rows.append((label, f"{statistics.median(times):.3f} s, at most {max(times):.3f} s"))


def compare_with_recursion(rows: list[tuple[str, str]]) -> None:
    """Compare with the published recursion on the same rule lists."""
    for n_rules in (12, 16, 20):
        ratios, ours, theirs = [], [], []
        for seed in range(3):
            rng = random.Random(seed)  # noqa: S311 - not for secrets
            antecedents = [
                frozenset(rng.choice((-1, 1)) * a for a in rng.sample(range(1, 101), 3)) for _ in range(n_rules)
            ]
            domain = Domain.binary([f"a{i}" for i in range(1, 101)])
            rules = [
                Rule(antecedent=tuple(OneOf(f"a{abs(n)}", (1,), negated=n < 0) for n in sorted(antecedent)))
                for antecedent in antecedents
            ]
            model = RuleList((*rules, Rule()), domain.names, (0, 1))
            counted: list[int] = []
            recursed: list[int] = []
            ours.append(seconds(partial(count_into, counted, model, domain)))
            theirs.append(seconds(partial(recurse_into, recursed, antecedents)))
            check(counted[:-1] == recursed)
            ratios.append(theirs[-1] / ours[-1])
        figure = (
            f"{statistics.median(theirs):.3f} s / {statistics.median(ours):.4f} s = {statistics.median(ratios):.1f}"
        )
        rows.append((f"published recursion against ours, {n_rules} rules of width 3", figure))


def audit_trees(rows: list[tuple[str, str]]) -> None:
    """Audit trees of growing size, with and without data, and render the report."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30_000, 30)).round(3), columns=[f"x{i}" for i in range(30)])
    labels = (frame["x0"] + frame["x1"] * frame["x2"] + rng.normal(size=30_000) > 0).astype(int)
    domain = Domain({str(name): Real(-10.0, 10.0, 0.001) for name in frame})
    for n_leaves in (30, 300, 3000):
        tree = as_model(DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(frame, labels), domain)
        alone = [seconds(partial(audit, tree, domain=domain)) for _ in range(5)]
        with_data = [seconds(partial(audit, tree, domain=domain, data=frame)) for _ in range(3)]
        findings = audit(tree, domain=domain)
        page = [seconds(partial(render_html, findings)) for _ in range(3)]
        size = len(render_html(findings).encode())
        rows.append((f"audit of a tree of {n_leaves} leaves", f"{statistics.median(alone):.3f} s"))
        rows.append(("  with its 30,000 records", f"{statistics.median(with_data):.3f} s"))
        rows.append(("  report", f"{statistics.median(page):.3f} s, {size / 1000:.0f} kB"))


def imports(rows: list[tuple[str, str]]) -> None:
    """Time the import in a fresh process, next to an empty process and to NumPy's import."""
    for label, code in (
        ("empty process", "pass"),
        ("import numpy", "import numpy"),
        ("import glassine", "import glassine"),
    ):
        times = [seconds(partial(subprocess.run, [sys.executable, "-c", code], check=True)) for _ in range(7)]
        rows.append((label, f"{statistics.median(times):.3f} s"))


def main() -> None:
    """Run all benchmarks and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    rows: list[tuple[str, str]] = []
    for part in (imports, count_lists, compare_with_recursion, audit_trees):
        before = len(rows)
        part(rows)
        for label, figure in rows[before:]:
            print(f"{label:<75} {figure}")  # noqa: T201 - the table is the result
    if arguments.json:
        arguments.json.write_text(json.dumps(dict(rows), indent=2) + "\n")


if __name__ == "__main__":
    main()
