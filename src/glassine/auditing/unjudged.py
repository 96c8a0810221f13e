"""Kinds of models that are recognized, and that no audit judges: what a file is, why it has no verdict, what to do."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from glassine.errors import GlassineError, SeveralTreesError, UnreadableFileError, UnsupportedModelError
from glassine.formats.onnx import is_onnx, onnx_module
from glassine.formats.pmml import is_xml
from glassine.formats.pmml_documents import parsed_xml
from glassine.formats.skops import SkopsNotInstalledError, expanded, unpacked
from glassine.formats.unwrapping import is_pickle

SACRO = "SACRO-ML (attacks on estimators of scikit-learn and PyTorch, for who has the training records)"
METER = "ML Privacy Meter (membership attacks on neural networks, for who has the training records)"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedKind:
    """A kind of model that is recognized and not judged.

    Attributes
    ----------
    name : str
        What it is, with its article.
    why : str
        Why there is no verdict.
    ask : tuple of str
        What to ask the publisher for.
    tools : tuple of str
        Which other tools measure it.
    modules, elements, operators : tuple of str
        How it is known: modules of its classes in files of skops and pickles; elements of PMML; operators of ONNX.
    """

    name: str
    why: str
    ask: tuple[str, ...]
    tools: tuple[str, ...] = (SACRO,)
    modules: tuple[str, ...] = ()
    elements: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()


TRAINED = "How many records and how many persons it was trained on, and whether any person has several records."
GAP = "Its error on the training records and on held-out records: a gap of more than a few percent reveals members."
PRIVATE = "Whether it was trained with differential privacy, with the certificate: epsilon, delta and the unit."
SURROGATE = "Whether a tree or a rule list that explains it would do; Glassine judges that."
ASKED = (TRAINED, GAP, PRIVATE, SURROGATE)

CHECKLIST = (
    "The file holds no training records: no support vectors, neighbors, prototypes, inducing points or cached batches.",
    "The file holds nothing beside the model: no optimizer state, no logs, no sample inputs, no paths with names.",
    "The parameters are few beside the records: fewer than a tenth as many.",
    "Training stopped before the errors on training and held-out records parted.",
    "No attribute identifies a person, and rare categories were merged.",
    "A membership attack with held-out records was made, and its advantage is below your limit.",
    "Who gets the file, and what they may do with it, is written down.",
)
"""What a person checks by hand."""

RECORDS = "It stores training records, or points made of few of them, so that its file is data and no model alone."
KINDS = (
    UnjudgedKind(
        name="an ensemble",
        why="Its members describe the same people, so that what one reveals says little about what all do. Of forests "
        "and boosted trees it was measured; this one is of another kind, or behind a step that is not read.",
        ask=(
            "A forest, boosted trees, a single tree, a rule list or an additive model in its place.",
            "For each member, on which records it was trained.",
            *ASKED,
        ),
        modules=("sklearn.ensemble", "xgboost", "lightgbm", "catboost", "imblearn.ensemble"),
        elements=("MiningModel",),
    ),
    UnjudgedKind(
        name="a neural network",
        why="No bound follows from its weights: what it memorized of a record shows in its answers alone.",
        ask=ASKED,
        tools=(METER, SACRO),
        modules=("sklearn.neural_network", "torch", "keras", "tensorflow", "tf_keras", "skorch", "flax", "jax"),
        elements=("NeuralNetwork",),
        operators=("Gemm", "Conv", "LSTM", "GRU", "RNN", "MatMul", "Attention"),
    ),
    UnjudgedKind(
        name="a support vector machine",
        why=f"{RECORDS} With a kernel its support vectors are records in full.",
        ask=("The weights of a linear one in place of its support vectors.", *ASKED),
        modules=("sklearn.svm", "thundersvm", "libsvm"),
        elements=("SupportVectorMachineModel",),
        operators=("SVMClassifier", "SVMRegressor"),
    ),
    UnjudgedKind(
        name="a model of nearest neighbors",
        why=f"{RECORDS} Its neighbors are all of them.",
        ask=("Another kind of model: no copy of this one is without its records.", *ASKED),
        modules=("sklearn.neighbors",),
        elements=("NearestNeighborModel",),
    ),
    UnjudgedKind(
        name="a Gaussian process",
        why=f"{RECORDS} It predicts by their distances.",
        ask=("Another kind of model, or inducing points that are public.", *ASKED),
        modules=("sklearn.gaussian_process", "gpytorch", "GPy"),
        elements=("GaussianProcessModel",),
    ),
    UnjudgedKind(
        name="a linear model",
        why="Its coefficients are sums over all records, and how much one record moves them is not in the file.",
        ask=("The numbers of records behind each dummy variable.", *ASKED),
        modules=("sklearn.linear_model", "glmnet", "sklearn.cross_decomposition"),
        operators=("LinearClassifier", "LinearRegressor"),
    ),
    UnjudgedKind(
        name="a naive Bayes model",
        why="It publishes counts or moments of each class, and whether few records are behind one is not in the file.",
        ask=("The number of records of each class, and of each value in each class.", *ASKED),
        modules=("sklearn.naive_bayes",),
        elements=("NaiveBayesModel",),
    ),
    UnjudgedKind(
        name="a clustering or mixture",
        why="Its centers are means, and how many records are behind each is not in the file.",
        ask=("The number of records of each cluster.", *ASKED),
        modules=("sklearn.cluster", "sklearn.mixture"),
        elements=("ClusteringModel",),
    ),
    UnjudgedKind(
        name="a model of another kind of PMML",
        why="No audit is made of its kind.",
        ask=ASKED,
        elements=(
            *("AssociationModel", "SequenceModel", "TextModel", "TimeSeriesModel", "BayesianNetworkModel"),
            *("BaselineModel", "AnomalyDetectionModel"),
        ),
    ),
)
ENSEMBLE, NETWORK, MACHINE = KINDS[:3]
MEASURED = replace(
    ENSEMBLE,
    modules=(
        "sklearn.ensemble._forest",
        "sklearn.ensemble._gb",
        "sklearn.ensemble._hist_gradient_boosting",
        "xgboost",
        "lightgbm",
    ),
)
"""Forests and boosted trees, which are judged where they can be read."""
LINEAR = next(kind for kind in KINDS if kind.name == "a linear model")

JUDGED = (
    *("sklearn.tree", "glassine.", "interpret.", "imodels.", "pydl85", "pystreed", "statsmodels"),
    *(f"sklearn.linear_model._{name}" for name in ("base", "logistic", "ridge", "coordinate_descent", "glm")),
)
"""Modules of models that are judged: another estimator beside one of them is a step of a pipeline."""
NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_.]{2,99}")
SCHEMA = "glassine.unjudged/1"


def unjudged_kind(data: bytes, error: GlassineError) -> UnjudgedKind | None:
    """Return what a file is that could not be read for ``error``, if it is of a kind that is known and not judged.

    Nothing that the file holds is run or loaded.
    """
    if isinstance(error, SeveralTreesError):
        return ENSEMBLE
    if not isinstance(error, UnsupportedModelError | UnreadableFileError):
        return None
    for detect, kind_of in READERS:
        # What is damaged is of no kind: the error of its reader stays.
        with suppress(Exception):
            if detect(data):
                kind = kind_of(data)
                # A forest that was not read, for want of trust or a package, is judged once it is.
                lacking = isinstance(error, UnreadableFileError | SkopsNotInstalledError)
                return None if kind is MEASURED and lacking else kind
    return None


def _of_modules(names: set[str]) -> UnjudgedKind | None:
    """Return the kind of an estimator by the modules of the classes in its file."""

    def contains(modules: tuple[str, ...]) -> bool:
        return any(name == module or name.startswith(f"{module}.") for name in names for module in modules)

    kind = next((kind for kind in KINDS if contains(kind.modules)), None)
    judged = any(name.startswith(JUDGED) for name in names)
    if kind is ENSEMBLE:
        return MEASURED if contains(MEASURED.modules) else ENSEMBLE
    return None if judged else kind


def _of_archive(data: bytes) -> UnjudgedKind | None:
    """Return the kind of an archive: a file of skops, PyTorch or Keras."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    if any(name.endswith("/data.pkl") for name in names) or "model.weights.h5" in names:
        return NETWORK
    with zipfile.ZipFile(io.BytesIO(unpacked(data, "the file"))) as archive:
        schema = archive.read("schema.json").decode()
    return _of_modules(set(re.findall(r'"__module__":\s*"([A-Za-z0-9_.]{1,100})"', schema)))


