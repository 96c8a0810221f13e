"""Several regressions of one data set: differences of their samples are judged, by their numbers and with the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import AuditSettings, audit
from glassine.auditing.findings import Findings
from glassine.auditing.several_models import SeveralModels
from glassine.auditing.statements import Statements
from glassine.errors import InvalidDataError, InvalidParameterError, UnsupportedModelError
from glassine.formats import load_file, parse_rules
from glassine.models import Power, RegressionModel
from glassine.report import render_html, render_text
from tests.attacks.test_differences import ALL, N, fitted, records, without
from tests.formats.test_regressions import FILES


def frame(link: str = "identity") -> pl.DataFrame:
    design, y = records(link)
    columns: dict[str, Any] = {f"x{j}": design[:, j] for j in range(2, design.shape[1])}
    town = np.where(design[:, 1] == 1, "b", "a")
    return pl.DataFrame({**columns, "town": town, "y": y}).with_columns(
        all=pl.lit(1), few=pl.Series((np.arange(N) >= 2).astype(int)), many=pl.Series((np.arange(N) >= 25).astype(int))
    )


def tables(*left: int, link: str = "identity") -> tuple[RegressionModel, ...]:
    design, y = records(link)
    return tuple(fitted(design, y, inside, link=link).model for inside in (ALL, without(*left)))


def status(findings: Findings) -> dict[str, str]:
    return {check.rule: check.status for check in findings.checks}


def test_numbers_that_differ_by_few_fail_and_others_pass() -> None:
    assert status(audit(tables(0, 1)))["smallest_group"] == "fail"
    assert status(audit(tables(0, 1)))["fitted_values"] == "unknown"
    many = status(audit(tables(*range(25))))
    # One of the many may be alone in a column, so that the outcome follows.
    assert (many["smallest_group"], many["fitted_values"]) == ("pass", "unknown")


def test_tables_of_one_number_are_of_the_same_records_if_it_is_stated() -> None:
    open_ = audit(tables())
    assert {status(open_)[rule] for rule in ("smallest_group", "fitted_values")} == {"unknown"}
    assert "unless the publisher states it" in render_text(open_).replace("\n", " ").replace("  ", "")
    stated = audit(SeveralModels(models=tables(), same_records=True))
    assert (status(stated)["smallest_group"], status(stated)["fitted_values"]) == ("not applicable", "pass")
    # Jackknife tables have the same number of records, and each pair gives two outcomes.
    jackknife = tables(0)[1], tables(1)[1]
    assert status(audit(jackknife))["fitted_values"] == "unknown"
    assert "of other records" in {check.rule: check.meaning for check in audit(jackknife).checks}["fitted_values"]
    assert status(audit(jackknife, frame()))["smallest_group"] == "unknown"
    for models in (tables(0), jackknife):
        with pytest.raises(InvalidParameterError, match="same_records is stated"):
            audit(SeveralModels(models=models, same_records=True))
    with pytest.raises(InvalidParameterError, match="State one of them"):
        audit(SeveralModels(models=tables(), same_records=True, samples=(None, None)), frame())


def test_columns_of_two_tables_together_may_hold_one_person() -> None:
    first = tables()[0]
    second = replace(
        first,
        attributes=("other",),
        effects=(replace(first.effects[1], name="other", factors=(Power(attribute="other"),)),),
    )
    assert status(audit(SeveralModels(models=(first, second), same_records=True)))["fitted_values"] == "unknown"
    part = replace(first, effects=first.effects[:2])
    assert status(audit(SeveralModels(models=(first, part), same_records=True)))["fitted_values"] == "pass"


def test_tables_that_name_no_outcome_may_be_of_several() -> None:
    models = tuple(replace(model, target="") for model in tables())
    published = SeveralModels(models=models, same_records=True)
    assert status(audit(published))["fitted_values"] == "unknown"
    assert status(audit(published, frame()))["fitted_values"] == "unknown"
    assert status(audit(published, frame(), "y"))["fitted_values"] == "pass"
    # Of several outcomes, the parameters of tables with the same columns add up.
    assert audit(published).value("differences").parameters_per_record == 0.2
    named = audit(SeveralModels(models=tables(), same_records=True))
    assert named.value("differences").parameters_per_record == 0.1


def test_an_intercept_that_is_printed_as_zero_is_one() -> None:
    first, second = (replace(model, intercept=(0.0,)) for model in tables(0, 1))
    published = SeveralModels(models=(first, second), samples=("all", "few"))
    # Seven equations of the two samples with their intercepts, and six columns each.
    with_it = audit(published, frame()).value("differences").parameters_per_record
    bare = [replace(model, fit=replace(model.fit, n_parameters=len(model.effects))) for model in (first, second)]
    without_it = audit(SeveralModels(models=tuple(bare), samples=("all", "few")), frame())
    assert with_it > without_it.value("differences").parameters_per_record


@pytest.mark.parametrize("link", ["identity", "logit", "log"])
def test_outcomes_that_follow_fail_with_the_data(link: str) -> None:
    published = SeveralModels(models=tables(0, 1, link=link), samples=("all", "few"))
    findings = audit(published, frame(link))
    assert status(findings)["fitted_values"] == "fail"
    assert status(findings)["smallest_group"] == "fail"
    text = render_text(findings)
    assert "fewer than 10" in text
    assert "What the tables reveal together" in render_html(findings)
    # No size of a difference is told.
    assert not {check.measured for check in findings.checks} & {2}
    assert "differences" not in findings.public().measured or findings.public().value("differences").n_together is None


def test_what_a_table_alone_gives_away_fails_with_others_as_well() -> None:
    many = tables(*range(25))
    residuals = replace(many[1], fit=replace(many[1].fit, n_residuals=60))
    findings = audit((many[0], residuals))
    assert status(findings)["fitted_values"] == "fail"
    assert "Of model 2: The summary prints 60 residuals of single records." in render_text(findings).replace("\n", " ")


def test_samples_of_many_others_pass_with_the_data() -> None:
    found = status(audit(SeveralModels(models=tables(*range(25)), samples=("all", "many")), frame()))
    assert (found["fitted_values"], found["smallest_group"]) == ("pass", "fail")  # a column of 0/1 holds few of them
    alone = audit(SeveralModels(models=tables(), samples=(None, np.ones(N))), frame())
    assert status(alone)["fitted_values"] == "pass"
    assert alone.verdict == "inconclusive"  # 12 parameters on 60 records


def test_samples_that_are_not_known_leave_the_checks_open() -> None:
    found = audit(tables(0, 1), frame())
    assert status(found)["fitted_values"] == "unknown"
    assert any("are not known: it has 58 records" in note for note in found.notes)
    # How many records of the data have a gap stays with the checker.
    data = frame().with_columns(x2=pl.when(pl.int_range(N) < 1).then(None).otherwise(pl.col("x2")))
    assert f"{N - 1:,} " not in render_text(audit(tables(0, 1), data).public()).partition("What the tables")[0]


def test_what_was_counted_is_left_out_for_the_public() -> None:
    findings = audit(SeveralModels(models=tables(0, 1), samples=("all", "few")), frame()).public()
    text = render_text(findings)
    assert "For the checker only" not in text
    assert "None" not in text
    assert "None" not in render_html(findings)


def test_one_of_many_who_is_alone_in_a_column_follows() -> None:
    design, y = records()
    design[:25, 1] = np.arange(25) == 3
    models = tuple(fitted(design, y, inside).model for inside in (ALL, without(*range(25))))
    data = frame().with_columns(town=pl.Series(np.where(design[:, 1] == 1, "b", "a")))
    found = status(audit(SeveralModels(models=models, samples=("all", "many")), data))
    assert found["fitted_values"] == "fail"
    assert status(audit(models))["fitted_values"] == "unknown"


def test_tables_without_a_number_are_not_taken_for_those_of_all_records() -> None:
    models = tuple(replace(model, fit=replace(model.fit, n_records=None)) for model in tables(0, 1))
    open_ = audit(models, frame())
    assert {status(open_)[rule] for rule in ("fitted_values", "smallest_group", "largest_advantage")} == {"unknown"}
    assert any("does not say how many records" in note for note in open_.notes)
    stated = audit(SeveralModels(models=models, samples=(None, "few")), frame())
    assert status(stated)["fitted_values"] == "fail"


def test_records_without_a_gap_are_the_sample() -> None:
    data = frame().with_columns(x2=pl.when(pl.int_range(N) < 2).then(None).otherwise(pl.col("x2")))
    design, y = records()
    short = np.delete(design, 2, axis=1)
    first = fitted(short, y, ALL).model
    renamed = tuple(
        replace(effect, name=f"x{place}", factors=(replace(effect.factors[0], attribute=f"x{place}"),))
        for place, effect in enumerate(first.effects[1:], start=3)
    )
    first = replace(first, attributes=("town", *(e.name for e in renamed)), effects=(first.effects[0], *renamed))
    second = fitted(design, y, without(0, 1)).model
    assert status(audit((first, second), data))["fitted_values"] == "fail"


def test_parameters_of_all_tables_add_up_and_never_fail() -> None:
    big = [replace(model, fit=replace(model.fit, n_records=5000)) for model in tables()]
    assert status(audit(tuple(big)))["largest_advantage"] == "pass"
    assert status(audit(tables(0)))["largest_advantage"] == "unknown"
    # The number of records is known, so that nothing is asked of it.
    assert not any("number of training records" in one.text for one in audit(tables(0)).advice)
    cox = load_file(FILES / "r_cox.txt").model
    assert status(audit((cox, cox)))["largest_advantage"] == "unknown"
    assert status(audit((cox, cox)))["fitted_values"] == "unknown"


def test_files_without_a_number_are_unknown_unless_it_is_stated() -> None:
    files = [load_file(FILES / name) for name in ("broom_logit.csv", "broom_logit.csv")]
    assert status(audit(tuple(files)))["smallest_group"] == "unknown"
    stated = AuditSettings(statements=Statements(n_records=200, family="binomial"))
    assert status(audit(tuple(files), settings=stated))["smallest_group"] == "unknown"
    same = SeveralModels(models=tuple(files), same_records=True)
    assert status(audit(same, settings=stated))["smallest_group"] == "not applicable"


def test_what_cannot_be_put_together_is_refused() -> None:
    rules = parse_rules("if [a] then [true] ([0 ; 20] examples)\nelse [false] ([30 ; 10] examples)")
    with pytest.raises(UnsupportedModelError, match="with regressions alone"):
        audit([tables()[0], rules])
    with pytest.raises(InvalidParameterError, match="one of each model"):
        audit(SeveralModels(models=tables(), samples=("all",)), frame())
    with pytest.raises(InvalidParameterError, match="there are no records"):
        audit(SeveralModels(models=tables(), samples=("all", "few")))
    with pytest.raises(InvalidDataError, match="no column of the data"):
        audit(SeveralModels(models=tables(), samples=("all", "none")), frame())
    with pytest.raises(InvalidDataError, match="must hold 0 or 1"):
        audit(SeveralModels(models=tables(), samples=("all", "x2")), frame())
    with pytest.raises(InvalidParameterError, match="same_records is of regressions"):
        audit(SeveralModels(models=(rules, rules), same_records=True))
    with pytest.raises(InvalidParameterError, match="judged by their counts"):
        audit(SeveralModels(models=(rules, rules), samples=("all", "few")), frame())
