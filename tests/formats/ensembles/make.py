"""Write the files of this folder: ensembles of XGBoost, LightGBM, treelite and JPMML, with what they predict.

python tests/formats/ensembles/make.py    # with xgboost, lightgbm, treelite and sklearn2pmml, which needs Java
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
N, N_ASKED = 400, 50


def records() -> tuple[np.ndarray, np.ndarray]:
    """Return records of three continuous columns, and an outcome of two classes."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(N + N_ASKED, 3)).round(6)
    y = (x[:, 0] + 0.5 * x[:, 1] ** 2 + rng.normal(size=len(x)) > 0.9).astype(int)
    return x, y


def main() -> None:
    """Write every file."""
    # Only where the files are made anew are the libraries there.
    import lightgbm
    import treelite
    import xgboost

    x, y = records()
    np.savetxt(FOLDER / "records.csv", np.column_stack([x, y]), delimiter=",", fmt="%.6f")
    several = y[:N] + (x[:N, 2] > 0)
    options = {"n_estimators": 12, "n_jobs": 1, "random_state": 0}
    predicted = {}
    for name, target in (("xgboost", y[:N]), ("xgboost_three", several)):
        model = xgboost.XGBClassifier(max_depth=3, learning_rate=0.2, **options).fit(x[:N], target)
        model.save_model(FOLDER / f"{name}.json")
        predicted[name] = model.predict_proba(x[N:])
        if name == "xgboost":
            (FOLDER / "treelite.json").write_text(treelite.frontend.from_xgboost(model.get_booster()).dump_as_json())
    for name, more, target in (
        ("lightgbm", {}, y[:N]),
        ("lightgbm_forest", {"boosting_type": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, y[:N]),
        ("lightgbm_three", {}, several),
    ):
        learner = lightgbm.LGBMClassifier(num_leaves=6, verbose=-1, **more, **options)
        learner.fit(x[:N], target)
        learner.booster_.save_model(FOLDER / f"{name}.txt")
        predicted[name] = learner.predict_proba(x[N:])
    np.savetxt(FOLDER / "predicted.csv", np.column_stack(list(predicted.values())), delimiter=",", fmt="%.9g")
    of_other_links(x, y, several)
    of_weights(x, y)
    of_pmml(x, y, several)


def _keep(name: str, answers: np.ndarray) -> None:
    """Keep what a library predicts of the records that are asked."""
    np.savetxt(FOLDER / f"{name}.csv", np.asarray(answers).reshape(N_ASKED, -1), delimiter=",", fmt="%.9g")


def of_other_links(x: np.ndarray, y: np.ndarray, several: np.ndarray) -> None:
    """Write models of counts, one whose trees are weighted, and forests of drawn records."""
    import lightgbm
    import treelite
    import xgboost
    from sklearn.ensemble import RandomForestClassifier

    counts = np.round(np.exp(x[:, 0]))
    options = {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
    counting = xgboost.XGBRegressor(objective="count:poisson", max_depth=2, **options).fit(x[:N], counts[:N])
    counting.save_model(FOLDER / "xgboost_counts.json")
    _keep("xgboost_counts.json", counting.predict(x[N:]))
    (FOLDER / "treelite_counts.json").write_text(treelite.frontend.from_xgboost(counting.get_booster()).dump_as_json())
    _keep("treelite_counts.json", counting.predict(x[N:]))
    dart = xgboost.XGBClassifier(booster="dart", rate_drop=0.5, max_depth=2, **options).fit(x[:N], y[:N])
    dart.save_model(FOLDER / "xgboost_dart.json")
    _keep("xgboost_dart.json", dart.predict_proba(x[N:]))
    light = lightgbm.LGBMRegressor(objective="poisson", num_leaves=4, verbose=-1, **options).fit(x[:N], counts[:N])
    light.booster_.save_model(FOLDER / "lightgbm_counts.txt")
    _keep("lightgbm_counts.txt", light.predict(x[N:]))
    for name, target in (("treelite_forest", y[:N]), ("treelite_forest_three", several)):
        forest = RandomForestClassifier(max_depth=3, **options).fit(x[:N], target)
        (FOLDER / f"{name}.json").write_text(treelite.sklearn.import_model(forest).dump_as_json())
        _keep(f"{name}.json", forest.predict_proba(x[N:]))


def of_weights(x: np.ndarray, y: np.ndarray) -> None:
    """Write models whose records have weights, and one of a chosen base score."""
    import xgboost

    rng = np.random.default_rng(7)
    small = {"n_estimators": 2, "max_depth": 4, "n_jobs": 1, "random_state": 0}
    for name, weights, more in (
        ("drawn", rng.uniform(0.2, 3, N), {}),
        ("by_class", np.where(y[:N], 5.0, 1.0), {}),
        ("stated", None, {"scale_pos_weight": 3}),
        ("halves", rng.integers(1, 4, N) / 2, {}),
        ("none", None, {"base_score": 0.3}),
    ):
        fitted = xgboost.XGBClassifier(**small, **more).fit(x[:N], y[:N], sample_weight=weights)
        fitted.save_model(FOLDER / f"xgboost_weights_{name}.json")


def of_pmml(x: np.ndarray, y: np.ndarray, several: np.ndarray) -> None:
    """Write ensembles as JPMML converts them: sums and means of trees, and what makes classes of sums."""
    import pandas as pd
    import xgboost
    from sklearn import ensemble
    from sklearn2pmml import sklearn2pmml
    from sklearn2pmml.pipeline import PMMLPipeline

    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    number = x[:N, 0] + y[:N]
    small = {"max_depth": 2, "random_state": 0}
    for name, learner, target in (
        ("forest", ensemble.RandomForestClassifier(4, **small), several),
        ("forest_number", ensemble.RandomForestRegressor(4, **small), number),
        ("boosted", ensemble.GradientBoostingClassifier(n_estimators=4, **small), y[:N]),
        ("boosted_three", ensemble.GradientBoostingClassifier(n_estimators=3, **small), several),
        ("boosted_number", ensemble.GradientBoostingRegressor(n_estimators=4, **small), number),
        ("boosted_xgboost", xgboost.XGBClassifier(n_estimators=4, **small), y[:N]),
        ("ada", ensemble.AdaBoostClassifier(n_estimators=3, random_state=0), y[:N]),
    ):
        fitted = PMMLPipeline([("learner", learner)]).fit(frame[:N], pd.Series(target, name="y"))
        sklearn2pmml(fitted, FOLDER / f"{name}.pmml")
        numbers = name.endswith("number")
        _keep(f"{name}.pmml", fitted.predict(frame[N:]) if numbers else fitted.predict_proba(frame[N:]))


if __name__ == "__main__":
    main()
