"""Whom the leak hits: bits that a reader learns, by sex, race, age and label: ``subgroups.csv``.

Trees of seven splits on a path and lists of ten rules, least support 0.01. Ranges are those of the five splits into
training and test set.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from statistics import fmean

import numpy as np
import pandas as pd
from fits import CART, GREEDY, LIST, TREE, fit
from settings import DATA_SETS, SEEDS, Split, split
from study import Row, options, resume, text

from glassine import reconstruct

DEPTHS = {CART: "7", TREE: "7", GREEDY: "10", LIST: "10"}
SUPPORT = "0.01"
EVERYONE = "everyone"


def people(data: Split, name: str) -> pd.DataFrame:
    """Return who the training records are, by attribute."""
    held = data.frame()
    if name == "adult":
        return pd.DataFrame(
            {
                "sex": np.where(held["gender_Female"] == 1, "female", "male"),
                "age": np.where(held["age_high"] == 1, "high", "low"),
                "label": np.where(data.y == 1, "over 50K", "up to 50K"),
            }
        )
    races = [column for column in held if column.startswith("Race=")]
    # The column named Age<=45 is 1 for people of at least 45.
    return pd.DataFrame(
        {
            "sex": np.where(held["Gender=Male"] == 1, "male", "female"),
            "race": np.array([column.removeprefix("Race=") for column in races])[held[races].to_numpy().argmax(axis=1)],
            "age": np.select([held["Age=18-25"] == 1, held["Age<=45"] == 1], ["18 to 25", "45 and over"], "26 to 44"),
            "label": np.where(data.y == 1, "reoffended", "did not"),
        }
    )


def measured(key: Row, seeds: Sequence[str]) -> list[Row]:
    """Return the rows of a learner, means over the splits."""
    bits: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    for seed in seeds:
        data = split(key["data"], seed)
        model = fit(key["learner"], key["data"], seed, SUPPORT, key["depth"]).model
        if model is None:
            continue
        known, frame, who = reconstruct(model, data.domain), data.frame(), people(data, key["data"])
        found = [known.record_bits(frame, domain_aware=aware) for aware in (False, True)]
        bits.setdefault((EVERYONE, ""), []).append((len(frame), *(float(some.mean()) for some in found)))
        for attribute in who:
            for value in sorted(set(who[attribute])):
                rows = (who[attribute] == value).to_numpy()
                told = (int(rows.sum()), *(float(some[rows].mean()) for some in found))
                bits.setdefault((attribute, value), []).append(told)
    out = []
    for (attribute, value), found in bits.items():
        row = key | {"attribute": attribute, "value": value, "splits": str(len(found))}
        row["records"] = text(fmean(size for size, _, _ in found))
        for place, name in ((1, "bits"), (2, "bits aware")):
            values = [told[place] for told in found]
            # Ranges are of the distance from everyone, split by split.
            gaps = [told[place] - each[place] for told, each in zip(found, bits[EVERYONE, ""], strict=True)]
            row |= {name: text(fmean(values)), f"{name} gap from": text(min(gaps)), f"{name} gap to": text(max(gaps))}
        out.append(row)
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not in the results yet."""
    given = options(__doc__, arguments)
    seeds = SEEDS[:1] if given.quick else SEEDS
    groups = [
        [{"data": data, "learner": learner, "depth": "3" if given.quick else depth}]
        for data in DATA_SETS
        for learner, depth in DEPTHS.items()
    ]
    resume(given.results / "subgroups.csv", groups, lambda keys: measured(keys[0], seeds))


__all__ = ["DEPTHS", "EVERYONE", "SUPPORT", "main", "people"]

if __name__ == "__main__":
    main(sys.argv[1:])
