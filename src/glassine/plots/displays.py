"""Displays of results, in scikit-learn's manner: ``from_…`` draws and returns one, ``plot`` draws it again.

matplotlib comes with an extra: ``pip install 'glassine[plots]'``. What was measured on records is drawn for checkers
only, who name themselves as the audience.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassine.attacks.outcome import Audience
from glassine.auditing.findings import Findings, MembershipFinding
from glassine.auditing.trying import TriedRemedy
from glassine.comparison import Comparison
from glassine.comparison.comparison_results import Measure
from glassine.errors import InvalidParameterError, check_choice, parameter
from glassine.plots.axes import COLOR, Array, OnAxes
from glassine.report.advice import TITLES, name_of

LEAKS = {"bits": "bits learned per record", "vulnerability": "vulnerability", "gap": "gap between training and test"}
"""What a model leaks, by the figure of a comparison."""


@dataclass(kw_only=True)
class ExposureDisplay(OnAxes):
    """The exposure curve: bits that an attacker learns about records, the most exposed first.

    Attributes
    ----------
    shares : ndarray of shape (s,)
        Shares of the records, rounded up, increasing.
    bits : ndarray of shape (s,)
        Bits learned about each of them.
    limit : float or None
        The policy's limit.
    """

    shares: Array
    bits: Array
    limit: float | None

    @classmethod
    def from_findings(
        cls, findings: Findings, *, limit: bool = True, audience: Audience = "public", ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the curve of an audit.

        Parameters
        ----------
        findings : Findings
            Findings with a reconstruction.
        limit : bool, default=True
            Whether the policy's limit is drawn.
        audience : {"public", "checker"}, default="public"
            For whom.

        Raises
        ------
        InvalidParameterError
            If the audience may not see a curve, or none was measured.
        """
        finding = _for(findings, audience).value("reconstruction")
        curve = () if finding is None else finding.exposure_curve
        if not curve:
            raise _unmeasured("an exposure curve", findings, "reconstruction")
        most = findings.policy.largest_bits_per_record if limit else None
        made = cls(shares=np.array([x for x, _ in curve]), bits=np.array([y for _, y in curve]), limit=most)
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        edges = np.array([0.0, *self.shares])
        ax.stairs(self.bits, edges, **{"color": COLOR, "fill": True, "alpha": 0.4, **line_kw})
        if self.limit is not None:
            ax.axhline(self.limit, color="black", linestyle="--", label=f"limit {self.limit:g} bits")
            ax.legend()
        ax.set(xlabel="share of the records, the most exposed first", ylabel="bits learned", xlim=(0, 1))


