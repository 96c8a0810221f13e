"""Trees of means: what a leaf holds, what a release holds, and how far explanations of numbers are from the answers."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from glassine import audit
from glassine.domain import Domain, Integer
from glassine.errors import BlackBoxError, InvalidDataError, InvalidModelError, InvalidParameterError
from glassine.models import DecisionTree, Evidence
from glassine.surrogates import (
    ContrastConstraints,
    NumericAnswer,
    SurrogateExplainer,
    SurrogateRelease,
    building,
    group_trees,
)
from glassine.surrogates.answers import distinct_records
from glassine.surrogates.explanation_measures import _errors
from tests.surrogates.scenes import PEOPLE, people

SCORE = NumericAnswer(lo=0, hi=200, step=0.5, tolerance=6)
GRID = Domain({"u": Integer(0, 5), "v": Integer(0, 5)})


def score(X: Any) -> npt.NDArray[np.float64]:
    """Answer with a number that is hardly ever the same twice, and never a whole number of steps."""
    age, income = (np.asarray(X[name], dtype=float) for name in ("age", "income"))
    return np.asarray(20.0 + np.round(income + np.where(age > 60, 30, 0) + np.sin(age) + 0.123_456, 6))


def product(X: Any) -> npt.NDArray[np.float64]:
    """Answer on small grids."""
    X = np.asarray(X, dtype=float)
    return np.asarray(X[:, 0] * 7.3 + X[:, 1] ** 2 + 0.01)


@cache
def explained(n: int = 600, k: int = 40, **parameters: Any) -> SurrogateExplainer:
    """Return an explainer of numbers over people."""
    import pandas as pd

    own: dict[str, Any] = {"domain": PEOPLE, "distance": "gower", "answer": SCORE, "goal": None} | parameters
    return SurrogateExplainer(score, k, **own).fit(pd.DataFrame(people(n)))


def behind(explainer: SurrogateExplainer) -> list[tuple[Evidence, npt.NDArray[np.intp]]]:
    """Return every leaf with the rows of the records behind it, found by asking the published trees."""
    training, out = explainer.training_, []
    for group, tree in enumerate(explainer.release_.trees):
        rows = np.flatnonzero(training.groups == group)
        at = tree.apply(training.columns.take(rows))
        out += [(cell.evidence, rows[at == place]) for place, cell in enumerate(tree.cells)]
    return out


def violations(explainer: SurrogateExplainer, least: int) -> list[str]:
    """Return what is wrong with the leaves of a release, by the definition: too few behind, or not their mean."""
    training, answer = explainer.training_, explainer.release_.answer
    assert answer is not None
    wrong = []
    for evidence, rows in behind(explainer):
        values = np.column_stack([training.columns.values(name) for name in training.columns.names])[rows]
        answers = {tuple(record): place for record, place in zip(values.tolist(), training.answers[rows], strict=True)}
        if len(answers) < least:
            wrong.append(f"{len(answers)} distinct records")
        mean = sum(answers.values()) / len(answers)
        place = answer.given_by(evidence)
        if training.persons is None and (place is None or abs(place - mean) > 0.5 + 1e-9):
            wrong.append(f"{evidence.value} is not the mean")
        if evidence != Evidence(value=evidence.value):
            wrong.append("more than a mean")
    return wrong


def test_every_leaf_holds_the_mean_of_enough_distinct_records() -> None:
    for k, least in ((10, 25), (40, 3), (150, 10)):
        assert violations(explained(k=k, min_samples_leaf=least), min(k, least)) == []


@pytest.mark.slow
def test_all_small_data_sets_keep_the_rule() -> None:
    """Every dataset of eight records over four places, copies among them, or a refusal where too few are distinct."""
    places = [(0, 0), (0, 5), (5, 0), (5, 5)]
    made = refused = 0
    for chosen in itertools.combinations_with_replacement(range(4), 8):
        X = np.array([places[i] for i in chosen], dtype=float)
        explainer = SurrogateExplainer(
            product, 3, domain=GRID, answer=NumericAnswer(lo=0, hi=100, step=0.5), min_samples_leaf=3
        )
        if len(set(chosen)) < 3:
            with pytest.raises(InvalidDataError, match="distinct records"):
                explainer.fit(X)
            refused += 1
            continue
        assert violations(explainer.fit(X), 3) == []
        made += 1
    assert made > 50
    assert refused > 10


@pytest.mark.slow
def test_a_leaf_of_one_record_too_few_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: CART may make leaves of one record less, and copies count."""
    honest = group_trees._of_enough

    def lax(tree: DecisionTree, records: Any, units: Any, least: int) -> DecisionTree:
        return honest(tree, records, units, least - 1)

    cart = group_trees._cart
    monkeypatch.setattr(group_trees, "_of_enough", lax)
    monkeypatch.setattr(
        group_trees,
        "_cart",
        lambda X, y, growth, answers: cart(
            X, y, replace(growth, min_samples_leaf=growth.min_samples_leaf - 1), answers
        ),
    )
    explainer = explained.__wrapped__(k=40)
    assert "9 distinct records" in violations(explainer, 10)
    # An audit of what was published finds it too.
    checks = {check.rule: check.status for check in audit(explainer).checks}
    assert checks["smallest_released_leaf"] == "fail"
    monkeypatch.undo()
    checks = {check.rule: check.status for check in audit(explained(k=40)).checks}
    assert checks["smallest_released_leaf"] == "pass"


