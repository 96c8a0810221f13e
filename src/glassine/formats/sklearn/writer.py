"""Models as fitted scikit-learn pipelines."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from glassine.domain import Between, Binary, Category, Domain, OneOf
from glassine.domain import Literal as Condition
from glassine.domain.attributes import Scalar
from glassine.domain.single import single_threshold
from glassine.errors import InvalidParameterError, UnsupportedModelError
from glassine.formats.conditions import check_predicts, compared_values, with_missing
from glassine.formats.format import Format
from glassine.formats.skops import stated_versions, write_skops
from glassine.models.evidence import Evidence, cell_probabilities
from glassine.models.rule_list import RuleList
from glassine.models.tree import Branch, DecisionTree

# The columns that a scikit-learn tree needs to test a model's conditions, made by scikit-learn's own encoders.

Side: TypeAlias = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Test:
    """A bound on a column: on which side the condition holds, and where missing values go."""

    column: int
    bound: float
    holds: Side
    missing: Side
    stated: bool = True  # Whether the model says where missing values go

    @property
    def threshold(self) -> float:
        """The bound as scikit-learn, which rounds records to single precision, must hold it."""
        # The bound that a reader takes for it is rounded to it again, so that what was read is written as it was.
        near = single_threshold(self.bound) + 0.0  # no -0.0
        return near if math.isfinite(near) else self.bound


class Encoder:
    """The columns that the tree sees: numbers as they are, and one code for each list of values."""

    def __init__(self, model: DecisionTree | RuleList, domain: Domain | None) -> None:
        self.model, self.domain = model, domain
        compared = compared_values(model)
        self.dummies = {
            name
            for name, values in compared.items()
            if (isinstance(domain[name], Binary) if domain is not None else set(values) <= {0, 1})
        }
        for name, values in compared.items():
            if len({isinstance(v, str) for v in values}) > 1:
                raise UnsupportedModelError(f"{name!r} is compared with both texts and numbers.", remedy="Recode it.")
        self.words = {name for name, values in compared.items() if self._has_words(name, values, domain)}
        self.numbers: list[str] = []
        self.lists: list[OneOf] = []
        for literal in self._tested():
            name = literal.attribute
            if isinstance(literal, OneOf) and (name not in self.dummies or set(literal.values) != {1}):
                self.lists += [] if _listing(literal) in self.lists else [_listing(literal)]
            elif name not in self.numbers:
                self.numbers.append(name)
        self.numbers.sort(key=model.attributes.index)
        # Whatever the order of the nodes, which a reader may number otherwise.
        self.lists.sort(key=lambda listed: (model.attributes.index(listed.attribute), listed.missing, str(listed)))
        # In the order of the columns, in which a reader names them.
        named = [*self.numbers, *(listed.attribute for listed in self.lists)]
        self.names = tuple(dict.fromkeys(named)) or model.attributes[:1]
        if not self.numbers and not self.lists and not model.attributes:
            raise UnsupportedModelError("a scikit-learn tree needs an attribute, but the model has none.")

    def _has_words(self, name: str, values: tuple[Scalar, ...], domain: Domain | None) -> bool:
        """Return whether the values of an attribute are texts."""
        if values:
            return any(isinstance(value, str) for value in values)
        if domain is not None:
            attribute = domain[name]
            return isinstance(attribute, Category) and any(isinstance(value, str) for value in attribute.values)
        if any(isinstance(lit, Between) for lit in self.model.literals if lit.attribute == name):
            return False
        raise UnsupportedModelError(
            f"the model asks only whether {name!r} is missing, not whether it is a text or a number.",
            remedy="Give the domain.",
        )

    def _tested(self) -> Iterator[Condition]:
        """Yield the conditions that decide: what no other branch of a node takes goes to the last."""
        if isinstance(self.model, RuleList):
            yield from (self.decided(literal)[0] for literal in self.model.literals)
            return
        for node in self.model.nodes:
            yield from (self.branch(node.branches, at)[0] for at in range(len(node.branches) - 1))

    def branch(self, branches: Sequence[Branch], at: int) -> tuple[Condition, bool]:
        """Return the condition of a branch, those before it taken off, as :meth:`decided` does."""
        return self.decided(branches[at].literal, any(branch.literal.missing for branch in branches[at:]))

    def decided(self, literal: Condition, stated: bool = True) -> tuple[Condition, bool]:
        """Return the condition that is tested, and whether the model says where missing values go, if there are any."""
        stated = stated and (self.domain is None or self.domain[literal.attribute].missing)
        # Where no branch takes them, they go with the values that are not listed, as an encoder that knows none has it.
        return literal if stated or isinstance(literal, Between) else with_missing(literal, literal.negated), stated

    @property
    def width(self) -> int:
        """Number of columns; one that is never looked at where the model tests nothing."""
        return max(len(self.numbers) + len(self.lists), 1)

    def tests(self, literal: Condition, stated: bool) -> list[Test]:
        """Return the thresholds that hold together exactly where a literal, not negated if it has two bounds, holds.

        ``stated`` says that the model knows where missing values go.
        """
        if isinstance(literal, OneOf) and (literal.attribute not in self.dummies or set(literal.values) != {1}):
            column = len(self.numbers) + self.lists.index(_listing(literal))
            # A list of no value has one that stands in for it, of code 0: only gaps have codes above.
            listed = -0.5 if literal.values else 0.5
            return [Test(column, listed, "left" if literal.negated else "right", "left", stated)]
        bounds: list[tuple[float, Side]] = [(0.5, "right")]
        if isinstance(literal, Between):
            both: list[tuple[float, Side]] = [(literal.lo, "right"), (literal.hi, "left")]
            # Present or not: every number lies below infinity.
            bounds = [one for one in both if math.isfinite(one[0])] or [(math.inf, "left")]
        column, out = self.numbers.index(literal.attribute), []
        for bound, side in bounds:
            holds = _other(side) if literal.negated else side
            out.append(Test(column, bound, holds, holds if literal.missing else _other(holds), stated))
        return out

    def fitted(self) -> Any:
        """Return the ColumnTransformer."""
        import polars as pl
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import MissingIndicator
        from sklearn.preprocessing import OrdinalEncoder

        parts: list[tuple[str, Any, list[str]]] = []
        if not self.numbers and not self.lists:
            parts.append(("nothing", MissingIndicator(features="all"), [self.model.attributes[0]]))
        if self.numbers:
            parts.append(("numbers", "passthrough", self.numbers))
        for i, listed in enumerate(self.lists):
            encoder = OrdinalEncoder(
                categories=[self._categories(listed)],
                handle_unknown="use_encoded_value",
                unknown_value=-1,
                encoded_missing_value=len(listed.values) + 2,
            )
            parts.append((f"list {i}", encoder, [listed.attribute]))
        frame = {
            name: pl.Series([None], dtype=pl.String if name in self.words else pl.Float64, strict=False)
            for name in self.names
        }
        return ColumnTransformer(parts, sparse_threshold=0).fit(pl.DataFrame(frame))

    def _categories(self, listed: OneOf) -> npt.NDArray[Any]:
        if listed.attribute in self.words:
            gaps: list[Any] = [None, math.nan] if listed.missing else []
            return np.array([*(listed.values or ("",)), *gaps], dtype=object)
        numbers = sorted({float(value) for value in listed.values if not isinstance(value, str)}) or [0.0]
        return np.array([*numbers, *([math.nan] if listed.missing else [])], dtype=float)


def _other(side: Side) -> Side:
    return "left" if side == "right" else "right"


def _listing(literal: OneOf) -> OneOf:
    """Return the list of values whose membership decides a literal: missing ones are on it, or are not."""
    return OneOf(literal.attribute, literal.values, missing=literal.missing != literal.negated)


MOST_NODES = 100_000
TIE = 1e-9
"""By how much the share of a published label is raised above an equal one."""

State: TypeAlias = tuple[int, int]
"""A place in a model: a node and the number of its branch, or a rule and the number of its condition."""


def to_sklearn(model: DecisionTree | RuleList, domain: Domain | None = None) -> Any:
    r"""Return a model as a fitted scikit-learn pipeline of two steps, ``encode`` and ``tree``.

    It predicts what the model predicts, is made of scikit-learn's own parts only, and so unpickles without Glassine.

    Parameters
    ----------
    model : DecisionTree or RuleList
        The model. Every leaf or rule must predict something.
    domain : Domain, optional
        The public domain, which names binary attributes. Without it they are those compared with 0 and 1 only.

    Returns
    -------
    sklearn.pipeline.Pipeline
        It takes data frames with the tested attributes; a missing value is NaN or None. ``encode`` is a
        ``ColumnTransformer``: numbers and binary attributes pass through, and each list of values that the model
        compares with has an ``OrdinalEncoder``, whose code is -1 for every other value. ``tree`` is a
        ``DecisionTreeClassifier`` or ``DecisionTreeRegressor`` on these columns. The nodes of a decision tree keep
        their numbers, which ``apply`` and ``decision_path`` name; nodes that scikit-learn needs besides, for more than
        two branches or for two bounds in one condition, stand behind them. Probabilities are those of
        :func:`~glassine.models.evidence.cell_probabilities`; a leaf without any has probability 1 for its
        prediction.

    Raises
    ------
    UnsupportedModelError
        If it is not a model, a part predicts nothing, an attribute is compared with both texts and numbers, or the tree
        would need more than 100,000 nodes: a rule of several conditions repeats the rules below it.
    InvalidModelError
        If the domain lacks an attribute or a value.

    Notes
    -----
    scikit-learn compares in single precision: a number that differs from a threshold by less than that can take the
    other branch. One that equals the threshold never does. A record that satisfies no branch takes the last one, or, if
    its value is missing in a list, that of the values that are not listed. The pipeline carries neither guarantee nor
    the mark that counts are not exact: audit the model, not the pipeline.

    Examples
    --------
    >>> import polars as pl
    >>> from glassine import parse_rules
    >>> rules = parse_rules("if [age <= 40.5] then [ill] (3 examples)\nelse [well] (5 examples)")
    >>> to_sklearn(rules).predict(pl.DataFrame({"age": [30, 50]})).tolist()
    ['ill', 'well']
    """
    check_predicts(model, domain, "scikit-learn")
    encoder = Encoder(model, domain)
    fitted = _stump(model, encoder.width)
    fitted.tree_ = grow(model, encoder, fitted)
    from sklearn.pipeline import Pipeline

    return Pipeline([("encode", encoder.fitted()), ("tree", fitted)])


def _stump(model: DecisionTree | RuleList, width: int) -> Any:
    """Return a tree that is fitted on nothing but the names of the classes, with every attribute that fitting sets."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if model.classes is None:
        return DecisionTreeRegressor().fit(np.zeros((1, width)), [0.0])
    if len({isinstance(label, str) for label in model.classes}) > 1:
        raise UnsupportedModelError(
            "the classes are texts and numbers, which scikit-learn does not mix.", remedy="Rename them."
        )
    fitted = DecisionTreeClassifier().fit(np.zeros((len(model.classes), width)), range(len(model.classes)))
    fitted.classes_ = np.unique(np.array(model.classes))  # sorted, as fitting would have left them
    return fitted


