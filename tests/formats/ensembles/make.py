"""Write the files of this folder: ensembles of XGBoost, LightGBM and treelite, with what they predict.

python tests/formats/ensembles/make.py    # in an environment with xgboost, lightgbm and treelite
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


if __name__ == "__main__":
    main()
