"""What sections are made of: pieces of which empty ones are left out, tables of rows, figures of JSON."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from glassine.report import wording
from glassine.report.blocks import Fact, Facts, Fold, Heading, Paragraph, RowNumbers, Status, blocks_of, fold, rows_of
from glassine.report.evidence.basis import ANSWERS, Basis, EvidenceFigure, Missing, declare
from glassine.report.figures import FigureReading, grid
from glassine.report.section import section


def test_pieces_are_blocks_and_what_is_empty_has_none() -> None:
    figure = Fact("Cuts", "2", "")
    pieces = ("said", "", None, (), [figure, figure], (Heading("More"), ("nested", None)))
    assert tuple(blocks_of(*pieces)) == (
        Paragraph(text="said"),
        Facts((figure, figure)),
        Heading("More"),
        Paragraph(text="nested"),
    )
    assert fold("Closed", "", None) is None
    assert fold("Closed", "inside") == Fold("Closed", (Paragraph(text="inside"),))
    assert rows_of("Rows.", ()) is None
    assert tuple(blocks_of(rows_of("Rows.", (0, 4)))) == (Paragraph(text="Rows."), RowNumbers(("row 2", "row 6")))


def test_a_text_leaves_out_what_is_empty_and_keeps_rows_of_tables() -> None:
    assert section("a", "A", text=("one", "", ("two", "3"))).text == ("one", ("two", "3"))


COLUMNS = """
Model | {name:clean} | Of {units}.
{Units} | {n:count}
~Drawn | {bar}
~State | {state}
[known] Share | {share:percent}
"""


def _flagged(item: Mapping[str, object]) -> dict[str, object]:
    return {"flag": "" if item["n"] else "few"}


def test_a_grid_has_a_row_per_item_and_a_column_per_line() -> None:
    bar, done = Markup("<svg/>"), Status("pass")
    items = [{"name": "a\x00", "n": 1200, "share": 0.5}, {"name": "b", "n": None, "share": None}]
    with wording.counting("people"):
        shown, hidden = (
            grid(COLUMNS, items, caption="C", words=_flagged, bar=bar, state=done, known=known)
            for known in (True, False)
        )
    assert [(column.name, column.numeric) for column in shown.columns] == [
        ("Model", False),
        ("People", True),
        ("Drawn", False),
        ("State", False),
        ("Share", True),
    ]
    assert [(row.name, row.meaning, row.flag) for row in shown.rows] == [
        ("a\ufffd", "Of people.", ""),
        ("b", "Of people.", "few"),
    ]
    assert [row.cells for row in shown.rows] == [("1,200", bar, done, "50%"), ("not known", bar, done, "not known")]
    assert [row.cells for row in hidden.rows] == [("1,200", bar, done), ("not known", bar, done)]


def test_templates_read_json_at_any_depth() -> None:
    paid = {"receipt": {"charge": 7, "ledger": "abc"}, "derived": None}
    assert FigureReading(paid).said("{receipt.charge} of {receipt.ledger:.2}") == "7 of ab"
    assert FigureReading(paid).said("{derived.type}", "none") == "none"


def test_declared_evidence_has_a_figure_or_its_reason() -> None:
    findings = {"measured": {"labels": {"status": "measured", "purest": 0.75, "missing": None}}, "policy": {"limit": 3}}
    try:
        declare(
            """
            tried | labels | largest share: {purest:percent} | counted
            tried | labels | {missing} | counted | it was not counted
            tried | labels | {missing} | counted
            tried | report.policy | limit {limit} | policy
            tried | alignment | {error} | matched
            """
        )
        answers = list(ANSWERS["tried"](Basis(findings=findings)))
    finally:
        ANSWERS.pop("tried", None)
    assert answers == [
        EvidenceFigure("largest share: 75%", "counted"),
        Missing("it was not counted"),
        EvidenceFigure("limit 3", "policy"),
        Missing("this audit does not measure it of such a subject"),
    ]
