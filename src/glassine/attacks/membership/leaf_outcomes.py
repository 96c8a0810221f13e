"""Membership by what the leaves of a model publish of outcomes: more members than others makes a member."""

from __future__ import annotations

import numpy as np

from glassine.attacks.membership.gap import read_sides, setting_of
from glassine.attacks.membership.outputs import LabelledRecords, asking, attempt, places
from glassine.attacks.membership.result import MembershipResult, Shift
from glassine.attacks.membership.score_thresholds import N_FOLDS, judge_calls
from glassine.attacks.outcome import NotApplicable, Outcome
from glassine.data.labels import Sample
from glassine.errors import InvalidDataError, InvalidModelError, UnsupportedModelError
from glassine.formats import as_model
from glassine.models import DecisionTree, RuleList
from glassine.records.arrays import Array, Bools, Indices

N_BINS = 4
"""Bins of a numeric outcome, of equal shares of the holdout."""
PRIOR = 4.0
"""Records of the whole leaf that are added to those of a bin, one for each bin: few are little evidence."""
NEVER = -20.0
"""Logarithm of the ratio in a cell without a member: far below what the average of a person's records makes up for."""


def leaf_outcome_attack(
    model: object,
    members: Sample | LabelledRecords,
    nonmembers: Sample | LabelledRecords,
    *,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    shift: Shift | None = None,
) -> Outcome[MembershipResult]:
    """Call a record a member where the published share of its leaf and outcome exceeds that of other people.

    The attacker knows the outcome of the record, the published counts, and other records of the population: those of
    the holdout, by folds, so that no record is judged by shares to which it contributed. For cells fixed without the
    data it is the best attack on leaf and outcome (Neyman and Pearson). A regression publishes the size of each leaf,
    and no outcomes: they are taken in bins, whose shares in a leaf are those of other members, whom the attacker knows.

    Parameters
    ----------
    model : DecisionTree or RuleList, or what :func:`glassine.as_model` reads as one
        The model under attack.
    members, nonmembers : Sample
        Training records, and records that were not used for training, with their outcomes.
    random_state : int, numpy.random.Generator or None, default=None
        Makes folds repeatable.
    confidence, shift
        As for :func:`~glassine.attacks.gap_attack`.

    Returns
    -------
    Measured of MembershipResult, NotApplicable or Failed
        Not applicable to other models, and where no counts are published.

    Raises
    ------
    InvalidDataError, InvalidParameterError
        As for :func:`~glassine.attacks.gap_attack`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(4000, 3)), rng.integers(0, 2, 4000)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(X[:2000], y[:2000])
    >>> found = leaf_outcome_attack(tree, Sample(X[:2000], y[:2000]), Sample(X[2000:], y[2000:]), random_state=0)
    >>> found.value.advantage.value > 0.2
    True
    """
    setting = setting_of(confidence, random_state, shift)
    inside, outside = read_sides(members, nonmembers)

    def work() -> MembershipResult:
        plain = _published(model)
        sides = inside, outside
        leaves = [_leaves(plain, side) for side in sides]
        folds = [_folds(side, setting.rng) for side in sides]
        outcomes = [_outcomes(plain, side) for side in sides]
        ratios = [np.zeros(len(side.target)) for side in sides]
        for fold in range(N_FOLDS):
            rest = folds[1] != fold
            if plain.classes is None:
                own_sides = [
                    (leaf[of != fold], values[of != fold])
                    for leaf, values, of in zip(leaves, outcomes, folds, strict=True)
                ]
                edges, table = _of_numbers(plain, own_sides[0], own_sides[1])
                codes = [np.searchsorted(edges, values, side="right") for values in outcomes]
            else:
                codes = [values.astype(np.intp) for values in outcomes]
                table = _of_classes(plain, leaves[1][rest], codes[1][rest])
            for ratio, leaf, code, of in zip(ratios, leaves, codes, folds, strict=True):
                here = of == fold
                # An outcome that the model does not know has no share: no member has it.
                ratio[here] = np.where(code[here] >= 0, table[leaf[here], code[here]], NEVER)
        calls = [side.mean(ratio) > 0 for side, ratio in zip(sides, ratios, strict=True)]
        return judge_calls(
            "leaf-outcome attack",
            calls[0],
            calls[1],
            setting,
            decision="a record is called a member where the published share of its leaf and outcome exceeds that of "
            "other people",
        )

    if outside.number < N_FOLDS:
        return NotApplicable(f"shares of other people need at least {N_FOLDS} non-members.")
    return attempt(work)


