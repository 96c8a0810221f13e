"""Explainable boosting machines of interpret, and their JSON, as additive models.

The reader looks at what an object holds and at the JSON that it writes; interpret itself is not imported. An object is
read through its own ``to_jsonable``, so that object and file give the same model.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from glassine.domain import Category, Domain
from glassine.domain.attributes import Scalar, is_name, is_scalar
from glassine.errors import GlassineError, InvalidModelError, UnsupportedModelError, first_of
from glassine.formats.conditions import attribute_of, float_of, kinds_of, not_fitted
from glassine.formats.format import Format
from glassine.models.additive import AdditiveModel
from glassine.models.bins import Bins, CategoryBins, NumericBins
from glassine.models.guarantee import Guarantee
from glassine.models.terms import Term, in_domain_order

Array = npt.NDArray[np.float64]

SOURCE = "interpret, explainable boosting machine"
CLASSES = ("ExplainableBoostingClassifier", "ExplainableBoostingRegressor")
LINKS = {"logit": "logit", "mlogit": "softmax", "identity": "identity", "log": "log"}
TAKEN_OVER = "interpret's claim, taken over without a test"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Feature:
    """One attribute of the artefact: at each level of resolution its cuts, or its categories bin by bin."""

    name: str
    numeric: bool
    levels: tuple[tuple[Any, ...], ...]
    bounds: tuple[float, float] | None

    def level(self, order: int) -> tuple[Any, ...]:
        """Return what terms of ``order`` attributes use: the last level for higher orders."""
        return self.levels[min(order, len(self.levels)) - 1]


def is_interpret_ebm(obj: object) -> bool:
    """Return whether an object is an explainable boosting machine of interpret, by the names of its classes."""
    return any(name.removeprefix("DP") in CLASSES for name in kinds_of(obj, "interpret"))


def is_interpret_json(data: object) -> bool:
    """Return whether JSON values look like those that an explainable boosting machine writes."""
    return isinstance(data, dict) and isinstance(data.get("ebm"), dict) and "schema" not in data


def additive_from_interpret(obj: object, domain: Domain | None = None) -> AdditiveModel:
    """Return an explainable boosting machine of interpret as an additive model.

    Scores are those of interpret to the last digits, since the same numbers are added. With a log link they are
    logarithms of predictions, and so is what the model predicts; its source says so. Cuts keep their side: a value on
    a cut belongs to the upper bin. Bin weights become weights. Deviations over the bags, which are no
    noise of a release, histograms and scores of single bags are not taken over: a clean copy has none of them.

    Guarantee
    ---------
    None. What a ``DPExplainableBoosting...`` claims is taken over as a claim, with the caveat that it was, and with
    what contradicts it.

    Parameters
    ----------
    obj : ExplainableBoostingClassifier, ExplainableBoostingRegressor, or mapping
        The fitted object, a private one too, or the JSON values that its ``to_jsonable`` returns.
    domain : Domain, optional
        States which categories that look like numbers are texts. Otherwise ``"1"`` is read as the number 1:
        interpret takes 1, 1.0, True and "1" as the same.

    Returns
    -------
    AdditiveModel

    Raises
    ------
    InvalidModelError
        If the object is not fitted, or the values contradict themselves.
    UnsupportedModelError
        If a term has more than two attributes, or the link is not that of a regression, of two classes or of several.
    """
    data = _ebm(obj)
    link, classes = _output(data)
    features = _features(data, domain)
    terms = _terms(data, features)
    return AdditiveModel(
        attributes=tuple(feature.name for feature in features),
        terms=terms if domain is None else in_domain_order(terms, domain),
        intercept=tuple(_tensor(data.get("intercept"), "the intercept", 1).tolist()),
        link=link,
        classes=classes,
        source=SOURCE,
        guarantee=_guarantee(data, features, regression=classes is None),
        # Bins hold sums of sample weights, which are numbers of records only where no weights were used.
        sizes="derived" if any(term.weights is not None for term in terms) else "stored",
    )


def _ebm(obj: Any) -> dict[str, Any]:
    """Return the JSON values of the machine itself."""
    data = obj
    if not isinstance(obj, Mapping):
        if not getattr(obj, "has_fitted_", hasattr(obj, "term_scores_")):
            raise not_fitted(obj, "'term_scores_'")
        try:
            with warnings.catch_warnings():
                # interpret warns that its format may change, which the reader checks for itself.
                warnings.simplefilter("ignore")
                data = obj.to_jsonable()
        except GlassineError:
            raise
        except Exception as error:
            raise InvalidModelError(
                f"the {type(obj).__name__} cannot be read through its to_jsonable: {type(error).__name__}."
            ) from None
    inner = data.get("ebm") if isinstance(data, Mapping) else None
    if not isinstance(inner, dict):
        raise InvalidModelError("the JSON of an explainable boosting machine must be an object with the key 'ebm'.")
    return inner


def listed(entry: dict[str, Any], key: str, what: str) -> list[Any]:
    """Return a list of an object, empty where it is absent."""
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise InvalidModelError(f"{what}: {key!r} must be a list, got {type(value).__name__}.")
    return value


def _objects(data: dict[str, Any], kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of a kind that a model lists, each with its kind and number."""
    for i, entry in enumerate(listed(data, f"{kind}s", "the model"), start=1):
        if not isinstance(entry, dict):
            raise InvalidModelError(f"{kind} {i} must be an object, got {type(entry).__name__}.")
        yield f"{kind} {i}", entry


