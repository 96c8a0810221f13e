"""Membership attacks of Glassine and of its peers on the same trees: ``python benchmarks/membership.py [--only SIDE]``.

A split of Adult has members, who train a tree, others, and a population that only the peer's RMIA sees, as many of
each. Attacks with shadow models train them on random halves of members and others together. A row of
``membership.csv`` is one attack on one tree; rows that are stored are not measured again. ``--page`` measures nothing
and writes the tables of the page.

The control is the same attack on a tree that learnt from neither side: what it finds there is the attack's own error.

The peer's RMIA is that of Zarifzadeh, Liu and Shokri, *Low-Cost High-Power Membership Inference Attacks* (ICML 2024),
with the parameters of ML Privacy Meter: a = 0.3 and gamma = 1. With P(x) = (1 + a) / 2 * mean P_out(x) + (1 - a) / 2
for the probability of a record's class, the score is the share of the population z with

    (P(x | model) / P(x)) / (P(z | model) / P(z)) > gamma.

Online, P(x) is the mean over models with the record and without it. The package's takes members and others for the
population. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.peers.environments import EVERY_PEER, FOLDER, Missing, prepare  # noqa: E402 - after the path is set
from benchmarks.peers.sources import adult  # noqa: E402
from benchmarks.peers.turns import PeerFailed, Warm  # noqa: E402
from benchmarks.ratios import store  # noqa: E402
from glassine.attacks import (  # noqa: E402
    Shadows,
    black_box_attack,
    label_only_attack,
    lira,
    loss_attack,
    midpoint_attack,
    rmia,
)
from glassine.attacks.membership.likelihood_ratios import MIN_SD, rank  # noqa: E402
from glassine.attacks.membership.result import roc_curve  # noqa: E402
from glassine.attacks.outcome import Measured, Outcome  # noqa: E402
from glassine.data.labels import Sample  # noqa: E402
from papers.common.judging import clustered  # noqa: E402
from papers.common.results import Row, read, say, select, write  # noqa: E402
from papers.common.tables import markdown, place  # noqa: E402

RESULTS = ROOT / "benchmarks" / "membership.csv"
PAGE = ROOT / "docs" / "papers" / "membership-peers.md"

SIDE = 2_000
SPLITS = 5
SHADOWS = 32
TARGETS = 8
"""Shadow trees on which the combination is trained: each is attacked by the others."""
OFFLINE = 0.3
TREES: dict[str, dict[str, int]] = {"depth 5": {"max_depth": 5, "min_samples_leaf": 20}, "grown to the end": {}}
CONTROL = "control"
COMBINED = "combined"
"""A logistic model over the package's attacks; it is of this benchmark, not of the package."""
MEASURES = {"area": 0.005, "tpr at 1%": 0.005}
"""The margin of each measure: differences below it are ties."""
PATIENCE = 1800.0

Floats = npt.NDArray[np.float64]
Parts = tuple[npt.NDArray[np.intp], ...]
Attack = Callable[[Any, Floats, npt.NDArray[np.int64], Parts, int], tuple[float, float]]
"""From a tree, all records and classes, the rows of members, others and population, and a seed, to both measures."""


def parts_of(n: int, seed: int) -> Parts:
    """Return the rows of members, others, population and the control's training records, ``SIDE`` each."""
    order = np.random.default_rng(seed).permutation(n)
    return tuple(order[i * SIDE : (i + 1) * SIDE] for i in range(4))


def grown(tree: str, Z: Floats, y: npt.NDArray[np.int64], rows: npt.NDArray[np.intp]) -> DecisionTreeClassifier:
    """Return a tree of some records."""
    return DecisionTreeClassifier(random_state=0, **TREES[tree]).fit(Z[rows], y[rows])


def measures(members: Floats, others: Floats) -> tuple[float, float]:
    """Return the area under the curve, and the true positive rate at 1 % false positives."""
    curve = roc_curve(members, others)
    return curve.area, curve.tpr_at(0.01)


def packaged(attack: Callable[..., Outcome[Any]]) -> Attack:
    """Return one of the package's attacks."""

    def run(tree: Any, Z: Floats, y: npt.NDArray[np.int64], parts: Parts, seed: int) -> tuple[float, float]:
        found = attack(tree, *(Sample(Z[rows], y[rows]) for rows in parts[:2]), random_state=seed)
        if not isinstance(found, Measured):
            raise TypeError(f"the attack did not run: {found}")
        return found.value.roc.area, found.value.roc.tpr_at(0.01)

    return run


