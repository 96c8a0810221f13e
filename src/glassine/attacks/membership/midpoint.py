"""The midpoint attack: a tree's thresholds give away the two training records between which each was placed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.attacks.membership.confidence_intervals import Estimate, check_confidence, clopper_pearson, newcombe
from glassine.attacks.membership.matching import (
    DistinctCandidates,
    ExplainedSplit,
    ThresholdSplit,
    pairs_between,
    placed_between,
    rows_of_reach,
    splits_of,
    stated_truth,
)
from glassine.attacks.membership.outputs import LabelledRecords, attempt, generator, read_matrix
from glassine.attacks.membership.printed import ValuePair, pairs_within
from glassine.attacks.outcome import Outcome
from glassine.domain.single import single, single_bound, single_sides
from glassine.errors import InvalidParameterError, UnsupportedModelError, parameter
from glassine.exports import DisplayedToCheckers
from glassine.models import TreeEnsemble
from glassine.records.arrays import Bools

N_TRIALS, MAX_TRIALS = 25, 5_000
"""Thresholds tried at each node, and about how many in total, to learn how often pairs match by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MidpointPair:
    """A threshold that is the midpoint of one pair of values among the candidates.

    Attributes
    ----------
    tree : int
        Which tree of an ensemble.
    attribute : str
        The attribute.
    threshold : float
        The threshold.
    below, above : tuple of int
        Candidates at the node that hold the lower and the upper value: at least one of each is a member.
    """

    tree: int
    attribute: str
    threshold: float
    below: tuple[int, ...]
    above: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceRate:
    """How often pairs on an attribute match by chance, and what that means for those found.

    Attributes
    ----------
    attribute : str
        The attribute.
    n_trials, n_matches : int
        Thresholds placed between two neighbouring candidates, which are then left out, and those that just one other
        pair of values matched.
    n_thresholds, n_unique : int
        Thresholds of the model on the attribute, and those that just one pair matches.
    false_share : float
        Expected share of chance matches among the latter.
    accepted : bool
        Whether pairs on this attribute count as evidence.
    """

    attribute: str
    n_trials: int
    n_matches: int
    n_thresholds: int
    n_unique: int
    false_share: float
    accepted: bool

    @property
    def rate(self) -> float:
        """Share of the trials that matched; 1 where none could be made."""
        return self.n_matches / self.n_trials if self.n_trials else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MidpointResult(DisplayedToCheckers):
    """What the thresholds of a model reveal about the candidates.

    Attributes
    ----------
    n_candidates : int
        Number of candidates.
    n_distinct : int
        Number of different ones. Candidates that are equal in every column that the model knows are one record, by
        the row of the first; it is a member if one of them is.
    n_thresholds : int
        Splits on numbers that a candidate reaches.
    n_explained, n_unique : int
        Those whose threshold is the midpoint of some pair, and of just one pair, of the candidates at the node.
    accused : tuple of int
        Rows of the candidates that are called members, of equal ones the first.
    n_named : int
        How many these are: records, or people where persons are stated. A record that several people share names none.
    groups : tuple of tuple of int
        Rows that share a value, at least one of which is called a member; none is flagged alone.
    cleared : tuple of int
        Rows that cannot be members; only where the candidates are said to be complete.
    pairs : tuple of MidpointPair
        The evidence.
    chance : tuple of ChanceRate
        The control, for each attribute.
    expected_by_chance : float
        Number of thresholds that just one pair would match if no candidate were a member.
    present : Estimate
        Share of the thresholds whose own pair is among the candidates, estimated from the share that is explained.
    complete : bool
        Whether the candidates were said to hold every training record, and no threshold contradicts it.
    precision, recall : Estimate or None
        Share of the accused that are members, and of the members that are accused; None without the truth, or without
        any accused or member.
    base_rate : float or None
        Share of members among the candidates: the precision of accusing at random. None without the truth.
    tpr, fpr : Estimate or None
        Shares of the members, and of the others, that are accused; None without the truth, or without any of them.
        There are no others if every non-member equals a member in the columns that the model knows.
    advantage : Estimate or None
        True less false positive rate, as of the other membership attacks; None without one of them.
    """

    n_candidates: int
    n_distinct: int
    n_thresholds: int
    n_explained: int
    n_unique: int
    accused: tuple[int, ...]
    n_named: int
    groups: tuple[tuple[int, ...], ...]
    cleared: tuple[int, ...]
    pairs: tuple[MidpointPair, ...]
    chance: tuple[ChanceRate, ...]
    expected_by_chance: float
    present: Estimate
    complete: bool
    precision: Estimate | None
    recall: Estimate | None
    base_rate: float | None
    tpr: Estimate | None
    fpr: Estimate | None
    advantage: Estimate | None

    @property
    def verdict(self) -> str:
        """What the figures say, in sentences."""
        said = [
            f"{self.n_explained} of {self.n_thresholds} thresholds are midpoints of candidates' values, "
            f"{self.n_unique} of just one pair, where {self.expected_by_chance:.1f} would match by chance.",
            f"{len(self.accused)} of {self.n_distinct} different candidates are called members.",
        ]
        if self.precision is not None:
            said.append(f"Of these, the share of members is {self.precision}.")
        if self.not_beyond_base_rate:
            said.append(
                f"Accusing at random would reach {self.base_rate:.3f}, the share of members among the candidates."
            )
        if self.recall is not None:
            said.append(f"Of all members, the share found is {self.recall}.")
        refused = sum(rate.n_unique for rate in self.chance if not rate.accepted)
        if refused and not self.complete:
            said.append(f"{refused} sole matches may be chance and are not used.")
        return " ".join(said)

    @property
    def not_beyond_base_rate(self) -> bool:
        """Whether the interval of the precision reaches down to what accusing at random would have."""
        return self.precision is not None and self.base_rate is not None and self.precision.low <= self.base_rate

    def __repr__(self) -> str:
        return f"<MidpointResult: {len(self.accused)} of {self.n_distinct} different candidates accused>"