def _of_pickle(data: bytes) -> UnjudgedKind | None:
    """Return the kind of a pickle by the names of modules in it, of which none is loaded."""
    # The mark of a class, a letter, stands before its module in the older protocols.
    names = {name.decode() for name in NAME.findall(expanded(data))}
    return _of_modules(names | {name[1:] for name in names if name.startswith("c")})


def _of_pmml(data: bytes) -> UnjudgedKind | None:
    tags = {child.tag for child in parsed_xml(data).children}
    return next((kind for kind in KINDS if tags & set(kind.elements)), None)


def _of_onnx(data: bytes) -> UnjudgedKind | None:
    operators = {node.op_type for node in onnx_module().load_model_from_string(data).graph.node}
    return next((kind for kind in KINDS if operators & set(kind.operators)), None)


def _of_json(data: bytes) -> UnjudgedKind | None:
    values = json.loads(data)
    booster: Any = values.get("learner", {}).get("gradient_booster", {}) if isinstance(values, dict) else {}
    if isinstance(booster, dict) and booster.get("name") == "gblinear":
        return LINEAR
    keras = isinstance(values, dict) and {"class_name", "config"} <= set(values)
    return NETWORK if keras else None


def _starts(*marks: bytes, at: int = 0) -> Callable[[bytes], bool]:
    return lambda data: data[at : at + 16].startswith(marks)


