"""Texts of the desk that an organization replaces: every text of every page, and nothing that is not a text."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from glassine.desk import Desk
from glassine.desk.app import DeskApp
from glassine.desk.events import Role
from glassine.desk.pages import environment
from glassine.desk.phrases import PHRASES
from glassine.desk.releasing import FIELDS, record_of
from glassine.desk.state import Decision, Status
from glassine.desk.stated import STATED
from glassine.desk.texts import OTHERS, desk_texts, replaced
from glassine.errors import DeskError
from tests.conftest import ROOT
from tests.desk.desks import BERG, OKAFOR, look

TEMPLATES = ROOT / "src" / "glassine" / "desk" / "templates"
ASSETS = TEMPLATES.parent / "assets"


def written(folder: Path, texts: dict[str, str]) -> None:
    lines = [f"{json.dumps(text)} = {json.dumps(other)}\n" for text, other in texts.items()]
    (folder / ".glassine" / "texts.toml").write_text("".join(lines))


@pytest.mark.parametrize(
    "path", sorted(path for path in TEMPLATES.glob("*.html") if path.name not in OTHERS), ids=lambda path: path.name
)
def test_a_template_whose_texts_stay_says_the_same(path: Path) -> None:
    source = path.read_text()
    assert replaced(source, lambda text: text).split() == source.split()


def test_labels_of_fields_are_texts_and_names_of_fields_are_none() -> None:
    texts = desk_texts()
    for text in ("Reason, for the analyst", "Recipient", "Another question", "The training of {1} with epsilon {2} on"):
        assert text in texts
    assert not {"reason", "recipient", "text", "numeric", "released", "th", ", "} & set(texts)
    said = replaced('{{ line("purpose", "Purpose") }}', lambda _: 'a "b" \\ {{ 1 }} <i>\n')
    made = environment().from_string('{% from "macros.html" import line %}' + said).render()
    assert "a &#34;b&#34; \\ {{ 1 }} &lt;i&gt;\n" in made
    assert 'name="purpose"' in made


def test_states_events_and_fields_have_their_words_in_one_file() -> None:
    states, kinds = set(get_args(Status)), set(get_args(Decision))
    assert (set(PHRASES["statuses"]), set(PHRASES["decisions"])) == (states, kinds)
    assert set(PHRASES["roles"]) == set(get_args(Role))
    assert set(PHRASES["stated"]) == set(STATED)
    assert set(PHRASES["sign_off"]) == {"who", "role", "account", "day", *FIELDS}
    sources = "".join(path.read_text() for path in ASSETS.parent.rglob("*") if path.suffix in (".py", ".js"))
    for table in ("statuses", "events", "listed", "unready", "approval", "browser"):
        assert [text for text in PHRASES[table].values() if " " in text and f'"{text}"' in sources] == []


def test_what_the_browser_says_is_in_the_file() -> None:
    scripts = [path.read_text() for path in sorted(ASSETS.glob("*.js"))]
    used = {name for script in scripts for name in re.findall(r'\btext\("(\w+)"', script)}
    assert used == set(PHRASES["browser"])
    # No words of its own: a literal that people read begins with a capital and goes on in words.
    assert [found for script in scripts for found in re.findall(r"""["'`]([A-Z][a-z]+ [a-z][^"'`]*)""", script)] == []


def test_pages_have_the_texts_of_the_organization(folder: Path) -> None:
    look(Desk(folder, OKAFOR))
    other = {
        "Approve": "Freigeben",
        "To check": "Zu prüfen",
        "Stopped.": "Angehalten.",
        "File seen": "Datei gesehen",
        "by {1}": "von {1}",
        "{1} files wait": "Es warten {1}",
        "1 file waits": "Eine Datei wartet",
        "Record my decision": "{% include 'x' %} <script>",
    }
    written(folder, other)
    desk = Desk(folder, BERG)
    desk.scan()
    page = DeskApp(desk).screens.screen("queue", "")
    assert page is not None
    assert "Freigeben" in page
    assert "Eine Datei wartet" in page
    assert "{% include 'x' %} &lt;script&gt;" in page
    assert "Approve" not in page
    assert "Zu prüfen" in page
    assert re.search(r"\bvon \w+", page)
    screens = DeskApp(desk).screens
    assert "Datei gesehen" in (screens.screen("record", "") or "")
    assert json.loads(re.findall(r'id="texts">(.*?)</script>', screens.shell())[0])["stopped"] == "Angehalten."
    # What leaves the desk stays in its own words.
    record = record_of(desk.state, desk, "checkers")
    assert "File seen" in screens.record_page(record)
    assert "Datei gesehen" not in screens.record_page(record)
    # What was approved is recorded in the words of the desk; which texts the page had is recorded by their hash.
    assert len(desk.state.settings["texts_sha256"]) == 64
    (folder / ".glassine" / "texts.toml").unlink()
    again = Desk(folder, BERG)
    again.scan()
    assert "Approve" in (DeskApp(again).screens.screen("queue", "") or "")
    assert "texts_sha256" not in again.state.settings


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        ({"Approved!": "x"}, "is no text of this desk"),
        ({"{1} files wait": "files wait"}, "same values in braces"),
        ({"{1} files wait": "{1} {2}"}, "same values in braces"),
    ],
)
def test_texts_that_fit_no_page_are_refused(folder: Path, texts: dict[str, str], match: str) -> None:
    Desk(folder, OKAFOR)
    written(folder, texts)
    with pytest.raises(DeskError, match=match):
        Desk(folder, OKAFOR)


def test_the_texts_are_printed_as_such_a_file(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "glassine.desk.texts"], capture_output=True, text=True, check=True, timeout=60
    )
    assert tomllib.loads(done.stdout) == {text: text for text in desk_texts()}
    Desk(folder, OKAFOR)
    (folder / ".glassine" / "texts.toml").write_text(done.stdout)
    assert Desk(folder, OKAFOR).settings.texts["Approve"] == "Approve"
