"""Whether parameters per record tell harmful regressions from others, and what standard errors bound: a row a setting.

Logistic regressions without a penalty and with that of scikit-learn's default on Adult, COMPAS, German credit and
Telco, and linear ones on California housing, Elevators, Wine and Pol, of several numbers of records and columns. Harm
is measured on members against others of the population, by attacks of this file:

- membership: the best of three attacks has an advantage of at least 0.10: the loss, the loss less the mean loss of
  three reference models trained on other records, and the model's score less theirs in the direction of the outcome;
  each by a threshold that is chosen on one half and measured on the other, and by its mean over the models of four
  draws: of one model of 150 records an advantage has a standard error of about 0.06;
- outcomes: the model is right for members at least 5 points more often than for others (logistic);
- certainty: members with a right probability of at least 0.99 are at least 1 point more frequent (logistic).

Rules: ``parameters`` is the audit of a file, by fitted coefficients and records; ``effective`` adds the data, and under
a penalty the trace. The limit 0.07 and the constant 0.64 were chosen before, on Adult and other data. Beside it: what
ACRO demands, at least ten residual degrees of freedom; and whole audits under the default policy, of the table with a
domain and with the records, which also fail where outcomes of single records follow. For every column of 0/1 of the
fits without a penalty that converged, the bound by its standard error is compared with its counts, also with errors
rounded to three decimals, and with robust errors (HC1), which the audit refuses. Intervals are of 95 % (Clopper and
Pearson), as if models were independent. GLASSINE_DATA names the folder of the datasets.

    python benchmarks/regressions.py run [DATASET ...]    # writes benchmarks/regressions.csv
    python benchmarks/regressions.py page                 # writes the tables of the page from it
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import beta

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import filled  # noqa: E402
from glassine import Category, Domain, Real, audit  # noqa: E402
from glassine.models import Effect, Equal, FitStatistics, Power, RegressionModel  # noqa: E402
from glassine.models.implied import advantage_of_parameters, effective_parameters  # noqa: E402
from glassine.models.indicators import indicator_bounds  # noqa: E402
from glassine.records.arrays import Array, Bools  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

DATA = Path(os.environ.get("GLASSINE_DATA", ROOT.parent / "shared" / "data"))
OUT = ROOT / "benchmarks" / "regressions.csv"
LIMIT, HARM = 0.07, 0.10
SIZES = (150, 300, 600, 1_200, 2_400)
WIDTHS = (6, 20, 60)
"""Most columns, the intercept aside, of the models of a dataset."""
N_REFERENCES, MOST_ITERATIONS, N_DRAWS = 3, 25, 4


def adult() -> tuple[pl.DataFrame, str]:
    """Return Adult with all of its columns but the sampling weight."""
    names = [
        *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
        *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "country", "income"),
    ]
    frame = pl.read_csv(DATA / "adult" / "adult.data", has_header=False, new_columns=names)
    frame = frame.drop_nulls().with_columns(pl.all().cast(pl.String).str.strip_chars())
    numbers = [pl.col(name).cast(pl.Float64) for name in ("age", "hours-per-week")]
    numbers += [pl.col(name).cast(pl.Float64).log1p() for name in ("capital-gain", "capital-loss")]
    # Education and its number are one column twice.
    frame = frame.with_columns(*numbers).drop("fnlwgt", "education-num")
    return frame.with_columns((pl.col("income") == ">50K").cast(pl.Int64)), "income"


def compas() -> tuple[pl.DataFrame, str]:
    """Return COMPAS: what was known at the screening, and whether the person was arrested within two years."""
    frame = pl.read_csv(DATA / "compas" / "compas-scores-two-years.csv", infer_schema_length=None)
    kept = [
        "sex",
        "age",
        "race",
        "juv_fel_count",
        "juv_misd_count",
        "juv_other_count",
        "priors_count",
        "c_charge_degree",
    ]
    months = pl.col("c_jail_in").str.slice(5, 2).fill_null("none").alias("month")
    return frame.select(*kept, "age_cat", months, "two_year_recid"), "two_year_recid"


def german() -> tuple[pl.DataFrame, str]:
    """Return German credit."""
    rows = [line.split() for line in (DATA / "german" / "german.data").read_text().splitlines() if line.strip()]
    numbers = (1, 4, 7, 10, 12, 15, 17)
    frame = pl.DataFrame(
        {f"a{i}": [float(row[i]) if i in numbers else row[i] for row in rows] for i in range(len(rows[0]) - 1)}
        | {"bad": [int(row[-1]) - 1 for row in rows]}
    )
    return frame, "bad"


def telco() -> tuple[pl.DataFrame, str]:
    """Return Telco without identifiers and the product of two columns."""
    frame = pl.read_csv(DATA / "telco" / "telco.csv", infer_schema_length=None).drop("customerID", "TotalCharges")
    # How long a customer has stayed, as a category of its months, gives columns of few.
    frame = frame.with_columns(
        (pl.col("Churn") == "Yes").cast(pl.Int64), pl.col("tenure").cast(pl.String).alias("months")
    )
    return frame, "Churn"


def california() -> tuple[pl.DataFrame, str]:
    """Return California housing with a grid of places of one degree."""
    names = ["longitude", "latitude", "age", "rooms", "bedrooms", "population", "households", "income", "value"]
    frame = pl.read_csv(DATA / "california" / "cal_housing.data", has_header=False, new_columns=names)
    logs = [pl.col(name).log1p() for name in ("rooms", "bedrooms", "population", "households")]
    place = pl.concat_str(pl.col("longitude").round(0), pl.lit(" "), pl.col("latitude").round(0)).alias("place")
    return frame.with_columns(*logs, place, pl.col("value").log()), "value"


def attributes(path: str, target: str) -> pl.DataFrame:
    """Return the numbers of a file of Weka, the last of which is the target."""
    lines = (DATA / path).read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
    rows = [list(map(float, line.split(","))) for line in lines[start + 1 :] if line.strip()]
    return pl.DataFrame(np.array(rows), schema=[f"a{i}" for i in range(len(rows[0]) - 1)] + [target], orient="row")


def elevators() -> tuple[pl.DataFrame, str]:
    """Return Elevators."""
    return attributes("elevators/elevators.arff", "goal"), "goal"


def wine() -> tuple[pl.DataFrame, str]:
    """Return the white wines."""
    frame = pl.read_csv(DATA / "wine" / "winequality-white.csv", separator=";")
    # LightGBM writes names without blanks.
    return frame.rename({name: name.replace(" ", "_") for name in frame.columns}), "quality"


def pol() -> tuple[pl.DataFrame, str]:
    """Return Pole telecommunications without its constant columns."""
    frame = attributes("pol/pol.arff", "goal")
    return frame.select(name for name in frame.columns if frame[name].n_unique() > 1), "goal"


def with_category(read: Callable[[], tuple[pl.DataFrame, str]], name: str) -> tuple[pl.DataFrame, str]:
    """Return a dataset whose column of a few dozen values is a category, as columns of few have none else."""
    frame, target = read()
    return frame.with_columns(pl.col(name).cast(pl.String)), target


DATASETS: dict[str, Callable[[], tuple[pl.DataFrame, str]]] = {
    "adult": adult,
    "compas": compas,
    "german": german,
    "telco": telco,
    "california": california,
    "elevators": lambda: with_category(elevators, "a9"),
    "wine": lambda: with_category(wine, "alcohol"),
    "pol": lambda: with_category(pol, "a32"),
}
LINEAR = ("california", "elevators", "wine", "pol")


@dataclass(frozen=True, kw_only=True)
class Design:
    """The columns that a fit makes of its records: numbers in units of their spread, and values but the first."""

    numbers: tuple[tuple[str, float, float], ...]
    values: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, frame: pl.DataFrame, target: str, width: int) -> Design:
        """Return the design of some records, at most so many columns, those of few values first."""
        numbers, values = [], []
        for name in frame.columns:
            column = frame[name]
            if name == target:
                continue
            if column.dtype.is_numeric():
                scale = float(column.std() or 0)  # type: ignore[arg-type]
                numbers += [(name, float(column.mean()), scale)] if scale > 0 else []  # type: ignore[arg-type]
            else:
                values.append([(name, str(value)) for value in sorted(column.unique().to_list())[1:]])
        kept: list[tuple[str, str]] = []
        for own in sorted(values, key=len):
            kept += own[: max(0, width - len(numbers) - len(kept))]
        return cls(numbers=tuple(numbers[:width]), values=tuple(kept))

    def columns(self, frame: pl.DataFrame) -> Array:
        """Return the columns of records, the intercept first, shape (n, p)."""
        parts = [np.ones(len(frame))]
        parts += [(frame[name].to_numpy().astype(float) - mean) / scale for name, mean, scale in self.numbers]
        parts += [(frame[name] == value).to_numpy().astype(float) for name, value in self.values]
        return np.column_stack(parts)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A fitted regression."""

    design: Design
    coefficients: Array
    converged: bool
    linear: bool

    def scores(self, frame: pl.DataFrame) -> Array:
        """Return the scores of records, shape (n,)."""
        return np.asarray(self.design.columns(frame) @ self.coefficients)


