"""Statements of the papers: a verdict follows from its comparisons, and the pages print no other."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from papers.common.judging import (
    AT_LEAST,
    CONFIRMED,
    DERIVED,
    EVERY,
    FIGURE,
    IN_PRINT,
    INCOMPARABLE,
    MEAN,
    NONE,
    REFUTED,
    UNSUPPORTED,
    VERDICTS,
    Comparison,
    cases_of,
    clustered,
    compared,
    estimated,
    exact,
    interval_of,
    supported,
    verdict,
    within,
)
from papers.common.results import images_of, page_of, read, select, write
from papers.common.tables import fill
from tests.conftest import ROOT

PAPERS = sorted(path.parent for path in (ROOT / "papers").glob("*/statements.csv"))


def of(values: list[float]) -> tuple[Comparison, ...]:
    """Compare the values of five splits, one each."""
    return (clustered("five splits", {str(seed): [value] for seed, value in enumerate(values)}),)


def test_five_papers_have_statements() -> None:
    assert [paper.name for paper in PAPERS] == [
        "decision-tree-disclosure",
        "dp-ebm",
        "microaggregation-surrogates",
        "reconstruction",
        "smooth-sensitivity-rule-lists",
    ]


@pytest.mark.parametrize("folder", PAPERS, ids=lambda folder: folder.name)
def test_a_verdict_and_its_figures_are_those_of_its_comparisons(folder: Path) -> None:
    results = folder / "results"
    claims = read(results / "claims.csv")
    assert [row["judge"] for row in claims] == [row["judge"] for row in read(folder / "statements.csv")]
    for row in claims:
        comparisons = compared(results, row["judge"])
        assert row["verdict"] in VERDICTS
        assert row["verdict"] == verdict(row["rule"], comparisons), row["judge"]
        assert row["better / tied / worse"] == cases_of(comparisons), row["judge"]
        bands = row["rule"] in (FIGURE, DERIVED)
        assert row["difference"] == ("" if bands else interval_of(comparisons)), row["judge"]
        assert row["comparisons for it"] == ("" if bands else supported(comparisons)), row["judge"]
        assert (row["rule"] == NONE) == (not comparisons), row["judge"]


JUDGED = ("claims.csv", "evidence.csv")
"""What is written from the other results of a paper."""


def judged_again(folder: Path, results: Path) -> dict[str, str]:
    """Return the judged files that follow from a folder of results."""
    command = [sys.executable, str(folder / "claims.py"), "--results", str(results)]
    subprocess.run(command, check=True, capture_output=True)
    return {name: (results / name).read_text() for name in JUDGED}


@pytest.mark.slow
@pytest.mark.parametrize("folder", PAPERS, ids=lambda folder: folder.name)
def test_what_is_judged_follows_from_what_was_measured(folder: Path, tmp_path: Path) -> None:
    """A figure, a verdict or a word of what was seen that was changed by hand does not come out again."""
    results = tmp_path / "results"
    shutil.copytree(folder / "results", results)
    assert judged_again(folder, results) == {name: (folder / "results" / name).read_text() for name in JUDGED}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "script", "tables"),
    [
        ("decision-tree-disclosure", "figures", "figure_3 figure_4 figure_6 figure_7 figure_8 figure_9"),
        ("microaggregation-surrogates", "figures", "figure_4 figure_5"),
        ("reconstruction", "comparing", "points comparisons"),
        ("reconstruction", "figures", "figure_4"),
        ("smooth-sensitivity-rule-lists", "table_1", "table_1"),
        ("smooth-sensitivity-rule-lists", "table_2", "table_2"),
    ],
)
def test_tables_follow_from_what_was_measured(paper: str, script: str, tables: str, tmp_path: Path) -> None:
    folder, results = ROOT / "papers" / paper, tmp_path / "results"
    shutil.copytree(folder / "results", results)
    names = [f"{table}.csv" for table in tables.split()]
    for name in names:
        (results / name).unlink()
    command = [sys.executable, str(folder / f"{script}.py"), "--results", str(results), "--images", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    for name in names:
        assert (results / name).read_text() == (folder / "results" / name).read_text(), f"{name}: run {script}.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "file", "column"),
    [
        ("decision-tree-disclosure", "readers.csv", "d_overall"),
        ("dp-ebm", "table_2.csv", "mean"),
        ("microaggregation-surrogates", "local_trees.csv", "fidelity"),
        ("reconstruction", "grid.csv", "dist_g"),
        ("smooth-sensitivity-rule-lists", "figure_4.csv", "test"),
    ],
)
def test_a_planted_figure_changes_what_is_judged(paper: str, file: str, column: str, tmp_path: Path) -> None:
    folder, results = ROOT / "papers" / paper, tmp_path / "results"
    shutil.copytree(folder / "results", results)
    rows = read(results / file)
    write(results / file, [row | {column: float(row[column]) / 2} if row[column] else row for row in rows], 7)
    assert judged_again(folder, results) != {name: (folder / "results" / name).read_text() for name in JUDGED}


def test_what_only_printed_figures_bear_out_is_confirmed_in_print() -> None:
    printed, here = exact("in print: AUROC", [1.0]), exact("here, AUROC", [1.0])
    assert [verdict(EVERY, some) for some in ((printed,), (here,), (printed, here))] == [IN_PRINT, CONFIRMED, CONFIRMED]
    assert verdict(EVERY, (exact("in print: AUROC", [-1.0]),)) == REFUTED
    claims = {row["judge"]: row["verdict"] for row in read(ROOT / "papers" / "dp-ebm" / "results" / "claims.csv")}
    assert {judge for judge, found in claims.items() if found == IN_PRINT} == {"averages"}


def test_a_changed_figure_is_not_the_verdict_any_more() -> None:
    results = ROOT / "papers" / "reconstruction" / "results"
    kept = compared(results, "accuracy_trees")
    assert verdict(EVERY, kept) == REFUTED
    without = tuple(each for each in kept if not each.worse)
    assert verdict(EVERY, without) == CONFIRMED


@pytest.mark.parametrize("folder", PAPERS, ids=lambda folder: folder.name)
def test_a_page_prints_the_judged_statements_and_three_plots_in_few_words(folder: Path) -> None:
    text = page_of(folder).read_text()
    assert fill(text, folder / "results") == text, "run papers/run_all.py --judge"
    shown = re.findall(rf"\(\.\./images/papers/{folder.name}/([a-z0-9-]+\.svg)\)", text)
    assert sorted(shown) == sorted(path.name for path in images_of(folder).glob("*.svg"))
    assert len(shown) == 3
    assert max(path.stat().st_size for path in images_of(folder).glob("*.svg")) < 200_000
    assert sum(path.stat().st_size for path in (folder / "results").glob("*.csv")) < 600_000
    assert len([word for word in text.split() if word.strip("|-/")]) < 2_500  # Most are cells of judged statements


PROSE = [
    ("reconstruction", "accuracy_trees", "DL8.5, run here against CART", "leak more at {worse} of {cases} levels"),
    ("reconstruction", "accuracy_lists", "", "is refuted at {worse} of {cases} levels"),
    ("dp-ebm", "beyond_one", "boosting gdp", "on {worse} of {cases} settings here"),
    ("dp-ebm", "penalized", "", "tied with them in every one of the {cases} settings"),
    ("smooth-sensitivity-rule-lists", "chance", "", "{tied} of {cases} levels, and each difference"),
    ("smooth-sensitivity-rule-lists", "inverse", "", "{better} better, {tied} tied, {worse} worse"),
]
"""What a page's text says of comparisons whose name has a part: of Adult alone where several match."""


