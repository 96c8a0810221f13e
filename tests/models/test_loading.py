"""Files are read by their content, or refused in one line."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import json
import lzma
import pickle
import random
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, export_text

from glassine.domain import Domain, Integer, Real
from glassine.errors import GlassineError, InvalidModelError, UnreadableFileError, UnsupportedModelError
from glassine.formats import as_model, load_model, parse_rules, to_onnx, to_pmml, write_model
from glassine.learners import PrivateTreeClassifier
from glassine.models import DecisionTree
from tests.formats.reading import read_cells
from tests.models.fuzzing import read_or_refused
from tests.models.test_corels import FEATURES, RULES, TEXT
from tests.models.test_rule_text import PAPER
from tests.models.test_scikit import NAMES, make_data

DOMAIN = Domain({name: Real(-9, 9) for name in NAMES})


def make_tree(**options: Any) -> Any:
    return DecisionTreeClassifier(max_depth=3, random_state=0, **options).fit(*make_data(n=60))


def model_bytes(tmp_path: Path) -> bytes:
    write_model(as_model(make_tree()), tmp_path / "model.json", overwrite=True)
    return (tmp_path / "model.json").read_bytes()


VALID: dict[str, Callable[[Path], bytes]] = {
    "json": model_bytes,
    "skops": lambda _: bytes(skops.io.dumps(make_tree())),
    "export_text": lambda _: str(export_text(make_tree(), feature_names=list(NAMES), show_weights=True)).encode(),
    "rules": lambda _: PAPER.encode(),
    "corels text": lambda _: TEXT.encode(),
    "corels fields": lambda _: json.dumps({"r": RULES, "f": FEATURES, "p": "y"}).encode(),
}


def stored(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "a file"
    path.write_bytes(data)
    return path


def test_each_kind_is_known_by_its_content(tmp_path: Path) -> None:
    tree = as_model(make_tree())
    assert load_model(stored(tmp_path, VALID["json"](tmp_path))) == tree
    assert load_model(stored(tmp_path, VALID["skops"](tmp_path))) == tree
    text = read_cells(stored(tmp_path, VALID["export_text"](tmp_path)))
    assert [c.evidence for c in text.cells] == [c.evidence for c in tree.cells]
    assert load_model(stored(tmp_path, b"\xef\xbb\xbf" + PAPER.encode())) == parse_rules(PAPER)
    assert read_cells(stored(tmp_path, VALID["corels fields"](tmp_path))).n_records == 10
    assert len(read_cells(stored(tmp_path, VALID["corels text"](tmp_path))).cells) == 3


FILES = Path(__file__).parents[1] / "formats" / "files"


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("xgboost.json", "XGBoost"),
        ("lightgbm.txt", "LightGBM"),
        ("treelite_shares.json", "treelite"),
        ("rpart.txt", "rpart"),
        ("j48.txt", "C4.5 text"),
        ("tree.pmml", "PMML"),
    ],
)
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n  "])
def test_files_of_others_are_known_by_their_content(name: str, source: str, start: bytes, tmp_path: Path) -> None:
    data = (FILES / name).read_bytes()
    if name == "tree.pmml":  # nothing but a mark of the encoding may stand before the declaration of XML
        data = data[data.index(b"<PMML") :]
    for ends in (b"\n", b"\r\n"):
        assert load_model(stored(tmp_path, start + data.replace(b"\n", ends))).source == source


def test_onnx_is_known_by_its_content(tmp_path: Path) -> None:
    tree = as_model(make_tree())
    assert load_model(stored(tmp_path, to_onnx(tree))).source == "ONNX"
    with pytest.raises(UnsupportedModelError, match="not ONNX"):
        load_model(stored(tmp_path, b"\x08\x08\xff\xff"))


def test_a_pipeline_in_a_skops_file(tmp_path: Path) -> None:
    frame, target = make_data()
    frame["colour"] = ["red", "green", "blue"] * 100
    front = ColumnTransformer([("w", OneHotEncoder(), ["colour"])], remainder="passthrough")
    pipeline = make_pipeline(front, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(frame, target)
    assert load_model(stored(tmp_path, skops.io.dumps(pipeline))) == as_model(pipeline)


PICKLES: dict[str, Callable[[Any], bytes]] = {
    **{f"protocol {p}": lambda obj, p=p: pickle.dumps(obj, protocol=p) for p in range(6)},  # type: ignore[misc]
    "gzip": lambda obj: gzip.compress(pickle.dumps(obj)),
    "zlib": lambda obj: zlib.compress(pickle.dumps(obj)),
    "bz2": lambda obj: bz2.compress(pickle.dumps(obj)),
    "xz": lambda obj: lzma.compress(pickle.dumps(obj)),
}


@pytest.mark.parametrize("dump", PICKLES.values(), ids=PICKLES)
def test_a_pickle_is_refused_unless_it_is_trusted(dump: Callable[[Any], bytes], tmp_path: Path) -> None:
    fitted = make_tree()
    path = stored(tmp_path, dump(fitted))
    with pytest.raises(UnreadableFileError, match="a pickle is code"):
        load_model(path)
    assert load_model(path, trust_pickle=True) == as_model(fitted)


def test_joblib_files(tmp_path: Path) -> None:
    fitted = make_tree()
    for compress in (0, 3, ("lzma", 3)):
        importlib.import_module("joblib").dump(fitted, tmp_path / "m", compress=compress)
        with pytest.raises(UnreadableFileError, match="a pickle is code"):
            load_model(tmp_path / "m")
        assert load_model(tmp_path / "m", DOMAIN, trust_pickle=True) == as_model(fitted, DOMAIN)


def zipped(**entries: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "."), data)
    return out.getvalue()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"cannot read .*: Is a directory\. Name a file in it\."):
        load_model(tmp_path)


BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\t\n", "is empty"),
    "rubbish": (bytes(range(256)), "is binary"),
    "zeros": (b"\0" * 100, "is binary"),
    "prose": (b"Dear reader,\n", "in no supported model format"),
    "truncated JSON": (b'{"schema": "glassine.mod', r"not valid JSON.* ends too early: copy it whole\."),
    "truncated list": (b'{"schema": "glassine.model/1", "nodes": [1, \n', "The file ends too early: copy it whole"),
    "broken JSON": (
        b'{"schema": "glassine.model/1" "nodes"}',
        r"not valid JSON.* line 1, column 31\. Copy it again",
    ),
    "NaN": (b'{"schema": NaN}', "not JSON"),
    "deep JSON": (b"[" * 100_000, "nested too deeply"),
    "JSON list": (b"[1, 2]", "A model of Glassine is a JSON object"),
    "other JSON": (b'{"a": 1}', "A model of Glassine is a JSON object with"),
    "later schema": (b'{"schema": "glassine.model/9"}', "got 'glassine.model/9'"),
    "domain": (b'{"schema": "glassine.domain/1"}', "Give it as the domain"),
    "a line separator": (b'{"schema": "glassine.model\xe2\x80\xa8/1"}', r"got 'glassine.model\\u2028/1'"),
    "findings": (b'{"schema": "glassine.findings/1"}', "this is no model, but of schema"),
    "saved by R": (gzip.compress(b"X\n\0\0\0\3"), "was saved by R.* Print the tree"),
    "R workspace": (gzip.compress(b"RDX3\nX\n"), "was saved by R"),
    "no gzip": (b"\x1f\x8b and no more", "is a pickle|cannot be unpickled"),
    "zip": (zipped(a__txt=b"x"), "without the schema"),
    "empty skops": (zipped(schema__json=b"{}"), "damaged skops"),
    "rubbish skops": (zipped(schema__json=b"\xff"), "damaged skops"),
    "truncated zip": (zipped(a__txt=b"x" * 1000)[:200], "damaged or truncated zip"),
    "rules": (b"if [a] then [true]", "default rule"),
    "tree": (b"|--- a <= 1.0\n", "neither a condition"),
}


@pytest.mark.parametrize(("data", "message"), BAD.values(), ids=BAD)
def test_bad_files(data: bytes, message: str, tmp_path: Path) -> None:
    for trusted in (False, True):
        with pytest.raises(GlassineError, match=message) as caught:
            load_model(stored(tmp_path, data), trust_pickle=trusted)
        assert len(str(caught.value).splitlines()) == 1
        assert "a file" in str(caught.value)


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    paths: list[tuple[str | Path, str]] = [
        (tmp_path, "cannot read"),
        (tmp_path / "none", "No such file"),
        ("a\0b", "cannot read"),
    ]
    for path, message in paths:
        with pytest.raises(UnreadableFileError, match=message):
            load_model(path)
    with (large := tmp_path / "large").open("wb") as stream:
        stream.truncate(200_000_001)
    with pytest.raises(UnreadableFileError, match="larger than 200,000,000"):
        load_model(large)


class Trap:
    """Raises when it is unpickled."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemError('two\\nlines')",))


