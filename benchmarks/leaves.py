"""Files of boosted trees made by their libraries, with records at thresholds and the leaves that the libraries give.

The libraries are not needed to test Glassine: what they answer is kept in ``tests/contracts/leaves.json``.

Run: pip install xgboost lightgbm treelite scikit-learn, then python benchmarks/leaves.py
"""

from __future__ import annotations

import base64
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
OUT = HERE.parent / "tests" / "contracts" / "leaves.json"


def beside(thresholds: list[float]) -> list[float]:
    """Return records at each threshold, one step below and above in both precisions, and as decimals of a CSV."""
    out: set[float] = set()
    for threshold in thresholds:
        near = np.float32(threshold)
        singles = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
        for at in (threshold, *map(float, singles)):
            middle = (at + float(np.nextafter(np.float32(at), np.float32(np.inf)))) / 2
            for value in (at, middle):
                out |= {value, math.nextafter(value, -math.inf), math.nextafter(value, math.inf)}
            out |= {float(f"{at:.{digits}g}") for digits in (2, 3, 6, 8)}
    return sorted(out)


def records(thresholds: list[list[float]]) -> np.ndarray[Any, Any]:
    """Return records whose columns run through the values beside each column's thresholds, together and in turn."""
    columns = [beside(own) or [0.0] for own in thresholds]
    rows = [[columns[0][0], columns[1][0]]]
    for place, own in enumerate(columns):
        for other in {columns[1 - place][0], columns[1 - place][len(columns[1 - place]) // 2], columns[1 - place][-1]}:
            rows += [[value, other] if place == 0 else [other, value] for value in own]
    return np.array(rows)


def main() -> None:
    """Train small models, and write files, records and leaves."""
    import lightgbm
    import treelite
    import xgboost
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

    rng = np.random.default_rng(0)
    values = np.round(rng.normal(0, 1, (400, 2)), 1)
    target = (values[:, 0] + 0.7 * values[:, 1] ** 2 > 0.6) * 1.0 + 0.01 * values[:, 1]
    made: dict[str, Any] = {}

    def keep(name: str, suffix: str, data: bytes, at: np.ndarray[Any, Any], leaf: Any) -> None:
        made[name] = {
            "suffix": suffix,
            "file": base64.b64encode(data).decode(),
            "records": [[value.hex() for value in row] for row in at.tolist()],
            "leaves": np.asarray(leaf).ravel().astype(int).tolist(),
        }

    for method in ("hist", "exact"):
        for kind in (["float", "float"], ["int", "float"]):
            x = values.copy()
            if kind[0] == "int":
                x[:, 0] = np.round(x[:, 0] * 10)
            data = xgboost.DMatrix(x, target, feature_names=["a", "b"], feature_types=kind)
            booster = xgboost.train({"tree_method": method, "max_depth": 3}, data, 1)
            tree = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"][0]
            bounds: list[list[float]] = [[], []]
            for place, bound, left in zip(
                tree["split_indices"], tree["split_conditions"], tree["left_children"], strict=True
            ):
                if left >= 0:
                    bounds[place].append(bound)
            at = records(bounds)
            leaf = booster.predict(xgboost.DMatrix(at, feature_names=["a", "b"], feature_types=kind), pred_leaf=True)
            for suffix in ("json", "ubj"):
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / f"model.{suffix}"
                    booster.save_model(path)
                    keep(f"XGBoost {method} {kind[0]} {suffix}", f".{suffix}", path.read_bytes(), at, leaf)
            model = treelite.frontend.from_xgboost(booster)
            name = f"treelite of XGBoost {method} {kind[0]}"
            keep(name, ".json", model.dump_as_json(pretty_print=False).encode(), at, leaf)

    booster = lightgbm.train(
        {"objective": "regression", "num_leaves": 8, "verbose": -1, "min_data_in_leaf": 5},
        lightgbm.Dataset(values, target, feature_name=["a", "b"]),
        1,
    )
    tree = booster.dump_model()["tree_info"][0]["tree_structure"]
    bounds = [[], []]
    stack = [tree]
    while stack:
        node = stack.pop()
        if "threshold" in node:
            bounds[node["split_feature"]].append(node["threshold"])
            stack += [node["left_child"], node["right_child"]]
    at = records(bounds)
    leaf = booster.predict(at, pred_leaf=True)
    keep("LightGBM", ".txt", booster.model_to_string().encode(), at, leaf)
    model = treelite.frontend.from_lightgbm(booster)
    leaf = treelite.gtil.predict_leaf(model, at)
    keep("treelite of LightGBM", ".json", model.dump_as_json(pretty_print=False).encode(), at, leaf)
    forest = RandomForestRegressor(1, max_depth=3, random_state=0).fit(values, target)
    own = forest.estimators_[0].tree_
    at = records([sorted(set(own.threshold[own.feature == place].tolist())) for place in (0, 1)])
    model = treelite.sklearn.import_model(forest)
    leaf = treelite.gtil.predict_leaf(model, at)
    keep("treelite of scikit-learn", ".json", model.dump_as_json(pretty_print=False).encode(), at, leaf)
    boosted = HistGradientBoostingRegressor(max_iter=1, max_depth=3, min_samples_leaf=5).fit(values, target)
    model = treelite.sklearn.import_model(boosted)
    nodes = json.loads(model.dump_as_json())["trees"][0]["nodes"]
    bounds = [[n["threshold"] for n in nodes if n.get("split_feature_id") == place] for place in (0, 1)]
    at = records(bounds)
    leaf = treelite.gtil.predict_leaf(model, at)
    keep("treelite of histogram boosting", ".json", model.dump_as_json(pretty_print=False).encode(), at, leaf)
    OUT.write_text(json.dumps(made, indent=0) + "\n")


if __name__ == "__main__":
    main()
