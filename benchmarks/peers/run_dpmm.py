"""Rows of dpmm's AIM or MST: ``python run_dpmm.py aim|mst CODES SIZES EPSILON SEED OUT``, where it is installed.

CODES is a CSV file of codes, SIZES the number of codes of each column in JSON.
"""

from __future__ import annotations

import json
import sys

import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline

KINDS = {"aim": AIMPipeline, "mst": MSTPipeline}

if __name__ == "__main__":
    kind, codes, sizes, epsilon, seed, out = sys.argv[1:]
    frame = pd.read_csv(codes)
    options = {"delta": 1e-6, "disable_processing": True, "n_jobs": 1}
    if kind == "aim":
        options["max_model_size"] = 80
    pipeline = KINDS[kind](epsilon=float(epsilon), **options)
    pipeline.fit(frame, domain=json.loads(sizes), random_state=int(seed))
    pipeline.generate(n_records=len(frame), random_state=int(seed)).to_csv(out, index=False)
