"""The parts of an XGBoost model that all its trees share: names, categories, objective and base score."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from glassine.domain import Category, Domain
from glassine.domain.attributes import LARGEST, Scalar
from glassine.errors import InvalidModelError, UnsupportedModelError
from glassine.formats.boosted.ensemble import MOST_CODES, numbers, whole_numbers
from glassine.formats.builder import feature_names
from glassine.formats.conditions import attribute_of, damaged, float_of

COUNTING = ("reg:squarederror", "reg:linear", "reg:absoluteerror", "reg:quantileerror")
"""Objectives under which every record has the second derivative 1."""
VALUES = (*COUNTING, "reg:pseudohubererror", "reg:squaredlogerror")
POSITIVE = ("count:poisson", "reg:gamma", "reg:tweedie")
"""Objectives whose value is the exponential of the score."""
BINARY = ("binary:logistic", "binary:logitraw")
CHANCES = ("binary:logistic",)
"""Objectives whose base score is a probability; that of raw scores is a score."""
SHARES = "reg:logistic"
"""Its targets may be shares as well as classes, and no file says which."""
SEVERAL = ("multi:softprob", "multi:softmax")
MOST_CLASSES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all trees of a model share."""

    trees: list[Any]  # The trees as they stand in the file
    names: tuple[str, ...]  # The features
    kinds: list[Any]  # Their types, where the file states them; list of str
    # The categories of each feature that has any, where the file names them.
    categories: list[tuple[Scalar, ...] | None]
    objective: str
    base: list[float]  # The scores that every record starts with, one a class where there are more than two
    first: int  # Number of trees of the first round
    estimated: bool  # Whether the base score was estimated, as far as the file says: one half seldom is
    weighted: bool  # Whether the records of the second class have a weight of their own
    step: float  # Bound on the steps of Poisson regression, which is part of its second derivative
    best: int | None = None  # Rounds up to the best one of training that stopped early
    drops: list[float] | None = None  # Of DART, what the scores of each tree are multiplied by

    @property
    def binary(self) -> bool:
        """Whether a score decides between two classes."""
        return self.objective in BINARY

    @property
    def exponential(self) -> bool:
        """Whether the value is the exponential of the score."""
        return self.objective in POSITIVE

    @property
    def each(self) -> list[float] | None:
        """Second derivative of every record in the trees of the first round, one a class; None where it differs."""
        if self.weighted:
            return None
        if self.objective in COUNTING:
            return [1.0]
        if self.binary:
            chance = self.chance
            return [chance * (1 - chance)]
        if self.objective == "count:poisson" and self.base[0] + self.step < 300:
            return [math.exp(self.base[0] + self.step)]
        if self.objective in SEVERAL:
            high = max(self.base)
            shares = [math.exp(max(-700.0, score - high)) for score in self.base]
            return [2 * share / sum(shares) * (1 - share / sum(shares)) for share in shares]
        return None

    @property
    def chance(self) -> float:
        """Probability of the second class before the first tree."""
        return 1 / (1 + math.exp(-self.base[0])) if abs(self.base[0]) < 300 else float(self.base[0] > 0)


def part(entry: Any, key: str) -> dict[str, Any]:
    """Return an object of the model."""
    value = entry.get(key)
    if not isinstance(value, dict):
        raise InvalidModelError(f"the XGBoost model lacks {key!r}.", remedy="Write it with save_model('model.json').")
    return value


def shared_parts(data: object, domain: Domain | None) -> Shared:
    """Return what all trees of a model share."""
    learner = part(data, "learner")
    booster = part(learner, "gradient_booster")
    if booster.get("name") not in ("gbtree", "dart"):
        raise UnsupportedModelError(f"boosters of the kinds gbtree and dart are read, got {booster.get('name')!r:.40}.")
    model = part(part(booster, "gbtree") if booster["name"] == "dart" else booster, "model")
    listed = model.get("trees")
    trees = listed if isinstance(listed, list) else []
    objective = part(learner, "objective")
    kind = objective.get("name")
    if kind == SHARES:
        raise UnsupportedModelError(
            f"the targets of the objective {SHARES!r} may be classes or shares, and the file does not say which.",
            remedy="If they are classes, train with 'binary:logistic', which gives the same trees; if they are shares, "
            "with 'reg:squarederror'.",
        )
    if kind not in (*VALUES, *POSITIVE, *BINARY, *SEVERAL):
        raise UnsupportedModelError(
            f"the objective {kind!r:.40} is not read: its scores are neither a value nor a class.",
            remedy="Train it with the objective 'binary:logistic'." if kind == "binary:hinge" else None,
        )
    parameters = part(learner, "learner_model_param")
    names = _names(learner, parameters, domain)
    types = learner.get("feature_types")
    kinds = types if isinstance(types, list) else []
    n_classes = _number(parameters.get("num_class", "0"), "num_class", MOST_CLASSES) if kind in SEVERAL else 1
    if _number(parameters.get("num_target", "1"), "num_target", MOST_CLASSES) > 1:
        raise UnsupportedModelError("the XGBoost model predicts several targets at once; one is supported.")
    options = model.get("gbtree_model_param")
    together = options.get("num_parallel_tree", "1") if isinstance(options, dict) else "1"
    base = _base(parameters.get("base_score"), kind, n_classes)
    stated = learner.get("attributes")
    best = str(stated.get("best_iteration", "")) if isinstance(stated, dict) else ""
    return Shared(
        trees=trees,
        best=int(best) + 1 if re.fullmatch(r"[0-9]{1,8}", best) else None,
        drops=numbers(booster.get("weight_drop"), len(trees), "weight_drop") if booster["name"] == "dart" else None,
        names=names,
        kinds=kinds,
        categories=_categories(model.get("cats"), names),
        objective=kind,
        base=base,
        estimated=str(parameters.get("boost_from_average", "1")) != "0" and base[0] != 0,
        first=n_classes * max(1, _number(together, "num_parallel_tree", 10**6)),
        weighted=_parameter(objective, "reg_loss_param", "scale_pos_weight", 1.0) != 1.0,
        step=_parameter(objective, "poisson_regression_param", "max_delta_step", 0.7),
    )


