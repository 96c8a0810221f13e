"""The demonstration: two models trained on 569 patients, audited and scrubbed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from glassine.auditing.api import audit
from glassine.auditing.findings import Findings
from glassine.cli.naming import in_commands
from glassine.cli.options import JsonOption, OverwriteOption, option
from glassine.cli.progress import stages
from glassine.cli.writing import check_outputs, print_value, refuse_dash
from glassine.domain import Domain, Real
from glassine.domain import Literal as Condition
from glassine.errors import UnreadableFileError
from glassine.files import write_text
from glassine.formats import as_model, tree_or_rules, write_model
from glassine.models import Evidence, Rule, RuleList
from glassine.records.arrays import Indices
from glassine.report import render_html
from glassine.scrubbing.cost import Measured, changed, quality, sentences
from glassine.scrubbing.scrub import ScrubResult, scrub

# Ten measurements of cell nuclei: the largest value that is possible at all, and the step in which it is recorded, of
# their mean, standard error and worst value. Set by hand from what the measurements are, not from the records.
MEASUREMENTS: dict[str, tuple[tuple[float, float], tuple[float, float], tuple[float, float]]] = {
    "radius": ((50, 1e-3), (5, 1e-4), (50, 1e-3)),
    "texture": ((50, 1e-2), (5, 1e-4), (50, 1e-2)),
    "perimeter": ((300, 1e-2), (30, 1e-4), (300, 1e-2)),
    "area": ((5000, 1e-1), (1000, 1e-3), (5000, 1e-1)),
    "smoothness": ((0.5, 1e-5), (0.1, 1e-6), (0.5, 1e-5)),
    "compactness": ((1, 1e-5), (0.5, 1e-6), (2, 1e-5)),
    "concavity": ((1, 1e-7), (0.5, 1e-7), (2, 1e-6)),
    "concave points": ((0.5, 1e-6), (0.1, 1e-6), (0.5, 1e-6)),
    "symmetry": ((0.5, 1e-4), (0.1, 1e-6), (1, 1e-4)),
    "fractal dimension": ((0.2, 1e-5), (0.1, 1e-7), (0.5, 1e-5)),
}
TARGET = "diagnosis"
MARKS = {"pass": "pass   ", "fail": "FAIL   ", "unknown": "unknown", "not applicable": "n/a    "}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the demonstration measured."""

    folder: Path  # Where it wrote
    # tree, rules, scrubbed: of the tree, the rule list and the scrubbed tree.
    tree: Findings
    rules: Findings
    scrubbed: Findings
    scrub: ScrubResult  # What scrubbing the tree did
    quality: Measured  # Of the tree and of the scrubbed tree, on the records

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain JSON values."""
        return {
            "folder": str(self.folder),
            "tree": self.tree.to_dict(),
            "rules": self.rules.to_dict(),
            "scrubbed": self.scrubbed.to_dict(),
            "quality": self.quality,
        }

    def to_text(self) -> str:
        """Return a summary worth pasting."""
        lines = ["Glassine demo: two models trained on the breast-cancer records of 569 patients.", ""]
        for name, findings, page in (
            ("Decision tree", self.tree, "tree-report.html"),
            ("Rule list", self.rules, "rules-report.html"),
            ("Scrubbed tree", self.scrubbed, "scrubbed-report.html"),
        ):
            lines.append(f"{name}: {findings.verdict.upper()}  ({self.folder / page})")
            lines += [f"  {MARKS[check.status]} {check.meaning}" for check in findings.checks]
            lines.append("")
        lines.append(
            f"Thresholds that scrubbing moved: {self.scrub.n_rounded}; leaves that it merged: {self.scrub.n_merged}."
        )
        lines += sentences(self.quality)
        lines.append(f"Open {self.folder / 'tree-report.html'} in a browser.")
        return "\n".join(lines)


def demo_domain() -> Domain:
    """Return the public domain of the demonstration: thirty measurements, none of them inferred."""
    attributes = {}
    for i, kind in enumerate(("mean {}", "{} error", "worst {}")):
        for name, limits in MEASUREMENTS.items():
            top, step = limits[i]
            attributes[kind.format(name)] = Real(0.0, float(top), step)
    return Domain(attributes)


def greedy_rules(frame: Any, labels: Any, classes: tuple[str, ...], *, n_rules: int, min_support: int) -> RuleList:
    """Return a greedy rule list: each step takes the purest leaf of a tree of depth 2."""
    # Each tree is trained on the remaining records.
    #
    # n_rules counts without the default rule; a rule captures at least min_support records.
    # Shapes: frame (n, d), labels (n,), indices into classes.
    from sklearn.tree import DecisionTreeClassifier

    y, left = np.asarray(labels), np.arange(len(labels))
    rules: list[Rule] = []

    def counts(rows: Indices) -> tuple[int, ...]:
        return tuple(int((y[rows] == k).sum()) for k in range(len(classes)))

    while len(rules) < n_rules and len(left) >= 2 * min_support and max(counts(left)) < len(left):
        stump = DecisionTreeClassifier(max_depth=2, min_samples_leaf=min_support, random_state=0)
        tree = tree_or_rules(as_model(stump.fit(frame[left], y[left])))
        leaves = tree.apply({name: frame[name].to_numpy()[left] for name in tree.attributes})
        sizes = [counts(left[leaves == i]) for i in range(len(tree.cells))]
        best = max(range(len(sizes)), key=lambda i: (max(sizes[i]) / sum(sizes[i]), sum(sizes[i])))
        antecedent: tuple[Condition, ...] = tree.cells[best].inside
        if not antecedent:
            break
        rules.append(Rule(antecedent=antecedent, evidence=_evidence(sizes[best])))
        left = left[leaves != best]
    rules.append(Rule(evidence=_evidence(counts(left))))
    return RuleList(tuple(rules), tuple(frame.columns), classes, source="greedy rule list of the demonstration")


def _evidence(counts: tuple[int, ...]) -> Evidence:
    return Evidence(counts=counts, label=counts.index(max(counts)))


FILES = (
    *("domain.json", "records.csv", "tree.json", "rules.txt", "scrubbed-tree.json"),
    *(f"{name}-{kind}" for name in ("tree", "rules", "scrubbed") for kind in ("findings.json", "report.html")),
)
"""What the demonstration writes."""


def run_demo(folder: Path, *, progress: Callable[[str], None] | None = None) -> DemoResult:
    """Train a tree and a rule list on scikit-learn's breast-cancer records, audit both, write models and reports."""
    say = progress or (lambda stage: None)
    say("training")
    from sklearn.datasets import load_breast_cancer
    from sklearn.tree import DecisionTreeClassifier

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnreadableFileError(
            f"cannot make the folder {folder}: {error.strerror or error}.", remedy="Name another folder.", path=folder
        ) from None
    bunch = load_breast_cancer()
    records = pl.DataFrame(dict(zip(bunch.feature_names.tolist(), bunch.data.T, strict=True)))
    classes = tuple(str(name) for name in bunch.target_names)
    names = np.array(classes)[bunch.target]
    domain = demo_domain()
    estimator = DecisionTreeClassifier(max_depth=5, random_state=0).fit(records, names)
    tree = tree_or_rules(as_model(estimator, domain))
    rules = greedy_rules(records, bunch.target, classes, n_rules=6, min_support=12)
    read = {"data": "records.csv", "target": TARGET}
    say("auditing the tree")
    of_tree = in_commands(
        audit(tree, domain=domain, data=records), {"model": "tree.json", "domain": "domain.json"}, read
    )
    say("auditing the rule list")
    of_rules = in_commands(
        audit(rules, domain=domain, data=records), {"model": "rules.txt", "domain": "domain.json"}, read
    )
    say("scrubbing the tree")
    cleaned = scrub(tree, domain, counts="remove", smallest_leaf=10, data=records)
    of_scrubbed = in_commands(
        audit(cleaned.model, domain=domain, data=records),
        {"model": "scrubbed-tree.json", "domain": "domain.json"},
        read,
    )
    labelled = records.with_columns(pl.Series(TARGET, names))
    say("writing")
    domain.to_json(folder / "domain.json")
    write_text(labelled.write_csv(), folder / "records.csv")
    write_model(tree, folder / "tree.json", overwrite=True)
    write_model(rules, folder / "rules.txt", to="text", overwrite=True)
    write_model(cleaned.model, folder / "scrubbed-tree.json", overwrite=True)
    for name, title, findings in (
        ("tree", "Decision tree", of_tree),
        ("rules", "Rule list", of_rules),
        ("scrubbed", "Scrubbed decision tree", of_scrubbed),
    ):
        findings.to_json(folder / f"{name}-findings.json")
        write_text(
            render_html(findings, title=f"{title} trained on breast-cancer records"), folder / f"{name}-report.html"
        )
    return DemoResult(
        folder=folder,
        tree=of_tree,
        rules=of_rules,
        scrubbed=of_scrubbed,
        scrub=cleaned,
        quality=changed(quality(tree, labelled, TARGET), quality(cleaned.model, labelled, TARGET)),
    )


def demo_command(
    output: Annotated[
        Path, option("FOLDER", "Write models, domain and reports into it.", names=("--output", "-o"))
    ] = Path("glassine-demo"),
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a tree and a rule list on scikit-learn's breast-cancer records, audit both, write reports.

    Exit status: 0 when all was written, 2 if not.
    """
    refuse_dash(output)
    if output.is_dir():
        check_outputs([output / name for name in FILES], [], overwrite=overwrite)
    with stages() as progress:
        result = run_demo(output, progress=progress)
    print_value(result.to_dict() if as_json else result.to_text(), as_json)
