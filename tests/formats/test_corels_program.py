"""Rule lists of the program of CORELS."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassine.domain import Binary, Category, Domain, Integer
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats import load_model
from glassine.formats.sklearn.corels import rules_from_corels_program
from glassine.models import RuleList
from tests.formats.reading import read_cells
from tests.models.fuzzing import damaged, read_or_refused

FILES = Path(__file__).parent / "files"
DOMAIN = Domain({"age": Category(("18-20", "21-22", "older")), "sex": Category(("Male", "Female"))})


def test_what_the_program_prints() -> None:
    rules = load_model(FILES / "corels_program.txt")
    assert isinstance(rules, RuleList)
    assert [str(cell) for cell in rules.cells] == ["age:18-20", "sex:Male and age:21-22", "otherwise"]
    assert rules.classes == ("recidivate:No", "recidivate:Yes")
    assert [cell.evidence.label for cell in rules.cells] == [1, 1, 0]
    in_domain = read_cells(FILES / "corels_program.txt", DOMAIN)
    assert [str(cell) for cell in in_domain.cells] == ["age = 18-20", "sex = Male and age = 21-22", "otherwise"]


def test_its_model_file() -> None:
    rules = read_cells(FILES / "corels_model.txt")
    assert rules.classes == (False, True)
    assert [str(cell) for cell in rules.cells] == [
        "income and sex:Male and juvenile-crimes:>0",
        "priors:>3",
        "otherwise",
    ]
    domain = Domain({name: Binary() for name in ("income", "sex:Male", "juvenile-crimes:>0", "priors:>3")})
    assert read_cells(FILES / "corels_model.txt", domain).cells == rules.cells
    alone = rules_from_corels_program("default~1\n")
    assert [cell.evidence.label for cell in alone.cells] == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{a}~1;{b}~0", "ends with a default"),
        ("default~1;{a}~0", "ends with a default"),
        ("{a}~1;b~0;default~1", "no rule of a CORELS model file"),
        ("{a,,b}~1;default~1", "empty name"),
        ("if ({a}) then ({label=1})\nelse if (b) then ({label=0})\nelse ({label=0})", "line 2"),
        ("if ({a}) then ({label=1})\n", "ends with a default"),
    ],
)
def test_bad_lists_are_refused(text: str, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedModelError), match=message):
        rules_from_corels_program(text)


def test_names_that_the_domain_lacks_are_refused() -> None:
    with pytest.raises(InvalidModelError, match="domain lacks"):
        rules_from_corels_program("{sex:Other}~1;default~0", DOMAIN)
    with pytest.raises(InvalidModelError, match="Use Binary"):
        rules_from_corels_program("{a}~1;default~0", Domain({"a": Integer(0, 3)}))


@settings(max_examples=60)
@given(st.sampled_from(["corels_model.txt", "corels_program.txt"]), st.data())
def test_damaged_lists_raise_only_our_errors(name: str, data: st.DataObject) -> None:
    text = data.draw(damaged((FILES / name).read_text()))
    read_or_refused(lambda: rules_from_corels_program(text))
