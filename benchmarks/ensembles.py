"""Whether effective leaves per record tell harmful ensembles of trees from others: a row a model.

Random forests, extra trees, gradient boosting and histogram boosting of scikit-learn on Adult, COMPAS, Telco,
California housing, Elevators and Wine; numbers become two classes by a cut. With XGBoost and LightGBM where BOOSTED
names the folder of an environment that has them. Harm is measured on members against others of the population, by
attacks of this file:

- membership: the best of three attacks has an advantage of at least 0.10: the loss, the loss less the mean loss of
  three reference ensembles trained on other records, and the score less theirs in the direction of the outcome; each
  by a threshold that is chosen on one half and measured on the other;
- outcomes: the ensemble is right for members at least 5 points more often than for others;
- attribute: an attacker who knows all but one attribute of two values, and the outcome, guesses it at least 3 points
  better for members.

A setting is harmful by the means over three draws: of one model of 1,000 records these figures have standard errors of
about 0.02. The first line of the table judges every model alone.

Rules: ``file`` is what the audit says of the model alone, q v by the base rate; ``holdout`` takes v by the error on
others. The limit 0.07 and the constant 1.6 were chosen before, on Adult and other data. Beside them the smallest leaf.
``audits`` audits forests with leaves of 20 on 3,000 records with 16 shadow models, and boosted trees on continuous
columns for their thresholds. Intervals are of 95 % (Clopper and Pearson), as if models were independent. GLASSINE_DATA
names the folder of the datasets.

    python benchmarks/ensembles.py run [DATASET ...]    # appends rows to benchmarks/ensembles.csv as they come
    python benchmarks/ensembles.py audits               # writes benchmarks/ensemble-audits.csv
    python benchmarks/ensembles.py page                 # writes the tables of the page from both
"""

from __future__ import annotations

import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.path.append(os.environ.get("BOOSTED", ""))

from benchmarks.kept_rows import filled  # noqa: E402
from benchmarks.regressions import (  # noqa: E402
    RULES,
    adult,
    california,
    compas,
    cross_fitted,
    elevators,
    line,
    telco,
    wine,
)
from glassine import AuditSettings, audit  # noqa: E402
from glassine.auditing.statements import Statements  # noqa: E402
from glassine.formats.boosted.lightgbm import ensemble_from_lightgbm  # noqa: E402
from glassine.formats.boosted.xgboost import ensemble_from_xgboost  # noqa: E402
from glassine.formats.judged import as_ensemble  # noqa: E402
from glassine.models import TreeEnsemble  # noqa: E402
from glassine.models.implied import advantage_of_parameters  # noqa: E402
from glassine.records.arrays import Array, Bools  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

OUT, AUDITS = ROOT / "benchmarks" / "ensembles.csv", ROOT / "benchmarks" / "ensemble-audits.csv"
LIMIT, HARM = 0.07, 0.10
SIZES = (1_000, 3_000)
N_REFERENCES, MOST_OTHERS, N_DRAWS = 3, 3_000, 3


def coded(frame: pl.DataFrame, target: str) -> tuple[Array, Array, list[str]]:
    """Return the columns of a frame, categories as codes, its outcome, and the names of the columns."""
    names = [name for name in frame.columns if name != target]
    columns = [
        frame[name].to_numpy().astype(float)
        if frame[name].dtype.is_numeric()
        else frame[name].cast(pl.Categorical).to_physical().to_numpy().astype(float)
        for name in names
    ]
    return np.column_stack(columns), frame[target].to_numpy().astype(float), names


CUTS = {"california": 0.9, "elevators": 0.7, "wine": 0.3}
"""Share of the outcomes of a number below the cut that makes two classes of it."""
SENSITIVE = {"adult": "sex", "compas": "sex", "telco": "gender"}
"""An attribute of two values."""
DATASETS: dict[str, Callable[[], tuple[pl.DataFrame, str]]] = {
    "adult": adult,
    "compas": compas,
    "telco": telco,
    "california": california,
    "elevators": elevators,
    "wine": wine,
}


def loaded(name: str) -> tuple[Array, Array, list[str]]:
    """Return the columns, the classes 0 and 1, and the names of the columns."""
    x, y, names = coded(*DATASETS[name]())
    if name in CUTS:
        y = (y > np.quantile(y, CUTS[name])).astype(float)
    return x, y.astype(int), names


