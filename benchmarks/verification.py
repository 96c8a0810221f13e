"""Lower bounds on the privacy of this package and of peers: ``python benchmarks/verification.py [--page] [PART ...]``.

A row of ``verification.csv`` is a claim, the worst pair that was found, and the bound from fresh runs, at confidence
0.99. Other parts print theirs, and take longer: private learners, the same with what the search does by itself, and all
learners as published. diffprivlib needs an environment of its own: ``benchmarks/peers/environments.py``. The exit
status is 1 if something of this package is accused.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import asinh
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402 - after the path is set

from benchmarks.kept_rows import kept, results_of  # noqa: E402
from benchmarks.peers.environments import FOLDER, HERE, PRIVATE_PEERS, Missing, python_of  # noqa: E402
from glassine import Domain  # noqa: E402
from glassine.learners import (  # noqa: E402
    PrivateEBMClassifier,
    PrivateEBMRegressor,
    PrivateRuleListClassifier,
    PrivateScorecardClassifier,
    PrivateTreeClassifier,
    PrivateTreeRegressor,
)
from glassine.learners.greedy.private_lists import PrivateGreedyRuleListClassifier  # noqa: E402
from glassine.privacy.mechanisms import (  # noqa: E402 - after the path is set
    CAUCHY_SLACK,
    cauchy,
    discrete_gaussian,
    discrete_laplace,
    gaussian,
    geometric,
    laplace,
)
from glassine.privacy.randomness import Randomness  # noqa: E402
from glassine.sealed.noisy_choice import exponential_mechanism, permute_and_flip, report_noisy_max  # noqa: E402
from glassine.sealed.quantiles import private_quantiles  # noqa: E402
from glassine.verification import Claim, LowerBound, Runs, lower_bound_from_outputs  # noqa: E402
from glassine.verification.neighbors import NeighborPair, search, worst_pairs  # noqa: E402
from glassine.verification.scores import Distinguisher, Statistic  # noqa: E402
from papers.common.results import Row, one, read, say  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

CONFIDENCE = 0.99

MECHANISMS = (
    "smooth-laplace",
    "smooth-cauchy",
    "global-laplace",
    "global-gaussian",
    "global-exponential",
    "noisy-counts",
)


@dataclass(frozen=True)
class Subject:
    """What is verified: a learner or mechanism, pairs of neighbors, and the claim with what else the search takes."""

    name: str
    learner: Any
    pairs: Sequence[NeighborPair]
    options: dict[str, Any] = field(default_factory=dict)
    runs: int = 20_000

    @property
    def claim(self) -> Claim:
        """What is claimed."""
        return Claim(**{name: value for name, value in self.options.items() if name != "score"})

    @property
    def score(self) -> Any:
        """What tells outputs apart; None leaves it to the search."""
        return self.options.get("score")

    @property
    def whole(self) -> bool:
        """Whether the search does what it does by itself."""
        return self.score is None

    def verify(self, runs: int, *, workers: int = 1, confidence: float = 0.95) -> tuple[str, LowerBound]:
        """Return the name of the worst pair and its bound from fresh runs."""
        preliminary = None if self.whole else max(100, runs // 20)
        found = search(
            self.learner,
            self.pairs,
            replace(self.claim, confidence=confidence),
            score=self.score,
            preliminary=preliminary,
            runs=Runs(runs, workers=workers),
        )
        if found.bound.violated or not self.whole:
            return found.pair.name, found.bound
        # Of the whole learner, not of the noise of its counts.
        of_all = [one for one in found.bounds if one[1].parameter in {"epsilon", "mu"}]
        return max(of_all, key=lambda one: one[1].value / (one[1].claim or 1.0))


def _table(records: Sequence[str]) -> tuple[Any, Any]:
    return np.array([[record] for record in records], dtype=object), np.zeros(len(records))


def _votes(background: Sequence[str], extra: str) -> NeighborPair:
    """Return a pair of datasets of one column of names."""
    return NeighborPair(name=f"{len(background)} and {extra!r}", d0=_table(background), d1=_table([*background, extra]))


def _on_scores(choose: Callable[..., int], monotone: bool) -> Callable[[Any, int | None], int]:
    """Return a selection among three candidates; a record votes for its name, or against all others."""

    def run(dataset: Any, seed: int | None) -> int:
        names = dataset[0][:, 0].tolist()
        votes = [names.count(name) for name in "abc"]
        scores = votes if monotone else [vote - (len(names) - vote) for vote in votes]
        return choose(scores, 1.0, 1, monotone, randomness=Randomness.of(seed))

    return run


def _noise(mechanism: Callable[..., Any], *arguments: Any, **more: Any) -> Callable[[Any, int | None], float]:
    """Return the noisy number of records."""
    return lambda dataset, seed: float(mechanism(len(dataset[1]), *arguments, Randomness.of(seed), **more))


def _quantiles(number: int) -> Callable[[Any, int | None], Any]:
    def run(dataset: Any, seed: int | None) -> Any:
        column = dataset[0][:, 0].astype(float)
        return private_quantiles(column, [0.5, 1.5, 2.5, 3.5], number, 1.0, Randomness.of(seed))[0]

    return run


def _numbers(background: Sequence[int], extra: int) -> NeighborPair:
    X = np.array(background, dtype=float).reshape(-1, 1)
    more = np.array([[float(extra)]])
    name = f"{len(background)} numbers and {extra}"
    return NeighborPair(name=name, d0=(X, np.zeros(len(X))), d1=(np.vstack([X, more]), np.zeros(len(X) + 1)))


def mechanisms() -> list[Subject]:
    """Return every mechanism of the package, at the pair where it is at its limit."""
    counts = [_votes(["a"], "b")]
    votes = [_votes(["b", "c"], "a"), _votes(["a", "b", "c"], "a"), _votes(["a", "a", "b"], "c")]
    pure: dict[str, Any] = {"epsilon": 1.0, "score": Statistic(statistic=float)}
    choice: dict[str, Any] = {"epsilon": 1.0, "score": Distinguisher(models=())}
    middle = [_numbers([0] * 4 + [2] * 4, extra) for extra in (0, 4)] + [
        _numbers([0, 1, 2, 3], extra) for extra in (0, 4)
    ]
    slack = 2 * asinh(0.5) + CAUCHY_SLACK
    return [
        Subject("laplace", _noise(laplace, 1.0), counts, pure),
        Subject("discrete_laplace", _noise(discrete_laplace, 1.0), counts, pure),
        Subject("geometric", _noise(geometric, 1.0, lower=0, upper=5), counts, pure),
        Subject("gaussian, mu = 1", _noise(gaussian, 1.0), counts, {"mu": 1.0, "score": Statistic(statistic=float)}),
        # Wide against the grid of whole numbers, on which it is all but Gaussian.
        Subject(
            "discrete_gaussian, mu = 1/3", _noise(discrete_gaussian, 3.0), counts, {"mu": 1 / 3, "score": pure["score"]}
        ),
        Subject("cauchy", _noise(cauchy, 1.0, granularity=2.0**-40), counts, {**pure, "epsilon": slack}),
        *(
            Subject(f"{choose.__name__}{', monotone' if monotone else ''}", _on_scores(choose, monotone), votes, choice)
            for choose in (exponential_mechanism, permute_and_flip, report_noisy_max)
            for monotone in (True, False)
        ),
        Subject("private_quantiles, 1", _quantiles(1), middle, choice),
        Subject("private_quantiles, 3", _quantiles(3), middle, choice),
    ]


BINARY = Domain.binary(["a", "b", "c"])


def _small() -> list[NeighborPair]:
    """Return the worst pairs of a small table, and one of a single record with its opposite."""
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0]])
    one, other = np.array([[0, 0, 0]]), np.array([[1, 0, 0]])
    both = NeighborPair(
        name="one record and another that one literal tells apart",
        d0=(one, np.array([0])),
        d1=(np.vstack([one, other]), np.array([0, 1])),
    )
    return [both, *(pair for pair in worst_pairs(X, X[:, 0], domain=BINARY) if "label 1" in pair.name)]


def _greedy(mechanism: str, accounting: str, epsilon: float, rules: int) -> PrivateGreedyRuleListClassifier:
    needs_delta = mechanism in {"smooth-laplace", "global-gaussian"}
    return PrivateGreedyRuleListClassifier(
        rules,
        epsilon=epsilon,
        min_support=0.0 if accounting == "published" else 0.05,
        mechanism=mechanism,
        delta=1e-6 if needs_delta else None,
        accounting=accounting,
        # The lowest threshold of the support check, so that lists of few records grow.
        confidence=0.6 if accounting == "published" else 0.99,
        domain=BINARY,
        classes=(0, 1),
    )


def _claim(mechanism: str, epsilon: float) -> dict[str, Any]:
    return {"epsilon": epsilon, "delta": 1e-6 if mechanism in {"smooth-laplace", "global-gaussian"} else 0.0}


def learners() -> list[Subject]:
    """Return every private learner of the package."""
    shared: dict[str, Any] = {"domain": BINARY, "classes": (0, 1), "epsilon": 1.0}
    pairs, learned = _small(), {"score": Distinguisher(models=("logistic",))}
    claim: dict[str, Any] = {"epsilon": 1.0, **learned}
    return [
        Subject("PrivateTreeClassifier", PrivateTreeClassifier(2, **shared), pairs, claim),
        Subject(
            "PrivateTreeClassifier, half for counts",
            PrivateTreeClassifier(1, leaf_counts_share=0.5, **shared),
            pairs,
            claim,
        ),
        Subject(
            "PrivateTreeClassifier, one leaf, nine tenths for counts",
            PrivateTreeClassifier(1, leaf_counts_share=0.9, split_weight=1e-6, **shared),
            pairs[:1],
            claim,
        ),
        Subject("PrivateRuleListClassifier", PrivateRuleListClassifier(2, **shared), pairs, claim),
        Subject(
            "PrivateTreeRegressor, half for the leaves",
            PrivateTreeRegressor(1, epsilon=1.0, domain=BINARY, target_range=(0, 1), leaf_counts_share=0.5),
            pairs,
            claim,
        ),
        *(
            Subject(
                f"greedy, {mechanism}, strict",
                _greedy(mechanism, "strict", 1.0, 2),
                pairs,
                {**_claim(mechanism, 1.0), **learned},
            )
            for mechanism in (*MECHANISMS, "counted-gini")
        ),
    ]


def defaults() -> list[Subject]:
    """Return every private learner with what the search does by itself: all pairs, crowds, and the noise of counts."""
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 0, 0]])
    pairs = worst_pairs(X, X[:, 0], domain=BINARY)
    ends = worst_pairs(X, X[:, 0], domain=BINARY, target_range=(0, 1))
    shared: dict[str, Any] = {"domain": BINARY, "classes": (0, 1), "epsilon": 1.0}
    pure, approximate = {"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}
    return [
        Subject("PrivateTreeClassifier", PrivateTreeClassifier(2, **shared), pairs, pure, 1600),
        Subject(
            "PrivateTreeRegressor",
            PrivateTreeRegressor(2, epsilon=1.0, domain=BINARY, target_range=(0, 1)),
            ends,
            pure,
            1600,
        ),
        Subject("PrivateRuleListClassifier", PrivateRuleListClassifier(2, **shared), pairs, pure, 1600),
        Subject("PrivateGreedyRuleListClassifier", _greedy("counted-gini", "strict", 1.0, 2), pairs, pure, 1600),
        Subject("PrivateEBMClassifier", PrivateEBMClassifier(delta=1e-6, **shared), pairs, approximate, 1600),
        Subject(
            "PrivateScorecardClassifier", PrivateScorecardClassifier(delta=1e-6, **shared), pairs, approximate, 1600
        ),
        Subject(
            "PrivateEBMRegressor",
            PrivateEBMRegressor(epsilon=1.0, delta=1e-6, domain=BINARY, target_range=(0, 1)),
            ends,
            approximate,
            1600,
        ),
    ]


def _cell(fitted: Any) -> dict[str, float]:
    """Return which rule was chosen, and whether the second class was seen at all, alone and together."""
    model = fitted.model_
    rule = str(model.rules[0].antecedent[0]) if len(model.rules) > 1 else "none"
    seen = sum(cell.evidence.counts[1] for cell in model.cells)
    tells = rule.startswith(("a", "not a"))
    return {"tells": float(tells), "rules": float(len(model.rules)), "seen": float(seen), "both": seen * tells}


def published() -> list[Subject]:
    """Return the mechanisms of the paper as they are printed, for lists of one rule."""
    pairs = _small()[:1]
    score = Distinguisher(features=_cell, models=("boosting",))
    return [
        Subject(
            f"greedy, {mechanism}, as published",
            _greedy(mechanism, "published", 1.0, 1),
            pairs,
            {**_claim(mechanism, 1.0), "score": score},
        )
        for mechanism in MECHANISMS
    ]


def ebm_classes(dataset: Any, seed: int | None) -> bool:
    """Fit interpret's private classifier on one column of names; return whether the outlier's name is in the model."""
    from interpret.privacy import DPExplainableBoostingClassifier

    model = DPExplainableBoostingClassifier(
        feature_types=["nominal"], epsilon=1.0, delta=1e-6, random_state=seed, n_jobs=1
    )
    with warnings.catch_warnings():
        # It warns of the seed.
        warnings.simplefilter("ignore")
        model.fit(dataset[0], dataset[1])
    return "zzz" in model.bins_[0][0]


def ebm_target(dataset: Any, seed: int | None) -> float:
    """Fit interpret's private regression on a target in [99, 100]; return the sum of the predictions over the bins.

    Each round adds the noisy sum of residuals divided by the published bin weights. Weighted back, the sum over
    all rounds is left, in which every record counts with 100 times the declared sensitivity: residuals start at y.
    """
    from interpret.privacy import DPExplainableBoostingRegressor

    model = DPExplainableBoostingRegressor(
        feature_types=["continuous"],
        privacy_bounds={0: (0, 1)},
        privacy_target_min=99,
        privacy_target_max=100,
        epsilon=1.0,
        delta=1e-6,
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        # It warns of the seed.
        warnings.simplefilter("ignore")
        model.fit(dataset[0], dataset[1])
    return float((model.intercept_ + model.term_scores_[0]) @ model.bin_weights_[0])


def interpret_subjects() -> list[Subject]:
    """Return the two claims of interpret that are tested."""
    names = _votes(["a"] * 30, "zzz")
    labels = np.array([0, 1] * 15)
    alone = NeighborPair(
        name="30 of one category, and one of another",
        d0=(names.d0[0], labels),
        d1=(names.d1[0], np.append(labels, 1)),
    )
    X, y = np.array([[0.0], [1.0]]), np.array([99.5, 99.5])
    target = NeighborPair(
        name="2 records with y in [99, 100], and one more",
        d0=(X, y),
        d1=(np.vstack([X, [[0.0]]]), np.append(y, 100.0)),
    )
    claim: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    return [
        Subject(
            "interpret, DP-EBM, a category", ebm_classes, [alone], {**claim, "score": Statistic(statistic=float)}, 4000
        ),
        Subject("interpret, DP-EBM, y in [99, 100]", ebm_target, [target], {**claim, "score": float}, 4000),
    ]


def diffprivlib_forest(folder: Path, runs: int, confidence: float = CONFIDENCE) -> LowerBound:
    """Return the bound on diffprivlib's forest from its own environment; raise environments.Missing without it."""
    peer = PRIVATE_PEERS[0]
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch) / "outputs.json"
        command = [str(python_of(peer, folder)), str(HERE / peer.runner), str(output), "--runs", str(runs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - made here
        if done.returncode != 0:
            raise Missing(f"its runner ended with {done.returncode}: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
        drawn = json.loads(output.read_text())
    return lower_bound_from_outputs(
        drawn["d0"],
        drawn["d1"],
        Claim(epsilon=1.0, confidence=confidence),
        score=Statistic(statistic=sum, name="trees that vote as of ten rows"),
    )


FOREST = "diffprivlib, forest"
SHOWN: dict[str, str] = {
    "greedy, global-laplace, as published": "Ly et al., `global-laplace` as published",
    "interpret, DP-EBM, a category": "interpret 0.7.8, `DPExplainableBoostingClassifier`, unique category",
    "interpret, DP-EBM, y in [99, 100]": "interpret 0.7.8, `DPExplainableBoostingRegressor`, y in [99, 100]",
    FOREST: "diffprivlib 0.6.6, `RandomForestClassifier`, one row appended",
}
"""Names of the page for what others claim."""
OURS = "mechanisms"
PARTS: dict[str, Callable[[], list[Subject]]] = {
    OURS: mechanisms,
    "published": lambda: [subject for subject in published() if subject.name in SHOWN],
    "peers": interpret_subjects,
}
"""Parts whose rows are kept."""
RUNS = 10_000
"""Runs of diffprivlib's forest."""


@cache
def subjects() -> dict[tuple[str, str], Subject]:
    """Return everything that is verified here, by part and name."""
    return {(part, subject.name): subject for part, make in PARTS.items() for subject in make()}


def printed(make: Callable[[], list[Subject]]) -> None:
    """Print the bounds of some subjects, and end with 1 if one of them is accused."""
    accused = False
    for subject in make():
        pair, bound = subject.verify(subject.runs, confidence=CONFIDENCE)
        found = "violated" if bound.violated else "not rejected"
        say(f"{subject.name}: {bound.parameter} at least {bound.value:.2f}, {found}, {pair}")
        accused = accused or bound.violated
    if accused:
        sys.exit(1)


def keys() -> list[dict[str, str]]:
    """Return what names each row."""
    return [{"part": part, "what": what} for part, what in (*subjects(), ("peers", FOREST))]


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the bound of one subject, and the worst pair."""
    if key["what"] == FOREST:
        pair, bound = "10 rows, labels in turn, and one row at the end", diffprivlib_forest(FOLDER, RUNS)
    else:
        subject = subjects()[key["part"], key["what"]]
        pair, bound = subject.verify(subject.runs, confidence=CONFIDENCE)
    return {
        "parameter": bound.parameter,
        "claim": bound.claim,
        "delta": bound.delta,
        "runs": bound.runs,
        "lower bound": bound.value,
        "verdict": "violated" if bound.violated else "not rejected",
        "pair": pair,
    }


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""

    def line(name: str, bound: str, several: Sequence[Row]) -> list[str]:
        violated = any(row["verdict"] == "violated" for row in several)
        return [name, bound, "**violated**" if violated else "not rejected"]

    own = [row for row in rows if row["part"] == OURS]
    # Bounds of epsilon compare: all claims are of 1, but for the slack of Cauchy noise.
    most = max(float(row["lower bound"]) for row in own if row["parameter"] == "epsilon")
    lines = [line("Glassine's mechanisms of noise and choice", f"at most {most:.2f}", own)]
    for what, name in SHOWN.items():
        row = one(rows, what=what)
        lines.append(line(name, f"{float(row['lower bound']):.2f}", [row]))
    return {"verification": markdown(["what", "lower bound", "verdict"], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page; the exit status says whether one of ours was accused."""
    others = {make.__name__: partial(printed, make) for make in (learners, defaults, published)}
    kept(__file__, __doc__, keys(), measure, tables, arguments, others=others)
    accused = [row for row in read(results_of(__file__)) if row["part"] == OURS and row["verdict"] == "violated"]
    return int(bool(accused))


if __name__ == "__main__":
    sys.exit(main())
