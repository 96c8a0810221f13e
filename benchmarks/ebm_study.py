"""Find the public rules of the penalised additive learner on three datasets, and confirm them on three others.

The choices of :mod:`glassine.learners.additive.choices` are varied one at a time around the rule. Every figure is a
loss relative to the best of its row of fits (same dataset, budget and splits), so that datasets count alike: RMSE
over the best RMSE for numbers, and the area above the ROC curve over the smallest such area for classes, less one, in
percent.

    python benchmarks/ebm_study.py              # varies every choice on adult, california and pol
    python benchmarks/ebm_study.py --confirm    # the same on telco, elevators and wine
    python benchmarks/ebm_study.py --unseen     # the same on compas, on which no choice was made
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.additive_data import CONFIRMING, FINDING, LOADERS, UNSEEN, Additive
from glassine.learners.additive.additive_budget import GaussianBudget
from glassine.learners.additive.additive_fit import AdditivePlan, Private, fit_model
from glassine.learners.additive.choices import Choices, choices
from glassine.learners.additive.estimators import PrivateEBMClassifier, PrivateEBMRegressor
from glassine.learners.additive.targets import Training, read_classes, read_numbers
from glassine.privacy.randomness import Randomness
from glassine.privacy.release import SEEDED, Paid
from glassine.sealed.binned import AdditiveRecords, AdditiveStore
from glassine.sealed.gaussian import GaussianOracle


def say(text: str) -> None:
    """Write one line."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


EPSILONS = (0.5, 1.0, 4.0)
DELTA = 1e-6

VARIED = {
    "rounds": (0.5, 1.0, 2.0),
    "rate": (0.5, 1.0, 2.0),
    "clip": (0.6, 0.8, 1.0, 1.25),
    "caution": (0.5, 1.0, 2.0),
    "bin_share": (0.5, 1.0, 2.0),
}
"""Factors by which each choice of the rule is multiplied."""


def training_of(data: Additive, rows: np.ndarray) -> tuple[AdditiveRecords, Training]:
    """Return the records of a split, read as a fit reads them."""
    frame, target = data.frame[rows], data.target[rows]
    if data.classes is not None:
        return read_classes(PrivateEBMClassifier(), frame, target, domain=data.domain, classes=data.classes)
    return read_numbers(PrivateEBMRegressor(), frame, target, domain=data.domain, bounds=data.target_range)


def loss(data: Additive, seed: int, epsilon: float, chosen: Choices) -> float:
    """Return the test loss of one fit: RMSE, or one less the area under the ROC curve."""
    train, test = data.split(seed)
    records, training = training_of(data, train)
    plan = AdditivePlan.of(training, algorithm="penalized", accounting="gdp", bins=None, monotone=None)
    budget, paid = GaussianBudget.of(epsilon, DELTA), Paid(randomness=Randomness.of(seed), caveats=(SEEDED,))
    privacy = Private(budget=budget, oracle=GaussianOracle(AdditiveStore(records), budget.mu, paid))
    model = fit_model(training, replace(plan, override=chosen), privacy, source="study", progress=None)
    frame = data.frame[test]
    if data.classes is None:
        return float(np.sqrt(np.mean((model.predict(frame) - data.target[test]) ** 2)))
    return 1.0 - float(roc_auc_score(data.target[test] == data.classes[1], model.scores(frame)[:, 0]))


def varied(rule: Choices, name: str, factor: float) -> Choices:
    """Return a rule with one choice multiplied."""
    value = getattr(rule, name) * factor
    if name == "rounds":
        value = max(2, round(value))
    if name == "rate":
        value = min(1.0, value)
    return replace(rule, **{name: value})


def study(names: tuple[str, ...], splits: int) -> None:
    """Print the relative losses of every choice on some datasets."""
    for name in names:
        data = LOADERS[name]()
        for epsilon in EPSILONS:
            mu = GaussianBudget.of(epsilon, DELTA).mu
            rule = choices(
                classes=data.classes is not None,
                n_terms=len(data.domain),
                n_records=0.8 * len(data.target),
                mu=mu,
            )
            options = {("rule", 1.0): rule} | {
                (choice, factor): varied(rule, choice, factor)
                for choice, factors in VARIED.items()
                for factor in factors
                if factor != 1.0
            }
            found = {
                key: float(np.mean([loss(data, seed, epsilon, chosen) for seed in range(splits)]))
                for key, chosen in options.items()
            }
            best = min(found.values())
            parts = [
                f"{choice} x{factor:g}: {100 * (value / best - 1):.1f}" for (choice, factor), value in found.items()
            ]
            say(f"{name} epsilon={epsilon:g} best={best:.5g} | " + "; ".join(parts))


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--confirm", action="store_true", help="run on the datasets that confirm")
    parser.add_argument("--splits", type=int, default=3, help="seeded splits of each fit")
    parser.add_argument("--unseen", action="store_true", help="run on the dataset on which no choice was made")
    given = parser.parse_args()
    study(UNSEEN if given.unseen else CONFIRMING if given.confirm else FINDING, given.splits)


if __name__ == "__main__":
    main()