class BinaryTree:
    """A model as a binary tree: of each node its test, its children, and the leaf or rule that it ends in."""

    def __init__(self, model: DecisionTree | RuleList, encoder: Encoder) -> None:
        self.model, self.encoder = model, encoder
        n = len(model.nodes) if isinstance(model, DecisionTree) else 1
        self.tests: list[Test | None] = [None] * n
        self.children: list[tuple[int, int]] = [(-1, -1)] * n
        self.part: list[int] = [-1] * n
        self.free = set(range(1, n))
        self._build()

    def _place(self, state: State | None) -> int:
        """Return the number of a new node; the first one for a node of a decision tree keeps that node's number."""
        if isinstance(self.model, DecisionTree) and state is not None and state[1] == 0 and state[0] in self.free:
            self.free.remove(state[0])
            return state[0]
        if len(self.tests) == MOST_NODES:
            raise UnsupportedModelError(
                f"as a scikit-learn tree the model would need more than {MOST_NODES:,} nodes, because conditions with "
                "several parts repeat what follows them.",
                remedy="Write SQL or Python instead.",
            )
        self.tests.append(None)
        self.children.append((-1, -1))
        self.part.append(-1)
        return len(self.tests) - 1

    def levels(self) -> dict[int, int]:
        """Return how deep each node lies, each before those below it: as a reader numbers them."""
        out: dict[int, int] = {}
        stack = [(0, 0)]
        while stack:
            node, level = stack.pop()
            out[node] = level
            stack += [(child, level + 1) for child in reversed(self.children[node]) if child >= 0]
        return out

    def _next(self, state: State) -> int | tuple[Condition, bool, State, State]:
        """Return the leaf or rule at a place, or what to test there and where to go if it holds, and if not."""
        first, at = state
        if isinstance(self.model, RuleList):
            antecedent = self.model.rules[first].antecedent
            if at == len(antecedent):
                return first
            return *self.encoder.decided(antecedent[at]), (first, at + 1), (first + 1, 0)
        branches = self.model.nodes[first].branches
        if not branches:
            return first
        rest = (branches[-1].child, 0) if at + 2 == len(branches) else (first, at + 1)
        return *self.encoder.branch(branches, at), (branches[at].child, 0), rest

    def _build(self) -> None:
        """Test every condition of the model, one threshold a node."""
        stack: list[tuple[int, State]] = [(0, (0, 0))]
        while stack:
            node, state = stack.pop()
            next_ = self._next(state)
            if isinstance(next_, int):
                self.part[node] = next_
                continue
            literal, stated, inside, rest = next_
            if isinstance(literal, Between) and literal.negated:
                literal, inside, rest = literal.negate(), rest, inside
            tests = self.encoder.tests(literal, stated)
            for test in tests:
                last = test is tests[-1]
                yes, no = self._place(inside if last else None), self._place(rest)
                self.tests[node] = test
                self.children[node] = (yes, no) if test.holds == "left" else (no, yes)
                stack.append((no, rest))
                if last:
                    stack.append((yes, inside))
                node = yes


