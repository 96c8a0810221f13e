"""Each finding of the paper's experiments, judged by the results: ``claims.csv`` and ``evidence.csv``.

``statements.csv`` names the judge of each finding. There is one dataset and no split: every figure is one run's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from figures import COUNTS, ERRORS, LABELS, reader, value
from study import FOLDER, Row, one, options, read, select

from papers.common.judging import (
    DERIVED,
    FIGURE,
    MEAN,
    NONE,
    Comparison,
    Judgement,
    exact,
    within,
    write_judged,
)

SAME_SIZE = (("gini", "entropy-small"), ("gini-large", "entropy"))
"""Trees of both criteria with as many leaves: 514, and some 2,950."""

PRINTED = 0.0005
"""Half a unit of the last digit that the paper prints."""

NAT = 1e-4

NEAR = 1e-3
"""Nats by which an optimum may have less entropy than the best one and still count: hops found so much more on the Gini
tree of 514 leaves, where starts had agreed to a fifth of it."""

SECONDS, MEGABYTES = 0.1, 10.0
"""Differences of one run each below these are ties: the clock's and the allocator's own spread."""

REPEATED = 0.15
"""Share of the longer time below which times are ties: two runs of one search took 50 and 57 CPU seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results that findings are judged by.

    Attributes
    ----------
    readers, changes, example, posterior, counts : sequence of Row
        Rows of ``readers.csv``, ``individuals.csv``, ``figure_5.csv``, ``posterior.csv`` and ``constraint_counts.csv``.
    earlier : sequence of Row
        Rows of ``earlier_optima.csv``: allowed tables at which other searches ended.
    """

    readers: Sequence[Row]
    changes: Sequence[Row]
    example: Sequence[Row]
    posterior: Sequence[Row]
    counts: Sequence[Row]
    earlier: Sequence[Row]

    def d(self, tree: str, leaves: str, internal: str = "yes", name: str = "d_overall") -> float:
        """Return a figure of a reader, D_overall by default."""
        return value(self.readers, tree, leaves, internal, name)

    def fall(self, tree: str, leaves: str) -> float:
        """Return by how much internal nodes lower D_overall, by the start of most entropy."""
        return self.d(tree, leaves, "no") - self.d(tree, leaves)

    def optima(self, tree: str, leaves: str) -> list[float]:
        """Return D_overall of the tables of nearly the most entropy: the ends of the starts, and other searches."""
        row = reader(self.readers, tree, leaves, "yes")
        ends = [float(row[f"{end} d_overall"] or row["d_overall"]) for end in ("least", "most")]
        others = select(self.earlier, tree=tree, leaves=leaves)
        return ends + [float(o["d_overall"]) for o in others if float(o["entropy"]) > float(row["entropy"]) - NEAR]

    def falls(self, tree: str, leaves: str) -> tuple[float, float]:
        """Return the least and the largest fall over the tables of nearly the most entropy."""
        alone, ends = self.d(tree, leaves, "no"), self.optima(tree, leaves)
        return alone - max(ends), alone - min(ends)


def _crosses(span: tuple[float, float], margin: float = 0.0) -> bool:
    """Return whether tables of nearly equal entropy lie on both sides of a margin: then they decide nothing."""
    return span[0] < margin < span[1]


def _printed(figures: Sequence[tuple[float, float]], name: str, band: float) -> Comparison:
    return within(name, [(here, paper - band, paper + band) for here, paper in figures])


def setting(found: Evidence) -> Judgement:
    """Judge the sizes of the data; every leaf has one label constraint less than there are values."""
    row = one(found.posterior, tree="gini")
    reader = one(found.readers, **{"tree": "gini", "leaves": COUNTS, "internal nodes": "yes"})
    values = int(reader["label"]) // int(reader["number of leaves"]) + 1
    figures = [(int(row["people"]), 30_162), (int(row["quasi-identifiers"]), 4_480), (values, 16)]
    seen = ", ".join(f"{here:,}" for here, _ in figures)
    return Judgement(rule=FIGURE, seen=seen, comparisons=(_printed(figures, "three sizes", 0.0),))


def constraints(found: Evidence) -> Judgement:
    """Judge the numbers of constraints."""
    figures, parts = [], []
    for criterion in ("gini", "entropy"):
        row = one(found.readers, **{"tree": criterion, "leaves": COUNTS, "internal nodes": "yes"})
        printed = {
            name: one(read(FOLDER / "published.csv"), quantity=f"{name} constraints", case=criterion)["value"]
            for name in ("rate", "label", "internal")
        }
        figures += [(float(row[name]), float(printed[name])) for name in printed]
        parts.append(", ".join(f"{int(row[name]):,}" for name in printed))
    seen = f"{'; '.join(parts)}. {len(found.counts)} prunings, six counts each, were searched"
    return Judgement(rule=FIGURE, seen=seen, comparisons=(_printed(figures, "six numbers", 0.0),))


def error_rates(found: Evidence) -> Judgement:
    """Say that labels alone give the uniform estimate, whatever the tree."""
    pairs = [(found.d(tree, ERRORS, "no"), found.d(tree, LABELS)) for tree in ("gini", "entropy")]
    return Judgement(rule=NONE, seen="; ".join(f"{a:.3f} against {b:.3f}" for a, b in pairs))


def _by_size(found: Evidence, figure: Callable[[str], float]) -> tuple[Comparison, ...]:
    """Compare information gain less Gini, at the paper's leaves and at equal leaves."""
    trees = [
        ("leaves as printed, 514 and 2,939", ("gini", "entropy")),
        ("514 leaves each", SAME_SIZE[0]),
        ("some 2,950 leaves each", SAME_SIZE[1]),
    ]
    return tuple(exact(name, [figure(entropy) - figure(gini)], NAT) for name, (gini, entropy) in trees)


