"""The certificate: it claims no less than its events spend, and survives JSON."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import pytest

from glassine import __version__
from glassine.errors import InvalidCertificateError, InvalidMechanismError, UnknownEventError
from glassine.privacy import accounting
from glassine.privacy.accounting import GaussianNoise, LaplaceNoise, Parallel, Selection
from glassine.privacy.certificate import ONE_PERSON, Certificate
from glassine.privacy.unit import RECORD, PrivacyUnit

TREE = Selection(name="the tree", inverse_temperature=0.9, sensitivity=1, monotone=True, share=0.9)
COUNTS = LaplaceNoise(name="<counts>", l1_sensitivity=1, scale=10, share=0.1)


def certificate(**changes: Any) -> Certificate:
    fields: dict[str, Any] = {
        "epsilon": 1,
        "events": (TREE, COUNTS),
        "assumptions": ("the running time is not observed",),
        "public": {"depth": 3, "classes": ("no", "yes")},
    }
    return Certificate(**{**fields, **changes})


def test_a_claim_below_the_events_is_refused() -> None:
    assert certificate().holds
    assert certificate(epsilon=1 - 1e-13).epsilon < 1
    with pytest.raises(InvalidCertificateError, match=r"they come to epsilon=1\.0 .*, the claim is 0\.99"):
        certificate(epsilon=0.99)
    with pytest.raises(InvalidCertificateError, match="the claim is 1"):
        certificate(events=(TREE, COUNTS, COUNTS))


def test_delta_is_part_of_the_claim() -> None:
    noise = GaussianNoise(name="sums", l2_sensitivity=1, sigma=1)
    needed = accounting.epsilon([noise], 1e-6)
    assert certificate(epsilon=needed, delta=1e-6, events=(noise,)).delta == 1e-6
    for changes in ({"delta": 1e-7}, {"delta": 0.0}, {"epsilon": needed - 1e-6}):
        with pytest.raises(InvalidCertificateError, match="must claim what its events spend"):
            certificate(**{"epsilon": needed, "delta": 1e-6, "events": (noise,), **changes})


def test_a_caveat_voids_the_guarantee() -> None:
    seeded = certificate(caveats=("seeded: not private",))
    assert not seeded.holds
    assert seeded.text().startswith("Not differentially private: epsilon = 1")
    assert "Does not hold: seeded: not private." in seeded.text()
    assert certificate().text().startswith("Differentially private: epsilon = 1")


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": -1, "events": ()},
        {"epsilon": True},
        {"epsilon": "1"},
        {"delta": 1.0},
        {"delta": math.nan},
        {"neighboring": ""},
        {"version": 3},
        {"assumptions": ("",)},
        {"caveats": (3,)},
        {"public": {"x": math.nan}},
        {"public": {"x": object()}},
        {"public": 3},
    ],
)
def test_impossible_fields_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidCertificateError):
        certificate(**changes)


def test_unknown_events_are_refused() -> None:
    with pytest.raises(UnknownEventError):
        certificate(events=("noise",))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"caveats": ("seeded: not private", "domain inferred")},
        {"events": (Parallel(name="x", branches=((TREE,), (COUNTS,))),)},
        {"events": (), "epsilon": 0, "assumptions": (), "public": {}},
    ],
)
def test_json_and_pickle_round_trip(changes: dict[str, Any]) -> None:
    made = certificate(**changes)
    assert Certificate.from_json(made.to_json()) == made
    assert Certificate.from_dict(made.to_dict()) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(Certificate.from_json(made.to_json())) == hash(made)
    assert made.to_dict()["version"] == __version__


def test_the_json_is_plain_and_marked() -> None:
    values = json.loads(certificate().to_json())
    assert values["schema"] == "glassine.certificate/2"
    assert values["holds"] is True
    assert values["events"][0]["event"] == "Selection"
    assert values["public"] == {"depth": 3, "classes": ["no", "yes"]}


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "glassine.certificate/1"},
        {"variant": "approximate"},
        {"records_per_unit": True},
        {"trust_model": "local"},
        {"release_type": "many"},
        {"randomness": "dice"},
        {"randomness": "seeded"},
        {"error_bound": -1},
        {"error_bound": 2.0},
        {"file": "0" * 63},
        {"model": "g" * 64},
        {"holds": False},
        {"holds": 1},
        {"epsilon": 0.5},
        {"epsilon": "1"},
        {"events": {}},
        {"events": [{"event": "Mystery"}]},
        {"caveats": "seeded"},
        {"caveats": ["seeded"]},
        {"extra": 1},
        {"public": []},
    ],
)
def test_json_is_read_strictly(changes: dict[str, Any]) -> None:
    values = {**certificate().to_dict(), **changes}
    if changes == {"public": []}:
        values["public"] = [1]
    with pytest.raises(InvalidCertificateError):
        Certificate.from_json(json.dumps(values))


def test_json_with_a_missing_field_or_of_no_certificate_is_refused() -> None:
    values = certificate().to_dict()
    del values["delta"]
    for text in (json.dumps(values), "[]", "{", '{"schema": 3}', "NaN"):
        with pytest.raises(InvalidCertificateError):
            Certificate.from_json(text)


def test_the_text_names_every_release_and_its_proof() -> None:
    text = certificate(events=(Parallel(name="both", branches=((TREE,), (COUNTS,))),)).text()
    for part in (
        "both",
        "the tree",
        "<counts>",
        "privacy/noisy_choice.md",
        "noise of scale 10",
        "epsilon = 0.9",
        "depth: 3",
    ):
        assert part in text
    assert "the running time is not observed" in text
    assert str(certificate()) == certificate().text()


def test_html_is_escaped() -> None:
    page = certificate(caveats=("<script>",), neighboring="<b>")._repr_html_()
    assert "&lt;counts&gt;" in page
    assert "&lt;script&gt;" in page
    assert not any(tag in page for tag in ("<script>", "<counts>", "<b>"))


def test_changing_the_given_mapping_changes_nothing() -> None:
    public: dict[str, Any] = {"depth": 3}
    made = certificate(public=public)
    public["depth"] = 4
    made.to_dict()["public"]["depth"] = 5
    assert made.public == {"depth": 3}


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Selection(name="a", inverse_temperature=0.1, sensitivity=1, count=3), "exponential mechanism, 3 times"),
        (accounting.NoisyMax(name="a", inverse_temperature=0.1, sensitivity=1), "noisy choice"),
        (accounting.DiscreteLaplaceNoise(name="a", l1_sensitivity=1, scale=10, share=0.05), "10, 5% of the budget"),
        (accounting.CauchyNoise(name="a", sensitivity=1, scale=3), "Cauchy noise of scale 3"),
        (accounting.SmoothCauchyNoise(name="a", ratio=2, smoothness=0.1), "2 times the smooth sensitivity"),
        (accounting.Stated(name="a", epsilon=0.1, proof="privacy/accounting.md"), "as stated elsewhere"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_mechanism_is_said_in_words(event: accounting.Event, words: str) -> None:
    assert words in Certificate(epsilon=5, events=(event,)).text()
    noise = (
        accounting.GaussianNoise(name="b", l2_sensitivity=1, sigma=3),
        accounting.DiscreteGaussianNoise(name="c", l2_sensitivity=1, sigma=4),
    )
    text = Certificate(epsilon=20, delta=1e-6, events=(event, *noise)).text()
    assert "Gaussian noise of standard deviation 3" in text
    assert "discrete Gaussian noise of standard deviation 4" in text


def test_noise_on_a_fine_grid_is_told_in_what_is_released() -> None:
    noise = accounting.DiscreteGaussianNoise(
        name="numbers of records", l2_sensitivity=2.0**30, sigma=1.5 * 2**30, values=7, units=2**30
    )
    made = Certificate(epsilon=20, delta=1e-6, events=(noise,))
    assert "discrete Gaussian noise of standard deviation 1.5 in steps of 2^-30" in made.text()
    values = made.to_dict()
    assert (values["events"][0]["sigma"], values["events"][0]["units"]) == (1.5 * 2**30, 2**30)
    assert Certificate.from_json(made.to_json()) == made
    del values["events"][0]["units"]
    (read,) = Certificate.from_json(json.dumps(values)).events
    assert isinstance(read, accounting.DiscreteGaussianNoise)
    assert (read.units, read.sigma) == (1, 1.5 * 2**30)
    with pytest.raises(InvalidMechanismError, match="units must be a whole number of at least 1"):
        accounting.DiscreteGaussianNoise(name="a", l2_sensitivity=1, sigma=4, units=0)


def test_deep_nesting_is_refused_with_its_reason() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidCertificateError, match="nested too deeply"):
        certificate(public={"n": deep})
    with pytest.raises(InvalidCertificateError, match="got a list"):
        certificate(epsilon=deep)


PERSON = {"unit": PrivacyUnit.person(3), "neighboring": ONE_PERSON}


def test_the_unit_is_a_field_in_json_and_text() -> None:
    for changes, unit in (({}, "record"), (PERSON, "person, at most 3 records each")):
        made = certificate(**changes)
        assert made.to_dict()["unit"] == unit
        assert Certificate.from_json(made.to_json()) == made
        assert f"Privacy unit: {unit}. Neighboring relation: {made.neighboring}." in made.text()
        assert f"unit: {unit}" in made._repr_html_()


def test_a_certificate_of_an_earlier_version_is_for_records() -> None:
    values = certificate().to_dict()
    del values["unit"]
    assert Certificate.from_dict(values).unit == RECORD


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": PrivacyUnit.person(3)},
        {"neighboring": ONE_PERSON},
        {"unit": "person, at most 3 records each", "neighboring": ONE_PERSON},
        {"unit": None},
    ],
)
def test_a_unit_that_contradicts_the_relation_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidCertificateError, match="unit"):
        certificate(**changes)


def test_a_unit_that_is_none_is_refused_in_json() -> None:
    for unit in ("records", "person", 3, None):
        with pytest.raises(InvalidCertificateError, match="a privacy unit is"):
            Certificate.from_dict({**certificate().to_dict(), "unit": unit})


def test_what_authorities_ask_of_a_guarantee_stands_in_fields() -> None:
    values = certificate(randomness="operating system", arithmetic="exact", error_bound=12).to_dict()
    assert values["variant"] == "pure"
    assert (values["unit"], values["records_per_unit"]) == ("record", 1)
    assert (values["trust_model"], values["release_type"]) == ("central", "one release, not interactive")
    assert (values["randomness"], values["arithmetic"], values["error_bound"]) == ("operating system", "exact", 12)
    persons = certificate(unit=PrivacyUnit.person(3), neighboring=ONE_PERSON).to_dict()
    assert persons["records_per_unit"] == 3
    noise = GaussianNoise(name="sums", l2_sensitivity=1, sigma=10)
    approximate = certificate(epsilon=1, delta=1e-6, events=(noise,))
    assert approximate.to_dict()["variant"] == "approximate"
    assert approximate.rho == pytest.approx(1 / 200)
    assert Certificate.none("no noise").to_dict()["variant"] == "none"


@pytest.mark.parametrize("name", ["variant", "records_per_unit", "trust_model", "release_type", "randomness", "file"])
def test_a_certificate_without_one_of_its_fields_is_refused(name: str) -> None:
    values = certificate().to_dict()
    del values[name]
    with pytest.raises(InvalidCertificateError, match=name):
        Certificate.from_dict(values)