def learners() -> dict[str, Callable[[], Any]]:
    """Return the ensembles of a dataset, by name."""
    from sklearn.ensemble import (
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )

    def forest(least: int, trees: int = 50) -> Callable[[], Any]:
        return lambda: RandomForestClassifier(trees, min_samples_leaf=least)

    def extra(least: int) -> Callable[[], Any]:
        return lambda: ExtraTreesClassifier(50, min_samples_leaf=least)

    def boosted(depth: int, rounds: int) -> Callable[[], Any]:
        return lambda: GradientBoostingClassifier(max_depth=depth, n_estimators=rounds)

    def histogram(leaves: int, rounds: int) -> Callable[[], Any]:
        return lambda: HistGradientBoostingClassifier(max_leaf_nodes=leaves, max_iter=rounds, early_stopping=False)

    found: dict[str, Callable[[], Any]] = {
        **{f"random forest, leaves of {least}": forest(least) for least in (1, 5, 20, 50, 100, 200)},
        "random forest of 10, leaves of 20": forest(20, 10),
        **{f"extra trees, leaves of {least}": extra(least) for least in (5, 20, 50, 100)},
        **{
            f"gradient boosting, depth {d}, {r} rounds": boosted(d, r) for d, r in ((1, 50), (2, 50), (3, 100), (5, 50))
        },
        **{f"histogram boosting, {n} leaves, {r} rounds": histogram(n, r) for n, r in ((4, 20), (8, 50), (31, 50))},
    }
    try:
        from lightgbm import LGBMClassifier
        from xgboost import XGBClassifier
    except ImportError:
        return found
    for leaves, rounds in ((4, 20), (31, 50)):
        found[f"LightGBM, {leaves} leaves, {rounds} rounds"] = lambda n=leaves, r=rounds: LGBMClassifier(  # type: ignore[misc]
            num_leaves=n, n_estimators=r, n_jobs=1, verbose=-1
        )
    for depth, rounds in ((1, 20), (2, 50), (6, 50)):
        found[f"XGBoost, depth {depth}, {rounds} rounds"] = lambda d=depth, r=rounds: XGBClassifier(  # type: ignore[misc]
            max_depth=d, n_estimators=r, learning_rate=0.1, n_jobs=1
        )
    return found


def read(model: Any) -> TreeEnsemble:
    """Return what the audit reads of a fitted ensemble: of other libraries, of the file that they write."""
    if hasattr(model, "booster_"):
        found = ensemble_from_lightgbm(model.booster_.model_to_string())
    elif hasattr(model, "get_booster"):
        import json

        found = ensemble_from_xgboost(json.loads(bytes(model.get_booster().save_raw("json"))))
    else:
        found = as_ensemble(model)
    if found is None:
        raise SystemExit(f"{type(model).__name__} has a single tree.")
    return found


def fitted(make: Callable[[], Any], x: Any, y: Any, seed: int) -> Any:
    """Return an ensemble trained on some records."""
    return make().set_params(random_state=seed).fit(x, y)


def logit(model: Any, x: Array) -> Array:
    """Return the log-odds of the second class, shape (n,)."""
    p = np.clip(model.predict_proba(x)[:, 1], 1e-3, 1 - 1e-3)
    return np.asarray(np.log(p / (1 - p)))


def losses(scores: Array, y: Array) -> Array:
    """Return the logistic loss of each record, shape (n,)."""
    return np.logaddexp(0, np.where(y > 0, -scores, scores))


def harm(
    model: Any, references: list[Any], sides: list[tuple[Array, Array]], place: int | None, rng: np.random.Generator
) -> dict[str, float]:
    """Return what attacks measured: advantages, how much more often members are right, and their attribute guessed."""
    attacks: list[list[Array]] = [[], [], []]
    right, guessed = [], []
    for x, y in sides:
        own = logit(model, x)
        others = np.column_stack([logit(reference, x) for reference in references])
        base = np.column_stack([losses(others[:, k], y) for k in range(others.shape[1])]).mean(axis=1)
        attacks[0].append(-losses(own, y))
        attacks[1].append(base - losses(own, y))
        attacks[2].append((own - others.mean(axis=1)) * np.where(y > 0, 1.0, -1.0))
        right.append(float(np.mean((own > 0) == (y > 0))))
        if place is not None:
            values = np.unique(sides[0][0][:, place])[:2]
            chances = []
            for value in values:
                changed = x.copy()
                changed[:, place] = value
                chances.append(-losses(logit(model, changed), y))
            guess = np.where(chances[1] > chances[0], values[1], values[0])
            guessed.append(float(np.mean(guess == x[:, place])))
    figures = {f"attack_{k}": cross_fitted(attack[0], attack[1], rng) for k, attack in enumerate(attacks)}
    attribute = guessed[0] - guessed[1] if guessed else 0.0
    return figures | {"right": right[0] - right[1], "attribute": attribute}