def test_copies_of_a_record_count_once() -> None:
    import pandas as pd

    once = pd.DataFrame(people(120))
    often = pd.concat([once, *[once.iloc[[0]]] * 200], ignore_index=True)
    explainer = SurrogateExplainer(score, 30, domain=PEOPLE, distance="gower", answer=SCORE).fit(often)
    assert violations(explainer, 10) == []
    held = distinct_records(explainer.training_.columns).counts(explainer.training_.groups, explainer.release_.n_groups)
    assert held.min() >= 10


def test_people_are_counted_where_they_are_stated() -> None:
    import pandas as pd

    frame = pd.DataFrame(people(400)).assign(who=np.arange(400) // 4)
    explainer = SurrogateExplainer(score, 20, domain=PEOPLE, distance="gower", answer=SCORE).fit(frame, persons="who")
    training = explainer.training_
    assert training.persons is not None
    assert violations(explainer, 10) == []
    for evidence, rows in behind(explainer):
        own = training.persons.take(rows)
        assert own.number >= 10
        mean = np.mean([training.answers[rows][own.codes == who].mean() for who in range(own.number)])
        assert abs((SCORE.given_by(evidence) or 0) - mean) <= 0.5 + 1e-9


def test_no_exact_answer_is_in_the_bytes_of_a_release(tmp_path: Path) -> None:
    explainer = explained()
    file = tmp_path / "release.json"
    explainer.release().to_json(file)
    text = file.read_text()
    answered = explainer.black_box_.ask_once(_frame(600), 600).tolist()
    assert not [value for value in answered if repr(value) in text]
    # Numbers of the file that are neither thresholds nor representatives are whole steps.
    values = [
        node["value"] for group in json.loads(text)["groups"] for node in group["tree"]["nodes"] if "value" in node
    ]
    assert values
    assert all((value * 2).is_integer() for value in values)
    assert '"counts"' not in text
    assert '"total"' not in text
    # A planted answer would be seen.
    assert repr(answered[3]) in text.replace(repr(values[0]), repr(answered[3]))


def _frame(n: int) -> Any:
    import pandas as pd

    return pd.DataFrame(people(n))


def test_a_release_of_means_is_read_as_it_was_written_and_no_other_way() -> None:
    release = explained().release()
    plain = release.to_dict()
    assert plain["classes"] == []
    assert plain["answer"] == {"lo": 0, "hi": 200, "step": 0.5, "tolerance": 6.0}
    assert SurrogateRelease.from_dict(json.loads(json.dumps(plain))).to_dict() == plain

    def broken(change: Any) -> dict[str, Any]:
        own: dict[str, Any] = json.loads(json.dumps(plain))
        change(own)
        return own

    def leaf(own: dict[str, Any]) -> dict[str, Any]:
        nodes: list[dict[str, Any]] = own["groups"][0]["tree"]["nodes"]
        return next(node for node in nodes if "value" in node)

    def threshold(own: dict[str, Any]) -> None:
        group = next(group for group in own["groups"] for node in group["tree"]["nodes"] if _number_test(node))
        node = next(node for node in group["tree"]["nodes"] if _number_test(node))
        for branch in node["branches"]:
            for side in ("above", "at_most"):
                if side in branch["if"]:
                    branch["if"][side] += 0.013

    faults = {
        "on a step": lambda own: leaf(own).update(value=71.3),
        "of the range": lambda own: leaf(own).update(value=200.5),
        "nothing else": lambda own: leaf(own).update(total=12),
        "public cut points": threshold,
        "must divide the range": lambda own: own["answer"].update(step=0),
        "no classes": lambda own: own.update(classes=["yes"]),
        "classes": lambda own: own.pop("answer"),
        "mean in each leaf": lambda own: own["groups"][0]["tree"]["nodes"][0].update(value=70.0),
    }
    for text, change in faults.items():
        with pytest.raises(InvalidModelError, match=text):
            SurrogateRelease.from_dict(broken(change))


def _number_test(node: dict[str, Any]) -> bool:
    return any("above" in branch["if"] or "at_most" in branch["if"] for branch in node.get("branches", []))


def test_a_signed_release_of_means_is_verified(tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from glassine.privacy.signing import make_keys
    from glassine.server import read_public_key, read_release, sign_release

    make_keys(tmp_path / "private.pem", tmp_path / "public.pem")
    explained().release().to_json(tmp_path / "release.json")
    sign_release(tmp_path / "release.json", tmp_path / "private.pem", tmp_path / "signed.json")
    key = read_public_key(tmp_path / "public.pem")
    assert read_release(tmp_path / "signed.json", key).release.answer == SCORE
    text = (tmp_path / "signed.json").read_text()
    (tmp_path / "other.json").write_text(text.replace("tolerance", "tolerence"))
    assert (tmp_path / "other.json").read_text() != text
    with pytest.raises(Exception, match="signature"):
        read_release(tmp_path / "other.json", key)


@pytest.mark.slow
def test_errors_are_those_of_their_definition() -> None:
    explainer = explained()
    X = _frame(150)
    measures = explainer.measures(X, n_draws=3)
    errors = measures.errors
    assert errors is not None
    truth = np.array(score(X))
    explanations = explainer.explain_many(X, guided=False)
    means = np.array([explanation.tree_decision for explanation in explanations])
    exact = np.sqrt(((means - truth) ** 2).mean())
    # Three digits: an exact figure would give the answer on one record to who knows all others.
    assert (errors.rmse, errors.rmse_baseline) == (float(f"{exact:.3g}"), float(f"{truth.std():.3g}"))
    assert errors.r2 == round(1 - (exact / truth.std()) ** 2, 3)
    guided = np.array([explanation.tree_decision for explanation in explainer.explain_many(X)])
    assert errors.rmse_guided == float(f"{np.sqrt(((guided - truth) ** 2).mean()):.3g}")
    assert errors.rmse < 0.5 * errors.rmse_baseline < errors.rmse_null
    agree = np.array([explanation.agrees for explanation in explanations])
    assert measures.fidelity == pytest.approx(agree.mean())
    # Both are rounded to steps before they are compared.
    assert (np.abs(means - truth)[agree] <= 6.5).all()
    assert (np.abs(means - truth)[~agree] >= 5.5).all()
    assert explainer.accuracy(X, truth, guided=False) == measures.fidelity


def test_errors_in_a_huge_range_are_finite() -> None:
    step = 2.0**980
    huge = NumericAnswer(lo=0, hi=100 * step, step=step)
    answered = np.array([0.0, 50 * step, 100 * step], dtype=object)
    places = [np.array([0, 50, 100]), np.array([0, 50, 90]), np.array([100, 50, 0])]
    errors = _errors(huge, answered, places[0], places[1], [places[2]])
    assert (errors.rmse, errors.r2) == (0.0, 1.0)
    assert errors.rmse_guided == float(f"{10 * step / np.sqrt(3):.3g}")
    assert errors.rmse_null == float(f"{100 * step * np.sqrt(2 / 3):.3g}")
    assert errors.rmse_baseline == float(f"{100 * step * np.sqrt(1 / 6):.3g}")


@pytest.mark.slow
def test_contrasts_lead_to_a_sought_mean_or_are_none() -> None:
    explainer = explained()
    query = {"age": 40, "income": 30.0, "job": "a", "smoker": 0}
    free = explainer.explain(query, check=True)
    assert all(abs(float(one.decision) - float(free.tree_decision)) > 6 for one in free.contrasts)
    own, seen, goals = float(free.tree_decision), 0, set()
    for row in _frame(60).to_dict("records"):
        for constraints in (ContrastConstraints(at_least=own + 20), ContrastConstraints(at_most=-1000.0)):
            answer = explainer.explain(row, check=True, constraints=constraints)
            for contrast in answer.contrasts:
                seen += 1
                assert constraints.sought(contrast.decision)
                changed = row | {change.attribute: change.after for change in contrast.changes}
                asked = score(_one(changed))[0]
                assert contrast.confirmed == constraints.sought(asked)
            met = constraints.sought(answer.tree_decision)
            # The trees reach it; whether the black box confirms a change is said of each.
            reached = "within reach" if answer.contrasts or answer.candidates else "out of reach"
            assert answer.goal == ("met" if met else reached)
            assert answer.to_dict()["goal"] == answer.goal
            if met:
                assert answer.contrasts == ()
            # How many are asked for changes nothing about whether there is one.
            assert explainer.explain(row, n_contrasts=0, constraints=constraints).goal == answer.goal
            goals.add(answer.goal)
    assert seen > 20
    assert goals == {"met", "within reach", "out of reach"}
    assert free.goal is None
    with pytest.raises(InvalidParameterError, match="at least"):
        ContrastConstraints(at_least=3, at_most=2)


def _one(record: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame([record])


def test_a_text_says_what_a_mean_is_of() -> None:
    explainer = explained(answer=replace(SCORE, tolerance=0.25))
    query = {"age": 40, "income": 30.0, "job": "a", "smoker": 0}
    answer = explainer.explain(query)
    assert not answer.agrees
    assert "none of the 3 closest trees is within 0.25 of it" in str(answer)
    assert "answer 50.86" in str(explained().explain(query))
    assert "over at least 10 distinct records, rounded to a step of 0.5" in " ".join(
        explainer.release().to_dict()["provenance"]["notes"] + list(_revealed(explainer))
    )


def _revealed(explainer: SurrogateExplainer) -> tuple[str, ...]:
    from glassine.surrogates.release_statements import reveals

    return reveals(explainer.release())


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"classes": ("a", "b")}, "classes"),
        ({"form": "paper"}, "form"),
        ({"labels": "true"}, "labels"),
        ({"leaf_counts": True}, "leaf_counts"),
        ({"partition": "public"}, "partition"),
        ({"k": 2}, "k must"),
        ({"min_samples_leaf": 2}, "min_samples_leaf"),
        ({"answer": (0, 1)}, "NumericAnswer"),
    ],
)
def test_what_would_publish_more_than_means_is_refused(parameters: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        explained(**parameters)


def test_answers_outside_the_range_or_no_numbers_are_refused() -> None:
    with pytest.raises(InvalidDataError, match=r"in the declared range, \[0, 100\]"):
        explained(answer=NumericAnswer(lo=0, hi=100, step=1))
    with pytest.raises(InvalidDataError, match="not numbers in the declared range"):
        SurrogateExplainer(lambda X: np.full(len(X), "a"), 10, domain=GRID, answer=SCORE).fit(np.zeros((20, 2)))
    with pytest.raises(InvalidDataError, match="not finite numbers"):
        explained().release().explain({"age": 40, "income": 30.0, "job": "a", "smoker": 0}, "yes")
    with pytest.raises(BlackBoxError, match="answer="):
        explained(answer=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lo": 1, "hi": 1, "step": 1},
        {"lo": 0, "hi": 1, "step": 0},
        {"lo": 0, "hi": 1, "step": 0.6},
        {"lo": 0, "hi": float("nan"), "step": 1},
        {"lo": 0, "hi": 10, "step": True},
        {"lo": 0, "hi": 10, "step": 1, "tolerance": -1},
        {"lo": 0, "hi": 10, "step": 1, "tolerance": 10},
        {"lo": 0, "hi": 10, "step": 1, "tolerance": 0.4},
        {"lo": 0, "hi": 11_000, "step": 4_000},
        {"lo": 0, "hi": 1e9, "step": 1e-9},
    ],
)
def test_a_range_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        NumericAnswer(**wrong)


