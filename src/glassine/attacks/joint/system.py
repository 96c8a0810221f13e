"""The counts of several models as a system: whole numbers of records of options, whose sums over parts are known.

An option is a cell, or a cell and a class where some model tells classes. A part of a model is a leaf, or a leaf and a
class where that model tells classes. Each option lies in one part of each model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from glassine.attacks.joint.cells import Cells
from glassine.attacks.joint.published import ClashError, Published, Whole

__all__ = ["System", "peel", "system_of"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class System:
    """Options, and the parts whose counts are known.

    Attributes
    ----------
    cells, classes : ndarray of intp, shape (options,)
        Cell of each option, and its class; -1 where classes do not count.
    parts : ndarray of intp, shape (options, models)
        Part of each model in which the option lies.
    counts : tuple of ndarray of int64
        For each model the number of records of its parts.
    fixed : ndarray of int64, shape (options,)
        Number of records of the options that is known; -1 where it is not.
    """

    cells: Indices
    classes: Indices
    parts: Indices
    counts: tuple[Whole, ...]
    fixed: Whole

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def free(self) -> Indices:
        """The options whose number is not known yet."""
        return np.flatnonzero(self.fixed < 0)

    def left(self, model: int) -> Whole:
        """Return the records of each part of a model that are not in known options."""
        known = self.fixed >= 0
        gone = np.bincount(self.parts[known, model], self.fixed[known], minlength=len(self.counts[model]))
        return self.counts[model] - gone.astype(np.int64)


def system_of(told: Sequence[Published], cells: Cells, n_classes: int | None) -> System:
    """Return the system of models; ``n_classes`` is None where no class counts, as for the cells alone.

    Raises
    ------
    ClashError
        If a part holds records that no option can hold.
    """
    width = 1 if n_classes is None else n_classes
    n = len(cells)
    cell = np.repeat(np.arange(n), width)
    klass = np.tile(np.arange(width), n)
    parts = np.empty((n * width, len(told)), dtype=np.intp)
    counts = []
    for i, t in enumerate(told):
        by_class = n_classes is not None and t.classes is not None
        table = t.counts if by_class else t.sizes[:, None]
        leaf = cells.leaves[cell, i].astype(np.intp)
        parts[:, i] = leaf * table.shape[1] + (klass if by_class else 0)
        counts.append(table.ravel())
    keep = np.ones(n * width, dtype=bool)
    for i, count in enumerate(counts):
        keep &= count[parts[:, i]] > 0
    klass = klass[keep] if n_classes is not None else np.full(int(keep.sum()), -1)
    system = System(
        cells=cell[keep],
        classes=klass,
        parts=parts[keep],
        counts=tuple(counts),
        fixed=np.full(int(keep.sum()), -1, dtype=np.int64),
    )
    _check_reached(told, system)
    return system


def _check_reached(told: Sequence[Published], system: System) -> None:
    for i, t in enumerate(told):
        reached = np.bincount(system.parts[:, i], minlength=len(system.counts[i])) > 0
        lost = np.flatnonzero((system.counts[i] > 0) & ~reached)
        if len(lost):
            width = len(system.counts[i]) // len(t.counts)
            held = int(system.counts[i][lost[0]])
            raise ClashError(
                f"part {lost[0] // width + 1} of {t.name} holds {held:,} record{'s' * (held != 1)}, "
                "but the other models and the domain allow none there."
            )


def peel(system: System, names: Sequence[str]) -> System:
    """Return the system in which every part with a single free option has told that option's number, over and over.

    Raises
    ------
    ClashError
        If a part is left with records and without an option, or with fewer records than none, or two parts tell
        different numbers of an option.
    """
    fixed = system.fixed.copy()
    left = [system.left(i).copy() for i in range(len(system.counts))]
    while True:
        free = np.flatnonzero(fixed < 0)
        told: dict[int, tuple[int, str]] = {}
        for i, count in enumerate(left):
            held = np.bincount(system.parts[free, i], minlength=len(count))
            if (count < 0).any() or (count[held == 0] > 0).any():
                raise ClashError(f"{names[i]} tells of more or fewer records of some part than the other models do.")
            lone = (held[system.parts[free, i]] == 1) | (count[system.parts[free, i]] == 0)
            for option in free[lone].tolist():
                value = int(count[system.parts[option, i]])
                before, by = told.setdefault(option, (value, names[i]))
                if before != value:
                    raise ClashError(f"{by} tells of {before:,} records where {names[i]} tells of {value:,}.")
        if not told:
            return replace(system, fixed=fixed)
        options = np.fromiter(told, dtype=np.intp)
        numbers = np.array([value for value, _ in told.values()], dtype=np.int64)
        fixed[options] = numbers
        for i, count in enumerate(left):
            np.subtract.at(count, system.parts[options, i], numbers)
