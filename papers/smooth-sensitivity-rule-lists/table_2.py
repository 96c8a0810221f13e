"""Table II: vulnerability and test accuracy of GreedyRL and sm-Laplace at epsilon 10, beside the published ones.

The control is the vulnerability that a model without any relation to the data would show on so many records. The paper
tells records apart by the rule that captures them; ``by class`` tells them apart by the predicted class alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from fitting import METHODS as ALL
from fitting import accuracy, cells_of, fit, split_of
from stored import NAMES
from study import ACCURACY_KEY, FOLDER, Key, Row, Work, options, published, run, say, spread, text, value, write

from glassine.attacks import Vulnerability, vulnerability
from glassine.attacks.outcome import Measured, Outcome
from glassine.data import Sample
from papers.common.results import page_of
from papers.common.tables import markdown, place

SETTINGS = ("german", "compas", "adult", "adult-pairs")
METHODS = ("GreedyRL", "sm-Laplace", "counted-gini, strict")
EPSILON = 10.0
PERMUTATIONS = 19


def measured(outcome: Outcome[Vulnerability]) -> Vulnerability:
    """Return the value of an outcome that must have one."""
    if not isinstance(outcome, Measured):
        raise TypeError(f"the vulnerability of a rule list must be measurable, got {outcome}.")
    return outcome.value


def measure(setting: str, method: str, epsilon: float | None, seeds: int) -> dict[str, float]:
    """Return mean vulnerability, control and accuracy over seeded splits."""
    cells = cells_of(setting)
    columns = np.column_stack(list(cells.columns.values()))
    figures: dict[str, list[float]] = {name: [] for name in ("vulnerability", "by class", "control", "evident")}
    scores = []
    for seed in range(seeds):
        model = fit(setting, ALL[method], epsilon, seed).model_
        split = split_of(setting, seed)
        rows = [np.repeat(np.arange(len(counts)), counts) for counts in (split.train, split.test)]
        records = [Sample(columns[row], cells.labels[row]) for row in rows]
        rules = measured(vulnerability(model, *records, n_permutations=PERMUTATIONS, random_state=seed))
        classes = measured(vulnerability(model, *records, over="predictions", n_permutations=1, random_state=seed))
        figures["vulnerability"].append(rules.vulnerability.value)
        figures["by class"].append(classes.vulnerability.value)
        figures["control"].append(rules.control)
        figures["evident"].append(float(rules.p_value <= 0.05))
        scores.append(accuracy(model, cells, split.test))
    return {
        **{name: statistics.fmean(entries) for name, entries in figures.items()},
        "vulnerability_error": spread(figures["vulnerability"])[1],
        "accuracy": spread(scores)[0],
        "accuracy_error": spread(scores)[1],
        "accuracy_variance": statistics.variance(scores) if seeds > 1 else float("nan"),
    }


def cells(settings: Sequence[str], seeds: int) -> Iterable[tuple[Key, int, Work]]:
    """Return the cells of the table."""
    for setting in settings:
        for method in METHODS:
            epsilon = EPSILON if ALL[method].private else None
            key = (setting, method, "" if epsilon is None else f"{epsilon:g}")
            yield key, seeds, partial(measure, setting, method, epsilon, seeds)


def shown(rows: Sequence[Row]) -> str:
    """Return the table of the page: every stored list."""
    return markdown(
        ["data", "list", "published", "here, with standard error", "control"],
        [
            [
                NAMES[row["setting"]],
                row["method"],
                row["published vulnerability"],
                f"{float(row['vulnerability']):.4f} ± {float(row['vulnerability_error']):.4f}",
                f"{float(row['control']):.4f}",
            ]
            for row in rows
        ],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table."""
    given = options(__doc__, arguments)
    settings = given.settings or SETTINGS
    found = run(given.results / "table_2_measured.csv", ACCURACY_KEY, cells(settings, given.seeds))
    names = {"vulnerability": "vulnerability", "accuracy": "test accuracy"}
    printed = {name: published(quantity) for name, quantity in names.items()}
    rows: list[Row] = []
    for setting in settings:
        for method in METHODS:
            epsilon = EPSILON if ALL[method].private else None
            key = (setting, method, "" if epsilon is None else f"{epsilon:g}")
            row = {"setting": setting, "method": method, "epsilon": key[2]}
            for name in printed:
                row[f"published {name}"] = printed[name].get(key, "")
                row[name] = text(value(found, setting, method, epsilon, name))
            for name in (
                "vulnerability_error",
                "by class",
                "control",
                "evident",
                "accuracy_error",
                "accuracy_variance",
            ):
                row[name] = text(value(found, setting, method, epsilon, name))
            row["published plus or minus"] = published("plus or minus of the accuracy").get(key, "")
            rows.append(row)
    write(given.results / "table_2.csv", rows)
    for row in rows:
        say("; ".join(f"{name}: {entry}" for name, entry in row.items() if entry))
    if given.results == FOLDER / "results":
        page = page_of(FOLDER)
        page.write_text(place(page.read_text(), "vulnerability", shown(rows)))


if __name__ == "__main__":
    main()