@pytest.mark.parametrize(("paper", "judge", "part", "words"), PROSE)
def test_the_text_of_a_page_counts_what_its_comparisons_count(paper: str, judge: str, part: str, words: str) -> None:
    folder = ROOT / "papers" / paper
    found = [each for each in compared(folder / "results", judge) if part in each.name]
    found = [each for each in found if "Adult" in each.name] or found if part else found
    names = ("better", "tied", "worse", "cases")
    counts = {name: sum(getattr(each, name) for each in found) for name in names}
    assert words.format(**counts) in page_of(folder).read_text()


def test_levels_of_a_split_are_no_more_evidence_than_the_split() -> None:
    means = {"0": [0.3], "1": [-0.1], "2": [0.1]}
    many = {seed: values * 50 for seed, values in means.items()}
    once, repeated = clustered("levels", means), clustered("levels", many)
    assert (once.low, once.high) == pytest.approx((repeated.low, repeated.high))
    assert once.low < 0 < once.mean


def test_the_interval_over_five_splits_is_students() -> None:
    (found,) = of([1, 2, 3, 4, 5])
    half = 2.7764451 * math.sqrt(2.5) / math.sqrt(5)
    assert (found.low, found.mean, found.high) == pytest.approx((3 - half, 3, 3 + half))


def test_a_tendency_needs_its_whole_interval_on_one_side() -> None:
    assert verdict(MEAN, of([1, 1, 1.1, 0.9, 1])) == CONFIRMED
    assert verdict(MEAN, of([-1, -1, -1.1, -0.9, -1])) == REFUTED
    assert verdict(MEAN, of([1, -1, 2, -2, 0.5])) == UNSUPPORTED
    assert verdict(MEAN, of([1, 1, 1.1, 0.9, 1]) + of([-1, -1, -1, -1, -1.1])) == UNSUPPORTED


