"""What an explainer answers and measures, as plain values."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glassine import __version__
from glassine.codec import Field, listed, record
from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar, is_scalar
from glassine.errors import InvalidModelError, InvalidParameterError, parameter
from glassine.exports import Displayed
from glassine.formats.json import TREE
from glassine.models.quality import Quality
from glassine.models.tree import DecisionTree
from glassine.surrogates.answers import REACHED, AnswerErrors, Goal, formatted

CHOICES = {
    "form": ("restricted", "paper"),
    "labels": ("black-box", "true"),
    "records": ("training", "queries", "given"),
    "partition": ("microaggregation", "public"),
    "counted": ("records", "people"),
}
"""What is said of how a release was made, in words that the file and the report share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastConstraints:
    """What a contrast may change, and what each change costs.

    Attributes
    ----------
    fixed : tuple of str
        Attributes that keep their value.
    only_up, only_down : tuple of str
        Numbers, or binary attributes, that may only rise, or only fall. A missing value neither rises nor falls: it
        stays missing, and a value that is there stays there. An attribute of several lists obeys all of them.
    costs : mapping of str to float
        Cost of changing an attribute by one unit of the release's distance, positive and finite: a standard deviation
        or the range of a number, the whole of a category. An attribute that is not named costs 1. Where costs are
        named, the contrast of the smallest total cost comes first.
    at_least, at_most : float or None
        What the changed record's answer is to be, in its own unit, of a release of numeric answers: contrasts are then
        the changes under which the tree's mean is so, and there are none if it is already.

    Raises
    ------
    InvalidParameterError
        If the first three are no lists of names, a cost is not a positive finite number, a bound of the answer is not a
        finite number, or the bounds contradict each other.

    Examples
    --------
    >>> constraints = ContrastConstraints(fixed=("sex",), only_up=("age",))
    >>> constraints.allows("age", 30, 31), constraints.allows("age", 30, 29), constraints.allows("sex", 0, 1)
    (True, False, False)
    """

    fixed: tuple[str, ...] = ()
    only_up: tuple[str, ...] = ()
    only_down: tuple[str, ...] = ()
    costs: Mapping[str, float] = field(default_factory=dict, hash=False)
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        for name in ("fixed", "only_up", "only_down"):
            listed: object = getattr(self, name)
            if not isinstance(listed, list | tuple) or not all(isinstance(one, str) for one in listed):
                raise InvalidParameterError(
                    f"{parameter(name)} must be a list of attributes, got {listed!r:.60}.", remedy="Put it in a tuple."
                )
            object.__setattr__(self, name, tuple(listed))
        costs: object = self.costs
        if not isinstance(costs, Mapping):
            raise InvalidParameterError(
                f"{parameter('costs')} must map attributes to numbers, got {type(costs).__name__}.",
                remedy="Pass a dictionary.",
            )
        for name, cost in costs.items():
            if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 < cost < math.inf:
                raise InvalidParameterError(
                    f"the cost of {name!r} in {parameter('costs')} must be a positive finite number, got {cost!r}.",
                    remedy=f"What cannot change at any cost is {parameter('fixed')}.",
                )
        object.__setattr__(self, "costs", dict(costs))
        for name in ("at_least", "at_most"):
            bound: object = getattr(self, name)
            bound = bound.item() if isinstance(bound, np.generic) else bound
            object.__setattr__(self, name, bound)
            if bound is not None and (isinstance(bound, bool | str) or not is_scalar(bound)):
                raise InvalidParameterError(f"{parameter(name)} must be a finite number or None, got {bound!r}.")
        if self.at_least is not None and self.at_most is not None and not self.at_least <= self.at_most:
            raise InvalidParameterError(
                f"no answer is at least {self.at_least} and at most {self.at_most}.", remedy="Swap the bounds."
            )

    def __bool__(self) -> bool:
        """Return whether anything is constrained."""
        return bool(self.fixed or self.only_up or self.only_down or self.costs or self.seeks)

    @property
    def seeks(self) -> bool:
        """Whether it is stated what the answer is to be."""
        return self.at_least is not None or self.at_most is not None

    def sought(self, answer: Any) -> bool:
        """Return whether an answer is a number, and what it is to be."""
        if isinstance(answer, bool | str) or not is_scalar(answer):
            return False
        low, high = self.at_least, self.at_most
        return bool((low is None or answer >= low) and (high is None or answer <= high))

    def check(self, domain: Domain, *, numeric: bool = False) -> None:
        """Raise InvalidParameterError if a constraint does not fit a release.

        An attribute is not in the domain, one without an order is to rise, or a number is sought of classes.
        """
        if self.seeks and not numeric:
            raise InvalidParameterError(
                f"{parameter('at_least')} and {parameter('at_most')} are of numbers, and the release has classes.",
                remedy="Leave them out.",
            )
        for name in (*self.fixed, *self.only_up, *self.only_down, *self.costs):
            if name not in domain:
                raise InvalidParameterError(
                    f"the constraints name {name!r}, which is not an attribute.", remedy=f"Use {', '.join(domain)}."
                )
        for name in (*self.only_up, *self.only_down):
            if isinstance(domain[name], Category):
                raise InvalidParameterError(
                    f"{name!r} is a category: its values have no order, so that it can neither rise nor fall.",
                    remedy=f"Name it in {parameter('fixed')}, or leave it free.",
                )

    def allows(self, name: str, before: Scalar | None, after: Scalar | None) -> bool:
        """Return whether an attribute may change from one value to another; None is a missing value."""
        if name in self.fixed:
            return before == after
        if name not in self.only_up and name not in self.only_down:
            return True
        if before is None or after is None or isinstance(before, str) or isinstance(after, str):
            return before is after
        return (name not in self.only_up or before <= after) and (name not in self.only_down or before >= after)

    def cost(self, differences: Mapping[str, float]) -> float | None:
        """Return the cost of differences in the release's distance, by attribute; None where no cost is named."""
        if not self.costs:
            return None
        return sum(self.costs.get(name, 1.0) * difference for name, difference in differences.items())


