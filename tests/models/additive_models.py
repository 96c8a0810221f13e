"""Additive models for tests: one of every kind of term, and drawn ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from glassine.models import AdditiveModel, CategoryBins, Guarantee, NumericBins, Term
from glassine.models.bins import Bins

Array = npt.NDArray[np.float64]


def income_model(**changes: Any) -> AdditiveModel:
    """Return a model like those of census records: numbers, categories and a pair, with noise."""
    random = np.random.default_rng(5)
    age = NumericBins("age", tuple(float(v) for v in range(20, 80, 3)), bounds=(17, 90))
    hours = NumericBins("hours", (20, 30, 38, 42, 50, 60), bounds=(1, 99))
    gain = NumericBins("gain", (0, 3000, 5000, 7000, 15000), bounds=(0, 99999))
    job = CategoryBins("job", (("manager",), ("specialist",), ("clerk", "sales"), ("craft",), ("service", "other")))
    married = CategoryBins("married", ((0,), (1,)))
    years = np.array([18, *age.cuts, 90])
    bump = 1.6 - ((years - 48) / 22) ** 2
    terms = (
        _noisy(random, (age,), [*bump[:21], 0.0], 0.12, [900 + 60 * k for k in range(21)] + [-3.2]),
        _noisy(
            random, (hours,), [-1.2, -0.9, -0.5, 0.1, 0.5, 0.7, 0.6, 0.0], 0.09, [900, 900, 1500, 9e3, 2e3, 9e2, 300, 0]
        ),
        _noisy(random, (gain,), [-0.2, -0.9, 0.6, -0.3, 3.1, 4.2, 0.0], 0.2, [22000, 300, 250, 120, 500, 140, 1.5]),
        _noisy(random, (job,), [0.8, 0.6, -0.1, -0.2, -0.9, 0.0], 0.08, [3000, 3100, 5200, 3000, 4100, 900]),
        _noisy(random, (married,), [-0.9, 0.8, 0.0], 0.04, [12000, 11000, 0.0]),
        _noisy(random, (hours, married), 0.3 * random.normal(size=(8, 3)), 0.1, random.uniform(-2, 900, size=(8, 3))),
    )
    given: dict[str, Any] = {
        "attributes": ("age", "hours", "gain", "job", "married", "unused"),
        "terms": terms,
        "intercept": (-1.25,),
        "link": "logit",
        "classes": ("<=50K", ">50K"),
        "target": "income",
        "source": "a test",
        "guarantee": Guarantee(epsilon=1.0, delta=1e-6, count_scale=4.0),
    }
    return AdditiveModel(**{**given, **changes})


def _noisy(random: np.random.Generator, bins: tuple[Bins, ...], shape: Any, error: float, weights: Any) -> Term:
    counts = np.asarray(weights, dtype=float)
    errors = error * np.sqrt(1000 / np.maximum(counts, 40.0))
    return Term(
        bins=bins, scores=np.asarray(shape) + errors * random.normal(size=errors.shape), errors=errors, weights=counts
    )


def simple_model(scores: Any, weights: Any = None, **changes: Any) -> AdditiveModel:
    """Return a regression on one number x with cuts 1, 2, 3 and so on; the last score is of missing values."""
    values = np.asarray(scores, dtype=float)
    bins = NumericBins("x", tuple(float(k) for k in range(1, len(values) - 1)))
    term = Term(bins=(bins,), scores=values, weights=None if weights is None else np.asarray(weights, dtype=float))
    return AdditiveModel(**{"attributes": ("x",), "terms": (term,), "intercept": (0.0,), "link": "identity", **changes})


CATEGORIES: list[tuple[Any, ...]] = [
    ("a", "b", "c"),
    (0, 1),
    (False, True),
    (1, "1", 2.5, "it's"),
    ("line\nfeed", 'say "hi"', "weiß", "</script>"),
]
FINITE = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, 1e-300, -1e300, 5e-324]), st.floats(-1e3, 1e3, allow_subnormal=True)
)


@st.composite
def bins_of(draw: st.DrawFn, name: str, *, numeric: bool, values: tuple[Any, ...] | None = None) -> Bins:
    """Draw bins of an attribute, of the given categories if there are any."""
    if numeric:
        cut = st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float)
        cuts = sorted(set(draw(st.lists(cut.map(lambda v: v + 0.0), max_size=5))))
        bounds = draw(st.none() | st.just((-1e7, 1e7)))
        return NumericBins(name, tuple(cuts), draw(st.sampled_from(["right", "left"])), bounds)
    values = draw(st.sampled_from(CATEGORIES)) if values is None else values
    split = draw(st.integers(1, len(values)))
    groups = tuple(group for group in (values[:split], values[split:]) if group)
    gaps = draw(st.sampled_from(["last bin", "group", "bin"]))
    if gaps == "group":
        groups = ((*groups[0], None), *groups[1:])
    return CategoryBins(name, (*groups, (None,)) if gaps == "bin" else groups)


@st.composite
def additive_models(draw: st.DrawFn, *, plain: bool = False) -> AdditiveModel:
    """Draw models of every link, with terms of numbers, categories and pairs; of one type a column if ``plain``."""
    link = draw(st.sampled_from(["identity", "logit", "softmax"]))
    classes: tuple[Any, ...] | None = None
    if link == "logit":
        classes = draw(st.sampled_from([("no", "yes"), (0, 1), (False, True), ("1", 1)][: 3 if plain else 4]))
    elif link == "softmax":
        classes = draw(st.sampled_from([("a", "b", "c"), (1, 2, 3, 4), ("it's", 'a "b"')]))
    outputs = len(classes or ()) if link == "softmax" else 1
    numeric = {name: draw(st.booleans()) for name in ("x", "y z", "w")}
    values = {name: draw(st.sampled_from(CATEGORIES[:2])) if plain else None for name in numeric}
    pairs = [(name,) for name in numeric] + [("x", "w"), ("w", "y z")]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4))
    terms = []
    for names in chosen:
        bins = tuple(draw(bins_of(name, numeric=numeric[name], values=values[name])) for name in names)
        shape = tuple(entry.n_bins for entry in bins)
        terms.append(
            Term(
                bins=bins,
                scores=_drawn(draw, (*shape, outputs), FINITE),
                errors=_drawn(draw, (*shape, outputs), st.floats(0, 9)) if draw(st.booleans()) else None,
                weights=_drawn(draw, shape, st.floats(-9, 999)) if draw(st.booleans()) else None,
            )
        )
    return AdditiveModel(
        attributes=tuple(numeric),
        terms=tuple(terms),
        intercept=tuple(draw(FINITE) for _ in range(outputs)),
        link=link,
        classes=classes,
        target=draw(st.sampled_from(["", "income"])),
        target_bounds=draw(st.sampled_from([None, (-2.0, 3.5)])) if link == "identity" else None,
        guarantee=draw(st.sampled_from([None, Guarantee(epsilon=1.0, delta=1e-6, count_scale=3.0)])),
    )


def _drawn(draw: st.DrawFn, shape: tuple[int, ...], values: st.SearchStrategy[float]) -> Array:
    size = int(np.prod(shape))
    return np.array(draw(st.lists(values, min_size=size, max_size=size))).reshape(shape)


def records_for(model: AdditiveModel, random: np.random.Generator, n: int = 40) -> dict[str, npt.NDArray[Any]]:
    """Return records that fall on cuts, beside them, far outside, and into every group, are missing or undeclared."""
    out: dict[str, npt.NDArray[Any]] = {}
    for name in model.attributes:
        found = [bins for term in model.terms for bins in term.bins if bins.attribute == name]
        values: list[Any] = []
        numeric = all(isinstance(bins, NumericBins) for bins in found)
        for bins in found:
            if isinstance(bins, NumericBins):
                for cut in bins.cuts:
                    values += [cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)]
            else:
                values += [*bins.values]
        unseen = "never seen" if any(isinstance(value, str) for value in values) else 97
        values += [-1e9, 0.0, 1e9, np.nan] if numeric else [None, unseen]
        picked = random.integers(len(values), size=n)
        out[name] = np.array([values[i] for i in picked], dtype=float if numeric else object)
    return out