def test_one_exact_counterexample_refutes_a_statement_without_exception() -> None:
    assert verdict(EVERY, (exact("cases", [1.0] * 99 + [-0.1]),)) == REFUTED
    assert verdict(EVERY, (exact("cases", [1.0] * 100),)) == CONFIRMED
    assert verdict(EVERY, (exact("cases", [0.0] * 100),)) == UNSUPPORTED
    assert verdict(AT_LEAST, (exact("cases", [0.0] * 100),)) == CONFIRMED


def test_an_estimated_counterexample_within_chance_leaves_a_statement_open() -> None:
    cases = [(1.0, 0.1)] * 12 + [(-0.21, 0.1)]
    found = estimated("thirteen budgets", cases, 100)
    assert (found.better, found.tied, found.worse, found.against) == (12, 0, 1, 0)
    assert verdict(EVERY, (found,)) == UNSUPPORTED
    assert verdict(EVERY, (estimated("thirteen budgets", [*cases[:12], (-0.5, 0.1)], 100),)) == REFUTED


def test_a_case_below_in_mean_leaves_a_universal_statement_unconfirmed_and_is_counted() -> None:
    cases = [(1.0, 0.1)] * 12 + [(-0.05, 0.1)]
    found = estimated("thirteen budgets", cases, 100)
    assert (found.tied, found.below, found.worse) == (1, 1, 0)
    assert cases_of([found]) == "12 / 1(1) / 0"
    assert (verdict(EVERY, (found,)), verdict(AT_LEAST, (found,))) == (UNSUPPORTED, UNSUPPORTED)
    above = estimated("thirteen budgets", [*cases[:12], (0.05, 0.1)], 100)
    assert (above.below, verdict(EVERY, (above,))) == (0, CONFIRMED)


def test_dependent_cases_do_not_shrink_the_error_of_their_mean() -> None:
    one, many = estimated("a budget", [(0.1, 0.1)], 100), estimated("budgets", [(0.1, 0.1)] * 13, 100)
    assert (one.low, one.high) == pytest.approx((many.low, many.high))


def test_the_error_of_few_splits_is_uncertain_itself() -> None:
    few, many = (estimated("a budget", [(0.25, 0.1)] * 3, splits) for splits in (5, 1_000_000))
    assert (few.high - few.mean, many.high - many.mean) == pytest.approx((0.27764451, 0.1959964), abs=1e-6)
    assert (few.better, few.tied, many.better) == (0, 3, 3)
    assert (verdict(EVERY, (few,)), verdict(EVERY, (many,))) == (UNSUPPORTED, CONFIRMED)


def test_comparisons_claim_no_more_splits_than_were_measured() -> None:
    papers = ROOT / "papers"
    rows = read(papers / "smooth-sensitivity-rule-lists" / "results" / "figure_4.csv")
    few = min(int(row["seeds"]) for row in rows if row["method"] == "exponential rule list")
    lists = compared(papers / "smooth-sensitivity-rule-lists" / "results", "exponential")
    assert {each.splits for each in lists} == {few} == {20}
    for number, name in ((2, "AUROC"), (3, "RMSE")):
        table = read(papers / "dp-ebm" / "results" / f"table_{number}.csv")
        few = min(int(row["splits"]) for row in table if row["method"] in ("penalized", "interpret"))
        found = {each.name: each.splits for each in compared(papers / "dp-ebm" / "results", "penalized_peer")}
        assert found[name] == few == 5


def test_a_figure_outside_the_papers_band_is_never_confirmed() -> None:
    assert verdict(FIGURE, (within("figures", [(1.0, 0.9, 1.0), (2.0, 2.0, 2.0)]),)) == CONFIRMED
    missed = (within("figures", [(1.0, 0.9, 1.0), (2.1, 2.0, 2.0)]),)
    assert (verdict(FIGURE, missed), verdict(DERIVED, missed)) == (UNSUPPORTED, REFUTED)


def test_nothing_compared_confirms_nothing() -> None:
    assert verdict(NONE, of([1, 1, 1, 1, 1])) == INCOMPARABLE
    assert {verdict(rule, ()) for rule in (EVERY, AT_LEAST, MEAN, FIGURE, DERIVED)} == {UNSUPPORTED}
    assert verdict(EVERY, (clustered("nothing", {}),)) == UNSUPPORTED
    with pytest.raises(ValueError, match="no rule is named"):
        verdict("some", of([1, 1, 1, 1, 1]))


