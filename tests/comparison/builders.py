"""Made-up results, and small records to compare on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from glassine import Binary, Category, Domain, Integer
from glassine.comparison import Comparison, Figures, Result, Row


def row(
    model: str,
    epsilon: float | None,
    accuracies: Sequence[float],
    *,
    bits: float | None = 2.0,
    vulnerability: float | None = 0.51,
    auroc: float | None = 0.7,
    log_loss: float | None = 0.6,
) -> Row:
    """Return a learner with a given accuracy on each split; a NaN is kept as it is."""
    return Row.of(
        [
            Result(
                model=model,
                epsilon=epsilon,
                split=number,
                status="measured",
                figures=Figures(
                    accuracy=accuracy, bits=bits, vulnerability=vulnerability, auroc=auroc, log_loss=log_loss
                ),
            )
            for number, accuracy in enumerate(accuracies)
        ]
    )


def numeric_row(model: str, epsilon: float | None, errors: Sequence[float], *, bits: float | None = 2.0) -> Row:
    """Return a learner of numbers with a given root mean squared error on each split."""
    figures = [Figures(rmse=rmse, mae=0.8 * rmse, r2=1 - (rmse / 100) ** 2, bits=bits, gap=0.02) for rmse in errors]
    return Row.of(
        [
            Result(model=model, epsilon=epsilon, split=number, status="measured", figures=figure)
            for number, figure in enumerate(figures)
        ]
    )


def refused(model: str, epsilon: float | None, reason: str = "it needs two classes.") -> Row:
    """Return a learner that was not applicable on any split."""
    return Row.of([Result(model=model, epsilon=epsilon, split=0, status="not applicable", reason=reason)])


def comparison(
    *rows: Row,
    n_splits: int = 3,
    largest_class: float | None = 0.6,
    target_range: tuple[float, float] | None = None,
) -> Comparison:
    """Return a comparison of made-up rows."""
    return Comparison(
        target="ill",
        classes=("no", "yes") if target_range is None else (),
        n_records=1000,
        n_attributes=4,
        largest_class=largest_class if target_range is None else None,
        n_splits=n_splits,
        test_share=0.3,
        seed=0,
        delta=1e-6,
        max_depth=3,
        max_rules=3,
        caveats=(),
        rows=rows,
        version="0",
        target_range=target_range,
    )


def records(n: int = 400, *, classes: Sequence[str] = ("no", "yes")) -> pl.DataFrame:
    """Return records whose class follows from their age and job, for most of them."""
    rng = np.random.default_rng(0)
    age, job = rng.integers(18, 90, n), rng.choice(["baker", "clerk", "pilot"], n)
    label = ((age > 50).astype(int) + (job == "pilot")) % len(classes)
    label = np.where(rng.random(n) < 0.1, rng.integers(0, len(classes), n), label)
    return pl.DataFrame({"age": age, "smoker": rng.integers(0, 2, n), "job": job, "ill": np.array(classes)[label]})


def domain(*, classes: Sequence[str] = ("no", "yes")) -> Domain:
    """Return what is public of these records."""
    return Domain(
        {
            "age": Integer(18, 90, thresholds=(30, 50, 70)),
            "smoker": Binary(),
            "job": Category(("baker", "clerk", "pilot")),
            "ill": Category(tuple(classes)),
        }
    )
