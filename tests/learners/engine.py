"""The engine on small inputs, in the words of the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from glassine.counting.logic import LiteralLogic, RuleLogic
from glassine.domain import Between, Category, Domain, ExactlyOne, Integer, Literal, OneOf
from glassine.learners.antecedents import either_side
from glassine.records.bits import BitSets
from glassine.sealed.gibbs import LOG_BITS, Choice
from glassine.sealed.list_family import DrawnList
from glassine.sealed.lists import DEFAULT, ListClass, ListSums
from glassine.sealed.losses import LeafCosts
from glassine.sealed.tree_family import Leaf, Split, Tree
from glassine.sealed.trees import LEAF, TreeClass, TreeSums, children
from glassine.sealed.weighting import Weighting
from tests.oracles import model_classes as oracle
from tests.oracles import strategies as small
from tests.oracles import worlds as possible
from tests.oracles.laws import log_distribution

Truth: TypeAlias = npt.NDArray[np.bool_]
Labels: TypeAlias = npt.NDArray[np.int64]


def binary_domain(p: int) -> tuple[Domain, list[Literal]]:
    """Return independent binary attributes, one literal each."""
    domain = Domain.binary([f"b{i}" for i in range(p)])
    return domain, [OneOf(name, (1,)) for name in domain]


def threshold_domain(p: int) -> tuple[Domain, list[Literal]]:
    """Return one whole number with p thresholds."""
    return Domain({"n": Integer(0, p)}), [Between("n", hi=i + 0.5) for i in range(p)]


def one_hot_domain(p: int) -> tuple[Domain, list[Literal]]:
    """Return binary attributes of which exactly one holds."""
    names = [f"c{i}" for i in range(p)]
    return Domain.binary(names, groups=[ExactlyOne(tuple(names))]), [OneOf(name, (1,)) for name in names]


def category_domain(p: int) -> tuple[Domain, list[Literal]]:
    """Return one category of p values."""
    values = tuple(f"v{i}" for i in range(p))
    return Domain({"c": Category(values)}), [OneOf("c", (value,)) for value in values]


def gapped_domain(p: int) -> tuple[Domain, list[Literal]]:
    """Return a number that may be missing, with p / 2 thresholds of either side, and a category of two values."""
    domain = Domain({"n": Integer(0, p // 2, missing=True), "c": Category(("u", "v"), missing=True)})
    cuts: list[Literal] = [Between("n", hi=i + 0.5) for i in range(p // 2)]
    return domain, either_side(domain, [*cuts, OneOf("c", ("u",))])[:p]


def worlds_of(
    domain: Domain, rules: Sequence[Sequence[Literal]], records: Iterable[dict[str, Any]] | None = None
) -> list[oracle.World]:
    """Return every truth vector that some conjunctions have on some records, by default on all that are possible."""
    listed = possible.records(domain, domain_aware=True) if records is None else records
    return sorted({tuple(possible.satisfies(record, rule) for rule in rules) for record in listed})


def loss_of(loss: int | LeafCosts) -> LeafCosts:
    """Return a loss, or that of errors alone over so many classes."""
    return loss if isinstance(loss, LeafCosts) else LeafCosts.errors(loss)


def trees_of(
    domain: Domain, literals: Sequence[Literal], depth: int, loss: int | LeafCosts
) -> tuple[TreeClass, list[oracle.World]]:
    """Return a class of trees, and the worlds of the literals that it kept: those of complete records."""
    logic = LiteralLogic.of(domain, literals, up_to_negation=True)
    worlds = worlds_of(domain, singles(logic.literals), possible.complete_records(domain, literals))
    return TreeClass(logic=logic, depth=depth, loss=loss_of(loss)), worlds


def lists_of(
    domain: Domain, pool: Sequence[Sequence[Literal]], length: int, loss: int | LeafCosts
) -> tuple[ListClass, list[oracle.World]]:
    """Return a class of rule lists, and the worlds of the rules that it kept: those of complete records."""
    logic = RuleLogic.of(domain, pool)
    complete = possible.complete_records(domain, [literal for rule in pool for literal in rule])
    worlds = worlds_of(domain, logic.antecedents, complete)
    return ListClass(logic=logic, length=length, loss=loss_of(loss)), worlds


def singles(literals: Sequence[Literal]) -> list[tuple[Literal, ...]]:
    """Return a pool of rules of one literal."""
    return [(literal,) for literal in literals]


def pack(truth: npt.NDArray[Any], labels: npt.NDArray[Any], n_classes: int, multiplicities: Any = None) -> BitSets:
    return BitSets.pack(list(truth.astype(bool).T), labels, n_classes, multiplicities)


def sums_of(
    models: Any, truth: Truth, labels: Labels, weighting: Weighting, multiplicities: Labels | None = None
) -> Any:
    return models.sums(pack(truth, labels, models.n_classes, multiplicities), weighting)


def weighting_of(epsilon: Fraction | int, n: int, part_weight: float = 1.0, unit: int = 1) -> Weighting:
    """Return the weighting of a draw from n records; at epsilon 0 every model weighs the same, whatever it costs."""
    if epsilon:
        return Weighting.private(Fraction(epsilon), part_weight, unit)
    powers = np.append(np.ones(n * unit + 1), 0.0)
    return Weighting(epsilon=Fraction(0), part_weight=part_weight, penalty=0.0, powers=powers)


def named(model: Tree | DrawnList) -> Any:
    """Return a tree or a list of the engine as the oracle writes it."""
    if isinstance(model, Leaf):
        return ("leaf", model.value)
    if isinstance(model, Split):
        return ("split", model.literal, named(model.true), named(model.false))
    return (model.rules, model.default)


def law_of(
    models: TreeClass | ListClass,
    truth: Truth,
    labels: Labels,
    epsilon: Fraction | int,
    *,
    part_weight: float = 1.0,
    multiplicities: Labels | None = None,
) -> dict[Any, float]:
    """Return the log-probability of every model, as the oracle writes it."""
    n = len(labels) if multiplicities is None else int(multiplicities.sum())
    weighting = weighting_of(epsilon, n, part_weight, models.loss.unit)
    found = log_distribution(sums_of(models, truth, labels, weighting, multiplicities))
    return {named(model): log for model, log in found.items()}


def precise() -> AbstractContextManager[Any]:
    """Return a context of 60 digits in which exp(-10^12) is not zero."""
    return localcontext(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)


def drawn_law(sums: TreeSums | ListSums) -> dict[Any, Decimal]:
    """Return the probability with which each model is drawn, to 50 digits, from the whole numbers of its choices."""
    with precise():
        return dict(_below_tree(sums, (), 0) if isinstance(sums, TreeSums) else _below_list(sums, ()))


def _shares(options: Sequence[Choice]) -> list[tuple[int, Decimal]]:
    weights = [(Decimal(option.scaled) / 2**LOG_BITS).exp() for option in options]
    total = sum(weights)
    return [(option.number, weight / total) for option, weight in zip(options, weights, strict=True)]


def _below_tree(sums: TreeSums, chosen: tuple[int, ...], signs: int) -> list[tuple[Any, Decimal]]:
    out: list[tuple[Any, Decimal]] = []
    for number, share in _shares(sums._options(chosen, signs)):
        if number == LEAF:
            out += [(("leaf", y), share * more) for y, more in _shares(sums._values(chosen, signs))]
            continue
        true, false = (_below_tree(sums, *child) for child in children(chosen, signs, number))
        out += [(("split", number, a, b), share * p * q) for a, p in true for b, q in false]
    return out


def _below_list(sums: ListSums, rules: tuple[tuple[int, int], ...]) -> list[tuple[Any, Decimal]]:
    chosen = tuple(sorted(rule for rule, _ in rules))
    out: list[tuple[Any, Decimal]] = []
    for number, share in _shares(sums._options(chosen)):
        for y, more in _shares(sums._values(chosen, number)):
            if number == DEFAULT:
                out.append(((rules, y), share * more))
            else:
                out += [(model, share * more * p) for model, p in _below_list(sums, (*rules, (number, y)))]
    return out


def some_data(seed: int, worlds: Sequence[oracle.World], n: int, n_classes: int) -> tuple[Truth, Labels]:
    """Return records drawn from the worlds, with labels that follow them in part."""
    rng = np.random.default_rng(seed)
    truth = np.array(worlds, dtype=np.bool_).reshape(len(worlds), -1)[rng.integers(len(worlds), size=n)]
    labels = (truth.sum(axis=1) + (rng.random(n) < 0.3)) % n_classes
    return truth, labels.astype(np.int64)


@st.composite
def datasets(
    draw: st.DrawFn, worlds: Sequence[oracle.World], n_classes: int, max_records: int = 8
) -> tuple[Truth, Labels]:
    """Draw records of the worlds, some alike; a label may have none."""
    cells = st.tuples(st.integers(0, len(worlds) - 1), st.integers(0, n_classes - 1))
    rows = draw(st.lists(cells, min_size=draw(st.sampled_from([3, 0])), max_size=max_records))
    matrix = np.array(worlds, dtype=np.bool_).reshape(len(worlds), -1)
    return matrix[[i for i, _ in rows]], np.array([y for _, y in rows], dtype=np.int64)


@st.composite
def tree_cases(draw: st.DrawFn) -> tuple[TreeClass, list[oracle.World], Truth, Labels]:
    """Draw trees over literals of any kind, in domains with missing values and groups, and records."""
    domain, literals = draw(_literals())
    depth, n_classes = draw(st.sampled_from([2, 1, 2, 3, 0])), draw(st.sampled_from([2, 3, 2, 1]))
    kept = LiteralLogic.of(domain, literals, up_to_negation=True).literals[: 2 if depth == 3 else 4]
    models, worlds = trees_of(domain, kept, depth, n_classes)
    return models, worlds, *draw(datasets(worlds_of(domain, singles(models.logic.literals)), n_classes))


@st.composite
def list_cases(draw: st.DrawFn) -> tuple[ListClass, list[oracle.World], Truth, Labels]:
    """Draw rule lists over a pool of single literals of any kind, and records."""
    domain, literals = draw(_literals())
    length, n_classes = draw(st.sampled_from([2, 3, 1, 2, 0])), draw(st.sampled_from([2, 3, 2, 1]))
    kept = LiteralLogic.of(domain, literals, up_to_negation=False).literals[: 4 if n_classes < 3 else 3]
    models, worlds = lists_of(domain, singles(kept), length, n_classes)
    return models, worlds, *draw(datasets(worlds_of(domain, models.logic.antecedents), n_classes))


@st.composite
def _literals(draw: st.DrawFn) -> tuple[Domain, list[Literal]]:
    domain = draw(small.domains())
    assume(2 < (domain.size() or 0) < 500)
    literals = draw(st.lists(small.literals(domain), min_size=4, max_size=8))
    assume(LiteralLogic.of(domain, literals, up_to_negation=True).literals)
    return domain, literals


Maker: TypeAlias = Callable[[int], tuple[Domain, list[Literal]]]