def midpoint_attack(
    model: Any,
    candidates: Any,
    *,
    truth: Any = None,
    complete: bool = False,
    reach: Sequence[npt.ArrayLike] | None = None,
    max_chance: float = 0.05,
    confidence: float = 0.95,
    random_state: int | np.random.Generator | None = None,
) -> Outcome[MidpointResult]:
    """Find training records by the thresholds of a tree or of an ensemble of trees.

    scikit-learn rounds every value to single precision and places a threshold at half the lower plus half the upper of
    two values that are neighbours among the node's training records. A pair of candidates at the node with just that
    midpoint, bit for bit, is such a pair, unless it matches by chance. If no other pair matches, both are members; if
    several candidates hold one of the values, at least one of them is.

    Whole numbers and short decimals match by chance. The control places thresholds between neighbouring candidates,
    leaves the two out, and counts how often other pairs match. From it and from the share of the model's thresholds
    that are explained follows about how many of the model's pairs are among the candidates at all, at the lower bound
    of an interval, and so which share of the sole matches is chance; attributes where it is too large are not used.

    Candidates that are equal in every column that the model knows are one record, which is flagged once.

    Parameters
    ----------
    model : fitted tree, forest or pipeline, DecisionTree, or a sequence of them
        The published model or models. Extremely randomized trees, rule lists and private models have no midpoints.
    candidates : data frame or array-like, shape (n, d)
        Records that may be members.
    truth : array-like of bool, shape (n,), optional
        Who is a member, to measure precision and recall.
    complete : bool, default=False
        Whether the candidates are known to hold every training record. Then the pair of each threshold is among them,
        a sole match is certain, chance plays no part, candidates between its two values are cleared, and what is known
        of one threshold helps to read the others. It is dropped if a threshold has no match, and must not be said of a
        model whose thresholds come from elsewhere, such as a public grid.
    reach : sequence of array-like of int, optional
        For a sequence of models, the rows of the candidates among which the records of each are sought, where the
        attacker knows that each was trained on some only; all of them by default.
    max_chance : float, default=0.05
        Largest expected share of chance matches, see :class:`ChanceRate`, among the pairs on an attribute that count.
        Not used if the candidates are complete.
    confidence : float, default=0.95
        Confidence of the intervals, in (0, 1).
    random_state : int, numpy.random.Generator or None, default=None
        Makes the control repeatable.

    Returns
    -------
    Measured of MidpointResult, NotApplicable or Failed
        Not applicable to models without thresholds that are midpoints.

    Raises
    ------
    InvalidDataError
        If the candidates lack a column, or hold text where the tree needs numbers.
    InvalidParameterError
        If a parameter lies outside its range.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X[:100], rng.integers(0, 2, 100))
    >>> found = midpoint_attack(tree, X, truth=[True] * 100 + [False] * 100, random_state=0).value
    >>> found.precision.value, found.recall.value
    (1.0, 0.55)
    """
    confidence, rng = check_confidence(confidence), generator(random_state)
    if not 0 <= max_chance <= 1:
        raise InvalidParameterError(
            f"{parameter('max_chance')} must lie between 0 and 1, got {max_chance!r}.", remedy="Use 0.05."
        )
    pool = candidates
    if not isinstance(candidates, LabelledRecords):
        native = read_matrix(candidates, "candidates")
        pool = LabelledRecords(native, np.zeros(len(native)))
    native = pool.native
    truths = None if truth is None else stated_truth(truth, len(native))
    rows = None if reach is None else rows_of_reach(reach, model, len(native))

    def work() -> MidpointResult:
        people = DistinctCandidates.of(model, pool, truths)
        near = None if rows is None else [np.unique(people.codes[own]) for own in rows]
        # Of an ensemble of which it is not known how thresholds were placed, the reading that names most counts.
        own = list(splits_of(model, people.records, near)) if not isinstance(model, TreeEnsemble) else []
        ways: Iterable[Iterable[ThresholdSplit]] = [own]
        if any(split.half for split in own):
            # What looks rounded in print may be exact, or a public grid: certain is only what exact midpoints show.
            exact = [replace(split, half=0.0) for split in own]
            ways = [exact] if complete else [own, exact]
        if isinstance(model, TreeEnsemble):
            from glassine.attacks.membership.union import readings

            ways = readings(model, people.records, near)
        made = [one for splits in ways if (one := read(people, splits)) is not None]
        if not made:
            raise UnsupportedModelError(
                "the model has no threshold on a number that a candidate reaches.",
                remedy="Pass candidates with the attributes of the model, or attack its outputs: attack_membership.",
            )
        return max(made, key=lambda one: one.n_named)

    def read(people: DistinctCandidates, splits: Iterable[ThresholdSplit]) -> MidpointResult | None:
        matches = [ExplainedSplit.of(split, every=complete) for split in splits]
        if not matches:
            return None
        trials = _trials([match.split for match in matches], rng)
        present = _present(matches, trials, confidence)
        chance = _chance(matches, trials, present.low, max_chance)
        whole = complete and all(match.pairs for match in matches)
        if whole:
            evidence, cleared = _deduce(matches)
        else:
            usable = {rate.attribute for rate in chance if rate.accepted}
            evidence = [match for match in matches if len(match.pairs) == 1 and match.split.attribute in usable]
            cleared = ()
        return _result(matches, evidence, cleared, chance, present, whole, people, confidence)

    return attempt(work)


