"""Regressions of one data set put together: in whom their samples differ, and which outcomes follow by subtraction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from glassine.domain.literals import is_missing
from glassine.errors import CostLimitError, InvalidDataError, parameter
from glassine.models.effects import Equal
from glassine.models.indicators import CANONICAL
from glassine.models.regression import RegressionModel
from glassine.records.arrays import AnyArray, Array, Bools

EXACT = 1e-6
"""How far the weight of an outcome in itself may be from 1, in double precision."""
MOST_ENTRIES = 200_000_000
"""Columns of all tables times records: beyond, equations take more than a minute."""
NEARLY = 1e-2
"""How far two printed coefficients of one fit may be from each other, relative: two digits."""
NEAR = 0.25
"""Standard deviations of the residuals within which an outcome is recovered; one fitted value of five is so near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedSample:
    """A regression beside the records of the data set that it was fitted on."""

    name: str
    model: RegressionModel
    inside: Bools  # Which records it was fitted on, shape (n,)
    design: Array  # The columns of all records, the intercept first, shape (n, 1 + columns); NaN where one is missing
    outcome: AnyArray | None  # What it predicts, shape (n,); None where the data lack it


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDifference:
    """The records of one sample that are not in another."""

    larger: str  # Name of the table whose sample holds them
    smaller: tuple[str, ...]  # Names of the tables whose samples do not
    n: int  # How many


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowingOutcomes:
    """Outcomes that follow from several tables for an attacker who knows the columns of everyone.

    Attributes
    ----------
    n_records : int
        Records in any sample.
    n_together : int
        Outcomes that follow from all tables together, and from none alone.
    n_alone : int
        Outcomes that follow from one table alone.
    n_recovered : int or None
        Of those that follow from all together, how many the published digits give; None without outcomes.
    rank : float
        Independent equations of all tables, outcomes of different kinds added up.
    """

    n_records: int
    n_together: int
    n_alone: int
    n_recovered: int | None
    rank: int


def stated_differences(numbers: Sequence[tuple[str, int]], below: int) -> tuple[SampleDifference, ...]:
    """Return by how many records samples differ, by the numbers of records of tables: of two, and of parts of one.

    Two tables differ by the difference of their numbers. Where two smaller samples may be parts of a larger one, what
    is left of it counts as well, if it is less than ``below``.

    Examples
    --------
    >>> [one.n for one in stated_differences([("a", 500), ("b", 493)], 10)]
    [7]
    >>> [one.n for one in stated_differences([("all", 500), ("men", 260), ("women", 237)], 10)][-1]
    3
    """
    out = []
    for (name, n), (other, m) in permutations(numbers, 2):
        if n > m:
            out.append(SampleDifference(larger=name, smaller=(other,), n=n - m))
    for (name, n), (one, m), (other, k) in permutations(numbers, 3):
        left = n - m - k
        if one < other and 0 < left < below:
            out.append(SampleDifference(larger=name, smaller=(one, other), n=left))
    return tuple(out)


def sample_differences(samples: Sequence[FittedSample]) -> tuple[SampleDifference, ...]:
    """Return the records of each sample that are not in another one, and those in no other, where there are any."""
    out = []
    for own, other in permutations(samples, 2):
        n = int((own.inside & ~other.inside).sum())
        out += [SampleDifference(larger=own.name, smaller=(other.name,), n=n)] if n else []
    if len(samples) > 2:
        for own in samples:
            others = [other for other in samples if other is not own]
            n = int((own.inside & ~np.any([other.inside for other in others], axis=0)).sum())
            if n:
                out.append(SampleDifference(larger=own.name, smaller=tuple(o.name for o in others), n=n))
    return tuple(out)