def grow(model: DecisionTree | RuleList, encoder: Encoder, fitted: Any) -> Any:
    """Return the model as the ``tree_`` of a fitted scikit-learn tree."""
    builder = BinaryTree(model, encoder)
    empty = fitted.tree_.__getstate__()
    n, width = len(builder.tests), empty["values"].shape[2]
    nodes = np.zeros(n, dtype=empty["nodes"].dtype)
    nodes["left_child"], nodes["right_child"] = np.array(builder.children).T
    nodes["feature"], nodes["threshold"] = -2, -2.0
    values, sizes, depth = _summaries(model, builder, fitted, width)
    for i, test in enumerate(builder.tests):
        if test is not None:
            nodes[i]["feature"], nodes[i]["threshold"] = test.column, test.threshold
            left, right = sizes[list(builder.children[i])]
            # Where the model knows no gaps, they follow the larger child, as scikit-learn does after fitting on none.
            nodes[i]["missing_go_to_left"] = test.missing == "left" if test.stated else left > right
    nodes["n_node_samples"], nodes["weighted_n_node_samples"] = 0 if model.sizes == "derived" else sizes, sizes
    nodes["impurity"] = 0.0 if model.classes is None else 1 - (values**2).sum(axis=1)
    grown = type(fitted.tree_)(encoder.width, np.array([width], dtype=np.intp), 1)
    grown.__setstate__({"max_depth": depth, "node_count": n, "nodes": nodes, "values": values[:, None, :].copy()})
    return grown