def more_severe(found: Evidence) -> Judgement:
    """Judge whether error rates matter more with information gain, at equal leaves too."""
    comparisons = _by_size(found, lambda tree: found.d(tree, LABELS) - found.d(tree, ERRORS, "no"))
    return Judgement(rule=MEAN, seen="fall of D_overall, information gain less Gini", comparisons=comparisons)


def subset(found: Evidence) -> Judgement:
    """Judge whether more constraints lower the divergence; a local optimum alone refutes nothing."""
    pairs = [(row["tree"], row["leaves"]) for row in select(found.readers, **{"internal nodes": "yes"})]
    open_ = [pair for pair in pairs if _crosses(found.falls(*pair))]
    by = {
        kind: [found.fall(*pair) for pair in pairs if pair[1] == kind and pair not in open_]
        for kind in (COUNTS, ERRORS)
    }
    ends = [found.optima(row["tree"], row["leaves"]) for row in select(found.readers, status="local")]
    widest = max((max(each) - min(each) for each in ends), default=0.0)
    seen = f"fall of D_overall with internal nodes; the worst, {min(by[ERRORS]):+.3f}, is a local optimum"
    seen += f". Tables of nearly equal entropy differ by up to {widest:.3f}"
    seen += f"; not comparable, as these differ in sign: {len(open_)} of {len(pairs)}" if open_ else ""
    names = {COUNTS: "class counts", ERRORS: "error rates"}
    comparisons = tuple(exact(names[kind], values, NAT) for kind, values in by.items())
    return Judgement(rule=MEAN, seen=seen, comparisons=comparisons)


def measure(found: Evidence) -> Judgement:
    """Judge whether Gini leaves a larger divergence, at equal leaves too."""
    comparisons = _by_size(found, lambda tree: -found.d(tree, ERRORS, "no"))
    return Judgement(rule=MEAN, seen="D_overall, Gini less information gain", comparisons=comparisons)


def other_factors(found: Evidence) -> Judgement:
    """Judge whether the size of the tree makes the difference between the measures."""
    apart = abs(found.d("gini", ERRORS, "no") - found.d("entropy", ERRORS, "no"))
    left = [abs(found.d(a, ERRORS, "no") - found.d(b, ERRORS, "no")) for a, b in SAME_SIZE]
    seen = (
        f"of {apart:.3f} at the printed leaves, {' and '.join(f'{each:.3f}' for each in left)} remain at equal leaves"
    )
    return Judgement(
        rule=MEAN, seen=seen, comparisons=(exact("what equal leaves remove", [apart - each for each in left], NAT),)
    )