@pytest.mark.parametrize(("step", "tolerance"), [(100, None), (50, 25), (20, 20), (10, 27), (0.5, 6)])
def test_what_agrees_is_within_the_tolerance(step: float, tolerance: float | None) -> None:
    answer = NumericAnswer(lo=0, hi=200, step=step, tolerance=tolerance)
    exact = np.random.default_rng(0).uniform(0, 200, 4000)
    means = np.arange(answer.n_steps + 1)
    places = answer.places(exact.astype(object))
    agree = answer.agree(means[:, None], places)
    far = np.abs(np.array([answer.value(place) for place in means.tolist()])[:, None] - exact)
    assert answer.tolerance is not None
    assert far[agree].max() <= answer.tolerance
    assert agree[far <= answer.tolerance - step].all()


def test_an_answer_that_is_no_number_is_not_what_is_sought() -> None:
    goal = ContrastConstraints(at_least=60)
    assert [goal.sought(answer) for answer in (60, 59.9, "61", True, None, float("nan"))] == [True] + 5 * [False]
    bounds: list[Any] = [np.int64(60), np.float64(60.0), np.float32(60.0)]
    for bound in bounds:
        given = ContrastConstraints(at_least=bound)
        assert given == goal
        assert type(given.at_least) in (int, float)
    with pytest.raises(InvalidParameterError, match="finite number"):
        ContrastConstraints(at_most=np.float64("inf"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"partition": "public"},
        {"form": "paper"},
        {"labels": "true"},
        {"min_samples_leaf": 2},
    ],
)
def test_a_release_of_means_that_no_fit_makes_is_refused(wrong: dict[str, Any]) -> None:
    release = explained().release()
    with pytest.raises(InvalidModelError, match="a release of means must be of microaggregated groups"):
        replace(release, provenance=replace(release.provenance, **wrong))
    for k in (None, 1, 2):
        with pytest.raises(InvalidModelError, match="at least 3"):
            replace(release, k=k)


def test_places_are_the_nearest_steps() -> None:
    answer = NumericAnswer(lo=-0.3, hi=1.0, step=0.1)
    given = np.array([-0.3, -0.26, -0.24, 0.0, 1.0, 0.96, 1.01, -0.31], dtype=object)
    assert answer.places(given).tolist() == [0, 0, 1, 3, 13, 13, -1, -1]
    assert [answer.value(place) for place in (0, 3, 13)] == [-0.3, 0, 1]
    assert all(answer.given_by(Evidence(value=float(answer.value(place)))) == place for place in range(14))
    assert answer.given_by(Evidence(value=0.05)) is None


def test_groups_are_found_again_from_the_records() -> None:
    """What an auditor has, the file and the records, gives the sizes that the maker knows."""
    explainer = explained()
    own = audit(explainer)
    again = audit(SurrogateRelease.from_dict(explainer.release().to_dict()), data=_frame(600))
    assert again.verdict == own.verdict == "within policy"
    assert building.MEANS in explainer.release().provenance.notes