CONSTRAINTS = record(ContrastConstraints)
"""Constraints as JSON has them."""

UNCONSTRAINED: ContrastConstraints = ContrastConstraints()


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One attribute that would have to be another.

    Attributes
    ----------
    attribute : str
        The attribute.
    condition : str
        What its value would have to satisfy.
    before, after : scalar or None
        The current value, and the nearest one that satisfies the condition; None is a missing value.
    """

    attribute: str
    condition: str
    before: Scalar | None
    after: Scalar | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """What would have to change for the small tree to decide otherwise.

    Attributes
    ----------
    decision : scalar
        The other decision.
    changes : tuple of Change
        The changes, all of them needed.
    distance : float
        How far the changed record is, in the distance of the release.
    confirmed : bool or None
        Whether the black box itself decides so on the changed record: true of contrasts. Of candidates false, or None
        where it was not asked.
    cost : float or None
        What the changes cost together; None where no costs were named.
    """

    decision: Scalar
    changes: tuple[Change, ...]
    distance: float
    confirmed: bool | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Displayed):
    """The answer to one query: a representative, its tree, and the way through it.

    Attributes
    ----------
    decision : scalar
        What the black box decided.
    tree_decision : scalar
        What the returned tree decides.
    agrees : bool
        Whether the two are the same.
    group : int
        Index of the group whose representative and tree are returned.
    rank : int or None
        Place of the returned tree among the closest, from 1, if it agrees. None if it does not: then it is that of
        the closest representative.
    guided : bool
        Whether the answer was sought by Protocol 2 among several trees, or by Protocol 1 in the closest alone.
    n_closest : int
        Number of closest representatives among which it was sought.
    distance : float
        Distance to the representative.
    representative : mapping of str to scalar
        The representative.
    tree : DecisionTree
        The group's tree.
    path : tuple of int
        Indices of the tree's nodes from the root to the leaf.
    conditions : tuple of str
        What the path says of the query, one text an attribute.
    tolerance : float or None
        Of numeric answers, how far a mean may lie from the decision to agree with it; None of classes.
    contrasts : tuple of Contrast
        The nearest changes under which the black box decides otherwise, as the tree does, within the constraints: the
        smallest cost first where costs were named, then fewest attributes, then smallest distance. Empty where the
        black box was not asked.
    candidates : tuple of Contrast
        Changes under which the tree decides otherwise, in the same order, that are no contrasts: the black box refutes
        them, or it was not asked. They hold of the small tree alone.
    goal : {"met", "within reach", "out of reach"} or None
        Of a number that is sought, whether the tree's mean is so already, an allowed change was found that leads there,
        or none was; None where nothing is sought.
    """

    decision: Scalar
    tree_decision: Scalar
    agrees: bool
    group: int
    rank: int | None
    guided: bool
    n_closest: int
    distance: float
    representative: Mapping[str, Scalar | None]
    tree: DecisionTree
    path: tuple[int, ...]
    conditions: tuple[str, ...]
    contrasts: tuple[Contrast, ...] = ()
    candidates: tuple[Contrast, ...] = ()
    tolerance: float | None = None
    goal: Goal | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; the tree is a model of schema ``glassine.model/1``."""
        out: dict[str, Any] = EXPLANATION.encode(self)
        return out

    def to_json(self) -> str:
        """Return the JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        way = " and ".join(self.conditions) or "every record of the group"
        several = f"none of the {self.n_closest} closest trees" if self.n_closest > 1 else "the tree"
        if self.tolerance is not None:
            near = f"mean {formatted(self.tree_decision)}"
            if not self.agrees:
                verb = "is" if self.n_closest > 1 else "is not"
                near = f"but {several} {verb} within {formatted(self.tolerance)} of it. The closest has the {near}"
            text = f"answer {formatted(self.decision)}, {near}: {way}"
        elif self.agrees:
            text = f"decision {self.decision}: {way}"
        else:
            others = f"{several} decides so" if self.n_closest > 1 else f"{several} does not"
            text = f"decision {self.decision}, but {others}. The closest decides {self.tree_decision}: {way}"
        for contrast in self.contrasts[:1]:
            other = str(contrast.decision) if self.tolerance is None else f"Mean {formatted(contrast.decision)}"
            text += f". {other} if " + " and ".join(change.condition for change in contrast.changes)
        return text + REACHED.get(self.goal, "")


CHANGES = listed(record(Change, {"before": Field(key="from"), "after": Field(key="to")}))
CONTRASTS = listed(record(Contrast, {"changes": Field(codec=CHANGES)}))
EXPLANATION = record(
    Explanation, {"tree": Field(codec=TREE), "contrasts": Field(codec=CONTRASTS), "candidates": Field(codec=CONTRASTS)}
)
"""An explanation as JSON has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCounts:
    """How large the group trees are.

    Attributes
    ----------
    smallest, lower_quartile, median, upper_quartile, largest, mean : float
        Of the number of nodes, leaves included, over the groups.
    constant_share : float
        Share of the trees that are one leaf.
    deepest : int
        Largest number of splits on a path.
    total : int
        Number of nodes of all trees.
    """

    smallest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    largest: float
    mean: float
    constant_share: float
    deepest: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """How good the explanations are, measured on some records.

    Numeric answers are the same decision if they are at most the tolerance of the release apart.

    Attributes
    ----------
    n_records, n_groups, n_closest : int
        Records measured on, groups, and number of closest representatives of Protocol 2.
    k : int or None
        Fewest records of a group; None for a public partition.
    fidelity, fidelity_guided : float
        Share of the records on which the returned tree decides as the black box, by Protocol 1 and Protocol 2.
    fidelity_null : float
        The same as ``fidelity_guided`` with as many groups taken at random instead of the closest: what choosing among
        ``n_closest`` trees gives alone.
    accuracy, accuracy_guided, black_box_accuracy : float or None
        Share of the records on which the returned tree, or the black box, decides as the truth; None without it.
    quality, quality_guided, quality_baseline : Quality or None
        Accuracy, AUROC and log loss of the trees that Protocol 1 and Protocol 2 return, and of a prediction without any
        attribute; None without the truth, the last of numbers as well. AUROC and log loss are None where a leaf
        publishes no probabilities: most releases publish labels alone.
    nodes : NodeCounts
        Sizes of the trees.
    comprehensibility : float
        Mean of one over the number of nodes, over the groups.
    stability_group, stability_tree, stability_path : float or None
        Share of pairs of nearest records that get the same group, the same tree, and the same conditions on their path
        in the same tree, by Protocol 1; None for a single record.
    representativeness : float
        Share of the training records on which their own group's tree decides as the black box.
    reach : float
        Mean over the trees of the share of all records on which a tree decides as the black box.
    information_loss : float or None
        Sum of squares within the groups over the total one, in scaled attributes; None where there is none.
    errors : AnswerErrors or None
        How far numeric answers are apart; None of classes.
    """

    n_records: int
    n_groups: int
    k: int | None
    n_closest: int
    fidelity: float
    fidelity_guided: float
    fidelity_null: float
    accuracy: float | None
    accuracy_guided: float | None
    black_box_accuracy: float | None
    nodes: NodeCounts
    comprehensibility: float
    stability_group: float | None
    stability_tree: float | None
    stability_path: float | None
    representativeness: float
    reach: float
    information_loss: float | None
    errors: AnswerErrors | None = None
    quality: Quality | None = None
    quality_guided: Quality | None = None
    quality_baseline: Quality | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, the schema's name first."""
        return {"schema": "glassine.surrogate-measures/1", **dataclasses.asdict(self)}

    def to_json(self) -> str:
        """Return the JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


LONGEST_WORD = 40
"""Most characters of a method, a scaling or a version: a file could hold records there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a release was made; public.

    Attributes
    ----------
    form : {"restricted", "paper"}
        Trees on the public grid without counts, or as published.
    labels : {"black-box", "true"}
        What the trees were trained on.
    records : {"training", "queries", "given"}
        Whether the groups are of training records, of queries drawn from the public domain, or of records that a third
        party brought, which may be people's.
    partition : {"microaggregation", "public"}
        Whether groups follow from the records, or cells from public points.
    method, scaling : str
        Of the microaggregation, "mdav" or "v-mdav"; empty for a public partition.
    gamma : float or None
        That of V-MDAV; None of MDAV and for a public partition. A file of V-MDAV without it stands for 0.2.
    strata : str
        The attribute that all records of a group share; empty without strata.
    max_depth : int or None
        Largest depth of the trees; None for no limit.
    min_samples_leaf : int
        Fewest records, or people, of a leaf.
    version : str
        Version of this package.
    notes : tuple of str
        What the reader should know: bounds inferred from the data, rounding, and so on.
    counted : {"records", "people"}
        What ``k`` and ``min_samples_leaf`` count: people, where it was stated whose the records are.
    """

    form: str
    labels: str
    records: str
    partition: str
    method: str
    scaling: str
    max_depth: int | None
    min_samples_leaf: int
    version: str = __version__
    notes: tuple[str, ...] = ()
    counted: str = "records"
    gamma: float | None = None
    strata: str = ""

    def of(self, number: int | str) -> str:
        """Return a number of what groups and leaves hold: records, or people where persons were stated."""
        one = {"records": "record", "people": "person"}[self.counted]
        return f"{number} {one if number in (1, '1') else self.counted}"

    def check(self) -> None:
        """Raise InvalidModelError if a part is not what it can be: all of it may come from a file."""
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidModelError(
                    f"a release's {name} must be one of {', '.join(choices)}, got {getattr(self, name)!r}."
                )
        for name in ("method", "scaling", "version"):
            value: object = getattr(self, name)
            if not isinstance(value, str) or len(value) > LONGEST_WORD:
                raise InvalidModelError(
                    f"a release's {name} must be a text of at most {LONGEST_WORD} characters, got {value!r:.80}."
                )
        gamma: object = self.gamma
        if gamma is not None and (isinstance(gamma, bool | str) or not is_scalar(gamma) or not gamma >= 0):  # type: ignore[operator]  # a number, as was seen
            raise InvalidModelError(f"a release's {parameter('gamma')} must be at least 0 or None, got {gamma!r:.80}.")
        strata: object = self.strata
        if not isinstance(strata, str) or (strata and self.partition == "public"):
            raise InvalidModelError(f"a release's {parameter('strata')} must be the name of one, got {strata!r:.80}.")
        notes: object = self.notes
        if not isinstance(notes, tuple) or not all(isinstance(note, str) and note for note in notes):
            raise InvalidModelError("a release's notes must be non-empty texts.")
        depth: object = self.max_depth
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or not depth >= 0):
            raise InvalidModelError(
                f"a release's {parameter('max_depth')} must be a whole number or None, got {depth!r}."
            )
        leaf: object = self.min_samples_leaf
        if isinstance(leaf, bool) or not isinstance(leaf, int) or not leaf >= 1:
            raise InvalidModelError(
                f"a release's {parameter('min_samples_leaf')} must be a whole number of at least 1, got {leaf!r}."
            )
