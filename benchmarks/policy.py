"""Whether the default policy separates models that harm their training records from those that do not.

Trees are trained on half of the records of Adult, COMPAS, German credit, Telco churn and made data; the other half is
their holdout. A model is harmful by what is measured on both:

- membership: the best of three attacks (majority class, loss, and the cross-fitted likelihood ratio of leaf and
  outcome) has an advantage of at least 0.10;
- thresholds: the midpoint attack flags at least 10 records, of which at least 0.9 are members;
- outcomes: the majority outcome of a leaf is right for members at least 5 points more often than for the holdout;
- singling out: at least 0.1 % of the members are alone in their leaf.

Sensitivity is the share of harmful models that the policy refuses, specificity that of the others that it lets pass;
intervals are of 95 % (Clopper and Pearson), as if models were independent. Extensions repeat it for several classes,
rounded counts, absent counts, forests and additive models. GLASSINE_DATA names the folder of the datasets.

    python benchmarks/policy.py [--quick]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.public_data import DATA, Benchmark, adult, compas, german  # noqa: E402
from glassine import Binary, Category, Domain, Integer, Policy, Real, as_model, audit  # noqa: E402
from glassine.attacks.membership.confidence_intervals import clopper_pearson  # noqa: E402
from glassine.attacks.membership.midpoint import midpoint_attack  # noqa: E402
from glassine.attacks.outcome import Measured  # noqa: E402
from glassine.auditing.audit_settings import AuditSettings  # noqa: E402
from glassine.auditing.statements import Statements  # noqa: E402
from glassine.domain.attributes import Attribute  # noqa: E402
from glassine.domain.grid import public_grid  # noqa: E402
from glassine.models import DecisionTree, Evidence  # noqa: E402
from glassine.models.implied import OutcomeCounts, implied_advantage  # noqa: E402

DEPTHS: tuple[int | None, ...] = (4, None)
LEAVES = (1, 5, 10, 25, 60, 120)
MOST_RECORDS = 6000
FEW_RECORDS, N_SPLITS = 2500, 8
"""Of fewer records, harm is the mean of so many splits: that of one split is mostly chance."""
ONLY = frozenset({"parts", "values"})
HARM = 0.10
STRICT_LEAF, STRICT_HARM = 50, 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Records of one dataset, encoded as numbers: members first, then the holdout."""

    name: str
    columns: tuple[str, ...]
    domain: Domain
    X: np.ndarray
    y: np.ndarray
    n: int

    @property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Records and outcomes of the members."""
        return self.X[: self.n], self.y[: self.n]

    @property
    def others(self) -> tuple[np.ndarray, np.ndarray]:
        """Records and outcomes of the holdout."""
        return self.X[self.n :], self.y[self.n :]

    def again(self, seed: int) -> Split:
        """Return the same records with other members; the first split for seed 0."""
        order = np.random.default_rng(seed).permutation(len(self.y)) if seed else np.arange(len(self.y))
        return replace(self, X=self.X[order], y=self.y[order])

    def on_public_cuts(self) -> Split:
        """Return the records with numbers rounded down to public cut points, so that thresholds lie on them."""
        X = self.X.copy()
        for j, name in enumerate(self.columns):
            cuts = np.array(public_grid(self.domain[name]))
            if len(cuts):
                X[:, j] = np.searchsorted(cuts, X[:, j], side="left")
        attributes = {
            name: Integer(0, len(public_grid(self.domain[name])))
            if public_grid(self.domain[name])
            else self.domain[name]
            for name in self.columns
        }
        return replace(self, X=X, domain=Domain(attributes))


def encoded(benchmark: Benchmark) -> Split:
    """Return a benchmark with its categories as indicators, members and holdout drawn at random."""
    columns: dict[str, np.ndarray] = {}
    attributes: dict[str, Integer | Real | Binary] = {}
    for name in benchmark.frame.columns:
        attribute, values = benchmark.domain[name], benchmark.frame[name]
        if isinstance(attribute, Category):
            for value in attribute.values:
                columns[f"{name}={value}"] = (values == value).to_numpy().astype(float)
                attributes[f"{name}={value}"] = Binary()
        else:
            columns[name] = values.to_numpy().astype(float)
            attributes[name] = attribute
    order = np.random.default_rng(0).permutation(len(benchmark.labels))[:MOST_RECORDS]
    y = np.unique(benchmark.labels, return_inverse=True)[1]
    X = np.column_stack(list(columns.values()))[order]
    return Split(
        name=benchmark.name, columns=tuple(columns), domain=Domain(attributes), X=X, y=y[order], n=len(order) // 2
    )


def telco() -> Benchmark:
    """Return the Telco churn records with the bounds of a published tariff."""
    frame = pl.read_csv(DATA / "telco" / "telco.csv", null_values=" ", infer_schema_length=None).drop_nulls()
    numbers: dict[str, Attribute] = {
        "tenure": Integer(0, 100),
        "MonthlyCharges": Real(0.0, 200.0, 0.05),
        "TotalCharges": Real(0.0, 20_000.0, 0.05),
    }
    names = ("Contract", "InternetService", "PaymentMethod", "OnlineSecurity", "TechSupport", "PaperlessBilling")
    categories = {name: Category(tuple(sorted(frame[name].unique().to_list()))) for name in names}
    return Benchmark(
        name="telco",
        frame=frame.select(*numbers, *categories),
        labels=frame["Churn"].to_numpy(),
        domain=Domain({**numbers, **categories}),
        classes=("No", "Yes"),
    )


def made(n_classes: int, seed: int, n: int = 4000) -> Split:
    """Return records with four numbers and six indicators, whose outcome depends on some of them and on chance."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 4)).round(3)
    flags = (rng.random((n, 6)) < 0.4).astype(float)
    X = np.column_stack([numbers, flags])
    score = numbers[:, 0] + 0.7 * numbers[:, 1] * flags[:, 0] + 0.5 * flags[:, 1] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    columns = tuple(f"x{j}" for j in range(10))
    attributes = {name: Real(-6.0, 6.0, 0.001) if j < 4 else Binary() for j, name in enumerate(columns)}
    return Split(name=f"made, {n_classes} classes", columns=columns, domain=Domain(attributes), X=X, y=y, n=n // 2)


# What is measured of a model.


def best_threshold(members: np.ndarray, others: np.ndarray) -> float:
    """Return the largest difference of the shares of members and others above a threshold of a score."""
    cuts = np.unique(np.concatenate([members, others]))
    above = [1 - np.searchsorted(np.sort(scores), cuts, side="right") / len(scores) for scores in (members, others)]
    return float(np.max(above[0] - above[1], initial=0.0))


def cross_fitted(keys: tuple[np.ndarray, np.ndarray], seed: int) -> float:
    """Return the advantage of the likelihood ratio of a cell, estimated on one half and measured on the other."""
    rng = np.random.default_rng(seed)
    n_keys = 1 + int(max(part.max() for part in keys))
    folds = [rng.integers(2, size=len(part)) for part in keys]
    reached = []
    for fold in (0, 1):
        shares = [
            np.bincount(part[side != fold], minlength=n_keys) / max(1, (side != fold).sum())
            for part, side in zip(keys, folds, strict=True)
        ]
        accused = shares[0] > shares[1]
        rates = [accused[part[side == fold]].mean() for part, side in zip(keys, folds, strict=True)]
        reached.append(rates[0] - rates[1])
    return float(np.mean(reached))


@dataclass(frozen=True, slots=True, kw_only=True)
class Harm:
    """What was measured of one model on members and holdout."""

    advantage: float
    named: int
    outcomes: float
    alone: float

    @property
    def harmful(self) -> bool:
        """Whether any measure is beyond its limit."""
        return self.advantage >= HARM or self.named >= 10 or self.outcomes >= 0.05 or self.alone >= 0.001


def membership_of(proba: Callable[[np.ndarray], np.ndarray], split: Split) -> float:
    """Return the advantage of the attacks on probabilities: majority class, and loss by its best threshold."""
    hits, losses = [], []
    for X, y in (split.members, split.others):
        p = proba(X)
        hits.append(p.argmax(axis=1) == y)
        losses.append(p[np.arange(len(y)), y])
    return max(float(hits[0].mean() - hits[1].mean()), best_threshold(*losses))


def measured(tree: DecisionTreeClassifier, split: Split, *, raw: bool) -> Harm:
    """Measure a tree."""
    leaves = [
        np.unique(tree.apply(split.X), return_inverse=True)[1][part] for part in (slice(split.n), slice(split.n, None))
    ]
    n_classes = int(split.y.max()) + 1
    keys = (leaves[0] * n_classes + split.members[1], leaves[1] * n_classes + split.others[1])
    majority = [tree.predict(X) == y for X, y in (split.members, split.others)]
    sizes = np.bincount(leaves[0])
    named = 0
    if raw:
        truth = np.arange(len(split.y)) < split.n
        frame = pl.DataFrame(split.X, schema=list(split.columns))
        found = midpoint_attack(as_model(tree), frame, truth=truth, random_state=0)
        if isinstance(found, Measured) and found.value.precision is not None and found.value.precision.value >= 0.9:
            named = found.value.n_named
    return Harm(
        advantage=max(membership_of(tree.predict_proba, split), cross_fitted(keys, 0)),
        named=named,
        outcomes=float(majority[0].mean() - majority[1].mean()),
        alone=float((sizes == 1).sum() / split.n),
    )


# How models are judged.


def trained(split: Split, depth: int | None, leaf: int) -> DecisionTreeClassifier:
    """Return a tree of the members."""
    X, y = split.members
    frame = pl.DataFrame(X, schema=list(split.columns)).to_pandas()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0).fit(frame, y)


