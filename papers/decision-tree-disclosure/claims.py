"""Each finding of the paper's experiments, confirmed or refuted by the results: ``claims.csv``.

``statements.csv`` holds the findings, which of the judges below decides each, and the reason. A verdict follows from
the figures alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from figures import COUNTS, ERRORS, LABELS, value
from study import FOLDER, Row, one, options, read, select, write

from papers.common.judging import CONFIRMED, PARTLY, REFUTED, Judgement, judged, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results that claims are judged by.

    Attributes
    ----------
    readers, changes, example, posterior, counts : sequence of Row
        Rows of ``readers.csv``, ``individuals.csv``, ``figure_5.csv``, ``posterior.csv`` and ``constraint_counts.csv``.
    """

    readers: Sequence[Row]
    changes: Sequence[Row]
    example: Sequence[Row]
    posterior: Sequence[Row]
    counts: Sequence[Row]

    def d(self, tree: str, leaves: str, internal: str = "yes", name: str = "d_overall") -> float:
        """Return a figure of a reader, D_overall by default."""
        return value(self.readers, tree, leaves, internal, name)


def setting(found: Evidence) -> Judgement:
    """Judge the sizes of the data."""
    rows = [row for row in found.posterior if row["tree"] == "gini"]
    same = all((row["people"], row["quasi-identifiers"]) == ("30162", "4480") for row in rows) and bool(rows)
    return verdict(same), f"{rows[0]['people']} records, {rows[0]['quasi-identifiers']} quasi-identifiers, 16 values"


def constraints(found: Evidence) -> Judgement:
    """Judge the numbers of constraints."""
    parts, near = [], True
    for criterion in ("gini", "entropy"):
        row = one(found.readers, **{"tree": criterion, "leaves": COUNTS, "internal nodes": "yes"})
        parts.append(f"{row['rate']}, {row['label']}, {row['internal']}")
        printed = one(read(FOLDER / "published.csv"), quantity="internal constraints", case=criterion)
        near = near and abs(int(row["internal"]) / float(printed["value"]) - 1) < 0.1
    return verdict(True, but=not near), "; ".join(parts)


def error_rates(found: Evidence) -> Judgement:
    """Judge whether error rates disclose more, for both trees."""
    pairs = [(found.d(tree, ERRORS, "no"), found.d(tree, LABELS)) for tree in ("gini", "entropy")]
    return verdict(all(1.2 * a < b for a, b in pairs)), "; ".join(f"{a:.3f} against {b:.3f}" for a, b in pairs)


def more_severe(found: Evidence) -> Judgement:
    """Judge whether error rates matter more with information gain; at equal leaves, too."""
    gini, entropy = (found.d(t, LABELS) - found.d(t, ERRORS, "no") for t in ("gini", "entropy"))
    large = found.d("gini", LABELS) - found.d("gini-large", ERRORS, "no")
    told = f"falls by {gini:.3f} and {entropy:.3f}; of a Gini tree of as many leaves by {large:.3f}"
    return verdict(entropy > gini, but=not entropy > 1.05 * large), told


def subset(found: Evidence) -> Judgement:
    """Judge the reason: with linear equalities D_overall falls exactly by the entropy; otherwise it can rise."""
    truth = found.d("gini", LABELS, "no", "entropy") - found.d("gini", LABELS, "no")
    kinds = (COUNTS, ERRORS)
    exact = [abs(found.d("gini", k, "no", "entropy") - found.d("gini", k, "no") - truth) < 1e-5 for k in kinds]
    moved = [found.d("entropy-small", ERRORS, internal) for internal in ("no", "yes")]
    told = f"entropy less D_overall is {truth:.4f} for every reader of leaves; with internal nodes and error rates "
    told += f"D_overall goes from {moved[0]:.3f} to {moved[1]:.3f} for information gain, 514 leaves"
    return verdict(all(exact), but=moved[1] > moved[0]), told


def measure(found: Evidence) -> Judgement:
    """Judge whether Gini leaves a larger divergence."""
    gini, entropy = found.d("gini", ERRORS, "no"), found.d("entropy", ERRORS, "no")
    return verdict(gini > entropy), f"{gini:.3f} and {entropy:.3f}"


def other_factors(found: Evidence) -> Judgement:
    """Judge whether the size of the tree makes the difference."""
    trees = (("gini", "entropy-small"), ("gini-large", "entropy"))
    pairs = [(found.d(a, ERRORS, "no"), found.d(b, ERRORS, "no")) for a, b in trees]
    told = "; ".join(f"{a:.3f} and {b:.3f}" for a, b in pairs)
    return verdict(all(abs(a - b) < 0.02 for a, b in pairs)), f"{told} at 514 and at some 2,950 leaves"


def introduction(found: Evidence) -> Judgement:
    """Judge the 100 % of Example 1."""
    row = one(found.example, case="whole people, information gain")
    return verdict(row["q2 <=50K"] == "1" and row["q3 <=50K"] == "0"), f"{row['q2 <=50K']} and {row['q3 <=50K']}"


def example(found: Evidence) -> Judgement:
    """Judge S_B of Figure 5."""
    row = one(found.example, case="leaves and internal nodes, information gain")
    end = one(found.example, case="end of the constraint, information gain")
    told = f"{float(row['q2 <=50K']):.1f} and D_overall {float(row['D_overall']):.3f}; "
    told += f"the constraint ends at {float(end['q3 <=50K']):.4f}"
    return verdict(abs(float(row["q2 <=50K"]) - 0.815) < 0.001), told


