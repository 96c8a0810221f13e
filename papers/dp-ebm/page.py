"""Print the tables of the page in the docs from the results."""

from __future__ import annotations

from study import EPSILONS, HERE, METHODS, published, read, say

DATASETS = {2: ("adult", "telco"), 3: ("california", "elevators", "pol", "wine")}
MEASURES = {2: "auroc", 3: "rmse"}
CLASSIC = "DP-EBM classic"


def number(value: float, measure: str, name: str) -> str:
    """Return a figure with as many digits as the paper prints, and one more for the smallest."""
    if measure == "auroc":
        return f"{value:.3f}"
    return {"california": f"{value:,.0f}", "elevators": f"{value:.4f}", "pol": f"{value:.2f}"}.get(name, f"{value:.3f}")


def table(which: int) -> None:
    """Print one table as Markdown."""
    measure = MEASURES[which]
    rows = {
        (row["dataset"], row["epsilon"], row["method"]): row
        for row in read(HERE / "results" / f"table_{which}.csv")
        if row["measure"] == measure
    }
    printed = published(which, measure)
    names = [method.name for method in METHODS]
    say(f"| data set | epsilon | {' | '.join(names)} | published GDP | published classic |")
    say("|---" * (len(names) + 4) + "|")
    for name in DATASETS[which]:
        for epsilon in EPSILONS:
            cells = []
            for method in names:
                row = rows.get((name, f"{epsilon:g}", method))
                cells.append("" if row is None else number(float(row["mean"]), measure, name))
            for method in ("DP-EBM GDP", CLASSIC):
                mean, spread = printed[name, f"{epsilon:g}", method]
                cells.append(f"{number(mean, measure, name)} ± {spread:g}")
            say(f"| {name} | {epsilon:g} | {' | '.join(cells)} |")


if __name__ == "__main__":
    say("Area under the ROC curve (Table 2):\n")
    table(2)
    say("\nRoot mean squared error (Table 3):\n")
    table(3)
