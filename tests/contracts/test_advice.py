"""Advice is executed: every remedy that an audit prints is run as it stands, and the way ends in a better status.

For each kind of subject, format and input, each sentence of the advice is followed once, then what the next audits say:
within three steps the status is better, a sentence says that nothing more can be done, or somebody else is asked. No
command that is proposed fails, no option is asked for that was given, and no advice is given again that was followed.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import glassine
from glassine import audit, learners, surrogates
from glassine.auditing import AuditSettings
from glassine.auditing.findings import Findings
from glassine.auditing.statements import Statements
from glassine.cli import naming, steps
from glassine.formats import formats, load_judged, load_model
from glassine.scrubbing import ScrubResult
from tests.cli.conftest import run as run
from tests.cli.running import Run
from tests.contracts.advised import EVERY, FOREIGN, NAMES, PUBLIC, SUBJECTS, AdvisedSubject, N, beside, people
from tests.contracts.advised_formats import EVERY_SAMPLE, IN_MEMORY, OUTCOME, subjects_of
from tests.contracts.advising import QUOTED, Way, alternatives, steps_in, ways

# Reports say what these warn of.
pytestmark = pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")

NAMED = {"--data": "people.csv", "--target": "ill"}
INPUTS: dict[str, dict[str, str]] = {
    "file": {},
    "domain": {"--domain": "public.json"},
    "drafted domain": {"--domain": "drafted.json"},
    "data": NAMED,
    "domain and data": {"--domain": "public.json", **NAMED},
    "persons": {**NAMED, "--person": "who"},
    "holdout": {**NAMED, "--holdout": "others.csv"},
    "words for numbers": {"--data": "odd.csv"},
    "other records": {"--data": "wrong.csv"},
    "answers": {"--stated-leaf": "10", "--unweighted": ""},
}
"""What is given beside the file."""
POLICIES = ("default", "sacro", "strict", "every.toml")
WHOLE = ("tree memorized", "tree of 50", "rule list", "additive in json", "scorecard", "regression tree")
"""Subjects that are judged by every input and policy; other formats of the same models, by the file and the data."""
KINDS: dict[str, tuple[AdvisedSubject, ...]] = {
    kind: tuple(one for one in SUBJECTS if one.name.startswith(kind))
    for kind in (
        "tree",
        "rule list",
        "additive",
        "scorecard",
        "regression tree",
        "ensemble",
        "private",
        "release",
        "summary",
    )
}
KINDS["tree"] = tuple(one for one in KINDS["tree"] if one.kind == "model")
KINDS["several models"] = tuple(one for one in SUBJECTS if one.kind == "together")
KINDS["files of other programs"] = FOREIGN


def inputs_of(subject: AdvisedSubject) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what an audit of a subject can be given."""
    for name, options in INPUTS.items():
        whole = subject.name in WHOLE or subject.kind != "model" or subject.name.startswith("private")
        if not whole and name not in ("file", "data"):
            continue
        given = {option: subject.target if option == "--target" else value for option, value in options.items()}
        if (not subject.records or subject.kind == "summary") and given:
            continue
        if subject.kind == "release" and "--domain" in given:
            continue
        if subject.kind != "model" and "--stated-leaf" in given:
            continue
        if subject.kind == "together":
            # Several models are judged in a domain, by records alone.
            if "--person" in given or "--holdout" in given or "--domain" not in given:
                continue
            given.pop("--target", None)
            given["--together"] = ""
        yield name, given


def store(subject: AdvisedSubject, folder: Path) -> Path:
    """Write a subject with all that is beside it."""
    folder.mkdir(parents=True)
    subject.write(folder, {})
    beside(folder, subject)
    (folder / "every.toml").write_text(EVERY)
    return folder


def led(subjects: tuple[AdvisedSubject, ...], folder: Path, run: Run, policies: tuple[str, ...]) -> list[Way]:
    """Return every way that the advice on some subjects leads."""
    found, walked = list[Way](), set[object]()
    for i, subject in enumerate(subjects):
        stored = store(subject, folder / str(i) / "stored")
        for given, options in inputs_of(subject):
            for policy in policies:
                found += ways(subject, given, options, policy, stored, run, walked)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_advice_on_every_kind_leads_to_a_better_status(
    kind: str, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "box", raising=False)
    found = led(KINDS[kind], tmp_path, run, POLICIES)
    assert found
    wrong = [way for way in found if way.problem]
    assert wrong == [], "\n".join(map(str, wrong))