def fitted(frame: pl.DataFrame, target: str, width: int, penalty: float) -> Fit:
    """Fit by least squares, or by Newton's method as R does, with a penalty on all but the intercept."""
    design = Design.of(frame, target, width)
    x, y = design.columns(frame), frame[target].to_numpy().astype(float)
    linear = len(np.unique(y)) > 2
    ridge = np.full(x.shape[1], penalty)
    ridge[0] = 0.0
    if linear:
        return Fit(design=design, coefficients=np.linalg.lstsq(x, y, rcond=None)[0], converged=True, linear=True)
    b, converged, deviance = np.zeros(x.shape[1]), False, np.inf
    for _ in range(MOST_ITERATIONS):
        p = probabilities(x @ b)
        w = np.maximum(p * (1 - p), 1e-10)
        step = np.linalg.lstsq((x * w[:, None]).T @ x + np.diag(ridge), x.T @ (y - p) - ridge * b, rcond=None)[0]
        b = b + np.clip(step, -5, 5)
        p = np.clip(probabilities(x @ b), 1e-12, 1 - 1e-12)
        new = float(-2 * np.sum(y * np.log(p) + (1 - y) * np.log(1 - p)) + ridge @ b**2)
        if abs(new - deviance) < 1e-8 * (abs(new) + 0.1):
            converged = True
            break
        deviance = new
    return Fit(design=design, coefficients=b, converged=converged, linear=False)