def shadowed(attack: Callable[..., Outcome[Any]], mode: str) -> Attack:
    """Return an attack with shadow trees that are grown like the target."""

    def run(tree: Any, Z: Floats, y: npt.NDArray[np.int64], parts: Parts, seed: int) -> tuple[float, float]:
        shadows = Shadows(tree, SHADOWS, mode=mode)  # type: ignore[arg-type]
        return packaged(lambda *given, **more: attack(*given, shadows, **more))(tree, Z, y, parts, seed)

    return run


def midpoints(tree: Any, Z: Floats, y: npt.NDArray[np.int64], parts: Parts, seed: int) -> tuple[float, float]:
    """Return the measures of the records that thresholds give away: accused or not, in random order within."""
    rows = np.concatenate(parts[:2])
    found = midpoint_attack(tree, Z[rows], random_state=seed)
    if not isinstance(found, Measured):
        raise TypeError(f"the attack did not run: {found}")
    accused = np.zeros(len(rows))
    accused[list(found.value.accused)] = 1.0
    return measures(accused[:SIDE], accused[SIDE:])


def probability(tree: Any, Z: Floats, y: npt.NDArray[np.int64]) -> Floats:
    """Return the probability that a tree gives to each record's class, shape (n,)."""
    column = np.searchsorted(tree.classes_, y)
    return np.asarray(tree.predict_proba(Z)[np.arange(len(y)), column], dtype=np.float64)


def shadow_trees(
    tree: Any, Z: Floats, y: npt.NDArray[np.int64], rows: npt.NDArray[np.intp], seed: int
) -> tuple[list[DecisionTreeClassifier], npt.NDArray[np.bool_]]:
    """Return trees grown like the target on random halves of the rows, and which of them saw which row."""
    halves = np.arange(SHADOWS) < SHADOWS // 2
    seen = np.random.default_rng(seed).permuted(np.tile(halves, (len(rows), 1)), axis=1)
    made = (DecisionTreeClassifier(**tree.get_params()).set_params(random_state=shadow) for shadow in range(SHADOWS))
    return [model.fit(Z[rows[own]], y[rows[own]]) for model, own in zip(made, seen.T, strict=True)], seen


def clues(
    tree: Any, Z: Floats, y: npt.NDArray[np.int64], confidences: Floats, seen: npt.NDArray[np.bool_], seed: int
) -> Floats:
    """Return what each attack says of each record, shape (n, 4): loss, likelihood ratio, RMIA and midpoints."""
    own = probability(tree, Z, y)
    odds, of_own = (np.log(np.clip(p, 1e-6, 1)) - np.log(np.clip(1 - p, 1e-6, 1)) for p in (confidences, own))
    means, densities = [], []
    for mask in (seen, ~seen):
        mean = (odds * mask).sum(axis=1) / mask.sum(axis=1)
        spread = max(float(np.sqrt((((odds - mean[:, None]) ** 2) * mask).sum() / mask.sum())), MIN_SD)
        densities.append(-(((of_own - mean) / spread) ** 2) / 2 - np.log(spread))
        means.append((confidences * mask).sum(axis=1) / mask.sum(axis=1))
    found = midpoint_attack(tree, Z, random_state=seed)
    accused = np.zeros(len(y))
    if isinstance(found, Measured):
        accused[list(found.value.accused)] = 1.0
    ratio = own / np.maximum((means[0] + means[1]) / 2, 1e-12)
    return np.column_stack([own, densities[0] - densities[1], rank(ratio, ratio), accused])


def combined(tree: Any, Z: Floats, y: npt.NDArray[np.int64], parts: Parts, seed: int) -> tuple[float, float]:
    """Return the measures of a logistic model over the attacks, trained on shadow trees whose members are known."""
    rows = np.concatenate(parts[:2])
    X, labels = Z[rows], y[rows]
    trees, seen = shadow_trees(tree, Z, y, rows, seed)
    confidences = np.column_stack([probability(model, X, labels) for model in trees])
    features, members = [], []
    for shadow in range(TARGETS):
        others = np.arange(SHADOWS) != shadow
        features.append(clues(trees[shadow], X, labels, confidences[:, others], seen[:, others], seed))
        members.append(seen[:, shadow])
    learned = make_pipeline(StandardScaler(), LogisticRegression()).fit(np.vstack(features), np.concatenate(members))
    score = learned.decision_function(clues(tree, X, labels, confidences, seen, seed))
    return measures(score[:SIDE], score[SIDE:])


