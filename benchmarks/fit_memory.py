"""What fits say that they need, and the peak that they reach: ``python benchmarks/fit_memory.py [--page]``.

A row of ``fit_memory.csv`` is a fit of one learner to half a million records of eight attributes, in a process of its
own. What the process holds after a fit to 500 of them, the container included, is taken off: imports and kernels.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from papers.common.results import Row  # noqa: E402

RECORDS = 500_000
LEARNERS = {
    "private tree": "PrivateTreeClassifier(2, literals='coarse', **C)",
    "private tree with quantiles": "PrivateTreeClassifier(2, literals='quantiles', **C)",
    "private rule list": "PrivateRuleListClassifier(2, literals='coarse', **C)",
    "private tree of a number": "PrivateTreeRegressor(2, literals='coarse', **R)",
    "private greedy rule list": "PrivateGreedyRuleListClassifier(3, literals='coarse', **C)",
    "private additive model": "PrivateEBMClassifier(**C)",
    "private additive model with pairs": "PrivateEBMClassifier(interactions=2, **C)",
    "private additive model of a number": "PrivateEBMRegressor(**R)",
    "private boosting": "PrivateEBMClassifier(algorithm='boosting', **C)",
    "private scorecard": "PrivateScorecardClassifier(**C)",
    "private scorecard of a number": "PrivateScorecardRegressor(**R)",
    "private search": "PrivateSearchCV(PrivateTreeClassifier(2, literals='coarse', domain=D, classes=('n', 'p')), "
    "{'max_depth': [1, 2]}, epsilon=1.0, expected_fits=2, random_state=0)",
    "optimal tree": "OptimalTreeClassifier(2, literals='coarse', domain=D, classes=('n', 'p'))",
    "greedy rule list": "GreedyRuleListClassifier(3, literals='coarse', domain=D, classes=('n', 'p'))",
}
KEYS = [{"learner": name, "records": str(RECORDS)} for name in LEARNERS]
CHILD = """
import json, sys, warnings
import numpy as np
import polars as pl
from glassine import Category, Domain, Integer, Real
from glassine.compiling import interpretation
from glassine.learners import *
from glassine.privacy.release import fresh_count

warnings.simplefilter("ignore")
interpretation.LEFT[0] = 0  # the small fit compiles as the large one does
made, n = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
numbers = {**{f"i{k}": rng.integers(0, 100, n) for k in range(3)}, **{f"r{k}": rng.random(n) for k in range(2)}}
words = {f"w{k}": np.array(list("abcde"))[rng.integers(0, 5, n)] for k in range(3)}
target = rng.random(n) if "Regressor" in made else np.array(["n", "p"])[rng.integers(0, 2, n)]
frame = pl.DataFrame({**numbers, **words, "y": target})
del numbers, words, target
D = Domain({**{f"i{k}": Integer(0, 99) for k in range(3)}, **{f"r{k}": Real(0.0, 1.0) for k in range(2)},
            **{f"w{k}": Category(tuple("abcde")) for k in range(3)}})
C = {"domain": D, "classes": ("n", "p"), "epsilon": 1.0, "random_state": 0}
R = {"domain": D, "target_range": (0, 1), "epsilon": 1.0, "random_state": 0}
learner = eval(made)
stated = learner.memory_needed(n)

def status(name):
    line = next(line for line in open("/proc/self/status") if line.startswith(name))
    return int(line.split()[1]) * 1024

with fresh_count():
    learner.fit(frame.head(500), "y")
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")  # the peak starts anew
    before = status("VmRSS")
    learner.fit(frame, "y")
print(json.dumps({"stated MB": round(stated / 1e6, 1), "peak MB": round((status("VmHWM") - before) / 1e6, 1)}))
"""


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return what a learner states, and what its fit takes in a process of its own."""
    words = [sys.executable, "-c", CHILD, LEARNERS[key["learner"]], key["records"]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - own program
    if done.returncode:
        raise SystemExit(done.stderr)
    return dict(json.loads(done.stdout))


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the sentence of the page."""
    ratios = [float(row["stated MB"]) / float(row["peak MB"]) for row in rows]
    what = f"Of {len(ratios)} learners on {RECORDS:,} records it is {min(ratios):.2f} to {max(ratios):.2f} of the peak"
    return {"fit memory": f"{what} (`benchmarks/fit_memory.py`)."}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, KEYS, measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
