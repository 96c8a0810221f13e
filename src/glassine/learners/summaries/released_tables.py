"""The private releases of a summary: bins, tables by class, scores of pairs, tables along a tree, and rounds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from glassine.errors import GlassineError, InvalidModelError
from glassine.learners.additive.grids import IN_CELLS, Axis, release_bins
from glassine.learners.additive.merging import Persons, composed
from glassine.learners.additive.targets import SMALLEST_SPREAD, Target
from glassine.learners.summaries.additive_from_tables import fitted_scores, variance_of
from glassine.learners.summaries.junction_tree import JunctionTree, junction_tree
from glassine.learners.summaries.released import (
    MOST_GROUPS,
    MOST_OF_NUMBERS,
    ReleasedSummary,
    Round,
    coarse_axis,
    margins,
    merged_groups,
)
from glassine.privacy.accounting import DiscreteGaussianNoise
from glassine.privacy.certificate import Certificate
from glassine.records.arrays import Array
from glassine.sealed.gaussian import GaussianOracle, SumsOracle
from glassine.sealed.noisy_sums import Portion, SumsRelease
from glassine.sealed.released_bins import PARTS, Grid, Terms
from glassine.sealed.residuals import Distances, Lacking, Squares, Tables, there
from glassine.sealed.sums import Moves

OF_CLASSES = {"bins": 0.11, "tables": 0.36, "scores": 0.05, "edges": 0.23, "rounds": 0.25}
"""Shares of the squared mu. They were set on Adult; a public rule, on which no guarantee rests."""

OF_NUMBERS = {"bins": 0.11, "tables": 0.36, "squares": 0.02, "scores": 0.05, "edges": 0.23, "rounds": 0.23}
"""The same where the target is a number."""

FOLLOWING_CLASSES = {"tables": 0.43, "edges": 0.27, "rounds": 0.30}
"""Shares where bins, pairs and models of the rounds are those of another summary, so that nothing pays for them: what
is saved is given to the rest in proportion. A public rule, on which no guarantee rests."""

FOLLOWING_NUMBERS = {"tables": 0.43, "squares": 0.02, "edges": 0.275, "rounds": 0.275}
"""The same where the target is a number."""

FOLLOWS, CLIPPED = "follows the plan of", "residuals are clipped at"
"""What a certificate states of a summary that follows another: its SHA-256, and the bound that it takes over."""

CERTIFICATES = "certificates of the sites"
"""What the certificate of a merged summary holds, from which it follows."""

SHA256 = re.compile("[0-9a-f]{64}")

ADDED = "tables added"
"""How summaries of one plan are merged, as a certificate states it."""

LEVELS = 3
"""Levels of a number: of two, three, four and six, three gave the best additive models on California."""

BY_CLASS, PAIRS = "tables of attributes by class", "tables of pairs by class"
SCORES, SQUARES = "dependence of all pairs", "sum of squares of the target"
"""Names of the releases, by which a certificate states them."""

ROUNDING = 1e-6
"""Relative error of a deviation that is reckoned again."""

PROOF = "learners/summaries/released_tables.md"

ROUNDS = 2
"""Rounds: the second corrects what the first, under a worse model, left. A third gained nothing on Adult."""

MOST_CLIP = 2.0
"""A residual of numbers in [-1, 1] is no larger."""

CLIP = 1.0
"""Largest residual of a number, in standard deviations of the target: of the noise less is added as of all of it."""

RESIDUALS = "sums of residuals in bins"
"""Name of the release, by which a certificate states it."""


def release_summary(oracle: GaussianOracle, grids: tuple[Grid, ...], target: Target, sites: int = 1) -> ReleasedSummary:
    """Release the tables of a summary, whose plan so many ``sites`` will share.

    Guarantee
    ---------
    The budget's (epsilon, delta): for every outcome, a filter keeps the squared mu of all releases within the budget's;
    see ``released_tables.md``.
    """
    shares = OF_CLASSES if target.classes is not None else OF_NUMBERS
    levels = {"n_classes": n_cells_of(target), "parts": 1 if target.classes is not None else PARTS}

    def portion(name: str) -> Portion:
        return oracle.whole.part(shares[name])

    axes = release_bins(oracle, portion("bins"), grids)
    singles = Tables(terms=Terms(grids=grids, axes=tuple(axes)), places=tuple((k,) for k in range(len(axes))), **levels)
    tables, deviation = _release_tables(oracle, portion("tables"), BY_CLASS, singles)
    squares = None if target.classes is not None else _release_squares(oracle, portion("squares"))
    most = most_groups(target)
    groups = tuple(merged_groups(*one, deviation, most, sites) for one in zip(axes, tables, strict=True))
    # An attribute whose class rates are all alike is in one bin, which depends on nothing.
    useful = [k for k, group in enumerate(groups) if group.max() > 0]
    pairs = list(combinations(useful, 2))
    scores: dict[tuple[int, int], float] = {}
    edges: dict[tuple[int, int], Array] = {}
    of_scores = of_edges = 0.0
    if pairs:
        coarse = Terms(grids=grids, axes=tuple(coarse_axis(*one) for one in zip(axes, groups, strict=True)))
        totals, rows = margins(tables, groups, deviation)
        independent = {(a, b): rows[a][:, None] * rows[b][None] / totals for a, b in pairs}
        distances = Distances(terms=coarse, models=tuple(independent.items()), **levels)
        scores, of_scores = _release_scores(oracle, portion("scores"), distances)
        tree = tuple(spanning_tree({pair: scores[pair] - by_chance(independent[pair]) for pair in pairs}))
        along = Tables(terms=coarse, places=tree, **levels)
        noisy, of_edges = _release_tables(oracle, portion("edges"), PAIRS, along)
        edges = dict(zip(tree, noisy, strict=True))
    released = ReleasedSummary(
        axes=tuple(axes),
        tables=tuple(tables),
        groups=groups,
        scores=scores,
        edges=edges,
        deviations=(deviation, of_scores, of_edges),
        squares=squares,
    )
    return release_rounds(oracle, portion("rounds"), grids, released) if useful else released


def release_following(
    oracle: GaussianOracle, grids: tuple[Grid, ...], target: Target, plan: ReleasedSummary, clip: float
) -> ReleasedSummary:
    """Release the tables of a summary whose bins, pairs and models of the rounds are those of a released one.

    Tables of the same plan can be added: see ``released_tables.md``.

    Guarantee
    ---------
    The budget's (epsilon, delta): nothing that is asked depends on records but through ``plan``, which is public here;
    see ``released_tables.md``.
    """
    shares = FOLLOWING_CLASSES if target.classes is not None else FOLLOWING_NUMBERS
    n_classes = n_cells_of(target)
    levels = {"n_classes": n_classes, "parts": 1 if target.classes is not None else PARTS}

    def portion(name: str) -> Portion:
        return oracle.whole.part(shares[name])

    terms = Terms(grids=grids, axes=plan.axes)
    singles = Tables(terms=terms, places=tuple((k,) for k in range(len(plan.axes))), **levels)
    tables, deviation = _release_tables(oracle, portion("tables"), BY_CLASS, singles)
    squares = None if target.classes is not None else _release_squares(oracle, portion("squares"))
    axes = tuple(counted(axis, table, deviation) for axis, table in zip(plan.axes, tables, strict=True))
    edges: dict[tuple[int, int], Array] = {}
    of_edges = 0.0
    if plan.edges:
        along = Tables(terms=Terms(grids=grids, axes=plan.coarse), places=tuple(plan.edges), **levels)
        noisy, of_edges = _release_tables(oracle, portion("edges"), PAIRS, along)
        edges = dict(zip(plan.edges, noisy, strict=True))
    released = ReleasedSummary(
        axes=axes,
        tables=tuple(tables),
        groups=plan.groups,
        scores=plan.scores,
        edges=edges,
        # The scores of pairs are those of the plan, and say nothing of these records.
        deviations=(deviation, 0.0, of_edges),
        squares=squares,
    )
    models = tuple(one.scores for one in plan.rounds)
    return release_rounds(oracle, portion("rounds"), grids, released, models, clip) if models else released


def counted(axis: Axis, table: Array, deviation: float) -> Axis:
    """Return an axis whose counts are those of a table by class."""
    variances = np.full(axis.n_bins, table.shape[1] * deviation**2)
    return replace(axis, counts=table.sum(axis=1), variances=variances)


def check_events(released: ReleasedSummary, certificate: Certificate) -> None:
    """Raise InvalidModelError unless a certificate states all that was released, at no more noise than it had.

    That of a merged summary must be what :func:`~.composed` makes of those of its sites, which it holds.
    """
    public = certificate.public
    if public.get("merged") != ADDED:
        _check_sites(released, [certificate], str(public.get(FOLLOWS, "")))
        return
    own, sites, persons = public.get(CERTIFICATES), public.get("sites"), public.get("persons")
    if not isinstance(own, list | tuple) or not isinstance(sites, list | tuple) or len(own) < 2:
        raise _unstated()
    try:
        certificates = [Certificate.from_dict(one) for one in own]
        named: Persons = "disjoint" if persons == "disjoint" else "shared"
        whole = composed([one.model or "" for one in certificates], certificates, form=ADDED, persons=named)
    except GlassineError:
        raise _unstated() from None
    for name in ("epsilon", "delta", "events", "neighboring", "unit", "assumptions", "caveats", "randomness"):
        if getattr(whole, name) != getattr(certificate, name):
            raise _unstated()
    plan = str(public.get(FOLLOWS))
    if list(sites) != whole.public["sites"] or persons != named or {plan_named(one) for one in certificates} != {plan}:
        raise _unstated()
    _check_sites(released, certificates, plan)


def plan_named(certificate: Certificate) -> str:
    """Return the SHA-256 of the summary whose plan a summary follows; its own where it follows none."""
    return str(certificate.public.get(FOLLOWS, certificate.model))


def clip_stated(certificates: Sequence[Certificate], released: ReleasedSummary) -> float:
    """Return the clip of the residuals of all sites: where some follow a plan what they state, else what follows."""
    before = replace(released, rounds=())
    clips = [one.public.get(CLIPPED) for one in certificates if FOLLOWS in one.public]
    if released.levels is None or not clips:
        return clip_of(before)
    clip = clips[0]
    if (
        not isinstance(clip, float | int)
        or not SMALLEST_SPREAD * CLIP <= clip <= MOST_CLIP
        or clips != [clip] * len(clips)
    ):
        raise _unstated()
    return float(clip)


def _check_sites(released: ReleasedSummary, certificates: Sequence[Certificate], plan: str) -> None:
    """Raise InvalidModelError unless the certificates of all sites together explain a summary, or the sum of theirs."""
    if plan and not SHA256.fullmatch(plan):
        raise _unstated()
    grids = [axis.grid for axis in released.axes]
    if not any(FOLLOWS not in one.public for one in certificates):
        own = [counted(*one, released.deviations[0]) for one in zip(released.axes, released.tables, strict=True)]
        for axis, same in zip(released.axes, own, strict=True):
            if not np.allclose(axis.counts, same.counts) or not np.allclose(axis.variances, same.variances):
                raise _unstated()
    noise: dict[str, float] = {}
    clip = clip_stated(certificates, released) if released.rounds else 1.0
    for certificate in certificates:
        chose = FOLLOWS not in certificate.public
        # Of each release its name, values and squared sensitivity per record, and how often it ran.
        wanted = [(BY_CLASS, sum(table.size for table in released.tables), len(grids), 1)]
        if chose:
            wanted.append((IN_CELLS, 0, sum(len(grid.sizes) for grid in grids), 1))
        if released.squares is not None:
            wanted.append((SQUARES, 1, 1, 1))
        if released.scores and chose:
            wanted.append((SCORES, len(released.scores), len(released.scores), 1))
        if released.edges:
            edges = list(released.edges.values())
            wanted.append((PAIRS, sum(edge.size for edge in edges), len(edges), 1))
        if released.rounds:
            wanted.append((RESIDUALS, released.rounds[-1].sums.size, len(released.useful), len(released.rounds)))
        # What a certificate states beyond the file, such as rounds that an early file lacks, costs more, not less.
        for name, values, square, count in wanted:
            event = next((one for one in certificate.events if one.name == name), None)
            if (
                not isinstance(event, DiscreteGaussianNoise)
                or event.count != count
                or (values and event.values != values)
                or event.l2_sensitivity / event.units * (1 + ROUNDING)
                < certificate.unit.most_records * math.sqrt(square)
            ):
                raise _unstated()
            scale = clip if name == RESIDUALS else 1.0
            noise[name] = math.hypot(noise.get(name, 0.0), scale * event.sigma / event.units)
    stated = {
        BY_CLASS: released.deviations[0],
        IN_CELLS: _most_noise(released),
        # A merged summary has no scores of all records, and states no noise for them.
        SCORES: released.deviations[1] if len(certificates) == 1 else math.inf,
        PAIRS: released.deviations[2],
        SQUARES: 0.0 if released.squares is None else released.squares[1],
        RESIDUALS: min((one.deviation for one in released.rounds), default=0.0),
    }
    if any(not own <= stated[name] * (1 + ROUNDING) for name, own in noise.items()):
        raise _unstated()


def mu_of(released: ReleasedSummary, certificate: Certificate) -> float:
    """Return the mu of one record, by the noise that is in the tables: of a merged summary by that of all sites."""
    of_classes, follows = released.squares is None, FOLLOWS in certificate.public
    ways = {(True, False): OF_CLASSES, (True, True): FOLLOWING_CLASSES, (False, False): OF_NUMBERS}
    share = ways.get((of_classes, follows), FOLLOWING_NUMBERS)["tables"]
    return math.sqrt(len(released.axes) / share) / released.deviations[0]


def _unstated() -> InvalidModelError:
    return InvalidModelError(
        "the events of the summary's certificate are not those of what it released.",
        remedy="Ask for the file that was written.",
    )


def _most_noise(released: ReleasedSummary) -> float:
    """Return the most noise that the counts of cells can have had: L levels divide their variance by L at most."""
    return min(math.sqrt(axis.variances.min() * len(axis.grid.sizes)) for axis in released.axes)


def _release_tables(oracle: SumsOracle, portion: Portion, name: str, question: Tables) -> tuple[list[Array], float]:
    """Release tables of counts, in each of which a record is in one cell, or in two by parts.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise; see ``released_tables.md``.
    """
    axes, n_classes = question.terms.axes, question.n_classes
    shapes = [(*(axes[k].n_bins for k in place), n_classes) for place in question.places]
    sizes = [math.prod(shape) for shape in shapes]
    release = SumsRelease(name=name, squared=question.squared, values=sum(sizes), proof=PROOF)
    drawing = oracle.release(release, portion)
    parts = np.split(drawing.ask(question), np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)], drawing.deviation


def _release_scores(
    oracle: SumsOracle, portion: Portion, question: Distances
) -> tuple[dict[tuple[int, int], float], float]:
    """Release the L1 distance of each pair's table from a released one.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise; see ``released_tables.md``.
    """
    pairs = [(a, b) for (a, b), _ in question.models]
    drawing = oracle.release(
        SumsRelease(name=SCORES, squared=question.squared, values=len(pairs), proof=PROOF), portion
    )
    return dict(zip(pairs, drawing.ask(question).tolist(), strict=True)), drawing.deviation


def _release_squares(oracle: SumsOracle, portion: Portion) -> tuple[float, float]:
    """Release the sum of the squares of numbers in [-1, 1], and the deviation of its noise.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise; see ``released_tables.md``.
    """
    question = Squares()
    drawing = oracle.release(SumsRelease(name=SQUARES, squared=question.squared, values=1, proof=PROOF), portion)
    return float(drawing.ask(question)[0]), drawing.deviation


def by_chance(model: Array) -> float:
    """Return the L1 distance from independence that is expected of independent attributes."""
    # The mean absolute deviation of a Poisson count, near its two limits.
    return float(np.minimum(np.sqrt(2 * model / math.pi), 2 * model).sum())


def spanning_tree(scores: Mapping[tuple[int, int], float]) -> list[tuple[int, int]]:
    """Return the pairs of a maximum spanning tree (Kruskal), the first of equal ones.

    Examples
    --------
    >>> spanning_tree({(0, 1): 3.0, (0, 2): 1.0, (1, 2): 2.0})
    [(0, 1), (1, 2)]
    """
    parts = {node: {node} for pair in scores for node in pair}
    out = []
    for a, b in sorted(scores, key=lambda pair: -scores[pair]):
        if parts[a] is not parts[b]:
            out.append((a, b))
            union = parts[a] | parts[b]
            parts.update(dict.fromkeys(union, union))
    return out


def n_cells_of(target: Target) -> int:
    """Return how many classes, or levels of a number, a summary's tables have."""
    return LEVELS if target.classes is None else len(target.classes)


