"""What an audit found of the sensitive attribute that a tree predicts."""

from __future__ import annotations

from dataclasses import dataclass

from glassine.attacks.outcome import ShownCount
from glassine.auditing.findings.disclosure import ReaderFinding

__all__ = ["SensitiveFinding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitiveFinding:
    """What a reader who knows everybody's quasi-identifiers learns of the sensitive attribute; small counts are hidden.

    Attributes
    ----------
    sensitive : str
        The attribute.
    quasi_identifiers : tuple of str
        What the reader knows of everybody.
    number, n_quasi_identifiers : ShownCount
        People, and their distinct quasi-identifiers.
    n_classes : int
        Classes of the attribute.
    knowledge : str
        What the reader uses of the tree.
    optimum : str
        ``global``, or ``local`` where another estimate may leave more open.
    gap : float
        Nats a person by which an estimate could leave more open.
    learned_mean, learned_most : float
        What the reader learns beyond the class distribution, in nats: over all people, and of one person at most.
    readers : tuple of ReaderFinding
        Of the class distribution, of the leaves, and of leaves and internal nodes, as far as these were used.
    exposed : tuple of int
        Rows of the most exposed people, in order of number.
    n_internal, n_active : int
        Internal constraints, and those that shape the estimate.
    unused : str
        Why the internal nodes were not used; empty if they were.
    notes : tuple of str
        Which other knowledge was left out, and why.
    """

    sensitive: str
    quasi_identifiers: tuple[str, ...]
    number: ShownCount
    n_quasi_identifiers: ShownCount
    n_classes: int
    knowledge: str
    optimum: str
    gap: float
    learned_mean: float
    learned_most: float
    readers: tuple[ReaderFinding, ...]
    exposed: tuple[int, ...]
    n_internal: int
    n_active: int
    unused: str
    notes: tuple[str, ...]