@dataclass(slots=True)
class _Trials:
    """How many thresholds were tried on an attribute, and how many matched one other pair, or any."""

    tried: int = 0
    one: int = 0
    some: int = 0


def _trials(splits: Sequence[ThresholdSplit], rng: np.random.Generator) -> dict[str, _Trials]:
    """Return how often pairs match by chance: thresholds between neighbouring candidates that are then left out."""
    each = max(1, min(N_TRIALS, MAX_TRIALS // len(splits)))
    out: dict[str, _Trials] = defaultdict(_Trials)
    for split in splits:
        values, n_holders = np.unique(split.values, return_counts=True)
        own = out[split.attribute]
        if len(values) < 3:
            continue
        gaps = len(values) - 1
        for i in rng.choice(gaps, min(each, gaps), replace=False):
            if split.at_value:
                # One record is left out: its value is matched by chance where another holds it.
                own.tried += 1
                own.one += n_holders[i] > 1
                own.some += n_holders[i] > 1
                continue
            threshold = float(placed_between(values[i : i + 1], values[i + 1 : i + 2])[0])
            if split.halved:
                threshold = single(threshold)
            elif not split.exact and single_sides(split.threshold) is not None:
                threshold = single_bound(threshold)
            # One record of each value is left out; others may hold the same value by chance.
            below, above = values[: i + (n_holders[i] > 1)], values[i + 2 - (n_holders[i + 1] > 1) :]
            if split.half:
                rounded = round(threshold / (2 * split.half)) * 2 * split.half
                pairs = pairs_within(np.concatenate([below, above]), rounded, split.half, most=2)
            else:
                pairs = pairs_between(below, above, threshold, exact=split.exact, halved=split.halved, most=2)
            n_pairs = len(pairs)
            own.tried += 1
            own.one += n_pairs == 1
            own.some += n_pairs > 0
    return dict(out)


def _present(matches: Sequence[ExplainedSplit], trials: dict[str, _Trials], confidence: float) -> Estimate:
    """Return the share of the thresholds whose own pair is among the candidates."""
    # A threshold is explained if its pair is there, or else by chance: share = present + (1 - present) * chance.
    tried = sum(trial.tried for trial in trials.values())
    chance = sum(trial.some for trial in trials.values()) / tried if tried else 1.0
    explained = clopper_pearson(sum(bool(match.pairs) for match in matches), len(matches), confidence)
    if chance >= 1:
        method = "unknown: chance explains every threshold"
        return Estimate(value=0.0, low=0.0, high=1.0, confidence=confidence, method=method)
    value, low, high = (
        min(max((share - chance) / (1 - chance), 0.0), 1.0)
        for share in (explained.value, explained.low, explained.high)
    )
    method = "Clopper-Pearson of the share explained, chance taken off"
    return Estimate(value=value, low=low, high=high, confidence=confidence, method=method)


def _chance(
    matches: Sequence[ExplainedSplit], trials: dict[str, _Trials], present: float, max_chance: float
) -> tuple[ChanceRate, ...]:
    """Return for each attribute the share of sole matches that chance makes, if so many pairs are present."""
    out = []
    for name, trial in sorted(trials.items()):
        own = [len(match.pairs) for match in matches if match.split.attribute == name]
        n_unique = own.count(1)
        # One match more than was seen: few trials must not make chance look impossible.
        rate = (trial.one + 1) / (trial.tried + 1)
        share = min(1.0, len(own) * (1 - present) * rate / n_unique) if n_unique else 1.0
        out.append(
            ChanceRate(
                attribute=name,
                n_trials=trial.tried,
                n_matches=trial.one,
                n_thresholds=len(own),
                n_unique=n_unique,
                false_share=share,
                accepted=present > 0 and share <= max_chance,
            )
        )
    return tuple(out)


def _deduce(matches: Sequence[ExplainedSplit]) -> tuple[list[ExplainedSplit], tuple[int, ...]]:
    """Return the thresholds with one possible pair, and who is cleared, if the candidates are complete."""
    # No training record lies strictly between the two values of a threshold. So a candidate within all pairs that are
    # still possible is no training record of that tree, and a pair with a known one in between is not the pair.
    inside: dict[int, set[int]] = defaultdict(set)
    outside: dict[int, set[int]] = defaultdict(set)
    possible = [list(match.pairs) for match in matches]
    changed = True
    while changed:
        changed = False
        for match, pairs in zip(matches, possible, strict=True):
            members, gone = inside[match.split.sample], outside[match.split.sample]
            before = len(members) + len(gone) - len(pairs)
            pairs[:] = [pair for pair in pairs if _is_possible(match, pair, members, gone)]
            if pairs:
                # Pairs of one midpoint are nested: the innermost has the largest lower value.
                gone.update(match.between(max(pairs)).tolist())
            if len(pairs) == 1:
                for value in pairs[0]:
                    alive = [row for row in match.holders(value).tolist() if row not in gone]
                    members.update(alive if len(alive) == 1 else ())
            changed |= len(members) + len(gone) - len(pairs) != before
    evidence = [
        ExplainedSplit(match.split, pairs) for match, pairs in zip(matches, possible, strict=True) if len(pairs) == 1
    ]
    alone = len({match.split.sample for match in matches}) == 1
    return evidence, tuple(sorted(outside[matches[0].split.sample])) if alone else ()


def _is_possible(match: ExplainedSplit, pair: ValuePair, members: set[int], gone: set[int]) -> bool:
    possible = all(not gone.issuperset(match.holders(value).tolist()) for value in pair)
    return possible and members.isdisjoint(match.between(pair).tolist())


def _result(
    matches: Sequence[ExplainedSplit],
    evidence: Sequence[ExplainedSplit],
    cleared: tuple[int, ...],
    chance: tuple[ChanceRate, ...],
    present: Estimate,
    complete: bool,
    people: DistinctCandidates,
    confidence: float,
) -> MidpointResult:
    gone = set(cleared)
    pairs, accused, groups = [], set(), set()
    for match in evidence:
        sides = [tuple(row for row in match.holders(value).tolist() if row not in gone) for value in match.pairs[0]]
        pairs.append(
            MidpointPair(
                tree=match.split.tree,
                attribute=match.split.attribute,
                threshold=match.split.threshold,
                below=people.rows(sides[0]),
                above=people.rows(sides[1]),
            )
        )
        for side in sides:
            if len(side) == 1:
                accused.add(side[0])
            else:
                groups.add(side)
    rates = {rate.attribute: rate.rate for rate in chance}
    judged = people.judged(sorted(accused))
    return MidpointResult(
        n_candidates=len(people.codes),
        n_distinct=len(people.first),
        n_thresholds=len(matches),
        n_explained=sum(bool(match.pairs) for match in matches),
        n_unique=sum(len(match.pairs) == 1 for match in matches),
        accused=people.rows(sorted(accused)),
        n_named=int(judged[1].sum()),
        groups=tuple(sorted(people.rows(group) for group in groups if accused.isdisjoint(group))),
        cleared=tuple(np.flatnonzero(np.isin(people.codes, cleared)).tolist()),
        pairs=tuple(pairs),
        chance=chance,
        expected_by_chance=float(sum(rates[match.split.attribute] for match in matches)),
        present=present,
        complete=complete,
        **_rates(None if people.member is None else judged, confidence),
    )


def _rates(judged: tuple[Bools, Bools] | None, confidence: float) -> dict[str, Any]:
    """Return the rates of accusations, where it is known who is a member; of people, where persons are stated."""
    if judged is None:
        return dict.fromkeys(("precision", "recall", "base_rate", "tpr", "fpr", "advantage"))
    member, accused = judged
    m, n, hits = int(member.sum()), int((~member).sum()), int((member & accused).sum())
    wrong = int(accused.sum()) - hits
    interval = clopper_pearson(hits, m, confidence) if m else None
    return {
        "precision": clopper_pearson(hits, hits + wrong, confidence) if hits + wrong else None,
        "recall": interval,
        "base_rate": m / (m + n),
        "tpr": interval,
        "fpr": clopper_pearson(wrong, n, confidence) if n else None,
        "advantage": newcombe(hits, m, wrong, n, confidence) if m and n else None,
    }