def introduction(found: Evidence) -> Judgement:
    """Judge the 100 % of Example 1."""
    row = one(found.example, case="whole people, information gain")
    figures = [(float(row[f"q{i} <=50K"]), value) for i, value in ((1, 1.0), (2, 1.0), (3, 0.0), (4, 0.0))]
    seen = f"probabilities of <=50K: {', '.join(f'{here:g}' for here, _ in figures)}"
    return Judgement(rule=DERIVED, seen=seen, comparisons=(_printed(figures, "four people", 0.0),))


def example(found: Evidence) -> Judgement:
    """Judge S_B of Figure 5."""
    row = one(found.example, case="leaves and internal nodes, information gain")
    end = one(found.example, case="end of the constraint, information gain")
    figures = [(float(row["q2 <=50K"]), 0.815), (float(row["D_overall"]), 0.068)]
    seen = f"{figures[0][0]:.1f} and {figures[1][0]:.3f}; the constraint ends at {float(end['q3 <=50K']):.4f} for q3"
    return Judgement(rule=DERIVED, seen=seen, comparisons=(_printed(figures, "S_B", PRINTED),))


def _spans_apart(found: Evidence, one_tree: str, other: str, leaves: str) -> tuple[float, float]:
    """Return the range of how much more internal nodes move D_overall of one tree than of another."""

    def sizes(tree: str) -> tuple[float, float]:
        low, high = found.falls(tree, leaves)
        return (0.0 if _crosses((low, high)) else min(abs(low), abs(high))), max(abs(low), abs(high))

    (a, b), (c, d) = sizes(one_tree), sizes(other)
    return a - d, b - c


def obvious(found: Evidence) -> Judgement:
    """Judge whether internal nodes move D_overall more for Gini than for information gain, at equal leaves."""
    groups = (
        ("error rates, leaves as printed, 514 and 2,939", ERRORS, (("gini", "entropy"),)),
        ("error rates, equal leaves", ERRORS, SAME_SIZE),
        ("class counts, equal leaves", COUNTS, SAME_SIZE),
    )
    comparisons, open_ = [], 0
    for name, leaves, pairs in groups:
        decided = [pair for pair in pairs if not _crosses(_spans_apart(found, *pair, leaves))]
        open_ += len(pairs) - len(decided)
        if decided:
            values = [abs(found.fall(a, leaves)) - abs(found.fall(b, leaves)) for a, b in decided]
            comparisons.append(exact(name, values, NAT))
    gini, entropy = ([-found.fall(pair[i], ERRORS) for pair in SAME_SIZE] for i in (0, 1))
    most = max(abs(found.fall(tree, COUNTS)) for pair in SAME_SIZE for tree in pair)
    seen = f"change of D_overall with error rates, at 514 and some 2,950 leaves: Gini {gini[0]:+.3f}, {gini[1]:+.3f}, "
    seen += f"information gain {entropy[0]:+.3f}, {entropy[1]:+.3f}; at most {most:.5f} with class counts"
    seen += f"; pairs not comparable, as tables of nearly equal entropy differ in sign: {open_}" if open_ else ""
    with_errors = [each for each in comparisons if each.name.startswith("error")]
    return Judgement(
        rule=MEAN if with_errors else NONE, seen=seen, comparisons=tuple(comparisons) if with_errors else ()
    )