def _is_safetensors(data: bytes) -> bool:
    return data[8:10] == b'{"' and 2 <= int.from_bytes(data[:8], "little") <= len(data)


def _always(kind: UnjudgedKind) -> Callable[[bytes], UnjudgedKind | None]:
    return lambda data: kind


READERS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes], UnjudgedKind | None]], ...] = (
    (_starts(b"PK"), _of_archive),
    (_starts(b"\x89HDF\r\n\x1a\n", b"GGUF"), _always(NETWORK)),
    (_starts(b"TFL3", at=4), _always(NETWORK)),
    (_is_safetensors, _always(NETWORK)),
    (_starts(b"CBM1"), _always(ENSEMBLE)),
    (_starts(b"svm_type "), _always(MACHINE)),
    (is_xml, _of_pmml),
    (is_onnx, _of_onnx),
    (lambda data: data.lstrip()[:1] == b"{", _of_json),
    (is_pickle, _of_pickle),
)
"""How files are known, and what says their kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedFile:
    """A file of a kind that is not judged.

    Attributes
    ----------
    name : str
        Its name, without folders.
    n_bytes : int
        Its size.
    sha256 : str
        Its SHA-256, in hexadecimal.
    kind : UnjudgedKind
        What it is.
    refused : str
        What its reader says, with what else can be done.
    """

    name: str
    n_bytes: int
    sha256: str
    kind: UnjudgedKind
    refused: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values, schema ``glassine.unjudged/1``."""
        return {
            "schema": SCHEMA,
            "file": self.name,
            "n_bytes": self.n_bytes,
            "sha256": self.sha256,
            "verdict": "inconclusive",
            "kind": self.kind.name,
            "why": self.kind.why,
            "refused": self.refused,
            "ask": list(self.kind.ask),
            "checklist": list(CHECKLIST),
            "tools": list(self.kind.tools),
        }
