"""Each statement of the paper judged by its printed tables and by ours: ``claims.csv`` and ``evidence.csv``.

``statements.csv`` names the judge of each statement. Printed and stored figures are means and deviations over splits; a
difference has the error of both, as if independent. RMSE is compared by its logarithm, so that datasets share a scale.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev

from rivals import ADDITIVE, BOOSTED, CLASSES, SPLITS
from shapes import BAGGED, read_shape
from study import DELTA, EPSILONS, HERE, read

from glassine.learners.additive.boosting import BIN_SHARE
from glassine.privacy.conversions import epsilon_from_mu, mu_from_epsilon
from papers.common.judging import (
    AT_LEAST,
    DERIVED,
    EVERY,
    FIGURE,
    MEAN,
    NONE,
    PRINTED,
    Comparison,
    Judgement,
    clustered,
    estimated,
    within,
    write_judged,
)

GDP, CLASSIC, BOOST = "DP-EBM GDP", "DP-EBM classic", "DPBoost"
LINEAR = {"auroc": "DP logistic regression", "rmse": "DP linear regression"}
MEASURES = {2: "auroc", 3: "rmse"}
DIGITS = {"auroc": 0.0005, "rmse": 0.0005}
NON_PRIVATE = "inf"
EXACT, FITTED = "ordinary boosting", "ordinary penalized"
PRINTED_SPLITS, RIVAL_SPLITS = 25, len(SPLITS)
BUDGETS = tuple(f"{epsilon:g}" for epsilon in EPSILONS)

Figure = tuple[float, float]
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Means and their standard errors by dataset, epsilon and method, printed and measured here; shapes of Figure 5.

    ``splits`` has the splits behind each measured mean, ``drawn`` the shapes of the first split; ``further`` are data
    that the paper does not have, and ``rivals`` the other learners of the tables, run here, by measure. ``boosted`` has
    by dataset the gain of LightGBM over an EBM without privacy on each split, which both share.
    """

    printed: Mapping[str, Mapping[Key, Figure]]
    here: Mapping[str, Mapping[Key, Figure]]
    splits: Mapping[str, Mapping[Key, int]]
    shapes: Sequence[Mapping[str, str]]
    drawn: Sequence[Mapping[str, str]]
    further: Mapping[Key, Figure]
    rivals: Mapping[str, Mapping[Key, Figure]]
    boosted: Mapping[str, Sequence[float]]

    def fewest(self, name: str, methods: Sequence[str]) -> int:
        """Return the fewest splits behind a measured mean of some methods."""
        return min(number for key, number in self.splits[name].items() if key[2] in methods)


def evidence(results: Path) -> Evidence:
    """Return the printed tables and the results of a folder."""
    printed: dict[str, dict[Key, Figure]] = {}
    here: dict[str, dict[Key, Figure]] = {}
    splits: dict[str, dict[Key, int]] = {}
    for number, name in MEASURES.items():
        printed[name] = {
            (row["dataset"], row["epsilon"], row["method"]): (
                float(row[f"{name}_mean"]),
                float(row[f"{name}_sd"]) / math.sqrt(PRINTED_SPLITS),
            )
            for row in read(HERE / f"published_table_{number}.csv")
        }
        measured = _figures(results / f"table_{number}.csv", name)
        splits[name] = {key: number for key, (_, number) in measured.items()}
        here[name] = {key: figure for key, (figure, _) in measured.items()}
    further = _figures(results / "further_data.csv", "auroc")
    splits["further"] = {key: number for key, (_, number) in further.items()}
    return Evidence(
        further={key: figure for key, (figure, _) in further.items()},
        rivals=_rivals(results / "rivals.csv"),
        boosted=_boosted(results / "rivals.csv"),
        printed=printed,
        here=here,
        splits=splits,
        shapes=read(results / "shapes.csv"),
        drawn=read(results / "figure_5.csv"),
    )


