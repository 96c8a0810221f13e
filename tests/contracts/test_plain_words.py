"""For people without a shell no text names an option, a command or a call: of every kind, format and policy.

An audit is made as the desk makes it, in the face of such people: what its first page, its report, its evidence and its
refusals say is all in words, and says what the same audit says at a shell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from glassine.desk.auditing import asking_analysts
from glassine.desk.documents import EVIDENCE
from glassine.errors import PLAIN, GlassineError, Text, parameter, spoken_by
from tests.cli.conftest import run as run
from tests.cli.running import Run
from tests.contracts.advised import FOREIGN, SUBJECTS, AdvisedSubject
from tests.contracts.advised_formats import EVERY_SAMPLE, subjects_of
from tests.desk.desks import of_a_shell

# Reports say what these warn of.
pytestmark = pytest.mark.filterwarnings("ignore::glassine.errors.PrivacyLeakWarning")

WORDS = ("audit", "-o", "report.html", "--to", "plain", "page.json", "--json", "--policy", "strict")
"""How the desk audits."""


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text of a page's values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from texts_of(one)


def said(subject: AdvisedSubject, folder: Path, run: Run, *, evidence: str = "") -> tuple[list[str], int]:
    """Return what the audit of a subject says of a shell, and how many steps it advises."""
    folder.mkdir(parents=True)
    subject.write(folder, {})
    with spoken_by(PLAIN):
        done = run(*WORDS, "--", *subject.models, cwd=folder)
    if not (folder / "page.json").exists():
        assert done.status in (2, 3), done
        return of_a_shell(done.err), 0
    page = json.loads((folder / "page.json").read_text())
    report = (folder / "report.html").read_text()
    assert 'class="run"' not in report  # Code beside a step
    findings = json.loads(done.out)
    assert [text for text in texts_of(asking_analysts(page)) if "publisher" in text] == []
    texts = [*texts_of(page), *(one["text"] for one in findings["advice"]), report]
    if evidence:
        (folder / "findings.json").write_text(done.out)
        with spoken_by(PLAIN):
            answered = run("evidence", "findings.json", "--for", evidence, "-o", "evidence.html", cwd=folder)
        assert answered.status == 0, answered
        texts.append((folder / "evidence.html").read_text())
    return [line for text in texts for line in of_a_shell(text)], len(page["steps"])


@pytest.mark.slow
def test_no_kind_of_model_is_judged_in_words_of_a_shell(tmp_path: Path, run: Run) -> None:
    n_steps = 0
    lists = cycle(EVIDENCE)
    for number, subject in enumerate((*SUBJECTS, *FOREIGN)):
        evidence = next(lists) if subject in SUBJECTS else ""
        found, n = said(subject, tmp_path / str(number), run, evidence=evidence)
        assert found == [], (subject.name, found)
        n_steps += n
    assert n_steps > 100


@pytest.mark.slow
def test_no_format_is_judged_in_words_of_a_shell(tmp_path: Path, run: Run) -> None:
    subjects = [subject for form in EVERY_SAMPLE for subject in subjects_of(form)]
    for number, subject in enumerate(subjects):
        found, _ = said(subject, tmp_path / str(number), run)
        assert found == [], (subject.name, found)


def test_a_text_of_a_shell_is_seen() -> None:
    for text in ("Pass `--data FILE`.", "Run glassine audit m.json.", "<p>It needs <code>data=</code>.</p>"):
        assert of_a_shell(text), text
    assert of_a_shell("Start glassine desk again: it opens a tab. <style>a { --x: 1 }</style>") == []


def test_parameters_are_words_and_what_only_a_shell_does_is_left_out() -> None:
    error = GlassineError(
        f"{parameter('domain')} is missing.",
        remedy=f"Describe it. Or pass {parameter('trust_pickle', True)}; see `glassine domain new`.",
    )
    with spoken_by(PLAIN):
        # No face inside takes it back: who reads decides.
        with spoken_by({"data": "--data"}):
            text = str(Text(f"It needs the records (`{parameter('data=')}`). {parameter('data=')} may prove it."))
        assert str(error.word({"domain": "--domain"})) == "what is public is missing. Describe it."
    assert text == "It needs the records. The training records may prove it."
    assert re.fullmatch("epsilon must be above 0.", PLAIN.spelled(f"{parameter('epsilon')} must be above 0."))