def probabilities(scores: Array) -> Array:
    """Return the probability of the second class, shape (n,)."""
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -500, 500))))


def losses(scores: Array, y: Array, linear: bool) -> Array:
    """Return the loss of each record, shape (n,)."""
    return np.abs(y - scores) if linear else np.logaddexp(0, np.where(y > 0, -scores, scores))


def cross_fitted(members: Array, others: Array, rng: np.random.Generator) -> float:
    """Return the advantage of calling large values members, by thresholds of one half measured on the other."""
    halves = [(rng.permutation(len(part)) % 2).astype(bool) for part in (members, others)]
    out = []
    for side in (False, True):
        inside, outside = members[halves[0] == side], others[halves[1] == side]
        cuts = np.quantile(np.concatenate([inside, outside]), np.linspace(0.01, 0.99, 99))
        gains = [np.mean(inside > cut) - np.mean(outside > cut) for cut in cuts]
        best = cuts[int(np.argmax(gains))]
        out.append(np.mean(members[halves[0] != side] > best) - np.mean(others[halves[1] != side] > best))
    return float(np.mean(out))


def harm(
    fit: Fit, references: list[Fit], sides: list[pl.DataFrame], target: str, rng: np.random.Generator
) -> dict[str, float]:
    """Return what attacks measured of a fit: advantage, and how much more often members are right, or sure."""
    attacks: list[list[Array]] = [[], [], []]
    right, sure = [], []
    for frame in sides:
        y, own = frame[target].to_numpy().astype(float), fit.scores(frame)
        others = np.column_stack([reference.scores(frame) for reference in references])
        mean = others.mean(axis=1)
        base = np.column_stack([losses(others[:, k], y, fit.linear) for k in range(others.shape[1])]).mean(axis=1)
        attacks[0].append(-losses(own, y, fit.linear))
        attacks[1].append(base - losses(own, y, fit.linear))
        attacks[2].append((own - mean) * (np.sign(y - mean) if fit.linear else np.where(y > 0, 1.0, -1.0)))
        chance = np.where(y > 0, probabilities(own), 1 - probabilities(own))
        right.append(float(np.mean(chance > 0.5)))
        sure.append(float(np.mean(chance >= 0.99)))
    figures = {f"attack_{k}": cross_fitted(attack[0], attack[1], rng) for k, attack in enumerate(attacks)}
    linear = fit.linear
    return figures | {"right": 0.0 if linear else right[0] - right[1], "sure": 0.0 if linear else sure[0] - sure[1]}


