"""Whether the default policy separates models that harm their training records from those that do not: a row a model.

Every dataset is dealt in three: members, the holdout of the audit, and the holdout of the judge. Harm is measured on
members against the judge's holdout alone, by attacks of this file:

- membership: the best of four attacks has an advantage of at least 0.10: majority outcome, loss by a threshold that is
  chosen on one half and measured on the other, the published share of (leaf, outcome) against that of one half of the
  others, measured on the other half (outcomes of regressions in quarters), and the likelihood of the published counts
  of an additive model (that one is Glassine's own);
- thresholds: the midpoint attack names at least 10 records, of which at least 0.9 are members;
- outcomes: the majority outcome of a leaf is right for members at least 5 points more often than for others;
- singling out: at least 0.1 % of the members are alone in their leaf;
- magnitudes: the mean of a leaf of at least 3 records gives one value to within 10 % to whoever knows the second.

Trees, rule lists, regression trees, additive models with and without counts, scorecards and private trees are trained
on eight datasets and judged by an audit with data and holdout, and by one of the file and its domain, which declares
the range of a number that is predicted. Limits were chosen before, on other data. The constants of additive models were
looked at on Adult, German credit, COMPAS and Telco: for these models half B is no independent test. Intervals are of
95 % (Clopper and Pearson), as if models were independent. GLASSINE_DATA names the folder of the datasets.

    python benchmarks/verdicts.py run [DATASET ...]    # writes benchmarks/verdicts.csv; or adds rows of some datasets
    python benchmarks/verdicts.py tables               # prints the tables from it
"""

from __future__ import annotations

import csv
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import additive_data  # noqa: E402
from benchmarks.additive_data import Additive  # noqa: E402
from benchmarks.policy import share  # noqa: E402
from benchmarks.public_data import german  # noqa: E402
from glassine import Binary, Category, DecisionTree, Domain, Integer, Real, as_model, audit  # noqa: E402
from glassine.attacks.membership.counts import count_attack  # noqa: E402
from glassine.attacks.membership.midpoint import midpoint_attack  # noqa: E402
from glassine.attacks.outcome import Measured  # noqa: E402
from glassine.auditing.audit_settings import AuditSettings  # noqa: E402
from glassine.data import Sample  # noqa: E402
from glassine.domain.grid import public_grid  # noqa: E402
from glassine.learners import (  # noqa: E402
    EBMClassifier,
    GreedyRuleListClassifier,
    PrivateTreeClassifier,
    ScorecardClassifier,
)

