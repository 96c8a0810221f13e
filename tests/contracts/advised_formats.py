"""Files of every format that is read, with records that their models can have been trained on, as subjects of audits.

The records are drawn from the model: each leaf gets as many as it publishes, of the classes that it publishes; models
without leaves predict the outcomes. Another program trained them, so that advice to train again ends a way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import skops.io
from sklearn.ensemble import GradientBoostingClassifier

from glassine import Binary, Category, Domain, Integer
from glassine.cli.domains import tested_literals
from glassine.domain import Between
from glassine.domain.domain import from_dict
from glassine.domain.forms import form_of_literals
from glassine.domain.toml import SCHEMA
from glassine.formats import load_judged
from glassine.models import DecisionTree, Evidence, RegressionModel, RuleList
from tests.contracts.advised import REGRESSIONS, AdvisedSubject
from tests.formats.smuggling import FRAME, SAMPLES, TARGET, Sample

Cuts: TypeAlias = dict[str, list[float]]
"""Thresholds of a model, by attribute."""
UNPUBLISHED = 30
"""Records of a leaf that publishes no size."""
POOL, WITHOUT_LEAVES = 20_000, 400
"""Records drawn before each leaf takes its own; those of a model without leaves."""
OUTCOME = "outcome"
ENDINGS = {
    "ONNX": "onnx",
    "PMML": "pmml",
    "XGBoost": "json",
    "treelite": "json",
    "interpret": "json",
    "Glassine": "json",
    "scikit-learn tree": "skops",
    "scikit-learn linear model": "skops",
    "scikit-learn boosting": "skops",
    "export_graphviz": "dot",
    "table of coefficients": "csv",
}
"""How the name of a file ends; of a pickle ``.pkl``, of printed texts ``.txt``."""


def cuts_of(model: Any) -> Cuts:
    """Return the thresholds of a model."""
    cuts: Cuts = {}
    for literal in tested_literals(model):
        if isinstance(literal, Between):
            own = cuts.setdefault(literal.attribute, [])
            own.extend(end for end in (literal.lo, literal.hi) if math.isfinite(end))
    return cuts


def domain_of(model: Any) -> Domain:
    """Return a domain of what a model tests: numbers reach beyond its thresholds, and no value is left out."""
    entries, _ = form_of_literals(tested_literals(model))
    cuts = cuts_of(model)
    for entry in entries:
        own = cuts.get(entry["name"]) or [0.0]
        if "lo" in entry:
            entry |= {"lo": math.floor(min(own)) - 3, "hi": math.ceil(max(own)) + 3}
        elif len(entry.get("values", "two")) == 1:
            entry["values"] = [*entry["values"], "another"]
    return from_dict({"schema": SCHEMA, "attributes": entries})


def drawn(domain: Domain, cuts: Cuts, n: int, seed: int) -> pl.DataFrame:
    """Return n records: numbers on both sides of every threshold, and each value."""
    rng, out = np.random.default_rng(seed), dict[str, Any]()
    for name in domain:
        attribute = domain[name]
        if isinstance(attribute, Binary):
            out[name] = rng.integers(0, 2, n)
        elif isinstance(attribute, Category):
            out[name] = [attribute.values[i] for i in rng.integers(0, len(attribute.values), n)]
        else:
            ends = np.unique([attribute.lo, *cuts.get(name, ()), attribute.hi])
            place = rng.integers(0, len(ends) - 1, n)
            numbers = ends[place] + (ends[place + 1] - ends[place]) * rng.random(n)
            out[name] = np.ceil(numbers).astype(int) if isinstance(attribute, Integer) else numbers
    return pl.DataFrame(out, strict=False)


def outcomes_in(leaf: Evidence, classes: tuple[Any, ...] | None) -> list[Any]:
    """Return the outcomes of the records of a leaf, as it publishes them."""
    size = UNPUBLISHED if leaf.size is None else round(leaf.size)
    if classes is None:
        return [leaf.value or 0.0] * size
    if leaf.counts is not None:
        return [name for name, count in zip(classes, leaf.counts, strict=True) for _ in range(round(count))]
    if leaf.probabilities is None:
        return [classes[leaf.prediction or 0]] * size
    ends = np.round(np.cumsum(leaf.probabilities) * size)
    return [classes[min(int(np.searchsorted(ends, i, side="right")), len(classes) - 1)] for i in range(size)]


def records_behind(model: Any, domain: Domain, seed: int) -> pl.DataFrame:
    """Return records that a model can have been trained on, with their outcomes and persons."""
    if isinstance(model, DecisionTree | RuleList):
        pool = drawn(domain, cuts_of(model), POOL, seed)
        leaves, rows, outcomes = model.apply(pool), list[int](), list[Any]()
        for i, cell in enumerate(model.cells):
            inside = np.flatnonzero(leaves == i)
            own = outcomes_in(cell.evidence, model.classes) if len(inside) else []
            rows += [int(inside[j % len(inside)]) for j in range(len(own))]
            outcomes += own
        frame = pool[rows]
    else:
        if isinstance(model, RegressionModel) and not model.link:
            model = replace(model, link="identity")  # a table that does not say what its score is
        frame = drawn(domain, cuts_of(model), WITHOUT_LEAVES, seed)
        outcomes = [value.item() if isinstance(value, np.generic) else value for value in model.predict(frame)]
    persons = pl.Series("who", np.arange(len(frame)) // 2 + 100_000 * seed)
    return frame.with_columns(pl.Series(OUTCOME, outcomes), persons).sample(fraction=1, shuffle=True, seed=seed)


def boosted() -> bytes:
    """Return boosted trees of scikit-learn."""
    trees = GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(FRAME, TARGET)
    return bytes(skops.io.dumps(trees))


IN_MEMORY = {"pystreed", "statsmodels results"}
"""Formats that are in no file: trees of pystreed cannot be stored, and results of statsmodels hold the records."""
SAME_MODEL = {"skops of a pipeline", "pickle", "label"}
"""Samples whose model is that of the one before, in another file."""
EVERY_SAMPLE: dict[str, dict[str, Sample]] = {
    **SAMPLES,
    "scikit-learn boosting": {"skops": Sample(make=boosted, plants={})},
    "table of coefficients": {"CSV": Sample(make=(REGRESSIONS / "sm_ols.csv").read_bytes, plants={})},
}
"""By format, its samples."""


def subjects_of(form: str) -> Iterator[AdvisedSubject]:
    """Yield the samples of a format as subjects of audits, each content once; of several trees, all and one."""
    seen = set[bytes]()
    for place, sample in EVERY_SAMPLE[form].items():
        data = sample.make()
        if data in seen or (seen and place in SAME_MODEL):
            continue
        seen.add(data)
        file = "m.pkl" if place.startswith("pickle") else f"m.{ENDINGS.get(form, 'txt')}"
        trusted = ("--trust-pickle",) if file == "m.pkl" else ()
        for tree in (None,) if sample.tree is None else (None, sample.tree):
            yield _subject(f"{form}, {place}", data, file, trusted, tree)


def _subject(name: str, data: bytes, file: str, trusted: tuple[str, ...], tree: int | None) -> AdvisedSubject:
    with TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(data)
        model = load_judged(path, trust_pickle=bool(trusted), tree=tree).model
    domain = domain_of(model)
    records = [records_behind(model, domain, seed) for seed in (1, 2)]

    def write(folder: Path, settings: Mapping[str, float]) -> None:
        (folder / file).write_bytes(data)
        for frame, other in zip(records, ("people.csv", "others.csv"), strict=True):
            frame.write_csv(folder / other)

    return AdvisedSubject(
        name=name if tree is None else f"{name}, tree {tree}",
        write=write,
        models=(file,),
        reading=(*trusted, *(() if tree is None else (f"--tree={tree}",))),
        target=OUTCOME,
        trained=False,
        answers={"--n": str(len(records[0])), "--family": "gaussian"} if isinstance(model, RegressionModel) else {},
        domain=domain,
    )