def _figures(path: Path, measure: str) -> dict[Key, tuple[Figure, int]]:
    """Return means with their standard errors, and the number of splits, of a measure."""
    return {
        (row["dataset"], row["epsilon"], row["method"]): (
            (float(row["mean"]), float(row["sd"]) / math.sqrt(int(row["splits"]))),
            int(row["splits"]),
        )
        for row in read(path)
        if row["measure"] == measure
    }


def _rivals(path: Path) -> dict[str, dict[Key, Figure]]:
    """Return by measure the means and errors of the other learners that were run here."""
    values: dict[str, dict[Key, list[float]]] = {name: {} for name in MEASURES.values()}
    for row in read(path):
        measure = "auroc" if row["dataset"] in CLASSES else "rmse"
        values[measure].setdefault((row["dataset"], row["epsilon"], row["method"]), []).append(float(row["value"]))
    return {
        name: {key: (fmean(each), stdev(each) / math.sqrt(len(each))) for key, each in found.items()}
        for name, found in values.items()
    }


def _boosted(path: Path) -> dict[str, list[float]]:
    """Return by dataset the gain of LightGBM over an EBM on each split."""
    values: dict[str, dict[tuple[str, str], float]] = {}
    for row in read(path):
        if row["method"] in (BOOSTED, ADDITIVE):
            values.setdefault(row["dataset"], {})[row["method"], row["split"]] = float(row["value"])
    return {
        data: [
            gain("auroc" if data in CLASSES else "rmse", (own[BOOSTED, split], 0.0), (own[ADDITIVE, split], 0.0))[0]
            for method, split in own
            if method == BOOSTED
        ]
        for data, own in values.items()
    }


def gain(name: str, one: Figure, other: Figure) -> Figure:
    """Return by how much a figure is better than another one, and its error: AUROC, or the logarithm of the RMSE."""
    if name == "auroc":
        return one[0] - other[0], math.hypot(one[1], other[1])
    return math.log(other[0] / one[0]), math.hypot(one[1] / one[0], other[1] / other[0])


def _data(table: Mapping[Key, Figure]) -> list[str]:
    return list(dict.fromkeys(key[0] for key in table))


def _loss(found: Evidence, printed: str, ours: str) -> Judgement:
    """Judge the loss of at most 0.05 at epsilon 0.5, on all data: those of the paper, and those that it lacks."""
    table, here, further = found.printed["auroc"], found.here["auroc"], found.further
    fewest = found.fewest("auroc", (ours, EXACT))
    beyond = found.fewest("further", (ours, EXACT))
    comparisons, seen = [], []
    for name, rows, method, whole, without, splits in (
        ("printed", table, printed, table, printed, PRINTED_SPLITS),
        ("here", here, ours, table, printed, found.fewest("auroc", (ours,))),
        ("here, against the same boosting without noise", here, ours, here, EXACT, fewest),
        ("here, against the penalized fit without privacy", here, ours, here, FITTED, fewest),
        ("further data, against the same boosting without noise", further, ours, further, EXACT, beyond),
        ("further data, against the penalized fit without privacy", further, ours, further, FITTED, beyond),
    ):
        cases = []
        for data in _data(rows):
            less, error = gain("auroc", rows[data, "0.5", method], whole[data, NON_PRIVATE, without])
            cases.append((0.05 + less, error))
            if name == "printed" or whole is further:
                against = "" if name == "printed" else f" against {'boosting' if without == EXACT else 'the fit'}"
                seen.append(f"{data}{against} {-less:.3f}")
        comparisons.append(estimated(f"{name}: 0.05 less the loss", cases, splits))
    n = len(_data(table))
    text = f"printed losses: {', '.join(seen[:n])}; on data that the paper lacks: {', '.join(seen[n:])}"
    return Judgement(rule=AT_LEAST, seen=text, comparisons=tuple(comparisons))


def loss_gdp(found: Evidence) -> Judgement:
    """Judge the loss of the GDP form."""
    return _loss(found, GDP, "boosting gdp")


def loss_classic(found: Evidence) -> Judgement:
    """Judge the loss of the classic form."""
    return _loss(found, CLASSIC, "boosting classic")