def test_what_a_trusted_pickle_raises_is_one_of_our_errors(tmp_path: Path) -> None:
    data = pickle.dumps(Trap())
    with pytest.raises(UnreadableFileError, match="a pickle is code"):
        load_model(stored(tmp_path, data))
    for damaged in (data, data[:-3], pickle.dumps(make_tree())[:500], gzip.compress(b"x")):
        with pytest.raises(UnreadableFileError, match="cannot be unpickled"):
            load_model(stored(tmp_path, damaged), trust_pickle=True)
    with pytest.raises(UnsupportedModelError, match="got dict"):
        load_model(stored(tmp_path, pickle.dumps({"a": 1})), trust_pickle=True)


def test_a_model_must_fit_the_domain(tmp_path: Path) -> None:
    for make in VALID.values():
        with pytest.raises(InvalidModelError, match="which the domain lacks"):
            load_model(stored(tmp_path, make(tmp_path)), Domain({"x": Real(0, 1)}))


def test_what_a_model_does_not_test_need_not_be_declared(tmp_path: Path) -> None:
    frame = pd.DataFrame({"age": [20, 30, 60, 70], "unused": 0.0})
    fitted = DecisionTreeClassifier().fit(frame, [0, 0, 1, 1])
    stored_tree = stored(tmp_path, skops.io.dumps(fitted))
    model = load_model(stored_tree, Domain({"age": Integer(18, 90)}))
    assert isinstance(model, DecisionTree)
    assert [str(literal) for literal in model.literals] == ["age <= 45", "age > 45"]
    with pytest.raises(InvalidModelError, match="the estimator tests 'age', which the domain lacks"):
        load_model(stored_tree, Domain({"unused": Real(0, 1)}))