def read(fit: Fit, errors: Array | None, n: int, penalized: bool, scale: float | None) -> RegressionModel:
    """Return a fit as the model that is audited."""
    names = [*(name for name, _, _ in fit.design.numbers), *(f"{name}={value}" for name, value in fit.design.values)]
    factors: list[Any] = [Power(attribute=name) for name, _, _ in fit.design.numbers]
    factors += [Equal(attribute=name, value=value) for name, value in fit.design.values]
    known = errors[1:].tolist() if errors is not None else [None] * len(names)
    effects = tuple(
        Effect(name=name, factors=(factor,), coefficients=(value,), errors=None if error is None else (error,))
        for name, factor, value, error in zip(names, factors, fit.coefficients[1:].tolist(), known, strict=True)
    )
    return RegressionModel(
        attributes=tuple(dict.fromkeys(factor.attribute for factor in factors)),
        effects=effects,
        intercept=(float(fit.coefficients[0]),),
        link="identity" if fit.linear else "logit",
        classes=None if fit.linear else (0, 1),
        fit=FitStatistics(
            family="gaussian" if fit.linear else "binomial",
            n_records=n,
            n_parameters=len(fit.coefficients),
            dispersion="estimated" if fit.linear else "fixed",
            scale=scale,
            errors="model",
            penalized=penalized,
            converged=fit.converged,
        ),
    )


def errors_of(fit: Fit, members: pl.DataFrame, target: str) -> tuple[Array, Array, float | None] | None:
    """Return standard errors by the model, robust ones (HC1), and the residual variance; None where there are none."""
    x, y = fit.design.columns(members), members[target].to_numpy().astype(float)
    if not fit.converged or np.linalg.matrix_rank(x) < x.shape[1]:
        return None
    mean = x @ fit.coefficients if fit.linear else probabilities(x @ fit.coefficients)
    w = np.ones(len(x)) if fit.linear else mean * (1 - mean)
    scale = float(np.sum((y - mean) ** 2)) / (len(x) - x.shape[1]) if fit.linear else 1.0
    inverse = np.linalg.inv((x * w[:, None]).T @ x)
    if not np.isfinite(inverse).all() or (np.diag(inverse) <= 0).any():
        return None
    meat = (x * ((y - mean) ** 2)[:, None]).T @ x
    robust = np.sqrt(np.abs(np.diag(inverse @ meat @ inverse)) * len(x) / (len(x) - x.shape[1]))
    if not np.isfinite(robust).all():
        return None
    return np.sqrt(np.diag(inverse) * scale), robust, scale if fit.linear else None


def audited(fit: Fit, frame: pl.DataFrame, members: pl.DataFrame, target: str, penalized: bool) -> dict[str, float]:
    """Return what whole audits say, of the table with its errors and a domain, and with the records as well.

    Numbers are in units of their spread, as the fit has them; the domain has the range of all records.
    """
    numbers = [((pl.col(name).cast(pl.Float64) - mean) / scale).alias(name) for name, mean, scale in fit.design.numbers]
    own = list(dict.fromkeys(name for name, _ in fit.design.values))
    whole, kept = (part.select(*numbers, *own, target) for part in (frame, members))
    domain = Domain(
        {name: Real(float(whole[name].min()), float(whole[name].max())) for name, _, _ in fit.design.numbers}  # type: ignore[arg-type]
        | {name: Category(tuple(sorted(map(str, whole[name].unique())))) for name in own}
    )
    found = None if penalized else errors_of(fit, members, target)
    model = read(fit, None if found is None else found[0], len(members), penalized, None if found is None else found[2])
    out: dict[str, float] = {}
    for name, findings in (
        ("file", audit(model, domain=domain)),
        ("data", audit(model, kept, target, domain=domain)),
    ):
        check = next(check for check in findings.checks if check.rule == "fitted_values")
        out[f"{name}_within"] = float(findings.verdict == "within policy")
        out[f"{name}_fails"] = float(findings.verdict == "outside policy")
        out[f"{name}_single"] = float(check.status == "fail")
        out["people"] = float(check.measured) if isinstance(check.measured, int | float) else 0.0
    return out


