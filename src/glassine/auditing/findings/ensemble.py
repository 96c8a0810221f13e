"""What the audit of an ensemble of trees found, as findings show it."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleFinding:
    """What an ensemble of trees publishes, and what follows for membership.

    Attributes
    ----------
    meaning : str
        What it is, in a sentence.
    n_trees : int
        Number of trees.
    n_leaves : int
        Leaves of all trees.
    fewest_leaves, most_leaves : int
        Leaves of the smallest and of the largest tree.
    rate : float or None
        Learning rate of boosted trees; None of a forest, and where it is not known.
    n_records : int or None
        Training records, as the file, its publisher or the data say.
    records_per_leaf : float or None
        Training records per effective leaf: 1 / q.
    spread : float
        Spread v of the outcome, in [0, 1].
    spread_by : str
        What the spread rests on.
    advantage : float or None
        Membership advantage that effective leaves imply; None where that is not known.
    unknown : str
        Why it is not known; empty if it is.
    n_thresholds : int
        Distinct thresholds of all trees.
    alone : float or None
        Share of the training records that are alone in their combination of leaves, rounded. None without data.
    shadows : str
        How shadow models were trained; empty where none were.
    published : tuple of str
        What else the file gives away of the training data, in sentences.
    """

    meaning: str
    n_trees: int
    n_leaves: int
    fewest_leaves: int
    most_leaves: int
    rate: float | None
    n_records: int | None
    records_per_leaf: float | None
    spread: float
    spread_by: str
    advantage: float | None
    unknown: str
    n_thresholds: int
    alone: float | None
    shadows: str
    published: tuple[str, ...]

    def public(self) -> EnsembleFinding:
        """Return it without what was measured on records."""
        measured = self.spread_by in ("the holdout", "the data")
        return replace(
            self,
            alone=None,
            shadows="",
            n_records=None if measured else self.n_records,
            records_per_leaf=None if measured else self.records_per_leaf,
            advantage=None if measured else self.advantage,
            spread=1.0 if measured else self.spread,
            spread_by="" if measured else self.spread_by,
        )
