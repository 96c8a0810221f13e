"""Rows of dpmm's AIM or MST: ``python run_dpmm.py AIM|MST CODES SIZES EPSILON SEED OUT``, where it is installed.

CODES is a CSV file of codes, SIZES the number of codes of each column in JSON. Both have as little time as in
``work_dpmm.py``; ``default`` in place of AIM or MST is MST with dpmm's own settings.
"""

from __future__ import annotations

import json
import sys

import pandas as pd
from dpmm.pipelines import MSTPipeline
from work_dpmm import synthesized

DELTA = 1e-6

if __name__ == "__main__":
    maker, codes, sizes, epsilon, seed, out = sys.argv[1:]
    frame, domain = pd.read_csv(codes), json.loads(sizes)
    if maker == "default":
        pipeline = MSTPipeline(epsilon=float(epsilon), delta=DELTA, disable_processing=True, n_jobs=1)
        pipeline.fit(frame, domain=domain, random_state=int(seed))
        rows = pipeline.generate(n_records=len(frame), random_state=int(seed))
    else:
        settings = {"maker": maker, "epsilon": float(epsilon), "delta": DELTA}
        rows, _ = synthesized(frame, domain, settings, int(seed))
    rows.to_csv(out, index=False)
