"""Work of PrivaTree, at default parameters.

It has no package: GLASSINE_PRIVATREE names a checkout of its repository. It runs in the environment of diffprivlib,
whose mechanisms it uses. Its leaves publish a label alone.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import numpy as np
from protocol import stopwatch
from scoring import of_classes
from warm import Done, Work, split

sys.path.insert(0, os.environ["GLASSINE_PRIVATREE"])

from privatree.privatree import PrivaTreeClassifier


def tree(arrays: dict[str, Any], settings: dict[str, Any]) -> Work:
    """Return the fit of a tree on numbers with their public bounds, and public codes of categories."""
    warnings.simplefilter("ignore")
    y = arrays["y"] == settings["classes"][1]
    parts, ranges, sizes = [], [], []
    for name in settings["names"]:
        values = arrays[f"column {name}"]
        if name in settings["bounds"]:
            low, high = settings["bounds"][name]
            parts.append(np.clip(values.astype(np.float64), low, high))
            sizes.append(0)
        else:
            codes = {value: code for code, value in enumerate(settings["categories"][name])}
            # A missing category is one more.
            parts.append(np.array([codes.get(str(value), len(codes)) for value in values], dtype=np.float64))
            low, high = 0.0, float(len(codes))
            sizes.append(len(codes) + 1)
        ranges.append((low, high))
    Z = np.column_stack(parts)

    def work(seed: int) -> Done:
        train, test = split(len(y), seed)
        model = PrivaTreeClassifier(
            epsilon=settings["epsilon"], feature_range=ranges, categorical_features=np.array(sizes)
        )
        X, labels = Z[train], y[train].astype(int)
        with stopwatch() as seconds:
            model.fit(X, labels)
        return seconds, of_classes(y[test], model.predict(Z[test]) == 1)

    return work


WORKS = {"tree": tree}
