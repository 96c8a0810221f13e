"""Notebooks: every public result and model shows itself, small, static, and without what is for the checker."""

from __future__ import annotations

import html
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import glassine
from glassine import Category, Domain, Integer, Ledger, Policy, as_model, audit, parse_rules, plots, scrub
from glassine.auditing.remedy import Remedy
from glassine.auditing.trying import remedies_to_try, try_remedy
from glassine.capacity import LABELS, average_case, tree_class
from glassine.data import Sample
from glassine.errors import InvalidParameterError, UnreadableFileError
from glassine.exports import Displayed, DisplayedToCheckers
from glassine.files import FileContent
from glassine.formats import load_file
from glassine.formats.canonical import FileForm, written
from glassine.formats.judged import EnsembleFile, as_ensemble
from glassine.formats.registry import writer
from glassine.learners import EBMClassifier, PrivateSummary, PrivateTreeClassifier
from glassine.learners.additive.merging import Merged
from glassine.models import (
    AdditiveModel,
    Effect,
    Equal,
    Forest,
    NumericBins,
    Power,
    RegressionModel,
    Term,
    summarize_model,
)
from glassine.plots.notebook import DRAWN, MOST_BYTES
from glassine.privacy.receipt import Receipt
from glassine.scrubbing.additive import scrub_additive
from glassine.scrubbing.ensemble import scrub_ensemble
from glassine.scrubbing.regression import scrub_regression
from glassine.surrogates import SurrogateExplainer
from glassine.verification import Claim, lower_bound_from_outputs, verify_exhaustively
from tests.report.builders import HOSTILE, findings, large_findings, near_optimal_trees
from tests.surrogates.scenes import PEOPLE, lender, people

NOT_RESULTS = re.compile(
    r"Settings|Desk$|Person$|Error|Noise|Max\b|Search$|Shape$|Candidate|Task|Display$|SvgDrawing|\bBinary|Category|Integer|Real$|Prefix|"
    r"Group|AtMostOne|Combinations|ExactlyOne|Implies|Intervals|Between|OneOf|Shares|Metric|Distance|Perturbation|Shadows|"
    r"Adversary|Sample|Space|Region|RegionCounter|CountTable|Format$|Reserve|Randomness|PrivacyUnit|Reader|Access|Limits|"
    r"Claim|Runs|BlackBox|NumericAnswer|ContrastConstraints|Criterion|DeclaredClass|Published$|CountBound|Parallel|"
    r"Selection|Stated|Statements|LearnedCode|Editor|Model$|Guarantee"
)
"""Parameters, settings, events and errors."""
PARTS = {
    "ExplanationChoice",
    "ExplanationGoal",
    "ExplanationShares",
    "SeveralModels",
    "Protocol",
    *("Measured", "NotApplicable", "Failed", "Check", "Remedy", "Figures", "Mean", "Result", "Row"),
    *("CleanCopy", "FileForm", "CategoryBins", "NumericBins", "Cell", "Evidence", "Effect", "Equal", "FitStatistics"),
    *(
        "Power",
        "Rule",
        "Edit",
        "Term",
        "Branch",
        "Node",
        "BudgetChange",
        "Account",
        "Entry",
        "Payment",
        "Flag",
        "Flags",
    ),
    *("ConformedColumns", "Page", "Section", "ReleaseFile", "AnswerErrors", "Change", "Contrast", "Measures"),
    *("AttributeTree", "NodeCounts", "Provenance"),
}
"""Parts of results, which show themselves as a whole."""

RNG = np.random.default_rng(0)
RECORDS = pl.DataFrame({"age": RNG.integers(18, 90, 300), "sex": RNG.choice(["f", "m"], 300)}).with_columns(
    ill=pl.when(pl.col("age") > 60).then(pl.lit("yes")).otherwise(pl.lit("no"))
)
DOMAIN = Domain({"age": Integer(18, 99, thresholds=(30, 45, 60)), "sex": Category(("f", "m"))})
TREE = as_model(
    DecisionTreeClassifier(max_depth=4, random_state=0).fit(
        RECORDS.select("age").to_numpy(), RNG.choice(["a", "b"], 300)
    ),
    DOMAIN.restrict(["age"]),
)
RULES = parse_rules(
    "classes: [a] [b]\nif [age <= 30] and [sex = f] then [b] ([3 ; 41] examples)\nelse [a] ([52 ; 9] examples)\n"
)
REGRESSION = RegressionModel(
    attributes=("age", "<i>sex"),
    effects=(
        Effect(name="age", factors=(Power(attribute="age"),), coefficients=(0.5,), errors=(0.1,)),
        Effect(name="<i>sex", factors=(Equal(attribute="<i>sex", value="f"),), coefficients=(-1.5,), errors=(0.4,)),
    ),
    intercept=(1.0,),
    link="logit",
    classes=(0, 1),
)