def _outperform(found: Evidence, method: str, ours: str) -> Judgement:
    """Judge whether a form beats the better peer in all 40 printed settings, and linear models here."""
    comparisons = []
    for name, table in found.printed.items():
        cases = []
        for data in _data(table):
            for epsilon in BUDGETS:
                peers = [
                    gain(name, table[data, epsilon, method], table[data, epsilon, peer])
                    for peer in (BOOST, LINEAR[name])
                ]
                cases.append(min(peers))
        comparisons.append(estimated(f"{PRINTED}{name.upper()}, gain over the better peer", cases, PRINTED_SPLITS))
    number = 0
    for name, here in found.here.items():
        run = [key for key in found.rivals[name] if key[2] == LINEAR[name]]
        number += len(run)
        cases = [gain(name, here[*key[:2], ours], found.rivals[name][key]) for key in run]
        if cases:
            comparisons.append(estimated(f"here, {name.upper()}: gain over {LINEAR[name]}", cases, RIVAL_SPLITS))
    return Judgement(
        rule=EVERY,
        seen=f"40 settings printed with printed; {number} run here with linear models of diffprivlib, DPBoost not",
        comparisons=tuple(comparisons),
    )


def outperform_gdp(found: Evidence) -> Judgement:
    """Judge the 40 settings of the GDP form."""
    return _outperform(found, GDP, "boosting gdp")


def outperform_classic(found: Evidence) -> Judgement:
    """Judge the 40 settings of the classic form."""
    return _outperform(found, CLASSIC, "boosting classic")


def averages(found: Evidence) -> Judgement:
    """Judge the printed averages at epsilon 4: 0.62, 0.56 and 0.88."""
    table = found.printed["auroc"]
    figures = [
        (fmean(table[data, "4", method][0] for data in _data(table)), value)
        for method, value in ((BOOST, 0.62), (LINEAR["auroc"], 0.56), (GDP, 0.88))
    ]
    return Judgement(
        rule=DERIVED,
        seen=f"{', '.join(f'{here:.3f}' for here, _ in figures)}; means of printed figures",
        comparisons=(within(f"{PRINTED}averages", [(here, v - 0.005, v + 0.005) for here, v in figures]),),
    )


def _over_half(name: str, gains: Sequence[Figure], splits: int) -> Comparison:
    """Compare the share of datasets with a gain to one half: from those beyond chance to all that chance allows."""
    beyond = estimated(name, gains, splits)
    n = beyond.cases
    low, high = beyond.better / n - 0.5, (beyond.better + beyond.tied) / n - 0.5
    return dataclasses.replace(
        beyond, against=beyond.worse, mean=sum(g > 0 for g, _ in gains) / n - 0.5, low=low, high=high
    )


def without_privacy(found: Evidence) -> Judgement:
    """Judge whether LightGBM beats EBMs without privacy in over half of the datasets, printed and run here."""
    printed = [
        gain(name, table[data, NON_PRIVATE, BOOST], table[data, NON_PRIVATE, GDP])
        for name, table in found.printed.items()
        for data in _data(table)
    ]
    here = [(fmean(gains), stdev(gains) / math.sqrt(len(gains))) for gains in found.boosted.values()]
    comparisons = (
        _over_half(f"{PRINTED}share of datasets, less one half", printed, PRINTED_SPLITS),
        _over_half("here: share of datasets, less one half", here, RIVAL_SPLITS),
    )
    parts = [f"{each.better} of {each.cases} beyond chance" for each in comparisons]
    text = f"{parts[0]} printed with printed; {parts[1]} run here, LightGBM with interpret's {ADDITIVE}"
    return Judgement(rule=MEAN, seen=text, comparisons=comparisons)


def _noticeable(tables: Mapping[str, Mapping[Key, Figure]], gdp: str, classic: str) -> Comparison:
    """Compare, at epsilon 2, 4 and 8: a setting whose difference is within chance is one for the statement."""
    settings = {
        data: [
            1.0
            if abs((pair := gain(name, table[data, epsilon, gdp], table[data, epsilon, classic]))[0]) <= 1.96 * pair[1]
            else -1.0
            for epsilon in ("2", "4", "8")
        ]
        for name, table in tables.items()
        for data in _data(table)
    }
    return clustered(f"{gdp} and {classic} within chance", settings)


