"""The runner: many independent outputs on two data sets, in one process or several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from glassine.domain.attributes import is_whole
from glassine.errors import InvalidDataError, InvalidParameterError, parameter
from glassine.privacy.release import fresh_count
from glassine.verification.containers import check_seed
from glassine.verification.features import REFUSED
from glassine.verification.protocols import Refusal, Runs, Score, Source

__all__ = ["draw_outputs", "kept_of", "refuse_the_refused", "seeds_of"]


def draw_outputs(
    source: Source,
    score: Score,
    datasets: tuple[Any, Any],
    runs: Runs,
) -> tuple[list[Any], list[Any]]:
    """Return what a score keeps of independent outputs, half of them on each of two data sets."""
    each, workers, progress = (runs.number or 0) // 2, runs.workers, runs.progress
    if not is_whole(workers) or not (workers >= 1 or workers == -1):
        raise InvalidParameterError(
            f"{parameter('workers')} must be a whole number of at least 1, or -1 for all, got {workers!r}."
        )
    seeds = seeds_of(runs.seed, 2 * each)
    tasks = [(which, chunk) for which in (0, 1) for chunk in _chunks(seeds[which * each : (which + 1) * each], workers)]
    kept: tuple[list[Any], list[Any]] = ([], [])
    done = 0
    for (which, chunk), outputs in zip(tasks, _ran(source, score, datasets, tasks, workers), strict=True):
        kept[which].extend(outputs)
        done += len(chunk)
        if progress is not None:
            progress(done, 2 * each)
    refuse_the_refused([*kept[0], *kept[1]])
    return kept


def refuse_the_refused(kept: Sequence[Any]) -> None:
    """Raise InvalidDataError if every run was refused: nothing was released, so that nothing is learned of it."""
    if kept and all(isinstance(row, Mapping) and any(name.startswith(REFUSED) for name in row) for row in kept):
        raise InvalidDataError(
            "the learner refused both data sets in every run.", remedy="Fit it to one of them to see why."
        )


def _ran(
    source: Source, score: Score, datasets: tuple[Any, Any], tasks: list[tuple[int, list[int | None]]], workers: int
) -> Iterator[list[Any]]:
    if workers == 1:
        return (_run(source, score, datasets[which], chunk) for which, chunk in tasks)
    from sklearn.utils.parallel import Parallel, delayed

    chunks: Iterator[list[Any]] = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_run)(source, score, datasets[which], chunk) for which, chunk in tasks
    )
    return chunks


def _run(source: Source, score: Score, dataset: Any, seeds: list[int | None]) -> list[Any]:
    kept = []
    for seed in seeds:
        # Each output is that of one fit: neighbors are made up, and a caveat that counts runs would tell them apart.
        with fresh_count():
            kept.append(kept_of(score, source.draw(dataset, seed)))
    return kept


def kept_of(score: Score, output: Any) -> Any:
    """Return what a score keeps of an output; a refusal is an output only for a score that looks for it."""
    if isinstance(output, Refusal) and not getattr(score, "sees_refusals", False):
        raise output.error
    return score.keep(output)


def _chunks(seeds: list[int | None], workers: int) -> Iterator[list[int | None]]:
    # Enough parts for a steady progress, few enough to make their transport cheap.
    size = 1 if workers == 1 else max(1, len(seeds) // 40)
    for start in range(0, len(seeds), size):
        yield seeds[start : start + size]


def seeds_of(seed: int | None, number: int) -> list[int | None]:
    """Return different seeds of 31 bits, which every library takes."""
    if seed is None:
        return [None] * number
    rng = np.random.default_rng(check_seed(seed))
    seeds: dict[int | None, None] = {}
    while len(seeds) < number:
        seeds.update(dict.fromkeys(rng.integers(0, 2**31 - 1, size=number).tolist()))
    return list(seeds)[:number]