def ledger(path: Path) -> Ledger:
    made = Ledger(path / "budget.sqlite")
    made.budget("patients", 1)
    made.charge("patients", 0.25, note="<script>a note</script>")
    return made


def additive() -> Any:
    return EBMClassifier(domain=DOMAIN, classes=["no", "yes"]).fit(RECORDS.select("age", "sex"), RECORDS["ill"])


def explained() -> Any:
    return SurrogateExplainer(lender, 60, domain=PEOPLE, distance="gower", classes=("no", "maybe", "yes")).fit(
        pl.DataFrame(people())
    )


def query() -> dict[str, Any]:
    return {name: column[0] for name, column in people().items()}


def tried() -> Any:
    file = FileContent(path=Path("tree.json"), data=written(TREE, writer("json", TREE)))
    limits, public = Policy(smallest_leaf=10), DOMAIN.restrict(["age"])
    one = remedies_to_try(audit(load_file(file, public), domain=public, policy=limits).advice)[0]
    return try_remedy(file, one, domain=public, members=Sample(RECORDS.select("age")), policy=limits)


def model_file(path: Path) -> Any:
    (path / "rules.txt").write_text("# Ada\nif [a] then [true]\nelse [false]\n")
    return load_file(path / "rules.txt")


def deep_tree() -> Any:
    fitted = DecisionTreeClassifier(random_state=0).fit(RNG.normal(size=(3000, 10)), RNG.integers(0, 3, 3000))
    return as_model(fitted)


def wide_additive() -> Any:
    names = tuple(f"a{i}" for i in range(200))
    terms = (Term(bins=(NumericBins(name, tuple(range(1, 30))),), scores=RNG.normal(size=31)) for name in names)
    return AdditiveModel(attributes=names, terms=tuple(terms), intercept=(0.0,), link="identity")


def forest() -> Any:
    fitted = RandomForestClassifier(5, max_depth=3, random_state=0)
    return as_ensemble(fitted.fit(RECORDS.select("age").to_numpy(), RECORDS["ill"].to_list()))


def private_tree() -> Any:
    learner = PrivateTreeClassifier(epsilon=1, max_depth=2, classes=["no", "yes"], domain=DOMAIN)
    return learner.fit(RECORDS.select("age", "sex"), RECORDS["ill"])


def bound() -> Any:
    first, second = RNG.normal(0, 1, 2000).tolist(), RNG.normal(2, 1, 2000).tolist()
    return lower_bound_from_outputs(first, second, Claim(mu=1.0), score=float)


def average() -> Any:
    return average_case(tree_class(24, 3, 2), 24_421, 48_842, published=LABELS)


MADE: dict[str, Callable[[Path], Any]] = {
    "DecisionTree": lambda path: TREE,
    "RuleList": lambda path: RULES,
    "AdditiveModel": lambda path: additive().model_,
    "ShapeFunction": lambda path: summarize_model(additive().model_)[0],
    "Contributions": lambda path: additive().model_.contributions({"age": np.array([30]), "sex": np.array(["f"])}),
    "RegressionModel": lambda path: REGRESSION,
    "Forest": lambda path: Forest(trees=(TREE, TREE)),
    "ModelFile": model_file,
    "TreeEnsemble": lambda path: forest(),
    "EnsembleFile": lambda path: EnsembleFile(
        model=forest(), form=FileForm(format="x", n_bytes=1, canonical=False), data=b""
    ),
    "Merged": lambda path: Merged(model=additive().model_, certificate=private_tree().certificate_),
    "Domain": lambda path: DOMAIN,
    "Policy": lambda path: Policy(),
    "Ledger": ledger,
    "Verification": lambda path: ledger(path).verify(),
    "Certificate": lambda path: private_tree().certificate_,
    "Receipt": lambda path: object.__new__(Receipt),
    "Findings": lambda path: audit(TREE, RECORDS.select("age"), domain=DOMAIN.restrict(["age"])),
    "ScrubResult": lambda path: scrub(TREE, DOMAIN.restrict(["age"]), smallest_leaf=10),
    "AdditiveScrub": lambda path: scrub_additive(additive().model_, DOMAIN),
    "EnsembleScrub": lambda path: scrub_ensemble(forest(), Domain({"x0": Integer(18, 99)}), lambda literal: literal),
    "RegressionScrub": lambda path: scrub_regression(REGRESSION),
    "SurrogateRelease": lambda path: explained().release(),
    "Explanation": lambda path: explained().explain(query()),
    "Multiplicity": lambda path: near_optimal_trees(),
    "AverageCase": lambda path: average(),
    "GameBound": lambda path: average().of_design,
    "LowerBound": lambda path: bound(),
    "ExhaustiveResult": lambda path: verify_exhaustively(lambda rows: {0: 0.0}, "ab", max_records=2, epsilon=0.0),
    "HtmlDisplay": lambda path: plots.show(TREE),
    "a fitted estimator": lambda path: private_tree(),
    "an estimator before its fit": lambda path: PrivateTreeClassifier(epsilon=1.0, domain=DOMAIN),
    "a summary before its fit": lambda path: PrivateSummary(epsilon=1.0, domain=DOMAIN),
    "a tree of 3,000 leaves": lambda path: large_findings(3000),
    "a deep tree": lambda path: deep_tree(),
    "a rule list of 500 rules": lambda path: parse_rules(
        "classes: [a] [b]\n"
        + "".join(f"{'else ' * (i > 0)}if [x{i}] then [a] ([{30 + i} ; 4] examples)\n" for i in range(500))
        + "else [b] ([3 ; 90] examples)\n"
    ),
    "a regression of 400 columns": lambda path: RegressionModel(
        attributes=tuple(f"x{i}" for i in range(400)),
        effects=tuple(
            Effect(name=f"x{i}", factors=(Power(attribute=f"x{i}"),), coefficients=(0.5,), errors=(0.1,))
            for i in range(400)
        ),
        intercept=(0.0,),
        link="identity",
    ),
    "an additive model of 200 terms": lambda path: wide_additive(),
    "a domain of 40,000 values": lambda path: Domain(
        {**{f"n{i}": Integer(0, 10**6) for i in range(500)}, "c": Category(tuple(f"v{i}" for i in range(40_000)))}
    ),
    "hostile names": lambda path: findings(notes=tuple(HOSTILE), advice=tuple(Remedy(text=name) for name in HOSTILE)),
}


