"""Fitted results of statsmodels, as they are in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassine.domain import Domain
from glassine.domain.attributes import Scalar
from glassine.errors import InvalidModelError, PrivacyLeakWarning, UnsupportedModelError, warn_caller
from glassine.formats.conditions import kinds_of
from glassine.formats.format import BY_START, of_object
from glassine.formats.printed.statsmodels import FAMILY_OF, REFERENCE
from glassine.formats.regressions import INTERCEPTS, OF_CLUSTERS, RegressionBuilder, factors_of, link_of
from glassine.models.regression import FitStatistics, RegressionModel

MODELS = {"PHReg": "PH Reg", "GLM": "GLM", **{name: name for name in FAMILY_OF}}
"""The models that are read, by the names of their classes."""
HOLDS_RECORDS = (
    "The results hold a figure of every training record: the design matrix, or offsets, outcomes or times, which "
    "results.remove_data() does not remove. results.save() writes them. Write the model, and release that file."
)
DEEPEST = 4
"""Levels of objects below the results at which arrays are looked for: a part of a part of the model."""


def is_results(obj: object) -> bool:
    """Return whether an object is a fitted result of statsmodels, or wraps one."""
    if isinstance(obj, type) or not kinds_of(obj, "statsmodels"):
        return False
    return hasattr(obj, "params") and hasattr(obj, "model")


def regression_from_results(results: Any, domain: Domain | None = None) -> RegressionModel:
    """Return fitted results of statsmodels as a plain value.

    Parameters
    ----------
    results : fitted results of OLS, WLS, Logit, Probit, Poisson, MNLogit, GLM or PHReg
        What ``fit()`` returned.
    domain : Domain, optional
        The public domain.

    Warns
    -----
    PrivacyLeakWarning
        If the results hold a figure of each record, as they do until ``remove_data()`` is called, and some do after.

    Raises
    ------
    UnsupportedModelError
        If the model is another.
    InvalidModelError
        If parts do not fit each other, or the domain lacks a column.
    """
    kinds = kinds_of(results.model, "statsmodels")
    kind = next((MODELS[name] for name in kinds if name in MODELS), "")
    if not kind or {"OrdinalGEE", "NominalGEE"} & set(kinds):
        raise UnsupportedModelError(
            f"{type(results.model).__name__} of statsmodels is not read.", remedy=f"Supported are {', '.join(MODELS)}."
        )
    if kind == "GLM":
        own = results.model.family
        family, link = link_of(type(own).__name__, type(own.link).__name__, "the GLM")
    else:
        family, link = FAMILY_OF[kind]
    names = [str(name) for name in results.model.exog_names]
    values = _matrix(results.params, len(names))
    # Of regularized results, no errors are known.
    errors = _matrix(getattr(results, "bse", np.full_like(values, np.nan)), len(names))
    if family == "multinomial":
        # The first class has no coefficients.
        values, errors = (np.column_stack([np.zeros(len(names)), part]) for part in (values, errors))
    builder = RegressionBuilder(f"the {kind} of statsmodels", domain, values.shape[1])
    for name, own_values, own_errors in zip(names, values.tolist(), errors.tolist(), strict=True):
        finite = [error for error in own_errors if math.isfinite(error)]
        if name in INTERCEPTS:
            builder.intercept = own_values
            builder.intercept_errors = own_errors if len(finite) == len(own_errors) else None
            continue
        standard_errors = own_errors if len(finite) == len(own_errors) else None
        builder.add(name, factors_of(name, domain), own_values, standard_errors)
    # A matrix of fewer records than parameters holds them as well.
    has_records = _has_matrix(results) or _holds_longer(results, values.size, DEEPEST, set())
    if has_records:
        warn_caller(HOLDS_RECORDS, PrivacyLeakWarning)
    return builder.model(
        link,
        _fit(results, kind, family, values.size - (len(names) if family == "multinomial" else 0), has_records),
        source=f"statsmodels {kind}",
        classes=_classes(results, family),
        target=_target(results),
    )


def _matrix(values: object, n: int) -> Any:
    array = np.asarray(values, dtype=float)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise InvalidModelError(f"the results have {array.shape} figures for {n} columns.")
    return array


def _has_matrix(results: Any) -> bool:
    return getattr(results.model, "exog", None) is not None


def _holds_longer(part: object, length: int, depth: int, seen: set[int]) -> bool:
    """Return whether results hold an array of more rows than they have parameters: records, under any name."""
    if id(part) in seen or depth < 0:
        return False
    seen.add(id(part))
    if hasattr(part, "shape"):
        return bool(part.shape) and part.shape[0] > length
    if isinstance(part, dict):
        parts = list(part.values())
    elif isinstance(part, list | tuple):
        parts = list(part)
    else:
        parts = list(getattr(part, "__dict__", {}).values()) if kinds_of(part, "statsmodels") else []
    return any(_holds_longer(own, length, depth - 1, seen) for own in parts)


def _target(results: Any) -> str:
    name = getattr(results.model, "endog_names", "")
    return name if isinstance(name, str) and len(name) <= 100 else ""


def _classes(results: Any, family: str) -> tuple[Scalar, ...] | None:
    """Return the classes of a multinomial model, whose first name is not stored with its coefficients."""
    if family != "multinomial":
        return None
    names: Sequence[object] = list(getattr(results.model, "_ynames_map", {}).values())
    n = _matrix(results.params, len(results.model.exog_names)).shape[1] + 1
    return tuple(str(name) for name in names) if len(names) == n else (REFERENCE, *(f"class {i}" for i in range(1, n)))


def _number(results: Any, name: str) -> float | None:
    try:
        value = getattr(results, name, None)
    except TypeError:  # a figure that is computed when it is asked for, of data that were removed
        return None
    return float(value) if isinstance(value, int | float | np.number) and math.isfinite(value) else None


def _fit(results: Any, kind: str, family: str, n_parameters: int, has_records: bool) -> FitStatistics:
    """Return what the results say of the fit."""
    n, scale = _number(results, "nobs"), _number(results, "scale")
    if n is None and _has_matrix(results):
        n = len(results.model.exog)
    degrees = _number(results, "df_resid")
    said = getattr(results, "mle_retvals", None)
    converged = said.get("converged") if isinstance(said, dict) else getattr(results, "converged", None)
    covariance = getattr(results, "covariance_type" if kind == "PH Reg" else "cov_type", "")
    status = getattr(results.model, "status", None) if kind == "PH Reg" else None
    return FitStatistics(
        family=family,
        n_events=None if status is None else round(float(np.sum(status))),
        n_records=None if n is None else round(n),
        n_parameters=n_parameters,
        df_residual=None if kind == "PH Reg" else degrees,
        dispersion="estimated" if family in ("gaussian", "gamma") or (kind == "GLM" and scale != 1) else "fixed",
        scale=scale if family == "gaussian" else None,
        log_likelihood=_number(results, "llf") if kind != "PH Reg" else None,
        r_squared=_number(results, "rsquared") if kind in ("OLS", "WLS") else None,
        errors="" if not hasattr(results, "bse") else "model" if covariance in ("nonrobust", "naive") else "robust",
        penalized=_penalized(results),
        converged=True if kind in ("OLS", "WLS") else None if converged is None else bool(converged),
        special=_special(results, kind, covariance),
        published=("design matrix",) if has_records else (),
    )


def _penalized(results: Any) -> bool:
    """Return whether coefficients were shrunk: by ``fit_regularized``, or by a penalty of the model."""
    shrunk = any("L1" in name or "Regularized" in name for name in kinds_of(results, "statsmodels"))
    return shrunk or bool(getattr(results, "regularized", False)) or bool(getattr(results.model, "pen_weight", 0))


def _special(results: Any, kind: str, covariance: str) -> tuple[str, ...]:
    """Return what a fit has that its summary does not print, as the model keeps it, with its data or without."""
    model = results.model
    kinds = kinds_of(model, "statsmodels")
    weights = [getattr(model, name, None) for name in ("freq_weights", "var_weights")] if kind == "GLM" else []
    # Without its data, a model keeps no weights, but that it had some.
    weighted = any(getattr(model, f"_has_{name}_weights", False) for name in ("freq", "var"))
    weighted = weighted or any(part is not None and not np.all(np.asarray(part) == 1) for part in weights)
    # Without its data, its family still has them.
    trials = getattr(model, "n_trials", None)
    trials = getattr(getattr(model, "family", None), "n", None) if trials is None else trials
    # It keeps exposures as their logarithms.
    offsets = [getattr(model, name, None) for name in ("offset", "exposure")]
    has = {
        "weights": kind == "WLS" or weighted,
        "offset": any(part is not None and np.any(np.asarray(part) != 0) for part in offsets),
        "strata": getattr(model, "strata", None) is not None,
        "grouped outcome": trials is not None and np.any(np.asarray(trials) > 1),
        "records of intervals": kind == "PH Reg" and getattr(model, "entry", None) is not None,
        "smooth terms": "GLMGam" in kinds,
        "clusters of records": covariance in OF_CLUSTERS or "GEE" in kinds,
    }
    return tuple(name for name, own in has.items() if own)


FORMAT = of_object(
    name="statsmodels results",
    again="print(results.summary()) in Python, and give the text",
    reads="fitted results of statsmodels in memory: OLS, WLS, Logit, Probit, Poisson, MNLogit, GLM, PHReg",
    reveals="coefficients, standard errors, numbers of records; a saved result holds every training record",
    leaves_out="nothing that the summary has",
    sniff=is_results,
    rank=BY_START,
    read=regression_from_results,
)