def rows(name: str, draw: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each ensemble of a dataset, by one draw of its records."""
    x, y, names = loaded(name)
    place = names.index(SENSITIVE[name]) if name in SENSITIVE else None
    for n in SIZES:
        for seed, (learner, make) in enumerate(learners().items()):
            rng = np.random.default_rng([seed, n, *name.encode(), *([draw] if draw else [])])
            order = rng.permutation(len(x))
            inside, outside = order[:n], order[n : n + min(MOST_OTHERS, (len(x) - n) // 2)]
            left = order[n + len(outside) :]
            if len(left) < n // 2:
                continue
            model = fitted(make, x[inside], y[inside], seed)
            picks = [rng.choice(left, min(n, len(left)), replace=False) for _ in range(N_REFERENCES)]
            references = [fitted(make, x[pick], y[pick], seed + 1 + k) for k, pick in enumerate(picks)]
            found = harm(model, references, [(x[inside], y[inside]), (x[outside], y[outside])], place, rng)
            ensemble = read(model)
            q, rate = ensemble.per_record(n), y[inside].mean()
            error = float(np.mean((logit(model, x[outside]) > 0) != (y[outside] > 0)))
            leaves = ensemble.apply(x[inside])
            alone = np.nan if leaves is None else np.mean(np.unique(leaves, axis=0, return_counts=True)[1] == 1)
            # XGBoost's covers are numbers of records where it is stated that none had a weight.
            stated = AuditSettings(statements=Statements(unweighted=True))
            check = next(c for c in audit(ensemble, settings=stated).checks if c.rule == "largest_advantage")
            yield {
                "dataset": name,
                "n": n,
                "learner": learner,
                "trees": ensemble.n_trees,
                "q": f"{q:.5g}",
                **{key: f"{value:.4f}" for key, value in found.items()},
                "advantage": f"{max(found[f'attack_{k}'] for k in range(3)):.4f}",
                "base_rate": f"{rate:.4f}",
                "error": f"{error:.4f}",
                "by_file": f"{advantage_of_parameters(q, 'ensemble', 4 * rate * (1 - rate)):.4f}",
                "by_holdout": f"{advantage_of_parameters(q, 'ensemble', 4 * error * (1 - error)):.4f}",
                "audited": check.status,
                "smallest_leaf": "" if ensemble.sizes is None else int(ensemble.sizes.min()),
                "alone": f"{alone:.3f}",
                "draw": draw,
            }


def appended(path: Path, found: Iterator[dict[str, Any]]) -> None:
    """Append rows to a table as they come, so that an end in between loses none."""
    fresh = not path.exists()
    with path.open("a", newline="") as stream:
        writer: csv.DictWriter[str] | None = None
        for row in found:
            if writer is None:
                writer = csv.DictWriter(stream, list(row), lineterminator="\n")
                if fresh:
                    writer.writeheader()
            writer.writerow(row)
            stream.flush()


def run(names: list[str]) -> None:
    """Append the rows of some datasets that are not in the table yet, by default of all."""
    warnings.simplefilter("ignore")
    done = set()
    if OUT.exists():
        with OUT.open() as stream:
            done = {(row["dataset"], int(row["draw"])) for row in csv.DictReader(stream)}
    for draw in range(N_DRAWS):
        for name in names or list(DATASETS):
            if (name, draw) not in done:
                appended(OUT, rows(name, draw))


def audits() -> None:
    """Audit forests with leaves of 20, and boosted trees for their thresholds."""
    warnings.simplefilter("ignore")
    AUDITS.unlink(missing_ok=True)
    appended(AUDITS, _audits())


def _audits() -> Iterator[dict[str, Any]]:
    made = learners()
    for name in DATASETS:
        x, y, names = loaded(name)
        order = np.random.default_rng(0).permutation(len(x))
        n = min(3_000, len(x) // 2)
        frames = [
            pl.DataFrame(x[part], schema=names).with_columns(pl.Series("outcome", y[part])).to_pandas()
            for part in (order[:n], order[n : 2 * n])
        ]
        picked = [one for one in made if one == "random forest, leaves of 20" or (name in CUTS and "31 leaves" in one)]
        for learner in picked:
            model = fitted(made[learner], frames[0][names], frames[0]["outcome"], 0)
            subject: Any = read(model) if "LightGBM" in learner else model
            found = audit(subject, frames[0], "outcome", holdout=frames[1])
            status = {check.rule: check.status for check in found.checks}
            membership = found.value("membership")
            lira = max(
                (a.advantage or 0.0 for a in membership.attacks if "likelihood" in a.attack or "RMIA" in a.attack),
                default=0.0,
            )
            yield {
                "dataset": name,
                "n": n,
                "learner": learner,
                "verdict": found.verdict,
                "shadow_advantage": f"{lira:.3f}",
                **{rule: status.get(rule, "") for rule in ("largest_advantage", "largest_measured_advantage")},
                **{rule: status.get(rule, "") for rule in ("named_by_thresholds", "certain_by_membership")},
                "accused": str(membership.accused),
                # The nodes of a forest place thresholds between their own records.
                "nameable": "" if "forest" in learner else nameable(read(model), *frames),
            }


def nameable(ensemble: TreeEnsemble, members: Any, others: Any) -> int:
    """Return how many members thresholds could name at most: those who alone have a value next to one.

    Boosting places thresholds between neighbouring values of all training records. Who shares the value with another
    member, or with one of as many other people, is named by none.
    """
    found: set[int] = set()
    for name, cuts in ensemble.thresholds.items():
        own, every = members[name].to_numpy(), np.concatenate([members[name], others[name]])
        values = np.unique(own)
        at = np.searchsorted(values, np.asarray(cuts), side="right")
        beside = np.unique(np.concatenate([values[at[at > 0] - 1], values[at[at < len(values)]]]))
        alone = beside[[np.sum(every == value) == 1 for value in beside]]
        found |= set(np.flatnonzero(np.isin(own, alone)).tolist())
    return len(found)


MEANT = (
    *("attack_0", "attack_1", "attack_2", "right", "attribute"),
    *("by_file", "by_holdout", "q", "smallest_leaf", "alone"),
)
"""Figures of which a setting has the mean of its draws."""


def harmful(found: list[dict[str, str]]) -> Bools:
    """Return which models, or settings, harm their records, shape (models,)."""
    advantages = [max(float(row[f"attack_{k}"]) for k in range(3)) for row in found]
    pairs = zip(found, advantages, strict=True)
    return np.array([a >= HARM or float(r["right"]) >= 0.05 or float(r["attribute"]) >= 0.03 for r, a in pairs])


def means(found: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return a row for each setting, its figures means over its draws."""
    settings: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in found:
        settings.setdefault((row["dataset"], row["n"], row["learner"]), []).append(row)
    out = []
    for own in settings.values():
        figures = {key: np.mean([float(row[key]) for row in own if row[key]] or [np.nan]) for key in MEANT}
        out.append({**own[0], **{key: str(value) for key, value in figures.items()}})
    return out


KINDS = ("random forest", "extra trees", "gradient boosting", "histogram boosting", "LightGBM", "XGBoost")
"""Learners, by the start of their settings' names."""


def tables() -> dict[str, str]:
    """Return the tables of the page, from the rows that are stored."""
    with OUT.open() as stream:
        every = list(csv.DictReader(stream))
    found = means(every)
    of_data = {data: [r for r in found if r["dataset"] == data] for data in dict.fromkeys(r["dataset"] for r in found)}
    of_kind = {kind: [r for r in found if r["learner"].startswith(kind)] for kind in KINDS}
    rules = _by_law({"all": found, "without Adult": [r for r in found if r["dataset"] != "adult"]})
    sized = [r for r in found if r["smallest_leaf"] not in ("", "nan")]
    rules.append(
        line("all", "a leaf of fewer than 10", [-float(r["smallest_leaf"]) for r in sized], -10, harmful(sized))
    )
    joint = [r for r in found if r["alone"] != "nan"]
    rules.append(
        line("all", "alone in a combination of leaves", [float(r["alone"]) for r in joint], 0.5, harmful(joint))
    )
    rules += _by_law({"single models": every})
    with AUDITS.open() as stream:
        audited = list(csv.DictReader(stream))
    heads = ("data", "ensemble", "verdict", "by shadows", *(f"`{name}`" for name in CHECKS), "flagged", "nameable")
    columns = ("dataset", "learner", "verdict", "shadow_advantage", *CHECKS, "accused", "nameable")
    cells = [tuple(r[name] for name in columns) for r in audited]
    return {
        "ensembles": markdown(RULES, rules),
        "ensembles by data": markdown(RULES, _by_law(of_data | of_kind)),
        "audits of ensembles": markdown(heads, cells),
    }


CHECKS = ("largest_advantage", "largest_measured_advantage", "named_by_thresholds")
"""Checks that the table of audits has."""


def _by_law(groups: dict[str, list[dict[str, str]]]) -> list[tuple[str, ...]]:
    """Return the lines of both rules for some groups of rows."""
    out = []
    for kind, own in groups.items():
        for rule, key in (("q v, v by the error on a holdout", "by_holdout"), ("the file alone", "by_file")):
            out.append(line(kind, rule, [float(r[key]) for r in own], LIMIT, harmful(own)))
    return out


def _write() -> None:
    for page, text in filled(tables()).items():
        page.write_text(text)


if __name__ == "__main__":
    {"run": lambda: run(sys.argv[2:]), "audits": audits, "page": _write}[sys.argv[1]]()
