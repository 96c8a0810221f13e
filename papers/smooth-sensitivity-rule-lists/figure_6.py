"""Figure 6: ROC curves of membership attacks on GreedyRL and on sm-Laplace at epsilon 10, beside the label-only attack.

Figure 5 is the pipeline: of each split some members and non-members train the attack, the others judge it. Appendix C
prints no curve for the label-only attack, which it calls sub-par, because changed dummies hold no category or several.
Here it is run on dummies one by one, and on those of a category together. The boundary attack has the exact distance
to the decision boundary that its search looks for. Each row holds means over splits.

The control attacks a list of another split. Membership has nothing to do with it, but the numbers of records are the
same: with few non-members, true positive rates at few false positives lie above them by chance alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from fitting import METHODS as ALL
from fitting import cells_of, fit, split_of
from study import Key, Work, options, run, spread

from glassine.attacks import MembershipResult, Perturbation, black_box_attack, boundary_attack, label_only_attack
from glassine.attacks.outcome import Measured, Outcome
from glassine.data import Sample

SETTINGS = ("german", "compas")
METHODS = ("GreedyRL", "sm-Laplace")
ATTACKS = ("black-box", "label-only", "label-only, categories together", "boundary", "control")
OTHER = 1_000
"""Added to the seed of a split for the list that the control attacks."""

SPLITS = 30
"""Most splits: attacks take minutes each."""

EPSILON = 10.0
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""False positive rates at which curves are kept; German has 300 non-members, 150 of which judge the forest."""

ATTACK_KEY = ("setting", "method", "epsilon", "attack")


def measured(outcome: Outcome[MembershipResult]) -> MembershipResult:
    """Return the result of an attack that must have one."""
    if not isinstance(outcome, Measured):
        raise TypeError(f"a rule list must be open to the attack, got {outcome}.")
    return outcome.value


def attacked(setting: str, method: str, attack: str, seed: int) -> MembershipResult:
    """Return what an attack on the list of one split finds."""
    cells, split = cells_of(setting), split_of(setting, seed)
    epsilon = EPSILON if ALL[method].private else None
    model = fit(setting, ALL[method], epsilon, seed + OTHER if attack == "control" else seed).model_
    columns = np.column_stack(list(cells.columns.values()))
    rows = [np.repeat(np.arange(len(counts)), counts) for counts in (split.train, split.test)]
    records = [Sample(columns[row], cells.labels[row]) for row in rows]
    if attack in ("black-box", "control"):
        return measured(black_box_attack(model, *records, random_state=seed))
    if attack == "boundary":
        return measured(boundary_attack(model, *records, random_state=seed))
    names = list(cells.columns)
    together = [[names.index(name) for name in group.attributes] for group in cells.setting.groups]
    how = Perturbation(together=together if attack.endswith("together") else ())
    return measured(label_only_attack(model, *records, how, random_state=seed))


def measure(setting: str, method: str, attack: str, seeds: int) -> dict[str, float]:
    """Return means over seeded splits, with standard errors."""
    found = [attacked(setting, method, attack, seed) for seed in range(seeds)]
    figures = {
        "auc": [result.auc.value for result in found],
        "balanced": [result.balanced_accuracy.value for result in found],
        "detected": [float(result.detected) for result in found],
        **{f"tpr at {rate:g}": [result.roc.tpr_at(rate) for result in found] for rate in RATES},
    }
    errors = {f"{name}_error": spread(values)[1] for name, values in figures.items() if name != "detected"}
    return {name: statistics.fmean(values) for name, values in figures.items()} | errors


def cells(settings: Sequence[str], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return the cells of the figure."""
    for setting in settings:
        for method in METHODS:
            for attack in ATTACKS:
                key = (setting, method, f"{EPSILON:g}" if ALL[method].private else "", attack)
                yield key, seeds, partial(measure, setting, method, attack, seeds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the points of the curves."""
    given = options(__doc__, arguments)
    settings = given.settings or SETTINGS
    run(given.results / "figure_6.csv", ATTACK_KEY, cells(settings, min(given.seeds, SPLITS)))


if __name__ == "__main__":
    main()
