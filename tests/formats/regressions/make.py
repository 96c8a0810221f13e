"""Write the records, and what statsmodels and sklearn2pmml write of regressions on them; make.R does it for R.

Run it in an environment of its own, then make.R, both in this folder:

    pip install statsmodels==0.14.6 scikit-learn==1.7.2 sklearn2pmml==0.133.1
    python make.py && Rscript make.R
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
N = 200


def records() -> pd.DataFrame:
    """Return synthetic records; the towns west and east are rare."""
    rng = np.random.default_rng(42)
    data = pd.DataFrame(
        {
            "age": np.round(rng.normal(45, 12, N)).clip(18, 90),
            "bmi": np.round(rng.normal(26, 4, N), 1),
            "sex": rng.choice(["female", "male"], N),
            "town": rng.choice(["east", "north", "south", "west"], N, p=[0.02, 0.56, 0.36, 0.06]),
            "treated": rng.binomial(1, 0.3, N),
        }
    )
    score = -1 + 0.04 * (data["age"] - 45) + 0.6 * (data["sex"] == "male") + 0.8 * data["treated"]
    data["ill"] = rng.binomial(1, 1 / (1 + np.exp(-score)))
    data["cost"] = np.round(100 + 3 * data["age"] + 20 * (data["town"] == "south") + rng.normal(0, 30, N), 1)
    data["visits"] = rng.poisson(np.exp(0.2 + 0.01 * data["age"] + 0.4 * data["treated"]))
    data["time"] = np.round(rng.exponential(40 * np.exp(-score)) + 1)
    data["status"] = rng.binomial(1, 0.7, N)
    return data


def main() -> None:
    """Write all files."""
    import statsmodels.api as sm
    import statsmodels.formula.api as smf
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn2pmml import sklearn2pmml
    from sklearn2pmml.pipeline import PMMLPipeline

    data = records()
    data.to_csv(HERE / "records.csv", index=False)
    three = data.assign(visits=data["visits"].clip(0, 2))
    fits: dict[str, Any] = {
        "sm_ols": smf.ols("cost ~ age + sex + C(town)", data).fit(),
        "sm_ols_hc1": smf.ols("cost ~ age + sex + C(town)", data).fit(cov_type="HC1"),
        "sm_logit": smf.logit("ill ~ age + sex + C(town, Treatment('north')) + age:treated", data).fit(disp=0),
        "sm_poisson": smf.poisson("visits ~ I(age ** 2) + sex", data).fit(disp=0),
        "sm_glm": smf.glm("visits ~ age + sex", data, family=sm.families.Poisson()).fit(),
        "sm_glm_scaled": smf.glm("visits ~ age + sex", data, family=sm.families.Poisson()).fit(scale="X2"),
        "sm_mnlogit": smf.mnlogit("visits ~ age + sex", three).fit(disp=0),
    }
    predicted = {}
    for name, fit in fits.items():
        (HERE / f"{name}.txt").write_text(f"{fit.summary()}\n")
        mean = np.asarray(fit.predict(three if name == "sm_mnlogit" else data))
        predicted[name] = mean if mean.ndim == 1 else mean[:, -1]
    (HERE / "sm_ols.csv").write_text(fits["sm_ols"].summary().as_csv() + "\n")
    (HERE / "sm_logit_2.txt").write_text(f"{fits['sm_logit'].summary2()}\n")
    fits["sm_logit"].summary2().tables[1].to_csv(HERE / "sm_logit_table.csv")
    cox = smf.phreg("time ~ age + sex", data, status=data["status"].to_numpy()).fit()
    (HERE / "sm_phreg.txt").write_text(f"{cox.summary()}\n")
    (HERE / "sm_phreg_hazard.txt").write_text(f"{cox.summary()}\n{cox.baseline_cumulative_hazard}\n")

    columns = ["age", "sex", "town"]
    for name, model, target in (
        ("linear", LinearRegression(), "cost"),
        ("logistic", LogisticRegression(), "ill"),
        ("softmax", LogisticRegression(), "visits"),
    ):
        parts = [("number", StandardScaler(), ["age"]), ("category", OneHotEncoder(), ["sex", "town"])]
        pipeline = PMMLPipeline([("columns", ColumnTransformer(parts)), ("model", model)])
        pipeline.fit(three[columns], three[target])
        path = HERE / f"{name}.pmml"
        sklearn2pmml(pipeline, path)
        path.write_text(re.sub(r"\s*<Timestamp>.*?</Timestamp>", "", path.read_text()))
        answer = pipeline.predict(three[columns]) if name == "linear" else pipeline.predict_proba(three[columns])[:, -1]
        predicted[name] = answer
    pd.DataFrame(predicted).round(10).to_csv(HERE / "predicted.csv", index=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
