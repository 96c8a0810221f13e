"""One summary, and every model below it."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from glassine import Domain, Integer, Ledger, load_model, write_model
from glassine.domain import Between, OneOf
from glassine.errors import InvalidModelError, InvalidParameterError, UnreadableFileError
from glassine.formats import fingerprint
from glassine.learners import PrivateSummary
from glassine.learners.publishing import probabilities
from glassine.learners.summaries.derived import AS_RETURNED
from glassine.models.scorecard import card_items
from glassine.records.reading import read_settled
from glassine.records.undeclared import read_checked
from tests.summaries.people import DOMAIN, people, summary


def columns(frame: Any) -> Any:
    return read_settled(frame, DOMAIN)


def accuracy(model: Any, frame: Any, y: Any) -> float:
    return float((model.predict(columns(frame)) == y).mean())


def models(fitted: Any) -> list[Any]:
    cards = [] if len(fitted.classes_) > 2 else [fitted.scorecard(max_items=4, max_points=3)]
    return [fitted.tree(2), fitted.rule_list(3), fitted.additive(), *cards]


@pytest.mark.parametrize("classes", [2, 3])
def test_trees_lists_and_additive_models_learn_from_one_summary(classes: int) -> None:
    frame, y = people(classes=classes, seed=1)
    fitted = summary(classes=classes)
    tree, rules, additive = models(fitted)[:3]
    assert accuracy(tree, frame, y) > 0.85
    assert accuracy(rules, frame, y) > 0.8
    assert accuracy(additive, frame, y) > 0.85


def test_every_model_carries_the_guarantee_and_a_certificate_tied_to_it(tmp_path: Path) -> None:
    fitted = summary()
    for model in models(fitted):
        certificate = fitted.certify(model)
        assert (model.guarantee.epsilon, model.guarantee.delta) == (4.0, 1e-6)
        assert model.guarantee.caveats == fitted.certificate_.caveats == certificate.caveats
        assert certificate.model == fingerprint(model)
        assert certificate.public["summary"] == fitted.certificate_.model
        assert certificate.events == fitted.certificate_.events
        # Source and guarantee alone are compared, of a model of another leaf too.
        assert certificate.assumptions == (*fitted.certificate_.assumptions, AS_RETURNED)
        write_model(model, tmp_path / "m.json", overwrite=True)
        assert load_model(tmp_path / "m.json") == model
    other = PrivateSummary(epsilon=1.0, domain=DOMAIN, classes=(0, 1), random_state=0).fit(*people(200))
    with pytest.raises(InvalidModelError, match="does not claim its guarantee"):
        other.certify(fitted.tree(1))


def test_ten_models_cost_one_entry_of_the_ledger(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "b.sqlite")
    book.budget("people", 1.0, 1e-6)
    fitted = PrivateSummary(epsilon=1.0, domain=DOMAIN, classes=(0, 1), ledger=book, dataset="people").fit(*people(500))
    for depth in range(4):
        fitted.tree(depth)
        fitted.rule_list(depth)
    fitted.additive(shrinkage=10.0)
    fitted.scorecard()
    (entry,) = book.entries("people")
    assert float(entry.epsilon) == 1.0


def test_only_what_is_released_is_kept() -> None:
    fitted = summary()
    assert {name for name in vars(fitted) if name.endswith("_")} <= fitted.released
    assert len(pickle.dumps(fitted)) < 3e5
    assert pickle.loads(pickle.dumps(fitted)).tree(2) == fitted.tree(2)


def test_what_was_released_cannot_be_changed_in_place(tmp_path: Path) -> None:
    """Models share what was computed from it, and the certificate is of what was released."""
    fitted = summary()
    fitted.write(tmp_path / "s.json")
    for one in (fitted, pickle.loads(pickle.dumps(fitted)), PrivateSummary.read(tmp_path / "s.json")):
        released = one.released_
        changed = [*released.tables, *released.groups, *released.edges.values(), released.rounds[0].sums]
        for array in (*changed, *(axis.counts for axis in released.axes)):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_scores_are_ordered_where_that_is_asked_for() -> None:
    model = summary().additive(monotone={"age": "decreasing"})
    assert (np.diff(model.term("age").scores[:-1, 0]) <= 0).all()
    strong = summary().additive(shrinkage=100.0)
    assert np.abs(strong.term("job").scores).max() < np.abs(model.term("job").scores).max()


@pytest.mark.slow
def test_a_scorecard_has_few_items_worth_whole_points_and_predicts_as_the_records_do() -> None:
    frame, y = people(seed=1)
    card = summary().scorecard(max_items=4, max_points=3)
    assert card.scorecard is not None
    assert 1 <= len(card_items(card)) <= 4
    assert max(abs(item.points) for item in card_items(card)) <= 3
    assert accuracy(card, frame, y) > 0.85
    rising = summary().scorecard(monotone={"age": "increasing"}).term("age")
    assert (np.diff(rising.scores[:-1, 0]) >= 0).all()
    risks = [row.risk for row in card.scorecard.risks]
    assert risks == sorted(risks)
    with pytest.raises(InvalidModelError, match="a scorecard is of two classes"):
        summary(classes=3).scorecard()
    with pytest.raises(InvalidParameterError, match=r"max_items must be a whole number in \[1, 100\]"):
        summary().scorecard(max_items=0)


def test_a_deeper_tree_and_another_measure_cost_nothing_and_differ() -> None:
    fitted = summary()
    assert len(fitted.tree(0).cells) == 1
    assert len(fitted.tree(1).cells) < len(fitted.tree(3).cells)
    for measure in ("additive", "errors", "gini", "log_loss"):
        assert 2 <= len(fitted.tree(2, measure=measure).cells) <= 4
    with pytest.raises(InvalidParameterError, match="measure must be one of additive, gini, errors"):
        fitted.tree(2, measure="entropy")
    with pytest.raises(InvalidParameterError, match=r"max_depth must be a whole number in \[0, 12\]"):
        fitted.tree(-1)


def test_counts_of_regions_are_close_to_the_records() -> None:
    frame, y = people()
    fitted = summary()
    for literals in ([], [Between("age", hi=44)], [OneOf("job", ("judge",)), Between("age", lo=30.0, hi=62.5)]):
        inside = np.ones(len(y), dtype=bool)
        for literal in literals:
            inside &= columns(frame).holds(literal)
        found = fitted.count(literals)
        for label in (0, 1):
            assert found[label] == pytest.approx(int((inside & (y == label)).sum()), abs=120)
    with pytest.raises(InvalidModelError, match="no attribute 'salary'"):
        fitted.count([Between("salary", hi=3)])


def test_the_most_dependent_pair_stands_first() -> None:
    first = summary().pairs_[0]
    assert set(first.attributes) == {"age", "grade"}
    assert first.in_tree
    assert first.score > 5 * first.deviation


def test_an_estimate_is_near_the_truth_and_refused_where_noise_decides() -> None:
    frame, y = people(seed=1)
    fitted = summary()
    tree = fitted.tree(2)
    found = fitted.reported(tree, bootstrap=3)
    scores = probabilities(tree)[tree.apply(columns(frame))][:, 1]
    assert found.accuracy == pytest.approx(accuracy(tree, frame, y), abs=0.03)
    assert found.auc == pytest.approx(roc_auc_score(y, scores), abs=0.03)
    assert 0 < found.accuracy_spread < 0.05
    weak = PrivateSummary(epsilon=0.2, domain=DOMAIN, classes=(0, 1), random_state=0).fit(*people(300))
    with pytest.raises(InvalidParameterError, match="noise is too strong for an estimate"):
        weak.reported(weak.tree(1))


def test_records_without_any_signal_give_the_shares_of_the_classes() -> None:
    rng = np.random.default_rng(0)
    domain = Domain({"x": Integer(0, 9)})
    fitted = PrivateSummary(epsilon=1.0, domain=domain, classes=(0, 1), random_state=0).fit(
        rng.integers(0, 10, (900, 1)), rng.random(900) < 0.3
    )
    assert fitted.pairs_ == ()
    for model in models(fitted):
        assert model.predict(read_checked({"x": np.arange(10)}, domain)).tolist() == [0] * 10


# Files.


def written(folder: Path) -> tuple[Path, dict[str, Any]]:
    path = folder / "summary.json"
    summary().write(path)
    return path, json.loads(path.read_text())


@pytest.mark.slow
def test_a_file_gives_the_same_models(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    back = PrivateSummary.read(path)
    assert back.certificate_ == summary().certificate_
    assert models(back) == models(summary())
    assert back.pairs_ == summary().pairs_
    tree = back.tree(2)
    assert back.reported(tree, bootstrap=2) == summary().reported(tree, bootstrap=2)


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path, values = written(tmp_path)
    values["released"]["attributes"][0]["table"][0][0] += 1.0
    path.write_text(json.dumps(values))
    with pytest.raises(InvalidModelError, match="not the one that its certificate is of"):
        PrivateSummary.read(path)


def test_a_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path, _ = written(tmp_path)
    text = path.read_text()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(UnreadableFileError):
        PrivateSummary.read(path)


def _without_key(values: dict[str, Any]) -> None:
    del values["released"]["pairs"]


def _other_schema(values: dict[str, Any]) -> None:
    values["schema"] = "glassine.model/1"


def _short_table(values: dict[str, Any]) -> None:
    values["released"]["attributes"][0]["table"].pop()


def _nan(values: dict[str, Any]) -> None:
    values["released"]["attributes"][0]["counts"][0] = "NaN"


def _circle(values: dict[str, Any]) -> None:
    sizes = [max(one["groups"]) + 1 for one in values["released"]["attributes"]]
    for pair in values["released"]["pairs"]:
        a, b = pair["places"]
        pair["table"] = np.zeros((sizes[a], sizes[b], 2)).tolist()


def _more_classes(values: dict[str, Any]) -> None:
    values["classes"].append(2)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_without_key, "lacks the key 'pairs'"),
        (_other_schema, "no summary of the schema"),
        (_short_table, "must have the shape"),
        (_nan, "must be a finite number"),
        (_circle, "must form a tree"),
        (_more_classes, "must have the shape"),
    ],
)
def test_a_file_whose_parts_contradict_each_other_says_which(damage: Any, said: str, tmp_path: Path) -> None:
    path, values = written(tmp_path)
    damage(values)
    path.write_text(json.dumps(values))
    with pytest.raises(InvalidModelError, match=said):
        PrivateSummary.read(path)
