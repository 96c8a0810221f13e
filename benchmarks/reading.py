"""CPU time of audits of large ensembles, by the format of their file: ``python benchmarks/reading.py [--page]``.

Ensembles of 500 leaves a tree are trained on Adult, its categories as codes, and written by their libraries: a forest
of 500 trees of scikit-learn by skops; of fewer trees its ONNX and the files of XGBoost, LightGBM and treelite. BOOSTED
names the folder of an environment that has these. A row is the audit of one file alone, reading included, in one
process after an audit of a small file of its format; ``with data`` is that of the forest with its records, a holdout
and 16 shadow models, beside the time of its own fit. GLASSINE_DATA names the folder of the datasets.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.path.append(os.environ.get("BOOSTED", ""))

from benchmarks.kept_rows import kept  # noqa: E402 - after the path is set
from benchmarks.regressions import adult  # noqa: E402
from glassine import audit  # noqa: E402
from glassine.formats.judged import load_judged  # noqa: E402
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

LEAVES, TREES, FEWER, SMALL = 500, 500, 50, 2
SUFFIXES = {
    "skops": ".skops",
    "XGBoost JSON": ".json",
    "XGBoost UBJSON": ".ubj",
    "LightGBM text": ".txt",
    "treelite JSON": ".json",
    "ONNX": ".onnx",
    "PMML": ".pmml",
    "with data": "",
}
LIMITS = {"skops": "3 s", "with data": "20 fits"}
"""Goals; those of other formats are seconds a megabyte."""
KEYS = [{"format": form} for form in SUFFIXES]
A_MEGABYTE = ".8 s a MB"


@lru_cache(maxsize=1)
def records() -> tuple[Any, Any, list[str]]:
    """Return Adult's columns as numbers, categories by their codes, its classes and the names of its columns."""
    frame, target = adult()
    names = [name for name in frame.columns if name != target]
    columns = [
        frame[name] if frame[name].dtype.is_numeric() else frame[name].cast(pl.Categorical).to_physical()
        for name in names
    ]
    plain = [f"a{place}" for place in range(len(names))]
    return np.column_stack([c.to_numpy() for c in columns]).astype(float), frame[target].to_numpy().astype(int), plain


def forest(trees: int) -> Any:
    """Return a fitted forest of scikit-learn."""
    from sklearn.ensemble import RandomForestClassifier

    x, y, _ = records()
    return RandomForestClassifier(trees, max_leaf_nodes=LEAVES, random_state=0).fit(x, y)


def written(form: str, trees: int, path: Path) -> None:
    """Write an ensemble of so many trees to a file, by its library."""
    x, y, names = records()
    if form == "skops":
        import skops.io

        skops.io.dump(forest(trees), path)
    elif form == "ONNX":
        from skl2onnx import to_onnx

        path.write_bytes(
            to_onnx(forest(trees), x[:1].astype(np.float32), options={"zipmap": False}).SerializeToString()
        )
    elif form == "PMML":
        path.write_text(pmml(forest(trees), names))
    elif form == "LightGBM text":
        import lightgbm

        of_leaves: dict[str, Any] = {"num_leaves": LEAVES, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 1}
        lightgbm.train(of_leaves, lightgbm.Dataset(x, y), trees).save_model(path)
    else:
        import xgboost

        options: dict[str, Any] = {
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "max_leaves": LEAVES,
            "max_depth": 0,
        }
        options |= {"objective": "binary:logistic", "nthread": 1, "min_child_weight": 0}
        booster = xgboost.train(options, xgboost.DMatrix(x, y), trees)
        if form == "treelite JSON":
            import treelite

            path.write_text(treelite.frontend.from_xgboost(booster).dump_as_json(pretty_print=False))
        else:
            booster.save_model(path)


