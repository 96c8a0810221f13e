"""Counts of events: additive models with a logarithm as link, exposures, and what of them is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import PoissonRegressor

from glassine import Category, Domain, Integer, Real
from glassine.errors import GlassineError, InvalidParameterError, PrivacyLeakWarning
from glassine.formats import to_python, to_sql
from glassine.formats.json import from_dict, to_dict
from glassine.learners import EBMRegressor, PrivateEBMRegressor

N, MOST = 6000, 6
RNG = np.random.default_rng(5)
AREA = RNG.choice(list("abc"), N)
YEARS = RNG.uniform(0.1, 1.0, N)
AGE = RNG.integers(18, 90, N)
RATE = np.exp(-0.5 + 0.8 * (AREA == "b") - 0.8 * (AGE > 50))
COUNTS = RNG.poisson(RATE * YEARS).clip(0, MOST)
FRAME = pl.DataFrame({"age": AGE, "area": AREA, "years": YEARS})
DOMAIN = Domain({"age": Integer(18, 90, thresholds=(50,)), "area": Category(tuple("abc")), "years": Real(0.05, 1.0)})
POISSON: dict[str, Any] = {"objective": "poisson", "exposure": "years", "domain": DOMAIN, "target_range": (0, MOST)}


def deviance(mean: Any, counts: Any = COUNTS) -> float:
    """Return the mean Poisson deviance."""
    logs = np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / mean), 0.0)
    return float(2 * (logs - (counts - mean)).mean())


def test_an_ordinary_fit_is_the_likeliest_one_that_another_library_finds() -> None:
    bins = {"age": [50]}
    fitted = EBMRegressor(bins=bins, **POISSON).fit(FRAME, COUNTS)
    design = np.column_stack([AGE > 50, AREA == "b", AREA == "c"]).astype(float)
    other = PoissonRegressor(alpha=0.0, max_iter=1000).fit(design, COUNTS / YEARS, sample_weight=YEARS)
    ours, theirs = fitted.predict(FRAME), other.predict(design)
    assert np.abs(np.log(ours / theirs)).max() < 0.04
    # Rounds are few: what they leave is a thousandth of what the model explains.
    assert deviance(ours * YEARS) - deviance(theirs * YEARS) < 5e-4
    assert (ours * YEARS).sum() == pytest.approx(COUNTS.sum(), rel=0.005)


@pytest.mark.parametrize("exposure", [None, "years"])
def test_a_private_fit_finds_the_rates_and_the_level(exposure: str | None) -> None:
    names = [name for name in DOMAIN if name != "years" or exposure]
    given: dict[str, Any] = {**POISSON, "exposure": exposure, "domain": DOMAIN.restrict(names)}
    counts = COUNTS if exposure else RNG.poisson(RATE).clip(0, MOST)
    seen = YEARS if exposure else np.ones(N)
    fitted = PrivateEBMRegressor(epsilon=4.0, random_state=1, **given).fit(FRAME.select(names), counts)
    assert fitted.model_.link == "log"
    assert fitted.model_.attributes == ("age", "area")
    mean = fitted.predict(FRAME) * seen
    null = np.full(N, counts.sum() / seen.sum()) * seen
    best = deviance(RATE * seen, counts)
    assert deviance(mean, counts) - best < 0.2 * (deviance(null, counts) - best)
    assert mean.sum() == pytest.approx(counts.sum(), rel=0.1)
    assert fitted.certificate_.public["objective"] == "poisson"
    assert ("exposure" in fitted.certificate_.public) == (exposure is not None)


def test_a_prediction_needs_no_exposure_and_pickled_attributes_name_none() -> None:
    fitted = PrivateEBMRegressor(epsilon=4.0, random_state=1, **POISSON).fit(FRAME, COUNTS)
    assert list(fitted.feature_names_in_) == ["age", "area"]
    assert fitted.n_features_in_ == 2
    assert "years" not in fitted.domain_
    bare = FRAME.drop("years")
    assert fitted.predict(bare).tolist() == fitted.predict(FRAME).tolist()
    assert (fitted.predict(bare) > 0).all()
    assert 0 < fitted.memory_needed(N) <= PrivateEBMRegressor(epsilon=4.0, **POISSON).memory_needed(N)


def test_exposures_are_clipped_to_their_public_range() -> None:
    made = PrivateEBMRegressor(epsilon=4.0, random_state=1, **POISSON)
    far = FRAME.with_columns(years=pl.when(pl.col("years") > 0.99).then(1e6).otherwise(pl.col("years")))
    cut = FRAME.with_columns(years=pl.when(pl.col("years") > 0.99).then(1.0).otherwise(pl.col("years")))
    one, other = (to_dict(made.fit(frame, COUNTS).model_) for frame in (far, cut))
    assert one == other


def test_a_lazy_frame_gives_the_same_fit() -> None:
    frame = FRAME.with_columns(n=pl.Series(COUNTS))
    made = PrivateEBMRegressor(epsilon=1.0, random_state=1, **POISSON)
    assert to_dict(made.fit(frame, "n").model_) == to_dict(made.fit(frame.lazy(), "n").model_)


def test_the_model_travels_as_json_python_and_sql(tmp_path: Path) -> None:
    fitted = EBMRegressor(**POISSON).fit(FRAME, COUNTS)
    again = from_dict(json.loads(json.dumps(to_dict(fitted.model_))))
    assert again.predict(FRAME).tolist() == fitted.predict(FRAME).tolist()
    space: dict[str, Any] = {}
    exec(to_python(fitted.model_), space)  # noqa: S102 - our own source
    rows = FRAME.head(20).to_dicts()
    assert [space["predict"](row) for row in rows] == pytest.approx(fitted.predict(FRAME.head(20)).tolist())
    assert "EXP(" in to_sql(fitted.model_)
    line = fitted.model_.to_linear()
    assert (line.link, line.fit.family) == ("log", "poisson")
    assert "logarithm" in str(fitted.model_.to_frame()) or fitted.model_.link == "log"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"objective": "gamma"}, "objective"),
        ({"objective": "squared_error"}, "no effect"),
        ({"exposure": "area"}, "must name a number"),
        ({"exposure": "nothing"}, "must name a number"),
        ({"target_range": (1, 6)}, "counts from 0"),
        ({"algorithm": "boosting"}, "boosting"),
        ({"domain": Domain({**{n: DOMAIN[n] for n in DOMAIN}, "years": Real(0.0, 1.0)})}, "above 0"),
        ({"domain": Domain({**{n: DOMAIN[n] for n in DOMAIN}, "years": Real(0.1, 1.0, missing=True)})}, "above 0"),
        ({"domain": DOMAIN.restrict(["years"])}, "only attribute"),
    ],
)
@pytest.mark.filterwarnings(f"ignore::{PrivacyLeakWarning.__module__}.PrivacyLeakWarning")
def test_bad_parameters_are_refused_before_anything_is_spent(changed: dict[str, Any], message: str) -> None:
    given = {**POISSON, **changed}
    frame = FRAME.select([name for name in given["domain"] if name in FRAME.columns])
    with pytest.raises(InvalidParameterError, match=message):
        PrivateEBMRegressor(epsilon=1.0, **given).fit(frame, COUNTS)


def test_a_weight_stays_refused() -> None:
    with pytest.raises(TypeError, match="a weight changes how much one record can do"):
        PrivateEBMRegressor(epsilon=1.0, **POISSON).fit(FRAME, COUNTS, sample_weight=YEARS)


def test_a_card_of_counts_is_refused() -> None:
    fitted = EBMRegressor(**POISSON).fit(FRAME, COUNTS)
    with pytest.raises(GlassineError, match="scorecard"):
        fitted.to_scorecard()
