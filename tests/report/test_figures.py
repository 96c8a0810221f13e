"""Tables of figures: templates that findings fill in."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from glassine.report import wording
from glassine.report.blocks import Fact
from glassine.report.figures import UNITS, FigureReading, facts, table


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    n_cuts: int
    n_private: int | None
    name: str = "a {b} | c"


FIGURES = table(
    """
Private cuts | {n_private:number} of {n_cuts:many cut} | They are values of {units}. | It needs a domain.
[n_cuts] Cuts | {n_cuts:,} | Of {name:clean}.
[odd] Odd | {n_cuts} |
"""
)


def test_a_figure_is_a_name_a_value_with_its_unit_and_a_sentence() -> None:
    assert facts(FIGURES, Cuts(n_cuts=1200, n_private=1), odd=False) == (
        Fact("Private cuts", "1 of 1,200 cuts", "They are values of records."),
        Fact("Cuts", "1,200", "Of a {b} | c."),
    )


def test_a_value_that_is_not_known_has_its_own_sentence_and_a_flag_leaves_a_line_out() -> None:
    first, odd = facts(FIGURES, Cuts(n_cuts=0, n_private=None), odd=True)
    assert (first.value, first.meaning) == ("not known", "It needs a domain.")
    assert odd == Fact("Odd", "0", "")


def test_sentences_speak_of_what_is_counted() -> None:
    with wording.counting("people"):
        (first, *_) = facts(FIGURES, Cuts(n_cuts=2, n_private=0), odd=False)
    assert first == Fact("Private cuts", "none of 2 cuts", "They are values of people.")


def test_a_template_that_names_no_field_raises() -> None:
    with pytest.raises(AttributeError, match="n_nothing"):
        facts(table("Nothing | {n_nothing} | None."), Cuts(n_cuts=1, n_private=0))


def test_json_values_are_read_like_findings() -> None:
    assert FigureReading({"share": 0.256}).said("{share:percent} of {units}") == "26% of records"
    assert FigureReading({"share": None}).said("{share:percent}") == "not known"


@pytest.mark.parametrize(
    ("unit", "value", "said"),
    [
        ("about", 1.2, "about 100%"),
        ("count", 1234, "1,234"),
        ("least", 1.0, "100%"),
        ("least", 0.95, "at least 95%"),
        ("number", 0, "none"),
        ("permille", 0.1234, "12.3%"),
        ("sentence", "it is.", "It is."),
    ],
)
def test_units_say_how_a_field_reads(unit: str, value: object, said: str) -> None:
    assert UNITS[unit](value) == said