def obvious(found: Evidence) -> Judgement:
    """Judge the difference that internal nodes make to D_overall for Gini."""
    share = 1 - found.d("gini", ERRORS) / found.d("gini", ERRORS, "no")
    trees = (("gini", COUNTS), ("gini-gain", ERRORS), ("gini-gain", COUNTS), ("gini-binary", COUNTS))
    others = [1 - found.d(tree, known) / found.d(tree, known, "no") for tree, known in trees]
    told = f"{share:.1%} with error rates; {min(others):.2%} to {max(others):.2%} of other Gini trees or with counts"
    return verdict(share > 0.02, but=max(others) < 0.02), told.replace("%", " %")


def no_major(found: Evidence) -> Judgement:
    """Judge that internal nodes make no major difference to D_overall for information gain."""
    readers = (("entropy", COUNTS), ("entropy-gain", COUNTS), ("entropy-small", ERRORS))
    shares = [1 - found.d(tree, known) / found.d(tree, known, "no") for tree, known in readers]
    told = f"{shares[0]:.2%} and {shares[1]:.2%} with class counts, {shares[2]:.2%} with error rates and 514 leaves"
    told = told.replace("%", " %")
    return verdict(max(map(abs, shares[:2])) < 0.02, but=abs(shares[2]) > 0.02), told


def top_ten(found: Evidence) -> Judgement:
    """Judge whether the ten largest individual changes are significant."""
    told, held, back = [], True, False
    for tree, leaves, name in (
        ("entropy-small", ERRORS, "error rates, 514 leaves"),
        ("entropy", COUNTS, "class counts"),
    ):
        rows = [one(found.changes, tree=tree, leaves=leaves, rank=str(rank)) for rank in range(1, 11)]
        gains, losses = [float(row["change"]) for row in rows], [float(row["opposite"]) for row in rows]
        held, back = held and (leaves == COUNTS or gains[-1] > 0.5), back or losses[0] < -0.1 or gains[-1] < 0.1
        told.append(f"{name}: {gains[0]:.2f} to {gains[-1]:.2f}, at the other end {losses[0]:.2f} to {losses[-1]:.2f}")
    return verdict(held, but=back), "; ".join(told)


def decreases(found: Evidence) -> Judgement:
    """Judge whether the mean of the top K falls."""
    rows = select(found.changes, tree="entropy", leaves=COUNTS)
    means = [float(row["mean"]) for row in rows]
    falls = all(a >= b - 1e-9 for a, b in pairwise(means))
    return verdict(falls), f"{means[0]:.2f} at K = 1, {means[-1]:.4f} at K = {int(rows[-1]['rank']):,}"


def two_levels(found: Evidence) -> Judgement:
    """Judge whether individual and overall divergence tell different things."""
    overall = [found.d("gini", ERRORS, i) for i in ("no", "yes")]
    worst = [found.d("gini", ERRORS, i, "largest d_individual") for i in ("no", "yes")]
    told = f"with internal nodes D_overall goes from {overall[0]:.3f} to {overall[1]:.3f}, "
    told += f"the largest D_individual from {worst[0]:.1f} to {worst[1]:.1f}"
    return verdict((overall[1] < overall[0]) and (worst[1] > worst[0])), told


def slower(found: Evidence) -> Judgement:
    """Judge whether information gain takes longer and more memory."""
    seconds = [found.d(t, COUNTS, "yes", "seconds") for t in ("gini", "entropy")]
    memory = [found.d(t, COUNTS, "yes", "peak MB") for t in ("gini", "entropy")]
    told = f"{seconds[0]:.2f} and {seconds[1]:.2f} s, {memory[0]:.0f} and {memory[1]:.0f} MB with class counts"
    return verdict(seconds[1] > seconds[0] and memory[1] > memory[0]), told


def with_or_without_rates(found: Evidence) -> Judgement:
    """Judge whether everything takes far less time than without error rates."""
    pairs = [[found.d(t, k, "yes", "seconds") for k in (ERRORS, LABELS)] for t in ("gini", "entropy-small")]
    return verdict(all(2 * a < b for a, b in pairs)), "; ".join(f"{a:.0f} and {b:.1f} s" for a, b in pairs)


def without_internal(found: Evidence) -> Judgement:
    """Judge whether internal nodes take longer."""
    pairs = [[found.d(t, ERRORS, i, "seconds") for i in ("yes", "no")] for t in ("gini", "entropy-small")]
    return verdict(all(a > b for a, b in pairs)), "; ".join(f"{a:.0f} and {b:.1f} s" for a, b in pairs)


JUDGES: tuple[Callable[[Evidence], Judgement], ...] = (
    setting, constraints, error_rates, more_severe, subset, measure, other_factors, introduction, example, obvious,
    no_major, top_ten, decreases, two_levels, slower, with_or_without_rates, without_internal,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge."""
    given = options(__doc__, arguments)
    found = Evidence(
        readers=read(given.results / "readers.csv"),
        changes=read(given.results / "individuals.csv"),
        example=read(given.results / "figure_5.csv"),
        posterior=read(given.results / "posterior.csv"),
        counts=read(given.results / "constraint_counts.csv"),
    )
    rows = judged(FOLDER / "statements.csv", JUDGES, found)
    write(given.results / "claims.csv", rows)


__all__ = ["CONFIRMED", "JUDGES", "PARTLY", "REFUTED", "Evidence", "main"]

if __name__ == "__main__":
    main()
