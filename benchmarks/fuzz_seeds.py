"""A good file of every kind that is read, and its reader."""

from __future__ import annotations

import json
import os
import random
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from glassine import parse_rules
from glassine.auditing.policy import Policy
from glassine.domain import Binary, Category, Domain, Integer, Real
from glassine.errors import GlassineError
from glassine.formats import (
    load_forest,
    load_model,
    to_onnx,
    to_pmml,
    to_text,
    tree_from_sklearn,
)
from glassine.formats.json import to_dict
from glassine.privacy.certificate import Certificate

__all__ = ["Seed", "seeds"]

FILES = Path(__file__).resolve().parents[1] / "tests" / "formats" / "files"
FAST = Path("/dev/shm")  # noqa: S108 - a folder in memory, in which a folder of our own is made
DOMAIN = Domain(
    {
        "age": Integer(0, 120),
        "dose": Real(-9.0, 9.0),
        "smoker": Binary(),
        "colour": Category(("red", "sky blue", "green"), missing=True),
    }
)
Seed = tuple[bytes, Callable[[bytes], object]]


def _through_file(read: Callable[[Path], object]) -> Callable[[bytes], object]:
    path = Path(tempfile.mkdtemp(dir=FAST if FAST.is_dir() else None)) / "a file"

    def through(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return through


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    rng = random.Random(0)  # noqa: S311 - test inputs, no secrets
    rows = [(rng.randrange(90), round(rng.uniform(-9, 9), 2)) for _ in range(60)]
    frame = pl.DataFrame(rows, schema=["age", "dose"], orient="row")
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, [int(a > 40 and b > 0) for a, b in rows])


def _skops(fitted: Any) -> bytes:
    import skops.io

    return bytes(skops.io.dumps(fitted))


CORELS = {
    "rules": [
        {"antecedents": [1], "train_labels": [3, 1], "prediction": False},
        {"antecedents": [-2, 1], "train_labels": [0, 4], "prediction": True},
        {"antecedents": [0], "train_labels": [1, 1], "prediction": True},
    ],
    "features": ["smoker", "age"],
    "prediction_name": "ill",
}
RULES = """\
# Rules.
classes: [ill] [well]
attributes: [age] [smoker] [dose] [colour]
if [smoker] and [age > 60] then [ill] ([5 ; 1] examples)
else if [18 < age <= 25 or missing] && [not (0.5 < dose <= 2e0)] then [well] (9 examples, error 12.5%)
else if [colour in {red, "sky blue"}] and [age is not missing] then [well] (error 0%)
else [well] ([2 ; 9] examples)
"""
PRINTED = "RULELIST:\nif [smoker && not age]:\n  ill = True\nelse if [age]:\n  ill = False\nelse \n  ill = True\n"
POLICY = """\
smallest_leaf = 5
purest_leaf = 0.95
max_epsilon = 1.0
midpoints = false
accept_guarantee = true
"""


def seeds() -> dict[str, Seed]:
    """Return a good file of every kind, and its reader."""
    from sklearn.tree import export_text

    plain = _through_file(lambda path: load_model(path))
    named = _through_file(lambda path: load_model(path, DOMAIN))
    fitted = _tree()
    tree = tree_from_sklearn(fitted)
    rules = parse_rules(RULES)
    private = to_dict(tree) | {
        "guarantee": {
            "epsilon": 1.0,
            "delta": 0.0,
            "neighboring": "add-or-remove-one",
            "count_scale": 2.0,
            "caveats": [],
        }
    }
    models = {
        "JSON of a tree": json.dumps(to_dict(tree)).encode(),
        "JSON of a rule list": json.dumps(to_dict(rules)).encode(),
        "JSON with a guarantee": json.dumps(private).encode(),
        "JSON of CORELS": json.dumps(CORELS).encode(),
        "text of CORELS": PRINTED.encode(),
        "rule list": RULES.encode(),
        "export_text": str(export_text(fitted, show_weights=True, feature_names=["age", "dose"])).encode(),
        "text of a tree": to_text(tree).encode(),
        "skops": _skops(fitted),
        "ONNX": to_onnx(rules),
        "PMML as written": to_pmml(tree).encode(),
        **{path.name: path.read_bytes() for path in sorted(FILES.iterdir()) if path.suffix != ".csv"},
        **_additive(),
    }
    single = {name: data for name, data in models.items() if _fits(plain, data)}
    out: dict[str, Seed] = {name: (data, plain) for name, data in single.items()}
    out |= {f"{name}, in a domain": (data, named) for name, data in single.items() if _fits(named, data)}
    out |= _several({name: data for name, data in models.items() if name not in single})
    out["domain.json"] = (_written(DOMAIN), _through_file(Domain.read))
    out["policy.toml"] = (POLICY.encode(), _through_file(Policy.from_toml))
    out["certificate.json"] = (_certificate(), lambda data: Certificate.from_json(data.decode("utf-8", "replace")))
    return out