def most_groups(target: Target) -> int:
    """Return the most merged bins of an attribute."""
    return MOST_OF_NUMBERS if target.classes is None else MOST_GROUPS


def most_released(grids: Sequence[Grid], target: Target) -> tuple[int, int]:
    """Return the most releases of a summary, and the most values that they can hold together.

    Guarantee
    ---------
    none: both follow from public quantities, for the slack of discrete noise; see ``released_tables.md``.
    """
    levels = max((len(grid.sizes) for grid in grids), default=1)
    n_classes = n_cells_of(target)
    most = most_groups(target) + 1 + max((len(grid.codes) for grid in grids), default=0)
    cells, d = sum(grid.n_cells + 1 for grid in grids), len(grids)
    of_rounds = ROUNDS * d * n_classes * most
    values = levels * cells + n_classes * cells + d * d // 2 + d * n_classes * most**2 + of_rounds
    return levels + 2 * d + 2 + ROUNDS, values + 1


def release_rounds(
    oracle: SumsOracle,
    portion: Portion,
    grids: tuple[Grid, ...],
    released: ReleasedSummary,
    fixed_scores: tuple[Array, ...] = (),
    clip: float = 0.0,
) -> ReleasedSummary:
    """Release sums of residuals under the additive model of all that was released before, or given ones, a few times.

    Guarantee
    ---------
    ``mu``-Gaussian differential privacy but for the slack of discrete noise; see ``released_tables.md``.
    """
    coarse = released.coarse
    terms = Terms(grids=grids, axes=tuple(coarse[k] for k in released.useful))
    tree = None if fixed_scores else junction_tree(released)
    clip, sizes = clip or clip_of(released, tree), terms.sizes
    times = len(fixed_scores) or ROUNDS
    drawing = None
    for number in range(times):
        scores = fixed_scores[number] if tree is None else fitted_scores(released, tree)[0]
        step = np.zeros((len(sizes), max(sizes), scores.shape[1]))
        step[there(terms)] = scores[:-1]
        question = Lacking(
            terms=terms, scores=Moves(step, scores[-1]), classes=released.squares is None, clip=clip, in_bins=True
        )
        if drawing is None:
            values = sum(sizes) * scores.shape[1]
            release = SumsRelease(name=RESIDUALS, squared=question.squared, values=values, proof=PROOF, times=times)
            drawing = oracle.release(release, portion)
        sums = drawing.ask(question) * clip
        one = Round(scores=scores, sums=sums, deviation=clip * drawing.deviation)
        released = replace(released, rounds=(*released.rounds, one))
    return released


def clip_of(released: ReleasedSummary, tree: JunctionTree | None = None) -> float:
    """Return the largest size of a residual, a function of what was released before the rounds."""
    if released.levels is None:
        # The residuals of several classes are a vector of at most sqrt(2) in length: nothing is clipped.
        return 1.0 if released.n_classes == 2 else math.sqrt(2.0)
    return min(CLIP * math.sqrt(variance_of(released, tree or junction_tree(released))), MOST_CLIP)