def public_classes() -> dict[str, type]:
    """Return every class that a package of Glassine exports, by its name."""
    packages = [
        importlib.import_module(f"glassine.{one.name}") for one in pkgutil.iter_modules(glassine.__path__) if one.ispkg
    ]
    every = [getattr(module, name) for module in (glassine, *packages) for name in getattr(module, "__all__", ())]
    return {one.__name__: one for one in every if inspect.isclass(one) and one.__module__.startswith("glassine")}


def test_every_public_class_shows_itself_or_is_no_result() -> None:
    classes = public_classes()
    assert {"DecisionTree", "Findings", "Ledger", "Domain"} <= classes.keys()
    silent = {name for name, kind in classes.items() if not hasattr(kind, "_repr_html_")}
    assert {name for name in silent - PARTS if not NOT_RESULTS.search(name)} == set()
    shown = {name for name, kind in classes.items() if issubclass(kind, Displayed)}
    assert {name for name in shown if not issubclass(classes[name], DisplayedToCheckers)} <= MADE.keys()


def subclasses(kind: Any) -> list[Any]:
    return [one for child in kind.__subclasses__() for one in (child, *subclasses(child))]


class Elements(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))


@pytest.mark.parametrize("name", MADE)
def test_what_is_shown_is_small_and_static(name: str, tmp_path: Path) -> None:
    value = MADE[name](tmp_path)
    html = value._repr_html_()
    assert len(html.encode()) < MOST_BYTES
    elements = Elements()
    elements.feed(html)
    assert not {"script", "iframe", "link", "img", "object", "base", "form"} & {tag for tag, _ in elements.found}
    attributes = [pair for _, pairs in elements.found for pair in pairs]
    assert not [name for name, _ in attributes if name.startswith("on") or name == "src"]
    assert all(str(value).startswith("#") for name, value in attributes if name == "href")
    assert not re.search(r"@import|url\((?!#)", html)
    # A notebook with the same value twice, or with another one, has no two elements of one name.
    assert len(names := re.findall(r'\sid="([^"]+)"', html)) == len(set(names))
    assert set(re.findall(r"url\(#([^)]+)\)", html)) - {"hatch"} <= set(names)


FOR_CHECKERS: dict[str, Any] = {kind.__name__: kind for kind in subclasses(DisplayedToCheckers)}


@pytest.mark.parametrize("kind", FOR_CHECKERS.values(), ids=FOR_CHECKERS)
def test_what_was_measured_on_records_is_not_shown_unasked(kind: Any) -> None:
    if kind.__name__ in ("TriedRemedy", "Comparison"):
        return  # What these show of themselves is below.
    # Without a field there is nothing that could be shown.
    bundle: dict[str, str] = object.__new__(kind)._repr_mimebundle_()
    assert "for the checker" in bundle["text/html"]
    assert bundle["text/plain"] == f"<{kind.__name__}, for the checker>"


def test_a_tried_remedy_shows_what_it_does_and_to_checkers_what_came_out() -> None:
    one = tried()
    assert "Tried:" not in one._repr_html_()
    assert one.remedy.plain in html.unescape(one._repr_html_())
    assert "Tried: " in plots.show(one, "checker").html