def beyond_one(found: Evidence) -> Judgement:
    """Judge whether classic and GDP typically differ noticeably at epsilon of at most 1 only."""
    comparisons = (
        _noticeable(found.printed, GDP, CLASSIC),
        _noticeable(found.here, "boosting gdp", "boosting classic"),
    )
    return Judgement(
        rule=MEAN,
        seen="settings within chance at epsilon 2, 4, 8, less those beyond; datasets as splits",
        comparisons=comparisons,
    )


def tighter(found: Evidence) -> Judgement:
    """Judge whether the GDP form is at least as good as the classic one everywhere."""
    comparisons = []
    for source, tables, one, other in (
        ("printed", found.printed, GDP, CLASSIC),
        ("here", found.here, "boosting gdp", "boosting classic"),
    ):
        for name, table in tables.items():
            cases = [gain(name, table[data, e, one], table[data, e, other]) for data in _data(table) for e in BUDGETS]
            splits = PRINTED_SPLITS if source == "printed" else found.fewest(name, (one, other))
            comparisons.append(estimated(f"{source}, {name.upper()}", cases, splits))
    return Judgement(rule=AT_LEAST, seen="GDP over classic", comparisons=tuple(comparisons))


def _rounding(name: str, data: str) -> float:
    return 0.5 if data == "california" else DIGITS[name]


def _reproduced(found: Evidence, printed: str, ours: str) -> Judgement:
    """Judge the printed figures: within 1.96 errors of both and the rounding of the last digit."""
    bands, worse = [], 0
    for name, table in found.here.items():
        for data in _data(table):
            for epsilon in BUDGETS:
                here, paper = table[data, epsilon, ours], found.printed[name][data, epsilon, printed]
                room = 1.96 * math.hypot(here[1], paper[1]) + _rounding(name, data)
                bands.append((here[0], paper[0] - room, paper[0] + room))
                worse += (here[0] - paper[0]) * (1 if name == "rmse" else -1) > room
    comparison = within("printed figures", bands)
    seen = f"{comparison.worse - worse} better than printed and {worse} worse, beyond chance"
    return Judgement(rule=FIGURE, seen=seen, comparisons=(comparison,))


def reproduced_gdp(found: Evidence) -> Judgement:
    """Judge the printed figures of the GDP form."""
    return _reproduced(found, GDP, "boosting gdp")


def reproduced_classic(found: Evidence) -> Judgement:
    """Judge the printed figures of the classic form."""
    return _reproduced(found, CLASSIC, "boosting classic")


def non_private(found: Evidence) -> Judgement:
    """Judge the printed figures without privacy: within 1.96 errors of both and the rounding of the last digit."""
    bands = []
    for name, table in found.here.items():
        for data in _data(table):
            here, paper = table[data, NON_PRIVATE, EXACT], found.printed[name][data, NON_PRIVATE, GDP]
            room = 1.96 * math.hypot(here[1], paper[1]) + _rounding(name, data)
            bands.append((here[0], paper[0] - room, paper[0] + room))
    comparison = within("printed figures without privacy", bands)
    seen = f"{comparison.worse} of {comparison.cases} differ beyond chance"
    return Judgement(rule=FIGURE, seen=seen, comparisons=(comparison,))


def _ratios(found: Evidence, method: str, other: str, relative: bool) -> dict[str, list[float]]:
    """Return by split the logarithms of how much less the numbers' shapes jump: variation, or that over the range."""
    by = {(row["seed"], row["method"]): row for row in found.shapes}
    names = [name.removesuffix(" range") for name in next(iter(by.values())) if name.endswith(" range")]

    def jumps(seed: str, which: str, name: str) -> float:
        row = by[seed, which]
        return math.log(float(row[f"{name} variation"]) / (float(row[f"{name} range"]) if relative else 1.0))

    seeds = [seed for seed, which in by if which == method and (seed, other) in by]
    return {seed: [jumps(seed, other, name) - jumps(seed, method, name) for name in names] for seed in seeds}


