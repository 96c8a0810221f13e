"""Files of kinds that are recognized and not judged: status 3, and a document that says what to do."""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnx
import pytest
import skops.io
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from glassine.auditing.unjudged import CHECKLIST, KINDS
from tests.cli.running import Run

NET, MACHINE, LINEAR = "a neural network", "a support vector machine", "a linear model"
ESTIMATORS: dict[str, tuple[Any, str]] = {
    "svm": (SVC(), MACHINE),
    "net": (MLPClassifier(max_iter=2), NET),
    "scaled": (make_pipeline(StandardScaler(), SGDClassifier()), LINEAR),
    "neighbors": (KNeighborsClassifier(), "a model of nearest neighbors"),
    "bayes": (GaussianNB(), "a naive Bayes model"),
    "adaptive": (AdaBoostClassifier(n_estimators=2), "an ensemble"),
}
PMML = (
    '<?xml version="1.0"?><PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
    '<DataField name="a" optype="continuous" dataType="double"/></DataDictionary><{0} functionName="regression">'
    '<MiningSchema><MiningField name="a"/></MiningSchema></{0}></PMML>'
)


def by_operator(operator: str, domain: str = "") -> bytes:
    """Return an ONNX file of one operator."""
    info = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 1])
    node = onnx.helper.make_node(operator, ["x"], ["y"], domain=domain)
    graph = onnx.helper.make_graph([node], "g", [info], [info])
    return bytes(onnx.helper.make_model(graph, ir_version=8).SerializeToString())


OTHERS = {
    "weights.safetensors": ((20).to_bytes(8, "little") + b'{"a":{"dtype":"F32"}}' + bytes(20), NET),
    "model.h5": (b"\x89HDF\r\n\x1a\n" + bytes(50), NET),
    "machine.txt": (b"svm_type c_svc\nkernel_type rbf\n", MACHINE),
    "net.onnx": (by_operator("Gemm"), NET),
    "machine.onnx": (by_operator("SVMClassifier", "ai.onnx.ml"), MACHINE),
    "net.pmml": (PMML.format("NeuralNetwork").encode(), NET),
    "linear.json": (b'{"learner": {"gradient_booster": {"name": "gblinear"}}}', LINEAR),
}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write every estimator as skops, pickle and joblib, and the files of other programs."""
    folder = tmp_path_factory.mktemp("unjudged")
    x = np.random.default_rng(0).random((60, 3))
    for name, (estimator, _) in ESTIMATORS.items():
        estimator.fit(x, x[:, 0] > 0.5)
        skops.io.dump(estimator, folder / f"{name}.skops")
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(estimator, protocol=2))
        joblib.dump(estimator, folder / f"{name}.joblib", compress=3)
    for name, (data, _) in OTHERS.items():
        (folder / name).write_bytes(data)
    tree = DecisionTreeClassifier(max_depth=1).fit(x, x[:, 0] > 0.5)
    skops.io.dump(tree, folder / "tree.skops")
    (folder / "tree.pkl").write_bytes(pickle.dumps(tree))
    for name, made in (("forest", RandomForestClassifier(3)), ("boosted", GradientBoostingClassifier(n_estimators=3))):
        made.fit(x, x[:, 0] > 0.5)
        skops.io.dump(made, folder / f"{name}.skops")
        (folder / f"{name}.pkl").write_bytes(pickle.dumps(made))
    return folder


NAMES = [
    *((f"{name}{end}", kind) for name, (_, kind) in ESTIMATORS.items() for end in (".skops", ".pkl", ".joblib")),
    *((name, kind) for name, (_, kind) in OTHERS.items()),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "kind"), NAMES)
def test_a_kind_without_a_verdict_has_status_3_and_a_document(name: str, kind: str, fitted: Path, run: Run) -> None:
    report = fitted / f"{name}.report.json"
    done = run("audit", name, "-o", str(report), cwd=fitted)
    assert done.status == 3, done.err
    (one,) = json.loads(report.read_text())["models"]
    document = one["unjudged"]
    data = (fitted / name).read_bytes()
    assert (document["file"], document["n_bytes"]) == (name, len(data))
    assert document["sha256"] == hashlib.sha256(data).hexdigest()
    assert document["kind"] == kind
    known = next(one for one in KINDS if one.name == kind)
    assert (document["why"], document["ask"], document["tools"]) == (known.why, list(known.ask), list(known.tools))
    said = " ".join(done.out.split())
    for text in (kind[2:], document["sha256"], known.why, *known.ask, *CHECKLIST, *known.tools):
        assert text in said, text


def test_what_is_judged_or_damaged_is_of_no_such_kind(fitted: Path, run: Run) -> None:
    assert run("audit", "tree.skops", cwd=fitted).status in (0, 1)
    refused = run("audit", "tree.pkl", cwd=fitted)
    assert refused.status == 2, "a tree that is judged once its pickle is trusted"
    (fitted / "cut.skops").write_bytes((fitted / "svm.skops").read_bytes()[:2000])
    assert run("audit", "cut.skops", cwd=fitted).status == 2
    (fitted / "notes.txt").write_text("we used sklearn.svm and torch.nn\n")
    assert run("audit", "notes.txt", cwd=fitted).status == 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tree", "forest", "boosted"])
def test_what_could_not_be_read_is_refused_with_how_to_read_it(
    name: str, fitted: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = run("audit", f"{name}.pkl", cwd=fitted)
    assert (refused.status, "--trust-pickle" in refused.err) == (2, True)
    assert run("audit", f"{name}.pkl", "--trust-pickle", cwd=fitted).status in (0, 1, 3)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    refused = run("audit", f"{name}.skops", cwd=fitted)
    assert (refused.status, "pip install 'glassine[formats]'" in refused.err) == (2, True)


def test_several_files_are_one_page_with_a_section_each(fitted: Path, run: Run) -> None:
    (fitted / "broken.json").write_text("{")
    files = ["tree.skops", "svm.skops", "net.pkl", "broken.json"]
    done = run("audit", *files, "-o", "all.html", "--overwrite", cwd=fitted)
    assert done.status == 2
    page = (fitted / "all.html").read_text()
    assert [page.count(f'<section id="file-{number}"') for number in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 0]
    for name in files:
        assert f">{name}</a>" in page
    assert page.count("What to check by hand") == 2
    assert "svm.skops: not judged" in page
    assert "broken.json: bad input" in page
    assert hashlib.sha256((fitted / "svm.skops").read_bytes()).hexdigest() in page
    done = run("audit", *files[:2], "-o", "all.json", "--overwrite", cwd=fitted)
    plain = json.loads((fitted / "all.json").read_text())
    assert [one["file"] for one in plain["models"]] == files[:2]
    assert [one["unjudged"] is None for one in plain["models"]] == [True, False]
    assert done.status == plain["status"] == 1 or done.status == 3


def test_a_pipeline_is_told_of_a_kind_that_is_not_judged(fitted: Path, run: Run) -> None:
    done = run("audit", "svm.skops", "--ci", "github", cwd=fitted)
    assert done.status == 3
    assert "a support vector machine, which is not judged" in done.err