def _parameter(objective: dict[str, Any], group: str, key: str, default: float) -> float:
    """Return a number of the objective's parameters, NaN where it is none."""
    entry = objective.get(group)
    return float_of(str(entry.get(key, default) if isinstance(entry, dict) else default))


def _number(text: object, what: str, largest: int) -> int:
    if not re.fullmatch(r"[0-9]{1,8}", str(text)) or int(str(text)) > largest:
        raise InvalidModelError(f"{what} of the XGBoost model must be a whole number, got {text!r:.40}.")
    return int(str(text))


def _names(learner: dict[str, Any], parameters: dict[str, Any], domain: Domain | None) -> tuple[str, ...]:
    listed = learner.get("feature_names")
    if isinstance(listed, list) and listed:
        if not all(isinstance(name, str) for name in listed):
            raise InvalidModelError("the XGBoost model must name features by texts.")
        return feature_names(listed, len(listed), domain, "the XGBoost model")
    text = str(parameters.get("num_feature"))
    width = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1
    return feature_names(None, width, domain, "the XGBoost model")


def _base(text: object, objective: str, n_classes: int) -> list[float]:
    """Return the scores that every record starts with; the file holds the probability or the value that they mean."""
    inner = str(text).strip()
    parts = inner[1:-1].split(",") if inner.startswith("[") and inner.endswith("]") else [inner]
    scores = [float_of(entry) for entry in parts] * (n_classes if len(parts) == 1 else 1)
    positive = objective in (*CHANCES, *POSITIVE)
    if (
        len(scores) != max(1, n_classes)
        or not all(abs(base) <= LARGEST for base in scores)
        or (objective in CHANCES and not 0 < scores[0] < 1)
        or (positive and not scores[0] > 0)
    ):
        if objective in CHANCES and scores in ([0.0], [1.0]):
            raise InvalidModelError(
                "XGBoost was trained on records of one class, so that its base score is an endless logit.",
                remedy="Train it on both classes, or with base_score=0.5.",
            )
        raise InvalidModelError(
            f"base_score must be one finite number a class, a probability or a positive mean where the objective "
            f"needs one, got {text!r:.40}."
        )
    if objective in CHANCES:
        return [math.log(scores[0] / (1 - scores[0]))]
    return [math.log(scores[0])] if objective in POSITIVE else scores


def _categories(cats: object, names: tuple[str, ...]) -> list[tuple[Scalar, ...] | None]:
    """Return the names of each feature's categories, None where the file has none."""
    listed = cats.get("enc") if isinstance(cats, dict) else None
    if not isinstance(listed, list) or not listed:
        return [None] * len(names)
    if len(listed) != len(names) or not all(isinstance(entry, dict) for entry in listed):
        raise InvalidModelError(f"the XGBoost model must list the categories of its {len(names)} features.")
    return [_named(entry, name) for entry, name in zip(listed, names, strict=True)]


def _named(entry: dict[str, Any], name: str) -> tuple[Scalar, ...] | None:
    values = entry.get("values")
    if not isinstance(values, list) or not values:
        return None
    codes = whole_numbers(values, None, f"the categories of {name!r:.60}")
    ends = entry.get("offsets")
    if ends is None:
        out: tuple[Scalar, ...] = tuple(codes)
    else:
        stops = whole_numbers(ends, None, f"the categories of {name!r:.60}")
        if not stops or stops[0] != 0 or stops[-1] != len(codes) or sorted(stops) != stops:
            raise damaged(f"the categories of {name!r:.60} do not fit their letters.")
        raw = bytes(value & 0xFF for value in codes)
        out = tuple(raw[a:b].decode("utf-8", "replace") for a, b in itertools.pairwise(stops))
    plain = [value for value in out if not isinstance(value, str) or value.isascii()]
    if len(out) > MOST_CODES or len(set(plain)) < len(plain):
        raise damaged(f"the XGBoost model names a category of {name!r:.60} twice.")
    return out


def check_spelling(values: Sequence[Scalar], name: str, domain: Domain | None) -> None:
    """Raise UnsupportedModelError if names of categories may have been cut: XGBoost takes letters for bytes."""
    attribute = attribute_of(name, domain)
    declared = set(attribute.values) if isinstance(attribute, Category) else set()
    odd = [value for value in values if isinstance(value, str) and not value.isascii() and value not in declared]
    if odd:
        raise UnsupportedModelError(
            f"XGBoost cuts the names of categories that are not ASCII, such as {odd[0]!r:.40} of {name!r:.60}.",
            remedy="Rename them and train the model again.",
        )
