"""Displays: scikit-learn's conventions, and what each draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot

from glassine import Domain, Integer, plots
from glassine.attacks.outcome import NotApplicable
from glassine.auditing.findings import Findings
from glassine.comparison import Comparison, Mean, Row
from glassine.errors import GlassineError, InvalidParameterError
from tests.plots.test_notebook import DOMAIN, REGRESSION, additive
from tests.report.builders import findings


@pytest.fixture(autouse=True)
def _no_window() -> Iterator[None]:
    mpl.use("Agg")
    yield
    pyplot.close("all")


def comparison() -> Comparison:
    def mean(value: float) -> Mean:
        return Mean(value=value, error=0.01, values=(value,))

    def row(model: str, epsilon: float | None, accuracy: float, bits: float | None) -> Row:
        shown = None if bits is None else mean(bits)
        return Row(model=model, epsilon=epsilon, status="measured", accuracy=mean(accuracy), bits=shown)

    rows = (
        row("tree", 1.0, 0.8, 1.0),
        row("tree", 0.1, 0.7, 0.5),
        row("constant", None, 0.6, None),
    )
    return Comparison(
        target="ill",
        classes=("no", "yes"),
        n_records=100,
        n_attributes=2,
        largest_class=0.6,
        n_splits=3,
        test_share=0.3,
        seed=0,
        delta=1e-6,
        max_depth=3,
        max_rules=3,
        caveats=(),
        rows=rows,
        version="9.9.9",
    )


def exposed() -> Findings:
    made = findings()
    return replace(made, policy=replace(made.policy, largest_bits_per_record=9.0))


INFERRED = Domain({"age": Integer(1, 9, inferred=True)})


def unmeasured() -> Findings:
    return replace(findings(), measured=findings().measured.updated({"reconstruction": NotApplicable("no domain.")}))


MADE: dict[str, Callable[..., Any]] = {
    "shape of a number": lambda **ax: plots.ShapeDisplay.from_model(additive().model_, "age", **ax),
    "shape of a category": lambda **ax: plots.ShapeDisplay.from_model(additive().model_, "sex", **ax),
    "coefficients": lambda **ax: plots.CoefficientDisplay.from_model(REGRESSION, **ax),
    "exposure": lambda **ax: plots.ExposureDisplay.from_findings(exposed(), **ax),
    "membership": lambda **ax: plots.MembershipDisplay.from_findings(findings(), audience="checker", **ax),
    "frontier": lambda **ax: plots.FrontierDisplay.from_comparison(comparison(), **ax),
    "budget": lambda **ax: plots.BudgetDisplay.from_comparison(comparison(), **ax),
    "cut points": lambda **ax: plots.CutPointDisplay.from_domain(DOMAIN, "age", **ax),
}


@pytest.mark.parametrize("name", MADE)
def test_displays_follow_the_conventions_of_scikit_learn(name: str) -> None:
    display = MADE[name]()
    assert display.figure_ is display.ax_.figure
    assert display.ax_.has_data()
    axes = pyplot.subplots()[1]
    assert display.plot(ax=axes) is display
    assert display.ax_ is axes
    assert MADE[name](ax=axes).ax_ is axes
    # What is drawn differently is said to matplotlib's main call.
    display.plot(alpha=0.5)


def test_a_shape_has_the_scores_of_the_model() -> None:
    model = additive().model_
    display = plots.ShapeDisplay.from_model(model, "age")
    (term,) = (one for one in model.terms if one.name == "age")
    assert display.scores.tolist() == pytest.approx(term.scores[:-1, 0].tolist(), rel=1e-3)
    assert len(display.edges) == len(display.scores) + 1
    assert display.edges[1:-1].tolist() == pytest.approx(list(term.bins[0].cuts))


def test_a_budget_has_a_line_a_learner() -> None:
    display = plots.BudgetDisplay.from_comparison(comparison())
    assert display.lines["tree"].tolist() == [[0.1, 0.7, 0.01], [1.0, 0.8, 0.01]]
    assert list(display.references.values()) == [0.6]


def test_coefficients_have_their_errors() -> None:
    display = plots.CoefficientDisplay.from_model(REGRESSION)
    assert display.values.tolist() == [0.5, -1.5]
    assert display.errors.tolist() == [0.1, 0.4]
    assert np.all(display.errors > 0)


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plots.MembershipDisplay.from_findings(findings()), "for the checker"),
        (lambda: plots.MembershipDisplay.from_findings(findings().public(), audience="checker"), "not measured"),
        (lambda: plots.ExposureDisplay.from_findings(unmeasured()), "not measured"),
        (lambda: plots.ShapeDisplay.from_model(additive().model_, "x"), "no term"),
        (lambda: plots.ShapeDisplay.from_model(additive().model_, "age", output=3), "output"),
        (lambda: plots.FrontierDisplay.from_comparison(comparison(), leak="gap"), "no model"),
        (lambda: plots.FrontierDisplay.from_comparison(comparison(), leak="x"), "leak"),
        (lambda: plots.BudgetDisplay.from_comparison(comparison(), measure="auroc"), "no private model"),
        (lambda: plots.ScrubDisplay.from_results([]), "quality"),
        (lambda: plots.CutPointDisplay.from_domain(DOMAIN, "sex"), "no number"),
        (lambda: plots.CutPointDisplay.from_domain(INFERRED, "age"), "seen in the"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        draw()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(GlassineError, match=r"glassine\[plots\]"):
        plots.CutPointDisplay.from_domain(DOMAIN, "age")
