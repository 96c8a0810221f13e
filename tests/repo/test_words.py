"""What users read: the length of pages and sentences, and the words that it does without.

The lists of words and the counting are those of ``benchmarks/house.py``. Words of a page are counted with its code.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.house import MOST_WORDS, WHO_AND_HOW, comments, prose_of, room, sentences, sources, stops, texts
from docs.generated import written
from glassine.desk.texts import desk_texts
from glassine.report.terms import TERMS
from tests.repo.code_blocks import ROOT

MOST_OF_A_PAGE = {"tutorials": 1_400, "how-to": 1_100, "reference": 2_300, "explanation": 1_800}
"""Words of a page by its folder, what is generated left out."""
MOST_OF_THE_HOME, MOST_OF_THE_README, MOST_OF_THE_GLOSSARY = 310, 1_200, 1_600
FOLDERS = [ROOT / "docs" / kind for kind in MOST_OF_A_PAGE]
README = ROOT / "README.md"
PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for page in (ROOT / "docs" / "index.md", *(page for folder in FOLDERS for page in folder.glob("*.md")))
}
READ = {"README.md": README, **PAGES}

NATS = {"docs/explanation/disclosure.md"}
"""Pages of theory, where a paper's unit stands beside bits."""

LONG_SENTENCES: dict[str, int] = {}
"""Pages that still have so many sentences that are too long. The list only shrinks."""

STOP_WORDS_IN_STRINGS: dict[str, int] = {}
"""Stop words that a room's strings and docstrings still have. The numbers only shrink."""
QUOTED: dict[str, int] = {}
"""Stop words that a text quotes, as what an earlier version said. The numbers only shrink."""
DOCS = ROOT / "docs"
ELSEWHERE = [
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md")),
    *(page for place in (DOCS, DOCS / "papers") for page in place.glob("*.md") if page.name != "index.md"),
    *(DOCS / "notebooks").glob("*.ipynb"),
]
"""What else users and contributors read. Decisions stay as they were made."""
SLACK = 10
"""By so much a number may be too large before it must be lowered."""


def long_sentences(page: Path) -> list[str]:
    """Return the sentences of a page that are too long."""
    return [one for one in sentences(prose_of(written(page.read_text()))) if len(one.split()) > MOST_WORDS]


def test_pages_keep_the_length_of_their_kind() -> None:
    words = {name: len(written(page.read_text()).split()) for name, page in PAGES.items()}
    most = {name: MOST_OF_A_PAGE.get(Path(name).parent.name, MOST_OF_THE_HOME) for name in PAGES}
    assert {name: n for name, n in words.items() if n > most[name]} == {}
    assert sum(len(f"{term.name} {term.meaning}".split()) for term in TERMS.values()) <= MOST_OF_THE_GLOSSARY
    outside = re.sub(r"^```.*?^```$", "", README.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(outside.split()) <= MOST_OF_THE_README


def test_sentences_of_pages_are_short() -> None:
    too_long = {name: found for name, page in READ.items() if (found := long_sentences(page))}
    assert {name: len(found) for name, found in too_long.items()} == LONG_SENTENCES, too_long


def test_pages_do_without_stop_words() -> None:
    found = {}
    for name, page in READ.items():
        headings_and_tables = "\n".join(
            line for line in written(page.read_text()).splitlines() if line.startswith(("#", "|"))
        )
        prose = f"{prose_of(written(page.read_text()))}\n{headings_and_tables}"
        found[name] = [*stops(prose), *(re.findall(r"\bnats?\b", prose) if name not in NATS else ())]
    assert {name: words for name, words in found.items() if words} == {}


def test_pages_end_with_what_is_next() -> None:
    ends = {name for name, page in PAGES.items() if re.search(r"^## Next\n", page.read_text(), re.MULTILINE)}
    assert set(PAGES) - ends == {"docs/index.md", *(f"docs/reference/{name}.md" for name in ("api", "cli", "glossary"))}


def test_a_how_to_starts_with_the_result_and_a_block() -> None:
    starts = {name: page.read_text().split("\n```")[0] for name, page in PAGES.items() if "how-to" in name}
    assert len(starts) > 15
    assert [name for name, start in starts.items() if "\nYou need:\n" not in start or len(start.split()) > 150] == []


def test_terms_of_reports_do_without_stop_words() -> None:
    assert not stops("\n".join(term.meaning for term in TERMS.values()))


def test_other_pages_and_notebooks_do_without_stop_words() -> None:
    assert len(ELSEWHERE) > 15
    found = {}
    for page in ELSEWHERE:
        text = page.read_text()
        if page.suffix == ".ipynb":
            found[page.name] = stops("\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])).total()
        else:
            found[page.name] = stops(prose_of(text)).total()
    assert {name: n for name, n in found.items() if n} == QUOTED


def test_comments_and_proof_notes_say_who_acts() -> None:
    package = ROOT / "src" / "glassine"
    said = {name: comments(text) for name, (_, text) in sources(package).items()}
    said |= {note.name: prose_of(note.read_text()) for note in package.rglob("*.md")}
    assert {name: words for name, text in said.items() if (words := set(stops(text)) & WHO_AND_HOW)} == {}


def test_texts_of_the_desk_do_without_stop_words() -> None:
    assert not stops("\n".join(desk_texts()))


def test_strings_have_no_more_stop_words_than_before() -> None:
    found: Counter[str] = Counter()
    for name, (_, text) in sources(ROOT / "src" / "glassine").items():
        found[room(name)] += stops("\n".join(texts(text))).total()
    assert {name: n for name, n in found.items() if n > STOP_WORDS_IN_STRINGS.get(name, 0)} == {}
    lower = {name: found[name] for name, n in STOP_WORDS_IN_STRINGS.items() if n > found[name] + SLACK}
    assert lower == {}, "lower these numbers"


@pytest.mark.parametrize(
    ("page", "n_long", "words"),
    [
        ("A short one.\n\nWhoever reads this, knows it too.\n", 0, ["too.", "whoever"]),
        (f"{'word ' * 26}.\n", 1, []),
        (f"{'word ' * 20}here. `X` {'word ' * 20}.\n", 0, []),
        (f"```text\nwhoever {'word ' * 30}\n```\n\n| thus | {'word ' * 30} |\n|---|---|\n", 0, []),
        (f"- [{'word ' * 13}](page.md)\n- `code` {'word ' * 13}\n", 0, []),
    ],
)
def test_planted_words_and_sentences_are_found(tmp_path: Path, page: str, n_long: int, words: list[str]) -> None:
    (tmp_path / "page.md").write_text(page)
    assert len(long_sentences(tmp_path / "page.md")) == n_long
    assert sorted(stops(prose_of(page))) == words