def pmml(model: Any, names: list[str]) -> str:
    """Return a forest as PMML, as converters write it: a segment a tree, a node an element, with its counts."""
    values = [str(int(label)) for label in model.classes_]
    fields = "".join(f'<DataField name="{name}" optype="continuous" dataType="double"/>' for name in names)
    fields += '<DataField name="outcome" optype="categorical" dataType="string">'
    fields += "".join(f'<Value value="{value}"/>' for value in values) + "</DataField>"
    schema = "<MiningSchema>" + "".join(f'<MiningField name="{name}"/>' for name in names)
    schema += '<MiningField name="outcome" usageType="target"/></MiningSchema>'

    def node(tree: Any, place: int, predicate: str) -> str:
        count = float(tree.weighted_n_node_samples[place])
        shares = tree.value[place, 0] / tree.value[place, 0].sum()
        leaf = tree.children_left[place] == -1
        text = f'<Node id="{place}" score="{values[int(shares.argmax())]}" recordCount="{count:g}">{predicate}'
        if leaf:
            text += "".join(
                f'<ScoreDistribution value="{value}" recordCount="{share * count:.10g}"/>'
                for value, share in zip(values, shares.tolist(), strict=True)
            )
        else:
            name, bound = names[tree.feature[place]], float(tree.threshold[place])
            for child, operator in (
                (tree.children_left[place], "lessOrEqual"),
                (tree.children_right[place], "greaterThan"),
            ):
                own = f'<SimplePredicate field="{name}" operator="{operator}" value="{bound!r}"/>'
                text += node(tree, child, own)
        return text + "</Node>"

    sys.setrecursionlimit(10_000)
    segments = "".join(
        f'<Segment id="{place}"><True/><TreeModel functionName="classification" splitCharacteristic="binarySplit">'
        f"{schema}{node(member.tree_, 0, '<True/>')}</TreeModel></Segment>"
        for place, member in enumerate(model.estimators_)
    )
    return (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>'
        f"<DataDictionary>{fields}</DataDictionary>"
        f'<MiningModel functionName="classification">{schema}<Segmentation multipleModelMethod="average">{segments}'
        "</Segmentation></MiningModel></PMML>"
    )


def timed(run: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def of_file(form: str) -> Row:
    """Return the row of the audit of one file alone."""
    trees = TREES if form == "skops" else FEWER
    with tempfile.TemporaryDirectory() as folder:
        small, large = (Path(folder) / f"{size}{SUFFIXES[form]}" for size in ("small", "large"))
        written(form, SMALL, small)
        audit(load_judged(small))
        written(form, trees, large)
        reading = timed(lambda: load_judged(large))
        own = load_judged(large)
        whole = reading + timed(lambda: audit(own))
        size = large.stat().st_size / 1e6
    return {"trees": str(trees), "MB": f"{size:.3g}", "reading": f"{reading:.3g}", "seconds": f"{whole:.3g}", "fit": ""}


def with_data() -> Row:
    """Return the row of the audit of the forest with records, a holdout and shadow models."""
    x, y, names = records()
    frame = pl.DataFrame(x, schema=names).with_columns(pl.Series("outcome", y)).to_pandas()
    order = np.random.default_rng(0).permutation(len(x))
    inside, outside = (frame.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2))
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(TREES, max_leaf_nodes=LEAVES, random_state=0)
    fit = timed(lambda: model.fit(inside[names], inside["outcome"]))
    whole = timed(lambda: audit(model, inside, "outcome", holdout=outside))
    return {"trees": str(TREES), "MB": "", "reading": "", "seconds": f"{whole:.3g}", "fit": f"{fit:.3g}"}


def measured(key: Mapping[str, str]) -> Row:
    """Measure one row."""
    warnings.simplefilter("ignore")
    return with_data() if key["format"] == "with data" else of_file(key["format"])


def tables(rows: Sequence[Row]) -> Mapping[str, str]:
    """Return the table of the page."""
    lines = []
    for row in rows:
        form = row["format"]
        if form == "with data":
            ratio = f"{float(row['seconds']) / float(row['fit']):.1f} fits of {row['fit']} s"
            lines.append((form, row["trees"], "", row["seconds"], ratio, LIMITS[form]))
            continue
        a_megabyte = f"{float(row['seconds']) / float(row['MB']):.2f} s a MB"
        lines.append((form, row["trees"], row["MB"], row["seconds"], a_megabyte, LIMITS.get(form, A_MEGABYTE)))
    return {"reading": markdown(("audit of", "trees", "MB", "CPU s", "", "goal"), lines)}


if __name__ == "__main__":
    kept(__file__, __doc__, KEYS, measured, tables)
