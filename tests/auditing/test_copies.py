"""A certificate covers what follows from the model that was released, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from glassine import Domain, Integer, as_model, parse_rules, scrub, write_model
from glassine.auditing import copies
from glassine.auditing.certified import _model
from glassine.auditing.copies import Origin, follow
from glassine.errors import InvalidModelError
from glassine.formats import load_file
from glassine.formats.canonical import written
from glassine.formats.code.sql import DIALECTS
from glassine.formats.format import PublishedModel
from glassine.formats.json import fingerprint
from glassine.formats.registry import formats
from glassine.models import AdditiveModel, editing
from glassine.models.additive import typed_scores
from glassine.models.guarantee import Guarantee
from glassine.scrubbing.log import ScrubLog
from tests.models.additive_models import income_model

CLAIM = Guarantee(epsilon=1.0)
DOMAIN = Domain({"age": Integer(18, 98), "a": Integer(0, 1), "b": Integer(0, 1)})


def tree() -> PublishedModel:
    ages = np.arange(18, 98)[:, None]
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(np.repeat(ages, 20, 0), np.arange(1600) % 3 > 0)
    made: PublishedModel = as_model(fitted, Domain({"x0": Integer(18, 98)}))
    return replace(made, guarantee=CLAIM)


def rules() -> PublishedModel:
    return replace(
        parse_rules("if [a] then [true] ([30 ; 41] examples)\nelse [false] ([52 ; 19] examples)"), guarantee=CLAIM
    )


def additive() -> AdditiveModel:
    return replace(income_model(), guarantee=CLAIM)


RELEASED = {"tree": tree, "rule list": rules, "additive model": additive}


def origin(copy: Path, certified: PublishedModel, **given: Any) -> Origin | None:
    """Follow a file to the model of a certificate."""
    return follow(load_file(copy, trust_pickle=True), copy.read_bytes(), fingerprint(certified), **given)


@pytest.mark.parametrize("kind", RELEASED)
def test_every_export_of_a_released_model_is_followed_and_no_other(kind: str, tmp_path: Path) -> None:
    released = RELEASED[kind]()
    other = replace(released, guarantee=replace(CLAIM, epsilon=2.0))
    followed = set()
    for form in formats():
        if form.write is None or form.read is None or not isinstance(released, form.kinds):
            continue
        path = tmp_path / f"copy{form.extensions[0]}"
        path.write_bytes(written(released, form))
        found = origin(path, released, released=released)
        assert found is not None, form.name
        assert found.same_bytes, form.name
        assert found.steps == (() if form.to == "json" else (f"exported as {form.name}",))
        # What was written of another model is of another certificate, whatever the copy keeps of it.
        assert follow(load_file(path, trust_pickle=True), b"", fingerprint(other), released=None) is None
        followed.add(form.to)
    assert {"json", "onnx"} <= followed


def test_a_copy_that_was_read_again_is_followed(tmp_path: Path) -> None:
    released = tree()
    pmml = next(form for form in formats() if form.to == "pmml")
    (tmp_path / "copy.pmml").write_bytes(written(released, pmml))
    write_model(load_file(tmp_path / "copy.pmml").model, tmp_path / "again.json", overwrite=True)
    found = origin(tmp_path / "again.json", released, released=released)
    assert found is not None
    assert found.steps == ("exported as PMML and read again",)


def test_edits_are_followed_without_the_released_model(tmp_path: Path) -> None:
    released = additive()
    term = released.terms[0].name
    edited = editing.shift(editing.zero(released, term, reason="not allowed"), term, 0, 0.25)
    write_model(edited, tmp_path / "edited.json", overwrite=True)
    for given in ({}, {"released": released}):
        found = origin(tmp_path / "edited.json", released, **given)
        assert found is not None
        assert (found.steps, found.same_bytes) == (("edited 2 times after release",), True)
        assert "read only the model" in found.text
        assert (found.n_typed, f"1 of {found.n_scores:,} scores were set by hand." in found.text) == (1, True)


def test_scores_that_were_set_by_hand_are_not_vouched_for() -> None:
    """A copy all of whose scores were typed in passed: the log explained every one of them."""
    released = additive()
    certificate = SimpleNamespace(model=fingerprint(released))
    typed, computed = released, editing.zero(released, released.terms[0].name)
    for term in released.terms:
        for place in np.ndindex(term.scores.shape[:-1]):
            where = tuple(map(int, place))
            typed = editing.set_score(typed, term.name, where if len(where) > 1 else where[0], 1.0)  # type: ignore[arg-type]
    for edited, status in ((typed, "unknown"), (computed, "pass")):
        n = len(edited.edits)
        origin_ = replace(copies.edited(n), n_typed=typed_scores(edited, n), n_scores=99)
        assert _model(certificate, edited, origin_).status == status  # type: ignore[arg-type]
    assert typed_scores(typed) == sum(term.scores.size for term in released.terms)
    assert typed_scores(editing.undo(typed, 1)) == typed_scores(typed) - 1


def test_a_score_that_no_edit_explains_is_not_followed(tmp_path: Path) -> None:
    released = additive()
    term = released.terms[0]
    scores = term.scores.copy()
    scores.reshape(-1)[0] += 0.01
    changed = released.with_term(replace(term, scores=scores), ())
    edited = editing.zero(changed, released.terms[-1].name)
    write_model(edited, tmp_path / "edited.json", overwrite=True)
    assert origin(tmp_path / "edited.json", released) is None
    assert origin(tmp_path / "edited.json", released, released=released) is None


def test_an_edit_that_did_something_else_than_it_says_is_an_error(tmp_path: Path) -> None:
    released = additive()
    edited = editing.shift(released, released.terms[0].name, 0, 0.25)
    lied = replace(edited.edits[0], parameters=(*edited.edits[0].parameters[:-1], ("by", 0.5)))
    write_model(replace(edited, edits=(lied,)), tmp_path / "edited.json", overwrite=True)
    with pytest.raises(InvalidModelError, match="changed the scores in another way"):
        origin(tmp_path / "edited.json", released)


@pytest.mark.parametrize("counts", ["coarsen", "remove", "keep"])
@pytest.mark.parametrize("kind", ["tree", "rule list"])
def test_scrubbing_is_done_again(kind: str, counts: Any, tmp_path: Path) -> None:
    released = RELEASED[kind]()
    domain = Domain({"x0": Integer(18, 98, thresholds=(30.5, 60.5))}) if kind == "tree" else DOMAIN
    made = scrub(released, domain, counts=counts).model
    write_model(made, tmp_path / "copy.json", overwrite=True)
    log = ScrubLog.of(released, made, domain, counts=counts)
    log.to_json(tmp_path / "log.json")
    assert ScrubLog.from_json(tmp_path / "log.json") == log
    found = origin(tmp_path / "copy.json", released, released=released, log=log, domain=domain)
    assert found is not None
    assert found.same_bytes
    assert found.steps[0].startswith("scrubbed: ")
    for other in (None, Domain({"x0": Integer(18, 98, thresholds=(23.5,))})):
        with pytest.raises(InvalidModelError, match="in another domain than the public one"):
            origin(tmp_path / "copy.json", released, released=released, log=log, domain=other)
    if made != released:
        assert origin(tmp_path / "copy.json", released, released=released) is None, "no log explains it"
        with pytest.raises(InvalidModelError, match="another copy"):
            ScrubLog.of(released, released, domain, counts=counts)
    with pytest.raises(InvalidModelError, match="another model"):
        log.replay(replace(released, guarantee=None))


def test_steps_are_followed_from_an_edited_model(tmp_path: Path) -> None:
    """What was edited, then scrubbed or exported, was of another model: no file could be given for its beginning."""
    released = additive()
    term = released.terms[0].name
    middle = editing.shift(editing.zero(released, term, reason="not allowed"), term, 0, 0.25)
    exported = {form.to: written(middle, form) for form in formats() if form.write and isinstance(middle, form.kinds)}
    assert {"pmml", "sql", "python"} <= exported.keys()
    for to, data in exported.items():
        # A form that no reader takes is written again.
        (tmp_path / "copy").write_bytes(data)
        read = None if to in ("sql", "python") else load_file(tmp_path / "copy", trust_pickle=True)
        found = follow(read, data, fingerprint(released), released=middle)
        assert found is not None, to
        assert found.same_bytes
        assert (found.steps[0], found.n_typed) == ("edited 2 times after release", 1)
        assert follow(None, data + b" ", fingerprint(released), released=middle) is None
    write_model(editing.zero(middle, term), tmp_path / "more.json", overwrite=True)
    found = origin(tmp_path / "more.json", released, released=middle)
    assert found is not None
    assert (found.steps[1:], found.n_typed) == (("edited 1 time after release",), 0)
    lied = replace(middle, edits=(middle.edits[0], replace(middle.edits[1], parameters=(("by", 0.5),))))
    for other in (lied, replace(middle, intercept=(middle.intercept[0] + 1,)), replace(middle, guarantee=None)):
        with pytest.raises(InvalidModelError):
            origin(tmp_path / "more.json", released, released=other)


def test_another_released_model_is_refused(tmp_path: Path) -> None:
    released, other = rules(), tree()
    write_model(released, tmp_path / "copy.json", overwrite=True)
    with pytest.raises(InvalidModelError, match="not the one that the certificate is of"):
        origin(tmp_path / "copy.json", released, released=other)


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("table", [None, ("people",), ('a "b`c', "d.e AS r")])
@pytest.mark.parametrize("make", [additive, tree])
def test_a_query_is_followed_whatever_its_options(
    make: Callable[[], Any], table: tuple[str, ...] | None, probabilities: bool, dialect: str | None
) -> None:
    released = make()
    options: dict[str, Any] = {"dialect": dialect}
    if table is not None:
        options |= {"table": table, "prediction": "x AS y", "probabilities": probabilities}
    data = written(released, next(form for form in formats() if form.to == "sql"), **options)
    found = follow(None, data, fingerprint(released), released=released)
    assert found is not None
    assert (found.steps, found.same_bytes) == (("exported as SQL",), True)
    assert follow(None, data.replace(b"1", b"2", 1), fingerprint(released), released=released) is None
