"""Rows of the comparison with peers, the tables that show them, and the sentences that they support or refute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from papers.common.judging import CONFIRMED, REFUTED, UNSUPPORTED, Comparison, clustered
from papers.common.tables import markdown

HIGHER = ("accuracy", "AUROC")
"""Measures of which more is better; of the others less is."""

SPLITS = 5
"""Runs, each on a split of its own, that a sentence about times or qualities needs at least."""

FASTER, BETTER, LESS = 1.1, 0.005, 0.01
"""Margins: how many times the speed, by how much more of a measure, by which share less of an error."""

BOTH = "what both measure"
"""Ends the name of an audit that leaves out what a structural attack does not measure."""

DEAR = (0.03, 0.01)
"""Shares of the records that a dear rule must save."""

MOST_TIMES = 5.0
"""How many times the time of pystreed an optimal tree may take."""

MOST_AUDIT = 3.0
"""How many times the time of SACRO-ML's structural attack an audit of what both measure may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One task, done by Glassine and by a peer.

    Attributes
    ----------
    peer, task, data : str
        Who else did what, with which records.
    ours_seconds, their_seconds : float or None
        Median seconds of the work alone; None where it was not done.
    measure : str
        What the qualities are, with its unit if it has one; empty where there is none.
    ours_quality, their_quality : float or None
        Mean qualities of the same runs.
    agreement : {"equal", "different", "open", ""}
        Whether two exact answers are equal; open where one is not proved, or answers a wider question.
    at_least : bool
        Whether the peer was stopped at its limit, so that its time is at least the one shown.
    note : str
        Why there is nothing to show, or what else is to be said.
    runs : int
        Number of runs of each.
    judged : bool
        Whether the sentences speak of the task.
    ours_processor, their_processor : float or None
        Median seconds that processors worked, on all cores together; None where ``clock`` names them.
    speeds, speeds_by_processor : tuple of float
        The peer's time over ours, run by run.
    clock : {"wall", "processor"}
        What the seconds and the speeds were measured by.
    gains : tuple of float
        By how much our quality is the better one, split by split; of errors, the logarithm of the ratio.
    """

    peer: str
    task: str
    data: str
    ours_seconds: float | None = None
    their_seconds: float | None = None
    measure: str = ""
    ours_quality: float | None = None
    their_quality: float | None = None
    agreement: str = ""
    at_least: bool = False
    note: str = ""
    runs: int = 0
    judged: bool = True
    ours_processor: float | None = None
    their_processor: float | None = None
    speeds: tuple[float, ...] = ()
    speeds_by_processor: tuple[float, ...] = ()
    gains: tuple[float, ...] = ()
    clock: str = "wall"

    def by_processor(self) -> Row:
        """Return the row with the seconds of processors in place of those on the clock."""
        if self.clock == "processor":
            return self
        return replace(
            self,
            clock="processor",
            ours_seconds=self.ours_processor,
            their_seconds=self.their_processor,
            speeds=self.speeds_by_processor,
            ours_processor=None,
            their_processor=None,
            speeds_by_processor=(),
        )

    @property
    def ratio(self) -> float | None:
        """The peer's time over ours: above 1 where Glassine is faster."""
        if self.ours_seconds is None or self.their_seconds is None:
            return None
        return self.their_seconds / self.ours_seconds

    def within_times(self, most: float) -> bool | None:
        """Return whether we take less than so many times the peer's time."""
        return exceeds([math.log(speed * most) for speed in self.speeds], 0.0)

    def faster(self) -> bool | None:
        """Return whether we are faster by the margin."""
        return exceeds([math.log(speed) for speed in self.speeds], math.log(FASTER))

    def as_fast(self) -> bool | None:
        """Return whether we are at least as fast: the mean is, and beyond chance we are not slower by the margin."""
        found = interval([math.log(speed) for speed in self.speeds])
        if found is None:
            return None
        if found.mean >= 0 and found.low > -math.log(FASTER):
            return True
        return False if found.high < 0 else None

    def better(self) -> bool | None:
        """Return whether our quality is the better one by the margin."""
        return exceeds(self.gains, BETTER if self.measure in HIGHER else LESS)


