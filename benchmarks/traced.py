"""Functions and files of the package that one audit and one private fit enter.

``python benchmarks/traced.py`` prints them; ``make house`` does so with the other figures. Each flow runs once before
it is traced, so that imports and compiled kernels count nowhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import polars as pl
from sklearn.tree import DecisionTreeClassifier

import glassine
from glassine import AuditSettings, Binary, Category, Domain, Integer
from glassine.domain.attributes import Attribute
from glassine.learners import PrivateEBMClassifier, PrivateTreeClassifier

PACKAGE = Path(glassine.__file__).parent.as_posix()
N = 4_000


def entered(flow: Callable[[], object]) -> tuple[int, int]:
    """Return how many functions of the package a flow enters on its second run, and in how many files.

    Functions without a name of their own (lambdas, comprehensions, bodies of classes) are not counted.
    """
    seen: set[tuple[str, str]] = set()

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_qualname))

    flow()
    sys.setprofile(called)
    try:
        flow()
    finally:
        sys.setprofile(None)
    return len(seen), len({file for file, _ in seen})


def flows() -> dict[str, Callable[[], object]]:
    """Return audits of a tree with its records, of one question of it and of the tree alone, and two private fits."""
    rng = np.random.default_rng(0)
    people = pl.DataFrame(
        {"age": rng.integers(18, 100, N), "visits": rng.poisson(3, N).clip(0, 20), "smoker": rng.integers(0, 2, N)}
    )
    risk = 0.07 * (people["age"] - 60) + 1.5 * people["smoker"] + 0.2 * people["visits"] - 1.5
    ill = np.where(rng.random(N) < 1 / (1 + np.exp(-risk.to_numpy())), "yes", "no")
    attributes: dict[str, Attribute] = {
        "age": Integer(18, 110, thresholds=(30, 40, 50, 60, 70, 80)),
        "visits": Integer(0, 50, thresholds=(1, 2, 4, 6, 8)),
        "smoker": Binary(),
    }
    public, domain = Domain(attributes), Domain(attributes | {"ill": Category(("no", "yes"))})
    tree = glassine.as_model(DecisionTreeClassifier(max_depth=5, random_state=0).fit(people.to_numpy(), ill), public)
    records = people.with_columns(ill=pl.Series(ill))
    disclosure = AuditSettings(sensitive="ill", measurements=("disclosure",))
    of_fits: dict[str, Any] = {"epsilon": 1.0, "domain": public, "classes": ("no", "yes"), "random_state": 0}
    return {
        "an audit with data": lambda: glassine.audit(tree, records, "ill", domain=domain),
        "a disclosure": lambda: glassine.audit(tree, records, settings=disclosure),
        "an audit of the model alone": lambda: glassine.audit(tree, domain=public),
        "a private tree": lambda: PrivateTreeClassifier(3, **of_fits).fit(people, ill),
        "a private additive model": lambda: PrivateEBMClassifier(**of_fits).fit(people, ill),
    }


def main() -> None:
    """Print the figures."""
    for name, flow in flows().items():
        functions, files = entered(flow)
        sys.stdout.write(f"{f'functions, files of {name} ':.<48} {functions:,}, {files:,}\n")


if __name__ == "__main__":
    main()