def of_the_peer(online: bool) -> Attack:
    """Return the peer's RMIA with shadow trees that are grown like the target."""

    def run(tree: Any, Z: Floats, y: npt.NDArray[np.int64], parts: Parts, seed: int) -> tuple[float, float]:
        rows, z = np.concatenate(parts[:2]), parts[2]
        trees, seen = shadow_trees(tree, Z, y, rows, seed)
        confidences = np.column_stack([probability(model, Z[rows], y[rows]) for model in trees])
        of_z = [probability(model, Z[z], y[z]) for model in trees]
        out = (confidences * ~seen).sum(axis=1) / (~seen).sum(axis=1)
        usual = confidences.mean(axis=1) if online else offline(out)
        ratio = probability(tree, Z[rows], y[rows]) / np.maximum(usual, 1e-12)
        others = np.sort(probability(tree, Z[z], y[z]) / offline(np.column_stack(of_z).mean(axis=1)))
        score = np.searchsorted(others, ratio, side="left") / len(others)
        return measures(score[:SIDE], score[SIDE:])

    return run


def offline(out: Floats) -> Floats:
    """Return the usual probability of a record's class, from that of models that did not see it."""
    return (1 + OFFLINE) / 2 * out + (1 - OFFLINE) / 2


ATTACKS: dict[str, Attack] = {
    "loss": packaged(loss_attack),
    "black box": packaged(black_box_attack),
    "label only": packaged(label_only_attack),
    "likelihood ratio, online": shadowed(lira, "online"),
    "likelihood ratio, offline": shadowed(lira, "offline"),
    "midpoints": midpoints,
    "RMIA, online": shadowed(rmia, "online"),
    "RMIA, offline": shadowed(rmia, "offline"),
    COMBINED: combined,
    "Privacy Meter RMIA, online": of_the_peer(online=True),
    "Privacy Meter RMIA, offline": of_the_peer(online=False),
}
THEIRS = ("SACRO-ML QMIA", "SACRO-ML LiRA", "SACRO-ML meta")
PEERS = ("Privacy Meter RMIA, online", "Privacy Meter RMIA, offline", *THEIRS)
OURS = tuple(name for name in ATTACKS if name not in (COMBINED, *PEERS))
LIKELIHOOD_RATIOS = ("likelihood ratio, online", "likelihood ratio, offline")
NAMES = (*OURS, COMBINED, *PEERS)


def key(row: Row) -> tuple[int, int, int, int]:
    """Return where a row stands in the file."""
    return (
        [*TREES].index(row["tree"]),
        NAMES.index(row["attack"]),
        ("members", CONTROL).index(row["target"]),
        int(row["split"]),
    )


def keep(row: dict[str, str], area: float, rate: float, seconds: float) -> None:
    """Store a row."""
    full = row | {"area": f"{area:.6g}", "tpr at 1%": f"{rate:.6g}", "processor seconds": f"{seconds:.3g}"}
    rows: list[Row] = sorted([*read(RESULTS), full], key=key)
    write(RESULTS, rows)
    say(", ".join(f"{name} {value}" for name, value in full.items()))