def test_a_foreign_type_in_a_skops_file_is_named(tmp_path: Path) -> None:
    frame, target = make_data()
    pipeline = make_pipeline(FunctionTransformer(as_model), DecisionTreeClassifier().fit(frame, target))
    with pytest.raises(UnsupportedModelError, match=r"holds the type glassine.*as_model, which is not trusted"):
        load_model(stored(tmp_path, skops.io.dumps(pipeline)))


def test_a_missing_skops_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = VALID["skops"](tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    with pytest.raises(UnsupportedModelError, match=r"glassine\[formats\]"):
        load_model(stored(tmp_path, data))


def rewritten(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return out.getvalue()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"node_count"', 10**6),
        ('"node_count"', 0),
        ('"node_count"', -1),
    ],
)
def test_a_skops_tree_that_lies_about_its_size_is_refused(before: str, after: int, tmp_path: Path) -> None:
    def change(name: str, data: bytes) -> bytes:
        if name != "schema.json":
            return data
        schema = json.loads(data)
        tree = schema["content"]["content"]["tree_"]
        tree["content"]["content"][json.loads(before)]["content"] = str(after)
        return json.dumps(schema).encode()

    with pytest.raises(InvalidModelError, match="nodes"):
        load_model(stored(tmp_path, rewritten(VALID["skops"](tmp_path), change)))