OUT = ROOT / "benchmarks" / "verdicts.csv"
HALF_A = ("adult", "german", "california", "wine")
LEAVES = (1, 4, 8, 15, 40, 80, 150)
MEMBERS, FEW = 1200, 400
HARM, NAMED, POINTS, ALONE, CLOSE = 0.10, 10, 0.05, 0.001, 0.10
ONLY = frozenset({"parts", "values", "labels", "membership", "terms", "reconstruction"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Deal:
    """Records of one dataset: members, the holdout of the audit, and that of the judge."""

    name: str
    frame: pl.DataFrame
    y: np.ndarray
    domain: Domain
    n: int
    range: tuple[float, float] | None  # The public range of a number that is predicted

    @property
    def number(self) -> bool:
        """Whether a number is predicted, and no class."""
        return self.range is not None

    @property
    def declared(self) -> Domain:
        """The domain, with the public range of a number that is predicted."""
        public = {name: self.domain[name] for name in self.domain}
        return Domain(public if self.range is None else public | {"outcome": Real(*self.range)})

    def side(self, i: int) -> tuple[pl.DataFrame, np.ndarray]:
        """Return the records and outcomes of one of the three."""
        part = slice(i * self.n, (i + 1) * self.n)
        return self.frame[part], self.y[part]

    def table(self, i: int) -> pl.DataFrame:
        """Return one of the three with its outcome as a column."""
        frame, y = self.side(i)
        return frame.with_columns(outcome=pl.Series(y))

    def on_public_cuts(self) -> Deal:
        """Return the records with numbers as steps between public cut points, so that thresholds lie on them."""
        columns, attributes = {}, {}
        for name in self.frame.columns:
            cuts = np.array(public_grid(self.domain[name]))
            values = self.frame[name].to_numpy()
            columns[name] = np.searchsorted(cuts, values, side="left").astype(float) if len(cuts) else values
            attributes[name] = Integer(0, len(cuts)) if len(cuts) else self.domain[name]
        return replace(self, frame=pl.DataFrame(columns), domain=Domain(attributes))


def dealt(data: Additive, n: int, seed: int, *, encode: bool = True) -> Deal:
    """Return records of a dataset without gaps, its categories as indicators unless they are to stay."""
    frame = data.frame.with_row_index("row").drop_nulls()
    rows = frame["row"].to_numpy()
    order = np.random.default_rng(seed).permutation(len(rows))[: 3 * n]
    frame, y = frame.drop("row")[order], data.target[rows[order]]
    columns: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for name in frame.columns:
        attribute, values = data.domain[name], frame[name]
        if isinstance(attribute, Category) and encode:
            for value in attribute.values:
                columns[f"{name}={value}"] = (values == value).to_numpy().astype(float)
                attributes[f"{name}={value}"] = Binary()
        else:
            columns[name] = values
            attributes[name] = replace(attribute, missing=False)
    if data.classes is not None:
        y = np.unique(y, return_inverse=True)[1]
    m = min(n, len(y) // 3)
    return Deal(
        name=data.name,
        frame=pl.DataFrame(columns),
        y=y,
        domain=Domain(attributes),
        n=m,
        range=data.target_range,
    )


def german_credit() -> Additive:
    """Return German credit as the other datasets are."""
    data = german()
    return Additive(name="german", frame=data.frame, target=data.labels, domain=data.domain, classes=data.classes)


# Harm, on members and the judge's holdout.


def halves(scores: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the advantage of a threshold of a score, chosen on one half of each side and measured on the other."""
    rng, reached = np.random.default_rng(0), []
    folds = [rng.integers(2, size=len(part)) for part in scores]
    for fold in (0, 1):
        chosen = [part[side != fold] for part, side in zip(scores, folds, strict=True)]
        cuts = np.unique(np.concatenate(chosen))
        above = [1 - np.searchsorted(np.sort(part), cuts, side="left") / len(part) for part in chosen]
        cut = cuts[int(np.argmax(above[0] - above[1]))]
        rates = [(part[side == fold] >= cut).mean() for part, side in zip(scores, folds, strict=True)]
        reached.append(rates[0] - rates[1])
    return float(np.mean(reached))


def by_cells(keys: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the advantage of the published shares of cells against those of one half of the others, on the other."""
    k = 1 + int(max(part.max() for part in keys))
    published = np.bincount(keys[0], minlength=k) / len(keys[0])
    fold, reached = np.random.default_rng(0).integers(2, size=len(keys[1])), []
    for side in (0, 1):
        others = np.bincount(keys[1][fold != side], minlength=k) / max(1, (fold != side).sum())
        accused = published > others
        reached.append(accused[keys[0]].mean() - accused[keys[1][fold == side]].mean())
    return float(np.mean(reached))


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """What was measured of one model on members and the judge's holdout."""

    advantage: float
    named: int = 0
    outcomes: float = 0.0
    alone: float = 0.0
    close: int = 0

    @property
    def harmful(self) -> bool:
        """Whether any measure is beyond its limit."""
        beyond = self.advantage >= HARM or self.named >= NAMED or self.outcomes >= POINTS
        return beyond or self.alone >= ALONE or self.close > 0


def named(model: DecisionTree, deal: Deal) -> int:
    """Return how many records thresholds name, if at least 0.9 of them are members."""
    pool = pl.concat([deal.side(0)[0], deal.side(2)[0]])
    truth = np.arange(len(pool)) < deal.n
    found = midpoint_attack(model, pool, truth=truth, random_state=0)
    if isinstance(found, Measured) and found.value.precision is not None and found.value.precision.value >= 0.9:
        return found.value.n_named
    return 0


def dominated(leaves: np.ndarray, y: np.ndarray) -> int:
    """Return of how many leaves of at least 3 records the second contributor learns the largest within 10 %."""
    found = 0
    for leaf in np.unique(leaves):
        own = np.sort(np.abs(y[leaves == leaf]))[::-1]
        found += len(own) >= 3 and own[0] > 0 and own[2:].sum() < CLOSE * own[0]
    return found


def harm_of_leaves(model: Any, deal: Deal) -> Harm:
    """Measure a tree or a rule list."""
    (X, y), (Z, w) = deal.side(0), deal.side(2)
    leaves = [model.apply({name: frame[name].to_numpy() for name in frame.columns}) for frame in (X, Z)]
    alone = float((np.bincount(leaves[0]) == 1).sum() / len(y))
    whom = named(model, deal) if isinstance(model, DecisionTree) else 0
    if deal.number:
        means = np.array([cell.evidence.value for cell in model.cells], dtype=float)
        errors = -np.abs(means[leaves[0]] - y), -np.abs(means[leaves[1]] - w)
        cuts = np.quantile(w, (0.25, 0.5, 0.75))
        # Quarters of outcomes are not published: other members give their shares.
        known = np.random.default_rng(1).integers(2, size=len(y)) == 0
        keys = leaves[0] * 4 + np.searchsorted(cuts, y), leaves[1] * 4 + np.searchsorted(cuts, w)
        cells = known_cells(keys, known)
        return Harm(advantage=max(halves(errors), cells), named=whom, alone=alone, close=dominated(leaves[0], y))
    k = int(deal.y.max()) + 1
    counts = np.zeros((len(model.cells), k))
    np.add.at(counts, (leaves[0], y), 1)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    right = [shares[leaf].argmax(axis=1) == outcome for leaf, outcome in zip(leaves, (y, w), strict=True)]
    losses = shares[leaves[0], y], shares[leaves[1], w]
    gap = float(right[0].mean() - right[1].mean())
    keys = leaves[0] * k + y, leaves[1] * k + w
    return Harm(advantage=max(gap, halves(losses), by_cells(keys)), named=whom, outcomes=gap, alone=alone)


def known_cells(keys: tuple[np.ndarray, np.ndarray], known: np.ndarray) -> float:
    """Return the advantage of cells by shares of one half of both sides, measured on the other half."""
    k = 1 + int(max(part.max() for part in keys))
    fold = np.random.default_rng(2).integers(2, size=len(keys[1])) == 0
    reached = []
    for a, b in ((known, fold), (~known, ~fold)):
        own, others = (np.bincount(keys[i][half], minlength=k) / half.sum() for i, half in enumerate((a, b)))
        accused = own > others
        reached.append(accused[keys[0][~a]].mean() - accused[keys[1][~b]].mean())
    return float(np.mean(reached))


def harm_of_scores(model: Any, deal: Deal, *, counts: bool) -> Harm:
    """Measure an additive model or a scorecard."""
    (X, y), (Z, w) = deal.side(0), deal.side(2)
    proba = [np.asarray(model.predict_proba(frame)) for frame in (X, Z)]
    losses = proba[0][np.arange(len(y)), y], proba[1][np.arange(len(w)), w]
    right = [p.argmax(axis=1) == outcome for p, outcome in zip(proba, (y, w), strict=True)]
    gap = float(right[0].mean() - right[1].mean())
    found = count_attack(model, Sample(X, y), Sample(Z, w), random_state=0) if counts else None
    by_counts = found.value.advantage.value if isinstance(found, Measured) else 0.0
    return Harm(advantage=max(gap, halves(losses), by_counts), outcomes=gap)


# Models.


def trees(deal: Deal, kind: str) -> Iterator[tuple[str, str, Any]]:
    """Train trees, or regression trees, of several depths and leaves."""
    X, y = deal.side(0)
    learner: Callable[..., Any] = DecisionTreeRegressor if deal.number else DecisionTreeClassifier
    for depth in (5, None):
        for leaf in LEAVES:
            grown = learner(max_depth=depth, min_samples_leaf=leaf, random_state=0).fit(X.to_pandas(), y)
            yield kind, f"depth {depth}, leaf {leaf}, n {deal.n}", as_model(grown)


def lists(deal: Deal) -> Iterator[tuple[str, str, Any]]:
    """Train rule lists."""
    X, y = deal.side(0)
    for rules, support in ((3, 0.1), (8, 0.02), (20, 0.004)):
        learner = GreedyRuleListClassifier(rules, min_support=support, domain=deal.domain)
        yield "rule list", f"rules {rules}, support {support}, n {deal.n}", learner.fit(X, y).model_


def additive(deal: Deal) -> Iterator[tuple[str, str, Any]]:
    """Train additive models, with and without counts, and scorecards."""
    X, y = deal.side(0)
    for pairs in (0, 4):
        model = EBMClassifier(domain=deal.domain, interactions=pairs).fit(X, y).model_
        yield "additive with counts", f"pairs {pairs}, n {deal.n}", model
        bare = replace(model, terms=tuple(replace(term, weights=None) for term in model.terms))
        yield "additive without counts", f"pairs {pairs}, n {deal.n}", bare
    yield "scorecard", f"n {deal.n}", ScorecardClassifier(domain=deal.domain).fit(X, y).model_


def private(deal: Deal) -> Iterator[tuple[str, str, Any]]:
    """Train private trees."""
    X, y = deal.side(0)
    for depth in (2, 4):
        # Each is released alone: of two fits on one dataset the budgets would add up, and neither claim be valid.
        alone = f"{deal.name}, depth {depth}"
        learner = PrivateTreeClassifier(depth, epsilon=1.0, domain=deal.domain, classes=(0, 1), dataset=alone)
        yield "private tree", f"depth {depth}, n {deal.n}", learner.fit(X, y).model_


def models(names: Sequence[str]) -> Iterator[tuple[Deal, str, str, Any]]:
    """Yield every model of some datasets, or of all, with the records that it was trained on."""
    classes = (additive_data.adult(), german_credit(), additive_data.compas(), additive_data.telco())
    numbers = (additive_data.california(), additive_data.wine(), additive_data.elevators(), additive_data.pol())
    chosen = [data for data in (*classes, *numbers) if not names or data.name in names]
    for data in chosen:
        for n in (MEMBERS, FEW):
            deal = dealt(data, n, seed=n)
            made = [(deal, *one) for one in trees(deal, "regression tree" if deal.number else "tree")]
            if not deal.number:
                made += [(deal, *one) for one in lists(deal)]
                plain = dealt(data, n, seed=n, encode=False)
                made += [(plain, *one) for one in additive(plain)]
                coarse = deal.on_public_cuts()
                if n == MEMBERS:
                    made += [(coarse, *one) for one in trees(coarse, "tree on public cuts")]
                    made += [(coarse, *one) for one in private(coarse)]
            yield from made


# The study.

FIGURES = ("largest_advantage", "certain_by_membership", "share_in_small_leaves", "largest_measured_advantage")
FIELDS = (
    "data",
    "half",
    "kind",
    "settings",
    *Harm.__dataclass_fields__,
    "harmful",
    "verdict",
    "file alone",
    "failed",
    *FIGURES,
)


def judged(deal: Deal, kind: str, settings: str, model: Any) -> dict[str, object]:
    """Return the row of a model."""
    scores = kind.startswith(("additive", "scorecard"))
    harm = (
        harm_of_scores(model, deal, counts=kind != "additive without counts") if scores else harm_of_leaves(model, deal)
    )
    asked = AuditSettings(measurements=ONLY - ({"parts", "labels", "reconstruction"} if scores else {"terms"}))
    with_data = audit(model, deal.table(0), "outcome", domain=deal.domain, holdout=deal.table(1), settings=asked)
    alone = audit(model, target="outcome", domain=deal.declared, settings=asked)
    return {
        "data": deal.name,
        "half": "A" if deal.name in HALF_A else "B",
        "kind": kind,
        "settings": settings,
        **{name: round(float(getattr(harm, name)), 4) for name in Harm.__dataclass_fields__},
        "harmful": int(harm.harmful),
        "verdict": with_data.verdict,
        "file alone": alone.verdict,
        "failed": " ".join(check.rule for check in with_data.checks if check.status in ("fail", "unknown")),
        **{check.rule: check.measured for check in with_data.checks if check.rule in FIGURES},
    }


def run(names: Sequence[str]) -> None:
    """Train, measure and judge every model, and write a row for each."""
    start = time.process_time()
    with OUT.open("a" if names else "w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        if not stream.tell():
            writer.writeheader()
        for n, (deal, kind, settings, model) in enumerate(models(names), start=1):
            writer.writerow(judged(deal, kind, settings, model))
            stream.flush()
            if n % 25 == 0:
                sys.stderr.write(f"{n} models, {time.process_time() - start:.0f} CPU s\n")


def line(name: str, rows: Sequence[dict[str, str]], field: str = "verdict") -> str:
    """Return a row of a table; a verdict other than within policy refuses."""
    harmful = [row[field] for row in rows if row["harmful"] == "1"]
    harmless = [row[field] for row in rows if row["harmful"] == "0"]
    caught = sum(verdict != "within policy" for verdict in harmful)
    passed = sum(verdict == "within policy" for verdict in harmless)
    return f"| {name} | {len(rows)} | {len(harmful)} | {share(caught, len(harmful))} | {share(passed, len(harmless))} |"


def tables() -> None:
    """Print the tables."""
    with OUT.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    lines = ["| models | n | harmful | sensitivity | specificity |", "|---|---|---|---|---|"]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        lines.append(line(kind, [row for row in rows if row["kind"] == kind]))
    leaves = ("tree", "tree on public cuts", "rule list", "regression tree")
    lines.append(line("**leaf models**", [row for row in rows if row["kind"] in leaves]))
    for half in "AB":
        lines.append(line(f"half {half}, with data", [row for row in rows if row["half"] == half]))
    lines += [line("**all, with data**", rows), line("**all, file and domain**", rows, "file alone")]
    sys.stdout.write("\n".join(lines) + "\n")
    for wrong, harmful in (("false alarms", "0"), ("missed", "1")):
        found = [r for r in rows if r["harmful"] == harmful and (r["verdict"] == "within policy") == (harmful == "1")]
        causes: dict[str, int] = {}
        for row in found:
            causes[row["failed"]] = causes.get(row["failed"], 0) + 1
        sys.stdout.write(f"\n{wrong}: {dict(sorted(causes.items(), key=lambda item: -item[1]))}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "run":
        run(sys.argv[2:])
    else:
        tables()
