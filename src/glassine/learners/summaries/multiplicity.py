"""What near-optimal trees of a summary have in common and where they differ, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from glassine.domain import Literal
from glassine.domain.attributes import Scalar
from glassine.exports import Displayed
from glassine.models import Guarantee

SCHEMA = "glassine.near-optimal/2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliance:
    """How far near-optimal trees rely on an attribute.

    Attributes
    ----------
    attribute : str
        Its name.
    low, high : float
        Bounds of the least and greatest reliance of a near-optimal tree: the widest ends of the summary and its
        replicates, and of the replicates mirrored at the summary (basic bootstrap). Reliance is how many more errors
        a tree makes once the attribute is drawn independently of all else, as a share of the records, or of the
        variance of a number.
    loss_without : float
        Lowest errors of a tree that never tests the attribute, less the lowest of all trees, as such a share; the
        least over the summary and its replicates.
    indispensable : bool
        Whether that exceeds the slack: no near-optimal tree does without the attribute.
    agreement : float
        Share of the summary and its replicates under which it does.
    """

    attribute: str
    low: float
    high: float
    loss_without: float
    indispensable: bool
    agreement: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafAmbiguity:
    """A leaf of the best tree.

    Attributes
    ----------
    literals : tuple of Literal
        Its conditions.
    share : float
        Expected share of the records.
    ambiguous : float
        Share of these for which near-optimal trees predict different classes; of a number how far their least and
        greatest predictions are apart on average.
    low, high : float
        Bounds of it, from replicates as those of a :class:`Reliance`.
    """

    literals: tuple[Literal, ...]
    share: float
    ambiguous: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Multiplicity(Displayed):
    """How many near-optimal trees a summary has, what they rely on, and where they decide differently.

    **Guarantee**: the summary's, for all but ``disputed`` and ``n_asked``, which depend on the records that were
    passed.

    Attributes
    ----------
    max_depth : int
        Most splits on a path.
    slack : float
        Most errors beyond the lowest, as a share of the records; of a number squared errors, as a share of the
        variance.
    lowest_errors : float
        Lowest errors of a tree, as such a share; the summary's own estimate, which is too low.
    n_trees : float
        About how many trees there are.
    n_replicates : int
        Summaries, released again from this one, that the intervals also cover.
    reliances : tuple of Reliance
        Importance intervals, one per attribute of the domain.
    tested : tuple of str
        Attributes that a tree can test; the others have one bin.
    ambiguous : float
        Share of the domain's expected records for which near-optimal trees predict different classes; of a number
        how far their least and greatest predictions are apart on average.
    ambiguous_between : (float, float)
        Bounds of it, from replicates as those of a :class:`Reliance`.
    leaves : tuple of LeafAmbiguity
        The same for each leaf of the best tree.
    guarantee : Guarantee
        That of the summary.
    target : str
        Name of a target that is a number; empty of classes.
    n_asked : int or None
        How many records were passed; None if none were.
    disputed : dict of int to tuple of scalars
        Of the rows, from 0, for which near-optimal trees predict different classes, these classes; of a number the
        least and the greatest prediction.
    """

    max_depth: int
    slack: float
    lowest_errors: float
    n_trees: float
    n_replicates: int
    reliances: tuple[Reliance, ...]
    tested: tuple[str, ...]
    ambiguous: float
    ambiguous_between: tuple[float, float]
    leaves: tuple[LeafAmbiguity, ...]
    guarantee: Guarantee
    target: str = ""
    n_asked: int | None = None
    disputed: Mapping[int, tuple[Scalar, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; conditions are texts, rows count from 0."""
        guarantee = self.guarantee
        asked = None
        differing = "predictions_apart" if self.target else "decided_differently"
        if self.n_asked is not None:
            name = "predictions" if self.target else "classes"
            rows = [{"row": row, name: list(values)} for row, values in self.disputed.items()]
            asked = {"n_records": self.n_asked, "disputed": rows}
        return {
            "schema": SCHEMA,
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "caveats": list(guarantee.caveats),
            "max_depth": self.max_depth,
            "number": self.target or None,
            "slack": self.slack,
            "expected_lowest_errors": self.lowest_errors,
            "trees": self.n_trees,
            "replicates": self.n_replicates,
            "attributes": [{**asdict(one), "tested": one.attribute in self.tested} for one in self.reliances],
            differing: self.ambiguous,
            f"{differing}_between": list(self.ambiguous_between),
            "leaves": [
                {
                    "conditions": [str(literal) for literal in leaf.literals],
                    "share": leaf.share,
                    differing: leaf.ambiguous,
                    f"{differing}_between": [leaf.low, leaf.high],
                }
                for leaf in self.leaves
            ],
            "records": asked,
        }