@dataclass(kw_only=True)
class MembershipDisplay(OnAxes):
    """The advantage of each membership attack with its interval; 0 is guessing. For checkers.

    Attributes
    ----------
    names : tuple of str
        The attacks that were measured.
    advantages : ndarray of shape (a,)
        Share of members called members less that of non-members called so.
    intervals : ndarray of shape (a, 2)
        Its interval.
    """

    names: tuple[str, ...]
    advantages: Array
    intervals: Array

    @classmethod
    def from_findings(
        cls, findings: Findings, *, audience: Audience = "public", ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw the attacks of an audit; they are measured on records, so that ``audience="checker"`` is needed.

        Raises
        ------
        InvalidParameterError
            If the audience may not see them, or none was measured.
        """
        finding = _for(findings, audience).value("membership")
        attacks = finding.attacks if isinstance(finding, MembershipFinding) else ()
        measured = [one for one in attacks if one.advantage is not None]
        if not measured:
            raise _unmeasured("membership attacks", findings, "membership")
        ends = [
            (
                one.advantage if one.advantage_low is None else one.advantage_low,
                one.advantage if one.advantage_high is None else one.advantage_high,
            )
            for one in measured
        ]
        made = cls(
            names=tuple(one.attack for one in measured),
            advantages=np.array([one.advantage for one in measured], dtype=float),
            intervals=np.array(ends, dtype=float),
        )
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        places = np.arange(len(self.names))[::-1]
        reach = np.abs(self.intervals.T - self.advantages)
        ax.errorbar(self.advantages, places, xerr=reach, **{"fmt": "o", "color": COLOR, "capsize": 3, **line_kw})
        ax.axvline(0, color="gray", linewidth=0.8)
        ax.set_yticks(places, self.names)
        ax.set(xlabel="membership advantage; 0 is guessing")


@dataclass(kw_only=True)
class FrontierDisplay(OnAxes):
    """Models of a comparison: how well each predicts against what it leaks. For checkers.

    Attributes
    ----------
    names : tuple of str
        The models that have both figures.
    leaks, values : ndarray of shape (m,)
        What each leaks, and its measure.
    private : tuple of bool
        Whether each was trained with a privacy budget.
    measure, leak : str
        Which figures these are.
    """

    names: tuple[str, ...]
    leaks: Array
    values: Array
    private: tuple[bool, ...]
    measure: Measure
    leak: str

    @classmethod
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        measure: Measure = "accuracy",
        leak: str = "bits",
        ax: Any = None,
        **line_kw: Any,
    ) -> Self:
        """Draw a comparison.

        Parameters
        ----------
        comparison : Comparison
            The comparison; its figures are exact, of many fits on the records.
        measure : str, default="accuracy"
            How well models predict.
        leak : {"bits", "vulnerability", "gap"}, default="bits"
            What they leak.

        Raises
        ------
        InvalidParameterError
            If no model has both figures.
        """
        check_choice(leak, "leak", tuple(LEAKS))
        both = [(row, row.measured(measure), getattr(row, leak)) for row in comparison.rows]
        drawn = [(row, value, leaked) for row, value, leaked in both if value is not None and leaked is not None]
        if not drawn:
            raise InvalidParameterError(
                f"no model of this comparison has both {TITLES[measure]} and {LEAKS[leak]}.",
                remedy=f"Name another {parameter('measure')} or {parameter('leak')}.",
            )
        made = cls(
            names=tuple(name_of(row) for row, _, _ in drawn),
            leaks=np.array([leaked.value for _, _, leaked in drawn]),
            values=np.array([value.value for _, value, _ in drawn]),
            private=tuple(row.private for row, _, _ in drawn),
            measure=measure,
            leak=leak,
        )
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        private = np.array(self.private)
        for chosen, marker, label in ((private, "o", "private"), (~private, "s", "not private")):
            if chosen.any():
                ax.scatter(self.leaks[chosen], self.values[chosen], **{"marker": marker, "label": label, **line_kw})
        for name, x, y in zip(self.names, self.leaks, self.values, strict=True):
            ax.annotate(name, (x, y), textcoords="offset points", xytext=(5, 4), fontsize="small")
        ax.legend()
        ax.set(xlabel=LEAKS[self.leak], ylabel=TITLES[self.measure])


@dataclass(kw_only=True)
class BudgetDisplay(OnAxes):
    """A measure of each private learner against epsilon, bars one standard error over the splits. For checkers.

    Attributes
    ----------
    lines : mapping of str to ndarray of shape (e, 3)
        By learner its epsilons, means and standard errors.
    references : mapping of str to float
        The measure of models without privacy.
    measure : str
        Which measure it is.
    """

    lines: dict[str, Array]
    references: dict[str, float]
    measure: Measure

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, *, measure: Measure = "accuracy", ax: Any = None, **line_kw: Any
    ) -> Self:
        """Draw a comparison; as for :meth:`FrontierDisplay.from_comparison`."""
        points: dict[str, list[tuple[float, float, float]]] = {}
        references = {}
        for row in comparison.rows:
            mean = row.measured(measure)
            if mean is not None and row.epsilon is not None:
                points.setdefault(row.model, []).append((row.epsilon, mean.value, mean.error or 0.0))
            elif mean is not None:
                references[name_of(row)] = mean.value
        if not points:
            raise InvalidParameterError(
                f"no private model of this comparison has {TITLES[measure]}.",
                remedy=f"Name another {parameter('measure')}.",
            )
        made = cls(lines={k: np.array(sorted(v)) for k, v in points.items()}, references=references, measure=measure)
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        for name, line in self.lines.items():
            label = name.replace("_", " ")
            ax.errorbar(line[:, 0], line[:, 1], yerr=line[:, 2], **{"marker": "o", "label": label, **line_kw})
        for name, value in self.references.items():
            ax.axhline(value, color="gray", linestyle="--", linewidth=0.8)
            ax.annotate(name, (1.0, value), xycoords=("axes fraction", "data"), fontsize="small", ha="right")
        ax.set_xscale("log")
        ax.legend()
        ax.set(xlabel="epsilon", ylabel=TITLES[self.measure])


@dataclass(kw_only=True)
class ScrubDisplay(OnAxes):
    """Copies that were tried: how well each predicts against the checks that it does not pass. For checkers.

    Attributes
    ----------
    names : tuple of str
        What each copy is.
    values : ndarray of shape (r,)
        The first measure of each copy.
    open_checks : ndarray of int, shape (r,)
        Checks that failed or could not run.
    within : tuple of bool
        Whether each is within policy.
    measure : str
        Which measure it is.
    """

    names: tuple[str, ...]
    values: Array
    open_checks: Array
    within: tuple[bool, ...]
    measure: str

    @classmethod
    def from_results(cls, results: Sequence[TriedRemedy], *, ax: Any = None, **line_kw: Any) -> Self:
        """Draw tried remedies, such as those of several sizes of leaves.

        Parameters
        ----------
        results : sequence of TriedRemedy
            From :func:`glassine.auditing.trying.try_remedy`, with records.

        Raises
        ------
        InvalidParameterError
            If there are none, or quality was not measured of one.
        """
        if not results or any(not one.measures for one in results):
            raise InvalidParameterError(
                "each copy needs its quality.", remedy="Try the remedies with records and the name of the target."
            )
        measure = next(iter(results[0].measures))
        checks = [[c.status for c in one.findings.checks] for one in results]
        made = cls(
            names=tuple(one.does for one in results),
            values=np.array([one.measures[measure]["after"] for one in results], dtype=float),
            open_checks=np.array([statuses.count("fail") + statuses.count("unknown") for statuses in checks]),
            within=tuple(one.findings.verdict == "within policy" for one in results),
            measure=measure,
        )
        return made.plot(ax=ax, **line_kw)

    def _draw(self, ax: Any, line_kw: dict[str, Any]) -> None:
        within = np.array(self.within)
        for chosen, marker, label in ((within, "o", "within policy"), (~within, "x", "not within policy")):
            if chosen.any():
                ax.scatter(
                    self.values[chosen], self.open_checks[chosen], **{"marker": marker, "label": label, **line_kw}
                )
        ax.legend()
        ax.set(xlabel=f"{self.measure.replace('_', ' ')} of the copy", ylabel="checks that failed or are open")


def _for(findings: Findings, audience: Audience) -> Findings:
    check_choice(audience, "audience", ("public", "checker"))
    if audience == "public":
        return findings.public()
    return findings.holder or findings


def _unmeasured(what: str, findings: Findings, name: str) -> InvalidParameterError:
    """Return the error of findings without a measurement, or of an audience that may not see it."""
    hidden = findings.audience == "checker" and (findings.holder or findings).value(name) is not None
    remedy = 'Pass audience="checker", and keep the picture.' if hidden else "Audit with what it needs: see the report."
    why = "are for the checker" if hidden else "were not measured"
    return InvalidParameterError(f"{what} {why}.", remedy=remedy)