def _only_output(data: dict[str, Any]) -> dict[str, Any]:
    outputs = listed(data, "outputs", "the model")
    if len(outputs) != 1 or not isinstance(outputs[0], dict):
        raise InvalidModelError(f"the model must have one output, as an object, got {len(outputs)}.")
    return outputs[0]


def _output(data: dict[str, Any]) -> tuple[str, tuple[Scalar, ...] | None]:
    """Return the link and the classes."""
    output = _only_output(data)
    link = output.get("link", "")
    if not isinstance(link, str) or link not in LINKS or (link == "log" and output.get("task") != "regression"):
        raise UnsupportedModelError(
            f"the link {link!r:.40} is not supported; supported are {', '.join(LINKS)}.",
            remedy="Fit with an objective of one of these links, such as log_loss, rmse or poisson_deviance.",
        )
    classes = None
    if LINKS[link] not in ("identity", "log"):
        names = listed(output, "classes", "the output")
        classes = tuple(label.item() if isinstance(label, np.generic) else label for label in names)
        if not all(is_scalar(label) for label in classes):
            raise InvalidModelError("the classes must be strings, finite numbers or Booleans.")
    return LINKS[link], classes


def _features(data: dict[str, Any], domain: Domain | None) -> tuple[_Feature, ...]:
    out = []
    used = {
        name
        for _, entry in _objects(data, "term")
        for name in listed(entry, "term_features", "a term")
        if isinstance(name, str)
    }
    for what, entry in _objects(data, "feature"):
        name, kind = entry.get("name"), entry.get("type")
        if not isinstance(name, str) or not is_name(name):
            raise InvalidModelError(f"{what} must have a name, a non-empty string.")
        if kind not in ("continuous", "nominal", "ordinal"):
            raise UnsupportedModelError(f"feature {name!r} has the type {kind!r:.40}, not continuous or categorical.")
        numeric = kind == "continuous"
        # A feature that exclude= left out of all terms has no bins.
        levels = listed(entry, "cuts" if numeric else "categories", what) or ([] if name in used else [[]])
        if not levels or not all(isinstance(level, list) for level in levels):
            raise InvalidModelError(f"{what} must list its {'cuts' if numeric else 'categories'}, level by level.")
        out.append(
            _Feature(
                name=name,
                numeric=numeric,
                levels=tuple(_cuts(level, what) if numeric else _groups(level, name, domain) for level in levels),
                bounds=_range(entry, "min", "max") if numeric else None,
            )
        )
    return tuple(out)


