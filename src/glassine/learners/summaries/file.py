"""A summary as JSON, schema ``glassine.summary/1``: what was released, the public domain, and the certificate."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from glassine.codec import FLOAT, WHOLE, Codec, Field, decoded, listed, optional, record
from glassine.domain import Domain
from glassine.domain.domain import from_dict as domain_from_dict
from glassine.domain.domain import to_dict as domain_to_dict
from glassine.errors import GlassineError, InvalidModelError
from glassine.files import read_json
from glassine.learners.additive.grids import Axis, coded_cells, public_grids
from glassine.learners.additive.targets import Target
from glassine.learners.ranges import checked_bounds
from glassine.learners.summaries.measured_figures import AccuracyMeasurement, measurement_from_dict
from glassine.learners.summaries.released import ReleasedSummary, Round
from glassine.learners.summaries.released_tables import check_events, n_cells_of
from glassine.privacy.certificate import Certificate
from glassine.records.arrays import Array, Ints
from glassine.sealed.released_bins import Grid

SCHEMA = "glassine.summary/1"

MOST = 2**20
"""Most entries of a list: more than a summary of the largest domain holds."""

MOST_NOISE = 1e18
"""Largest deviation of a count; the smallest budget on the most records of a person has less."""

CHANGED = "the summary is not the one that its certificate is of: it was changed after it was released"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class SummaryFile:
    """What a file holds beside the certificate."""

    domain: Domain  # The public domain of the attributes
    target: Target  # The public classes, or the range of a number
    released: ReleasedSummary  # What was released

    @property
    def bins(self) -> dict[str, list[Any]] | None:
        """Bins that the user fixed, as values of JSON; the released axes know them."""
        fixed = [axis.grid for axis in self.released.axes if axis.grid.fixed]
        return {grid.attribute: _plain_bins(grid) for grid in fixed} or None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attribute:
    """One attribute: the first cell of each fine bin of a number, or the bin of each cell; and what was released."""

    bin_of: tuple[int, ...]
    counts: tuple[float, ...]
    variances: tuple[float, ...]
    table: tuple[tuple[float, ...], ...]
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One pair of attributes, by place: its score and, along the spanning tree, its counts by class."""

    places: tuple[int, int]
    score: float
    table: tuple[tuple[tuple[float, ...], ...], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """One round: the model's scores by bin, the intercept last; the noisy sums by bin, and their deviation."""

    scores: tuple[tuple[float, ...], ...]
    sums: tuple[tuple[float, ...], ...]
    deviation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Numbers:
    """What was released; rounds are missing in files from before there were any, squares if the target is a class."""

    deviations: tuple[float, float, float]
    attributes: tuple[_Attribute, ...]
    pairs: tuple[_Pair, ...]
    rounds: tuple[_Round, ...] = ()
    squares: tuple[float, float] | None = None


_FLOATS = listed(FLOAT, most=MOST)
_WHOLES = listed(WHOLE, most=MOST)
_ROWS = listed(_FLOATS, most=MOST)
_ATTRIBUTE: Codec[_Attribute] = record(
    _Attribute,
    {
        "bin_of": Field(codec=_WHOLES),
        "counts": Field(codec=_FLOATS),
        "variances": Field(codec=_FLOATS),
        "table": Field(codec=_ROWS),
        "groups": Field(codec=_WHOLES),
    },
)
_PAIR: Codec[_Pair] = record(
    _Pair, {"table": Field(codec=optional(listed(_ROWS, most=MOST)), omit=None, required=False)}
)
_ROUND: Codec[_Round] = record(_Round, {"scores": Field(codec=_ROWS), "sums": Field(codec=_ROWS)})
_NUMBERS: Codec[_Numbers] = record(
    _Numbers,
    {
        "attributes": Field(codec=listed(_ATTRIBUTE, most=MOST)),
        "pairs": Field(codec=listed(_PAIR, most=MOST)),
        "rounds": Field(codec=listed(_ROUND, most=MOST), omit=(), required=False),
        "squares": Field(omit=None, required=False),
    },
)


def is_summary(values: object) -> bool:
    """Return whether values of JSON say that they are a summary."""
    return isinstance(values, dict) and values.get("schema") == SCHEMA


def digest(file: SummaryFile) -> str:
    """Return the SHA-256 of a summary's released values, for every file layout."""
    text = json.dumps(_plain(file), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def file_text(file: SummaryFile, certificate: Certificate, measurement: AccuracyMeasurement | None = None) -> str:
    """Return the text of a summary's file: with its certificate, and with the measurement that a reserve paid for."""
    values = {"schema": SCHEMA, "certificate": certificate.to_dict(), **_plain(file)}
    if measurement is not None:
        values["measurement"] = measurement.to_dict()
    return json.dumps(values, ensure_ascii=False, allow_nan=False) + "\n"


def read_file(path: str | os.PathLike[str]) -> tuple[SummaryFile, Certificate, AccuracyMeasurement | None]:
    """Return the summary of a file, its certificate and its measurement or None, checked against each other."""
    values = read_json(path)
    if not is_summary(values):
        raise InvalidModelError(
            f"{os.fspath(path)} is no summary of the schema {SCHEMA!r}.", remedy="Write one with PrivateSummary.write."
        )
    # A number has its range where classes have their names.
    of_target = "target_range" if "target_range" in values else "classes"
    keys = ("schema", "certificate", "domain", of_target, "target", "released", "bins")
    odd = [key for key in values if key not in (*keys, "measurement")] or [key for key in keys if key not in values]
    if odd:
        raise InvalidModelError(f"the summary lacks the key {odd[0]!r:.60}, or must not have it.")
    certificate = Certificate.from_dict(values["certificate"])
    try:
        domain = domain_from_dict(values["domain"])
        grids = public_grids(domain, values["bins"])
    except GlassineError as error:
        raise InvalidModelError(
            f"the domain of the summary cannot be read: {error}", remedy="Ask its publisher for the file again."
        ) from None
    target = _target(values["target"], values.get("classes"), values.get("target_range"))
    numbers = decoded(_NUMBERS, values["released"], "the summary", InvalidModelError)
    file = SummaryFile(domain=domain, target=target, released=_released(numbers, grids, target))
    if certificate.model != digest(file):
        raise InvalidModelError(f"{CHANGED}.", remedy="Ask for the file that was written.")
    check_events(file.released, certificate)
    if "measurement" not in values:
        return file, certificate, None
    measurement = measurement_from_dict(values["measurement"], target)
    own = measurement.certificate
    if own.public.get("summary") != certificate.model or not set(own.events) <= set(certificate.events):
        raise InvalidModelError("the measurement is of another summary.", remedy="Ask for the file that was written.")
    return file, certificate, measurement


def _target(name: object, classes: object, bounds: object) -> Target:
    """Return the target that a file states: classes, or else a range."""
    of_classes = isinstance(classes, list) and all(isinstance(one, str | int | float) for one in classes)
    if isinstance(name, str) and isinstance(classes, list) and of_classes and len(classes) > 1:
        return Target(classes=tuple(classes), bounds=None, name=name)
    if not isinstance(name, str) or bounds is None:
        raise InvalidModelError("the summary must name its target, a text, and at least two classes or a range.")
    try:
        return Target(classes=None, bounds=checked_bounds(bounds), name=name)
    except GlassineError as error:
        raise InvalidModelError(
            f"the range of the summary's target cannot be read: {error}", remedy="Ask its publisher for the file again."
        ) from None


def _plain(file: SummaryFile) -> dict[str, Any]:
    released, target = file.released, file.target
    numbers = _Numbers(
        deviations=released.deviations,
        attributes=tuple(
            _Attribute(
                bin_of=tuple(axis.bin_of.tolist()),
                counts=tuple(axis.counts.tolist()),
                variances=tuple(axis.variances.tolist()),
                table=tuple(map(tuple, table.tolist())),
                groups=tuple(groups.tolist()),
            )
            for axis, table, groups in zip(released.axes, released.tables, released.groups, strict=True)
        ),
        pairs=tuple(
            _Pair(places=pair, score=score, table=released.edges[pair].tolist() if pair in released.edges else None)
            for pair, score in released.scores.items()
        ),
        rounds=tuple(
            _Round(
                scores=tuple(map(tuple, one.scores.tolist())),
                sums=tuple(map(tuple, one.sums.tolist())),
                deviation=one.deviation,
            )
            for one in released.rounds
        ),
        squares=released.squares,
    )
    return {
        "domain": domain_to_dict(file.domain),
        **({"target_range": list(target.bounds)} if target.bounds else {"classes": list(target.classes or ())}),
        "target": target.name,
        "released": _NUMBERS.encode(numbers),
        "bins": file.bins,
    }


def _plain_bins(grid: Grid) -> list[Any]:
    if grid.cuts is not None:
        return list(grid.cuts.tolist())
    groups: list[list[Any]] = [list(group) for group in grid.groups or ()]
    return [[value.item() if isinstance(value, np.generic) else value for value in group] for group in groups]


def _released(numbers: _Numbers, grids: tuple[Grid, ...], target: Target) -> ReleasedSummary:
    """Return what was released, each part of the shape that the others ask for."""
    n_classes = n_cells_of(target)
    if (target.classes is None) != (numbers.squares is not None):
        raise InvalidModelError("the summary must have squares if its target is a number, and only then.")
    if len(numbers.attributes) != len(grids):
        raise InvalidModelError(
            "the summary has another number of attributes than its domain.",
            remedy="Ask its publisher for the file again.",
        )
    axes, tables, groups = [], [], []
    for grid, one in zip(grids, numbers.attributes, strict=True):
        n_bins = len(one.counts)
        bin_of, group = _places(one.bin_of), _places(one.groups)
        table = _array(one.table, (n_bins, n_classes), grid.attribute)
        whole = len(bin_of) == grid.n_cells + 1 and _covers(bin_of, n_bins) and len(group) == n_bins
        coded = coded_cells(grid)
        plain = np.delete(bin_of[:-1], coded)
        ordered = grid.cuts is None or all(b - a in (0, 1) for a, b in pairwise(plain.tolist()))
        ordered &= bin_of[coded].tolist() == list(range(int(plain.max()) + 1, int(plain.max()) + 1 + len(coded)))
        # Merged bins of a number are neighbors; those of its special codes and gaps stand behind them.
        n_ordered = int(plain.max()) + 1 if grid.cuts is not None else 0
        ordered &= all(b - a in (0, 1) for a, b in pairwise(group[:n_ordered].tolist()))
        if not whole or not ordered or not _covers(group, int(group.max()) + 1) or len(one.variances) != n_bins:
            raise InvalidModelError(
                f"the bins of {grid.attribute!r} in the summary do not fit its domain.",
                remedy="Ask its publisher for the file again.",
            )
        if not all(value > 0 for value in one.variances):
            raise InvalidModelError(f"the variances of {grid.attribute!r} in the summary must be positive.")
        counts, variances = np.array(one.counts), np.array(one.variances)
        axes.append(Axis(grid=grid, bin_of=bin_of, counts=counts, variances=variances))
        tables.append(table)
        groups.append(group)
    scores: dict[tuple[int, int], float] = {}
    edges: dict[tuple[int, int], Array] = {}
    parts = list(range(len(grids)))
    for pair in numbers.pairs:
        a, b = pair.places
        if not 0 <= a < b < len(grids) or (a, b) in scores:
            raise InvalidModelError("the pairs of the summary must be different attributes, each pair once.")
        scores[a, b] = pair.score
        if pair.table is not None:
            shape = (int(groups[a].max()) + 1, int(groups[b].max()) + 1, n_classes)
            edges[a, b] = _array(pair.table, shape, f"{grids[a].attribute} and {grids[b].attribute}")
            if parts[a] == parts[b]:
                raise InvalidModelError("the pairs of the summary that have tables must form a tree.")
            parts = [parts[a] if part == parts[b] else part for part in parts]
    if not all(0 <= value <= MOST_NOISE for value in numbers.deviations) or not numbers.deviations[0] > 0:
        raise InvalidModelError("the standard deviations of the summary must be positive.")
    outputs, size = target.n_outputs, sum(int(g.max()) + 1 for g in groups if g.max() > 0)
    rounds = [
        Round(
            scores=_array(one.scores, (size + 1, outputs), "scores of a round"),
            sums=_array(one.sums, (size, outputs), "sums of a round"),
            deviation=one.deviation,
        )
        for one in numbers.rounds
    ]
    if not all(one.deviation > 0 for one in rounds) or (numbers.squares and not numbers.squares[1] > 0):
        raise InvalidModelError("the standard deviations of the summary must be positive.")
    return ReleasedSummary(
        axes=tuple(axes),
        tables=tuple(tables),
        groups=tuple(groups),
        scores=scores,
        edges=edges,
        deviations=numbers.deviations,
        rounds=tuple(rounds),
        squares=numbers.squares,
    )


def _places(numbers: tuple[int, ...]) -> Ints:
    """Return numbers of bins; those beyond any list are -1, which is none."""
    return np.array([number if 0 <= number < MOST else -1 for number in numbers], dtype=np.int64)


def _covers(numbers: Ints, size: int) -> bool:
    """Return whether numbers are the whole numbers below a size, each at least once."""
    return bool(len(numbers)) and set(numbers.tolist()) == set(range(size))


def _array(values: object, shape: tuple[int, ...], name: str) -> Array:
    try:
        array = np.array(values, dtype=np.float64)
    except ValueError:
        array = np.zeros(0)
    if array.shape != shape:
        raise InvalidModelError(f"the table of {name} in the summary must have the shape {shape}.")
    return array