def claims(fit: Fit, members: pl.DataFrame, target: str, penalty: float) -> dict[str, int]:
    """Return how many people an attacker claims who knows all columns and the penalty, and of how many he is right.

    Coefficients state the sum of the outcomes of the people of a column, and the intercept that of all. The attacker
    claims the outcome of a person who is alone, and of people whose sum is none or all of them (logistic). He is right
    about a number that he misses by less than a twentieth of its spread.
    """
    x, y = fit.design.columns(members), members[target].to_numpy().astype(float)
    scores = x @ fit.coefficients
    mean = scores if fit.linear else probabilities(scores)
    claimed, right = np.zeros(len(x), dtype=bool), np.zeros(len(x), dtype=bool)
    for column, coefficient in list(zip(x.T, fit.coefficients, strict=True))[1 + len(fit.design.numbers) :]:
        ones = float(mean @ column + penalty * coefficient)
        for group, total in ((column > 0, ones), (column == 0, float(mean.sum()) - ones)):
            size = int(group.sum())
            if not size or (fit.linear and size > 1) or (size > 1 and 0.1 < total < size - 0.1):
                continue
            said = total / size if fit.linear else float(total / size > 0.5)
            claimed |= group
            right[group] |= np.abs(y[group] - said) < 0.05 * float(y.std())
    return {"claimed": int(claimed.sum()), "claimed_right": int((claimed & right).sum())}


def lemma(fit: Fit, members: pl.DataFrame, target: str) -> dict[str, int]:
    """Return how many columns of 0/1 there are, how many bounds exceed a count, and how many counts they confirm."""
    x, y = fit.design.columns(members), members[target].to_numpy().astype(float)
    out = dict.fromkeys(COUNTED, 0)
    found = errors_of(fit, members, target)
    if found is None:
        return out
    errors, robust, scale = found
    ones = x[:, 1 + len(fit.design.numbers) :] > 0
    hits = (ones & (y > 0)[:, None]).sum(axis=0)
    counts = ones.sum(axis=0) if fit.linear else np.minimum(hits, ones.sum(axis=0) - hits)
    for name, own in (("violations", errors), ("rounded", np.round(errors, 3) + 5e-4), ("robust", robust)):
        bounds = indicator_bounds(read(fit, own, len(members), False, scale))
        bounds = bounds[len(fit.design.numbers) :]
        out[name] = sum((bound or 0) > count for bound, count in zip(bounds, counts.tolist(), strict=True))
        if name == "violations":
            out["indicators"], out["large"] = len(bounds), int((counts >= 10).sum())
            out["confirmed"] = sum((bound or 0) >= 10 for bound in bounds)
    return out


def rows(name: str) -> Iterator[dict[str, Any]]:
    """Yield a row a setting of a dataset, its harm the mean over models of several draws."""
    frame, target = DATASETS[name]()
    for n in SIZES:
        if (2 + N_REFERENCES) * n > len(frame) and n > 300:
            continue
        for width in WIDTHS:
            for penalty in (0.0,) if name in LINEAR else (0.0, 1.0):
                drawn = [_model(frame, target, (n, width, penalty), draw) for draw in range(N_DRAWS)]
                found = {key: float(np.mean([one[key] for one in drawn])) for key in drawn[0]}
                attacks = [found.pop(f"attack_{k}") for k in range(3)]
                people = {key: round(found.pop(key) * N_DRAWS) for key in PEOPLE}
                sums = {key: round(found.pop(key) * N_DRAWS) for key in COUNTED}
                yield {
                    "dataset": name,
                    "n": n,
                    "width": width,
                    "penalty": penalty,
                    "advantage": round(max(attacks), 4),
                    **{key: round(value, 4) for key, value in found.items()},
                    **people,
                    **(sums if not penalty else {}),
                }