@pytest.mark.parametrize(("place", "value"), [(0, "0"), (0, "-3"), (2, "5"), (2, "true"), (2, '"x"')])
def test_a_skops_tree_with_impossible_arguments_is_refused(place: int, value: str, tmp_path: Path) -> None:
    def change(name: str, data: bytes) -> bytes:
        if name != "schema.json":
            return data
        schema = json.loads(data)
        schema["content"]["content"]["tree_"]["__reduce__"]["args"]["content"][place]["content"] = value
        return json.dumps(schema).encode()

    with pytest.raises((InvalidModelError, UnsupportedModelError)):
        load_model(stored(tmp_path, rewritten(VALID["skops"](tmp_path), change)))


def test_skops_arrays_with_wild_nodes_are_refused_or_read(tmp_path: Path) -> None:
    data, rng = VALID["skops"](tmp_path), random.Random(0)
    for _ in range(60):
        chosen = rng.random()

        def change(name: str, content: bytes, chosen: float = chosen) -> bytes:
            if not name.endswith(".npy") or rng.random() < chosen:
                return content
            out = bytearray(content)
            out[rng.randrange(64, len(out))] = rng.randrange(256)
            return bytes(out)

        path = stored(tmp_path, rewritten(data, change))
        read_or_refused(lambda path=path: load_model(path))  # type: ignore[misc]


@pytest.mark.parametrize("make", VALID.values(), ids=VALID)
def test_truncations_and_mutations_raise_only_our_errors(make: Callable[[Path], bytes], tmp_path: Path) -> None:
    data, rng = make(tmp_path), random.Random(1)
    cases = [data[: rng.randrange(len(data))] for _ in range(20)]
    for _ in range(60):
        out = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            out[rng.randrange(len(out))] = rng.choice([rng.randrange(256), *b'0-"[]{},.<=x'])
        cases.append(bytes(out))
    for case in cases:
        for domain in (None, DOMAIN):
            path = stored(tmp_path, case)
            read_or_refused(lambda path=path, domain=domain: load_model(path, domain))  # type: ignore[misc]


@pytest.mark.parametrize("write", [write_model, to_pmml])
def test_what_is_no_model_is_refused_with_what_to_write_instead(write: Any, tmp_path: Path) -> None:
    more = (tmp_path / "m.json",) if write is write_model else ()
    private = PrivateTreeClassifier(1, epsilon=1.0, domain=Domain.binary(["a"]), classes=(0, 1), random_state=0)
    for fitted in (private.fit([[0], [1]], [0, 1]), make_tree()):
        with pytest.raises(UnsupportedModelError, match=r"not a model\. Write as_model\(\.\.\.\) of it"):
            write(fitted, *more)
    assert not (tmp_path / "m.json").exists()


def test_reading_a_model_imports_neither_polars_nor_scikit_learn(tmp_path: Path) -> None:
    write_model(parse_rules("if [a] then [true]\nelse [false]"), tmp_path / "model.json", overwrite=True)
    script = (
        "import sys; from glassine.formats import load_file; load_file(sys.argv[1]); "
        "print([name for name in ('polars', 'sklearn', 'pandas', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model.json")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_model_that_could_not_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(_small(tmp_path))
    path = tmp_path / "copy.json"
    monkeypatch.setattr("glassine.files.MAX_VALUES", 500)
    with pytest.raises(UnreadableFileError, match=r"^cannot write .*copy.json, as it could not be read again: "):
        write_model(model, path, overwrite=True)
    assert not path.exists()
    monkeypatch.undo()
    write_model(model, path, overwrite=True)
    assert load_model(path) == load_model(_small(tmp_path))


def _small(folder: Path) -> Path:
    path = folder / "rules.txt"
    path.write_text("if [age > 50] then [yes]\nelse [no]\n")
    return path
