"""Codes that are learned by retraining: for the checker only, within a time limit, and never without an estimator."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassine import Domain, Policy, audit
from glassine.attacks.outcome import Failed, Measured, NotApplicable
from glassine.auditing import stability
from glassine.auditing.audit_settings import AuditSettings
from glassine.auditing.statements import StatedClass, Statements
from glassine.capacity import LearnedCode, conditional_bits, design_bits, retrained
from glassine.domain import Binary
from glassine.errors import InvalidParameterError
from glassine.learners import OptimalTreeClassifier
from tests.oracles.attacks_by_enumeration import Design, deterministic, halves

DOMAIN = Domain({name: Binary() for name in ("a", "b", "c")})


def people(n: int = 600) -> tuple[pl.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.integers(0, 2, (n, 3)), schema=["a", "b", "c"])
    y = frame["a"].to_numpy() ^ (rng.random(n) < 0.2)
    return frame.with_columns(ill=pl.Series(y.astype(int))), rng.permutation(n) < n // 2


def audited(artefact: Any = None, **more: Any) -> Any:
    frame, drawn = people()
    sample = frame.filter(pl.Series(drawn))
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1)).fit(sample.drop("ill"), sample["ill"].to_numpy())
    settings = AuditSettings(**{"stability": 25, "measurements": {"stability"}, **more})
    holdout = frame.filter(pl.Series(~drawn))
    return audit(artefact or learner, sample, "ill", domain=DOMAIN, holdout=holdout, settings=settings)


def test_a_stable_learner_has_a_short_code() -> None:
    stages: list[str] = []
    findings = audited(progress=stages.append)
    outcome = findings.measured["stability"]
    assert isinstance(outcome, Measured)
    found = outcome.value
    assert found.n_retrained == 25
    # The root is always the same; the structure costs fewer bits than the class.
    assert 0 < found.length < found.class_bits
    assert 0 < found.mean_advantage < 1
    assert "retraining 25 of 25" in stages
    assert "stability" not in findings.public().measured
    assert "stability" not in audit(OptimalTreeClassifier(1).fit([[0], [1]], [0, 1])).measured


def test_a_time_limit_leaves_no_figure() -> None:
    outcome = audited(stability_seconds=1e-9).measured["stability"]
    assert isinstance(outcome, Failed)
    assert "were over" in outcome.reason


def test_where_records_stand_says_nothing_of_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    # Retrained draws are the same, record by record, whoever of the list the training records are, in whatever order.
    frame, drawn = people()
    refit = stability._refit
    batches: list[list[pl.DataFrame]] = []

    def noted(learner: Any, sample: pl.DataFrame, target: str, attributes: tuple[str, ...]) -> Any:
        batches[-1].append(sample)
        return refit(learner, sample, target, attributes)

    monkeypatch.setattr(stability, "_refit", noted)
    for side, backwards in ((drawn, False), (~drawn, False), (drawn, True)):
        sample, rest = frame.filter(pl.Series(side)), frame.filter(pl.Series(~side))
        sample = sample.reverse() if backwards else sample
        learner = OptimalTreeClassifier(1, domain=DOMAIN, classes=(0, 1))
        learner.fit(sample.drop("ill"), sample["ill"].to_numpy())
        batches.append([])
        settings = AuditSettings(stability=25, measurements={"stability"})
        audit(learner, sample, "ill", domain=DOMAIN, holdout=rest, settings=settings)
    assert [len(batch) for batch in batches] == [25] * 3
    for batch in batches[1:]:
        assert all(a.equals(b) for a, b in zip(batches[0], batch, strict=True))


@pytest.mark.parametrize("wrong", [{"n": 299}, {"population": 601}, {"n": 301, "population": 600}])
def test_a_list_other_than_the_stated_one_gives_no_code(wrong: dict[str, Any]) -> None:
    statements = Statements(stated_class=StatedClass(depth=2, **wrong))
    outcome = audited(statements=statements).measured["stability"]
    assert isinstance(outcome, NotApplicable)
    assert "are stated to be drawn" in outcome.reason
    right = Statements(stated_class=StatedClass(depth=2, n=300, population=600))
    assert isinstance(audited(statements=right).measured["stability"], Measured)


def test_parameters_that_were_changed_are_no_class_of_the_model() -> None:
    frame, drawn = people()
    sample = frame.filter(pl.Series(drawn))
    learner = OptimalTreeClassifier(2, domain=DOMAIN, classes=(0, 1)).fit(sample.drop("ill"), sample["ill"].to_numpy())
    learner.max_depth = 1
    outcome = audited(learner).measured["stability"]
    assert isinstance(outcome, NotApplicable)
    assert "no class was declared" in outcome.reason


def test_a_model_without_its_estimator_is_unknown() -> None:
    frame, drawn = people()
    sample = frame.filter(pl.Series(drawn))
    learner = OptimalTreeClassifier(1, domain=DOMAIN, classes=(0, 1)).fit(sample.drop("ill"), sample["ill"].to_numpy())
    assert isinstance(audited(learner.model_).measured["stability"], NotApplicable)


@pytest.mark.parametrize("wrong", [{"stability": 24}, {"stability": 401}, {"stability_seconds": 0}])
def test_bad_settings_are_errors_of_ours(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        AuditSettings(**wrong)


def test_a_learned_code_is_a_code() -> None:
    models = [f"tree {i}" for i in range(16)]
    code = LearnedCode(["tree 0"] * 20 + ["tree 1"] * 5, math.log2(16))
    assert sum(2.0 ** -code.length(model) for model in models) <= 1
    assert code.length("tree 0") < code.length("tree 1") < code.length("tree 2")
    assert code.length("tree 2") == pytest.approx(4 - math.log2(0.1))
    assert LearnedCode(["tree 0"] * 25, 5_000.0).length("tree 1") == pytest.approx(5_000 - math.log2(0.1))
    for bad in (["tree 0"] * 24, ["tree 0"] * 401):
        with pytest.raises(InvalidParameterError):
            LearnedCode(bad, 4.0)


def test_with_a_learned_code_the_bound_fails_at_most_with_delta() -> None:
    # Every half of eight people; the code is learned from 25 of them, drawn independently of the published one.
    rng, samples = np.random.default_rng(0), halves(8, 4)
    for shown in (lambda row: int(row[:5].sum() >= 4), lambda row: tuple(row[:3]), lambda row: int(row @ range(8)) % 5):
        models = [shown(row) for row in samples]
        seen = Design.of(samples, deterministic(models))
        order = list(dict.fromkeys(models))
        for _ in range(10):
            batch = [models[i] for i in rng.integers(0, len(models), 25)]
            code = LearnedCode(batch, math.log2(len(order)))
            for delta in (0.5, 0.1):
                bounds = [design_bits(conditional_bits(code.length(m), delta), 8, 4) for m in order]
                failed = seen.masses[seen.information_given > np.array(bounds) + 1e-9].sum()
                assert failed <= delta


def test_a_code_of_the_published_draw_itself_is_caught() -> None:
    # Planted: the code is learned from the published model alone, so that it costs almost nothing.
    samples = halves(8, 4)
    models = [tuple(row) for row in samples]
    seen = Design.of(samples, deterministic(models))
    failed = 0.0
    for model, mass, told in zip(models, seen.masses, seen.information_given, strict=True):
        code = LearnedCode([model] * 25, math.log2(len(models)))
        failed += mass * (told > design_bits(conditional_bits(code.length(model), 0.5), 8, 4))
    assert failed > 0.5


def test_retraining_ends_with_all_or_nothing() -> None:
    assert retrained(lambda i: i % 3, 25) == [i % 3 for i in range(25)]
    left = iter([True] * 10 + [False])
    assert retrained(lambda i: i, 25, within=lambda: next(left)) is None
    told = Counter[int]()
    retrained(lambda i: i, 30, progress=lambda done, of: told.update([of]))
    assert told == {30: 30}


def test_a_stated_class_serves_a_foreign_estimator() -> None:
    from sklearn.tree import DecisionTreeClassifier

    frame, drawn = people()
    X, y = frame.drop("ill").to_numpy(), frame["ill"].to_numpy()
    foreign = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[drawn], y[drawn])
    domain = Domain({f"x{i}": Binary() for i in range(3)})
    renamed = frame.rename({name: f"x{i}" for i, name in enumerate("abc")})
    findings = audit(
        foreign,
        renamed.filter(pl.Series(drawn)),
        "ill",
        domain=domain,
        holdout=renamed.filter(pl.Series(~drawn)),
        policy=Policy(),
        settings=AuditSettings(
            stability=25, measurements={"stability"}, statements=Statements(stated_class=StatedClass(depth=2))
        ),
    )
    outcome = findings.measured["stability"]
    assert isinstance(outcome, Measured), outcome
    assert outcome.value.length < outcome.value.class_bits