PEOPLE = ("people", "claimed", "claimed_right", "file_missed", "data_missed")
"""Numbers of people, of all draws: whose outcome follows, as the audit or an attack says, or in spite of a pass."""
COUNTED = ("indicators", "violations", "rounded", "robust", "large", "confirmed")


def _model(frame: pl.DataFrame, target: str, setting: tuple[int, int, float], draw: int) -> dict[str, float]:
    """Return what was measured of the model of one draw."""
    n, width, penalty = setting
    rng = np.random.default_rng([draw, n, width])
    order = rng.permutation(len(frame))
    members, others = frame[order[:n]], frame[order[n : n + max(n, min(2_000, len(frame) - n - 300))]]
    left = order[n + len(others) :]
    fit = fitted(members, target, width, penalty)
    picks = [rng.choice(left, min(n, len(left)), replace=False) for _ in range(N_REFERENCES)]
    references = [fitted(frame[pick], target, width, penalty) for pick in picks]
    x = fit.design.columns(members)
    p = probabilities(fit.scores(members))
    ridge = np.full(x.shape[1], penalty)
    ridge[0] = 0.0
    effective = effective_parameters(x, np.ones(n) if fit.linear else p * (1 - p), ridge)
    check = next(c for c in audit(read(fit, None, n, penalty > 0, None)).checks if c.rule == "largest_advantage")
    ones = x[:, 1 + len(fit.design.numbers) :].sum(axis=0)
    judged = audited(fit, frame, members, target, penalty > 0)
    attacked = claims(fit, members, target, penalty)
    return {
        "columns": x.shape[1],
        "converged": float(fit.converged),
        "effective": effective,
        **harm(fit, references, [members, others], target, rng),
        "by_parameters": advantage_of_parameters(x.shape[1] / n, "regression"),
        "by_effective": advantage_of_parameters(effective / n, "regression"),
        "file_passes": float(check.status == "pass"),
        "smallest_column": float(ones.min(initial=n)),
        **judged,
        **attacked,
        "named": float(attacked["claimed_right"] > 0),
        **{f"{name}_missed": attacked["claimed_right"] * judged[f"{name}_within"] for name in ("file", "data")},
        **(lemma(fit, members, target) if not penalty else dict.fromkeys(COUNTED, 0)),
    }


def run(names: list[str]) -> None:
    """Write the rows of some datasets, by default of all; those of others stay."""
    names = names or list(DATASETS)
    kept: list[dict[str, Any]] = []
    if OUT.exists():
        with OUT.open() as stream:
            kept = [row for row in csv.DictReader(stream) if row["dataset"] not in names]
    found = [*kept, *(row for name in names for row in rows(name))]
    found.sort(key=lambda row: list(DATASETS).index(row["dataset"]))
    with OUT.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, max(map(list, found), key=len), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def interval(hits: int, of: int) -> str:
    """Return a share with its interval of 95 % (Clopper and Pearson)."""
    if not of:
        return "-"
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, of - hits + 1))
    high = 1.0 if hits == of else float(beta.ppf(0.975, hits + 1, of - hits))
    return f"{hits / of:.2f} ({low:.2f} to {high:.2f})"


def auc(values: Array, harmful: Bools) -> float:
    """Return the area under the curve of a predictor."""
    order = np.argsort(np.argsort(values)) + 1.0
    inside = int(harmful.sum())
    return float((order[harmful].sum() - inside * (inside + 1) / 2) / (inside * (len(harmful) - inside)))


def _harmful(rows_of: list[dict[str, str]]) -> Bools:
    """Return which models harm their records, shape (models,)."""
    return np.array(
        [float(r["advantage"]) >= HARM or float(r["right"]) >= 0.05 or float(r["sure"]) >= 0.01 for r in rows_of]
    )


