"""A script for an environment that holds the wheel alone: every public name, and a fit of each private learner."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import glassine


def main() -> None:
    """Fail loudly, or print the version of Python and what was learnt."""
    assert Path(sys.prefix) in Path(glassine.__file__).parents, f"not the installed wheel: {glassine.__file__}"
    assert importlib.metadata.version("glassine") == glassine.__version__
    for name in glassine.__all__:
        getattr(glassine, name)

    rng = np.random.default_rng(0)
    people = pl.DataFrame({"age": rng.integers(18, 100, 4_000), "children": rng.integers(0, 6, 4_000)})
    ill = np.where(people["age"].to_numpy() > 60, "yes", "no")
    domain = glassine.Domain(
        {
            "age": glassine.Integer(18, 99, thresholds=(30, 40, 50, 60, 70)),
            "children": glassine.Integer(0, 15, thresholds=(0, 2)),
        }
    )
    private: dict[str, Any] = {
        "additive": glassine.learners.PrivateEBMClassifier(
            epsilon=1.0, domain=domain, classes=("no", "yes"), random_state=0
        ),
        "rule-list": glassine.learners.PrivateRuleListClassifier(
            2, epsilon=1.0, domain=domain, classes=("no", "yes"), random_state=0
        ),
        "tree": glassine.learners.PrivateTreeClassifier(
            2, epsilon=1.0, domain=domain, classes=("no", "yes"), random_state=0
        ),
    }
    learnt = [name for name, learner in private.items() if learner.fit(people, ill).score(people, ill) > 0.9]
    sys.stdout.write(" ".join([".".join(map(str, sys.version_info[:2])), *learnt]) + "\n")


if __name__ == "__main__":
    main()
