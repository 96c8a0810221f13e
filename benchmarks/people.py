"""What counting rows hides where people have several records: ``python benchmarks/people.py [--page]``.

Made-up visits of patients: half of them come once, the others two to five times, each time with nearly the same values.
Trees with at least ten records in a leaf are audited by record, with a holdout of rows, and by person, with a holdout
of people. A row of ``people.csv`` is one seed: the share of the holdout's rows whose patient is in the training data,
the advantage of the gap attack by record and by person, the fewest people in a leaf, and whether either audit accuses a
tree that was trained on other people.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

PEOPLE, SEEDS = 400, 20
NAMES = ["a", "b", "c"]
FEWEST = 10
"""Records that a leaf has at least: so by record no table fails."""


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
    from glassine.attacks.membership.outputs import LabelledRecords
    from glassine.data.person_counts import Persons

    sides = [
        LabelledRecords(
            side.select(NAMES).to_numpy(), side["ill"].to_numpy(), Persons.of(side["who"]) if by_person else None
        )
        for side in (inside, outside)
    ]
    found: Any = gap_attack(tree, *sides)
    return found.value


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of a seed."""
    from glassine.data.person_counts import Persons

    seed = int(key["seed"])
    frame, rng = visits(seed), np.random.default_rng(1000 + seed)
    row = rng.random(frame.height) < 0.7
    person = (rng.random(PEOPLE) < 0.7)[frame["who"].to_numpy()]
    inside, outside = frame.filter(pl.Series(row)), frame.filter(pl.Series(~row))
    members, others = frame.filter(pl.Series(person)), frame.filter(pl.Series(~person))
    tree = grown(frame, min_samples_leaf=FEWEST)
    leaves = np.unique(tree.apply(frame.select(NAMES).to_numpy()), return_inverse=True)[1]
    stranger = grown(visits(5000 + seed))
    accused = [gap(stranger, members, others, by_person=each).control.p_value <= 0.05 for each in (False, True)]
    return {
        "shared rows": float(np.isin(outside["who"].to_numpy(), inside["who"].to_numpy()).mean()),
        "advantage by record": gap(grown(inside), inside, outside, by_person=False).advantage.value,
        "advantage by person": gap(grown(members), members, others, by_person=True).advantage.value,
        "fewest people": int(Persons.of(frame["who"]).counts(leaves, int(leaves.max()) + 1).min()),
        "accused by record": int(accused[0]),
        "accused by person": int(accused[1]),
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""

    def values(name: str) -> list[float]:
        return [float(row[name]) for row in rows]

    advantages = [values(f"advantage by {unit}") for unit in ("record", "person")]
    few = sum(fewest < FEWEST for fewest in values("fewest people"))
    lines = [
        [
            "rows of a random holdout whose patient is in the training data",
            f"{fmean(values('shared rows')):.0%}",
            "refused",
        ],
        [
            "advantage of the gap attack (mean, standard error)",
            *(f"{fmean(each):.3f} ± {stdev(each) / len(each) ** 0.5:.3f}" for each in advantages),
        ],
        ["tables with a leaf of fewer than ten people", "none fails", f"{few} of {len(rows)} fail"],
    ]
    return {"people": markdown(["", "by record", "by person"], lines)}


KEYS = [{"seed": str(seed)} for seed in range(SEEDS)]


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
