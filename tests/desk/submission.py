"""A submission of nine files, as an analyst leaves it in the folder of a desk."""

from __future__ import annotations

import hashlib
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from glassine import Category, Domain, Integer, as_model
from glassine.formats import write_model
from glassine.learners import PrivateEBMClassifier
from glassine.models import Effect, Equal, Power, RegressionModel
from tests.desk.desks import SMALL_RULES

MODELS = ("tree.json", "forest.skops", "rules.txt", "regression.json", "additive.json")
FILES = (*MODELS, "model.pkl", "figure2.png", "table.csv", "damaged.json")
"""The nine files; beside them lie a certificate, a domain and ACRO's record."""

DOMAIN = Domain({"age": Integer(18, 99, thresholds=tuple(range(25, 95, 5))), "sex": Category(("f", "m"))})
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c63000100000500010d0a2db400"
    "00000049454e44ae426082"
)


def write_submission(folder: Path) -> None:
    """Write the nine files and what belongs to them."""
    random = np.random.default_rng(0)
    ages, sexes = random.integers(18, 90, 400), random.choice(["f", "m"], 400)
    ill = np.where(ages + random.normal(0, 12, 400) > 60, "yes", "no")
    numbers = ages.reshape(-1, 1)
    ages_alone = DOMAIN.restrict(["age"])
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=4, random_state=0).fit(numbers, ill)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(numbers, ill)
    write_model(as_model(tree, ages_alone), folder / "tree.json")
    skops.io.dump(forest, folder / "forest.skops")
    (folder / "rules.txt").write_text(SMALL_RULES)
    write_model(_regression(), folder / "regression.json")
    records: dict[str, Any] = {"age": ages, "sex": sexes}
    private = PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, classes=["no", "yes"])
    write_model(private.fit(records, ill).model_, folder / "additive.json")
    certificate = replace(
        private.certificate_, file=hashlib.sha256((folder / "additive.json").read_bytes()).hexdigest()
    )
    (folder / "additive.certificate.json").write_text(certificate.to_json() + "\n")
    DOMAIN.to_json(folder / "public.json")
    (folder / "model.pkl").write_bytes(pickle.dumps([1]))
    (folder / "figure2.png").write_bytes(PIXEL)
    (folder / "damaged.json").write_text('{"schema": "glassine.model/2", ')
    write_table(folder)


def write_private(path: Path) -> None:
    """Write a private additive model alone."""
    random = np.random.default_rng(0)
    records: dict[str, Any] = {"age": random.integers(18, 90, 300), "sex": random.choice(["f", "m"], 300)}
    private = PrivateEBMClassifier(epsilon=1.0, domain=DOMAIN, classes=["no", "yes"])
    write_model(private.fit(records, np.where(records["age"] > 50, "yes", "no")).model_, path)


def write_table(folder: Path) -> None:
    """Write a table with ACRO's record of it."""
    (folder / "table.csv").write_text("group,n\nsmokers,3\nothers,97\n")
    entry = {
        "uid": "output_0",
        "status": "fail",
        "type": "table",
        "summary": "fail; threshold: 1 cells",
        "files": [{"name": "table.csv", "sdc": {"summary": {"threshold": 1}, "cells": {"threshold": [[0, 0]]}}}],
        "comments": ["please let me have it"],
        "exception": "the group is public",
    }
    session = {"uid": "s", "summary": "DO_NOT_RELEASE", "files": [{"name": "figure2.png"}]}
    (folder / "results.json").write_text(json.dumps({"version": "0.4.11", "results": {"a": entry, "b": session}}))


def _regression() -> RegressionModel:
    return RegressionModel(
        attributes=("age", "sex"),
        effects=(
            Effect(name="age", factors=(Power(attribute="age"),), coefficients=(0.052,), errors=(0.011,)),
            Effect(name="sex", factors=(Equal(attribute="sex", value="f"),), coefficients=(-1.5,), errors=(0.4,)),
        ),
        intercept=(1.0,),
        link="logit",
        classes=(0, 1),
    )