def line(kind: str, rule: str, values: list[float], limit: float, harmful: Bools) -> tuple[str, ...]:
    """Return a line of a table of rules."""
    flagged, inside = np.array(values) > limit, int(harmful.sum())
    curve = f"{auc(np.array(values), harmful):.3f}" if 0 < inside < len(harmful) else "-"
    caught = interval(int((flagged & harmful).sum()), inside)
    spared = interval(int((~flagged & ~harmful).sum()), int((~harmful).sum()))
    return (f"{kind}: {len(harmful)} ({inside})", rule, curve, caught, spared)


WHOLE = {"audit of the file": "file", "audit with data": "data"}
"""Whole audits, of most draws of a setting."""
RULES = ("settings (harmful)", "rule", "AUC", "sensitivity", "specificity")
"""Heads of a table of rules."""


def groups(found: list[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each kind of regression, with and without the data on which the constants were chosen."""
    return {
        "logistic": [r for r in found if r["dataset"] not in LINEAR],
        "logistic without Adult": [r for r in found if r["dataset"] in ("compas", "german", "telco")],
        "linear": [r for r in found if r["dataset"] in LINEAR],
        "linear without California": [r for r in found if r["dataset"] in LINEAR[1:]],
    }


ALONE = (
    *("regressions with people whose outcome the attack claims", "people", "right"),
    *("right, of tables within policy", "right, of those within policy with data"),
)
"""Heads of the table of people whose outcome follows."""


def _alone(kind: str, own: list[dict[str, str]]) -> tuple[str, ...]:
    """Return a line of the table of people whose outcome follows, of the regressions of all draws."""
    n = round(sum(float(r["named"]) for r in own) * N_DRAWS)
    sums = [sum(int(r[name]) for r in own) for name in PEOPLE[1:]]
    return (f"{kind}: {n} of {len(own) * N_DRAWS}", *(f"{people:,}" for people in sums))


def tables() -> dict[str, str]:
    """Return the tables of the page, from the rows that are stored."""
    with OUT.open() as stream:
        found = list(csv.DictReader(stream))
    rules, counts, wholes = [], [], []
    for kind, own in groups(found).items():
        harmful = _harmful(own)
        rules.append(line(kind, "parameters / n", [float(r["by_parameters"]) for r in own], LIMIT, harmful))
        rules.append(line(kind, "effective parameters / n", [float(r["by_effective"]) for r in own], LIMIT, harmful))
        if " " not in kind:
            degrees = [float(r["columns"]) - float(r["n"]) for r in own]
            rules.append(line(kind, "ACRO: fewer than 10 degrees of freedom", degrees, -10, harmful))
            smallest = [-float(r["smallest_column"]) for r in own]
            rules.append(line(kind, "a column of fewer than 10", smallest, -10, harmful))
            counts.append((kind, *(f"{sum(int(r[name] or 0) for r in own):,}" for name in COUNTED)))
        if " " not in kind:
            named = harmful | np.array([float(r["named"]) > 0.5 for r in own])
            for rule, key in WHOLE.items():
                for said, sides in (("outside policy", f"{key}_fails"), ("not within policy", f"{key}_within")):
                    values = [float(r[sides]) if sides.endswith("fails") else 1 - float(r[sides]) for r in own]
                    wholes.append(line(kind, f"{rule}: {said}", values, 0.5, harmful))
                    wholes.append(line(f"{kind}, people as well", f"{rule}: {said}", values, 0.5, named))
    by_data = []
    for data in dict.fromkeys(r["dataset"] for r in found):
        own = [r for r in found if r["dataset"] == data]
        for rule, key in (("parameters / n", "by_parameters"), ("effective parameters / n", "by_effective")):
            by_data.append(line(data, rule, [float(r[key]) for r in own], LIMIT, _harmful(own)))
    heads = (
        *("converged fits without a penalty", "columns of 0/1", "bounds above the count", "with errors of 3 decimals"),
        *("with robust errors", "columns of ten", "confirmed"),
    )
    return {
        "regressions": markdown(RULES, rules),
        "audits of regressions": markdown(RULES, wholes),
        "regressions by data": markdown(RULES, by_data),
        "columns of 0/1": markdown(heads, counts),
        "people who are alone": markdown(ALONE, [_alone(kind, own) for kind, own in groups(found).items()][::2]),
    }


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(sys.argv[2:])
    else:
        for page, text in filled(tables()).items():
            page.write_text(text)