def _summaries(
    model: DecisionTree | RuleList, builder: BinaryTree, fitted: Any, width: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], int]:
    """Return values and sizes of the nodes, those of splits summed up from below, and the depth."""
    values, sizes = np.zeros((len(builder.tests), width)), np.zeros(len(builder.tests), dtype=np.int64)
    levels = builder.levels()
    probabilities = (
        {}
        if model.classes is None
        else dict(zip((cell.node for cell in model.cells), cell_probabilities(model), strict=True))
    )
    columns = None if model.classes is None else [fitted.classes_.tolist().index(label) for label in model.classes]
    for node in reversed(levels):
        if builder.part[node] >= 0:
            part = builder.part[node]
            evidence = model.rules[part].evidence if isinstance(model, RuleList) else model.nodes[part].evidence
            sizes[node] = evidence.size or 0
            values[node] = evidence.value if columns is None else _weights(evidence, probabilities[part], columns)
            continue
        below = list(builder.children[node])
        sizes[node] = sizes[below].sum()
        weights = sizes[below] / sizes[node] if sizes[node] else np.array([0.5, 0.5])
        # A product of matrices rounds by processor, and a file is canonical on all of them or on none.
        values[node] = weights[0] * values[below[0]] + weights[1] * values[below[1]]
    return values, sizes, max(levels.values())


def _weights(
    evidence: Evidence, probabilities: tuple[float, ...] | None, columns: list[int]
) -> npt.NDArray[np.float64]:
    """Return the shares of the classes in scikit-learn's order, the prediction's the largest."""
    label = evidence.prediction
    out = np.zeros(len(columns))
    at = columns[label if label is not None else 0]
    if probabilities is not None:
        out[columns] = probabilities
        if (out == out[at]).sum() > 1:
            out[at] += TIE
        if int(out.argmax()) == at:
            out /= out.sum()
            return out
    out[:] = 0.0
    out[at] = 1.0
    return out


def _stored(
    model: DecisionTree | RuleList,
    domain: Domain | None,
    *,
    extension: str = ".skops",
    versions: Mapping[str, Any] = MappingProxyType({}),
    by_object: bool = False,
) -> bytes:
    """Return the fitted pipeline as the bytes of a skops or pickle file; of a skops file as ``write_skops`` has it."""
    if extension not in FORMAT.extensions:
        raise InvalidParameterError(
            f"a scikit-learn pipeline is stored in a file that ends in {' or '.join(FORMAT.extensions)}, got "
            f"{extension!r}."
        )
    pipeline = to_sklearn(model, domain)
    if extension != ".skops":
        # The default protocol differs between versions of Python.
        return pickle.dumps(pipeline, protocol=4)

    return write_skops(pipeline, versions, by_object=by_object)


def _options(data: bytes) -> dict[str, Any]:
    """Return how a file of a pipeline was written: which of the two files it is, and the versions that it states."""
    if not data.startswith(b"PK"):
        return {"extension": ".pkl"}

    return {"versions": stated_versions(data)}


FORMAT = Format(
    name="a scikit-learn pipeline",
    leaves_out="a guarantee",
    extensions=(".skops", ".pkl", ".pickle"),
    to="sklearn",
    write=_stored,
    earlier=(partial(_stored, by_object=True),),
    makes=lambda content: type(content).__name__ == "Pipeline",
    options=_options,
    binary=True,
    kinds=(DecisionTree, RuleList),
)
