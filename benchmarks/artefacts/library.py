"""Runs of the library itself: what the command line does not reach, or reaches in other words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import glassine as g

from .adapter import COUNT_NOISE, RENDER_EDITOR, SUGGESTED_DEPTH, SUMMARIZE_MODEL, inner
from .scene import NAMES, NUMBERS, domain, people

__all__ = ["LIBRARY"]


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: by its own ``to_dict``, by its fields, or by its text."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return str(value)


def as_json(**values: Any) -> dict[str, str]:
    """Return one artefact that holds some values."""
    return {"values.json": json.dumps(plain(values))}


def findings(folder: Path, model: str, **options: Any) -> dict[str, str]:
    """Audit a model from Python, with data frames, and write it in every form."""
    result = g.audit(g.load_model(folder / model), domain=domain(), **options)
    return {
        "findings.json": json.dumps(result.to_dict()),
        "findings.txt": g.render_text(result),
        "findings.html": g.render_html(result, title="A title"),
        "repr.txt": f"{result!r}\n{result.exit_status}\n",
    }


def audited(folder: Path) -> dict[str, str]:
    frame, others = people().drop("cost"), people(200, seed=1).drop("cost")
    policy = g.Policy(smallest_leaf=40, largest_advantage=0.05, most_certain=0)
    return findings(
        folder,
        "multiway.json",
        data=frame,
        target="ill",
        holdout=others,
        policy=policy,
        settings=g.AuditSettings(sensitive="ill", quasi=NAMES),
    )


def audited_arrays(folder: Path) -> dict[str, str]:
    return findings(
        folder,
        "cart.json",
        data=people().drop("cost").to_pandas(),
        target="ill",
        settings=g.AuditSettings(show_small_counts=True),
    )


def audited_additive(folder: Path) -> dict[str, str]:
    result = g.audit(
        g.load_model(folder / "private_additive.json"), domain=domain(), policy=g.Policy(accept_guarantee=True)
    )
    return {
        "findings.json": json.dumps(result.to_dict()),
        "findings.txt": g.render_text(result),
        "findings.html": g.render_html(result),
    }


def audited_release(folder: Path) -> dict[str, str]:
    release = g.surrogates.SurrogateRelease.from_json(folder / "release_safe.json")
    return as_json(release=release.to_dict(), trees=[g.formats.to_text(tree) for tree in release.trees])


def reconstructed(folder: Path) -> dict[str, str]:
    frame = people().select(NAMES)
    drawn = {}
    for name in ("cart", "multiway", "greedy"):
        guess = g.reconstruct(g.load_model(folder / f"{name}.json"), domain())
        drawn[name] = {
            "records": guess.n_records,
            "bits": [guess.bits_learned, guess.bits_per_record, guess.entropy, guess.prior_entropy],
            "distance": [guess.dist, guess.dist_g],
            "attributes": guess.by_attribute(),
            "cells": guess.by_cell(),
            "labels": guess.by_label(),
            "subgroups": guess.by_subgroup(frame, "job"),
            "curve": guess.exposure_curve(),
            "bits of records": guess.record_bits(frame.head(20)),
            "notes": guess.notes,
        }
    return as_json(**drawn)


def jointly(folder: Path) -> dict[str, str]:
    hundred = g.Domain.read(folder / "hundred.json")
    models = [g.load_model(folder / f"{name}.json") for name in ("first", "near", "far")]
    together = g.attacks.reconstruct_jointly(models, hundred, names=["a", "b", "c"], smallest_group=3)
    if hasattr(g, "reconstruct_records"):
        search = import_module("glassine.attacks").Search(workers=1)
        rows = g.attacks.reconstruct_records(models, hundred, random_state=0, search=search)
    else:
        rows = import_module("glassine.attacks").reconstruct_rows_jointly(models, hundred, random_state=0, workers=1)
    return as_json(together=together, rows=rows)


def inferred(folder: Path) -> dict[str, str]:
    frame = people()
    tree = g.load_model(folder / "multiway.json")
    readers = {
        "counts": g.attacks.Adversary(),
        "labels": g.attacks.Adversary("labels_only", internal_nodes=False),
        "noise": g.attacks.Adversary(internal_nodes=False, noise=inner(COUNT_NOISE)("geometric", 2.0)),
    }
    drawn = {}
    for name, reader in readers.items():
        guess = g.infer_sensitive(tree, frame.select(NAMES), "ill", reader, truth=frame["ill"].to_numpy())
        drawn[name] = {
            "counts": guess.counts,
            "entropy": guess.entropy,
            "posterior": guess.probabilities.round(9),
            "overall": guess.d_overall(frame["ill"].to_numpy()),
            "reader": reader.describe(),
        }
    return as_json(**drawn)


def attacked(folder: Path) -> dict[str, str]:
    frame, others = people(), people(200, seed=1)
    both = [g.data.Sample(side.select(NAMES), side["ill"].to_numpy()) for side in (frame, others)]
    tree = g.load_model(folder / "cart.json")
    numbers = [g.data.Sample(side.select(NUMBERS), side["ill"].to_numpy()) for side in (frame, others)]
    return as_json(
        attacks=g.attacks.attack_membership(tree, both[0], holdout=both[1], random_state=0),
        gap=g.attacks.gap_attack(tree, *both, random_state=0),
        loss=g.attacks.loss_attack(tree, *both, random_state=0),
        black_box=g.attacks.black_box_attack(tree, *numbers, n_estimators=10, random_state=0),
        overlap=g.attacks.overlap(*both),
        shift=g.attacks.holdout_shift(*both, random_state=0),
        vulnerability=g.attacks.vulnerability(tree, *both, n_permutations=99, random_state=0),
        midpoint=g.attacks.midpoint_attack(tree, frame.select(NUMBERS), random_state=0),
    )


def scrubbed(folder: Path) -> dict[str, str]:
    drawn = {}
    asked: dict[str, dict[str, Any]] = {
        "cart": {"smallest_leaf": 30},
        "greedy": {"counts": "remove"},
        "multiway": {"base": 50},
    }
    for name, options in asked.items():
        result = g.scrub(g.load_model(folder / f"{name}.json"), domain(), **options)
        drawn[name] = [result.n_rounded, result.n_dropped, result.n_merged, g.formats.to_text(result.model)]
    return as_json(**drawn)


def edited(folder: Path) -> dict[str, str]:
    model: Any = g.load_model(folder / "plain_pairs.json")
    editor = g.models.Editor(model).zero("smoker", reason="lore").monotone("age", "increasing").smooth("hours")
    done: Any = getattr(editor, "model", editor)
    summarize = inner(SUMMARIZE_MODEL)
    drawn = as_json(edits=done.edits, shapes=summarize(done), coverage=summarize(model, 0.5))
    return {
        **drawn,
        "page.html": inner(RENDER_EDITOR)(done, title="A title"),
        "text.txt": g.formats.to_text(done, domain()),
    }


def grouped(folder: Path) -> dict[str, str]:
    frame = people(120).select(NUMBERS)
    groups = {
        "mdav": g.microaggregation.microaggregate(frame, 10),
        "v-mdav": g.microaggregation.microaggregate(frame, 10, gamma=0.2, scaling="none"),
        "gower": g.microaggregation.microaggregate(people(120).select(NAMES), 12, distance="gower", domain=domain()),
    }
    names = ("labels", "sizes", "representatives", "sse", "information_loss", "names")
    return as_json(**{key: {name: getattr(one, name) for name in names} for key, one in groups.items()})


def domains(folder: Path) -> dict[str, str]:
    domain().to_json(folder / "again.json")
    infer = getattr(g, "infer_domain", None) or g.data.infer_domain
    infer(people()).to_json(folder / "drafted.json")
    drawn = {name: (folder / f"{name}.json").read_text(encoding="utf-8") for name in ("again", "drafted")}
    table = g.data.CountTable.from_frame(people().select(NAMES), domain())
    values = as_json(
        size=domain().size(),
        names=sorted(g.__all__),
        depths=[inner(SUGGESTED_DEPTH)(n, epsilon, 20) for n in (100, 10_000) for epsilon in (0.1, 1.0, 10.0)],
        distinct=[table.n_distinct, table.n_records],
        policy=g.Policy().to_toml(),
    )
    return {**values, "again.json": drawn["again"], "drafted.json": drawn["drafted"]}


LIBRARY: dict[str, Callable[[Path], dict[str, str]]] = {
    "audit of frames": audited,
    "audit of pandas, small counts": audited_arrays,
    "audit of a private additive model": audited_additive,
    "release": audited_release,
    "reconstruct": reconstructed,
    "reconstruct jointly": jointly,
    "infer sensitive": inferred,
    "attacks": attacked,
    "scrub": scrubbed,
    "edit": edited,
    "microaggregate": grouped,
    "domains": domains,
}
"""Cases of the library by name."""
