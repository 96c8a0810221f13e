"""Models that are changed consistently, as the code behind parsers reads them: ``python benchmarks/changed_models.py``.

A row of ``changed_models.csv`` is a file and a kind of change. Each change is made everywhere in a file, so that its
structure stays valid: another name of an attribute or a class, another threshold, children that change places, a leaf
of one record. A file that is changed is read and audited. It is judged or refused; another error, or more than twenty
seconds of a processor, is a fault. It is wrong

- if another name changes the verdict or the status of a check,
- if another threshold is not in the model that was read,
- if a model with a leaf of one record is within the policy.
"""

from __future__ import annotations

import io
import json
import random
import re
import signal
import struct
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.fuzz_seeds import FILES, seeds  # noqa: E402 - after the path is set
from benchmarks.kept_rows import kept  # noqa: E402
from glassine import Binary, Category, Domain, Real, audit, write_model  # noqa: E402
from glassine.domain import Between  # noqa: E402
from glassine.errors import GlassineError  # noqa: E402
from glassine.files import FileContent  # noqa: E402
from glassine.formats import ModelFile, load_judged  # noqa: E402
from glassine.models import DecisionTree, Evidence  # noqa: E402
from glassine.models.transform import rewritten  # noqa: E402
from papers.common.results import Row  # noqa: E402
from papers.common.tables import markdown  # noqa: E402

TRIES = 8
SECONDS = 20.0
CHANGES = ("names", "classes", "thresholds", "children", "a leaf of one")
WRITTEN = {"json": "Glassine's JSON", "text": "text", "pmml": "PMML", "sklearn": "scikit-learn"}
CHILDREN = re.compile(rb'(?:"(?:left_children|right_children|child)": *\[|(?:left|right)_child=)([-\d, ]+)')


class _Late(BaseException):
    """Raised by the alarm; not an Exception, so that no reader swallows it."""


@cache
def files() -> dict[str, bytes]:
    """Return a good file of each kind of model that an audit reads."""
    made = {name: data for name, (data, _) in seeds().items() if not name.endswith(("in a domain", "the second tree"))}
    made |= {path.name: path.read_bytes() for path in sorted(FILES.iterdir()) if path.suffix != ".csv"}
    return {name: data for name, data in made.items() if not isinstance(_seen(data), str)}


def _models(data: bytes) -> list[Any]:
    """Return the model of a file, or its trees."""
    whole = load_judged(FileContent(path=Path("model"), data=data))
    if isinstance(whole, ModelFile):
        return [whole.model]
    return [] if whole.model.scoring is None else list(whole.model.scoring.forest.trees)


def _domain(models: Sequence[Any]) -> Domain:
    """Return a domain of all that models test."""
    tested: dict[str, set[Any]] = {}
    for model in models:
        for name in model.attributes:
            tested.setdefault(name, set())
        for literal in getattr(model, "literals", ()):
            if not isinstance(literal, Between):
                tested[literal.attribute] |= set(literal.values)
    return Domain(
        {
            name: Real(-1000.0, 1000.0, 0.01, missing=True)
            if not values
            else Binary()
            if values <= {0, 1}
            else Category((*sorted(map(str, values)), "others"), missing=True)
            for name, values in tested.items()
        }
    )


def _seen(data: bytes) -> tuple[str, dict[str, str], set[str]] | str:
    """Return the verdict of a file, the status of each check, and the conditions; why it is refused; or the fault."""
    before = signal.signal(signal.SIGPROF, _alarm)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        models = _models(data)
        found = audit(load_judged(FileContent(path=Path("model"), data=data)), domain=_domain(models))
        found.to_dict()
        said = {str(literal) for model in models for literal in getattr(model, "literals", ())}
        return found.verdict, {check.rule: check.status for check in found.checks}, said
    except GlassineError as error:
        return f"refused: {error}"
    except _Late:
        return f"fault: more than {SECONDS:g} s"
    except Exception as error:
        return f"fault: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _alarm(*_: object) -> None:
    raise _Late


