"""What a private additive model loses as a regression: AUC of the model, its line, its card, and no privacy.

Private additive models (epsilon 1 and 0.1, delta 1e-6) on Adult and Telco, trained on two thirds of the records, three
draws of split and noise; ``to_linear()`` and ``to_scorecard()`` read the released model alone. Beside them a logistic
regression of scikit-learn without privacy on numbers in units of their spread and dummies. Ranges and categories are
those of the data, as a code book would state them. GLASSINE_DATA names the folder of the datasets.

    python benchmarks/lines.py    # prints the table
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.regressions import Design, adult, auc, telco  # noqa: E402
from glassine import Category, Domain, Real  # noqa: E402
from glassine.learners import PrivateEBMClassifier  # noqa: E402
from glassine.records.arrays import Array  # noqa: E402

EPSILONS, DRAWS, TRAINED = (1.0, 0.1), 3, 2 / 3


def declared(frame: pl.DataFrame) -> Domain:
    """Return a domain with the ranges and categories of a frame."""
    attributes: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.is_numeric():
            ends: Any = (column.min(), column.max())
            attributes[name] = Real(float(ends[0]), float(ends[1]))
        else:
            attributes[name] = Category(tuple(sorted(column.unique().to_list())))
    return Domain(attributes)


def row(frame: pl.DataFrame, target: str, epsilon: float, draw: int) -> dict[str, float]:
    """Return the AUC of each model on held-out records."""
    order = np.random.default_rng(draw).permutation(len(frame))
    n = round(len(frame) * TRAINED)
    train, test = frame[order[:n]], frame[order[n:]]
    domain = declared(frame.drop(target))
    made = PrivateEBMClassifier(epsilon=epsilon, delta=1e-6, domain=domain, classes=(0, 1), random_state=draw)
    model = made.fit(train.drop(target), train[target].to_numpy()).model_
    truth = test[target].to_numpy() == 1

    def area(scores: Array) -> float:
        return auc(scores, truth)

    given = test.drop(target)
    design = Design.of(train, target, 10**6)
    plain = LogisticRegression(max_iter=2_000).fit(design.columns(train), train[target].to_numpy())
    return {
        "additive model": area(model.scores(given)[:, 0]),
        "to_linear()": area(model.to_linear().scores(given)[:, 0]),
        "to_scorecard()": area(model.to_scorecard().scores(given)[:, 0]),
        "logistic, no privacy": area(plain.decision_function(design.columns(test))),
    }


def main() -> None:
    """Print the table."""
    lines: list[str] = []
    for name, load in (("Adult", adult), ("Telco", telco)):
        frame, target = load()
        frame = frame.drop([column for column in ("months",) if column in frame.columns])
        for epsilon in EPSILONS:
            found = [row(frame, target, epsilon, draw) for draw in range(DRAWS)]
            if not lines:
                lines += ["| data | epsilon | " + " | ".join(found[0]) + " |", "|---" * (len(found[0]) + 2) + "|"]
            means = (f"{np.mean([one[key] for one in found]):.3f}" for key in found[0])
            lines.append(f"| {name} | {epsilon:g} | " + " | ".join(means) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
