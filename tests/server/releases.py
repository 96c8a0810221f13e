"""A small release for tests of the service, with every kind of attribute."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.surrogates import SurrogateExplainer, SurrogateRelease

DOMAIN = Domain(
    {
        "age": Integer(17, 90),
        "hours": Real(0.0, 80.0, missing=True),
        "work": Category(("private", "public", '<none> & "co"')),
        "member": Binary(),
    }
)

QUERY: dict[str, Any] = {"age": 40, "hours": 35.5, "work": "private", "member": 1}


def decide(frame: Any) -> Any:
    """Say yes to the old, and to members who work long."""
    hours = frame["hours"].fillna(0.0)
    return np.where((frame["age"] > 50) | ((frame["member"] == 1) & (hours > 40)), "yes", "no")


@cache
def records(n: int = 400) -> Any:
    """Return records of the domain."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 91, n),
            "hours": rng.uniform(0, 80, n).round(3),
            "work": rng.choice(np.array(DOMAIN["work"].values, dtype=object), n),  # type: ignore[union-attr]
            "member": rng.integers(0, 2, n),
        }
    )


@cache
def small_release(form: str = "restricted") -> SurrogateRelease:
    """Return the release of an explainer of :func:`decide`."""
    truth = decide(records()) if form == "paper" else None
    explainer = SurrogateExplainer(decide, 20, domain=DOMAIN, form=form, goal=None, random_state=0)
    return explainer.fit(records(), truth).release()