def _several(models: dict[str, bytes]) -> dict[str, Seed]:
    """Return files with several trees, read as forests and tree by tree."""
    every = _through_file(lambda path: load_forest(path))
    named = _through_file(lambda path: load_forest(path, DOMAIN))
    second = _through_file(lambda path: load_model(path, tree=1))
    out: dict[str, Seed] = {}
    for name, data in models.items():
        out[name] = (data, every)
        out[f"{name}, the second tree"] = (data, second)
        if _fits(named, data):
            out[f"{name}, in a domain"] = (data, named)
    return out


def _fits(read: Callable[[bytes], object], data: bytes) -> bool:
    """Return whether a reader takes a file, such as one that speaks of the attributes of the domain."""
    try:
        read(data)
    except GlassineError:
        return False
    return True


def _written(domain: Domain) -> bytes:
    path = Path(tempfile.gettempdir()) / f"glassine-fuzz-domain-{os.getpid()}"
    domain.to_json(path)
    data = path.read_bytes()
    path.unlink()
    return data


def _additive() -> dict[str, bytes]:
    """Return an edited additive model in our JSON, and a boosting machine in that of interpret."""
    from glassine.models import AdditiveModel, CategoryBins, NumericBins, Term, editing

    bins = NumericBins("dose", (0.0, 1.5), bounds=(-9, 9)), CategoryBins("colour", (("red",), ("green", "sky blue")))
    terms = (
        Term(bins=bins[:1], scores=np.array([-0.5, 0.25, 0.75, 0.0]), weights=np.array([9.0, 8.0, 3.0, 0.0])),
        Term(bins=bins[1:], scores=np.array([0.5, -0.5, 0.0]), errors=np.array([0.1, 0.1, 0.2])),
    )
    model = AdditiveModel(
        attributes=("dose", "colour"), terms=terms, intercept=(0.5,), link="logit", classes=("no", "yes")
    )
    edited = editing.zero(model, "dose", reason="a test")
    edited = editing.set_score(edited, "colour", 0, 0.25, reason="another")
    return {"JSON of an additive model": json.dumps(to_dict(edited)).encode(), "JSON of interpret": _machine()}


def _machine() -> bytes:
    """Return a boosting machine in the JSON of interpret, without what it stores of its training."""
    from interpret.glassbox import ExplainableBoostingClassifier

    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=120).round(1), rng.integers(0, 3, 120)])
    learner = ExplainableBoostingClassifier(
        feature_names=["dose", "colour"],
        feature_types=["continuous", "nominal"],
        max_bins=8,
        outer_bags=2,
        max_rounds=20,
        interactions=1,
        n_jobs=1,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.dumps(learner.fit(rows, (rows[:, 0] > 0).astype(int)).to_jsonable()).encode()


def _certificate() -> bytes:
    from glassine.learners import PrivateTreeClassifier

    domain = Domain({"age": Integer(0, 90, thresholds=(30, 60)), "smoker": Binary()})
    rng = random.Random(0)  # noqa: S311 - test inputs, no secrets
    rows = [[rng.randrange(90), rng.randrange(2)] for _ in range(80)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = PrivateTreeClassifier(domain=domain, classes=(0, 1), epsilon=1.0, random_state=0)
        fitted = learner.fit(rows, [row[1] for row in rows])
    return str(fitted.certificate_.to_json()).encode()