def missing(attacks: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield what is not stored yet."""
    for tree in TREES:
        for split in range(SPLITS):
            for attack in attacks:
                for target in ("members", CONTROL):
                    row = {"tree": tree, "attack": attack, "target": target, "split": str(split)}
                    if not select(read(RESULTS), **row):
                        yield row


def measure_here() -> None:
    """Measure the package's attacks and the peer's RMIA."""
    import time

    arrays = adult(standin=False).arrays
    Z, y = arrays["Z"], arrays["y"]
    for row in missing(ATTACKS):
        parts = parts_of(len(y), int(row["split"]))
        tree = grown(row["tree"], Z, y, parts[3 if row["target"] == CONTROL else 0])
        started = time.process_time()
        found = ATTACKS[row["attack"]](tree, Z, y, parts, int(row["split"]))
        keep(row, *found, time.process_time() - started)


def measure_theirs(folder: Path) -> None:
    """Measure SACRO-ML's attacks in an environment of their own."""
    try:
        python = prepare(next(found for found in EVERY_PEER if found.name == "sacroml"), folder)
        process = Warm(python, "work_sacroml", PATIENCE)
    except (Missing, PeerFailed) as reason:
        sys.stderr.write(f"sacroml: {reason}\n")
        return
    with tempfile.TemporaryDirectory() as scratch:
        file, _ = store(adult(standin=False), Path(scratch))
        for row in (one for attack in THEIRS for one in missing((attack,))):
            settings = {**row, "tree": TREES[row["tree"]], "side": SIDE, "shadows": SHADOWS}
            process.ready("membership", file, settings)
            try:
                run = process.run(int(row["split"]))
            except PeerFailed as reason:
                sys.stderr.write(f"{', '.join(row.values())}: {reason}\n")
                continue
            scores = np.array(run.figures["scores"], dtype=np.float64)
            keep(row, *measures(scores[:SIDE], scores[SIDE:]), run.processor)
    process.close()


def by_split(rows: Sequence[Row], measure: str, **values: str) -> dict[str, float]:
    """Return a measure of some rows by split."""
    return {row["split"]: float(row[measure]) for row in select(rows, **values)}


def interval(values: dict[str, float]) -> str:
    """Return the mean over splits with half of its 95 % interval; of an attack that did not run on all, how many."""
    case = clustered("", {split: [value] for split, value in values.items()})
    if len(values) < SPLITS:
        return f"{case.mean:.3f} ({len(values)} of {SPLITS} splits)"
    return f"{case.mean:.3f} ± {case.high - case.mean:.3f}"


def figures(rows: Sequence[Row], tree: str) -> str:
    """Return the table of a tree: a row for each attack, with its control."""
    lines = []
    for name in NAMES:
        if not select(rows, tree=tree, attack=name, target="members"):
            continue
        cells = [
            interval(by_split(rows, measure, tree=tree, attack=name, target=target))
            for measure in MEASURES
            for target in ("members", CONTROL)
        ]
        seconds = by_split(rows, "processor seconds", tree=tree, attack=name, target="members").values()
        lines.append([name, *cells, f"{fmean(seconds):.2g}"])
    return markdown(["attack", "area", "control", "at 1 %", "control", "CPU s"], lines)


def best_of_ours(rows: Sequence[Row], tree: str, measure: str) -> str:
    """Return the package's attack of the largest mean."""
    return max(OURS, key=lambda name: fmean(by_split(rows, measure, tree=tree, attack=name, target="members").values()))


def beyond_control(rows: Sequence[Row], measure: str, tree: str, attack: str) -> dict[str, float]:
    """Return by split what an attack finds, less what it finds in the control."""
    found, control = (by_split(rows, measure, tree=tree, attack=attack, target=t) for t in ("members", CONTROL))
    return {split: found[split] - control[split] for split in found.keys() & control.keys()}


def judged(rows: Sequence[Row]) -> str:
    """Return whether the package's best attack finds more than the others, and the combination than those it meets.

    What is found in the control is taken off.
    """
    lines = []
    for tree in TREES:
        for measure, margin in MEASURES.items():
            best = best_of_ours(rows, tree, measure)
            pairs = [
                *((best, other) for other in (*PEERS, *LIKELIHOOD_RATIOS) if other != best),
                (COMBINED, THEIRS[-1]),
                (COMBINED, best),
            ]
            for ours, peer in pairs:
                sides = [beyond_control(rows, measure, tree, name) for name in (ours, peer)]
                common = sides[0].keys() & sides[1].keys()
                if len(common) < SPLITS:
                    continue
                case = clustered("", {split: [sides[0][split] - sides[1][split]] for split in common})
                better, worse = case.low > 0 and case.mean > margin, case.high < 0 and case.mean < -margin
                word = "better" if better else "**worse**" if worse else "tied"
                lines.append([tree, measure, ours, peer, f"{case.mean:+.3f} [{case.low:+.3f}, {case.high:+.3f}]", word])
    return markdown(["tree", "measure", "attack", "against", "difference", "is"], lines)


def filled(text: str, rows: Sequence[Row]) -> str:
    """Return the text of the page with its tables."""
    for tree in TREES:
        text = place(text, tree, figures(rows, tree))
    return place(text, "judged", judged(rows))


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("here", "theirs"), help="only the attacks of one side")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder of the peers' environments")
    parser.add_argument("--page", action="store_true", help="measure nothing; write the tables of the page")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if not given.page and given.only != "theirs":
        measure_here()
    if not given.page and given.only != "here":
        measure_theirs(given.into)
    if PAGE.exists():
        PAGE.write_text(filled(PAGE.read_text(), read(RESULTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