def top_ten(found: Evidence) -> Judgement:
    """Judge the ten largest individual gains against the ten largest losses."""
    comparisons, seen = [], []
    for tree, leaves, name in (
        ("entropy", ERRORS, "error rates"),
        ("entropy-small", ERRORS, "error rates, 514 leaves"),
        ("entropy", COUNTS, "class counts"),
    ):
        rows = [one(found.changes, tree=tree, leaves=leaves, rank=str(rank)) for rank in range(1, 11)]
        gains, losses = [float(row["change"]) for row in rows], [float(row["opposite"]) for row in rows]
        comparisons.append(exact(name, [gain + loss for gain, loss in zip(gains, losses, strict=True)]))
        seen.append(f"{name}: gains {gains[0]:.2f} to {gains[-1]:.2f}, losses {losses[0]:.2f} to {losses[-1]:.2f}")
    return Judgement(rule=MEAN, seen="; ".join(seen), comparisons=tuple(comparisons))


def decreases(found: Evidence) -> Judgement:
    """Say that the mean of the K largest of any numbers falls."""
    rows = select(found.changes, tree="entropy", leaves=COUNTS)
    last = rows[-1]
    return Judgement(
        rule=NONE, seen=f"{float(rows[0]['mean']):.2f} at K = 1, {float(last['mean']):.4f} at {int(last['rank']):,}"
    )


def two_levels(found: Evidence) -> Judgement:
    """Judge whether, for the Gini tree, the mean falls at all tables of equal entropy, and the worst case rises."""
    fall = found.fall("gini", ERRORS)
    worst = [found.d("gini", ERRORS, internal, "largest d_individual") for internal in ("no", "yes")]
    seen = f"D_overall {-fall:+.3f}, largest D_individual {worst[1] - worst[0]:+.1f}"
    falls = [fall, *found.falls("gini", ERRORS)]
    return Judgement(
        rule=DERIVED,
        seen=seen,
        comparisons=(exact("fall of the mean, rise of the worst", [min(falls), worst[1] - worst[0]], NAT),),
    )


def slower(found: Evidence) -> Judgement:
    """Judge whether information gain takes longer and more memory at equal leaves."""

    def apart(leaves: str, name: str) -> list[float]:
        pairs = [(found.d(a, leaves, "yes", name), found.d(b, leaves, "yes", name)) for a, b in SAME_SIZE]
        share = REPEATED if name == "seconds" else 0.0
        return [b - a if abs(b - a) > share * max(a, b) else 0.0 for a, b in pairs]

    return Judgement(
        rule=MEAN,
        seen="information gain less Gini at equal leaves, one run each",
        comparisons=tuple(
            exact(f"{name}, {leaves.replace('_', ' ')}", apart(leaves, column), tie)
            for leaves in (ERRORS, COUNTS)
            for name, column, tie in (("seconds", "seconds", SECONDS), ("MB", "peak MB", MEGABYTES))
        ),
    )


def _times(found: Evidence, internal: str, leaves: str) -> Judgement:
    pairs = [
        (found.d(tree, ERRORS, "yes", "seconds"), found.d(tree, leaves, internal, "seconds"))
        for tree in ("gini", "entropy")
    ]
    return Judgement(rule=NONE, seen="; ".join(f"{a:.0f} and {b:.1f} s" for a, b in pairs))


def with_or_without_rates(found: Evidence) -> Judgement:
    """Say that labels alone have a closed form here, so that times tell of another algorithm."""
    return _times(found, "yes", LABELS)


def without_internal(found: Evidence) -> Judgement:
    """Say that leaves alone have a closed form here, so that times tell of another algorithm."""
    return _times(found, "no", ERRORS)


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    setting,
    constraints,
    error_rates,
    more_severe,
    subset,
    measure,
    other_factors,
    introduction,
    example,
    obvious,
    top_ten,
    decreases,
    two_levels,
    slower,
    with_or_without_rates,
    without_internal,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    found = Evidence(
        readers=read(given.results / "readers.csv"),
        changes=read(given.results / "individuals.csv"),
        example=read(given.results / "figure_5.csv"),
        posterior=read(given.results / "posterior.csv"),
        counts=read(given.results / "constraint_counts.csv"),
        earlier=read(FOLDER / "earlier_optima.csv"),
    )
    write_judged(FOLDER / "statements.csv", JUDGES, found, given.results)


__all__ = ["JUDGES", "Evidence", "main"]

if __name__ == "__main__":
    main()