def _drawn(found: Evidence) -> list[dict[str, str]]:
    """Return the jumps of the shapes that are drawn, as rows of ``shapes.csv``."""
    rows = []
    for row in found.drawn:
        jumps = {"seed": "drawn", "method": row["method"]}
        for name in row.keys() - {"method"}:
            _, _, shape = read_shape(row[name])
            jumps[f"{name} variation"] = str(sum(abs(b - a) for a, b in pairwise(shape)))
            jumps[f"{name} range"] = str(max(shape) - min(shape))
        rows.append(jumps)
    return rows


def smoother(found: Evidence) -> Judgement:
    """Judge whether shapes at epsilon 4 jump less than those without privacy."""
    if not found.shapes:
        return Judgement(rule=MEAN, seen="not measured")
    drawn = dataclasses.replace(found, shapes=_drawn(found))
    comparisons = tuple(
        clustered(f"{other}: {what}", _ratios(rows, "DP-EBM, epsilon 4", other, relative))
        for rows, other in ((found, "EBM, no bagging"), (drawn, BAGGED), (found, "boosting without noise"))
        for what, relative in (("variation", False), ("variation over range", True))
    )
    seen = "logarithm of the ratio of jumps, numbers of Adult; " + ", ".join(
        f"{each.name} {each.mean:+.2f}" for each in comparisons
    )
    return Judgement(rule=MEAN, seen=seen, comparisons=comparisons)


def _over(found: Evidence, ours: str, other: str | None) -> Judgement:
    """Compare one of our algorithms with the published GDP form, or with another method in the same run."""
    comparisons = []
    for name, table in found.here.items():
        rival = found.printed[name] if other is None else table
        cases = [
            gain(name, table[data, e, ours], rival[data, e, other or GDP]) for data in _data(table) for e in BUDGETS
        ]
        methods = (ours,) if other is None else (ours, other)
        comparisons.append(estimated(name.upper(), cases, found.fewest(name, methods)))
    return Judgement(rule=EVERY, seen="AUROC, logarithm of RMSE", comparisons=tuple(comparisons))


def penalized(found: Evidence) -> Judgement:
    """Judge our penalized fit against the published figures of the GDP form."""
    return _over(found, "penalized", None)


def penalized_peer(found: Evidence) -> Judgement:
    """Judge our penalized fit against interpret in the same run."""
    return _over(found, "penalized", "interpret")


def split_budget(found: Evidence) -> Judgement:
    """Say what both stages together cost, where epsilon is split and mu is added: never more than is claimed."""
    # The claim is the sum of both stages, a bound on what adding mu finds exactly.
    costs = {}
    for epsilon in EPSILONS:
        stages = [mu_from_epsilon(share * epsilon, DELTA / 2) for share in (BIN_SHARE, 1 - BIN_SHARE)]
        costs[epsilon] = epsilon_from_mu(math.hypot(*stages), DELTA)
    return Judgement(
        rule=NONE,
        seen=f"epsilon of both stages: {', '.join(f'{cost:.3g} of {e:g}' for e, cost in costs.items())}",
    )


def by_construction(found: Evidence) -> Judgement:
    """Name what follows from post-processing."""
    return Judgement(rule=NONE, seen="post-processing")


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    loss_gdp,
    loss_classic,
    outperform_gdp,
    outperform_classic,
    averages,
    without_privacy,
    beyond_one,
    tighter,
    reproduced_gdp,
    reproduced_classic,
    non_private,
    by_construction,
    split_budget,
    smoother,
    penalized,
    penalized_peer,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the CSV files")
    given, _ = parser.parse_known_args(arguments)
    write_judged(HERE / "statements.csv", JUDGES, evidence(given.results), given.results)


__all__ = ["JUDGES", "Evidence", "evidence", "gain", "main"]

if __name__ == "__main__":
    main()
