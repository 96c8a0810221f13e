"""What counting rows hides where people have several records: ``python benchmarks/people.py``.

Made-up visits of patients: half of them come once, the others two to five times, each time with nearly the same values.
Trees with at least ten records in a leaf are audited by record, with a holdout of rows, and by person, with a holdout
of people. Printed are the share of the holdout's rows whose patient is in the training data, the advantage of the gap
attack with its 95 % interval, how many trees have a leaf of fewer than ten people, and how often either audit accuses a
tree that was trained on other people.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl

PEOPLE, SEEDS = 400, 20
NAMES = ["a", "b", "c"]


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")


def visits(seed: int, people: int = PEOPLE) -> pl.DataFrame:
    """Return the visits: three numbers, a noisy class of the patient, and who it is."""
    rng = np.random.default_rng(seed)
    number = np.where(rng.random(people) < 0.5, 1, rng.integers(2, 6, people))
    who = np.repeat(np.arange(people), number)
    X = rng.normal(size=(people, 3))[who] + rng.normal(scale=1e-3, size=(len(who), 3))
    ill = ((X[:, 0] > 0) ^ (rng.random(people) < 0.25)[who]).astype(int)
    return pl.DataFrame({"who": who, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "ill": ill})


def grown(frame: pl.DataFrame, **given: Any) -> Any:
    """Return a tree of the visits."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0, **given).fit(frame.select(NAMES).to_numpy(), frame["ill"].to_numpy())


def gap(tree: Any, inside: pl.DataFrame, outside: pl.DataFrame, *, by_person: bool) -> Any:
    """Return the result of the gap attack."""
    from glassine.attacks.membership.gap import gap_attack
    from glassine.attacks.membership.outputs import Records
    from glassine.data.persons import Persons

    sides = [
        Records(side.select(NAMES).to_numpy(), side["ill"].to_numpy(), Persons.of(side["who"]) if by_person else None)
        for side in (inside, outside)
    ]
    return gap_attack(tree, *sides).value


def main() -> None:
    """Print the figures."""
    from glassine.data.persons import Persons

    shared, by_row, by_person, few = [], [], [], 0
    accused = {False: 0, True: 0}
    for seed in range(SEEDS):
        frame, rng = visits(seed), np.random.default_rng(1000 + seed)
        row = rng.random(frame.height) < 0.7
        person = (rng.random(PEOPLE) < 0.7)[frame["who"].to_numpy()]
        inside, outside = frame.filter(pl.Series(row)), frame.filter(pl.Series(~row))
        shared.append(float(outside["who"].is_in(inside["who"].unique().implode()).mean()))
        by_row.append(gap(grown(inside), inside, outside, by_person=False).advantage.value)
        members, others = frame.filter(pl.Series(person)), frame.filter(pl.Series(~person))
        by_person.append(gap(grown(members), members, others, by_person=True).advantage.value)
        tree = grown(frame, min_samples_leaf=10)
        leaves = np.unique(tree.apply(frame.select(NAMES).to_numpy()), return_inverse=True)[1]
        few += int(Persons.of(frame["who"]).counts(leaves, int(leaves.max()) + 1).min() < 10)
        stranger = grown(visits(5000 + seed))
        for unit in accused:
            accused[unit] += int(gap(stranger, members, others, by_person=unit).control.p_value <= 0.05)
    say(f"rows of the holdout whose patient is in the training data: {np.mean(shared):.0%}")
    for name, found in (("by record, holdout of rows", by_row), ("by person, holdout of people", by_person)):
        error = np.std(found, ddof=1) / np.sqrt(len(found))
        say(f"advantage of the gap attack {name}: {np.mean(found):.3f} +/- {error:.3f} (mean and standard error)")
    say(f"trees of at least ten records in a leaf with a leaf of fewer than ten people: {few} of {SEEDS}")
    say(f"trees of other people that are accused at 5 %: {accused[False]} by record, {accused[True]} by person")


if __name__ == "__main__":
    main()
