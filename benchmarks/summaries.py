"""Private summaries on Adult: ``python benchmarks/summaries.py [--epsilons 1 4] [--splits 3]``.

Prints, as CSV, AUC and accuracy on a fifth of the records that is kept aside, of models from one summary and of direct
fits at the same budget, and processor seconds. Noise comes from the operating system. ``GLASSINE_DATA`` names the data.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.additive_data import adult  # noqa: E402 - after the path is set
from glassine import PrivateEBMClassifier, PrivateSummary  # noqa: E402
from glassine.data.conform import Outside, conform  # noqa: E402
from glassine.learners.publishing import probabilities  # noqa: E402
from glassine.models import AdditiveModel  # noqa: E402


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and the processor seconds that it took."""
    used = time.process_time()
    result = work()
    return result, time.process_time() - used


def main() -> None:
    """Print one line for each budget, split and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1.0, 4.0])
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    data = adult()
    sys.stdout.write("epsilon,split,model,auc,accuracy,seconds\n")
    for split in range(given.splits):
        train, test = data.split(split)
        records = conform(data.frame[test], data.domain, outside=Outside.CLIP | Outside.KEEP_UNDECLARED)
        truth = np.asarray(data.target[test]) == (data.classes or ())[1]
        for epsilon in given.epsilons:
            public: dict[str, Any] = {"domain": data.domain, "classes": data.classes, "dataset": f"{split} {epsilon}"}
            summary, spent = timed(
                lambda epsilon=epsilon, public=public, train=train: PrivateSummary(epsilon, 1e-6, **public).fit(
                    data.frame[train], data.target[train]
                )
            )
            sys.stdout.write(f"{epsilon:g},{split},summary,,,{spent:.2f}\n")
            public["dataset"] += " direct"
            makes: dict[str, Callable[[], Any]] = {
                "additive": summary.additive,
                "tree of depth 4": lambda summary=summary: summary.tree(4),
                "list of 5 rules": lambda summary=summary: summary.rule_list(5),
                "additive, direct": lambda epsilon=epsilon, public=public, train=train: (
                    PrivateEBMClassifier(epsilon, 1e-6, **public).fit(data.frame[train], data.target[train]).model_
                ),
            }
            for name, make in makes.items():
                model, spent = timed(make)
                if isinstance(model, AdditiveModel):
                    chances = model.predict_proba(records)[:, 1]
                else:
                    chances = probabilities(model)[model.apply(records), 1]
                auc, right = roc_auc_score(truth, chances), float(((chances > 0.5) == truth).mean())
                sys.stdout.write(f"{epsilon:g},{split},{name},{auc:.4f},{right:.4f},{spent:.2f}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