def difference_cells(samples: Sequence[FittedSample]) -> tuple[int, ...]:
    """Return how many records of a difference of two samples each value of the columns of 0/1 has that both have.

    Both tables state the sum of outcomes of a column's ones, and with intercepts that of all records, so that those of
    its zeros follow, and of several columns of one attribute those of the category that has none. Empty values are left
    out.
    """
    out: list[int] = []
    for own, other in permutations(samples, 2):
        inside = own.inside & ~other.inside
        if not inside.any():
            continue
        shared = {effect.factors for effect in other.model.effects}
        ones: dict[object, Bools] = {}  # By attribute, or by column where it is of no single category
        for place, effect in enumerate(own.model.effects, start=1):
            values = own.design[:, place]
            if effect.factors not in shared or not np.isin(values[own.inside | other.inside], (0.0, 1.0)).all():
                continue
            column = values[inside] == 1
            out.append(int(column.sum()))
            of_category = len(effect.factors) == 1 and isinstance(effect.factors[0], Equal)
            key = effect.factors[0].attribute if of_category else effect.factors
            ones[key] = column | ones.get(key, np.zeros_like(column))
        if own.model.has_intercept and other.model.has_intercept:
            out += [int((~column).sum()) for column in ones.values()]
    return tuple(n for n in out if n)


def unlike_tables(models: Sequence[RegressionModel]) -> tuple[int, int] | None:
    """Return the places of two tables of as many records whose coefficients differ; None without any.

    Their outcome and columns are the same, and their fits converged without a penalty, so that the records differ.
    """
    for (i, one), (j, other) in combinations(enumerate(models), 2):
        comparable = one.target == other.target != "" and one.link == other.link and one.fit.family == other.fit.family
        if not comparable or one.fit.n_records != other.fit.n_records or any(unsolved(model) for model in (one, other)):
            continue
        columns = [{effect.factors: effect for effect in model.effects} for model in (one, other)]
        if columns[0].keys() != columns[1].keys():
            continue
        for factors, effect in columns[0].items():
            again = columns[1][factors]
            # Coefficients are printed to as many digits as their errors.
            step = 2 * (effect.rounding + again.rounding)
            if any(
                abs(a - b) > step + NEARLY * max(abs(a), abs(b))
                for a, b in zip(effect.coefficients, again.coefficients, strict=True)
            ):
                return i, j
    return None


def unsolved(model: RegressionModel) -> str:
    """Return why the score equations of a table are not known; empty if they are."""
    fit = model.fit
    if fit.family not in (*CANONICAL, "multinomial") or fit.family == "cox":
        return "its outcomes do not follow from sums of columns."
    if model.link != {**CANONICAL, "multinomial": "softmax"}[fit.family]:
        return "its link is not the canonical one."
    if fit.special:
        return f"it {fit.peculiar}."
    if fit.penalized:
        return "its coefficients are shrunk by a penalty of unknown strength."
    return "it did not converge." if fit.converged is False else ""


def following_outcomes(samples: Sequence[FittedSample]) -> FollowingOutcomes:
    """Return how many outcomes follow from tables of regressions by subtraction.

    **Guarantee**: none of privacy. An outcome that is counted follows for an attacker who knows the samples and the
    columns of everyone, up to the digits of the coefficients (`differences.md`); others may follow by other means.

    Parameters
    ----------
    samples : sequence of FittedSample
        Tables of linear, logistic, Poisson or multinomial regressions without a penalty, of the same n records.

    Raises
    ------
    InvalidDataError
        If the data lack a column of a record that a table was fitted on.
    CostLimitError
        If there are too many columns and records.
    """
    n = len(samples[0].inside)
    size = n * sum(own.design.shape[1] for own in samples)
    if size > MOST_ENTRIES:
        raise CostLimitError(
            f"the equations of the tables have {size:,} entries, more than {MOST_ENTRIES:,}.",
            remedy="Audit fewer tables together.",
        )
    together, alone = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    recovered, checked, rank = 0, True, 0
    for target in dict.fromkeys(own.model.target for own in samples):
        listed = [own for own in samples if own.model.target == target]
        equations = [_equations(own) for own in listed]
        weights, own_rank = _self_weights(np.vstack(equations))
        rank += own_rank
        single = np.max([_self_weights(own)[0] for own in equations], axis=0) >= 1 - EXACT
        solved = (weights >= 1 - EXACT) & ~single
        together, alone = together | solved, alone | single
        if solved.any():
            given_back = _recovered(listed, equations, solved)
            checked = checked and given_back is not None
            recovered += given_back or 0
    inside = np.any([own.inside for own in samples], axis=0)
    return FollowingOutcomes(
        n_records=int(inside.sum()),
        n_together=int(together.sum()),
        n_alone=int((alone & ~together).sum()),
        n_recovered=recovered if checked else None,
        rank=rank,
    )


