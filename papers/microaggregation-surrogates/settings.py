"""The records and black boxes of the experiments; networks are trained once and kept in a folder of their own."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from glassine.errors import GlassineError
from glassine.surrogates import load_black_box

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

PUBLISHED_SEED = 42
SEEDS = (0, 1, 2, 3)
"""Seeds of further datasets, of which the paper says that they behave alike."""

SHARES = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
"""Group sizes as percentages of 20,000 records: k from 20 to 10,000."""

FEW_SHARES = (0.1, 1, 10, 50)
"""Those that are measured on the further datasets."""

GENERATOR = {
    "n_features": 10,
    "n_informative": 5,
    "n_redundant": 3,
    "n_repeated": 2,
    "n_clusters_per_class": 4,
}
NETWORK: dict[str, Any] = {
    "hidden_layer_sizes": (100, 100, 100),
    "max_iter": 500,
    "alpha": 1e-4,
    "solver": "sgd",
    "random_state": 21,
    "tol": 1e-9,
}


class StaleCacheError(GlassineError):
    """A kept network belongs to other data, other parameters or another version of scikit-learn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Split:
    """A generated dataset, divided.

    Attributes
    ----------
    seed : int
        Seed of the generator.
    X, y : ndarray of shapes (n, 10) and (n,)
        Training records and their true labels.
    X_out, y_out : ndarray of shapes (m, 10) and (m,)
        The others.
    """

    seed: int
    X: Floats
    y: Labels
    X_out: Floats
    y_out: Labels

    @property
    def named(self) -> int:
        """Number of training records that percentages are taken of: 20,000 of the 20,100."""
        return round(2 / 3 * (len(self.y) + len(self.y_out)))

    def k(self, share: float) -> int:
        """Return the group size that is so many per cent of the records."""
        return max(2, round(share / 100 * self.named))


@cache
def records(seed: int = PUBLISHED_SEED, n: int = 30_000) -> Split:
    """Return a generated dataset, a third of it held out by the published seed."""
    X, y = make_classification(n_samples=n, random_state=seed, **GENERATOR)
    parts = train_test_split(X, y.astype(np.int64), test_size=0.33, random_state=PUBLISHED_SEED)
    return Split(seed=seed, X=parts[0], X_out=parts[1], y=parts[2], y_out=parts[3])


def parameters(quick: bool) -> Mapping[str, Any]:
    """Return the parameters of the network; the quick one learns faster, for little data."""
    return NETWORK | {"max_iter": 60, "solver": "adam"} if quick else NETWORK


def digest(split: Split, quick: bool) -> str:
    """Return what a network depends on, as a digest."""
    made = hashlib.sha256(repr((sorted(parameters(quick).items()), sklearn.__version__)).encode())
    for array in (split.X, split.y):
        made.update(repr((array.shape, array.dtype.str)).encode())
        made.update(np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


def train(split: Split, quick: bool) -> MLPClassifier:
    """Train the network: minutes, unless quick."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MLPClassifier(**parameters(quick)).fit(split.X, split.y)


def keep(network: MLPClassifier, split: Split, quick: bool, folder: Path) -> None:
    """Write a network and what it depends on."""
    import skops.io

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"network-{split.seed}.skops"
    skops.io.dump(network, path)
    found = {"depends on": digest(split, quick), "file": hashlib.sha256(path.read_bytes()).hexdigest()}
    path.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")


def network(split: Split, quick: bool, folder: Path) -> Any:
    """Return the black box of a dataset, trained if it is not kept yet.

    Raises
    ------
    StaleCacheError
        If the kept one was trained on other records, with other parameters or by another version, or was changed.
    """
    path = folder / f"network-{split.seed}.skops"
    told = path.with_suffix(".json")
    if not path.exists():
        keep(train(split, quick), split, quick, folder)
    found = json.loads(told.read_text()) if told.exists() else {}
    if found.get("depends on") != digest(split, quick):
        raise StaleCacheError(
            f"{path} was not trained on these records with these parameters by scikit-learn {sklearn.__version__}. "
            "Delete it to train anew, or name another folder by --cache."
        )
    if found.get("file") != hashlib.sha256(path.read_bytes()).hexdigest():
        raise StaleCacheError(f"{path} is not the file that was written. Delete it to train anew.")
    return load_black_box(path)


__all__ = ["FEW_SHARES", "PUBLISHED_SEED", "SEEDS", "SHARES", "Floats", "Labels", "Split", "StaleCacheError", "digest",
           "keep", "network", "records", "train"]  # fmt: skip
