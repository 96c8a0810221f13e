"""Scorecards on the command line: trained, written with a certificate, printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from glassine import AdditiveModel, Certificate, Domain, Integer, load_model
from glassine.errors import InvalidModelError
from glassine.models import Guarantee, NumericBins
from glassine.models.scorecard import Risk, card_items
from glassine.report.card_page import _row, guarantee_sentence, render_card
from tests.cli.running import Run
from tests.formats.reading import read_additive
from tests.models.test_scorecard import model

FIT = ("fit", "scorecard", "people.csv", "--target", "ill", "--domain", "domain.json", "-o", "card.json")


def test_a_card_is_trained_and_written_with_its_certificate(folder: Path, run: Run) -> None:
    done = run(*FIT, "--epsilon", "4", "--max-items", "3", cwd=folder)
    assert done.status == 0, done.err
    card = read_additive(folder / "card.json")
    assert 0 < len(card_items(card)) <= 3
    certificate = Certificate.from_json((folder / "card.certificate.json").read_text())
    assert (certificate.epsilon, certificate.public["items"]) == (4.0, 3)
    assert "Private scorecard of" in done.out
    verified = run("certificate", "verify", "card.json", "card.certificate.json", cwd=folder)
    assert verified.status == 0, verified.err + verified.out


def test_an_ordinary_card_is_trained_and_printed(folder: Path, run: Run) -> None:
    done = run(*FIT, "--not-private", cwd=folder)
    assert done.status == 0, done.err
    assert "not private" in done.out
    done = run("export", "card.json", "--to", "card", "-o", "card.html", cwd=folder)
    assert done.status == 0, done.err
    page = (folder / "card.html").read_text()
    for item in card_items(read_additive(folder / "card.json")):
        assert f"{abs(item.points)}</td>" in page
    assert "claims no differential privacy" in page


def test_only_a_scorecard_is_written_as_a_card(folder: Path, run: Run) -> None:
    run("fit", "additive", *FIT[2:-1], "a.json", "--epsilon", "1", cwd=folder)
    done = run("export", "a.json", "--to", "card", cwd=folder)
    assert (done.status, "only a scorecard" in done.err) == (2, True)
    with pytest.raises(InvalidModelError, match="to_scorecard"):
        render_card(model())


def test_the_page_of_a_card_says_items_risks_and_the_guarantee_and_escapes_every_text() -> None:
    page = render_card(model(target="<b>ill</b>").to_scorecard())
    assert "<b>ill</b>" not in page
    assert "epsilon 1 and delta 1e-06" in page
    assert "90% interval" in page
    assert "<script" not in page


@pytest.mark.parametrize(("closed", "kept", "left"), [("right", "upper", "lower"), ("left", "lower", "upper")])
def test_the_page_of_a_card_says_where_a_value_at_a_cut_point_belongs(closed: str, kept: str, left: str) -> None:
    age, job = model().terms
    assert isinstance(age.bins[0], NumericBins)
    ranges = replace(age, bins=(replace(age.bins[0], closed=closed),))
    assert f"A range includes its {kept} end and not its {left} end." in render_card(
        model(terms=(ranges, job)).to_scorecard()
    )
    assert "A range" not in render_card(model(attributes=("job",), terms=(job,)).to_scorecard())


def test_the_figures_of_a_row_have_equally_many_decimals() -> None:
    found = _row(*[Risk(points=1, risk=0.912, low=0.89, high=0.93)] * 2)
    assert (found["risk"], found["interval"]) == ("91.2%", "89.0% to 93.0%")
    found = _row(*[Risk(points=1, risk=0.18, low=0.154, high=0.2055)] * 2)
    assert (found["risk"], found["interval"]) == ("18%", "15% to 21%")


def test_the_sentence_of_a_void_guarantee_says_why() -> None:
    assert guarantee_sentence(Guarantee(epsilon=1, caveats=("seeded: not private",))) == (
        "The guarantee is void because seeded: not private."
    )


@pytest.mark.parametrize("private", [True, False])
def test_a_card_of_a_number_is_fitted_and_printed(tmp_path: Path, run: Run, private: bool) -> None:
    rows = [f"{age},{age // 10 * 10}" for age in range(20, 80)] * 8
    (tmp_path / "people.csv").write_text("\n".join(["age,cost", *rows]) + "\n")
    domain = Domain({"age": Integer(20, 79, thresholds=(39, 59)), "cost": Integer(0, 100)})
    domain.to_json(tmp_path / "domain.json")
    given = ["people.csv", "--target", "cost", "--domain", "domain.json", "-o", "card.json"]
    how = ["--epsilon", "5"] if private else ["--not-private", "--monotone", "auto"]
    done = run("fit", "scorecard", *given, *how, cwd=tmp_path)
    assert done.status == 0, done.err
    assert "a point adds" in done.out
    model = load_model(tmp_path / "card.json")
    assert isinstance(model, AdditiveModel)
    assert model.link == "identity"
    low, high = model.predict(pl.DataFrame({"age": [25, 75]}))
    assert low < 45 < high
    assert run("export", "card.json", "--to", "card", "-o", "card.html", cwd=tmp_path).status == 0
    assert "one point adds" in (tmp_path / "card.html").read_text()
    if private:
        checked = run("certificate", "verify", "card.json", "card.certificate.json", cwd=tmp_path)
        assert checked.status == 0, checked.out
    audited = run("audit", "card.json", "--domain", "domain.json", cwd=tmp_path)
    assert audited.status in (0, 1, 3), audited.err