OF_SAMPLES = {"--data": "people.csv", "--target": OUTCOME}
BY_FORMAT: dict[str, tuple[str, dict[str, str]]] = {
    "file": ("default", {}),
    "domain": ("every.toml", {"--domain": "public.json"}),
    "data": ("every.toml", OF_SAMPLES),
    "persons": ("default", {"--domain": "public.json", **OF_SAMPLES, "--person": "who"}),
}
"""What is given beside a file of each format, and the policy; the lines of named policies stand under the default."""


def test_every_format_that_is_read_has_samples_whose_advice_is_followed() -> None:
    assert {one.name for one in formats() if one.read is not None} == IN_MEMORY | set(EVERY_SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("form", EVERY_SAMPLE)
def test_the_advice_on_every_format_leads_to_a_better_status(form: str, tmp_path: Path, run: Run) -> None:
    """By file and input, each step that is proposed is taken once."""
    found = list[Way]()
    for i, subject in enumerate(subjects_of(form)):
        stored = store(subject, tmp_path / str(i) / "stored")
        for given, (policy, options) in BY_FORMAT.items():
            found += ways(subject, given, options, policy, stored, run, set(), steps_in)
    assert found
    wrong = [way for way in found if way.problem]
    assert wrong == [], "\n".join(map(str, wrong))


def test_the_advice_on_a_scorecard_of_other_formats_leads_to_a_better_status(tmp_path: Path, run: Run) -> None:
    found = led(KINDS["scorecard"], tmp_path, run, ("default",))
    assert found
    assert [way for way in found if way.problem] == []


def test_advice_that_leads_nowhere_is_seen(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk is proved by planted faults: a command that fails, an option that was given, advice without an act."""
    subject = next(one for one in SUBJECTS if one.name == "tree of 50")
    stored = store(subject, tmp_path / "stored")
    planted: Mapping[str, str] = {
        "a command that fails": "`glassine scrub no-such-file.json --domain public.json -o copy.json`",
        "an option that was given": "`--domain public.json`",
        "an option that is none": "`--domian public.json`",
        "no step at all": "`thoughts`",
    }
    for said in planted.values():
        monkeypatch.setattr(naming, "step_of", lambda remedy, files=None, said=said: said if remedy.action else "")
        found = list(ways(subject, "domain", {"--domain": "public.json"}, "strict", stored, run, set()))
        assert any(way.problem for way in found), said
    monkeypatch.setattr(naming, "step_of", steps.step_of)
    found = list(ways(subject, "domain", {"--domain": "public.json"}, "strict", stored, run, set()))
    assert found
    assert not any(way.problem for way in found)


@pytest.mark.slow
def test_advice_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    """What the terminal prints, on one line and quoted, in a process of its own."""
    subject = next(one for one in SUBJECTS if one.name == "tree of 8")
    folder = store(subject, tmp_path / "a folder with blanks")

    def shell(command: str) -> subprocess.CompletedProcess[str]:
        line = re.sub(r"^glassine\b", f"'{Path(sys.executable).with_name('glassine')}'", command)
        return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False)

    done = shell("glassine audit m.json --data people.csv --target ill --person who")
    assert done.returncode == 1, done.stderr
    draft, scrub, *_ = re.findall("`(glassine [^`\n]*)`", done.stdout)
    drafted = shell(draft)
    assert drafted.returncode == 0, drafted.stderr
    (folder / "domain.json").unlink()
    PUBLIC.to_json(folder / "domain.json")
    assert shell(scrub).returncode in (0, 1, 3)
    assert (folder / "scrubbed.json").exists()


STATED = {"family": "'gaussian'", "n_records": "600", "base_rate": "0.4", "learning_rate": "0.1", "smallest_leaf": "10"}
"""What a user fills in where a call leaves a value open."""


def made(piece: str, space: dict[str, object]) -> object:
    """Return what a call gives that users of the library are told, its open values filled in."""
    filled = re.sub(r"(\w+)=(\.\.\.)?(?=[,)])", lambda open_: f"{open_[1]}={STATED[open_[1]]}", piece)
    return eval(filled, space)  # noqa: S307 - the call stands in the source of this package


def broken(findings: Findings) -> set[str]:
    return {check.rule for check in findings.checks if check.status == "fail"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "rule list", "additive", "regression tree", "ensemble"])
def test_calls_that_python_users_are_told_are_made(kind: str, tmp_path: Path) -> None:
    """A copy meets more checks than the model, settings and policies are taken, and every other name is a learner."""
    subject = KINDS[kind][0]
    store(subject, tmp_path / "stored")
    model = load_judged(tmp_path / "stored" / subject.models[0], PUBLIC).model
    space: dict[str, object] = {"glassine": glassine, "model": model, "domain": PUBLIC}
    for place in (glassine, learners, surrogates, glassine.auditing):
        space |= {name: getattr(place, name) for name in place.__all__}
    n_calls = 0
    for policy in ("default", "sacro", "strict", "tre"):
        given: dict[str, Any] = {"domain": PUBLIC, "policy": glassine.Policy.named(policy)}
        before = audit(model, **given)
        for remedy in (*before.advice, *(one.remedy for one in before.policies if one.remedy is not None)):
            for piece in QUOTED.findall(remedy.python):
                n_calls += 1
                if piece.endswith("="):
                    takes = {*inspect.signature(audit).parameters, *inspect.signature(AuditSettings).parameters}
                    assert piece[:-1] in takes | {*inspect.signature(Statements).parameters}, piece
                    continue
                found = made(piece, space)
                if isinstance(found, ScrubResult) and remedy in before.advice:
                    assert broken(audit(found.model, **given)) < broken(before), piece
                elif isinstance(found, AuditSettings):
                    assert audit(model, **given, settings=found).checks
                elif isinstance(found, glassine.Policy):
                    assert audit(model, domain=PUBLIC, policy=found).checks
                else:
                    assert isinstance(found, ScrubResult) or callable(found), piece
            assert alternatives(remedy.text) or ": the step above" in remedy.text
    assert n_calls


def told_in_the_source() -> list[str]:
    """Return every call and name that advice of the library can hold for its users."""
    out = []
    for path in sorted((Path(glassine.__file__).parent / "auditing").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "python" and isinstance(node.value, ast.Constant):
                out += QUOTED.findall(str(node.value.value))
    return sorted(set(out))


@pytest.mark.parametrize("piece", told_in_the_source())
def test_every_call_of_the_source_that_python_users_are_told_runs(piece: str, tmp_path: Path) -> None:
    subject = KINDS["tree"][0]
    store(subject, tmp_path / "stored")
    path = tmp_path / "stored" / subject.models[0]
    tree = load_judged(path, PUBLIC).model
    data = people(N, 1).select(NAMES)
    if piece.endswith("="):
        assert piece[:-1] in inspect.signature(audit).parameters
        return
    space: dict[str, object] = {"glassine": glassine, "domain": PUBLIC, "data": data, "copy": tmp_path / "copy.json"}
    for place in (glassine, learners, surrogates, glassine.auditing, glassine.formats, glassine.attacks.disclosure):
        space |= {name: getattr(place, name) for name in place.__all__}
    space["model"] = path if "load_file(" in piece else tree
    if "samples=" in piece:  # of tables of the same outcome
        text = "term,estimate,std.error\n(Intercept),1,0.1\nage,0.5,0.1\n"
        space["table"] = tmp_path.joinpath("table.csv").write_text(text) and load_model(tmp_path / "table.csv")
        piece = piece.replace("models=...", "models=(table, table)").replace("samples=...", "samples=(None, None)")
    piece = piece.replace("models=...", "models=(model, model)")
    found = made(piece, space)
    assert (
        callable(found)
        or isinstance(found, Findings | AuditSettings | glassine.Policy | ScrubResult | dict)
        or "write" in piece
    )
    assert "write" not in piece or (tmp_path / "copy.json").exists()
