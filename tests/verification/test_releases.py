"""Whole fits and the other private choices, over all small datasets and all neighbors."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest

from glassine.domain import Binary, Domain, Integer
from glassine.errors import InvalidCertificateError, ReleaseFailedError
from glassine.formats import fingerprint
from glassine.learners.budget import FitBudget
from glassine.learners.exhaustive import private as exponential
from glassine.learners.exhaustive.private import PrivateRuleListClassifier, PrivateTreeClassifier
from glassine.models import DecisionTree, RuleList
from glassine.privacy import accounting
from glassine.sealed import door
from glassine.sealed.exact_quantiles import quantile_distribution
from glassine.sealed.noisy_choice import exponential_log_weights, permute_and_flip, report_noisy_max
from glassine.sealed.oracle import Oracle
from glassine.verification import verify_exhaustively
from glassine.verification.same_records import CONTAINERS, PlainRecords
from tests.privacy.branching import explore
from tests.verification.exploring import laplace_log_shares, law_of_fit

FLOATS = 1e-9
"""Slack of logarithms that are sums of many others."""

Row: TypeAlias = tuple[tuple[Any, ...], Any]
Mechanism: TypeAlias = Callable[[tuple[Any, ...]], dict[Any, float]]


def outcome(fitted: Any) -> Hashable:
    """Return the literals and labels of a published model."""
    model: DecisionTree | RuleList = fitted.model_
    return tuple((str(cell.inside), str(cell.outside), cell.evidence.prediction) for cell in model.cells)


def fits(
    make: Callable[[], Any],
    certificates: set[str] | None = None,
    *,
    background: tuple[Row, ...] = (),
    container: str = "lists",
    read: Callable[[Any, Any], tuple[Any, Any]] = lambda X, y: (X, y),
) -> Callable[[tuple[Row, ...]], dict[Any, float]]:
    """Return the law of a whole fit as a mechanism, through the estimator's own reading of Python values.

    Collects the certificates. The ``background`` is in every dataset, in front; ``read`` is planted before the fit.
    """

    def mechanism(dataset: tuple[Row, ...]) -> dict[Any, float]:
        rows, labels = zip(*background, *dataset, strict=True)
        names = tuple(f"x{j}" for j in range(len(rows[0]))) if make().domain is None else tuple(make().domain)
        X, y = read(*CONTAINERS[container](PlainRecords(names=names, rows=rows, labels=labels)))

        def noted(fitted: Any) -> Hashable:
            if certificates is not None:
                # The hash of the published model follows from the model; the rest must not depend on the records.
                stated = fitted.certificate_.to_dict()
                assert stated.pop("model") == fingerprint(fitted.model_)
                certificates.add(json.dumps(stated))
            return outcome(fitted)

        return law_of_fit(lambda: make().fit(X, y), noted)

    return mechanism


BINARY = Domain.binary(["b"])
NUMBER = Domain({"n": Integer(0, 3)})
BOTH = Domain({"n": Integer(0, 2), "b": Binary()})


def rows(*values: Sequence[int]) -> list[Row]:
    return list(product(product(*values), (0, 1)))


ERRORS: dict[str, Any] = {"classes": (0, 1), "random_state": 0, "accuracy_share": 1.0}
"""Errors are the loss with the fewest values, so that all ways of a fit can be followed with its counts."""


def tree(domain: Domain, **parameters: Any) -> Callable[[], PrivateTreeClassifier]:
    return lambda: PrivateTreeClassifier(1, domain=domain, **ERRORS | parameters)


def rule_list(domain: Domain, **parameters: Any) -> Callable[[], PrivateRuleListClassifier]:
    return lambda: PrivateRuleListClassifier(1, domain=domain, **ERRORS | parameters)


# Learner, parameters, all records, most records, epsilon, and how near to it the worst ratio must come. Few records do
# not bring the choice of a quantile near to its part of epsilon.
FITS: dict[str, tuple[Callable[..., Callable[[], Any]], dict[str, Any], list[Row], int, float, float]] = {
    "tree and counts": (tree, {"domain": BINARY, "leaf_counts_share": 0.5}, rows((0, 1)), 2, 6.0, 0.95),
    "tree and counts, small epsilon": (tree, {"domain": BINARY, "leaf_counts_share": 0.5}, rows((0, 1)), 2, 0.5, 0.7),
    "list and counts": (rule_list, {"domain": BINARY, "leaf_counts_share": 0.3}, rows((0, 1)), 1, 6.0, 0.95),
    "tree alone": (
        tree,
        {"domain": BOTH, "literals": "thresholds", "leaf_counts_share": 0.0},
        rows((0, 1, 2), (0, 1)),
        1,
        4.0,
        0.8,
    ),
    "tree on a quantile": (
        tree,
        {"domain": NUMBER, "n_quantiles": 1, "quantile_share": 0.4, "leaf_counts_share": 0.2},
        rows((0, 3)),
        1,
        6.0,
        0.5,
    ),
    "list on two quantiles": (
        rule_list,
        {"domain": NUMBER, "n_quantiles": 2, "quantile_share": 0.4, "leaf_counts_share": 0.0},
        rows((0, 3)),
        1,
        6.0,
        0.5,
    ),
}


LIGHT = {"list and counts"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in LIGHT)) for name in FITS])
def test_a_whole_fit_keeps_epsilon(name: str) -> None:
    learner, parameters, universe, max_records, epsilon, tightness = FITS[name]
    certificates: set[str] = set()
    mechanism = fits(learner(epsilon=epsilon, **parameters), certificates)
    result = verify_exhaustively(
        mechanism, universe, min_records=1, max_records=max_records, epsilon=epsilon, slack=FLOATS
    )
    assert result.holds, str(result)
    assert result.tightness > tightness
    # The certificate is released as it is: it is the same whatever the records are.
    assert len(certificates) == 1


# Everything that one record may hold in the place of 0 or 1, and of its label.
ODD: list[Row] = [
    *rows((0, 1)),
    *(((value,), 1) for value in ("x", "1", "", 0.5, 2**53 + 1, 2**64, math.nan, math.inf, None, b"x")),
    ((datetime.date(2000, 1, 1),), 1),
    *(((1,), label) for label in ("x", "1", 0.5, 2**64, None)),
]
FEW_ODD: list[Row] = [*rows((0, 1)), (("x",), 1), ((0.5,), 1), ((None,), 1), ((1,), "x"), ((1,), None)]
SOME = ((0,), 0), ((1,), 1)


def law_with_odd_values(
    learner: Callable[..., Callable[[], Any]], container: str, universe: Sequence[Row], **more: Any
) -> Any:
    make = learner(domain=BINARY, epsilon=3.0, leaf_counts_share=0.5)
    certificates: set[str] = set()
    mechanism = fits(make, certificates, background=SOME, container=container, **more)
    result = verify_exhaustively(mechanism, universe, max_records=1, epsilon=3.0, slack=FLOATS)
    assert len(certificates) == 1
    return result


@pytest.mark.parametrize(
    ("learner", "container"),
    [
        pytest.param(tree, "lists", marks=pytest.mark.slow),
        pytest.param(tree, "mappings", marks=pytest.mark.slow),
        pytest.param(tree, "pandas", marks=pytest.mark.slow),
        pytest.param(tree, "polars", marks=pytest.mark.slow),
        pytest.param(tree, "object array", marks=pytest.mark.slow),
        pytest.param(rule_list, "lists", marks=pytest.mark.slow),
    ],
)
def test_a_whole_fit_keeps_epsilon_with_every_odd_value(
    learner: Callable[..., Callable[[], Any]], container: str
) -> None:
    result = law_with_odd_values(learner, container, ODD)
    assert result.holds, str(result)
    assert result.tightness > 0.5


@pytest.mark.slow
def test_a_whole_fit_keeps_epsilon_with_a_few_odd_values() -> None:
    result = law_with_odd_values(tree, "lists", FEW_ODD)
    assert result.holds, str(result)
    assert result.tightness > 0.5


def in_one_array(X: Any, y: Any) -> tuple[Any, Any]:
    """Read all values at once, as an array of one type: texts are none of the declared numbers."""
    try:
        values = np.asarray([value for (value,) in X]).tolist()
    except (ValueError, OverflowError):
        values = [value for (value,) in X]
    return [[value if not isinstance(value, str | bytes) else None] for value in values], y


def labels_in_one_array(X: Any, y: Any) -> tuple[Any, Any]:
    """Read all labels at once: texts are none of the declared numbers, and their records are left out."""
    labels = np.asarray(y).tolist()
    kept = [i for i, label in enumerate(labels) if not isinstance(label, str)] or [0]
    return [X[i] for i in kept], [y[0] if len(kept) < len(y) else y[i] for i in kept]


@pytest.mark.slow
@pytest.mark.parametrize("read", [in_one_array, labels_in_one_array])
def test_a_reading_of_all_records_at_once_is_found(read: Callable[[Any, Any], tuple[Any, Any]]) -> None:
    result = law_with_odd_values(tree, "lists", FEW_ODD, read=read)
    assert not result.holds, str(result)
    assert result.worst > 3.2


@pytest.mark.slow
@pytest.mark.parametrize("learner", [tree, rule_list])
def test_a_budget_that_is_spent_twice_is_found(
    learner: Callable[..., Callable[[], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Planted: the model is drawn at the whole epsilon, and the counts take their share besides.
    make = learner(domain=BINARY, epsilon=3.0, leaf_counts_share=0.5)
    honest = verify_exhaustively(fits(make), rows((0, 1)), min_records=1, max_records=1, epsilon=3.0, slack=FLOATS)
    assert honest.holds
    monkeypatch.setattr(FitBudget, "model", property(lambda budget: budget.total))
    # After its charge a fit fails with one constant error; the door is opened here to see what failed behind it.
    with pytest.raises(ReleaseFailedError):
        make().fit(np.array([[0], [1]]), np.array([0, 1]))
    monkeypatch.setattr(door, "behind", lambda work: work())
    # The account does not grant it.
    with pytest.raises(RuntimeError, match="asks for more than was charged"):
        make().fit(np.array([[0], [1]]), np.array([0, 1]))
    # Planted as well: an account that grants everything. The accountant adds up the events, and refuses.
    monkeypatch.setattr(Oracle, "_Oracle__pay", lambda oracle, share, delta: oracle.account.part(share, delta))
    with pytest.raises(InvalidCertificateError, match=r"come to epsilon=4\.(5|49999)"):
        make().fit(np.array([[0], [1]]), np.array([0, 1]))
    certify = vars(exponential)["certify"]

    def careless(budget: FitBudget, *rest: Any, **more: Any) -> Any:
        return certify(replace(budget, total=2 * budget.total), *rest, **more)

    monkeypatch.setattr(exponential, "certify", careless)
    result = verify_exhaustively(fits(make), rows((0, 1)), min_records=1, max_records=1, epsilon=3.0, slack=FLOATS)
    assert not result.holds
    assert 3.5 < result.worst <= 4.5


def test_the_certificate_adds_up_to_what_was_drawn() -> None:
    fitted = tree(NUMBER, epsilon=1.0, n_quantiles=1)().fit(np.array([[0], [3]]), np.array([0, 1]))
    spent = accounting.epsilon(fitted.certificate_.events)
    # The draw rounds its epsilon down to 40 bits.
    assert 1.0 - 2.0**-39 < spent <= 1.0 + 1e-12
    assert [event.name.split()[0] for event in fitted.certificate_.events] == ["quantiles", "structure", "class"]


# One noisy histogram, by itself: cells are counts of a label, records fall into one of them.


def histogram(scale: float) -> Mechanism:
    def mechanism(dataset: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        shares = [laplace_log_shares(dataset.count(cell), scale) for cell in range(3)]
        return {
            counts: math.fsum(share[count] for share, count in zip(shares, counts, strict=True))
            for counts in product(range(len(shares[0])), repeat=3)
        }

    return mechanism


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_noisy_histogram_keeps_epsilon_and_half_the_noise_does_not(epsilon: float) -> None:
    honest = verify_exhaustively(histogram(1 / epsilon), range(3), max_records=4, epsilon=epsilon, slack=FLOATS)
    assert honest.holds
    assert honest.tightness > 0.999
    planted = verify_exhaustively(histogram(0.5 / epsilon), range(3), max_records=4, epsilon=epsilon, slack=FLOATS)
    assert not planted.holds
    assert planted.worst == pytest.approx(2 * epsilon, rel=1e-6)


def test_laplace_shares_are_those_of_the_samples() -> None:
    # Of the noise that is added: scale 2, from a count of 1, results at most 0, 1, 2, at least 3.
    q = math.exp(-0.5)
    point = (1 - q) / (1 + q)
    shares = [math.exp(log) for log in laplace_log_shares(1, 2.0)]
    assert shares == pytest.approx([q / (1 + q), point, point * q, q**2 / (1 + q)])


# Quantiles on their own, with the budget of several levels.


def quantiles(
    number: int, epsilon: float, candidates: Sequence[float]
) -> Callable[[tuple[int, ...]], dict[Any, float]]:
    def mechanism(dataset: tuple[int, ...]) -> dict[Any, float]:
        law = quantile_distribution(np.array(dataset, dtype=float), candidates, number, epsilon)
        return {cuts: math.log(share) for cuts, share in law.items()}

    return mechanism


@pytest.mark.parametrize(("number", "max_records"), [(1, 5), (2, 4), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_quantiles_keep_epsilon(number: int, max_records: int, epsilon: float) -> None:
    cuts = [0.5, 1.5, 2.5, 3.5, 4.5]
    result = verify_exhaustively(
        quantiles(number, epsilon, cuts), range(0, 6, 2), max_records=max_records, epsilon=epsilon, slack=FLOATS
    )
    assert result.holds, str(result)
    assert result.tightness > 0.3


def test_a_single_quantile_reaches_epsilon() -> None:
    # Nearly all probability is on the first cut, which a record above both cuts makes worse and the second one better.
    background = (0,) * 50 + (1,) * 20 + (2,) * 30

    def beside(epsilon: float) -> Mechanism:
        return lambda dataset: quantiles(1, epsilon, [0.5, 1.5])((*background, *dataset))

    honest = verify_exhaustively(beside(2.0), range(3), max_records=2, epsilon=2.0, slack=FLOATS)
    assert honest.holds
    assert honest.tightness > 0.99
    # Planted: the score of a median, of sensitivity one half, taken for monotone.
    planted = verify_exhaustively(beside(4.0), range(3), max_records=2, epsilon=2.0, slack=FLOATS)
    assert not planted.holds
    assert planted.worst > 3.9


def test_candidates_from_the_data_are_found() -> None:
    def planted(dataset: tuple[int, ...]) -> dict[Any, float]:
        return quantiles(1, 1.0, sorted({*dataset, 0}))(dataset)

    result = verify_exhaustively(planted, range(3), max_records=2, epsilon=1.0, slack=FLOATS)
    assert result.worst == math.inf


# Selections: a record adds its vector to the scores.


def score_of(dataset: tuple[tuple[int, ...], ...]) -> list[int]:
    return [sum(column) for column in zip((0, 0, 0), *dataset, strict=True)]


def exponential_law(scores: list[int], epsilon: float, monotone: bool) -> dict[int, float]:
    numerators, denominator = exponential_log_weights(scores, epsilon, 1, monotone=monotone)
    logs = [numerator / denominator for numerator in numerators]
    total = math.log(math.fsum(math.exp(log) for log in logs))
    return {i: log - total for i, log in enumerate(logs)}


def permute_and_flip_law(scores: list[int], epsilon: float, monotone: bool) -> dict[int, float]:
    found, _ = explore(lambda stream: permute_and_flip(scores, epsilon, 1, monotone, randomness=stream), least=0)
    return {i: math.log(share) for i, share in found.items()}


def report_noisy_max_law(scores: list[int], epsilon: float, monotone: bool) -> dict[int, float]:
    # Candidate i wins with noise k if those before it stay below its level, and those after it do not exceed it.
    rate = epsilon if monotone else epsilon / 2
    shares = []
    for i, score in enumerate(scores):
        terms = []
        for k in range(int(60 / rate)):
            term = -math.expm1(-rate) * math.exp(-rate * k)
            for j, other in enumerate(scores):
                if j != i:
                    most = score + k - other - (j < i)
                    term *= -math.expm1(-rate * (most + 1)) if most >= 0 else 0.0
            terms.append(term)
        shares.append(math.fsum(terms))
    return {i: math.log(share / math.fsum(shares)) for i, share in enumerate(shares)}


SELECTIONS = {
    "exponential mechanism": exponential_law,
    "permute-and-flip": permute_and_flip_law,
    "report-noisy-max": report_noisy_max_law,
}
MONOTONE = list(product((0, 1), repeat=3))
ANY = list(product((-1, 0, 1), repeat=3))


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize(("monotone", "universe"), [(True, MONOTONE), (False, ANY)])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_selections_keep_epsilon(name: str, monotone: bool, universe: list[tuple[int, ...]], epsilon: float) -> None:
    def mechanism(dataset: tuple[tuple[int, ...], ...]) -> dict[int, float]:
        return SELECTIONS[name](score_of(dataset), epsilon, monotone)

    max_records = 2 if monotone else 1
    result = verify_exhaustively(mechanism, universe, max_records=max_records, epsilon=epsilon, slack=FLOATS)
    assert result.holds, str(result)
    assert result.tightness > (0.6 if epsilon < 1 else 0.9)


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_selection_that_takes_any_scores_for_monotone_is_found(name: str) -> None:
    def planted(dataset: tuple[tuple[int, ...], ...]) -> dict[int, float]:
        return SELECTIONS[name](score_of(dataset), 2.0, True)

    result = verify_exhaustively(planted, ANY, max_records=1, epsilon=2.0, slack=FLOATS)
    assert not result.holds
    assert result.worst > 2.5


def test_the_closed_form_of_report_noisy_max_is_that_of_the_code() -> None:
    scores = [0, 1, 1]
    found, left_out = explore(
        lambda stream: report_noisy_max(scores, 3, 1, True, randomness=stream), least=0, most_geometric=8
    )
    assert left_out < 1e-9
    law = report_noisy_max_law(scores, 3.0, True)
    assert found == pytest.approx({i: math.exp(log) for i, log in law.items()}, abs=1e-9)
