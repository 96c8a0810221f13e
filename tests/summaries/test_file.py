"""Files of summaries whose certificate was changed with them: none is read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassine.errors import InvalidModelError
from glassine.learners import PrivateSummary
from glassine.learners.summaries import file as files
from glassine.privacy.conversions import mu_from_epsilon
from tests.summaries.people import summary

Change = Callable[[dict[str, Any]], object]


def quieter(values: dict[str, Any]) -> None:
    for event in values["certificate"]["events"]:
        event["sigma"] *= 100
    values["certificate"]["epsilon"] = 0.05


def of_one_round(values: dict[str, Any]) -> None:
    values["certificate"]["events"][-1]["count"] = 1
    values["certificate"]["epsilon"] = 3.9


def insensitive(values: dict[str, Any]) -> None:
    for event in values["certificate"]["events"]:
        event["l2_sensitivity"] /= 100
    values["certificate"]["epsilon"] = 0.05


def last_louder(values: dict[str, Any]) -> None:
    values["certificate"]["events"][-1]["sigma"] *= 1.01


def of_persons(values: dict[str, Any]) -> None:
    unit = {"unit": "person, at most 50 records each", "records_per_unit": 50}
    values["certificate"].update(unit, neighboring="add-or-remove-one-person")


CHANGES: list[Change] = [
    lambda v: v["certificate"].update(events=[], epsilon=0.0),
    quieter,
    insensitive,
    of_one_round,
    last_louder,
    of_persons,
]


def changed(path: Path, classes: int | None, change: Change) -> None:
    summary(classes=classes).write(path)
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize("classes", [2, 3, None])
@pytest.mark.parametrize("change", CHANGES)
def test_a_certificate_of_less_than_was_released_is_refused(
    tmp_path: Path, classes: int | None, change: Change
) -> None:
    changed(tmp_path / "s.json", classes, change)
    with pytest.raises(InvalidModelError, match="are not those of what it released"):
        PrivateSummary.read(tmp_path / "s.json")


def less_noise(values: dict[str, Any]) -> None:
    values["released"]["deviations"][0] /= 2


def less_noise_in_bins(values: dict[str, Any]) -> None:
    attribute = values["released"]["attributes"][0]
    attribute["variances"] = [value / 100 for value in attribute["variances"]]


def three_rounds(values: dict[str, Any]) -> None:
    values["released"]["rounds"].append(values["released"]["rounds"][-1])


@pytest.mark.parametrize("change", [less_noise, less_noise_in_bins, three_rounds])
def test_so_is_a_new_digest_of_changed_numbers(tmp_path: Path, change: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(tmp_path / "s.json", None, change)
    digests: list[str] = []
    real = files.digest

    def seen(file: files.SummaryFile) -> str:
        digests.append(real(file))
        return digests[-1]

    monkeypatch.setattr(files, "digest", seen)
    with pytest.raises(InvalidModelError, match="changed after it was released"):
        PrivateSummary.read(tmp_path / "s.json")
    values = json.loads((tmp_path / "s.json").read_text())
    values["certificate"]["model"] = digests[0]
    (tmp_path / "s.json").write_text(json.dumps(values))
    with pytest.raises(InvalidModelError, match="are not those of what it released"):
        PrivateSummary.read(tmp_path / "s.json")


@pytest.mark.parametrize("classes", [2, 3, None])
def test_what_a_summary_states_of_its_noise_adds_up_to_its_claim(classes: int | None) -> None:
    fitted = summary(classes=classes)
    released = fitted.released_
    attributes, useful = len(released.axes), len(released.useful)
    clip = 1.0 if classes == 2 else math.sqrt(2.0)
    tables, scores, edges = released.deviations
    squares = [attributes / tables**2, len(released.scores) / scores**2, len(released.edges) / edges**2]
    if classes is None:
        squares.append(1 / released.squares[1] ** 2)
    else:
        squares += [useful * clip**2 / one.deviation**2 for one in released.rounds]
    # Those of the bins, and of a number those of the rounds, are not stated in units of one.
    missing = 0.11 + (0.23 if classes is None else 0.0)
    mu = mu_from_epsilon(fitted.certificate_.epsilon, fitted.certificate_.delta)
    assert math.fsum(squares) == pytest.approx((1 - missing) * mu**2, rel=1e-4)


HUGE: list[Change] = [
    lambda v: v.update(target_range=[0, 10**400]),
    lambda v: v["released"]["attributes"][0]["bin_of"].__setitem__(0, 10**30),
    lambda v: v["released"]["attributes"][0]["groups"].__setitem__(0, 10**30),
]


@pytest.mark.parametrize("change", HUGE)
def test_numbers_of_many_digits_are_refused_as_others_are(tmp_path: Path, change: Change) -> None:
    changed(tmp_path / "s.json", None, change)
    with pytest.raises(InvalidModelError):
        PrivateSummary.read(tmp_path / "s.json")