def _cuts(level: list[Any], what: str) -> tuple[float, ...]:
    cuts = tuple(_tensor(level, f"the cuts of {what}", 1).tolist())
    if not all(low < high for low, high in pairwise(cuts)):
        raise InvalidModelError(f"the cuts of {what} must increase strictly.")
    return cuts


def _groups(level: list[Any], name: str, domain: Domain | None) -> tuple[tuple[Scalar, ...], ...]:
    """Return the categories bin by bin, as the values that data have."""
    groups = [entry if isinstance(entry, list) else [entry] for entry in level]
    names = [value for group in groups for value in group]
    if not all(isinstance(value, str) for value in names):
        raise InvalidModelError(f"the categories of {name!r} must be texts.")
    declared = attribute_of(name, domain)
    spelled: dict[str, Scalar] = {}
    if isinstance(declared, Category):
        spelled = {_spelled(value): value for value in reversed(declared.values)}
    elif all(_number_of(value) is not None for value in names):
        spelled = {value: _number_of(value) or 0 for value in names}
    return tuple(tuple(spelled.get(str(value), str(value)) for value in group) for group in groups)


def _spelled(value: Scalar) -> str:
    """Return a category as interpret spells it: numbers and Booleans in their shortest form."""
    if isinstance(value, str):
        return value
    plain = float(value)
    return str(int(plain)) if plain.is_integer() and abs(plain) < 2**63 else repr(plain)


def _number_of(spelled: str) -> int | float | None:
    """Return the number that a category spells in its shortest form; None for another text."""
    value = float_of(spelled)
    if not abs(value) < 2**53 or _spelled(value) != spelled:
        return None
    return int(value) if value.is_integer() else value


def _terms(data: dict[str, Any], features: tuple[_Feature, ...]) -> tuple[Term, ...]:
    where = {feature.name: feature for feature in features}
    if len(where) < len(features):
        raise InvalidModelError("two features have one name.", remedy="Give each its own name.")
    raw = []
    for what, entry in _objects(data, "term"):
        names = listed(entry, "term_features", what)
        if not names or not all(isinstance(name, str) and name in where for name in names):
            raise InvalidModelError(f"{what} must name features of the model.")
        if len(names) > 2:
            raise UnsupportedModelError(f"{what} has {len(names)} attributes; at most 2 are read.", remedy="Fit pairs.")
        used = [where[name] for name in names]
        shape = tuple(len(feature.level(len(used))) + (3 if feature.numeric else 2) for feature in used)
        scores = _tensor(entry.get("scores"), f"the scores of {what}", len(used), len(used) + 1)
        weights = None
        if entry.get("bin_weights") is not None:
            weights = _tensor(entry["bin_weights"], f"the bin weights of {what}", len(used))
        for array in (scores, weights):
            if array is not None and array.shape[: len(used)] != shape:
                raise InvalidModelError(f"{what} must have {shape} scores and weights by its bins, got {array.shape}.")
        raw.append((used, scores if scores.ndim > len(used) else scores[..., None], weights))
    separate = _split_categories(raw)
    return tuple(_term(used, scores, weights, separate) for used, scores, weights in raw)


Raw = tuple[list[_Feature], Array, Array | None]


def _split_categories(raw: list[Raw]) -> set[str]:
    """Return the categories whose missing values differ from those that were never seen, in scores or in weights."""
    # Each categorical axis starts with the missing values and ends with the others. If both are equal and hold no
    # records, one bin says as much.
    separate: set[str] = set()
    for used, scores, weights in raw:
        for axis, feature in enumerate(used):
            if not feature.numeric and (
                not np.array_equal(*(np.take(scores, at, axis=axis) for at in (0, -1)))
                or (weights is not None and any(np.take(weights, at, axis=axis).any() for at in (0, -1)))
            ):
                separate.add(feature.name)
    return separate