def refused(
    model: DecisionTree, split: Split, policy: Policy, *, data: bool, statements: Statements | None = None
) -> str:
    """Return the verdict of an audit, with the domain alone or with the members."""
    frame = pl.DataFrame(split.members[0], schema=list(split.columns)) if data else None
    settings = AuditSettings(measurements=ONLY, statements=statements or Statements())
    return audit(model, frame, domain=split.domain, policy=policy, settings=settings).verdict


def rounded(model: DecisionTree, step: int) -> DecisionTree:
    """Return a tree with its counts rounded to multiples of a step."""

    def nearest(evidence: Evidence) -> Evidence:
        counts = tuple((count + step // 2) // step * step for count in evidence.counts or ())
        return Evidence(counts=counts, label=evidence.prediction)

    return replace(model, nodes=tuple(replace(n, evidence=nearest(n.evidence)) for n in model.nodes), approximate=True)


def without_counts(model: DecisionTree) -> DecisionTree:
    """Return a tree that publishes labels alone."""
    nodes = tuple(replace(n, evidence=Evidence(label=n.evidence.prediction)) for n in model.nodes)
    return replace(model, nodes=nodes)


def quantiles(values: np.ndarray) -> str:
    """Return the median and the range of the middle 90 %."""
    low, median, high = np.quantile(values, (0.05, 0.5, 0.95))
    return f"median {median:.2f} (5 to 95 %: {low:.2f} to {high:.2f})"


def say(text: str) -> None:
    """Write a line at once: a run takes minutes."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def share(hits: int, n: int) -> str:
    """Return a share with its interval."""
    if not n:
        return "-"
    estimate = clopper_pearson(hits, n, 0.95)
    return f"{hits / n:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"


def line(name: str, verdicts: Sequence[tuple[bool, str]]) -> str:
    """Return a row of a table: models, harmful ones, sensitivity, specificity, and how many were left open."""
    harmful = [verdict for harm, verdict in verdicts if harm]
    harmless = [verdict for harm, verdict in verdicts if not harm]
    caught = sum(verdict != "within policy" for verdict in harmful)
    passed = sum(verdict == "within policy" for verdict in harmless)
    left = sum(verdict == "inconclusive" for _, verdict in verdicts)
    sensitivity, specificity = share(caught, len(harmful)), share(passed, len(harmless))
    return f"| {name} | {len(verdicts)} | {len(harmful)} | {sensitivity} | {specificity} | {left} |"


HEAD = "| models | n | harmful | sensitivity | specificity | inconclusive |\n|---|---|---|---|---|---|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trained tree, its harm, and how it was judged."""

    split: Split
    model: DecisionTree
    harm: Harm
    implied: float
    smallest: int
    with_data: str
    alone: str
    leaf: int


def mean_harm(tree: DecisionTreeClassifier, split: Split, depth: int | None, leaf: int, *, raw: bool) -> Harm:
    """Return the harm of a tree; of few records the mean of trees of several splits."""
    found = [measured(tree, split, raw=raw)]
    for seed in range(1, N_SPLITS if len(split.y) < FEW_RECORDS else 1):
        other = split.again(seed)
        found.append(measured(trained(other, depth, leaf), other, raw=raw))
    means = {
        name: float(np.mean([getattr(harm, name) for harm in found])) for name in ("advantage", "outcomes", "alone")
    }
    return Harm(**means, named=round(float(np.mean([harm.named for harm in found]))))


def cases(split: Split, depths: Sequence[int | None], leaves: Sequence[int], policy: Policy) -> Iterator[Case]:
    """Train, measure and judge the trees of a grid, on raw numbers and on public cut points."""
    for raw, records in ((True, split), (False, split.on_public_cuts())):
        for depth in depths:
            for leaf in leaves:
                tree = trained(records, depth, leaf)
                model = as_model(tree)
                if not isinstance(model, DecisionTree):
                    raise TypeError("a tree was expected.")
                counts = np.array([cell.evidence.counts for cell in model.cells], dtype=float)
                known = OutcomeCounts(lower=counts, upper=counts, n_outcomes=counts.shape[1])
                yield Case(
                    split=records,
                    model=model,
                    harm=mean_harm(tree, records, depth, leaf, raw=raw),
                    implied=implied_advantage(known).upper,
                    smallest=int(counts.sum(axis=1).min()),
                    with_data=refused(model, records, policy, data=True),
                    alone=refused(model, records, policy, data=False),
                    leaf=leaf,
                )


def forests(split: Split, limit: float) -> list[tuple[bool, str]]:
    """Judge forests by the largest implied advantage of a tree, against attacks on their probabilities."""
    out = []
    X, y = split.members
    for leaf in (1, 5, 25, 60, 120):
        for n_trees in (5, 25):
            forest = RandomForestClassifier(n_trees, min_samples_leaf=leaf, random_state=0).fit(X, y)
            implied = []
            for tree in forest.estimators_:
                keys = np.unique(tree.apply(X), return_inverse=True)[1]
                counts = np.zeros((keys.max() + 1, int(split.y.max()) + 1))
                np.add.at(counts, (keys, y), 1)
                implied.append(
                    implied_advantage(OutcomeCounts(lower=counts, upper=counts, n_outcomes=counts.shape[1])).upper
                )
            harm = membership_of(forest.predict_proba, split) >= HARM
            out.append((harm, "outside policy" if max(implied) > limit else "within policy"))
    return out


def additive(split: Split, limit: float) -> list[tuple[bool, str, float, float]]:
    """Judge logistic models of bins by sqrt(d / (2 pi n)) of their d parameters, against attacks on probabilities."""
    out = []
    for n_bins in (4, 16, 64):
        for strength in (0.01, 1.0, 100.0):
            ends = [np.unique(np.quantile(column, np.arange(1, n_bins) / n_bins)) for column in split.members[0].T]
            codes = [np.searchsorted(cuts, column) for cuts, column in zip(ends, split.X.T, strict=True)]
            Z = np.column_stack([np.eye(len(cuts) + 1)[code] for cuts, code in zip(ends, codes, strict=True)])
            binned = replace(split, X=Z)
            model = LogisticRegression(C=strength, max_iter=150).fit(*binned.members)
            d = sum(map(len, ends)) * int(split.y.max())
            implied = float(np.sqrt(d / (2 * np.pi * split.n)))
            reached = membership_of(model.predict_proba, binned)
            out.append((reached >= HARM, "outside policy" if implied > limit else "within policy", implied, reached))
    return out


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    quick, start, policy = "--quick" in sys.argv, time.process_time(), Policy()
    depths, leaves = ((6, None), (1, 10, 120)) if quick else (DEPTHS, LEAVES)
    splits = [*(encoded(read()) for read in (adult, compas, german, telco)), made(2, 0)]
    every: list[Case] = []
    say(f"## Default policy: trees of depth {depths}, leaves of at least {leaves}, raw and on public cut points\n")
    say(HEAD)
    for split in splits:
        own = list(cases(split, depths, leaves, policy))
        every += own
        say(line(f"{split.name}, with data", [(case.harm.harmful, case.with_data) for case in own]))
    for name, part in (("with data", "with_data"), ("the file and its cut points", "alone")):
        say(line(f"**all, {name}**", [(case.harm.harmful, getattr(case, part)) for case in every]))
    before = Policy(
        purest_leaf=0.9, largest_bits_per_record=10.0, thresholds_off_grid=0, midpoints=0, largest_advantage=None,
        certain_by_membership=None, named_by_thresholds=None,
    )  # fmt: skip
    say(line("all, shares and bits", [(c.harm.harmful, refused(c.model, c.split, before, data=False)) for c in every]))
    large = [case for case in every if case.smallest >= 10 and not case.harm.harmful]
    passing = share(sum(case.with_data == "within policy" for case in large), len(large))
    say(f"\nHarmless models with leaves of at least 10 that pass: {passing}.")
    fitted = np.array([case.harm.advantage / case.implied for case in every if case.implied > 0.01])
    say(f"Measured advantage over A: {quantiles(fitted)}.")
    say("\n## Extensions, with the file and its cut points\n\n" + HEAD)
    several = [case for k in (3, 5) for case in cases(made(k, k), depths, leaves, policy)]
    say(line("several classes", [(case.harm.harmful, case.alone) for case in several]))
    for step in (5, 10):
        verdicts = [
            (
                c.harm.harmful,
                refused(rounded(c.model, step), c.split, policy, data=False, statements=Statements(rounded_to=step)),
            )
            for c in every
        ]
        say(line(f"counts rounded to {step}", verdicts))
    stated = [
        (
            c.harm.harmful,
            refused(without_counts(c.model), c.split, policy, data=False, statements=Statements(smallest_leaf=c.leaf)),
        )
        for c in every
    ]
    say(line("no counts, smallest leaf stated", stated))
    limit = policy.largest_advantage or 0.07
    say(line("forests, by the largest A of a tree", [pair for s in splits[2:] for pair in forests(s, limit)]))
    terms = [entry for s in splits[2:] for entry in additive(s, limit)]
    say(line("additive models, by sqrt(d / 2 pi n)", [(harm, verdict) for harm, verdict, _, _ in terms]))
    over = np.array([reached / implied for _, _, implied, reached in terms])
    say(f"\nAdditive models: measured over sqrt(d / 2 pi n): {quantiles(over)}.")
    fifty = [case for case in every + several if case.smallest >= STRICT_LEAF]
    say(f"\n## Strict: {len(fifty)} models with leaves of at least {STRICT_LEAF}\n")
    for limit in (0.03, 0.04, 0.05, 0.06, 0.07):
        kept = [case.harm.advantage < STRICT_HARM for case in fifty if case.implied <= limit]
        say(f"A of at most {limit}: {len(kept)} models; advantage below {STRICT_HARM}: {share(sum(kept), len(kept))}")
    say(f"\n{time.process_time() - start:.0f} CPU seconds.")


if __name__ == "__main__":
    main()
