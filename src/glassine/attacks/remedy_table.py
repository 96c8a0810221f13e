"""Ways to publish a tree: what each discloses, and how accurate it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from glassine.exports import DisplayedToCheckers
from glassine.models.quality import Quality

Kind = Literal["none", "suppress", "merge", "round", "private"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisclosureRemedy:
    """One way to publish the tree, and what it discloses.

    Attributes
    ----------
    name : str
        What is done.
    kind : {"none", "suppress", "merge", "round", "private"}
        Of which kind it is.
    status : str
        "optimal" or "local", as of a :class:`~glassine.attacks.Disclosure`; or "not measured".
    reason : str or None
        Why there are no figures, or why the internal nodes were not used.
    n_leaves : float or None
        Leaves that hold people; the mean of several private trees.
    entropy : float or None
        Entropy left, in nats per person.
    d_overall : float or None
        Mean distance of the reader's estimate to the truth, in nats: small means disclosed.
    accuracy, auroc, log_loss, holdout_accuracy, holdout_auroc, holdout_log_loss : float or None
        How well the tree predicts the class of the training records, and of held-out ones if they were given. AUROC and
        log loss are None where a record gets no published probability.
    internal_nodes : bool
        Whether the reader that was measured used the internal nodes.
    """

    name: str
    kind: Kind
    status: str = "not measured"
    reason: str | None = None
    n_leaves: float | None = None
    entropy: float | None = None
    d_overall: float | None = None
    accuracy: float | None = None
    auroc: float | None = None
    log_loss: float | None = None
    holdout_accuracy: float | None = None
    holdout_auroc: float | None = None
    holdout_log_loss: float | None = None
    internal_nodes: bool = False

    @property
    def figures(self) -> tuple[float | None, ...]:
        """What was measured, in the order of :data:`FIGURES`."""
        return tuple(getattr(self, name) for name in FIGURES)


FIGURES = (
    *("n_leaves", "entropy", "d_overall"),
    *("accuracy", "auroc", "log_loss", "holdout_accuracy", "holdout_auroc", "holdout_log_loss"),
)
"""Figures of a remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyTable(DisplayedToCheckers):
    """The remedies that were tried, in order.

    Attributes
    ----------
    rows : tuple of DisclosureRemedy
        The first is the tree with its class counts.
    n_holdout : int or None
        Held-out records, if there were any.
    baseline, holdout_baseline : Quality or None
        How well the training records, and held-out ones, are predicted without any attribute.
    """

    rows: tuple[DisclosureRemedy, ...]
    n_holdout: int | None = None
    baseline: Quality | None = None
    holdout_baseline: Quality | None = None

    def to_frame(self) -> Any:
        """Return the table as a polars frame, one row a remedy."""
        import polars as pl

        names = ("name", "kind", "status", *FIGURES, "internal_nodes", "reason")
        kinds: dict[str, Any] = dict.fromkeys(FIGURES, pl.Float64) | {"internal_nodes": pl.Boolean}
        return pl.DataFrame(
            {name: [getattr(row, name) for row in self.rows] for name in names},
            schema={name: kinds.get(name, pl.String) for name in names},
        )


def figures_of(own: Quality, holdout: Quality | None) -> dict[str, Any]:
    """Return what a remedy has of the quality on the training records and on held-out ones."""
    outside = {} if holdout is None else asdict(holdout)
    return {**asdict(own), **{f"holdout_{name}": value for name, value in outside.items()}}