def test_findings_show_what_the_public_may_see() -> None:
    shown = findings()
    assert shown.audience == "checker"
    assert shown._repr_html_() == shown.public()._repr_html_() == shown.show().html
    assert shown.show("checker").html != shown.show().html
    with pytest.raises(InvalidParameterError, match="audience"):
        shown.show("everyone")  # type: ignore[arg-type]


def test_what_a_notebook_shows_of_a_private_model_does_not_depend_on_the_records() -> None:
    model, limits = private_tree().model_, Policy(accept_guarantee=True)
    columns = RECORDS.select("age", "sex")
    one, other = (audit(model, data, domain=DOMAIN, policy=limits) for data in (columns, columns.head(60)))
    assert one.holder is not None
    assert one._repr_html_() == other._repr_html_()
    assert one.show("checker").html != other.show("checker").html


def test_small_counts_of_a_model_are_suppressed() -> None:
    html = RULES._repr_html_()
    assert "3 a" not in html
    assert "44 records" in html
    inferred = Domain({"age": Integer(1913, 8713, inferred=True)})._repr_html_()
    assert not re.search("1,?913|8,?713", inferred)
    assert "void a guarantee" in inferred


def test_what_nothing_draws_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="nothing draws a dict"):
        plots.show({})


def test_every_name_of_a_drawn_class_exists() -> None:
    for name in DRAWN:
        module, _, kind = name.rpartition(".")
        assert inspect.isclass(getattr(importlib.import_module(module), kind)), name


# Drawings: global views, and the way of one record.


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.draw_tree(TREE),
        lambda: plots.draw_tree(TREE, record={"age": 40}, max_depth=2, counts="published"),
        lambda: plots.draw_tree(TREE, orientation="TD"),
        lambda: plots.draw_tree(TREE, record={"age": 40}, max_depth=2, orientation="TD", counts="published"),
        lambda: plots.draw_rules(RULES),
        lambda: plots.draw_rules(RULES, record={"age": 40, "sex": "f"}),
        lambda: plots.draw_shapes(additive().model_),
        lambda: plots.draw_contributions(additive().model_, {"age": 40, "sex": "f"}),
        lambda: plots.draw_coefficients(REGRESSION),
        lambda: plots.draw_shapes(wide_additive(), terms=["a3", "a199"]),
        lambda: plots.draw_domain(DOMAIN),
    ],
)
def test_drawings_are_whole_files_of_svg(draw: Callable[[], plots.SvgDrawing], tmp_path: Path) -> None:
    drawing = draw()
    drawing.save(tmp_path / "drawing.svg")
    root = ElementTree.parse(tmp_path / "drawing.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert drawing._repr_svg_() == drawing.svg
    with pytest.raises(UnreadableFileError, match="set overwrite"):
        drawing.save(tmp_path / "drawing.svg")
    drawing.save(tmp_path / "drawing.svg", overwrite=True)


def on_path(drawing: plots.SvgDrawing) -> list[str]:
    found = re.findall(r'<g class="[^"]*on-path"[^>]*><title>([^<]*)', drawing.svg)
    return [html.unescape(title) for title in found]


@pytest.mark.parametrize("orientation", ["LR", "TD"])
def test_the_path_of_a_record_is_that_of_the_tree(orientation: Any) -> None:
    for age in (20, 47, 61, 88):
        drawn = on_path(plots.draw_tree(TREE, record={"age": age}, orientation=orientation))
        leaf = TREE.cells[int(TREE.apply({"age": np.array([age])})[0])]
        assert len(drawn) >= 1
        # Every condition on the way holds of the record.
        assert all(eval(title.partition(";")[0], {"age": age}) for title in drawn)  # noqa: S307
        assert f"; {(TREE.classes or ())[leaf.evidence.label or 0]}; " in drawn[-1]


def test_the_rule_that_captures_a_record_stands_out() -> None:
    assert [title[:3] for title in on_path(plots.draw_rules(RULES, record={"age": 20, "sex": "f"}))] == ["age"]
    assert [title[:9] for title in on_path(plots.draw_rules(RULES, record={"age": 50, "sex": "f"}))] == ["otherwise"]


OTHER: Any = "no tree"


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plots.draw_tree(OTHER), "draws trees"),
        (lambda: plots.draw_tree(TREE, max_depth=0), "at least 1"),
        (lambda: plots.draw_tree(TREE, orientation=OTHER), "orientation"),
        (lambda: plots.draw_rules(OTHER), "draws rule lists"),
        (lambda: plots.draw_shapes(OTHER), "draws additive models"),
        (lambda: plots.draw_shapes(additive().model_, terms=["x"]), "no term 'x'"),
        (lambda: plots.draw_coefficients(OTHER), "draws regressions"),
        (lambda: plots.draw_tree(TREE, counts=OTHER), "counts"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        draw()
