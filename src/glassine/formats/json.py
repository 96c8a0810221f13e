"""Models as JSON, schemas ``glassine.model/1`` and ``/2``: what each part of a model is in a file."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import fields, replace
from itertools import chain
from typing import Any

import numpy as np

from glassine.codec import (
    FLOAT,
    OBJECT,
    SCALAR,
    Codec,
    Field,
    Refused,
    choice,
    decoded,
    kind_of,
    listed,
    optional,
    record,
)
from glassine.domain import Domain
from glassine.domain.special_codes import NO_CODES, SPECIAL
from glassine.errors import InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.files import parse_json
from glassine.formats.builder import place_of, source_of
from glassine.formats.conditions import not_fitted
from glassine.formats.format import BY_START, LAST, PublishedModel, of_object, of_values
from glassine.formats.json_ensembles import ENSEMBLE, SCHEMA, ensemble_of
from glassine.formats.json_nodes import EVIDENCE, LITERAL, MOST_ROWS, SCALARS, read_nodes, written_nodes
from glassine.models.additive import AdditiveModel
from glassine.models.bins import CategoryBins, NumericBins
from glassine.models.effects import Effect, Equal, Power
from glassine.models.ensemble import TreeEnsemble
from glassine.models.guarantee import Guarantee
from glassine.models.regression import FitStatistics, RegressionModel
from glassine.models.rule_list import Rule, RuleList
from glassine.models.terms import Edit, Term
from glassine.models.tree import DecisionTree, Forest

SIZED = "glassine.model/2"
"""The same with the key ``sizes``: a reader that does not know it would take sums of weights for counts."""
KIND = "additive"

# What stands in a file otherwise than in the dataclass.


def _kind_of_bins(plain: dict[str, Any]) -> type[NumericBins | CategoryBins]:
    if ("cuts" in plain) == ("groups" in plain):
        raise Refused("must have either cuts or groups")
    return NumericBins if "cuts" in plain else CategoryBins


def _numbers(plain: object, depth: int = 3) -> Any:
    """Return a list of finite numbers, nested by the two axes of a pair and that of several outputs."""
    if not isinstance(plain, list):
        raise Refused(f"must be a list of numbers, got {kind_of(plain)}")
    for entry in plain:
        if isinstance(entry, list) and depth > 1:
            _numbers(entry, depth - 1)
        elif isinstance(entry, bool) or not isinstance(entry, int | float) or not abs(entry) <= 1e300:
            raise Refused(f"must be finite numbers in lists, got {kind_of(entry)}")
    return plain


def _array(array: object) -> Any:
    return np.asarray(array).tolist()


def _without_output(name: str) -> Field:
    """Return the field of an array by bins and outputs, whose last axis is left out where there is one output."""

    def get(term: Term) -> Any:
        array = getattr(term, name)
        return array[..., 0] if array is not None and term.n_outputs == 1 else array

    return Field(codec=Codec(_array, _numbers), get=get, omit=None)


# The codecs, from the parts to the whole. An order of keys is given where it is not that of the dataclass.

GUARANTEE: Codec[Guarantee] = record(
    Guarantee,
    # A neighboring relation that goes without saying is how guarantees are misread.
    {"neighboring": Field(required=True), "records_per_person": Field(omit=None), "setting": Field(omit=None)},
    order=("epsilon", "delta", "neighboring", "records_per_person", "count_scale", "setting", "caveats"),
)
HEAD = {"classes": Field(codec=optional(SCALARS)), "guarantee": Field(codec=optional(GUARANTEE), omit=None)}
HEAD["sizes"] = Field(omit="stored")
CELLS = ("attributes", "classes", "source", "approximate", "sizes", "guarantee")
TREE: Codec[DecisionTree] = record(
    DecisionTree,
    {**HEAD, "nodes": Field(codec=Codec(written_nodes, read_nodes))},
    head={"schema": SCHEMA, "kind": "decision-tree"},
    order=(*CELLS, "nodes"),
)
RULE: Codec[Rule] = record(
    Rule,
    {"antecedent": Field(codec=listed(LITERAL), key="if", required=True), "evidence": Field(codec=EVIDENCE, flat=True)},
)
RULES: Codec[RuleList] = record(
    RuleList,
    {**HEAD, "rules": Field(codec=listed(RULE))},
    head={"schema": SCHEMA, "kind": "rule-list"},
    order=(*CELLS, "rules"),
)
BINS: Codec[Any] = choice(
    {
        # Which side is closed would be read either way where it goes without saying.
        NumericBins: record(
            NumericBins,
            {
                "cuts": Field(required=True),
                "closed": Field(required=True),
                "bounds": Field(omit=None),
                "codes": Field(codec=SPECIAL, omit=NO_CODES),
            },
        ),
        # Null stands for missing values.
        CategoryBins: record(CategoryBins, {"groups": Field(codec=listed(listed(optional(SCALAR))))}),
    },
    _kind_of_bins,
)
TERM: Codec[Term] = record(
    Term,
    {
        "bins": Field(codec=listed(BINS)),
        "scores": _without_output("scores"),
        "errors": _without_output("errors"),
        "weights": Field(codec=Codec(_array, _numbers), omit=None),
    },
    order=("name", "bins", "scores", "errors", "weights"),
)
EDIT: Codec[Edit] = record(
    Edit,
    {
        "parameters": Field(codec=Codec(dict, lambda plain: tuple(OBJECT.decode(plain).items())), required=True),
        **{name: Field(required=True) for name in ("cells", "before", "after")},
    },
)
ADDITIVE: Codec[AdditiveModel] = record(
    AdditiveModel,
    {
        **HEAD,
        "joint": Field(omit=False),
        "terms": Field(codec=listed(TERM)),
        "edits": Field(codec=listed(EDIT)),
        "scorecard": Field(omit=None),
    },
    head={"schema": SCHEMA, "kind": KIND},
    order=(
        *("attributes", "classes", "link", "target", "target_bounds", "source", "guarantee"),
        *("sizes", "joint", "intercept", "terms", "edits", "scorecard"),
    ),
)
FACTOR: Codec[Any] = choice(
    {
        Power: record(Power, {"exponent": Field(codec=FLOAT, key="power", required=True), "missing": Field(omit=None)}),
        # Null stands for missing values.
        Equal: record(Equal, {"value": Field(codec=optional(SCALAR))}),
    },
    lambda plain: Power if "power" in plain else Equal,
)
EFFECT: Codec[Effect] = record(Effect, {"factors": Field(codec=listed(FACTOR))}, omit_defaults=True)
FIT: Codec[FitStatistics] = record(
    FitStatistics,
    order=[one.name for one in fields(FitStatistics) if one.name not in ("published", "n_residuals", "equations")],
    omit_defaults=True,
)
"""A copy of a model does not hold what its file held beside it, so that it does not list it."""
REGRESSION: Codec[RegressionModel] = record(
    RegressionModel,
    {
        **{name: part for name, part in HEAD.items() if name != "sizes"},
        "effects": Field(codec=listed(EFFECT)),
        "fit": Field(codec=FIT),
        "intercept_errors": Field(omit=None),
    },
    head={"schema": SCHEMA, "kind": "regression"},
    order=(
        *("attributes", "classes", "link", "target", "source", "guarantee", "fit", "intercept"),
        *("intercept_errors", "effects"),
    ),
)
MODELS: dict[str, tuple[type[PublishedModel], Codec[Any]]] = {
    "decision-tree": (DecisionTree, TREE),
    "rule-list": (RuleList, RULES),
    KIND: (AdditiveModel, ADDITIVE),
    "regression": (RegressionModel, REGRESSION),
}


def _forest_of(values: object, domain: Domain | None = None) -> Forest:
    """Return all trees of a file: those of an ensemble, or one."""
    ensemble = ensemble_of(values)
    if ensemble is not None and ensemble.scoring is not None:
        return ensemble.scoring.forest
    model = from_dict(values)
    if not isinstance(model, DecisionTree):
        raise UnsupportedModelError(f"this is a {model}, not trees.", remedy="Read it with load_model.")
    return Forest(trees=(model,), source=model.source)


def _model_of(values: object, domain: Domain | None = None, tree: int | None = None) -> PublishedModel:
    """Return the model of a file; of an ensemble the tree that is asked for."""
    ensemble = ensemble_of(values)
    if ensemble is None or ensemble.scoring is None:
        place_of(1, tree, "the file")  # one model has one place
        return from_dict(values)
    trees = ensemble.scoring.forest.trees
    place = place_of(len(trees), tree, "the ensemble")
    return replace(trees[place], source=source_of("an ensemble", place, len(trees)))


def to_dict(model: PublishedModel | TreeEnsemble) -> dict[str, Any]:
    """Return a model as plain JSON values.

    Raises
    ------
    UnsupportedModelError
        If it is an ensemble that its estimator predicts, or of which that is not known.
    """
    if isinstance(model, TreeEnsemble):
        if model.scoring is None:
            raise UnsupportedModelError(
                "the trees of this ensemble are not plain values.", remedy="Write it with write_model(ensemble, path)."
            )
        plain: dict[str, Any] = ENSEMBLE.encode(model)
        return plain
    out: dict[str, Any] = next(codec for kind, codec in MODELS.values() if isinstance(model, kind)).encode(model)
    return {**out, "schema": SIZED} if "sizes" in out else out


def from_dict(data: object) -> PublishedModel:
    """Return the model that plain JSON values describe."""
    if not isinstance(data, dict) or "schema" not in data:
        raise InvalidModelError(
            "no format of models was recognized.",
            remedy=f'A model of Glassine is a JSON object with "schema": "{SCHEMA}".',
        )
    other = data["schema"] if isinstance(data["schema"], str) else ""
    if re.fullmatch(r"glassine\.(?!model/)[a-z-]+/.*", other, re.DOTALL):
        hint = "Give it as the domain." if other.startswith("glassine.domain/") else "Give the file of the model."
        raise InvalidModelError(f"this is no model, but of schema {other!r}; a model's is {SCHEMA!r}.", remedy=hint)
    if data["schema"] not in (SCHEMA, SIZED):
        raise InvalidModelError(
            f"this version reads models of schemas {SCHEMA!r} and {SIZED!r}, got {data['schema']!r:.80}.",
            remedy="Read it with the version that wrote it, or write it again with this one.",
        )
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in MODELS:
        raise InvalidModelError(f"a model's kind must be one of {', '.join(MODELS)}, got {kind!r:.40}.")
    model: PublishedModel = decoded(MODELS[kind][1], {**data, "schema": SCHEMA}, "the model", InvalidModelError)
    return model


def layout(value: object, margin: str = "") -> str:
    """Return plain values as JSON to read: what holds only numbers and texts stands on one line."""
    inner = margin + "  "
    if isinstance(value, dict) and value and any(isinstance(entry, dict | list) for entry in value.values()):
        lines = [f"{inner}{_plain(key)}: {layout(entry, inner)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{margin}}}"
    if isinstance(value, list) and not {dict, list}.isdisjoint(map(type, value)):
        lists = [entry for entry in value if entry is not None]
        if set(map(type, lists)) <= {list} and set(map(type, chain.from_iterable(lists))) <= {int}:
            # Counts of thousands of nodes: Python writes lists of whole numbers as JSON does, ten times as fast.
            return (
                "[\n" + ",\n".join(f"{inner}{'null' if entry is None else entry}" for entry in value) + f"\n{margin}]"
            )
        return "[\n" + ",\n".join(f"{inner}{layout(entry, inner)}" for entry in value) + f"\n{margin}]"
    return _plain(value)


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def fingerprint(model: PublishedModel) -> str:
    """Return the SHA-256 of a model's JSON, in hexadecimal, for every file layout."""
    text = json.dumps(to_dict(model), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_json_model(model: PublishedModel | TreeEnsemble, domain: Domain | None = None) -> str:
    """Return a model as the text of its JSON file; lists of scores, and columns of nodes, stand on one line each."""
    many = isinstance(model, DecisionTree) and len(model.nodes) > MOST_ROWS
    if many or isinstance(model, AdditiveModel | RegressionModel | TreeEnsemble):
        return layout(to_dict(model)) + "\n"
    return json.dumps(to_dict(model), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_sizes_in_schema_1(model: PublishedModel, domain: Domain | None = None) -> str:
    """Return the JSON file of a model as it was written before schema 2, with the key ``sizes`` in schema 1."""
    if getattr(model, "sizes", "stored") == "stored":
        raise UnsupportedModelError("a model without the key has one form.", remedy="Write that.")
    return write_json_model(model, domain).replace(SIZED, SCHEMA, 1)


# The guarantee that a publisher claims, in files that have a field or a comment for it: one spelling for all.

KEY = "glassine.guarantee"
"""Name of the field, and start of the comment."""
COMMENT = f"# {KEY} "


def claim_of(guarantee: Guarantee) -> str:
    """Return a guarantee as JSON of ASCII characters on one line, which closes no comment and declares no encoding."""
    text = json.dumps(GUARANTEE.encode(guarantee), ensure_ascii=True, allow_nan=False)
    # Python takes "coding: NAME" in a first comment for the encoding of the file, by which a comment may become code.
    return text.replace("/", "\\u002f").replace("coding", "\\u0063oding")


def without_counts(guarantee: Guarantee | None) -> Guarantee | None:
    """Return a guarantee of a model whose counts are left out."""
    return None if guarantee is None else replace(guarantee, count_scale=None)


def guarantee_of(claim: str) -> Guarantee:
    """Return the guarantee of a claim, which holds what the same key of Glassine's JSON does."""
    try:
        plain = parse_json(claim, path=KEY)
    except UnreadableFileError as error:
        raise InvalidModelError(str(error)) from None
    return decoded(GUARANTEE, plain, KEY, InvalidModelError)


def commented(model: PublishedModel, opening: str = "# ", closing: str = "") -> str:
    """Return the line of a comment that states a model's guarantee, empty where it claims none."""
    return "" if model.guarantee is None else f"{opening}{KEY} {claim_of(model.guarantee)}{closing}\n"


def opening_claim(text: str) -> Guarantee | None:
    """Return the guarantee that the first line of a text states in a comment."""
    line = text.partition("\n")[0]
    return guarantee_of(line.removeprefix(COMMENT).rstrip()) if line.startswith(COMMENT) else None


def _is_own_estimator(obj: object) -> bool:
    """Return whether an object is an estimator of this package, or carries one of its models as they do."""
    if isinstance(obj, type):
        return False
    released = getattr(obj, "model_", None)
    return isinstance(released, PublishedModel) or type(obj).__module__.startswith("glassine.learners.")


def _of_estimator(obj: object, domain: Domain | None = None) -> PublishedModel:
    """Return the model that a fitted estimator has released."""
    released = getattr(obj, "model_", None)
    if not isinstance(released, PublishedModel):
        raise not_fitted(obj, "'model_'")
    return released


FORMATS = (
    of_values(
        name="Glassine",
        again="glassine.write_model(model, 'model.json')",
        reads="Glassine's JSON, schemas `glassine.model/1` and `/2`: trees, rule lists, additive models, regressions, "
        "ensembles",
        reveals="everything",
        # What no other format claims is taken for ours, so that its errors say what is wrong with it.
        sniff=lambda values: True,
        rank=LAST,
        read=_model_of,
        read_all=_forest_of,
        read_ensemble=ensemble_of,
        to="json",
        write=write_json_model,
        kinds=(DecisionTree, RuleList, AdditiveModel, RegressionModel, TreeEnsemble),
        earlier=(write_sizes_in_schema_1,),
    ),
    of_object(
        name="a Glassine estimator",
        again="glassine.write_model(estimator.model_, 'model.json')",
        reads="fitted estimator of Glassine",
        reveals="the model that it released, its guarantee included",
        sniff=_is_own_estimator,
        rank=BY_START,
        read=_of_estimator,
    ),
)