def exceeds(values: Sequence[float], margin: float) -> bool | None:
    """Return whether the 95 % interval of a mean lies above zero, and the mean above the margin.

    It does not if the whole interval lies at the margin or below. Otherwise, and with too few runs, that is open: None.
    """
    found = interval(values)
    if found is None:
        return None
    if found.low > 0 and found.mean > margin:
        return True
    return False if found.high <= margin else None


def interval(values: Sequence[float]) -> Comparison | None:
    """Return the mean of runs with its 95 % interval, which is not a number where a run is none; None for too few."""
    if len(values) < SPLITS:
        return None
    if not all(map(math.isfinite, values)):
        return Comparison(
            name="runs", better=0, tied=0, worse=0, against=0, mean=math.nan, low=math.nan, high=math.nan, splits=0
        )
    return clustered("runs", {str(run): [value] for run, value in enumerate(values)})


def gain(measure: str, ours: float, theirs: float) -> float:
    """Return by how much our quality is the better one; of an error, the logarithm of the ratio."""
    if measure in HIGHER:
        return ours - theirs
    return math.log(theirs / ours) if ours > 0 and theirs > 0 else math.nan


def all_of(*holds: bool | None) -> bool | None:
    """Return whether everything holds; None where that is open."""
    return False if False in holds else None if None in holds else True


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A sentence, whether the rows bear it out (None where they do not decide), and the figures behind it."""

    sentence: str
    holds: bool | None
    figures: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.sentence} ({self.figures})"

    @property
    def verdict(self) -> str:
        """Whether the sentence is confirmed, refuted or not supported here."""
        return {True: CONFIRMED, False: REFUTED, None: UNSUPPORTED}[self.holds]


def judged(
    sentence: str, rows: Sequence[Row], passes: Callable[[Row], bool | None], figures: Callable[[Sequence[Row]], str]
) -> Judgement:
    """Judge that every row passes.

    A row that was not measured, that has too few splits, whose interval includes both sides, or that fails only because
    the peer was stopped, leaves the sentence without support unless another one fails.
    """
    done = [row for row in rows if row.ratio is not None]
    open_rows = [row for row in rows if row.ratio is None or passes(row) is None or (row.at_least and not passes(row))]
    reasons = list(dict.fromkeys(row.note or undecided(row) for row in open_rows))
    failing = [row for row in done if passes(row) is False and not row.at_least]
    parts = [figures(done)] if done else []
    if failing:
        parts.append("fails on " + "; ".join(f"{row.task}, {row.data}" for row in failing))
    parts += reasons
    holds = False if failing else None if reasons or not done else True
    return Judgement(sentence=sentence, holds=holds, figures=", ".join(parts) or "not measured")


def undecided(row: Row) -> str:
    """Say why a row without a note decides nothing."""
    if row.ratio is None:
        return "not measured"
    return f"{'undecided' if len(row.speeds) >= SPLITS else f'fewer than {SPLITS} splits'} on {row.task}, {row.data}"


def ratios(rows: Sequence[Row]) -> str:
    """Say in what range the ratios of rows lie."""
    found = sorted(row.ratio for row in rows if row.ratio is not None)
    return f"ratios {figure(found[0])} to {figure(found[-1])}"


def gains(rows: Sequence[Row]) -> str:
    """Say in what range ratios and differences of quality lie."""
    found = sorted(
        row.ours_quality - row.their_quality
        for row in rows
        if row.ours_quality is not None and row.their_quality is not None
    )
    if not found:
        return ratios(rows)
    return f"{ratios(rows)}; {rows[0].measure} higher by {found[0]:.3f} to {found[-1]:.3f}"


def equalities(rows: Sequence[Row]) -> str:
    """Say how many answers are equal."""
    words = [row.agreement for row in rows]
    return ", ".join(f"{words.count(word)} {word}" for word in ("equal", "different", "open") if word in words)


def judge(rows: Sequence[Row]) -> list[Judgement]:
    """Judge every sentence about peers that have rows."""

    def of(*peers: str) -> list[Row]:
        return [row for row in rows if row.peer in peers and row.judged]

    found: list[Judgement] = []
    if of("interpret"):
        found.append(
            judged(
                "private additive models are fitted faster than by interpret",
                of("interpret"),
                Row.faster,
                ratios,
            )
        )
        found.append(
            judged(
                "and predict better",
                of("interpret"),
                Row.better,
                lambda done: "; ".join(
                    f"{row.measure} {quality(row.ours_quality)} and {quality(row.their_quality)}" for row in done
                ),
            )
        )
    if of("recursion"):
        found.append(
            judged(
                "possible records of 12 rules and more are counted faster than by the authors' recursion, "
                "with equal counts",
                of("recursion"),
                lambda row: all_of(row.faster(), row.agreement == "equal"),
                ratios,
            )
        )
    if of("diffprivlib"):
        found.append(
            judged(
                "private trees are more accurate than those of diffprivlib",
                of("diffprivlib"),
                Row.better,
                gains,
            )
        )
    both = [row for row in of("sacroml") if row.task.endswith(BOTH)]
    if both:
        found.append(
            judged(
                f"an audit of what both measure takes at most {MOST_AUDIT:g} times as long as SACRO-ML's attack, with "
                "equal counts",
                both,
                lambda row: row.within_times(MOST_AUDIT) and row.agreement == "equal",
                ratios,
            )
        )
    if of("pystreed"):
        found.append(
            judged(
                f"an optimal tree takes at most {MOST_TIMES:g} times as long as with pystreed",
                of("pystreed"),
                lambda row: row.within_times(MOST_TIMES),
                ratios,
            )
        )
    dear = [row for row in of("corels") if row.task.split()[3] in {f"{share:g}" for share in DEAR}]
    if dear:
        found.append(
            judged(
                "where rules are dear, an optimal rule list is found at least as fast as by CORELS",
                dear,
                Row.as_fast,
                ratios,
            )
        )
    exact = of("pystreed", "pydl8.5", "corels")
    if exact:
        found.append(
            judged(
                "no optimum differs from that of pystreed, pydl8.5 or CORELS",
                exact,
                lambda row: row.agreement in ("equal", "open"),
                equalities,
            )
        )
    return found


def figure(value: float) -> str:
    """Return a number with three significant digits, without an exponent."""
    if not value > 0:
        return f"{value:.3g}"
    text = f"{float(f'{value:.3g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text and value < 1000 else f"{float(f'{value:.3g}'):.0f}"


def quality(value: float | None) -> str:
    """Return a quality: four places below 10, a whole number where it is one or is large."""
    if value is None:
        return ""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"


def verdicts(judgements: Sequence[Judgement]) -> str:
    """Return the sentences with their verdicts as a table for a page."""
    lines = [(one.sentence, f"**{one.verdict}**", one.figures) for one in judgements]
    return markdown(("statement", "verdict", "peer's time / ours, and what else was compared"), lines)


COLUMNS = ("task", "data", "peer", "ours (s)", "peer (s)", "peer / ours", "measure", "ours", "peer's")


def cells(row: Row) -> tuple[str, ...]:
    """Return what stands in each column of a row."""
    if row.ratio is None or row.ours_seconds is None or row.their_seconds is None:
        ours = "" if row.ours_seconds is None else figure(row.ours_seconds)
        return (row.task, row.data, row.peer, ours, "none", "", "", "", "")
    bound = "> " if row.at_least else ""
    measure = row.measure if row.agreement in ("", "equal") else f"{row.measure}, {row.agreement}"
    return (
        row.task,
        row.data,
        row.peer,
        figure(row.ours_seconds),
        bound + figure(row.their_seconds),
        bound + figure(row.ratio),
        measure,
        quality(row.ours_quality),
        quality(row.their_quality),
    )


def plain(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal."""
    widths = [max(len(line[i]) for line in (header, *lines)) for i in range(len(header))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in (header, *lines)
    )