def _everywhere(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Return a file with a change made in all of it; of an archive, in each member."""
    if not data.startswith(b"PK"):
        return change(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        old = {name: archive.read(name) for name in archive.namelist()}
    new = {name: change(member) for name, member in old.items()}
    if new == old:
        return data
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in new.items():
            archive.writestr(name, member)
    return out.getvalue()


def _renamed(name: str, other: str, data: bytes) -> bytes:
    """Return bytes with another name of the same length, wherever it stands as a word, and in arrays of texts."""
    word = re.compile(rb"(?<![A-Za-z0-9_])" + re.escape(name.encode()) + rb"(?![A-Za-z0-9_])")
    wide = [text.encode("utf-32-le") for text in (name, other)]
    return word.sub(other.encode(), data).replace(wide[0], wide[1])


def _moved(bound: float, other: float, data: bytes) -> bytes:
    """Return bytes with another threshold, wherever it stands as a number or as a double or single of a machine."""
    same = {bound, struct.unpack("<f", struct.pack("<f", bound))[0]}

    def number(found: re.Match[bytes]) -> bytes:
        value = float(found[0])
        return f"{other:.6g}".encode() if value in same else found[0]

    data = re.sub(rb"(?<![\w.])-?\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.])", number, data)
    for form in ("<d", ">d", "<f", ">f"):
        data = data.replace(struct.pack(form, bound), struct.pack(form, other))
    if data.startswith(b"\x93NUMPY"):
        # A tree of scikit-learn compares in single precision: its bound is next to the threshold that is stored.
        for shift in range(8):
            doubles = np.frombuffer(data[shift : len(data) - (len(data) - shift) % 8], dtype="<f8")
            for near in set(doubles[np.abs(doubles - bound) <= 1e-6 * abs(bound)].tolist()):
                data = data.replace(struct.pack("<d", near), struct.pack("<d", other))
    return data


def _exchanged(rng: random.Random, data: bytes) -> bytes:
    """Return bytes of which two children have changed places."""
    found = list(CHILDREN.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    entries = re.findall(rb"-?\d+", at[1])
    i, j = rng.randrange(len(entries)), rng.randrange(len(entries))
    entries[i], entries[j] = entries[j], entries[i]
    mark = b", " if b"," in at[1] else b" "
    return data[: at.start(1)] + mark.join(entries) + data[at.end(1) :]


def changed(data: bytes, change: str, rng: random.Random) -> Iterator[bytes]:
    """Yield files that are changed in one way each."""
    models = _models(data)
    names = sorted({name for model in models for name in model.attributes if len(name) > 1})
    classes = sorted({str(one) for model in models for one in model.classes or () if len(str(one)) > 2})
    bounds = sorted(
        {
            bound
            for model in models
            for literal in getattr(model, "literals", ())
            if isinstance(literal, Between)
            for bound in (literal.lo, literal.hi)
            if abs(bound) < 900 and not float(bound).is_integer()
        }
    )
    for _ in range(TRIES):
        if change in ("names", "classes") and (listed := names if change == "names" else classes):
            name = rng.choice(listed)
            other = "".join(rng.choice("bdghkmpqvwz") for _ in name)
            yield _everywhere(data, partial(_renamed, name, other))
        elif change == "thresholds" and bounds:
            bound = rng.choice(bounds)
            yield _everywhere(data, partial(_moved, bound, round(bound * rng.uniform(0.5, 1.5), 3) + 0.0004))
        elif change == "children":
            yield _everywhere(data, partial(_exchanged, rng))


def leaves_of_one(data: bytes, rng: random.Random, folder: Path) -> Iterator[bytes]:
    """Yield a tree of which one leaf holds one record, in each format that keeps counts."""
    models = _models(data)
    if len(models) != 1 or not isinstance(models[0], DecisionTree) or models[0].classes is None:
        return
    tree, n_classes = models[0], len(models[0].classes or ())
    leaves = [cell.node for cell in tree.cells]
    for _ in range(TRIES // 2):
        lone = rng.choice(leaves)
        ones = tuple(int(place == rng.randrange(n_classes)) for place in range(n_classes))
        many = {leaf: tuple(rng.randrange(20, 60) for _ in range(n_classes)) for leaf in leaves}
        many[lone] = ones if sum(ones) == 1 else (1, *[0] * (n_classes - 1))

        def counts(place: int, own: Evidence, many: Mapping[int, tuple[int, ...]] = many) -> Evidence:
            return Evidence(counts=many.get(place))

        counted = replace(
            rewritten(tree, evidence=counts),
            guarantee=None,
            approximate=False,
            sizes="stored",
        )
        for to in WRITTEN:
            path = folder / ("model.skops" if to == "sklearn" else "model")
            try:
                write_model(counted, path, to=to, overwrite=True)
            except GlassineError:
                continue
            yield path.read_bytes()


def _wrong(change: str, before: Any, after: Any) -> bool:
    """Return whether what is seen of a changed file is wrong."""
    if change in ("names", "classes"):
        return bool(before[:2] != after[:2])
    if change == "thresholds":
        return bool(before[2] == after[2])
    return bool(change == CHANGES[-1] and after[0] == "within policy")


def judged(name: str, change: str) -> dict[str, object]:
    """Return how many changed files were judged and refused, and the faults and wrong verdicts."""
    warnings.simplefilter("ignore")
    data, rng = files()[name], random.Random(f"{name}/{change}")  # noqa: S311 - test inputs, no secrets
    whole, found, first = _seen(data), Counter[str](), ""
    with tempfile.TemporaryDirectory() as folder:
        made = leaves_of_one(data, rng, Path(folder)) if change == CHANGES[-1] else changed(data, change, rng)
        for file in made:
            if file == data:
                continue
            seen = _seen(file)
            kind = seen.split(":")[0] if isinstance(seen, str) else "wrong" if _wrong(change, whole, seen) else "judged"
            found[kind] += 1
            if kind in ("fault", "wrong") and not first:
                first = json.dumps(seen if isinstance(seen, str) else seen[:2])[:200]
    return {kind: found[kind] for kind in ("judged", "refused", "fault", "wrong")} | {"first": first}


def keys() -> list[dict[str, str]]:
    """Return what names each row."""
    return [{"file": name, "change": change} for name in files() for change in CHANGES]


def measure(key: Mapping[str, str]) -> dict[str, object]:
    """Return the figures of a row."""
    return judged(key["file"], key["change"])


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of the page."""
    lines = []
    for change in CHANGES:
        own = [row for row in rows if row["change"] == change]
        lines.append(
            [change, *(str(sum(int(row[kind]) for row in own)) for kind in ("judged", "refused", "fault", "wrong"))]
        )
    return {"changed models": markdown(["changed", "judged", "refused", "faults", "wrong"], lines)}


def main(arguments: Iterable[str] | None = None) -> int:
    """Measure what is not stored, and write the page."""
    return kept(__file__, __doc__, keys(), measure, tables, arguments)


if __name__ == "__main__":
    sys.exit(main())