def _term(used: list[_Feature], scores: Array, weights: Array | None, separate: set[str]) -> Term:
    for axis, feature in enumerate(used):
        # Missing values come behind the others here; the last bin of a category is for values never seen.
        unseen = scores.shape[axis] - 1
        order = [*range(1, unseen), 0, *([unseen] if feature.name in separate else [])]
        scores = np.take(scores, order, axis=axis)
        if weights is not None:
            gone = 0.0 if feature.name in separate else np.take(weights, [unseen], axis=axis)
            weights = np.take(weights, order, axis=axis)
            weights[(slice(None),) * axis + (slice(-1, None),)] += gone
    return Term(bins=tuple(_bins(feature, len(used), separate) for feature in used), scores=scores, weights=weights)


def _bins(feature: _Feature, order: int, separate: set[str]) -> Bins:
    if feature.numeric:
        return NumericBins(feature.name, feature.level(order), "left", feature.bounds)
    groups = feature.level(order)
    return CategoryBins(feature.name, (*groups, (None,)) if feature.name in separate else groups)


def _guarantee(data: dict[str, Any], features: tuple[_Feature, ...], *, regression: bool) -> Guarantee | None:
    """Return what a private machine claims; None for an ordinary one."""
    scale = data.get("noise_scale_binning")
    if scale is None and data.get("noise_scale_boosting") is None:
        return None
    settings = data.get("implementation_params")
    params = settings if isinstance(settings, dict) else {}
    epsilon, delta = _number(params.get("epsilon")), _number(params.get("delta"))
    caveats = [TAKEN_OVER]
    if epsilon is None or delta is None:
        raise InvalidModelError("a private model states its epsilon and delta.", remedy="Write it with detail='all'.")
    named = [feature.name for feature in features if not feature.numeric]
    if named:
        caveats.append(f"the categories of {first_of(named)} were named by the data")
    if params.get("privacy_bounds") is None and any(feature.numeric for feature in features):
        caveats.append("the ranges of the numbers were taken from the data")
    if regression:
        caveats.append("residuals of a regression are not clipped, so that one record can move more than is allowed")
    if params.get("random_state") is not None:
        caveats.append("seeded: not private")
    return Guarantee(epsilon=epsilon, delta=delta, count_scale=_number(scale), caveats=tuple(caveats))


def _number(value: object) -> float | None:
    """Return a finite number that a model can hold; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e300:
        return None
    return float(value)


def _range(entry: dict[str, Any], low: str, high: str) -> tuple[float, float] | None:
    """Return the two ends of a range; None unless both are stated."""
    ends = _number(entry.get(low)), _number(entry.get(high))
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _tensor(values: object, what: str, least: int, most: int | None = None) -> Array:
    """Return finite numbers in lists nested ``least`` to ``most`` deep."""
    try:
        if not isinstance(values, list):
            raise TypeError
        array = np.array(values)
        if array.size and array.dtype.kind not in "fiu":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidModelError(f"{what} must be numbers in lists of one length.") from None
    if not least <= array.ndim <= (most or least) or not (np.abs(array) < 1e300).all():
        raise InvalidModelError(f"{what} must be finite numbers, lists nested {least} deep, got {array.ndim}.")
    return array


FORMAT = Format(
    name="interpret",
    again="ebm.to_json('model.json', detail='all')",
    reads="explainable boosting machine of interpret, or its JSON",
    reveals="terms, bins and scores",
    leaves_out="histograms, deviations over the bags and scores of single bags: a clean copy has none of them",
    extensions=(".json",),
    contents=("object", "values"),
    sniff=lambda content: is_interpret_ebm(content) or is_interpret_json(content),
    read=additive_from_interpret,
)