def _equations(sample: FittedSample) -> Array:
    """Return what each record weighs in the sums that a table states, shape (columns, n)."""
    rows = np.where(sample.inside[:, None], sample.design, 0.0).T
    if np.isnan(rows).any():
        raise InvalidDataError(
            f"records of the sample of {sample.name} lack a number of its columns.",
            remedy=f"Say by {parameter('samples')} which records each table was fitted on.",
        )
    return rows


def _self_weights(equations: Array) -> tuple[Array, int]:
    """Return what each outcome weighs in its own least-squares value, shape (n,), and the rank of the equations."""
    sizes = np.sqrt((equations**2).sum(axis=1, keepdims=True))
    scaled = (equations / np.where(sizes > 0, sizes, 1.0)).T
    base = np.linalg.svd(scaled, full_matrices=False)
    kept = base.S.max(initial=0.0) * max(scaled.shape) * np.finfo(float).eps < base.S
    return (base.U[:, kept] ** 2).sum(axis=1), int(kept.sum())


def _recovered(samples: Sequence[FittedSample], equations: Sequence[Array], solved: Bools) -> int | None:
    """Return how many of the outcomes that follow the published coefficients give; None without outcomes."""
    outcome = samples[0].outcome
    if outcome is None or samples[0].model.n_outputs > 1:
        return None
    true = _numbers(outcome, samples[0].model)
    if true is None:
        return None
    means = [_means(own) for own in samples]
    sums = [rows[:, own.inside] @ mean for own, rows, mean in zip(samples, equations, means, strict=True)]
    every, total = np.vstack(equations), np.concatenate(sums)
    sizes = np.sqrt((every**2).sum(axis=1))
    sizes[sizes == 0] = 1.0
    guessed = np.linalg.lstsq(every / sizes[:, None], total / sizes, rcond=None)[0]
    spread = float(np.std(true[samples[0].inside] - means[0]))
    return int((np.abs(guessed[solved] - true[solved]) <= NEAR * spread).sum())


def _means(sample: FittedSample) -> Array:
    """Return the fitted means of the records of a table of one output, by its published coefficients."""
    model = sample.model
    coefficients = np.array([model.intercept[0], *(effect.coefficients[0] for effect in model.effects)])
    scores: Array = sample.design[sample.inside] @ coefficients
    if model.link == "logit":
        return np.asarray(1 / (1 + np.exp(-np.clip(scores, -700, 700))))
    return np.exp(np.minimum(scores, 700)) if model.link == "log" else scores


def _numbers(outcome: AnyArray, model: RegressionModel) -> Array | None:
    """Return outcomes as the numbers that a table adds up; None of texts that are no class."""
    if model.classes is not None:
        values = outcome.tolist()
        if set(values).isdisjoint(model.classes):
            return None
        return np.array([value == model.classes[1] for value in values], dtype=float)
    return outcome.astype(float) if outcome.dtype.kind in "biuf" else None


def complete_records(model: RegressionModel, design: Array, outcome: AnyArray | None) -> Bools:
    """Return which records have every column and the outcome of a table: those that fits keep, shape (n,)."""
    complete = ~np.isnan(design).any(axis=1)
    return np.asarray(complete if outcome is None else complete & ~is_missing(outcome))
