"""Scorecards on the command line: trained, written with a certificate, printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from glassine import Certificate
from glassine.errors import InvalidModelError
from glassine.models import Guarantee
from glassine.models.scorecard import card_items
from glassine.report.card_page import guarantee_sentence, render_card
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


def test_the_sentence_of_a_void_guarantee_says_why() -> None:
    assert guarantee_sentence(Guarantee(epsilon=1, caveats=("seeded: not private",))) == (
        "The guarantee is void because seeded: not private."
    )