def _published(model: object) -> DecisionTree | RuleList:
    """Return a model as a tree or a rule list that publishes who is in its leaves."""
    try:
        plain = as_model(model)
    except InvalidModelError as error:
        raise UnsupportedModelError(f"the model cannot be read as leaves: {error.text}") from None
    except UnsupportedModelError:
        # It need not be a model: whatever answers is attacked beside it.
        raise UnsupportedModelError("the attack is made on the leaves of one tree or rule list.") from None
    if not isinstance(plain, DecisionTree | RuleList):
        raise UnsupportedModelError("the model publishes no leaves.", remedy="Attack its outputs: attack_membership.")
    evidences = [cell.evidence for cell in plain.cells]
    if any((one.counts if plain.classes else one.size) is None for one in evidences):
        raise UnsupportedModelError("the model does not publish who is in its leaves.")
    return plain


def _leaves(model: DecisionTree | RuleList, records: LabelledRecords) -> Indices:
    """Return the leaf of each record, shape (n,)."""
    with asking("the model"):
        return records.leaves(model)


def _outcomes(model: DecisionTree | RuleList, records: LabelledRecords) -> Array:
    """Return the outcome of each record, shape (n,): its number, or the place of its class, -1 of an unknown one."""
    if model.classes is not None:
        texts = {str(name): place for place, name in enumerate(model.classes)}
        codes = places(records.target, list(model.classes))
        odd = np.flatnonzero(codes < 0)
        codes[odd] = [texts.get(str(value), -1) for value in records.target[odd].tolist()]
        return codes.astype(float)
    try:
        return records.target.astype(float)
    except (TypeError, ValueError):
        raise InvalidDataError(
            "the model predicts a number, and the target of the records holds none.", remedy="Give their numbers."
        ) from None


def _of_classes(model: DecisionTree | RuleList, leaves: Indices, codes: Indices) -> Array:
    """Return the logarithm of published over others' share, shape (leaves, classes)."""
    counts = np.maximum([cell.evidence.counts or () for cell in model.cells], 0).astype(float)
    coded = codes >= 0
    others = np.zeros_like(counts)
    np.add.at(others, (leaves[coded], codes[coded]), 1)
    return _ratios(counts / max(counts.sum(), 1.0), counts > 0, others)


def _ratios(shares: Array, present: Bools, others: Array) -> Array:
    """Return the logarithm of published over others' shares; half a record where none of the others is."""
    n = max(float(others.sum()), 1.0)
    with np.errstate(divide="ignore"):
        return np.where(present, np.log(shares) - np.log(np.maximum(others, 0.5) / n), NEVER)


def _of_numbers(
    model: DecisionTree | RuleList, members: tuple[Indices, Array], others: tuple[Indices, Array]
) -> tuple[Array, Array]:
    """Return the inner edges of bins, and the logarithm of members' over others' share, shape (leaves, bins)."""
    edges = np.unique(np.quantile(others[1], np.arange(1, N_BINS) / N_BINS))
    inside, outside = (np.zeros((len(model.cells), len(edges) + 1)) for _ in range(2))
    for counts, (leaves, values) in ((inside, members), (outside, others)):
        np.add.at(counts, (leaves, np.searchsorted(edges, values, side="right")), 1)
    n, here = float(outside.sum()), outside.sum(axis=1, keepdims=True)
    ratio = (outside + PRIOR * outside.sum(axis=0) / n) / (here + PRIOR)
    own = (inside + PRIOR * ratio) / (inside.sum(axis=1, keepdims=True) + PRIOR)
    sizes = np.array([[float(cell.evidence.size or 0)] for cell in model.cells])
    with np.errstate(divide="ignore"):
        ratios = np.log(own * sizes / max(float(sizes.sum()), 1.0)) - np.log(ratio * np.maximum(here, 0.5) / n)
    return edges, np.where(sizes > 0, ratios, NEVER)


def _folds(records: LabelledRecords, rng: np.random.Generator) -> Indices:
    """Return the fold of each record, shape (n,): all records of a person are in one."""
    folds = np.resize(np.arange(N_FOLDS), records.number)
    rng.shuffle(folds)
    return folds[records.whose]