def test_each_part_of_a_paper_is_in_a_file_that_exists_or_has_a_reason() -> None:
    lines = [line for line in (ROOT / "papers" / "COVERAGE.md").read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("| part")]
    assert len(rows) > 90
    for part, where, reason in rows:
        assert where or reason, part
        path, *symbols = re.findall(r"`([^`]+)`", where) or [""]
        text = (ROOT / path).read_text() if path else ""
        assert not [symbol for symbol in symbols if symbol not in text], part
        assert symbols or not part.startswith("II-B"), part


def test_areas_below_a_half_are_as_many_as_the_list_of_parts_says() -> None:
    (line,) = [one for one in (ROOT / "papers" / "COVERAGE.md").read_text().splitlines() if one.startswith("| 8.3, ")]
    rows = select(read(ROOT / "benchmarks" / "baselines.csv"), model="diffprivlib logistic")
    below = [row for row in rows if row["AUROC"] and float(row["AUROC"]) < 0.5]
    assert {row["data"] for row in below} == {"COMPAS"}
    first, second = (len(select(below, epsilon=epsilon)) for epsilon in ("0.1", "0.5"))
    assert len(below) == first + second
    assert f"of {len(select(rows, epsilon='0.1'))} fits" in line
    assert f"{first} at epsilon 0.1 and {second} at 0.5 are below 0.5" in line


ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII")
NUMBERED: dict[str, dict[str, int | tuple[str, ...]]] = {
    "reconstruction": {"Definition": 4, "Remark": 1, "Figure": 6, "Table": ROMAN, "Rule list": 1},
    "smooth-sensitivity-rule-lists": {
        "Lemma": ("III.1",),
        "Theorem": ("IV.1", "A.1"),
        "Algorithm": 3,
        "Figure": 6,
        "Table": ROMAN[:3],
        "Rule list": 1,
    },
    "dp-ebm": {"Definition": 1, "Theorem": 7, "Algorithm": 3, "Figure": 6, "Table": 3},
    "decision-tree-disclosure": {"Problem": 1, "Definition": 1, "Example": 1, "Figure": 9},
    "microaggregation-surrogates": {"Algorithm": 3, "Protocol": 2, "Figure": 5},
}
"""What each paper numbers: up to a number, or by name."""


def numbered(kinds: dict[str, int | tuple[str, ...]]) -> set[tuple[str, str]]:
    """Return every numbered item of a paper."""
    names = {kind: map(str, range(1, last + 1)) if isinstance(last, int) else last for kind, last in kinds.items()}
    return {(kind, name) for kind, of_kind in names.items() for name in of_kind}


def items_of(part: str) -> list[tuple[str, str]]:
    """Return the numbered items that a line names, such as "Tables V to VII" or "Figures 1 and 2"."""
    number = r"(?:[A-Z]+\.)?[0-9]+\b|[IVX]+\b(?!-)"
    kinds = "Definition|Remark|Theorem|Lemma|Algorithm|Protocol|Problem|Example|Figure|Table|Rule list"
    found = []
    for kind, names in re.findall(rf"({kinds})s? ((?:{number})(?:(?:, | and | to )(?:{number}))*)", part):
        ends = re.split(", | and | to ", names)
        if " to " in names:
            order = list(ROMAN) if ends[0] in ROMAN else list(map(str, range(1, 20)))
            ends = order[order.index(ends[0]) : order.index(ends[-1]) + 1]
        found += [(kind, name) for name in ends]
    return found


def test_the_list_of_parts_names_each_numbered_item_of_each_paper() -> None:
    text = (ROOT / "papers" / "COVERAGE.md").read_text()
    chapters = dict(re.findall(r"^## ([a-z-]+):[^\n]*\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))
    assert chapters.keys() == NUMBERED.keys() == {paper.name for paper in PAPERS}
    for paper, kinds in NUMBERED.items():
        parts = [line.strip("|").split("|")[0] for line in chapters[paper].splitlines() if line.startswith("| ")]
        assert {item for part in parts for item in items_of(part)} == numbered(kinds), paper


def test_ranges_of_numbered_items_are_read() -> None:
    assert items_of("Tables V to VII, matching of rows") == [("Table", name) for name in ("V", "VI", "VII")]
    assert items_of("IV-B, Theorems 3 and 4, Lemma III.1") == [("Theorem", "3"), ("Theorem", "4"), ("Lemma", "III.1")]
    assert items_of("Figures 1, 2 and 3 of Theorem A.1") == [
        *(("Figure", name) for name in "123"),
        ("Theorem", "A.1"),
    ]
